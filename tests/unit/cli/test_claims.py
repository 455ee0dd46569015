"""`rackrecon claims` and `explain` of a claim, on a small lake of our own: what they print, load and refuse."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from pipelines.cli import app
from pipelines.lake.tables import Lake
from pipelines.parsing.spec_sheets.registry import read_registry
from pipelines.reconciling.claims import DOCUMENT_COLUMNS, SCORED, known_claims, reconcile_claims
from pipelines.reconciling.facts import reconcile_facts
from pipelines.schemas import table
from pipelines.sources.registry import registry_files

ROUND = "training-v5.0"
RESULT = f"{ROUND}/Acme/acme_rack/llama31_405b"
ARTICLES = Path(__file__).parents[1] / "reconciling" / "articles"

SYSTEM = {
    "round": ROUND,
    "submitter_folder": "Acme",
    "system": "acme_rack",
    "system_name": "Acme (39x NVIDIA GB200 NVL72)",
    "racks_stated": 39,
    "slots_per_rack": 72,
    "source_path": "Acme/systems/acme_rack.json",
    "source_sha256": "0" * 64,
}
SCORE = {
    "result_id": RESULT,
    "round": ROUND,
    "submitter_folder": "Acme",
    "submitter": "Acme",
    "system": "acme_rack",
    "division": "closed",
    "benchmark": "llama31_405b",
    "scaling_mode": "strong",
    "accelerator": "GB200 (per GPU)",
    "accelerator_count": 2496,
    "raw_minutes": 27.0,
    "rcp_factor": 1.01,
    "rcp_factor_source": "file",
    "score_minutes": 27.27,
    "run_count": 3,
    "first_result_id": RESULT,
    "source_path": "Acme/results/acme_rack/llama31_405b",
}
SOURCE = {
    "round": ROUND,
    "source": "mlcommons/training_results_v5.0",
    "commit": "0" * 40,
    "retrieved_at": "2026-01-02T03:04:05+00:00",
    "file_count": 1,
    "size_bytes": 1,
}

TEXT = """\
In MLPerf Training v5.0, 2,496 GB200 GPUs trained Llama 3.1 405B in 27.27 minutes.
Other pages say that the GB200 NVL72 provides 1.04 PB/s of NVLink bandwidth.
An H100 draws 1,400 W. An H100 draws 1,400 W. The number 4096 is not explained.
"""


def rows_of(name: str, *rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=table(name).schema.create_empty().schema)


def put(lake: Lake, name: str, frame: pl.DataFrame) -> None:
    partition = ROUND if table(name).by_round else None
    manifest = lake.write(name, frame, partition, inputs={}, code_version="1")
    assert manifest.quarantined_rows == 0, lake.read_quarantine(name, partition)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose lake holds one result, the registry's facts and the ledger."""
    folder = tmp_path_factory.mktemp("claims") / "data"
    lake = Lake.at(str(folder / "lake"))
    registry = read_registry(registry_files())
    facts = reconcile_facts(registry.facts, registry.subject_frame, registry.containments)
    frames = {
        "core.sources": rows_of("core.sources", SOURCE),
        "core.systems": rows_of("core.systems", SYSTEM),
        "mart.results": rows_of("mart.results", SCORE),
        "mart.accelerators": facts.accelerators,
        "mart.platforms": facts.platforms,
        "core.spec_facts": registry.facts,
        "core.claims": known_claims(),
    }
    inputs = {**frames, "registry.containments": registry.containments}
    frames["mart.claims_ledger"] = reconcile_claims(frames["core.claims"], inputs)
    for name, frame in frames.items():
        put(lake, name, frame)
    return folder


@pytest.fixture
def place(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RACKRECON_DATA", str(data))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object, stdin: str | bytes | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def told(*arguments: object, stdin: str | bytes | None = None) -> list[dict[str, Any]]:
    code, out, _ = run("claims", *arguments, "--format", "json", stdin=stdin)
    assert code == 0
    rows: list[dict[str, Any]] = json.loads(out)
    return rows


def test_in_words(place: Path) -> None:
    (place / "article.txt").write_text(TEXT, "utf-8")
    code, out, err = run("claims", "article.txt")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == f"line 1  {TEXT.splitlines()[0]}"
    assert lines[1] == "  supported      claim 1: 2496 GPUs (Llama 3.1 405B, accelerators)"
    assert f"                 rests on: mart.results: {RESULT}" in lines
    assert "  supported      claim 2: 27.27 min (Llama 3.1 405B, time_to_train)" in lines
    assert "  misplaced      claim 3: 1.04 PB/s (GB200 NVL72, scale_up_bandwidth)" in lines
    assert "  contradicted   claim 4: 1400 W (H100, power)" in lines
    assert "                 told before: claim 4" in lines
    assert any(line.startswith("                 say: GB200 NVL72: scale-up bandwidth 0.13 PB/s") for line in lines)
    assert lines.count("                 footnote [1]") == 1
    notes = [line for line in lines if line.startswith("[")]
    assert len(notes) == 2
    assert notes[0].startswith(f"[1] MLPerf Training v5.0 Closed, llama31_405b, Acme, 2,496 x GB200; result {RESULT}")
    assert "on 2026-01-02" in notes[0]
    assert "A figure derived from published results" in notes[0]
    assert "MLPerf is a trademark" in notes[0]
    assert "footnote" not in err


def test_what_is_not_data_goes_to_stderr(place: Path) -> None:
    (place / "article.txt").write_text(TEXT, "utf-8")
    code, out, err = run("claims", "article.txt", "--format", "csv")
    assert code == 0
    lines = err.splitlines()
    assert lines[0].startswith("Newest training round here: training-v5.0, read 2026-01-02; newest published as far")
    assert sum(line.startswith("footnote: MLPerf Training v5.0 Closed") for line in lines) == 2
    assert "not read: line 3: 4096: no unit or counted thing beside it: The number 4096 is not explained." in lines
    assert lines[-2] == "2 supported, 1 contradicted, 1 misplaced; 1 told again; 1 not read"
    assert lines[-1] == SCORED.sentence()
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == list(DOCUMENT_COLUMNS)
    assert [row["verdict"] for row in rows] == ["supported", "supported", "misplaced", "contradicted", "contradicted"]
    assert rows[4]["repeat_of"] == "4"


def test_json_and_parquet_hold_the_same_rows(place: Path) -> None:
    (place / "article.md").write_text(TEXT, "utf-8")
    rows = told("article.md")
    assert rows[1]["relative_error"] == pytest.approx(0.0, abs=1e-12)
    assert rows[1]["footnote"].startswith("MLPerf Training v5.0 Closed")
    result = CliRunner().invoke(app, ["claims", "article.md", "--format", "parquet"])
    frame = pl.read_parquet(result.stdout_bytes)
    assert frame.schema == DOCUMENT_COLUMNS
    assert frame.to_dicts() == rows


def test_stdin(place: Path) -> None:
    (place / "article.txt").write_text(TEXT, "utf-8")
    assert told("-", stdin=TEXT) == told("article.txt")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("page.html", ()), ("page.HTM", ()), ("page", ()), ("page.txt", ("--media", "html"))],
)
def test_html_is_told_by_suffix_beginning_or_option(place: Path, name: str, arguments: tuple[str, ...]) -> None:
    (place / name).write_bytes((ARTICLES / "product_page.html").read_bytes())
    rows = told(name, *arguments)
    found = {(row["value"], row["unit"], row["verdict"]) for row in rows}
    assert ("80", "GB", "supported") in found
    assert ("800", "GB/s", "misplaced") in found
    assert not {"4096", "12000"} & {row["value"] for row in rows}, "neither scripts nor footers are read"


def test_html_on_stdin_and_its_places(place: Path) -> None:
    page = b"<!-- x --><!DOCTYPE html><html><body><p>An H100 draws 1,400&nbsp;W.</p></body></html>"
    code, out, _ = run("claims", "-", stdin=page)
    assert code == 0
    assert out.splitlines()[0] == "block 1  An H100 draws 1,400 W."


def test_the_option_wins_over_the_suffix(place: Path) -> None:
    (place / "page.html").write_text("# H100\n\nAn H100 draws 1,400 W.\n", "utf-8")
    assert told("page.html", "--media", "markdown")[0]["line"] == 3


def test_a_document_without_claims(place: Path) -> None:
    code, out, err = run("claims", "-", stdin="Nothing is claimed here.")
    assert (code, out.strip()) == (0, "")
    assert "no claim; 0 told again; 0 not read" in err
    assert told("-", stdin="") == []


HOSTILE = [
    "An H100 draws 1,400 W \x1b[2J\x1b]0;title\x07 here.",
    "An H100 draws 1,400 W \u202eW 7 swards\u202c.",
    "An H100 draws 1,400 W. <script>alert(1)</script> [1](javascript:x) $(touch x) '; DROP TABLE claims; --",
    "An H100 draws 1,400 W" + " and" * 5000 + ".",
    "| " * 3000 + "An H100 draws 1,400 W |",
    "<" * 3000 + "An H100 draws 1,400 W.",
    "=cmd|' /C calc'!A0 An H100 draws 1,400 W.",
    "An H100 draws 1" + ",400" * 2000 + " W. " + "9" * 5000 + " W. 1e999 W. -1e-999 GB/s.",
    "An H100 draws \uff11\u0664\u0660\u0660 W and \u00bd GB.",
]


@pytest.mark.parametrize("media", ["text", "markdown", "html"])
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_read_and_obeyed_by_nobody(place: Path, text: str, media: str) -> None:
    code, out, err = run("claims", "-", "--media", media, stdin=text)
    assert code == 0
    for character in ("\x1b", "\x07", "\u202e", "\u202c"):
        assert character not in out + err
    assert SCORED.sentence() in err
    for form in ("csv", "json"):
        assert run("claims", "-", "--media", media, "--format", form, stdin=text)[0] == 0
    assert list(place.iterdir()) == []


def test_a_line_of_a_document_cannot_pass_for_a_verdict(place: Path) -> None:
    text = "An H100 draws 1,400\u2028  supported      claim 9: W\r  supported      claim 9: W.\x85  supported"
    _, out, _ = run("claims", "-", stdin=text)
    assert not any(line.startswith("  supported") for line in out.split("\n"))


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (b"%PDF-1.7\n...", 3, "article.txt: expected text, Markdown or HTML, found a PDF; extract its text first"),
        (b"\x7fELF\0\0\0", 3, "article.txt: expected text, Markdown or HTML, found a binary file"),
        (None, 2, "article.txt: no such file"),
    ],
)
def test_what_cannot_be_read(place: Path, content: bytes | None, code: int, message: str) -> None:
    if content is not None:
        (place / "article.txt").write_bytes(content)
    ended, out, err = run("claims", "article.txt")
    assert (ended, out) == (code, "")
    assert message in err


def test_a_folder_is_no_document(place: Path) -> None:
    code, _, err = run("claims", ".")
    assert code == 2
    assert "a folder; name one document" in err


def test_a_guessed_encoding_is_said(place: Path) -> None:
    code, out, err = run("claims", "-", stdin="An H100 draws 1,400 W \u2013 really.".encode("windows-1252"))
    assert code == 0
    assert "\u2013 really" in out
    assert "not UTF-8 and no encoding stated: read as windows-1252" in err


def test_without_a_refresh_it_says_what_to_do(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RACKRECON_DATA", str(place / "none"))
    code, out, err = run("claims", "-", stdin=TEXT)
    assert (code, out) == (2, "")
    assert "nothing to check claims against yet; `rackrecon refresh` makes it" in err
    assert list(place.iterdir()) == []


def test_usage(place: Path) -> None:
    assert run("claims")[0] == 2
    assert run("claims", "-", "--media", "pdf", stdin="x")[0] == 2


def test_explain_a_claim(place: Path) -> None:
    code, out, _ = run("explain", "s1-11")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == 's1-11, what_is_a_superpod.txt: "providing over 1 PB/s bandwidth"'
    assert "  read as 1 PB/s: scale_up_bandwidth of GB200 NVL72" in lines
    assert lines[2].startswith("  misplaced: GB200 NVL72: 0.13 PB/s.")
    assert "    check: fact(GB200 NVL72, scale_up_bandwidth)" in lines
    assert "  rests on" in lines


@pytest.mark.parametrize("name", ["s9-99", "nothing", "training-v5.0/a/b/c"])
def test_explain_what_is_not_there(place: Path, name: str) -> None:
    code, out, err = run("explain", name)
    assert (code, out) == (2, "")
    assert f"no result '{name}'" in err
    assert "lists the claims" in err


def test_checking_loads_no_engine() -> None:
    script = "import pipelines._cli.claims\nimport sys\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) & {"dagster", "duckdb", "great_expectations", "pandas", "sqlalchemy"} == set()
