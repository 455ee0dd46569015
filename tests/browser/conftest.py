"""A headless Chromium, and a report of a lake with 20,000 results, hostile names among them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from pipelines.lake.tables import Lake
from pipelines.publishing.report.writing import write_report
from pipelines.schemas import TABLES

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = "<img src=x onerror=alert(1)>"
FORMULA = '=HYPERLINK("http://example.invalid","x")'
RESULTS = 20_000
SIZES = (512, 1024, 2048, 2496)
PARTS = ("GB200 (per GPU)", "H100-SXM5-80GB")
PATIENCE_MILLISECONDS = 120_000
"""How long a page of a busy machine may take to do what it was asked."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start Debian's Chromium once."""
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("no chromium on the PATH: .ci/run installs it")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@dataclass
class Heard:
    """What a page said and asked for."""

    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def listen(context: BrowserContext) -> Heard:
    """Note errors of the console and of scripts, and every request."""
    heard = Heard()
    context.on("console", lambda message: heard.complaints.append(message.text) if message.type == "error" else None)
    context.on("weberror", lambda error: heard.complaints.append(str(error.error)))
    context.on("request", lambda request: heard.requests.append(request.url))
    return heard


@dataclass
class Reader:
    """Someone who reads the report."""

    page: Page
    heard: Heard
    folder: Path

    def open(self, address: str) -> Page:
        """Open a page of the report and wait until its charts are drawn."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.folder.as_uri()}/{address}")
        for index in range(self.page.locator(".chart").count()):
            self.page.locator(".chart").nth(index).locator("svg").wait_for()
        return self.page


@pytest.fixture
def reader(browser: Browser, report: Path) -> Iterator[Reader]:
    """Give a fresh reader; at the end nothing has complained and nothing has left the machine."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    reader = Reader(context.new_page(), listen(context), report)
    yield reader
    context.close()
    assert reader.heard.complaints == []
    assert [url for url in reader.heard.requests if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report of the lake below."""
    folder = tmp_path_factory.mktemp("reported")
    lake = Lake.at(str(folder / "lake"))
    for name, rows in contents().items():
        frame = pl.DataFrame(rows, schema=TABLES[name].schema.create_empty().schema)
        partition = "training-v5.0" if TABLES[name].by_round else None
        manifest = lake.write(name, frame, partition, inputs={}, code_version="1")
        assert manifest.quarantined_rows == 0, lake.read_quarantine(name, partition)
    return write_report(lake, folder / "report", date(2026, 8, 1)).first_page.parent


def contents() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the lake."""
    source = {"round": "training-v5.0", "source": "acme/results", "commit": "0" * 40, "licence": "Apache-2.0"}
    source |= {"retrieved_at": "2026-07-02T10:00:00+00:00", "file_count": 1, "size_bytes": 1, "skipped_count": 0}
    claim = {"document": "article.txt", "metric": "racks", "explanation": HOSTILE, "checked_by": "racks()"}
    return {
        "core.sources": [source],
        "mart.results": [result(number) for number in range(RESULTS)],
        "mart.reconciled_runs": [reconciled(part, size) for part in PARTS for size in SIZES],
        "mart.rack_audit": [rack(size) for size in SIZES],
        "mart.findings": [
            {
                "finding_id": f"kind.{severity}:{number}",
                "kind": f"kind.{severity}",
                "severity": severity,
                "subject": HOSTILE,
                "explanation": "A sentence that is long enough to be shown in a wide column, as sentences are.",
            }
            for severity, count in (("error", 1), ("warning", 15), ("info", 75))
            for number in range(count)
        ],
        "mart.claims_ledger": [
            {**claim, "claim_id": f"s0-{number:02}", "quote": "39 racks", "verdict": verdict}
            for number, verdict in enumerate(("supported", "contradicted", "misplaced"))
        ],
        "mart.checks": [
            {
                "table": "mart.results",
                "name": "score_follows_from_runs",
                "severity": "error",
                "status": "passed",
                "checked_count": RESULTS,
                "failed_count": 0,
                "is_blocking": False,
                "meaning": "a score follows from its runs",
                "explanation": "All rows satisfy it",
            }
        ],
    }


def result(number: int) -> dict[str, Any]:
    """Return one of many results; the first few have names that mean harm."""
    submitter = {0: HOSTILE, 1: FORMULA, 2: "@SUM(A1)"}.get(number, f"Submitter {number % 40}")
    system, benchmark = f"system{number:05}", ("llama31_405b", "bert", "retinanet")[number % 3]
    return {
        "result_id": f"training-v5.0/folder+{number % 40}/{system}/{benchmark}",
        "round": "training-v5.0",
        "submitter_folder": f"folder+{number % 40}",
        "submitter": submitter,
        "system": system,
        "division": "open" if number % 10 == 9 else "closed",
        "benchmark": benchmark,
        "scaling_mode": "strong",
        "accelerator": PARTS[number % 2],
        "accelerator_count": 8 * (number % 500 + 1),
        "rcp_factor_source": "file",
        "score_minutes": None if number % 100 == 50 else 1.0 + (number * 7919 % RESULTS) / 100,
        "run_count": 3,
        "first_result_id": f"training-v5.0/folder+{number % 40}/{system}/{benchmark}",
        "source_path": "x",
    }


def reconciled(part: str, size: int) -> dict[str, Any]:
    """Return a language-model result with all that the model says."""
    score = (70_000 if part == PARTS[0] else 120_000) / size
    return {
        "result_id": f"training-v5.0/Acme/acme_{part[:4]}_{size}/llama31_405b",
        "round": "training-v5.0",
        "benchmark": "llama31_405b",
        "submitter": "Acme",
        "system_name": f"Acme, {size} accelerators",
        "accelerator": part,
        "accelerator_count": size,
        "precision": "fp8",
        "replica_accelerator_count": 64,
        "score_minutes": score,
        "predicted_minutes": 1.01 * score,
        "predicted_low_minutes": 0.95 * score,
        "predicted_high_minutes": 1.06 * score,
        "residual_percent": 1.0,
        "family": part,
        "family_size": 4,
        "model_flops_utilisation": 0.3 + size / 20_000,
        "flops_convention": "causal",
        "racks_stated": 39,
        "racks_by_division": 35,
        "racks_by_replica": 39,
        "racks_by_model": 38,
        "nic_needed_gigabytes_per_second_low": size / 100,
        "nic_needed_gigabytes_per_second_mid": size / 50,
        "nic_needed_gigabytes_per_second_high": size / 20,
        "nic_available_gigabytes_per_second": 50.0,
        "nic_verdict": "enough" if size < 1000 else "too_close_to_call",
        "verdict": "as_predicted",
        "explanation": f"{score:.2f} min reported. Racks: 39 stated.",
    }


def rack(size: int) -> dict[str, Any]:
    """Return the audit of a system whose racks are stated."""
    return {
        "round": "training-v5.0",
        "submitter_folder": "Acme",
        "system": f"acme_GB20_{size}",
        "rack_product": "GB200 NVL72",
        "accelerator_count": size,
        "racks_stated": size // 64,
        "slots_per_rack": 72,
        "active_per_rack": 64,
        "idle_slots": size // 64 * 8,
        "fill_fraction": 64 / 72,
        "verdict": "explained",
        "explanation": "64 of 72 slots in use.",
    }
