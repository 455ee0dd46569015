"""`make bench`: every measurement of the project, as medians and ratios of one run, written to docs/benchmarks.md."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from pipelines.parsing.layout import classify
from pipelines.parsing.published import PublishedFile
from tests.bench.corpus import REPOSITORY, ROUNDS, archive, private_copy
from tests.bench.measuring import Usage, median_processor_seconds, median_usage, python, run
from tests.bench.parsing import parse

PEER_SUBMITTERS = ("Nebius", "QCT", "krai")
GOALS_MEGABYTES_PER_SECOND = {"training-v5.0": 500, "training-v5.1": 350}
ONE_CORE = {"POLARS_MAX_THREADS": "1"}
COMMAND = Path(sys.executable).with_name("rackrecon")

Row = tuple[str, str, str]


def main() -> None:
    """Measure, print and write the page."""
    sections = {
        "Reading logs, one core": reading(),
        "Against the official summarizer": peer(),
        "Searching for a plan, one core": searching(),
    }
    with tempfile.TemporaryDirectory() as data:
        sections["A whole refresh"] = list(refreshing(Path(data)))
    page = _page(sections)
    (REPOSITORY / "docs" / "benchmarks.md").write_text(page)
    print(page)


def reading() -> list[Row]:
    """Measure bytes in memory to frames of runs, evaluations and steps, every event validated."""
    rows: list[Row] = []
    for round_name in ROUNDS:
        measured = _measure(round_name, "rate")
        megabytes = measured["bytes"] / 1e6
        speed = megabytes / measured["seconds"]
        growth = (measured["seconds"] / measured["bytes"]) / (measured["half_seconds"] / measured["half_bytes"])
        peak, base = (_measure(round_name, what)["megabytes"] for what in ("memory", "base"))
        rows += [
            (
                f"{round_name}: {megabytes:,.1f} MB of log text",
                f"{speed:,.0f} MB/s",
                f"goal {GOALS_MEGABYTES_PER_SECOND[round_name]}",
            ),
            (
                f"{round_name}: {measured['events']:,.0f} log events",
                f"{measured['events'] / measured['seconds'] / 1e6:.2f} million/s",
                "",
            ),
            (
                f"{round_name}: time over that of a bare search for the token in the same bytes",
                f"{measured['seconds'] / measured['find_seconds']:.1f} x",
                "",
            ),
            (f"{round_name}: cost per byte of all logs over that of half of them", f"{growth:.2f} x", "linear is 1"),
            (f"{round_name}: peak memory of the process, streaming", f"{peak:,.0f} MB", "goal 300"),
            (f"{round_name}: the same process that parses nothing", f"{base:,.0f} MB", ""),
        ]
    return rows


def peer() -> list[Row]:
    """Measure user time on the same files: the official summarizer on a private copy against ours."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for round_name in ROUNDS:
            root = private_copy(round_name, PEER_SUBMITTERS, Path(folder))
            submitters = [name for name in PEER_SUBMITTERS if (root / name / "results").is_dir()]
            logs = [log for name in submitters for log in _logs(root / name, round_name)]
            score = run([COMMAND, "score", root, "--format", "json"], **ONE_CORE)
            parsing = median_processor_seconds(lambda logs=logs: parse(logs))
            ruleset = f"{round_name.removeprefix('training-v')}.0"
            theirs = sum(
                run(
                    python("mlperf_logging.result_summarizer", str(root / name), "training", ruleset), folder=root
                ).user_seconds
                for name in submitters
            )
            rows += [
                (f"{round_name}: {len(logs)} logs of {', '.join(submitters)}, official", f"{theirs:.1f} s", ""),
                (f"{round_name}: official over ours, bytes to frames", f"{theirs / parsing:,.0f} x", "goal 100"),
                (
                    f"{round_name}: official over `rackrecon score`, whole process",
                    f"{theirs / score.user_seconds:,.1f} x",
                    "start-up included on both sides",
                ),
            ]
    return rows


def searching() -> list[Row]:
    """Measure how many ways to spread work are judged in a second: memory, traffic, step and time to train of each."""
    measured = _alone("tests.bench.planning")
    millions = measured["candidates"] / 1e6
    return [
        (
            f"{measured['layouts']:,.0f} layouts of llama31_405b, {millions:,.1f} million candidates",
            f"{millions / measured['seconds']:,.1f} million/s",
            "goal 20",
        ),
        ("peak memory of the process", f"{measured['megabytes']:,.0f} MB", ""),
    ]


def refreshing(data: Path) -> Iterator[Row]:
    """Measure `rackrecon refresh` on the snapshot and on the archives, and the commands that ask."""
    archives = [part for name in ROUNDS for part in ("--from", str(archive(name)))]
    snapshot = run([COMMAND, "refresh"], RACKRECON_DATA=str(data / "snapshot"))
    first = run([COMMAND, "refresh", *archives], RACKRECON_DATA=str(data / "archives"))
    again = run([COMMAND, "refresh", *archives], RACKRECON_DATA=str(data / "archives"))
    yield from _usage_rows("from the embedded snapshot", snapshot, "goal 15 s for make run")
    yield from _usage_rows("from both archives", first, "goal 700 MB, largest process")
    yield ("from both archives, nothing changed", f"{again.processor_seconds:.1f} s of processor", "")
    yield (
        "nothing changed over first time, processor",
        f"{again.processor_seconds / first.processor_seconds:.2f} x",
        "",
    )
    for title, command in (
        ("rackrecon --help", [COMMAND, "--help"]),
        ("rackrecon query", [COMMAND, "query", "select count(*) from mart.results"]),
    ):
        usage = median_usage(command, RACKRECON_DATA=str(data / "archives"))
        yield (f"`{title}`", f"{usage.processor_seconds:.2f} s of processor, {usage.wall_seconds:.2f} s", "")


def _usage_rows(title: str, usage: Usage, goal: str) -> Iterator[Row]:
    yield (f"{title}: processor", f"{usage.processor_seconds:.1f} s", "")
    yield (f"{title}: on the clock", f"{usage.wall_seconds:.1f} s", goal if "15 s" in goal else "")
    yield (f"{title}: peak memory", f"{usage.peak_megabytes:,.0f} MB", goal if "MB" in goal else "")


def _measure(round_name: str, what: str) -> dict[str, float]:
    return _alone("tests.bench.parsing", round_name, what)


def _alone(module: str, *arguments: str) -> dict[str, float]:
    """Measure in a process of its own, on one core."""
    core = min(os.sched_getaffinity(0))
    said = subprocess.run(
        python(module, *arguments),
        cwd=REPOSITORY,
        env={**os.environ, **ONE_CORE},
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    measured: dict[str, float] = json.loads(said.stdout)
    return measured


def _logs(folder: Path, round_name: str) -> list[PublishedFile]:
    root = folder.parent
    paths = sorted(path for path in (folder / "results").rglob("*") if path.is_file())
    placed = [(path, str(path.relative_to(root))) for path in paths]
    return [
        PublishedFile(round_name, name, "", path.read_bytes())
        for path, name in placed
        if (place := classify(name)) is not None and place.kind == "result_log"
    ]


def _page(sections: dict[str, list[Row]]) -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("polars", "msgspec", "duckdb", "mlperf-logging"))
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`: medians, and ratios of what was measured in one run. Processor time is user plus",
        "system; the machine may have been busy, which ratios bear better than seconds.",
        "",
        f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}, {libraries}; "
        f"measured {datetime.now(UTC):%Y-%m-%d}.",
    ]
    for title, rows in sections.items():
        lines += ["", f"## {title}", "", "| what | measured | |", "|---|---:|---|"]
        lines += [f"| {what} | {measured} | {note} |" for what, measured, note in rows]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
