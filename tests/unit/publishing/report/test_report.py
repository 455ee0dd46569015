"""The report as files: what is in it, what it says where a table is missing, how it treats published names."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from selectolax.lexbor import LexborHTMLParser

from pipelines.lake.tables import Lake
from pipelines.publishing.report.glossary import TERMS_OF_COLUMNS, terms
from pipelines.publishing.report.menu import PAGES
from pipelines.publishing.report.parts import Grid
from pipelines.publishing.report.words import SIGNS, TONES, columns, kind_of_finding
from pipelines.publishing.report.writing import MARKER, ReportError, write_report
from pipelines.schemas import TABLES
from pipelines.schemas.core import SEVERITIES

HOSTILE = '</script><img src=x onerror=alert(1)>"&'
TODAY = date(2026, 8, 1)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake.at(str(tmp_path / "lake"))
    put(lake, "core.sources", source("training-v5.0"), partition="training-v5.0")
    put(lake, "mart.results", *(result(size) for size in (512, 1024, 2496)))
    put(lake, "mart.reconciled_runs", *(reconciled(size) for size in (512, 1024, 2496)))
    put(lake, "mart.rack_audit", rack())
    put(lake, "mart.findings", finding())
    return lake


def put(lake: Lake, name: str, *rows: dict[str, Any], partition: str | None = None) -> None:
    frame = pl.DataFrame(list(rows), schema=TABLES[name].schema.create_empty().schema)
    manifest = lake.write(name, frame, partition, inputs={}, code_version="1")
    assert manifest.quarantined_rows == 0, lake.read_quarantine(name, partition)


def source(round_name: str) -> dict[str, Any]:
    return {
        "round": round_name,
        "source": "acme/results",
        "commit": "0" * 40,
        "retrieved_at": "2026-07-02T10:00:00+00:00",
        "licence": "Apache-2.0",
        "file_count": 1,
        "size_bytes": 1,
        "skipped_count": 0,
    }


def result_id(size: int) -> str:
    return f"training-v5.0/{HOSTILE.replace('/', '')}/acme{size}/llama31_405b"


def result(size: int) -> dict[str, Any]:
    return {
        "result_id": result_id(size),
        "round": "training-v5.0",
        "submitter_folder": HOSTILE.replace("/", ""),
        "submitter": HOSTILE,
        "system": f"acme{size}",
        "division": "closed",
        "benchmark": "llama31_405b",
        "scaling_mode": "strong",
        "accelerator": "GB200 (per GPU)",
        "accelerator_count": size,
        "rcp_factor_source": "file",
        "score_minutes": 70_000 / size,
        "run_count": 3,
        "first_result_id": result_id(size),
        "source_path": "x",
    }


def reconciled(size: int) -> dict[str, Any]:
    score = 70_000 / size
    return {
        "result_id": result_id(size),
        "round": "training-v5.0",
        "benchmark": "llama31_405b",
        "submitter": HOSTILE,
        "system_name": "Acme",
        "accelerator": "GB200 (per GPU)",
        "accelerator_count": size,
        "precision": "fp8",
        "replica_accelerator_count": 64,
        "score_minutes": score,
        "predicted_minutes": 1.01 * score,
        "predicted_low_minutes": 0.95 * score,
        "predicted_high_minutes": 1.06 * score,
        "residual_percent": 1.0,
        "family": "f",
        "family_size": 3,
        "model_flops_utilisation": 0.35,
        "flops_convention": "causal",
        "racks_stated": 39,
        "racks_by_division": 35,
        "racks_by_replica": 39,
        "racks_by_model": 38,
        "nic_needed_gigabytes_per_second_low": 37.0,
        "nic_needed_gigabytes_per_second_mid": 49.6,
        "nic_needed_gigabytes_per_second_high": 149.0,
        "nic_available_gigabytes_per_second": 50.0,
        "nic_verdict": "too_close_to_call",
        "verdict": "as_predicted",
        "explanation": "28 min reported. Racks: 39 stated.",
    }


def rack() -> dict[str, Any]:
    return {
        "round": "training-v5.0",
        "submitter_folder": HOSTILE.replace("/", ""),
        "system": "acme2496",
        "rack_product": "GB200 NVL72",
        "accelerator_count": 2496,
        "racks_stated": 39,
        "slots_per_rack": 72,
        "active_per_rack": 64,
        "fill_fraction": 64 / 72,
        "verdict": "explained",
        "explanation": "words",
    }


def finding() -> dict[str, Any]:
    return {
        "finding_id": "run.not_counted:x",
        "kind": "run.not_counted",
        "severity": "warning",
        "subject": HOSTILE,
        "explanation": HOSTILE,
    }


def page(folder: Path, name: str) -> LexborHTMLParser:
    return LexborHTMLParser((folder / f"{name}.html").read_text("utf-8"))


def words_of(tree: LexborHTMLParser, selector: str) -> str:
    node = tree.css_first(selector)
    assert node is not None, selector
    return " ".join(node.text().split())


@pytest.fixture
def folder(lake: Lake, tmp_path: Path) -> Path:
    return write_report(lake, tmp_path / "report", TODAY).first_page.parent


def test_every_page_is_there_and_no_address_leaves_the_folder(folder: Path) -> None:
    for name in ("index", *(entry.name for entry in PAGES)):
        tree = page(folder, name)
        for node in tree.css("[href], [src]"):
            address = str(node.attributes.get("href") or node.attributes.get("src")).partition("#")[0]
            assert not address or address == "data:," or (folder / address).is_file(), (name, address)


def test_the_first_page_answers_first_and_counts_then(folder: Path) -> None:
    tree = page(folder, "index")
    assert words_of(tree, ".age").startswith("Newest training round here: training-v5.0, read 2026-07-02")
    assert "not in these figures" in words_of(tree, ".age")
    assert words_of(tree, ".example .answer").startswith(
        "39 racks, as the submitter states: 2,496 GB200 GPUs, 64 of 72 slots of each rack in use."
    )
    counts = [node.text().strip() for node in tree.css(".example .value")]
    assert counts == ["35", "39", "38"]
    assert (folder / "index.html").stat().st_size < 100_000


def test_the_first_page_knows_a_round_that_its_publisher_lists(lake: Lake, tmp_path: Path) -> None:
    listed = {"round": "training-v99.0", "repository": "acme/results", "default_branch": "main"}
    put(lake, "core.known_rounds", listed | {"commit": None, "first_listed_at": "2026-08-01T10:00:00+00:00"})
    folder = write_report(lake, tmp_path / "report", TODAY).first_page.parent
    assert "training-v99.0 (listed by its publisher)" in words_of(page(folder, "index"), ".age")


def test_the_first_page_tells_the_newest_round_in_a_sentence_and_links_its_results(folder: Path) -> None:
    tree = page(folder, "index")
    told = words_of(tree, "section .answer")
    assert told.startswith("On its largest system, 2,496 GB200 GPUs, ")
    assert told.endswith("ran llama31_405b (Llama 3.1 405B, pre-training) in 28.04 minutes, closed division.")
    row = tree.css_first("section[aria-labelledby=fastest] tbody a")
    assert row is not None
    assert str(row.attributes["href"]).startswith("results.html#row=training-v5.0/")
    assert words_of(tree, "section[aria-labelledby=fastest] td.number") == "28.04"


def test_the_first_page_asks_and_answers(folder: Path) -> None:
    tree = page(folder, "index")
    answers = [node.text() for node in tree.css(".short-answer")]
    assert answers[0] == "No figure is unusable; 1 thing does not fit and may matter."
    assert answers[1] == "For 0 of 3 results yes, for 0 no, 3 are too close to call."
    kind = tree.css_first(".kinds a")
    assert kind is not None
    assert kind.text() == "logs that the rules do not count"
    assert kind.attributes["href"] == "findings.html#severity=warning&kind=run.not_counted"
    assert grid_of(folder, "findings")["caption"] == "1 finding: 0 error, 1 warning and 0 info"


def test_a_lake_without_a_training_round_says_so(tmp_path: Path) -> None:
    lake = Lake.at(str(tmp_path / "inference"))
    put(lake, "core.sources", source("inference-v5.1"), partition="inference-v5.1")
    folder = write_report(lake, tmp_path / "report", TODAY).first_page.parent
    tree = page(folder, "index")
    assert words_of(tree, "#newest") == "No training round is here"
    assert words_of(tree, ".short-answer") == "No result here tells both what it needs and what it has."
    assert "mart.results has no row" in words_of(page(folder, "results"), ".absent")


def test_a_kind_without_words_is_told_by_its_name() -> None:
    assert kind_of_finding("racks.never_heard_of") == "racks: never heard of"


def test_published_names_are_text(folder: Path) -> None:
    for path in folder.rglob("*.html"):
        text = path.read_text("utf-8")
        assert "<img" not in text, path
        for spec in LexborHTMLParser(text).css("script[type='application/json']"):
            json.loads(spec.text())
    assert HOSTILE in words_of(page(folder, "index"), "main")


def test_a_page_without_its_table_says_so(folder: Path) -> None:
    assert "mart.time_breakdown" in words_of(page(folder, "minutes"), ".absent")
    assert "mart.claims_ledger has no row" in words_of(page(folder, "claims"), ".absent")


def test_each_figure_has_a_finding_units_words_and_its_table(folder: Path) -> None:
    seen = 0
    for entry in PAGES:
        for figure in page(folder, entry.name).css("figure"):
            seen += 1
            chart = figure.css_first(".chart")
            assert chart is not None
            assert chart.attributes["role"] == "img"
            assert len(str(chart.attributes["aria-label"])) > 40
            assert figure.css_first("h2") is not None
            assert figure.css("details tbody tr")
    assert seen >= 5


@pytest.mark.parametrize("name", ["scaling", "prediction", "nic", "mfu"])
def test_a_figure_of_the_model_says_that_it_is_derived(folder: Path, name: str) -> None:
    assert {"derived" in note.text() for note in page(folder, name).css("figcaption .note")} == {True}


def test_column_heads_lead_to_terms_that_exist() -> None:
    anchors = {entry.anchor for entry in terms()}
    assert set(TERMS_OF_COLUMNS.values()) <= anchors
    assert {anchor for entry in PAGES for anchor in entry.terms} <= anchors
    known = {name for entry in TABLES.values() for name in entry.schema.column_names()}
    assert set(TERMS_OF_COLUMNS) <= known
    assert {"racks-the-submitter-states", "accelerators-used-per-rack", "slots-per-rack"} <= anchors


def test_a_report_is_replaced_and_nothing_else_is(lake: Lake, folder: Path, tmp_path: Path) -> None:
    (folder / "left.html").write_text("of before")
    write_report(lake, folder, TODAY)
    assert not (folder / "left.html").exists()
    assert (folder / MARKER).is_file()
    other = tmp_path / "photographs"
    other.mkdir()
    (other / "one.png").write_bytes(b"")
    with pytest.raises(ReportError, match="found something else"):
        write_report(lake, other, TODAY)
    assert [path.name for path in other.iterdir()] == ["one.png"]


def test_an_empty_lake_gives_no_report(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="has no row, the rounds read"):
        write_report(Lake.at(str(tmp_path / "lake")), tmp_path / "report", TODAY)
    assert not (tmp_path / "report").exists()


def test_equal_lakes_give_equal_reports(lake: Lake, folder: Path, tmp_path: Path) -> None:
    other = write_report(lake, tmp_path / "other", TODAY).first_page.parent
    for path in (path for path in folder.rglob("*") if path.is_file()):
        assert (other / path.relative_to(folder)).read_bytes() == path.read_bytes(), path


def test_a_grid_holds_what_json_can_hold() -> None:
    frame = pl.DataFrame({"result_id": [HOSTILE, "b"], "score_minutes": [float("inf"), None]})
    script = Grid("g", "c", frame, "result_id", ["result_id"]).script()
    content = json.loads(re.sub(r"^window\.rackreconGrid = |;\n$", "", script))
    assert content["rows"] == [[HOSTILE, "inf"], ["b", None]]
    assert script.isascii()


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([27.334655, 9.995, None], ["27.33", "9.99", "–"]),
        ([0.0482, 0.0511], ["0.0482", "0.0511"]),
        ([12_345.6, 9_999.4], ["12,346", "9,999"]),
    ],
)
def test_a_column_aligns_at_its_point(values: list[float | None], shown: list[str]) -> None:
    column = columns(pl.DataFrame({"score_minutes": values}, schema={"score_minutes": pl.Float64}))[0]
    assert [column.show(value) for value in values] == shown
    assert (column.label, column.unit) == ("Score", "minutes")


def test_a_unit_stands_beside_a_label_that_begins_with_its_letter() -> None:
    column = columns(pl.DataFrame({"step_median_seconds": [5.8225]}))[0]
    assert (column.label, column.unit) == ("Step median", "s")


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("residual_percent", -1.7758, "-1.78"),
        ("ratio", 1e9, "1,000,000,000"),
        ("verdict", "part_rack", "part rack"),
        ("nic_verdict", "too_close_to_call", "▲ too close to call"),
        ("status", "passed", "✓ passed"),
    ],
)
def test_a_cell_is_told_as_people_read_it(name: str, value: Any, shown: str) -> None:
    column = columns(pl.DataFrame({name: [value]}))[0]
    assert column.show(value) == shown


def test_what_a_sign_says_has_a_colour_too() -> None:
    assert set(SIGNS.values()) <= set(TONES)
    assert set(SEVERITIES) <= set(SIGNS)


def test_long_names_may_break_and_backticks_are_code(folder: Path) -> None:
    text = (folder / "dictionary.html").read_text("utf-8")
    assert "accelerator_<wbr>count" in text
    assert "<code>content_<wbr>path</code>" in text
    assert '<td role="cell" class="short" data-label="Column">run_count</td>' in text


def test_the_first_page_and_the_page_behind_count_the_same_networks(lake: Lake, tmp_path: Path) -> None:
    ends = {"needed_low_gigabytes_per_second": 37.0, "needed_high_gigabytes_per_second": 149.0}
    sends = {"needed_gigabytes_per_second": 49.6, "nic_gigabytes_per_second": 50.0, "verdict": "too_close_to_call"}
    stays = dict.fromkeys((*ends, "needed_gigabytes_per_second"), 0.0)
    run = {"benchmark": "llama31_405b", "accelerator": "GB200 (per GPU)", "explanation": "words"}
    put(
        lake,
        "mart.bandwidth",
        {**run, "result_id": result_id(2496), "accelerator_count": 2496, **ends, **sends},
        {**run, "result_id": result_id(64), "accelerator_count": 64, **stays, "verdict": "enough"},
        {**run, "result_id": result_id(32), "accelerator_count": 32, **stays},
    )
    write_report(lake, tmp_path / "report", TODAY)
    front, behind = ((tmp_path / "report" / name).read_text("utf-8") for name in ("index.html", "nic.html"))
    assert "For 1 of 2 results yes, for 0 no, 1 are too close to call." in front
    assert "1 of those with enough send nothing beyond their scale-up domain." in front
    assert "of 1 run that send beyond their domain, 1 are too close to call" in behind
    assert "2 runs of 3 send nothing beyond it in a step" in behind
    assert "the 1 whose NIC is known are among those" in behind


def grid_of(folder: Path, name: str) -> dict[str, Any]:
    script = (folder / "data" / f"{name}.js").read_text("utf-8")
    found: dict[str, Any] = json.loads(script.removeprefix("window.rackreconGrid = ").rstrip(";\n"))
    return found


def test_pairs_that_tell_no_scaling_are_counted_and_not_listed(lake: Lake, tmp_path: Path) -> None:
    pair = {"benchmark": "b", "accelerator": "GB200 (per GPU)", "base_accelerator_count": 512, "size_ratio": 2.0}
    pair |= {"base_result_id": result_id(512), "accelerator_count": 1024}
    pair |= dict.fromkeys(("is_mixed_precision", "is_mixed_software", "is_mixed_layout", "is_other_submitter"), False)
    mixed = {**pair, "result_id": result_id(2496), "is_mixed_precision": True, "no_efficiency_reason": "words"}
    put(lake, "mart.strong_scaling", {**pair, "result_id": result_id(1024), "efficiency_score": 0.9}, mixed)
    write_report(lake, tmp_path / "report", TODAY)
    grid = grid_of(tmp_path / "report", "scaling")
    assert [row[1] for row in grid["rows"]] == [result_id(1024)]
    assert grid["caption"].startswith("1 pair of results")
    assert grid["caption"].endswith("1 pair of other precision or software left out")


def test_memory_in_dispute_is_shown_in_gigabytes(lake: Lake, tmp_path: Path) -> None:
    said = {"printed": "40 GB", "source_address": "https://example.org", "resolved_source": "driver", "ratio": 0.93}
    said |= {"source": "sheet", "explained_by": "binary_prefix", "explanation": "words"}
    memory = {"metric": "memory_bytes", "quantity": "memory_bytes", "unit": "bytes"}
    power = {"metric": "power_watts", "quantity": "power_watts", "unit": "W"}
    put(
        lake,
        "mart.fact_conflicts",
        {**said, **memory, "subject": "A", "locator": "1", "value": 40e9, "resolved_value": 40960 * 2.0**20},
        {**said, **power, "subject": "B", "locator": "1", "value": 400.0, "resolved_value": 430.0},
    )
    write_report(lake, tmp_path / "report", TODAY)
    grid = grid_of(tmp_path / "report", "conflicts")
    names = [column["name"] for column in grid["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in grid["rows"]]
    assert [(row["value"], row["unit"]) for row in rows] == [(40.0, "GB"), (400.0, "W")]
    assert rows[0]["resolved_value"] == pytest.approx(42.949672960)
