"""The real inference round: what a refresh takes in, what is asked in SQL, and the chain behind a record."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines._cli.explain import show_chain
from pipelines._cli.rows import ChainFormat
from pipelines.lake.queries import query
from pipelines.lake.tables import Lake
from pipelines.lake.warehouse import build_warehouse
from pipelines.publishing.headline import headline
from pipelines.publishing.inference_chain import chain_of_record
from pipelines.publishing.questions import read_question
from pipelines.refreshing import answers, rounds
from pipelines.refreshing.round_inputs import RoundInput, remember
from pipelines.refreshing.stations import STATIONS
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings

ROUND = "inference-v5.1"
MOMENT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LARGEST = f"{ROUND}/closed/NVIDIA/results/GB200-NVL72_GB200-186GB_aarch64x72_TRT/deepseek-r1/Offline"


@pytest.fixture(scope="module")
def settings(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Give the settings of a lake that holds the inference round and a warehouse with it."""
    settings = Settings.from_environment({"RACKRECON_DATA": str(tmp_path_factory.mktemp("inference"))})
    workshop = Workshop(settings, lambda: MOMENT)
    archive = shared / "mlperf" / "inference_results_v5.1.tar.gz"
    (station,) = [one for one in STATIONS if one.name == "sum_up_inference"]
    with workshop.refreshing():
        remember(workshop.lake, RoundInput(round=ROUND, path=str(archive)))
        rounds.take_in(workshop, ROUND)
        rounds.read_round(workshop, ROUND)
        answers.bring_up_to_date(workshop, station)
        build_warehouse(workshop.lake, settings.warehouse, {}, sql_folder=settings.warehouse_sql)
    return settings


def test_every_record_is_there_and_the_default_view_holds_those_that_compare(settings: Settings) -> None:
    counts = query(
        settings.warehouse,
        "SELECT count(*) AS records, count(DISTINCT inference_id) AS ids, "
        "count(*) FILTER (submitter = 'GATEOverflow') AS of_one_submitter FROM mart.inference_results",
    )
    assert counts.rows() == [(1448, 1448, 841)]
    shown = query(settings.warehouse, "FROM inference")
    assert shown.height == 554
    assert shown.select("suite", "division").unique().rows() == [("datacenter", "closed")]


def test_records_are_counted_where_sources_and_the_headline_count(settings: Settings) -> None:
    (source,) = query(settings.warehouse, read_question(settings.questions, "sources").sql).to_dicts()
    assert (source["round"], source["result_count"], source["scored_count"]) == (ROUND, 1448, None)
    told = headline(Lake.at(settings.lake))[0]
    assert told == f"Inference 1,448 results of {ROUND} (554 in the view that compares)"


def test_each_is_shown_with_what_it_is_of_and_where_it_was_read(settings: Settings) -> None:
    shown = query(settings.warehouse, "FROM inference")
    assert set(shown["source"]) == {"mlcommons/inference_results_v5.1"}
    assert set(shown["retrieved_at"]) == {"2026-11-30T12:00:00+00:00"}
    assert shown["published_result_id"].str.contains(r"^5\.1-\d{4}$").all()
    cited = ("round", "division", "availability", "submitter", "system_name")
    assert [shown[name].null_count() for name in cited] == [0] * len(cited)


def test_the_most_for_each_accelerator(settings: Settings) -> None:
    sql = read_question(settings.questions, "inference_per_accelerator").sql
    rows = query(settings.warehouse, sql)
    key = ["round", "benchmark", "scenario", "result_unit", "accelerator"]
    assert not rows.select(key).is_duplicated().any()
    best = rows.filter(benchmark="llama3.1-405b", scenario="offline", accelerator="GB200 (per GPU)").row(0, named=True)
    assert best["result_per_accelerator"] == pytest.approx(best["result"] / best["accelerator_count"])
    rates = query(
        settings.warehouse,
        "SELECT max(result / accelerator_count) AS most FROM inference "
        "WHERE benchmark = 'llama3.1-405b' AND scenario = 'offline' AND accelerator = 'GB200 (per GPU)'",
    )
    assert best["result_per_accelerator"] == pytest.approx(rates["most"].item())


def test_the_chain_behind_a_record(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RACKRECON_DATA", str(settings.data))
    show_chain(LARGEST, ChainFormat.text)
    told = capsys.readouterr().out
    assert "72 accelerators: 18 nodes x 4 of" in told
    assert "for each of 72 accelerators, derived" in told
    assert "of summary_results.json" in told
    assert "published result ID: 5.1-" in told
    assert chain_of_record(Lake.at(settings.lake), f"{ROUND}/nothing") is None
