"""Watched pages: versions, facts beside the registry's, and which facts a silent change changed."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
from reportlab.lib.pagesizes import A4
from reportlab.platypus import SimpleDocTemplate, Table

from pipelines._cli.diff import show_differences
from pipelines._cli.rows import Format
from pipelines.assets.execution import project_instance
from pipelines.definitions import build_definitions
from pipelines.reconciling.sheets import fact_changes
from pipelines.refreshing.flow import ANSWERS, SPECIFICATIONS, Report, RunOutcome
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings
from pipelines.sources.errors import SourceError
from pipelines.sources.sheets import current, read_catalogue
from tests.integration.live.conftest import DirectRunner, Host, Live, workshop_of

TPU = "/tpu/v6e.md.txt"
GPU = "/gpu/{}.json"

TPU_PAGE = """# TPU v6e

| Specification | Values |
|---|---|
| Peak compute per chip (bf16) | {rate} TFLOPs |
| HBM capacity per chip | 32 GB |
"""

CATALOGUE = """
[[source]]
source = "google-tpu-v6e-docs"
address = "{host}/tpu/v6e.md.txt"
form = "markdown_tables"
publisher = "Google"
publisher_kind = "vendor"
cadence = "monthly"
subjects = ["TPU v6e (Trillium)"]
tested_on = "page_of_that_shape"
licence = "CC BY 4.0"
confidence = "high"

[[source]]
source = "llm-analysis"
address = "{host}/gpu/{{file}}"
form = "llm_analysis"
publisher = "llm-analysis"
publisher_kind = "third_party"
cadence = "yearly"
subjects = []
tested_on = "real_file"
files = ["a.json", "b.json"]
"""


@pytest.fixture
def environment(environment: dict[str, str], host: Host, tmp_path: Path) -> dict[str, str]:
    """Watch two sources on the host."""
    catalogue = tmp_path / "watched.toml"
    catalogue.write_text(CATALOGUE.format(host=host.address))
    return {**environment, "RACKRECON_CATALOGUE": str(catalogue)}


@pytest.fixture(autouse=True)
def pages(host: Host) -> None:
    publish(host, "918")


def publish(host: Host, rate: str, etag: str | None = None) -> None:
    part = '{"name": "h100-sxm-80gb", "mem_per_GPU_in_GB": 80, "peak_fp16_TFLOPS": 989}'
    host.hold(
        pages={
            TPU: {"text": TPU_PAGE.format(rate=rate), "type": "text/plain", **({"etag": etag} if etag else {})},
            "/gpu/a.json": {"text": part, "type": "application/json"},
            "/gpu/b.json": {"text": part.replace("h100", "a100"), "type": "application/json"},
        }
    )


def states(report: Report) -> dict[str, str]:
    return {part.name: part.state for part in report.parts}


def rate(workshop: Workshop) -> pl.DataFrame:
    facts = workshop.lake.read("core.spec_facts")
    return facts.filter(
        (pl.col("subject") == "TPU v6e (Trillium)")
        & (pl.col("quantity") == "bf16_teraflops")
        & pl.col("locator").str.starts_with("table")
    )


def test_pages_land_as_published_and_their_facts_stand_beside_the_registrys(live: Live, workshop: Workshop) -> None:
    assert states(live()) == {SPECIFICATIONS: "refreshed", ANSWERS: "refreshed"}
    sheets = workshop.lake.read("raw.sheets").sort("source", "path")
    assert sheets.select("source", "path", "publisher", "licence").rows() == [
        ("google-tpu-v6e-docs", "", "Google", "CC BY 4.0"),
        ("llm-analysis", "a.json", "llm-analysis", None),
        ("llm-analysis", "b.json", "llm-analysis", None),
    ]
    assert sheets["content"][0] == TPU_PAGE.format(rate="918").encode()
    (fact,) = rate(workshop).to_dicts()
    assert (fact["value"], fact["printed"], fact["printed_unit"]) == (918.0, "918 TFLOPs", "TFLOPs")
    assert (fact["publisher_kind"], fact["confidence"], fact["licence"]) == ("vendor", "high", "CC BY 4.0")
    assert fact["locator"] == "table 1, row Peak compute per chip (bf16)"
    assert fact["source_sha256"] == sheets["sha256"][0]
    assert fact["retrieved_at"] == "2026-11-30T12:00:00+00:00"
    sources = set(workshop.lake.read("core.spec_facts")["source"])
    assert {"google-tpu-v6e-docs", "llm-analysis", "nvidia-h100-page"} <= sources
    resolved = workshop.lake.read("mart.resolved_facts")
    chosen = resolved.filter(subject="TPU v6e (Trillium)", metric="bf16_dense_teraflops")
    assert chosen["value"].to_list() == [918.0]


def test_pages_that_did_not_change_are_no_work(live: Live, workshop: Workshop, host: Host) -> None:
    live()
    written = workshop.lake.manifest("raw.sheets")
    host.forget()
    assert live().is_unchanged
    assert workshop.lake.manifest("raw.sheets") == written
    assert [entry["status"] for entry in host.log()][-3:] == [304, 304, 304]


@pytest.fixture
def when_due(live: Live, environment: dict[str, str], told: list[str], host: Host) -> Callable[[str], list[str]]:
    """Refresh on a day, pages by their cadence, and return the pages that were asked for, by their last letters."""
    at = workshop_of(Settings.from_environment({**environment, "RACKRECON_PAGES": "due"}))

    def run(day: str) -> list[str]:
        at.clock = lambda: datetime.fromisoformat(f"{day}T06:00:00+00:00")
        host.forget_log()
        told.clear()
        live(at=at)
        return [entry["path"].rpartition("/")[2] for entry in host.log() if not entry["path"].startswith("/orgs/")]

    return run


def test_a_page_is_asked_for_again_when_it_is_due(when_due: Callable[[str], list[str]], told: list[str]) -> None:
    yearly = ["a.json", "b.json"]
    assert when_due("2026-11-02") == ["v6e.md.txt", *yearly]
    assert not any("not long ago" in line for line in told)
    assert when_due("2026-11-03") == []
    assert "3 watched pages were asked for not long ago (RACKRECON_PAGES=all asks for them too)" in told
    assert when_due("2026-11-09") == ["v6e.md.txt"]
    assert when_due("2026-11-30") == ["v6e.md.txt", *yearly]
    assert when_due("2026-11-01") == ["v6e.md.txt", *yearly]  # a clock that was wrong holds nothing back


def test_a_page_that_could_not_be_fetched_stays_due(
    when_due: Callable[[str], list[str]], host: Host, environment: dict[str, str]
) -> None:
    host.plan(TPU, {"status": 404})
    when_due("2026-11-02")
    assert when_due("2026-11-02") == ["v6e.md.txt"]
    catalogue = Path(environment["RACKRECON_CATALOGUE"])
    catalogue.write_text(catalogue.read_text().replace('["TPU v6e (Trillium)"]', '["TPU v5e"]'))
    assert when_due("2026-11-02") == ["v6e.md.txt"]
    assert when_due("2026-11-02") == []


def test_a_page_that_the_lake_does_not_hold_as_it_was_last_is_due(
    when_due: Callable[[str], list[str]], workshop: Workshop, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    when_due("2026-11-02")
    publish(host, "926")
    with monkeypatch.context() as patch:
        patch.setattr(DirectRunner, "run_sheets", lambda self: RunOutcome("the disk is full"))
        assert when_due("2026-11-30") == ["v6e.md.txt", "a.json", "b.json"]
    assert when_due("2026-11-30") == ["v6e.md.txt"]
    assert rate(workshop)["value"].to_list() == [926.0]
    workshop.lake.delete("raw.sheets")
    assert len(when_due("2026-11-30")) == 3


def test_another_etag_over_the_same_bytes_is_no_new_version(live: Live, workshop: Workshop, host: Host) -> None:
    live()
    written = workshop.lake.manifest("raw.sheets")
    publish(host, "918", etag='"moved to another server"')
    assert live().is_unchanged
    assert workshop.lake.manifest("raw.sheets") == written


def test_a_page_that_changes_is_a_new_version_and_its_change_is_told(
    live: Live, workshop: Workshop, host: Host
) -> None:
    live()
    before = workshop.lake.read("core.spec_facts")
    publish(host, "926")
    assert states(live()) == {SPECIFICATIONS: "refreshed", ANSWERS: "refreshed"}
    sheets = workshop.lake.read("raw.sheets").filter(source="google-tpu-v6e-docs")
    assert sheets.height == 2
    assert rate(workshop)["value"].to_list() == [926.0]
    changes = fact_changes(before, workshop.lake.read("core.spec_facts"))
    assert changes.select("change", "subject", "metric", "before", "after").rows() == [
        ("changed", "TPU v6e (Trillium)", "bf16_teraflops", "918 TFLOPs", "926 TFLOPs")
    ]


def test_diff_tells_which_fact_a_page_changed_from_what_to_what(
    live: Live, workshop: Workshop, host: Host, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live()
    before = tmp_path / "before"
    shutil.copytree(workshop.settings.lake, before)
    publish(host, "926")
    live()
    show_differences(str(before), workshop.settings.lake, ["core.spec_facts"], with_rows=True, form=Format.json)
    rows = [row for row in json.loads(capsys.readouterr().out) if row["column_name"] == "value"]
    assert [(row["table_name"], row["change"], row["old_value"], row["new_value"]) for row in rows] == [
        ("core.spec_facts", "changed", "918.0", "926.0")
    ]
    assert "TPU v6e (Trillium)" in rows[0]["row_key"]


def test_a_page_that_changes_back_stands_again(live: Live, workshop: Workshop, host: Host) -> None:
    live()
    publish(host, "926")
    live()
    workshop.clock = lambda: datetime(2026, 12, 7, tzinfo=UTC)
    publish(host, "918")
    assert states(live())[SPECIFICATIONS] == "refreshed"
    sheets = workshop.lake.read("raw.sheets").filter(source="google-tpu-v6e-docs")
    assert sheets.height == 2
    (standing,) = current(sheets).to_dicts()
    assert b"918" in standing["content"]
    assert (standing["first_retrieved_at"][:10], standing["retrieved_at"][:10]) == ("2026-11-30", "2026-12-07")
    assert rate(workshop)["value"].to_list() == [918.0]


@pytest.mark.parametrize(
    ("fault", "reason_given"),
    [
        ({"status": 404}, "found status 404"),
        ({"status": 403}, "found status 403"),
        ({"fault": "bomb", "coded": True}, "RACKRECON_MAX_PAGE_BYTES"),
        ({"status": 301, "headers": {"Location": "https://elsewhere.example/"}}, "a way to elsewhere.example"),
        ({"fault": "cut"}, "expected a whole body"),
    ],
)
def test_a_page_that_cannot_be_fetched_is_told_and_its_version_stands(
    live: Live, workshop: Workshop, host: Host, fault: dict[str, object], reason_given: str
) -> None:
    live()
    publish(host, "926")
    host.plan(TPU, {**fault, "always": True})
    report = live()
    (failed,) = report.failed
    assert failed.name == host.address + TPU
    assert reason_given in (failed.reason or "")
    assert states(report)[SPECIFICATIONS] == "unchanged"
    assert rate(workshop)["value"].to_list() == [918.0]


def test_what_the_catalogue_says_of_a_page_is_brought_up_to_date(
    live: Live, workshop: Workshop, environment: dict[str, str]
) -> None:
    live()
    catalogue = Path(environment["RACKRECON_CATALOGUE"])
    catalogue.write_text(catalogue.read_text().replace('["TPU v6e (Trillium)"]', '["TPU v5e"]'))
    live()
    facts = workshop.lake.read("core.spec_facts").filter(pl.col("locator") == "table 1, row HBM capacity per chip")
    assert facts["subject"].to_list() == ["TPU v5e"]


@pytest.mark.parametrize(
    ("change", "objection"),
    [
        (("markdown_tables", "tea_leaves"), "expected a form"),
        (('"monthly"', '"hourly"'), "a catalogue of sources in TOML"),
        (('"b.json"', '"a.json"'), "each file of a source once"),
        (("/gpu/{file}", "/gpu/"), "{file} in the address"),
        (("[[source]]", "[[source"), "a catalogue of sources in TOML"),
        (('publisher = "Google"', 'publisher = "Google"\ncolour = "red"'), "colour"),
    ],
)
def test_a_catalogue_that_cannot_be_used_is_told(
    environment: dict[str, str], change: tuple[str, str], objection: str
) -> None:
    catalogue = Path(environment["RACKRECON_CATALOGUE"])
    catalogue.write_text(catalogue.read_text().replace(*change))
    with pytest.raises(SourceError) as caught:
        read_catalogue(catalogue)
    assert objection in str(caught.value)


def test_the_catalogue_that_ships_can_be_used_and_names_what_the_registry_knows() -> None:
    catalogue = read_catalogue(Settings.from_environment({}).catalogue)
    assert len(catalogue.sources) >= 20
    assert all(address.startswith("https://") for one in catalogue.sources for _, address in one.pages())


def test_a_change_is_observed_in_dagster(workshop: Workshop, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    definitions = build_definitions(workshop.settings, {"workshop": workshop})
    job = definitions.resolve_job_def("ask_hosts_now")
    facts = dg.AssetSelection.assets(["core", "spec_facts"], ["core", "sheet_findings"])
    with project_instance(workshop.settings.prepare_dagster_home()) as instance:

        def run() -> list[dg.AssetObservation]:
            assert job.execute_in_process(instance=instance).success
            keys = facts.resolve(definitions.resolve_asset_graph())
            answers = definitions.resolve_job_def("refresh_answers")
            result = answers.execute_in_process(instance=instance, asset_selection=sorted(keys))
            assert result.success
            return [
                event.event_specific_data.asset_observation
                for event in result.all_events
                if event.event_type_value == "ASSET_OBSERVATION"
            ]

        assert run() == []
        publish(host, "926")
        (observation,) = run()
    assert observation.asset_key == dg.AssetKey(["core", "spec_facts"])
    assert observation.description == "1 changed"
    (record,) = observation.metadata["changes"].value.records
    assert record.data["before"] == "918 TFLOPs"
    assert record.data["after"] == "926 TFLOPs"


def test_a_data_sheet_in_pdf_is_fetched_and_read(
    live: Live, workshop: Workshop, host: Host, environment: dict[str, str], tmp_path: Path
) -> None:
    buffer = io.BytesIO()
    table = Table(
        [["", "Some GPU"], ["FP8 Tensor Core", "1,979 TFLOPS"], ["GPU Memory", "141 GB"]],
        style=[("GRID", (0, 0), (-1, -1), 1, "black")],
    )
    SimpleDocTemplate(buffer, pagesize=A4).build([table])
    (tmp_path / "sheet.pdf").write_bytes(buffer.getvalue())
    host.hold(pages={"/sheet.pdf": {"file": str(tmp_path / "sheet.pdf"), "type": "application/pdf"}})
    Path(environment["RACKRECON_CATALOGUE"]).write_text(
        CATALOGUE.format(host=host.address)
        .split('[[source]]\nsource = "llm')[0]
        .replace("/tpu/v6e.md.txt", "/sheet.pdf")
        .replace("markdown_tables", "pdf_tables")
    )
    assert states(live())[SPECIFICATIONS] == "refreshed"
    facts = workshop.lake.read("core.spec_facts").filter(pl.col("locator").str.starts_with("page 1"))
    assert dict(facts.select("quantity", "value").iter_rows()) == {"fp8_teraflops": 1979.0, "memory_bytes": 141e9}
