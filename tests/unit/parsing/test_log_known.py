"""Events known by their text are read as if each had been decoded."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.parsing import _log_known, _log_shapes, result_logs
from pipelines.parsing._event_columns import MARK_ROWS
from pipelines.parsing._log_json import decode_short
from pipelines.parsing._log_known import KnownEvents, Parted
from pipelines.parsing._log_lines import locate
from pipelines.parsing._log_slices import ArrowSlices, PlainSlices
from pipelines.parsing._log_steps import STEP_ROWS
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import ParsedLogs, parse_result_logs

PATH = "NVIDIA/results/eos_n64/{benchmark}/result_{number}.txt"
NOW_MS = 1_746_151_192_059
TYPES = {
    **dict.fromkeys(("eval_start", "block_start", "init_start", "run_start"), "INTERVAL_START"),
    **dict.fromkeys(("eval_stop", "block_stop", "run_stop", "init_stop"), "INTERVAL_END"),
}


def line(key: str, value: Any = None, time_ms: int = NOW_MS, **metadata: Any) -> str:
    event = {
        "namespace": "",
        "time_ms": time_ms,
        "event_type": TYPES.get(key, "POINT_IN_TIME"),
        "key": key,
        "value": value,
        "metadata": {"file": "train.py", "lineno": 7, **metadata},
    }
    return f":::MLLOG {json.dumps(event)}"


def log_file(
    lines: list[str], number: int = 0, benchmark: str = "bert", round_name: str = "training-v6.0"
) -> PublishedFile:
    content = "".join(text + "\n" for text in lines).encode()
    return PublishedFile(round_name, PATH.format(benchmark=benchmark, number=number), "ab" * 32, content)


@contextmanager
def nothing_is_known() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_log_known, "_FEWEST_WORTHWHILE", 10**9)
        yield


def assert_as_if_decoded(files: list[PublishedFile]) -> ParsedLogs:
    known = parse_result_logs(files)
    with nothing_is_known():
        decoded = parse_result_logs(files)
    for name in ("runs", "evals", "steps"):
        assert getattr(known, name).equals(getattr(decoded, name)), name
    assert known.findings.sort(pl.all()).equals(decoded.findings.sort(pl.all()))
    return known


SAMPLES = st.none() | st.integers(0, 20) | st.sampled_from([-1, 1.5, 1e300, 2**53 + 1, "4", True, [1], [10, 2]])
KEYS = st.sampled_from(
    [
        *MARK_ROWS.keys,
        *("run_start", "run_stop", "init_stop", "weights_initialization", "cache_clear"),
        *("global_batch_size", "seed", "submission_benchmark", "nobody_reads_this"),
        *("eval_accuracy", "eval_error", "train_loss", "throughput", "tracked_stats"),
    ]
)
MEMBERS = st.sampled_from(
    ["train_step_time", "reduced_train_loss", "train_loss", "throughput", "validation_step_time", "lr", "other"]
)
MEASURED = st.floats(0, 2) | st.sampled_from([2, 10, -0.0, -3.5, 1e-5, 2.5e22, 1e-300, 7e199, math.nan, math.inf])
STATISTICS = st.dictionaries(MEMBERS, MEASURED | st.sampled_from([None, "0.5", [1, 2]]), min_size=1, max_size=3)
VALUES = st.none() | st.integers(0, 9) | MEASURED | st.sampled_from(["bert", "7", True, []]) | STATISTICS
MORE = st.dictionaries(
    st.sampled_from(["step", "step_num", "epoch_num", "lr", "status", "metric", "other"]),
    SAMPLES | MEASURED | st.sampled_from(["FID", "eval_accuracy", "top1", "a, 12 b", ""]),
    max_size=3,
)
CHANGES = st.sampled_from(
    [
        lambda text: text.replace('"time_ms": ', '"time_ms":'),
        lambda text: text.replace('"namespace": ""', '"namespace": "worker"'),
        lambda text: text.replace('"event_type": "', '"event_type": "UN'),
        lambda text: text.replace('"key": "eval_st', '"key": "eval_sp'),
        lambda text: text[:-1],
        lambda text: text[:-1] + ', "key": "eval_stop"}',
        lambda text: text[:-1] + ', "value": 1e999}',
        lambda text: text[:-1] + ', "value": 12345678901234567890123}',
        lambda text: text[:-1] + ', "other": 01}',
        lambda text: text[:-1] + ', "other": [-00.5]}',
        lambda text: text[:-1] + ', "other": 1.}',
        lambda text: text[:-1] + ', "other": 1E05}',
        lambda text: text[:-1] + ', "metadata": {"samples_count": 12, "samples_count": 345}}',
        lambda text: text[:-1] + ', "value": {"train_loss": 1, "validation_step_time": 20}}',
        lambda text: text[:-1] + r', "metadata": {"metric": "\u0041", "step": 10}}',
        lambda text: text[:-1] + ', "time_ms": 1746151192111}',
        lambda text: text[:-1] + r', "time\u005fms": 1746151192111}',
        lambda text: text[:-1] + ', "o": [1, 2, 3, 4, 5, 6, 7, 8, 9]}',
        lambda text: text + "\r",
        lambda text: text + " " + text,
        lambda text: "0: " + text,
        lambda text: text.replace(str(NOW_MS)[:3], "074"),
        lambda text: text.replace(str(NOW_MS)[:3], "17 "),
        lambda text: text.replace(str(NOW_MS)[:3], "1743"),
        lambda text: re.sub(r'("time_ms": \d+)', r"\1.5", text),
        lambda text: re.sub(r'("time_ms": \d+)', r"\1e1", text),
        lambda text: text[:-1] + ', "time_ms": 5}',
    ]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    metadata = {"samples_count": samples} if (samples := draw(SAMPLES)) is not None else {}
    text = line(draw(KEYS), draw(VALUES), NOW_MS + draw(st.integers(0, 50)), **metadata, **draw(MORE))
    return draw(CHANGES)(text) if draw(st.integers(0, 3)) == 0 else text


@pytest.fixture(params=[PlainSlices, ArrowSlices], autouse=True, scope="module")
def _either_kind_of_slices(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_log_known, "PlainSlices", request.param)
        patch.setattr(_log_known, "ArrowSlices", request.param)
        patch.setattr(_log_known, "_FEWEST_WORTHWHILE", 1)
        patch.setattr(result_logs, "_reader", result_logs.new_reader)
        yield


@given(st.lists(st.lists(texts(), min_size=1, max_size=40), min_size=1, max_size=3), st.sampled_from(["bert", "gpt3"]))
@settings(max_examples=100, deadline=None)
def test_known_events_are_read_as_if_each_were_decoded(logs: list[list[str]], benchmark: str) -> None:
    rounds = ("training-v6.0", "training-v5.0", "training-v4.0")
    assert_as_if_decoded(
        [log_file(lines, number, benchmark, rounds[number]) for number, lines in enumerate(logs)],
    )


LOGS = st.lists(texts(), min_size=1, max_size=20).map(log_file)


@given(st.lists(LOGS, min_size=2, max_size=4))
@settings(max_examples=25, deadline=None)
def test_what_is_learnt_of_some_logs_changes_nothing_in_others(files: list[PublishedFile]) -> None:
    expected = [parse_result_logs([file]) for file in files]
    reader = result_logs.new_reader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result_logs, "_reader", lambda with_steps: reader)
        for place in [*range(len(files)), *reversed(range(len(files)))]:
            parsed = parse_result_logs([files[place]])
            for name in ("runs", "evals", "steps", "findings"):
                assert getattr(parsed, name).equals(getattr(expected[place], name)), name


OF_STEPS = {
    *("step_count", "logged_step_count", "step_median_seconds", "step_mean_seconds", "settling_step_count"),
    *("step_time_key", "step_time_scope", "throughput_median", "throughput_unit"),
}


@given(st.lists(LOGS, min_size=1, max_size=3))
@settings(max_examples=100, deadline=None)
def test_without_steps_everything_else_is_read_as_with_them(files: list[PublishedFile]) -> None:
    whole, without = parse_result_logs(files), parse_result_logs(files, with_steps=False)
    assert without.steps.equals(whole.steps.clear())
    assert without.evals.equals(whole.evals)
    assert without.findings.sort(pl.all()).equals(whole.findings.sort(pl.all()))
    assert without.runs.drop(OF_STEPS).equals(whole.runs.drop(OF_STEPS))
    assert without.runs.schema == whole.runs.schema
    assert without.runs.select(OF_STEPS - {"step_count"}).null_count().row(0) == (len(files),) * (len(OF_STEPS) - 1)


def test_steps_that_a_run_states_count_without_its_steps() -> None:
    lines = [line("global_batch_size", 8), line("run_start"), line("run_stop", step_num=12)]
    (row,) = parse_result_logs([log_file(lines)], with_steps=False).runs.to_dicts()
    assert row["step_count"] == 12


def parted(lines: list[str]) -> Parted:
    content = log_file(lines).content
    located, _ = locate(content)
    known = KnownEvents(
        lambda texts: list(map(decode_short, texts)),
        [MARK_ROWS, STEP_ROWS],
        in_full={"run_start", "eval_accuracy"},
        by_value={"seed"},
    )
    return known.part(content, located)


def test_what_is_known_of_each_event() -> None:
    lines = [
        line("seed", 5),
        line("eval_start", time_ms=NOW_MS + 1),
        line("run_start"),
        line("block_stop", time_ms=NOW_MS + 2, samples_count=640),
        line("nobody_reads_this", 7),
        line("eval_accuracy", 0.5),
        line("tracked_stats", {"train_step_time": 0.5}, time_ms=NOW_MS + 3, step=12),
        line("tracked_stats", {"validation_step_time": 0.5}),
        line("throughput", 1_000.25, time_ms=NOW_MS + 4),
        *[line("seed", 6)] * 20,
    ]
    found = parted(lines)
    assert found.is_known.tolist() == [True, True, False, True, True, False, True, True, True, *[True] * 20]
    assert found.values == [("seed", 5), *[("seed", 6)] * 20]
    assert found.value_places.tolist() == [0, *range(9, 29)]
    marks, steps = found.rows
    assert [MARK_ROWS.keys[key] for key in marks.keys.tolist()] == ["eval_start", "block_stop"]
    assert marks.places.tolist() == [1, 3]
    assert marks.time_ms.tolist() == [NOW_MS + 1, NOW_MS + 2]
    assert marks.numbers.keys() == {"samples_count"}
    np.testing.assert_array_equal(marks.numbers["samples_count"], [np.nan, 640.0])
    assert [STEP_ROWS.keys[key] for key in steps.keys.tolist()] == ["tracked_stats", "throughput"]
    assert steps.places.tolist() == [6, 8]
    assert steps.time_ms.tolist() == [NOW_MS + 3, NOW_MS + 4]
    assert steps.numbers.keys() == {"train_step_time", "metadata_step", "throughput"}
    np.testing.assert_array_equal(steps.numbers["train_step_time"], [0.5, np.nan])
    np.testing.assert_array_equal(steps.numbers["metadata_step"], [12.0, np.nan])
    np.testing.assert_array_equal(steps.numbers["throughput"], [np.nan, 1_000.25])


def test_more_tails_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_log_known, "_MOST_KNOWN", 20)
    files = [log_file([line("seed", 100 * number + place // 2) for place in range(60)], number) for number in range(3)]
    together = assert_as_if_decoded(files)
    assert together.runs["seed"].to_list() == ["29", "129", "229"]
    alone = [assert_as_if_decoded([file]).runs["seed"].item() for file in files]
    assert alone == ["29", "129", "229"]


@pytest.mark.parametrize("unusual_at", [0, 19, 39])
def test_the_last_value_counts_whether_it_was_known_or_decoded(unusual_at: int) -> None:
    lines = [line("global_batch_size", 10 + place) for place in range(40)]
    lines[unusual_at] = line("global_batch_size", 7).replace(": ", ":").replace(":::MLLOG", ":::MLLOG ")
    run = assert_as_if_decoded([log_file(lines)]).runs
    assert run["global_batch_size"].item() == (7 if unusual_at == 39 else 49)


@pytest.mark.parametrize(
    "restate",
    [
        lambda text: re.sub(r'("time_ms": \d+)', r"\g<1>7", text),
        lambda text: re.sub(r'("time_ms": \d+)', r"\1.5", text),
        lambda text: re.sub(r'("time_ms": \d+)', r"\1e1", text),
        lambda text: text[:-1] + f', "time_ms": {NOW_MS - 7}}}',
    ],
    ids=["a digit more", "a fraction", "an exponent", "twice"],
)
@pytest.mark.parametrize("key", ["init_start", "eval_start"])
def test_a_time_that_goes_on_behind_thirteen_digits_is_read_whole(key: str, restate: Any) -> None:
    lines = [line(key, time_ms=NOW_MS + 100 * place) for place in range(20)]
    odd = restate(line(key, time_ms=NOW_MS - 60_000))
    lines += [odd, line("eval_accuracy", 0.5, time_ms=NOW_MS + 5_000), line("eval_stop", time_ms=NOW_MS + 6_000)]
    parsed = assert_as_if_decoded([log_file(lines)])
    time_ms = int(json.loads(odd.removeprefix(":::MLLOG "))["time_ms"])
    assert time_ms != NOW_MS - 60_000 or ".5" in odd
    if key == "eval_start":
        assert parsed.evals["start_ms"].item() == time_ms
    else:
        assert parsed.runs["init_start_ms"].item() == min(NOW_MS, time_ms)


def test_blocks_that_are_known_and_decoded_ones_pair_in_the_order_of_lines() -> None:
    lines = []
    for place in range(20):
        start = line("block_start", time_ms=NOW_MS + 1000 * place, samples_count=100 * place)
        lines.append(start.replace('"time_ms": ', '"time_ms":') if place % 3 else start)
        lines.append(line("block_stop", time_ms=NOW_MS + 1000 * place + 500, samples_count=100 * place + 100))
    parsed = assert_as_if_decoded([log_file([line("global_batch_size", 10), *lines])])
    run = parsed.runs.row(0, named=True)
    assert (run["step_time_key"], run["step_median_seconds"]) == ("block_start", pytest.approx(0.05))


def among_its_kind(odd: str, *usual: str) -> ParsedLogs:
    """Read a text behind others of its shape."""
    return assert_as_if_decoded([log_file([line("global_batch_size", 8), *usual * 10, odd])])


def test_a_number_with_a_leading_zero_is_no_json() -> None:
    usual = line("tracked_stats", {"train_loss": 0.5}, step=10)
    for odd in (usual.replace('"step": 10', '"step": 01'), usual.replace(": 0.5", ": -00.5")):
        parsed = among_its_kind(odd, usual, odd.replace("01", "10").replace("-00.5", "-10.5"))
        assert parsed.runs["broken_line_count"].item() == 1
    assert among_its_kind(usual.replace('"step": 10', '"step": 0'), usual).runs["broken_line_count"].item() == 0


def test_a_time_stated_again_counts() -> None:
    start = line("eval_start")
    for again in ("time_ms", "time\\u005fms"):
        usual, odd = (start[:-1] + f', "{again}": {NOW_MS + more}}}' for more in (500, 250))
        stop = line("eval_stop", time_ms=NOW_MS + 1_000)
        parsed = among_its_kind("\n".join([odd, line("eval_accuracy", 0.5), stop]), usual, stop)
        assert parsed.evals["start_ms"].item() == NOW_MS + 250


@pytest.mark.parametrize(("usual", "odd", "factor"), [("e0", "e1", 10), ("", ".0", 1), (".0", ".5", 1), ("1", "2", 10)])
def test_a_time_that_goes_on_behind_the_thirteen_digits(usual: str, odd: str, factor: int) -> None:
    starts = [line("eval_start").replace(str(NOW_MS), f"{NOW_MS}{more}") for more in (usual, odd)]
    stop = line("eval_stop", time_ms=NOW_MS * factor + 1_000)
    parsed = among_its_kind("\n".join([starts[1], line("eval_accuracy", 0.5), stop]), starts[0], stop)
    assert parsed.evals["start_ms"].item() == NOW_MS * factor + 2 * (odd == "2")


@pytest.mark.parametrize(
    ("texts", "metrics"),
    [
        (("\\u0041", "\\u0042"), ["A", "B"]),
        (("top1", "top5"), ["top1", "top5"]),
        (("CLIP", "CLIP"), ["CLIP", "CLIP"]),
        (("", ""), [None, None]),
        (("eval_accuracy", "eval_accuracy"), [None, None]),
    ],
)
def test_texts_that_are_read(texts: tuple[str, str], metrics: list[str | None]) -> None:
    usual, odd = (line("eval_accuracy", 0.5, metric="x").replace('"x"', f'"{text}"') for text in texts)
    assert among_its_kind(odd, usual).evals["metric"].unique(maintain_order=True).to_list() == list(
        dict.fromkeys(metrics)
    )


@pytest.mark.parametrize(
    ("usual", "odd", "loss"),
    [
        ("1" * 309, "9" * 309, None),
        ("1e111", "9e999", math.inf),
        ("1e11", "9e99", 9e99),
        ("0.5", "2.5", 2.5),
        ("12345678901234567", "98765432109876543", 98765432109876543.0),
        ("-1", "-7", -7.0),
        ('"1.5"', '"2.5"', 2.5),
        ("NaN", "NaN", math.nan),
    ],
)
def test_numbers_that_are_read(usual: str, odd: str, loss: float | None) -> None:
    text = line("tracked_stats", {"train_loss": 0.5, "throughput": 7}, step=3)
    parsed = among_its_kind(text.replace("0.5", odd), text.replace("0.5", usual))
    (read,) = parsed.steps["train_loss"][-1:].to_list()
    assert read == loss or (math.isnan(loss or 0) and math.isnan(read or 0))


@pytest.mark.parametrize(
    ("usual", "odd"), [("1e111", "9e999"), ("1" * 250 + "e11", "9" * 250 + "e99"), ("1e1", "1e-9"), ("true", "12")]
)
def test_numbers_that_may_not_be_infinite(usual: str, odd: str) -> None:
    text = line("tracked_stats", {"train_loss": 0.5}, samples_count=4)
    parsed = among_its_kind(text.replace(": 4", f": {odd}"), text.replace(": 4", f": {usual}"))
    (samples,) = parsed.steps["samples_count"][-1:].to_list()
    assert samples == (None if math.isinf(float(odd)) else float(odd))
    assert parsed.findings["place"].to_list().count("line 12") == math.isinf(float(odd))


def test_of_a_member_that_comes_twice_the_last_counts() -> None:
    usual = line("tracked_stats", {"train_loss": 0.5}, step=3)[:-1] + ', "value": {"train_loss": 12, "train_loss": 20}}'
    parsed = among_its_kind(usual.replace("12", "34").replace("20", "56"), usual)
    assert parsed.steps["train_loss"].to_list() == [20.0] * 10 + [56.0]


def test_metrics_in_a_value_are_results_each() -> None:
    usual = line("eval_accuracy", {"FID": 70.5, "CLIP": 0.125}, samples_count=10)
    parsed = among_its_kind(usual.replace("70.5", "60.5"), usual)
    assert parsed.evals.select("metric", "quality").rows()[-2:] == [("FID", 60.5), ("CLIP", 0.125)]


def test_more_numbers_than_can_be_told_apart() -> None:
    usual = line("tracked_stats", {"train_loss": 0.5}, step=3, other=[*range(10, 18)])
    parsed = among_its_kind(usual.replace("0.5", "0.7"), usual)
    assert parsed.steps["train_loss"].to_list() == [0.5] * 10 + [0.7]


def test_more_shapes_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_log_shapes, "_MOST_SHAPES", 4)
    lines = [line("tracked_stats", {"train_loss": 0.5}, step=10**place, **{"x" * place: 1}) for place in range(9)]
    parsed = assert_as_if_decoded([log_file(lines, number) for number in range(3)])
    assert parsed.steps["step_number"].to_list() == [10.0**place for place in range(9)] * 3
    for text in lines:
        assert len(assert_as_if_decoded([log_file([text])]).steps) == 1
