"""Result logs line by line: every shape that was published, and whatever else a file may hold."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlperf_logging.compliance_checker.mlp_parser import ruleset_510

from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import ParsedLogs, parse_result_log_batches, parse_result_logs
from pipelines.schemas.core import Evals, ParseFindings, Runs, Steps

PATH = "NVIDIA/results/eos_n64/{benchmark}/result_{number}.txt"
SHA = "ab" * 32


def line(key: str, value: Any = None, time_ms: int = 0, **metadata: Any) -> str:
    event = {
        "namespace": "",
        "time_ms": time_ms,
        "event_type": "POINT_IN_TIME",
        "key": key,
        "value": value,
        "metadata": {"file": "train.py", "lineno": 7, **metadata},
    }
    return f":::MLLOG {json.dumps(event)}"


def log_file(
    *lines: str | bytes, benchmark: str = "llama31_405b", round_name: str = "training-v6.0", number: int = 0
) -> PublishedFile:
    content = b"".join((text.encode() if isinstance(text, str) else text) + b"\n" for text in lines)
    return PublishedFile(round_name, PATH.format(benchmark=benchmark, number=number), SHA, content)


def parse(*files: PublishedFile) -> ParsedLogs:
    """Parse and hold every frame against its schema."""
    parsed = parse_result_logs(files)
    Runs.validate(parsed.runs)
    Evals.validate(parsed.evals)
    Steps.validate(parsed.steps)
    ParseFindings.validate(parsed.findings)
    return parsed


def run_of(*lines: str | bytes, **options: Any) -> dict[str, Any]:
    (run,) = parse(log_file(*lines, **options)).runs.rows(named=True)
    return run


def steps_of(*lines: str | bytes, **options: Any) -> pl.DataFrame:
    return parse(log_file(*lines, **options)).steps


# Lines and tokens


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "0: ",
        "  0: ",
        "[0] ",
        "6144: ",
        "Namespace(x=1)",
        "result_8.txt:",
        "\x1b[A",
        "q\b \b",
        "10%|#  |\r",
        ":::MLLOG {} ",
    ],
)
def test_text_before_the_token_does_not_matter(prefix: str) -> None:
    run = run_of("noise", prefix + line("run_start", time_ms=5))
    assert (run["run_start_ms"], run["run_start_line"]) == (5, 2)
    assert (run["event_count"], run["broken_line_count"], run["line_count"]) == (1, 0, 2)


@pytest.mark.parametrize("ending", ["\r", "\r10%|#  |", "\r\r", "  ", "\t"])
def test_an_event_ends_at_a_carriage_return(ending: str) -> None:
    assert run_of(line("run_start", time_ms=5) + ending)["run_start_ms"] == 5


def test_two_events_on_one_line_with_a_carriage_return_between() -> None:
    run = run_of(line("run_start", time_ms=5) + "\r" + line("run_stop", time_ms=9))
    assert (run["run_start_ms"], run["run_stop_ms"]) == (5, 9)
    assert (run["run_start_line"], run["run_stop_line"]) == (1, 1)


def test_of_two_tokens_on_a_line_the_last_one_counts() -> None:
    run = run_of(line("run_start", time_ms=5) + " " + line("run_start", time_ms=6))
    assert (run["run_start_count"], run["run_start_ms"], run["event_count"]) == (1, 6, 1)


def test_a_token_inside_an_event_breaks_it() -> None:
    run = run_of(line("seed", ":::MLLOG 5"))
    assert (run["event_count"], run["broken_line_count"], run["first_broken_line"]) == (1, 1, 1)


def test_a_last_line_needs_no_newline() -> None:
    file = log_file("x", line("run_stop", time_ms=9, status="success"))
    (run,) = parse(PublishedFile(file.round, file.path, SHA, file.content.removesuffix(b"\n"))).runs.rows(named=True)
    assert (run["run_stop_ms"], run["run_stop_line"], run["line_count"], run["status"]) == (9, 2, 2, "success")


def test_bytes_that_are_no_utf8_are_read_as_latin_1() -> None:
    run = run_of(
        b"\xff\xfe \x95 " + line("submission_platform", "a\xe9b").encode("latin-1").replace(b"\\u00e9", b"\xe9")
    )
    assert run["submission_platform"] == "a\xe9b"


def test_utf8_is_read_as_such() -> None:
    text = line("submission_platform", "?").replace("?", "Universität")
    assert run_of(text)["submission_platform"] == "Universität"
    assert run_of(text.replace("null", "NaN"), line("x"))["submission_platform"] == "Universität"


# Broken lines


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (":::MLLOG ", "log.broken_line"),
        (":::MLLOG {", "log.broken_line"),
        (':::MLLOG {"value": nullLambda/custom_callbacks.py", "lineno": 207}}', "log.broken_line"),
        (":::MLLOG 3", "log.not_an_event"),
        (':::MLLOG {"key": "x", "value": 1, "metadata": {}}', "log.not_an_event"),
        (':::MLLOG {"time_ms": 1, "value": 1, "metadata": {}}', "log.not_an_event"),
        (':::MLLOG {"time_ms": 1, "key": "x", "metadata": {}}', "log.not_an_event"),
        (':::MLLOG {"time_ms": 1, "key": "x", "value": 1}', "log.not_an_event"),
        (':::MLLOG {"time_ms": "soon", "key": "x", "value": 1, "metadata": {}}', "log.not_an_event"),
        (':::MLLOG {"time_ms": -1, "key": "x", "value": 1, "metadata": {}}', "log.not_an_event"),
        (':::MLLOG {"time_ms": 1e30, "key": "x", "value": 1, "metadata": {}}', "log.not_an_event"),
        (':::MLLOG {"time_ms": true, "key": "x", "value": 1, "metadata": {}}', "log.not_an_event"),
        (":::MLLOG " + "[" * 100_000, "log.broken_line"),
        (':::MLLOG {"time_ms": 1, "key": "x", "value": ' + "9" * 5_000 + ', "metadata": {}}', "log.broken_line"),
        (line("x") + "\x00", "log.broken_line"),
        (line("x")[:-1] + ',\r"more": 1}', "log.broken_line"),
    ],
)
def test_a_line_that_is_no_event_is_counted_and_reported(text: str, kind: str) -> None:
    parsed = parse(log_file(line("run_start"), text, line("run_stop"), text))
    (run,) = parsed.runs.rows(named=True)
    assert (run["event_count"], run["broken_line_count"], run["first_broken_line"]) == (4, 2, 2)
    assert run["run_stop_line"] == 3
    broken = parsed.findings.filter(kind=kind)
    assert broken["place"].to_list() == ["line 2", "line 4"]
    assert broken["severity"].unique().to_list() == ["error"]


def test_many_broken_lines_are_counted_and_the_first_quoted() -> None:
    parsed = parse(log_file(*[":::MLLOG {"] * 1_000))
    assert parsed.runs["broken_line_count"].to_list() == [1_000]
    assert len(parsed.findings.filter(kind="log.broken_line")) == 20
    assert parsed.findings.filter(kind="log.broken_lines")["found"].to_list() == ["1000"]


def test_json_that_only_python_takes() -> None:
    text = line("eval_accuracy", 1.5, samples_count=7).replace("1.5", "NaN")
    parsed = parse(log_file(text, text.replace("NaN", "-Infinity"), text.replace("NaN", "1e999")))
    assert str(parsed.evals["quality"].to_list()) == "[nan, -inf, inf]"
    assert parsed.evals["samples_count"].to_list() == [7.0] * 3


def test_what_a_column_cannot_hold_is_reported() -> None:
    text = (
        line("eval_accuracy", 1.5, samples_count=7, status="s").replace(": 7,", ": 1e999,").replace('"s"', '"\\ud800"')
    )
    parsed = parse(log_file(text, line("x", time_ms=0).replace('"time_ms": 0', '"time_ms": 1.5')))
    assert parsed.evals["samples_count"].to_list() == [None]
    assert parsed.findings.filter(kind="log.member").select("place", "found").rows() == [
        ("line 1", "metadata.samples_count"),
        ("line 2", "fraction of time_ms"),
    ]


def test_metadata_may_be_a_string() -> None:
    text = line("run_start", time_ms=5)
    empty = text[: text.index('"metadata"')] + '"metadata": ""}'
    assert run_of(empty)["run_start_ms"] == 5


def test_of_repeated_members_the_last_counts() -> None:
    text = line("global_batch_size", 8).replace('"value": 8', '"value": 8, "value": 16')
    assert run_of(text)["global_batch_size"] == 16


# Settings


def test_settings() -> None:
    run = run_of(
        line("submission_benchmark", "llama31_405b"),
        line("submission_org", "SUBMISSION_ORG_PLACEHOLDER"),
        line("submission_division", "closed"),
        line("submission_status", "onprem"),
        line("submission_platform", "64xDGX"),
        line("config_filename", "/workspace/llm/config_DGXB200_64x8x1.sh"),
        line("seed", "17"),
        line("global_batch_size", 1152),
        line("gradient_accumulation_steps", 32.0),
        line("max_sequence_length", 8192),
        line("train_samples", 1574207408),
        line("eval_samples", 5760),
        line("number_of_nodes", "64"),
        line("accelerators_per_node", 8.0),
        line("tensor_parallelism", 4),
        line("pipeline_parallelism", 8),
        line("context_parallelism", 2),
        line("expert_parallelism", 1),
        line("micro_batch_size", 1),
        line("lowest_numerical_precision_in_linear", "fp8"),
        line("target_accuracy", 5.6),
    )
    expected = {
        "submission_benchmark": "llama31_405b",
        "submission_organisation": "SUBMISSION_ORG_PLACEHOLDER",
        "submission_division": "closed",
        "submission_status": "onprem",
        "submission_platform": "64xDGX",
        "config_filename": "/workspace/llm/config_DGXB200_64x8x1.sh",
        "seed": "17",
        "global_batch_size": 1152,
        "gradient_accumulation_steps": 32.0,
        "max_sequence_length": 8192,
        "train_samples": 1574207408,
        "eval_samples": 5760,
        "number_of_nodes": 64,
        "accelerators_per_node": 8,
        "tensor_parallel": 4,
        "pipeline_parallel": 8,
        "context_parallel": 2,
        "expert_parallel": 1,
        "micro_batch": 1,
        "precision": "fp8",
        "target_quality": 5.6,
    }
    assert {name: run[name] for name in expected} == expected


@pytest.mark.parametrize(
    "key",
    [
        "lowest_numerical_precision_in_linear",
        "lowest_numerical_precision_linear",
        "precision",
        "precision_mode",
    ],
)
def test_precision_under_each_of_its_names(key: str) -> None:
    assert run_of(line(key, "mxfp4"))["precision"] == "mxfp4"


def test_the_precision_of_linear_layers_comes_first() -> None:
    lines = [line("precision", "bf16"), line("lowest_numerical_precision_linear", "mxfp4")]
    assert run_of(*lines)["precision"] == "mxfp4"


def test_the_last_value_of_a_repeated_setting_counts() -> None:
    assert run_of(line("global_batch_size", 8), line("global_batch_size", 16))["global_batch_size"] == 16


@pytest.mark.parametrize("value", ["many", 1.5, -1, 2**63, 10**30, [1], {"a": 1}, True, 1e300])
def test_a_setting_that_is_no_count_is_reported(value: Any) -> None:
    parsed = parse(log_file(line("global_batch_size", value)))
    assert parsed.runs["global_batch_size"].to_list() == [None]
    finding = parsed.findings.filter(kind="log.value").row(0, named=True)
    assert (finding["place"], finding["expected"]) == ("global_batch_size", "a whole number from 0")


def test_start_and_stop_are_the_first_ones_and_initialisation_the_widest() -> None:
    run = run_of(
        line("init_start", time_ms=12),
        line("init_start", time_ms=10),
        line("init_stop", time_ms=20),
        line("init_stop", time_ms=22),
        line("run_start", time_ms=30),
        line("run_start", time_ms=31),
        line("run_stop", time_ms=40, status="aborted"),
        line("run_stop", time_ms=41, status="success"),
    )
    expected = {
        "init_start_ms": 10,
        "init_stop_ms": 22,
        "init_stop_line": 4,
        "run_start_count": 2,
        "run_start_ms": 30,
        "run_start_line": 5,
        "run_stop_count": 2,
        "run_stop_ms": 40,
        "run_stop_line": 7,
        "status": "aborted",
    }
    assert {name: run[name] for name in expected} == expected


def test_what_a_run_lacks_is_reported() -> None:
    parsed = parse(log_file("nothing here"), log_file(line("submission_benchmark", "bert"), number=1))
    assert parsed.findings.select("source_path", "kind").sort("source_path", "kind").rows() == [
        (PATH.format(benchmark="llama31_405b", number=0), "log.no_events"),
        (PATH.format(benchmark="llama31_405b", number=0), "log.run_start"),
        (PATH.format(benchmark="llama31_405b", number=0), "log.run_stop"),
        (PATH.format(benchmark="llama31_405b", number=1), "log.benchmark"),
        (PATH.format(benchmark="llama31_405b", number=1), "log.run_start"),
        (PATH.format(benchmark="llama31_405b", number=1), "log.run_stop"),
    ]


@pytest.mark.parametrize(
    ("encoding", "found"),
    [("utf-16", "none: the file begins as UTF-16 does"), ("utf-16-be", "none"), ("utf-8", None)],
)
def test_a_log_in_utf_16_has_no_events_and_is_told_why(encoding: str, found: str | None) -> None:
    parsed = parse(log_file(line("run_start").encode(encoding)))
    told = parsed.findings.filter(kind="log.no_events")["found"].to_list()
    assert told == ([] if found is None else [found])


# Repeated events


def flood(count: int, key: str = "init_start", event_type: str = "INTERVAL_START") -> list[str]:
    text = line(key).replace("POINT_IN_TIME", event_type)
    return [text.replace('"time_ms": 0', f'"time_ms": {1_746_151_192_059 + (7 * n) % 50}') for n in range(count)]


def test_repeated_events_are_counted_and_the_earliest_kept() -> None:
    run = run_of(*flood(200), *flood(100, "cache_clear", "POINT_IN_TIME"), line("run_start", time_ms=1), *flood(60))
    assert (run["event_count"], run["init_start_ms"]) == (361, 1_746_151_192_059)
    assert run["run_start_line"] == 301


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace("1746151192", "0746151192"),
        lambda text: text.replace("1746151192", "17461511a2"),
        lambda text: text[:-1],
        lambda text: text + "}",
        lambda text: text.replace('"lineno": 7', '"lineno": 07'),
        lambda text: text.replace('"value"', '"valve"'),
    ],
)
@pytest.mark.parametrize("count", [1, 40])
def test_one_broken_line_among_repeated_events_is_found(spoil: Any, count: int) -> None:
    lines = flood(100)
    lines[50 : 50 + count] = [spoil(text) for text in lines[50 : 50 + count]]
    run = run_of(*lines)
    assert (run["event_count"], run["broken_line_count"], run["first_broken_line"]) == (100, count, 51)


# Evaluations


def test_evaluations_with_their_intervals() -> None:
    parsed = parse(
        log_file(
            line("global_batch_size", 10),
            line("run_start", time_ms=1_000),
            line("eval_start", time_ms=2_000, samples_count=100),
            line("eval_accuracy", 5.5, time_ms=2_400, samples_count=100),
            line("eval_stop", time_ms=2_500, samples_count=100),
            line("eval_start", time_ms=4_000, samples_count=150),
            line("eval_accuracy", 5.4, time_ms=4_600, samples_count=150),
            line("eval_stop", time_ms=4_700, samples_count=150),
            line("run_stop", time_ms=5_000, samples_count=150, status="success"),
        )
    )
    assert parsed.evals.select("sequence", "line", "quality", "start_ms", "stop_ms", "duration_seconds").rows() == [
        (0, 4, 5.5, 2_000, 2_500, 0.5),
        (1, 7, 5.4, 4_000, 4_700, 0.7),
    ]
    run = parsed.runs.row(0, named=True)
    expected = {
        "eval_count": 2,
        "eval_seconds": "[0.5, 0.7]",
        "eval_median_seconds": pytest.approx(0.6),
        "eval_total_seconds": pytest.approx(1.2),
        "first_eval_samples": 100,
        "eval_interval_samples": 50,
        "samples_to_converge": 150.0,
        "samples_unit": "samples",
        "final_quality": 5.4,
        "step_count": 15,
    }
    assert {name: run[name] for name in expected} == expected


def test_a_result_printed_after_its_stop() -> None:
    evals = parse(
        log_file(
            line("eval_start", time_ms=10, epoch_num=1),
            line("eval_stop", time_ms=15, epoch_num=1),
            line("eval_accuracy", 0.7, time_ms=16, epoch_num=1),
            line("eval_start", time_ms=20, epoch_num=2),
            line("eval_stop", time_ms=26, epoch_num=2),
            line("eval_accuracy", 0.8, time_ms=27, epoch_num=2),
            benchmark="bert",
        )
    ).evals
    assert evals.select("start_ms", "stop_ms").rows() == [(10, 15), (20, 26)]


def test_logs_without_eval_start_give_the_stop_alone() -> None:
    parsed = parse(
        log_file(
            line("eval_accuracy", 0.7, time_ms=11, samples_count=5),
            line("eval_stop", time_ms=12),
            line("eval_accuracy", 0.8, time_ms=21, samples_count=10),
            line("eval_stop", time_ms=22),
        ),
        log_file(line("eval_start", time_ms=1), line("eval_accuracy", 0.9, time_ms=2), number=1),
    )
    assert parsed.evals.select("start_ms", "stop_ms", "duration_seconds").rows() == [
        (None, 12, None),
        (None, 22, None),
        (1, None, None),
    ]
    assert parsed.runs["eval_median_seconds"].to_list() == [None, None]


def test_results_after_run_stop_do_not_count() -> None:
    run = run_of(
        line("eval_accuracy", 0.7, samples_count=5),
        line("run_stop", status="success"),
        line("eval_accuracy", 0.8, samples_count=10),
    )
    assert (run["samples_to_converge"], run["final_quality"], run["eval_count"]) == (5.0, 0.7, 1)


@pytest.mark.parametrize(
    ("counted", "metadata", "progress"),
    [
        ("llama31_8b", {"samples_count": 4096, "epoch_num": 4095}, (4096.0, "samples")),
        ("retinanet", {"samples_count": 4096, "epoch_num": 5}, (5.0, "epochs")),
        ("dlrm_dcnv2", {"epoch_num": 0.7499999}, (0.75, "epochs")),
        ("gpt3", {"epoch_num": 1_207_959_552}, (1_207_959_552.0, "tokens")),
        ("bert", {"epoch_num": 2_400_445}, (2_400_445.0, "samples")),
        ("openfold", {"epoch_num": 81_920}, (81_920.0, "samples")),
        ("a_new_one", {"epoch_num": 2}, (2.0, "epochs")),
        ("a_new_one", {"step_num": 30}, (30.0, "steps")),
        ("a_new_one", {"step": 40}, (40.0, "steps")),
        ("a_new_one", {}, (None, None)),
    ],
)
def test_progress_is_counted_as_the_benchmark_counts(
    counted: str, metadata: dict[str, Any], progress: tuple[float | None, str | None]
) -> None:
    run = run_of(line("eval_accuracy", 0.7, **metadata), benchmark=counted)
    assert (run["samples_to_converge"], run["samples_unit"]) == progress
    assert run["eval_count"] == 1


def test_stable_diffusion_needs_both_metrics_at_one_step() -> None:
    values = [(100, "FID", 95.0), (100, "CLIP", 0.16), (200, "FID", 89.0), (200, "CLIP", 0.14)]
    values += [(300, "FID", 90.0), (300, "CLIP", 0.15), (400, "FID", 80.0), (400, "CLIP", 0.2)]
    lines = [line("eval_accuracy", value, samples_count=samples, metric=metric) for samples, metric, value in values]
    run = run_of(*lines, benchmark="stable_diffusion")
    assert (run["samples_to_converge"], run["samples_unit"], run["eval_count"]) == (300.0, "samples", 4)
    by_step = [line("eval_accuracy", value, step_num=step, metric=metric) for step, metric, value in values]
    run = run_of(*by_step, benchmark="stable_diffusion")
    assert (run["samples_to_converge"], run["samples_unit"]) == (300.0, "steps")
    run = run_of(*lines[:4], benchmark="stable_diffusion")
    assert run["samples_to_converge"] == 200.0


def test_a_dictionary_is_one_result_a_metric() -> None:
    parsed = parse(
        log_file(
            line("eval_accuracy", {"FID": 89, "CLIP": 0.16, "note": "x"}, samples_count=5),
            line("eval_error", 0.124, epoch_num=3),
            line("eval_accuracy", 0.5, epoch_num=4),
        )
    )
    assert parsed.evals.select("sequence", "metric", "quality", "line").rows() == [
        (0, "FID", 89.0, 1),
        (1, "CLIP", 0.16, 1),
        (2, "note", None, 1),
        (3, "eval_error", 0.124, 2),
        (4, None, 0.5, 3),
    ]
    assert parsed.runs["eval_count"].to_list() == [3]


# Training statistics


def times(seconds: Sequence[float], key: str = "train_step_time", **beside: float) -> list[str]:
    return [line("tracked_stats", {key: value, **beside}, step=number) for number, value in enumerate(seconds)]


SETTLED = [9.0, 5.0, 4.0, *[2.0 + 0.01 * (number % 3) for number in range(40)]]


@pytest.mark.parametrize("key", ["train_step_time", "train_step_timing", "train_step_timing in s"])
def test_step_times_under_each_of_their_names(key: str) -> None:
    run = run_of(*times(SETTLED, key, reduced_train_loss=1.0), benchmark="gpt3")
    assert (run["step_time_key"], run["step_time_scope"], run["logged_step_count"]) == (key, "step", 43)
    assert (run["step_median_seconds"], run["settling_step_count"]) == (2.01, 3)


def test_maskrcnn_names_an_iteration_time_beside_data() -> None:
    lines = [line("tracked_stats", {"time": value, "data": 0.1}) for value in SETTLED]
    run = run_of(*lines, benchmark="maskrcnn", round_name="training-v2.1")
    assert (run["step_time_key"], run["step_median_seconds"]) == ("time", 2.01)
    assert run_of(line("tracked_stats", {"time": 3.0}))["step_time_key"] is None


def test_steps_and_blocks_are_never_mixed() -> None:
    lines = times(SETTLED, reduced_train_loss=1.0)
    lines[20:20] = [line("tracked_stats", {"train_step_time": 7.0}, samples_count=640)] * 10
    steps = steps_of(*lines)
    assert steps["scope"].value_counts().sort("scope").rows() == [("block", 10), ("step", 43)]
    run = run_of(*lines)
    assert (run["step_median_seconds"], run["logged_step_count"]) == (2.01, 43)


def test_rounds_with_published_medians_pool_steps_and_blocks() -> None:
    lines = times([9.0, 9.0, 9.0, 1.0, 2.0, 3.0], reduced_train_loss=1.0)
    lines += [line("tracked_stats", {"train_step_time": 10.0, "throughput": 1.0})] * 2
    run = run_of(*lines, round_name="training-v5.1")
    assert (run["step_median_seconds"], run["settling_step_count"]) == (3.0, 3)
    assert run["step_mean_seconds"] == pytest.approx(26 / 5)
    assert run_of(*lines, round_name="training-v6.0")["step_median_seconds"] == 2.0


def test_logs_of_blocks_alone() -> None:
    lines = []
    for mean in (3.0, 2.0, 2.2, 2.1):
        lines += [line("tracked_stats", {"train_step_time": mean}, samples_count=64), line("block_stop")]
    run = run_of(*lines)
    assert (run["step_time_scope"], run["logged_step_count"], run["settling_step_count"]) == ("block", 0, 1)
    assert run["step_median_seconds"] == 2.1
    assert run_of(*lines, round_name="training-v5.0")["step_median_seconds"] == 2.1


def test_times_without_loss_that_outnumber_the_blocks_are_steps() -> None:
    run = run_of(*times(SETTLED), line("block_stop"))
    assert (run["step_time_scope"], run["logged_step_count"]) == ("step", 43)


def test_a_run_that_settles_late() -> None:
    falling = [2.0 + 0.1 * (40 - number) for number in range(40)]
    run = run_of(*times([*falling, *[2.0] * 100], reduced_train_loss=1.0))
    assert 36 <= run["settling_step_count"] <= 40
    assert run["step_median_seconds"] == 2.0


def test_launch_times_are_no_step_times() -> None:
    block = [0.03, *[0.5 + 0.001 * number for number in range(6)]]
    run = run_of(*times(block * 8, reduced_train_loss=1.0))
    assert 0.5 <= run["step_median_seconds"] <= 0.505
    assert run["step_mean_seconds"] > 0.5


@pytest.mark.parametrize(("count", "settling"), [(1, 0), (2, 1), (3, 1), (6, 3)])
def test_short_logs_keep_their_second_half(count: int, settling: int) -> None:
    run = run_of(*times([9.0, 8.0, 7.0, 6.0, 5.0, 4.0][:count], reduced_train_loss=1.0))
    assert run["settling_step_count"] == settling
    assert run["step_median_seconds"] is not None


def test_step_is_samples_where_it_counts_in_batches() -> None:
    lines = [line("tracked_stats", {"train_step_time": 2.0, "reduced_train_loss": 1.0}, step=64 * n) for n in (1, 2, 3)]
    steps = steps_of(line("global_batch_size", 64), *lines)
    assert steps.select("step_number", "samples_count").rows() == [(None, 64.0), (None, 128.0), (None, 192.0)]
    assert run_of(line("global_batch_size", 64), *lines)["step_count"] == 3


def test_step_is_an_index_beside_samples() -> None:
    lines = [
        line(
            "tracked_stats",
            {"train_step_time": 2.0, "reduced_train_loss": 1.0},
            step=32 * n - 1,
            samples_count=64 * 32 * n,
        )
        for n in (1, 2, 3)
    ]
    steps = steps_of(line("global_batch_size", 64), *lines)
    assert steps.select("step_number", "samples_count").rows() == [(31.0, 2048.0), (63.0, 4096.0), (95.0, 6144.0)]
    run = run_of(line("global_batch_size", 64), *lines)
    assert (run["step_count"], run["logged_step_count"]) == (96, 3)


def test_steps_of_a_run_that_starts_from_a_checkpoint() -> None:
    lines = [
        line("tracked_stats", {"train_step_timing": 2.0, "reduced_train_loss": 1.0}, step=6_291_456 + 1536 * n)
        for n in range(1, 11)
    ]
    assert run_of(line("global_batch_size", 1536), *lines, benchmark="gpt3")["step_count"] == 10


@pytest.mark.parametrize(
    ("metadata", "count"),
    [
        ({"step_num": 6000}, 6000),
        ({"step": 270, "samples_count": 345_600}, 270),
        ({"samples_count": 323_200}, 5050),
        ({"step": 270}, None),
        ({}, None),
    ],
)
def test_steps_as_stated_at_the_end(metadata: dict[str, Any], count: int | None) -> None:
    assert run_of(line("global_batch_size", 64), line("run_stop", **metadata))["step_count"] == count


def test_scalar_statistics_stand_in_their_place() -> None:
    steps = steps_of(
        line("train_loss", 2.5, samples_count=8, lr=0.1),
        line("tracked_stats", {"throughput": 400.0}, step=1),
        line("throughput", 500, epoch_num=1),
        line("tracked_stats", {"imgs_sec": 600.0}),
        line("tracked_stats", {"warmup_time": 3.0}),
        line("tracked_stats", {"validation_step_time": 3.0}),
        line("tracked_stats", "text"),
        line("train_loss", "none"),
        benchmark="resnet",
    )
    assert steps.select("line", "scope", "train_loss", "throughput", "learning_rate").rows() == [
        (1, "step", 2.5, None, 0.1),
        (2, "block", None, 400.0, None),
        (3, "block", None, 500.0, None),
        (4, "block", None, 600.0, None),
    ]


_NUMBERS = st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-5, 10**6), st.sampled_from(["x", True, [1]]))
_STATISTICS = st.dictionaries(
    st.sampled_from(
        ["train_step_time", "reduced_train_loss", "train_loss", "validation_step_time", "throughput", "warmup_time"]
    ),
    _NUMBERS,
    max_size=3,
)
_METADATA = st.dictionaries(
    st.sampled_from(["step", "samples_count", "lr", "step_num", "epoch_num"]), _NUMBERS, max_size=3
)


@given(st.lists(st.tuples(_STATISTICS, _METADATA), min_size=20, max_size=30))
@settings(deadline=None)
def test_statistics_say_the_same_in_the_usual_form_and_in_any_other(events: list[tuple[Any, Any]]) -> None:
    usual = [line("tracked_stats", value, 1_700_000_000_000, **metadata) for value, metadata in events]
    padded = [text.replace('"key": "tracked', '"key":  "tracked') for text in usual]
    one, other = parse(log_file(*usual)), parse(log_file(*padded))
    assert one.steps.equals(other.steps)
    assert one.runs.drop("size_bytes").equals(other.runs.drop("size_bytes"))
    assert one.findings.equals(other.findings)


@pytest.mark.parametrize(("measured", "unit"), [("gpt3", "tokens/s"), ("llama2_70b_lora", "samples/s")])
def test_unit_of_throughput(measured: str, unit: str) -> None:
    lines = [line("tracked_stats", {"throughput": rate}) for rate in (1.0, 3.0, 8.0)]
    run = run_of(*lines, benchmark=measured)
    assert (run["throughput_median"], run["throughput_unit"]) == (3.0, unit)
    assert run_of(line("x"), benchmark=measured)["throughput_unit"] is None


def test_a_throughput_after_run_stop_is_that_of_the_whole_run() -> None:
    stop, whole = line("run_stop", status="success"), line("throughput", 6.4)
    assert run_of(line("throughput", 8.0), stop, whole)["throughput_median"] == 8.0
    assert run_of(line("run_start"), stop, whole)["throughput_median"] == 6.4
    assert run_of(line("throughput", 6.0), line("throughput", 8.0))["throughput_median"] == 7.0


def blocks(*seconds: int, samples: int = 320) -> list[str]:
    """Blocks of so many seconds, one after the other, with the samples consumed before and after each."""
    lines = []
    for number, duration in enumerate(seconds):
        lines.append(line("block_start", time_ms=0, samples_count=number * samples))
        lines.append(line("block_stop", time_ms=1000 * duration, samples_count=(number + 1) * samples))
    return lines


def test_blocks_that_state_their_samples_give_the_step_time_of_a_log_without_one() -> None:
    batch = line("global_batch_size", 32)
    run = run_of(batch, *blocks(90, 10, 20, 15))
    assert (run["step_median_seconds"], run["step_mean_seconds"]) == (1.5, 1.5)
    assert (run["step_time_key"], run["step_time_scope"], run["settling_step_count"]) == ("block_start", "block", 1)
    assert run["logged_step_count"] == 0
    run = run_of(batch, *blocks(10), line("throughput", 9.0))
    assert (run["step_median_seconds"], run["settling_step_count"]) == (1.0, 0)
    run = run_of(batch, *blocks(10), line("tracked_stats", {"train_step_time": 2.0, "reduced_train_loss": 3.0}))
    assert (run["step_median_seconds"], run["step_time_key"]) == (2.0, "train_step_time")


def test_blocks_of_one_log_are_not_those_of_another() -> None:
    logs = [[line("run_start")], [line("global_batch_size", 32), *blocks(10)], [line("global_batch_size", 32)]]
    files = [log_file(*lines, number=number) for number, lines in enumerate(logs)]
    for ordered in (files, files[::-1]):
        assert parse(*ordered).runs["step_median_seconds"].to_list() == [None, 1.0, None]


def test_blocks_that_state_no_progress_give_no_step_time() -> None:
    same = [line("block_start", time_ms=0, samples_count=64), line("block_stop", time_ms=9, samples_count=64)]
    epochs = [line("block_start", time_ms=0, first_epoch_num=1), line("block_stop", time_ms=9, first_epoch_num=1)]
    batch = line("global_batch_size", 32)
    for lines, options in (
        ([batch, *same], {}),
        ([batch, *epochs], {}),
        (blocks(10), {}),
        ([batch, *blocks(10)[1:]], {}),
        ([batch, *blocks(0)], {}),
        ([batch, *blocks(10)], {"round_name": "training-v5.1"}),
    ):
        run = run_of(*lines, **options)
        assert (run["step_median_seconds"], run["step_time_key"], run["step_time_scope"]) == (None, None, None)


# Sets of files


def test_names_and_place_of_a_run() -> None:
    (run,) = parse(PublishedFile("hpc-v3.0", "HPE/results/n4/weak/oc20/result_07.txt", SHA, b"")).runs.rows(named=True)
    expected = {
        "round": "hpc-v3.0",
        "source_sha256": SHA,
        "result_id": "hpc-v3.0/HPE/n4/oc20/weak",
        "run_id": "hpc-v3.0/HPE/n4/oc20/weak/result_07",
        "submitter_folder": "HPE",
        "system": "n4",
        "benchmark": "oc20",
        "scaling_mode": "weak",
        "size_bytes": 0,
        "line_count": 0,
        "event_count": 0,
    }
    assert {name: run[name] for name in expected} == expected


def test_no_files_give_empty_frames() -> None:
    parsed = parse()
    assert [len(frame) for frame in (parsed.runs, parsed.evals, parsed.steps, parsed.findings)] == [0, 0, 0, 0]


def test_a_misplaced_file_is_reported() -> None:
    parsed = parse(PublishedFile("training-v5.0", "results.txt", SHA, b""))
    assert parsed.runs.is_empty()
    assert parsed.findings.select("kind", "found").rows() == [("log.layout", "results.txt")]


def some_logs() -> list[PublishedFile]:
    return [
        log_file(
            *flood(30),
            line("global_batch_size", 4 + number),
            line("eval_start", time_ms=10),
            line("eval_accuracy", 0.5, time_ms=12, samples_count=100 * number),
            line("eval_stop", time_ms=15),
            *times(SETTLED[: number * 5], reduced_train_loss=1.0),
            ":::MLLOG broken" if number % 3 == 0 else line("x"),
            line("run_stop", status="success"),
            number=number,
        )
        for number in range(12)
    ]


@pytest.mark.parametrize("batch_bytes", [1, 20_000, 10**9])
def test_batches_do_not_change_what_is_read(batch_bytes: int) -> None:
    whole = parse(*some_logs())
    batches = list(parse_result_log_batches(iter(some_logs()), batch_bytes))
    assert len(batches) == {1: 12, 20_000: 5, 10**9: 1}[batch_bytes]
    for name in ("runs", "evals", "steps"):
        assert pl.concat([getattr(batch, name) for batch in batches]).equals(getattr(whole, name)), name
    assert pl.concat([batch.findings for batch in batches]).sort(pl.all()).equals(whole.findings.sort(pl.all()))


def test_logs_read_together_do_not_change_each_other() -> None:
    files = some_logs()
    alone = [parse(file) for file in files]
    together = parse(*files)
    assert pl.concat([parsed.runs for parsed in alone]).equals(together.runs)
    assert pl.concat([parsed.evals for parsed in alone]).equals(together.evals)
    assert pl.concat([parsed.steps for parsed in alone]).equals(together.steps)


# Whatever else a file may hold

MARKS = (b":::MLLOG ", b":::MLLOG", b"::", b":", b"\n", b"\r", b"\r\n", b" ", b"\x00", b"\xff", b"\xa0", b"\x85")
PIECES = [
    *MARKS,
    *(letter.encode() for letter in '{}[],"'),
    b'"time_ms": 1',
    b'"key": "run_start"',
    b'"key": "tracked_stats"',
    b'"key": "eval_accuracy"',
    b'"value": {"FID": 1}',
    b'"value": 1e999',
    b'"value": NaN',
    b'"value": "\\ud800"',
    b'"metadata": {}',
    b'"metadata": {"samples_count": -1e300}',
    line("run_start", time_ms=3).encode(),
    line("eval_accuracy", 0.5, samples_count=3).encode(),
    line("tracked_stats", {"train_step_time": 2.0}, step=3).encode(),
    line("global_batch_size", 2).encode(),
]
logs = st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=60).map(b"".join)


def official_counts(content: bytes) -> tuple[int, int] | None:
    """Return how many events the official reader finds good and broken; None where it fails itself."""
    stream = io.TextIOWrapper(io.BytesIO(content), encoding="latin-1")
    try:
        good, broken = ruleset_510.parse_generator(stream)
    except (KeyError, TypeError, RecursionError):
        return None
    return len(good), len(broken)


@given(st.lists(logs, max_size=3))
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_read_as_the_official_reader_does(contents: list[bytes]) -> None:
    files = [
        PublishedFile("training-v6.0", PATH.format(benchmark="bert", number=number), SHA, content)
        for number, content in enumerate(contents)
    ]
    for run, content in zip(parse(*files).runs.rows(named=True), contents, strict=True):
        official = official_counts(content)
        if official is not None:
            good = run["event_count"] - run["broken_line_count"]
            assert (good, run["broken_line_count"]) == official


VALID = log_file(
    *flood(20),
    line("global_batch_size", 64),
    line("run_start", time_ms=5),
    line("eval_start", time_ms=6, samples_count=64),
    line("eval_accuracy", {"FID": 80.0}, time_ms=7, samples_count=64),
    line("eval_stop", time_ms=8, samples_count=64),
    *times(SETTLED[:6], reduced_train_loss=2.0),
    line("run_stop", time_ms=9, status="success", step_num=3),
).content


@pytest.mark.parametrize("space", [" ", "\t", "\xa0", "\x85", "\x1c", "\x0c"])
@pytest.mark.parametrize("is_before", [True, False])
def test_spaces_around_an_event_are_taken_as_the_official_reader_takes_them(space: str, *, is_before: bool) -> None:
    event = VALID.decode().splitlines()[-1].removeprefix(":::MLLOG ")
    text = f":::MLLOG {space}{event}" if is_before else f":::MLLOG {event}{space}"
    content = VALID + text.encode("latin-1") + b"\n"
    (run,) = parse(PublishedFile("training-v6.0", PATH.format(benchmark="bert", number=0), SHA, content)).runs.rows(
        named=True
    )
    good = run["event_count"] - run["broken_line_count"]
    assert (good, run["broken_line_count"]) == official_counts(content)
    assert run["broken_line_count"] == (is_before and space not in " \t")


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_damaged_log_is_read_as_the_official_reader_does(data: st.DataObject) -> None:
    content = bytearray(VALID)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(start + 5, len(content))))
        content[start:end] = data.draw(st.binary(max_size=4) | st.sampled_from(PIECES))
    file = PublishedFile("training-v6.0", PATH.format(benchmark="bert", number=0), SHA, bytes(content))
    (run,) = parse(file).runs.rows(named=True)
    official = official_counts(bytes(content))
    # A negative time, or one beyond any clock, is a number to the official reader.
    if official is not None and run["broken_line_count"] != official[1]:
        assert set(parse(file).findings.filter(kind="log.not_an_event")["found"].str.slice(0, 7)) == {"time_ms"}
        return
    assert official is None or run["event_count"] == sum(official)


@pytest.mark.parametrize(
    "content",
    [
        b":::MLLOG " * 300_000,
        b":::MLLOG {\r" * 300_000,
        b":" * 3_000_000,
        b"\n" * 3_000_000,
        b"\r" * 3_000_000,
        b":::MLLOG " + b"x" * 3_000_000,
        (b":::MLLOG " + b'"' + b"x" * 500_000 + b"\n") * 6,
        b":::MLLOG " + b"[" * 3_000_000,
        b':::MLLOG {"time_ms": ' + b"9" * 3_000_000,
        b':::MLLOG {"time_ms": 1, "key": "x", "value": ' + b'{"a":' * 500_000,
    ],
    ids=["tokens", "returns", "colons", "newlines", "only returns", "a line", "lines", "brackets", "digits", "objects"],
)
def test_hostile_logs_take_time_in_proportion_to_their_length(content: bytes) -> None:
    began = time.process_time()
    parse(PublishedFile("training-v6.0", PATH.format(benchmark="bert", number=0), SHA, content))
    assert time.process_time() - began < 10
