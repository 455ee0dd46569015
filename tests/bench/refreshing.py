"""Whole refreshes: of the snapshot, of the archives, of ever larger rounds; and what people ask of the result."""

from __future__ import annotations

import io
import math
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from pathlib import Path

import polars as pl

from pipelines.lake.tables import Lake
from pipelines.parsing.layout import classify
from pipelines.settings import Settings
from tests.bench.corpus import ROUNDS, archive, private_copy
from tests.bench.measuring import Row, Usage, goal, median_usage, medians, run

COMMAND = Path(sys.executable).with_name("rackrecon")
SCALES = (1, 2, 4, 8)
_TURNS = 3
_DASHBOARD = """
select round, accelerator, benchmark, count(*) as results, min(score_minutes) as best_minutes,
    median(score_minutes / accelerator_count) as median_minutes_per_accelerator
from mart.results where score_minutes is not null group by all order by all
"""


def refreshes(data: Path) -> Iterator[Row]:
    """Measure `rackrecon refresh` on the snapshot and on the archives, and again where nothing changed."""
    archives = _from(map(archive, ROUNDS))
    snapshot = run([COMMAND, "refresh"], RACKRECON_DATA=str(data / "snapshot"))
    first = run([COMMAND, "refresh", *archives], RACKRECON_DATA=str(data / "archives"))
    again = run([COMMAND, "refresh", *archives], RACKRECON_DATA=str(data / "archives"))
    yield from _usage_rows("from the embedded snapshot", snapshot, most_seconds=15)
    yield from _usage_rows("from both archives", first, most_megabytes=700)
    yield ("from both archives, nothing changed", f"{again.processor_seconds:.1f} s of processor", "")
    share = again.processor_seconds / first.processor_seconds
    yield ("nothing changed over first time, processor", f"{share:.2f} x", "")


def growth(data: Path) -> Iterator[Row]:
    """Measure refreshes of the rounds of which every submitter is there once, twice, four and eight times.

    Much of a refresh does not grow with its rounds, so what a further gigabyte costs is told by the difference of two.
    Such differences are small beside what a busy machine adds, so of several turns the median counts, and every other
    turn goes from the largest to the smallest.
    """
    unpacked = {name: private_copy(name, None, data / "unpacked") for name in ROUNDS}
    corpora = {scale: [_multiplied(name, unpacked[name], data, scale) for name in ROUNDS] for scale in SCALES}
    gigabytes = {scale: sum(map(_log_bytes, corpus)) / 1e9 for scale, corpus in corpora.items()}
    turns = [
        {scale: _first_refresh(data, corpora[scale]) for scale in (SCALES if turn % 2 == 0 else SCALES[::-1])}
        for turn in range(_TURNS)
    ]
    usages = {scale: medians([turn[scale] for turn in turns]) for scale in SCALES}
    for scale, usage in usages.items():
        yield (
            f"both archives {scale} times, {gigabytes[scale]:.2f} GB of log text",
            f"{usage.processor_seconds:.1f} s of processor",
            f"{usage.wall_seconds:.1f} s on the clock, peak {usage.peak_megabytes:,.0f} MB",
        )
    further = {
        (scale, next_scale): (usages[next_scale].processor_seconds - usages[scale].processor_seconds)
        / (gigabytes[next_scale] - gigabytes[scale])
        for scale, next_scale in pairwise(SCALES)
    }
    for (scale, next_scale), cost in further.items():
        yield (f"a further gigabyte, from {scale} to {next_scale} times", f"{cost:.1f} s of processor", "")
    rise = max(later / earlier for earlier, later in combinations(further.values(), 2))
    yield ("a further gigabyte over an earlier one, at most", f"{rise:.2f} x", "above 1 it grows dearer")
    ratio = max(further.values()) / min(further.values())
    yield (
        "dearest further gigabyte over the cheapest",
        f"{ratio:.2f} x",
        f"flat is 1; {goal(1.1, ratio, at_most=True)}",
    )


def _first_refresh(data: Path, archives: Sequence[Path]) -> Usage:
    with tempfile.TemporaryDirectory(dir=data) as folder:
        return run([COMMAND, "refresh", *_from(archives)], RACKRECON_DATA=folder)


def _from(archives: Iterable[Path]) -> list[str]:
    return [part for path in archives for part in ("--from", str(path))]


def answers(data: Path) -> Iterator[Row]:
    """Measure commands that ask a refreshed data folder, whole processes."""
    environment = {"RACKRECON_DATA": str(data / "archives")}
    for title, command in (
        ("`rackrecon --help`", [COMMAND, "--help"]),
        ("`rackrecon query`, a count", [COMMAND, "query", "select count(*) from mart.results"]),
        ("`rackrecon query`, a dashboard's table over all results", [COMMAND, "query", _DASHBOARD]),
        ("`rackrecon explain`, one result", [COMMAND, "explain", _first_result(data / "archives")]),
    ):
        usage = median_usage(command, **environment)
        yield (title, f"{usage.wall_seconds:.2f} s", f"{usage.processor_seconds:.2f} s of processor")
    yield from _in_one_process(data)


def _in_one_process(data: Path) -> Iterator[Row]:
    for what in ("warehouse", "report"):
        command = [sys.executable, "-m", "tests.bench.building", what, str(data / "built")]
        usage = run(command, RACKRECON_DATA=str(data / "archives"))
        note = f"{usage.processor_seconds:.1f} s of processor, start included"
        yield (f"the {what}, built from the lake", f"{usage.wall_seconds:.1f} s", note)


def _usage_rows(
    title: str, usage: Usage, *, most_seconds: float = math.inf, most_megabytes: float = math.inf
) -> Iterator[Row]:
    yield (f"{title}: processor", f"{usage.processor_seconds:.1f} s", "")
    for what, figure, measured, most in (
        ("on the clock", f"{usage.wall_seconds:.1f} s", usage.wall_seconds, most_seconds),
        ("peak memory of the largest process", f"{usage.peak_megabytes:,.0f} MB", usage.peak_megabytes, most_megabytes),
    ):
        yield (f"{title}: {what}", figure, "" if math.isinf(most) else goal(most, measured, at_most=True))


def _multiplied(round_name: str, unpacked: Path, folder: Path, scale: int) -> Path:
    """Write a tarball of a round with every submitter `scale` times, under names of their own.

    Files stand in the order of their paths, as in published archives. Each copy of a log begins with a line of its own,
    so that none is the same run as another.
    """
    target = folder / f"{round_name}-times{scale}.tar.gz"
    with tarfile.open(archive(round_name)) as source:
        (top, *_), about = source.next().name.split("/"), dict(source.pax_headers)
    with tarfile.open(target, "w:gz", compresslevel=1, pax_headers=about) as grown:
        for path, file, number in _copies(unpacked, scale):
            content = file.read_bytes()
            copied = b"copy %d\n%b" % (number, content) if _is_log(path) else content
            entry = tarfile.TarInfo(f"{top}/{path}")
            entry.size = len(copied)
            grown.addfile(entry, io.BytesIO(copied))
    return target


def _copies(unpacked: Path, scale: int) -> list[tuple[str, Path, int]]:
    """Return the path of each copy of a file, where the file is and the number of the copy, in the order of paths."""
    copies = []
    for file in unpacked.rglob("*"):
        if file.is_file():
            submitter, _, rest = str(file.relative_to(unpacked)).partition("/")
            copies += [(f"{submitter}{number or ''}/{rest}", file, number) for number in range(scale)]
    return sorted(copies)


def _log_bytes(source: Path) -> int:
    with tarfile.open(source) as members:
        return sum(member.size for member in members if _is_log(member.name.partition("/")[2]))


def _is_log(path: str) -> bool:
    placed = classify(path)
    return placed is not None and placed.kind == "result_log"


def _first_result(data: Path) -> str:
    results = Lake.at(Settings.from_environment({"RACKRECON_DATA": str(data)}).lake).read("mart.results")
    return str(results.filter(pl.col("score_minutes").is_not_null())["result_id"].sort()[0])
