"""The named questions: how each is written, and what each answers on the embedded rounds."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from pipelines.lake.queries import query
from pipelines.lake.tables import Lake
from pipelines.lake.warehouse import build_warehouse
from pipelines.publishing.questions import NoSuchQuestionError, Question, is_name, read_question, read_questions
from pipelines.settings import Settings

Run = Callable[..., subprocess.CompletedProcess[str]]

SETTINGS = Settings.from_environment({})
QUESTIONS = {entry.name: entry for entry in read_questions(SETTINGS.questions)}
V50, V51 = "training-v5.0", "training-v5.1"
CARINA = "training-v5.0/IBM+CoreWeave+NVIDIA/carina_ngpu2496_ngc25.04_nemo/llama31_405b"

SHOWN_WITH_A_RESULT = {
    "round",
    "division",
    "availability",
    "submitter",
    "system_name",
    "accelerator",
    "accelerator_count",
    "source",
    "retrieved_at",
    "published_result_id",
}

KEYS = {
    "accelerator_minutes": ["result_id"],
    "batch_growth": ["result_id"],
    "calibrations_by_error": ["family"],
    "checks_not_passed": ["table", "name"],
    "claims_refuted": ["claim_id"],
    "energy": ["result_id"],
    "facts_in_dispute": ["subject", "metric", "source", "locator"],
    "fastest_by_size": ["round", "benchmark", "accelerator_count"],
    "fp4_runs": ["result_id"],
    "inference_per_accelerator": ["round", "benchmark", "scenario", "result_unit", "accelerator"],
    "largest_systems": ["round", "benchmark"],
    "layouts": ["result_id"],
    "networks_too_slow": ["result_id"],
    "normalised_scores": ["result_id"],
    "not_as_predicted": ["result_id"],
    "not_for_sale": ["result_id"],
    "open_results": ["result_id"],
    "part_over_rounds": ["benchmark", "accelerator", "accelerator_count", "round"],
    "peak_rates": ["accelerator"],
    "racks_filled": ["round", "submitter", "system"],
    "repeated_runs": ["first_result_id", "result_id"],
    "run_spread": ["result_id"],
    "runs_not_counted": ["run_id"],
    "single_node": ["round", "benchmark", "accelerator"],
    "sources": ["round"],
    "strong_scaling": ["result_id"],
    "submitters": ["round", "submitter", "division"],
    "to_look_at": ["kind", "subject"],
    "utilisation": ["result_id"],
    "what_changed": ["table_name", "change", "column_name"],
    "where_minutes_go": ["result_id"],
}


@pytest.fixture
def ask(filled: Path) -> Any:
    return lambda name, **columns: query(filled / "warehouse.duckdb", QUESTIONS[name].sql).filter(**columns)


def test_there_are_at_least_twenty_and_each_has_its_key_here() -> None:
    assert len(QUESTIONS) >= 20
    assert set(QUESTIONS) == set(KEYS)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=str)
def test_each_says_grain_and_meaning_and_reads_from_imports_to_a_final_select(question: Question) -> None:
    grain, meaning, *statement = question.sql.splitlines()
    assert re.fullmatch(r"-- One row per [^.]+\.", grain)
    assert re.fullmatch(r"-- [A-Z].*\?.*", meaning)
    assert re.fullmatch(r"WITH \w+ AS \(", statement[0])
    assert re.match(r"    SELECT \* FROM (core|mart|main)\.\w+", statement[1])
    assert "SELECT" in statement
    assert statement[-1].startswith("ORDER BY ")


@pytest.mark.parametrize("name", KEYS)
def test_the_grain_is_what_the_first_line_says(name: str, ask: Any) -> None:
    rows = ask(name)
    assert not rows.select(KEYS[name]).is_duplicated().any()


@pytest.mark.parametrize("name", KEYS)
def test_a_result_is_shown_with_where_it_comes_from(name: str, ask: Any) -> None:
    rows = ask(name)
    if "result_id" in rows.columns:
        assert set(rows.columns) >= SHOWN_WITH_A_RESULT
        assert rows["source"].null_count() == rows["retrieved_at"].null_count() == 0


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=str)
def test_an_empty_lake_gives_no_rows_and_no_error(question: Question, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "empty-lake"
    if not (folder / "warehouse.duckdb").exists():
        folder.mkdir(exist_ok=True)
        lake = Lake.at(str(folder / "lake"))
        build_warehouse(lake, folder / "warehouse.duckdb", {}, sql_folder=SETTINGS.warehouse_sql)
    assert query(folder / "warehouse.duckdb", question.sql).is_empty()


def test_the_fastest_at_each_size(ask: Any) -> None:
    rows = ask("fastest_by_size", benchmark="llama31_405b", round=V51)
    assert dict(rows.select("accelerator_count", "accelerator").rows())[512] == "GB300 (per GPU)"
    fastest = rows.sort("score_minutes").row(0, named=True)
    assert (fastest["accelerator_count"], round(fastest["score_minutes"], 3)) == (5120, 9.995)


def test_a_part_over_rounds_at_equal_count(ask: Any) -> None:
    rows = ask("part_over_rounds", benchmark="llama31_405b", accelerator="GB200 (per GPU)", accelerator_count=512)
    assert rows["round"].to_list() == [V50, V51]
    assert rows["times_as_fast_derived"].to_list() == pytest.approx([1.0, 121.0925769 / 84.9401167])


def test_strong_scaling_of_one_submitter(ask: Any) -> None:
    rows = ask("strong_scaling", benchmark="llama31_405b", submitter="CoreWeave + IBM + NVIDIA")
    assert rows["accelerator_count"].to_list() == [512, 1024, 1536, 2048, 2496]
    assert rows["speed_up_derived"][4] == pytest.approx(121.0925769 / 27.3346559)
    assert rows["efficiency_derived"][4] == pytest.approx(121.0925769 / 27.3346559 * 512 / 2496)


def test_which_systems_fill_their_racks(ask: Any) -> None:
    rows = ask("racks_filled")
    carina = rows.filter(system="carina_ngpu2496_ngc25.04_nemo").row(0, named=True)
    assert (carina["verdict"], carina["racks_stated"], carina["active_per_rack"]) == ("explained", 39, 64)
    assert carina["idle_slots"] == 39 * 72 - 2496
    assert (rows.filter(verdict="whole")["idle_slots"] == 0).all()


def test_runs_under_two_names(ask: Any) -> None:
    pairs = set(ask("repeated_runs").select("first_result_id", "result_id").rows())
    first = "training-v5.0/Dell/1xXE9680Lx8B200-SXM-180GB/retinanet"
    assert (first, "training-v5.1/Dell/1xXE9780x8B200-SXM-180GB/retinanet") in pairs


def test_who_trained_in_fp4(ask: Any) -> None:
    rows = ask("fp4_runs")
    assert set(rows["round"]) == {V51}
    assert "Nebius" in set(rows["submitter"])
    assert "AMD" not in set(rows.filter(pl.col("accelerator").str.contains("MI3[02]"))["submitter"])


def test_minutes_add_up(ask: Any) -> None:
    row = ask("where_minutes_go", result_id=CARINA).row(0, named=True)
    parts = [row[f"{part}_minutes_derived"] for part in ("step", "evaluation", "other")]
    assert sum(parts) == pytest.approx(row["raw_minutes"]) == pytest.approx(26.98996667)
    assert parts[0] == pytest.approx(25.3, abs=0.1)
    assert all(part > 0 for part in parts)


def test_accelerator_minutes(ask: Any) -> None:
    row = ask("accelerator_minutes", result_id=CARINA).row(0, named=True)
    assert row["accelerator_minutes"] == pytest.approx(27.334655875655876 * 2496)
    assert row["stated_rack_minutes"] == pytest.approx(27.334655875655876 * 39)
    assert row["basis"].startswith("derived")


def test_what_the_model_does_not_predict(ask: Any, filled: Path) -> None:
    verdicts = query(filled / "warehouse.duckdb", "SELECT result_id, verdict FROM mart.reconciled_runs")
    outside = verdicts.filter(pl.col("verdict").is_in(["faster_than_predicted", "slower_than_predicted"]))
    rows = ask("not_as_predicted")
    assert set(rows["result_id"]) == set(outside["result_id"])
    low, high, score = (rows[name] for name in ("predicted_low_minutes", "predicted_high_minutes", "score_minutes"))
    assert ((score < low) | (score > high)).all()


def test_networks_that_are_not_clearly_enough(ask: Any) -> None:
    rows = ask("networks_too_slow")
    assert CARINA in set(rows["result_id"])
    available, high = rows["nic_available_gigabytes_per_second"], rows["nic_needed_gigabytes_per_second_high"]
    assert (high > available).all()


def test_utilisation_is_a_share(ask: Any) -> None:
    rows = ask("utilisation")
    assert rows["model_flops_utilisation"].is_between(0, 1).all()
    assert rows.filter(result_id=CARINA)["model_flops_utilisation"].item() == pytest.approx(0.355, abs=0.005)


def test_layouts(ask: Any) -> None:
    row = ask("layouts", result_id=CARINA).row(0, named=True)
    assert (row["layout"], row["data_parallel"], row["replica_accelerator_count"]) == ("tp4-cp2-pp8-vp8-mb1", 39, 64)


def test_runs_that_do_not_count(ask: Any) -> None:
    rows = ask("runs_not_counted")
    assert dict(rows.group_by("not_counted_rule").len().rows()) == {"run_stop": 7, "status": 5, "init_time": 1}


def test_scores_that_the_factor_changed(ask: Any) -> None:
    rows = ask("normalised_scores")
    assert rows["rcp_factor"].min() > 1
    assert rows["score_minutes"].to_list() == pytest.approx((rows["raw_minutes"] * rows["rcp_factor"]).to_list())
    assert rows["result_id"][0] == CARINA.replace("2496", "1024")
    assert rows["rcp_factor"][0] == pytest.approx(7 / 6)


def test_the_largest_systems(ask: Any) -> None:
    largest = {(row["round"], row["benchmark"]): row for row in ask("largest_systems").iter_rows(named=True)}
    assert largest[V50, "llama31_405b"]["accelerator_count"] == 8192
    assert largest[V51, "llama31_405b"]["accelerator_count"] == 5120


def test_who_submitted_how_much(ask: Any) -> None:
    rows = ask("submitters")
    assert rows["result_count"].sum() == 385
    assert rows.filter(submitter="NVIDIA")["result_count"].to_list() == [31, 31]


def test_each_part_on_eight(ask: Any) -> None:
    rows = ask("single_node", round=V51, benchmark="llama2_70b_lora")
    assert rows["accelerator"][0] == "GB300 (per GPU)"
    assert rows["score_minutes"][0] == pytest.approx(5.9712677)
    assert set(rows["accelerator_count"]) == {8}


def test_batches_grow(ask: Any) -> None:
    row = ask("batch_growth", result_id=CARINA).row(0, named=True)
    assert (row["global_batch_size"], row["samples_to_converge"], row["expected_samples"]) == (1248, 323232, 327360)


def test_how_far_runs_are_apart(ask: Any) -> None:
    row = ask("run_spread", result_id=CARINA).row(0, named=True)
    assert row["counted_run_count"] == 3
    assert row["slowest_over_fastest_derived"] == pytest.approx(27.0202 / 26.9258, abs=1e-5)


def test_all_embedded_results_are_closed_and_for_sale(ask: Any, filled: Path) -> None:
    count = "SELECT count(*) FILTER (division = 'open'), count(*) FILTER (availability IN ('preview', 'research'))"
    opened, not_for_sale = query(filled / "warehouse.duckdb", f"{count} FROM mart.results").row(0)
    assert ask("open_results").height == opened
    assert ask("not_for_sale").height == not_for_sale


def test_measured_energy(ask: Any) -> None:
    rows = ask("energy")
    assert rows.height == 4
    bert = rows.filter(benchmark="bert").row(0, named=True)
    assert bert["mean_power_kilowatts_derived"] == pytest.approx(1949215.94 / (3.5712666667 * 60) / 1000)


def test_peaks_of_parts(ask: Any) -> None:
    parts = {row["accelerator"]: row for row in ask("peak_rates").iter_rows(named=True)}
    assert parts["H100-SXM5-80GB"]["bf16_dense_teraflops"] == 989.4
    assert parts["H100-SXM5-80GB"]["fp4_dense_teraflops"] is None
    assert parts["GB200 (per GPU)"]["fp8_dense_teraflops"] == 5000


def test_facts_in_dispute_are_worst_first(ask: Any) -> None:
    rows = ask("facts_in_dispute")
    assert rows.height > 0
    distance = rows["ratio"].log().abs()
    assert distance.equals(distance.sort(descending=True))


def test_families_are_known_best_first(ask: Any) -> None:
    rows = ask("calibrations_by_error")
    assert rows["leave_one_out_mape_percent"].is_sorted()
    assert rows["n"].min() >= 3


def test_what_is_to_be_looked_at(ask: Any) -> None:
    assert set(ask("to_look_at")["severity"]) <= {"error", "warning"}
    assert "description.memory_and_link_not_of_part" in set(ask("to_look_at")["kind"])
    assert ask("checks_not_passed").filter(pl.col("name") == "whole_racks")["failed_count"].item() > 0


def test_claims_that_are_refuted(ask: Any) -> None:
    rows = ask("claims_refuted")
    assert set(rows["verdict"]) == {"contradicted", "misplaced", "implausible"}
    assert rows["explanation"].null_count() == 0


def test_where_rounds_come_from(ask: Any) -> None:
    rows = ask("sources")
    assert rows.select("round", "result_count", "scored_count", "licence").rows() == [
        (V50, 201, 201, "Apache-2.0"),
        (V51, 184, 184, "Apache-2.0"),
    ]


def test_a_first_refresh_has_nothing_to_compare_with(ask: Any, filled: Path) -> None:
    assert ask("what_changed").is_empty()
    told = dict(query(filled / "warehouse.duckdb", "FROM about").rows())
    assert told["changes_since"] == "not known: there was no warehouse before"


def test_what_the_whole_says_of_itself(filled: Path) -> None:
    told = dict(query(filled / "warehouse.duckdb", "FROM about").rows())
    assert told["newest_training_round_here"] == V51
    assert told["newest_inference_round_here"] == "none"
    assert told["newest_inference_round_published"].startswith("inference-v")
    assert told["licence.training-v5.0"] == "Apache-2.0"
    assert "0fdc28f013256aea84fa36fdaf1e0fa46094b18c" in told["source.training-v5.0"]
    assert "trademark of MLCommons" in told["trademark"]


def test_macros_and_views_carry_provenance(filled: Path) -> None:
    for source in (f"comparable('{CARINA}')", f"best('llama31_405b', '{V50}')", "latest", "mart.result_costs"):
        assert set(query(filled / "warehouse.duckdb", f"FROM {source}").columns) >= SHOWN_WITH_A_RESULT
    best = query(filled / "warehouse.duckdb", f"FROM best('llama31_405b', '{V50}')")
    assert best.filter(result_id=CARINA)["place"].item() == 2


def test_every_column_of_tables_and_views_and_every_macro_says_what_it_is(filled: Path) -> None:
    silent = query(
        filled / "warehouse.duckdb",
        "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND coalesce(comment, '') = ''",
    )
    assert silent.rows() == []
    macros = query(
        filled / "warehouse.duckdb", "SELECT function_name, comment FROM duckdb_functions() WHERE NOT internal"
    )
    assert sorted(macros["function_name"]) == ["best", "comparable"]
    assert macros["comment"].null_count() == 0
    said = query(
        filled / "warehouse.duckdb",
        "SELECT comment FROM duckdb_columns() WHERE table_name = 'latest' AND column_name = 'submitter'",
    )
    assert said.item() == "Submitter as written in the system description"


def test_the_file_is_stored_for_the_oldest_client(filled: Path) -> None:
    with duckdb.connect(str(filled / "warehouse.duckdb"), read_only=True) as connection:
        tags = connection.execute("SELECT tags FROM duckdb_databases() WHERE NOT internal").fetchall()
    assert "v1.2" in str(tags)


def test_a_question_is_asked_by_name(rackrecon: Run) -> None:
    told = rackrecon("query", "sources", "--format", "csv")
    assert told.returncode == 0
    assert told.stdout.splitlines()[0].startswith("round,source,source_commit,retrieved_at,licence")
    assert QUESTIONS["sources"].meaning in told.stderr
    assert "trademark of MLCommons" in told.stderr


def test_an_answer_without_rows_says_so_to_people_alone(rackrecon: Run) -> None:
    nothing = "FROM best('llama31_405b', 'training-v9.0')"
    assert "no rows" in rackrecon("query", nothing).stderr.splitlines()
    assert "no rows" not in rackrecon("query", nothing, "--format", "csv").stderr
    assert "no rows" not in rackrecon("query", "SELECT 1").stderr


def test_no_changes_for_want_of_a_warehouse_before_are_told_apart(rackrecon: Run) -> None:
    told = rackrecon("query", "what_changed").stderr.splitlines()
    assert "no rows; changes are told since: not known: there was no warehouse before" in told


def test_without_a_question_they_are_listed(rackrecon: Run) -> None:
    told = rackrecon("query", "--format", "csv")
    assert [line.split(",")[0] for line in told.stdout.splitlines()[1:]] == sorted(QUESTIONS)


def test_a_near_miss_is_told_what_was_meant(rackrecon: Run) -> None:
    told = rackrecon("query", "fastest_by_siz")
    assert told.returncode == 2
    assert "did you mean fastest_by_size" in told.stderr


def test_a_name_is_a_single_word_and_never_a_path(tmp_path: Path) -> None:
    assert is_name("sources")
    assert not is_name("SELECT 1")
    for name in ("../secret", "a/b", "", "a b"):
        with pytest.raises(NoSuchQuestionError):
            read_question(tmp_path, name)
