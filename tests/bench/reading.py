"""Reading logs on one core and on two, beside `grep -c` on the same bytes and beside the official summarizer."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from pipelines.parsing.layout import classify
from pipelines.parsing.power_logs import parse_power_logs
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import parse_result_logs
from pipelines.parsing.scaling_factors import parse_scaling_factors
from pipelines.parsing.system_descriptions import parse_system_descriptions
from pipelines.scoring.results import score_results
from pipelines.scoring.rules import load_rules
from pipelines.scoring.runs import judge_runs
from tests.bench.corpus import ROUNDS, private_copy
from tests.bench.measuring import ONE_CORE, Row, alone, cores, goal, median_processor_seconds, python, run
from tests.bench.parsing import parse

GOALS_MEGABYTES_PER_SECOND = {"training-v5.0": 500, "training-v5.1": 350}
PEER_SUBMITTERS = ("Nebius", "QCT", "krai")
_TURNS = 5


def one_core() -> Iterator[Row]:
    """Measure bytes in memory to frames of runs, evaluations and steps, every event validated."""
    for round_name in ROUNDS:
        measured = alone("tests.bench.parsing", round_name, "rate")
        megabytes = measured["bytes"] / 1e6
        speed = megabytes / measured["seconds"]
        growth = (measured["seconds"] / measured["bytes"]) / (measured["half_seconds"] / measured["half_bytes"])
        peak, base = (alone("tests.bench.parsing", round_name, what)["megabytes"] for what in ("memory", "base"))
        events = measured["events"]
        wanted = goal(GOALS_MEGABYTES_PER_SECOND[round_name], speed)
        yield (f"{round_name}: {megabytes:,.1f} MB of log text", f"{speed:,.0f} MB/s", wanted)
        yield (f"{round_name}: {events:,.0f} log events", f"{events / measured['seconds'] / 1e6:.2f} million/s", "")
        yield (
            f"{round_name}: time over that of a bare search for the token in the same bytes",
            f"{measured['seconds'] / measured['find_seconds']:.1f} x",
            "",
        )
        yield (f"{round_name}: cost per byte of all logs over that of half", f"{growth:.2f} x", "linear is 1")
        wanted = goal(300, peak, at_most=True)
        yield (f"{round_name}: peak memory of the process, streaming", f"{peak:,.0f} MB", wanted)
        yield (f"{round_name}: the same process that parses nothing", f"{base:,.0f} MB", "")


def two_cores() -> Iterator[Row]:
    """Measure two processes that read half of the logs each at the same time, and `grep -c` on the same bytes."""
    for round_name in ROUNDS:
        searched = alone("tests.bench.parsing", round_name, "grep")
        megabytes = searched["bytes"] / 1e6
        seconds = _together(round_name)
        wanted = goal(1_000, megabytes / seconds) if round_name == "training-v5.0" else ""
        yield (f"{round_name}: both cores, on the clock", f"{megabytes / seconds:,.0f} MB/s", wanted)
        yield (f"{round_name}: time on both cores over that of `grep -c`", f"{seconds / searched['seconds']:.1f} x", "")


def peer() -> Iterator[Row]:
    """Measure processor time on the same files: the official summarizer on a private copy against ours.

    On a few submitters, where what any call costs weighs most, and on whole rounds. It happens in a process of its own,
    since children inherit the peak of what started them.
    """
    command = [*python("tests.bench.reading")]
    printed = subprocess.run(command, env={**os.environ, **ONE_CORE}, check=True, stdout=subprocess.PIPE, text=True)
    yield from (tuple(row) for row in json.loads(printed.stdout))


def _peer() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        for round_name in ROUNDS:
            root = private_copy(round_name, None, Path(folder))
            submitters = sorted(path.name for path in root.iterdir() if (path / "results").is_dir())
            # Read first: the official tools rewrite some of the files.
            published = {name: _files(root / name, round_name) for name in submitters}
            theirs = {name: official_seconds(root / name, round_name) for name in submitters}
            few = [name for name in PEER_SUBMITTERS if name in submitters]
            for named, chosen in ((", ".join(few), few), ("all submitters", submitters)):
                files = [file for name in chosen for file in published[name]]
                yield from _against_official(f"{round_name}, {named}", files, sum(theirs[name] for name in chosen))


def _against_official(named: str, files: list[PublishedFile], seconds: float) -> Iterator[Row]:
    logs = [file for file in files if _kind(file) == "result_log"]
    parsed, scored = median_processor_seconds(lambda: parse(logs)), median_processor_seconds(lambda: score(files))
    yield (f"{named}: {len(logs):,} logs, official", f"{seconds:.1f} s", "")
    for what, ours, wanted in (("frames", parsed, 100), ("scores", scored, 300)):
        ratio = seconds / ours
        yield (f"{named}: official over ours, bytes to {what}", f"{ratio:,.0f} x", goal(wanted, ratio))


def official_seconds(submitter: Path, round_name: str) -> float:
    """Return the processor time of the official summarizer on one submitter's folder, which it may change."""
    ruleset = f"{round_name.removeprefix('training-v')}.0"
    command = python("mlperf_logging.result_summarizer", str(submitter), "training", ruleset)
    return run(command, folder=submitter.parent).processor_seconds


def score(files: Sequence[PublishedFile]) -> pl.DataFrame:
    """Return `mart.results` from published files, by the parsers and rules that `rackrecon score` prints them by.

    As the official summarizer does, it validates every event and reads no training statistics, so of the columns of a
    result the step time alone is null.
    """
    of_kind: dict[str | None, list[PublishedFile]] = defaultdict(list)
    for file in files:
        of_kind[_kind(file)].append(file)
    runs = parse_result_logs(of_kind["result_log"], with_steps=False).runs
    systems, _ = parse_system_descriptions(of_kind["system_description"])
    factors, _ = parse_scaling_factors(of_kind["scaling_factor"])
    readings, _ = parse_power_logs(of_kind["power_log"])
    rules = load_rules()
    results, _ = score_results(runs, judge_runs(runs, systems, rules), systems, factors, readings, rules)
    return results


def _kind(file: PublishedFile) -> str | None:
    placed = classify(file.path)
    return None if placed is None else placed.kind


def _files(folder: Path, round_name: str) -> list[PublishedFile]:
    root = folder.parent
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and classify(str(path.relative_to(root))))
    return [_published(round_name, str(path.relative_to(root)), path.read_bytes()) for path in paths]


def _published(round_name: str, path: str, content: bytes) -> PublishedFile:
    # Scoring groups logs by their digest, so equal ones for all would be another load.
    return PublishedFile(round_name, path, hashlib.sha256(content).hexdigest(), content)


def _together(round_name: str) -> float:
    """Return the least seconds on the clock in which two processes read half of the logs each, both in memory."""
    readers = [
        subprocess.Popen(
            ["taskset", "-c", str(core), *python("tests.bench.parsing", round_name, f"half{number}")],
            env={**os.environ, **ONE_CORE},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, core in enumerate(cores()[:2])
    ]
    for reader in readers:
        _said(reader)
    turns = [_turn(readers) for _ in range(_TURNS)]
    for reader in readers:
        reader.communicate("")
    return min(turns)


def _turn(readers: Sequence[subprocess.Popen[str]]) -> float:
    started = time.perf_counter()
    for reader in readers:
        assert reader.stdin is not None
        reader.stdin.write("read\n")
        reader.stdin.flush()
    for reader in readers:
        _said(reader)
    return time.perf_counter() - started


def _said(reader: subprocess.Popen[str]) -> str:
    assert reader.stdout is not None
    line = reader.stdout.readline()
    if not line:
        raise RuntimeError(f"a reader ended with {reader.wait()}")
    return line


if __name__ == "__main__":
    print(json.dumps(list(_peer())))
