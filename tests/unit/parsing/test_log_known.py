"""Events known by their text are read as if each had been decoded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.parsing import _log_known
from pipelines.parsing._log_json import decode_short
from pipelines.parsing._log_known import MARK_CODES, MARKS, KnownEvents, Parted
from pipelines.parsing._log_lines import locate
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


SAMPLES = st.none() | st.integers(0, 3) | st.sampled_from([-1, 1.5, 1e300, "4", True, [1]])
KEYS = st.sampled_from(
    [
        *MARKS,
        *("run_start", "run_stop", "init_stop", "weights_initialization", "cache_clear"),
        *("global_batch_size", "seed", "submission_benchmark", "nobody_reads_this"),
        *("eval_accuracy", "eval_error", "train_loss", "throughput", "tracked_stats"),
    ]
)
MEMBERS = st.sampled_from(
    ["train_step_time", "reduced_train_loss", "train_loss", "throughput", "validation_step_time", "lr", "other"]
)
STATISTICS = st.dictionaries(MEMBERS, st.sampled_from([0.5, 2, None, "0.5"]), min_size=1, max_size=3)
VALUES = st.none() | st.integers(0, 9) | st.sampled_from(["bert", 0.5, True, []]) | STATISTICS
MORE = st.dictionaries(st.sampled_from(["step", "step_num", "epoch_num", "lr", "status"]), SAMPLES, max_size=2)
CHANGES = st.sampled_from(
    [
        lambda text: text.replace('"time_ms": ', '"time_ms":'),
        lambda text: text.replace('"namespace": ""', '"namespace": "worker"'),
        lambda text: text.replace('"event_type": "', '"event_type": "UN'),
        lambda text: text.replace('"key": "eval_st', '"key": "eval_sp'),
        lambda text: text[:-1],
        lambda text: text[:-1] + ', "key": "eval_stop"}',
        lambda text: text[:-1] + ', "value": 1e999}',
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
    return draw(CHANGES)(text) if draw(st.integers(0, 9)) == 0 else text


@pytest.fixture(params=["_distinct", "_distinct_by_arrow"], autouse=True, scope="module")
def _both_ways_to_find_distinct_tails(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_log_known, "_distinct", getattr(_log_known, request.param))
        patch.setattr(_log_known, "_distinct_by_arrow", getattr(_log_known, request.param))
        yield


@given(st.lists(st.lists(texts(), min_size=1, max_size=40), min_size=1, max_size=3), st.sampled_from(["bert", "gpt3"]))
@settings(max_examples=200, deadline=None)
def test_known_events_are_read_as_if_each_were_decoded(logs: list[list[str]], benchmark: str) -> None:
    rounds = ("training-v6.0", "training-v5.0", "training-v4.0")
    assert_as_if_decoded(
        [log_file(lines, number, benchmark, rounds[number]) for number, lines in enumerate(logs)],
    )


def parted(lines: list[str]) -> Parted:
    content = log_file(lines).content
    located, _ = locate(content)
    return KnownEvents(lambda texts: list(map(decode_short, texts)), in_full={"run_start"}, by_value={"seed"}).part(
        content, located
    )


def test_what_is_known_of_each_event() -> None:
    lines = [
        line("seed", 5),
        line("eval_start", time_ms=NOW_MS + 1),
        line("run_start"),
        line("block_stop", time_ms=NOW_MS + 2, samples_count=640),
        line("nobody_reads_this", 7),
        line("eval_accuracy", 0.5),
        line("tracked_stats", {"train_step_time": 0.5}),
        line("tracked_stats", {"other": 0.5}),
        *[line("seed", 6)] * 20,
    ]
    found = parted(lines)
    assert found.is_known.tolist() == [True, True, False, True, True, False, False, False, *[True] * 20]
    assert found.is_statistics.nonzero()[0].tolist() == [6]
    assert found.values == [("seed", 5), *[("seed", 6)] * 20]
    assert found.value_places.tolist() == [0, *range(8, 28)]
    assert found.marks.codes.tolist() == [MARK_CODES["eval_start"], MARK_CODES["block_stop"]]
    assert found.marks.places.tolist() == [1, 3]
    assert found.marks.time_ms.tolist() == [NOW_MS + 1, NOW_MS + 2]
    np.testing.assert_array_equal(found.marks.samples_count, [np.nan, 640.0])


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


SLICES = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([b"", b"a", b"ab", b"ab" * 40, b"\x00", b"\xff"])), min_size=1
)


@given(SLICES)
def test_distinct_slices_and_which_each_is(parts: list[tuple[int, bytes]]) -> None:
    content = b"".join(b"-" * gap + slice_ for gap, slice_ in parts) + b"."
    ends = np.cumsum([gap + len(slice_) for gap, slice_ in parts])
    starts = ends - [len(slice_) for _, slice_ in parts]
    tails, numbers = _log_known._distinct(content, starts, ends)
    assert len(set(tails)) == len(tails)
    assert [tails[number] for number in numbers.tolist()] == [slice_ for _, slice_ in parts]
