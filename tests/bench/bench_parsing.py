"""How fast result logs are read: `python tests/bench/bench_parsing.py` prints the measurements as a table.

Everything is user CPU time of this process, from bytes in memory to the run, evaluation and step frames, every log
line validated; each figure is the median of several rounds, and what is compared is measured in turn. The official
summarizer runs in processes of its own on a private copy, since it rewrites the folder it reads.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import NamedTuple

from pipelines.parsing.layout import classify
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import ParsedLogs, parse_result_logs

VERSIONS = ("v5.0", "v5.1")
TARGET_MEGABYTES_PER_SECOND = {"v5.0": 500, "v5.1": 350}
TARGET_PEAK_MEGABYTES = 300
TARGET_TIMES_LESS_THAN_OFFICIAL = 100
SUBMITTERS = ("Nebius", "QCT", "krai")
"""Of v5.0: a few large logs, many small ones, logs with text between the events."""
REPEATS = 5


class Measurement(NamedTuple):
    """One row of the table."""

    what: str
    figure: str
    target: str = ""


def measurements(shared: Path, repeats: int = REPEATS) -> Iterator[Measurement]:
    """Yield every measurement as it is made.

    Args:
        shared: Folder of the real archives.
        repeats: How often each is repeated.
    """
    for version in VERSIONS:
        archive = shared / f"mlperf/training_results_{version}.tar.gz"
        files = list(result_logs(archive, version))
        yield from _speed(version, files, repeats)
        yield _linearity(version, files, repeats)
        yield _peak_memory(version, archive)
        if version == VERSIONS[0]:
            yield _against_the_official_summarizer(archive, files, repeats)


def result_logs(archive: Path, version: str) -> Iterator[PublishedFile]:
    """Yield the result logs of an archive in the order of the archive."""
    with tarfile.open(archive) as tar:
        for member in tar:
            path = member.name.partition("/")[2]
            placed = classify(path)
            if member.isfile() and placed is not None and placed.kind == "result_log":
                stream = tar.extractfile(member)
                assert stream is not None
                yield PublishedFile(f"training-{version}", path, "", stream.read())


def _speed(version: str, files: list[PublishedFile], repeats: int) -> Iterator[Measurement]:
    parsed = parse_result_logs(files)
    seconds = _user_seconds(lambda: parse_result_logs(files), repeats)
    megabytes = sum(len(file.content) for file in files) / 1e6
    events, lines = (int(parsed.runs[name].sum()) for name in ("event_count", "line_count"))
    yield Measurement(
        f"training {version}: {megabytes:,.1f} MB, {len(files):,} logs, {lines:,} lines, {events:,} events",
        f"{seconds:.3f} s, {megabytes / seconds:,.0f} MB/s",
        f"{TARGET_MEGABYTES_PER_SECOND[version]} MB/s",
    )
    yield Measurement(f"training {version}: per log event", f"{seconds / events * 1e9:,.0f} ns")
    yield Measurement(f"training {version}: rows", f"{_rows(parsed):,}, {_rows(parsed) / seconds:,.0f} a second")


def _rows(parsed: ParsedLogs) -> int:
    return len(parsed.runs) + len(parsed.evals) + len(parsed.steps)


def _linearity(version: str, files: list[PublishedFile], repeats: int) -> Measurement:
    """Compare the speed on a quarter of the logs, spread over the round, with that on all of them."""
    quarter = files[::4]
    size, quarter_size = (sum(len(file.content) for file in some) for some in (files, quarter))
    ratios = []
    for _ in range(repeats):
        small = _user_seconds(lambda: parse_result_logs(quarter), 1) / quarter_size
        whole = _user_seconds(lambda: parse_result_logs(files), 1) / size
        ratios.append(whole / small)
    ratio = statistics.median(ratios)
    return Measurement(f"training {version}: time per byte, all logs over a quarter of them", f"{ratio:.2f}", "about 1")


def _peak_memory(version: str, archive: Path) -> Measurement:
    """Measure the growth of a fresh process that reads the archive file by file while it parses."""
    process = subprocess.run(
        [sys.executable, __file__, "--peak-memory", version, str(archive)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    return Measurement(
        f"training {version}: peak memory beyond start-up and the largest log",
        f"{float(process.stdout):,.0f} MB",
        f"under {TARGET_PEAK_MEGABYTES} MB",
    )


def _grow(version: str, archive: Path) -> float:
    """Return by how many megabytes this process grows when it parses an archive as a stream."""
    parse_result_logs([])
    largest = 0
    before = _peak_bytes()

    def files() -> Iterator[PublishedFile]:
        nonlocal largest
        for file in result_logs(archive, version):
            largest = max(largest, len(file.content))
            yield file

    parse_result_logs(files())
    return (_peak_bytes() - before - largest) / 1e6


def _peak_bytes() -> int:
    """Return the most memory that this program has had; ru_maxrss would count that of the process it came from too."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def _against_the_official_summarizer(archive: Path, files: list[PublishedFile], repeats: int) -> Measurement:
    own_files = [file for file in files if file.path.startswith(tuple(f"{name}/" for name in SUBMITTERS))]
    with tempfile.TemporaryDirectory() as folder:
        _copy_submitters(archive, Path(folder))
        start_up = _child_seconds("--help")
        official = sum(_child_seconds(str(Path(folder) / name), "training", "5.0.0") - start_up for name in SUBMITTERS)
    own = _user_seconds(lambda: parse_result_logs(own_files), repeats)
    return Measurement(
        f"official summarizer without its start-up, on {len(own_files)} logs of {', '.join(SUBMITTERS)}",
        f"{official:.1f} s against {own:.3f} s: {official / own:,.0f} times",
        f"{TARGET_TIMES_LESS_THAN_OFFICIAL} times",
    )


def _copy_submitters(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as tar:
        for member in tar:
            path = member.name.partition("/")[2]
            if member.isfile() and path.startswith(tuple(f"{name}/" for name in SUBMITTERS)):
                stream = tar.extractfile(member)
                assert stream is not None
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(stream.read())


def _user_seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the median user CPU time of the work, in seconds."""
    seconds = []
    for _ in range(repeats):
        began = getrusage(RUSAGE_SELF).ru_utime
        work()
        seconds.append(getrusage(RUSAGE_SELF).ru_utime - began)
    return statistics.median(seconds)


def _child_seconds(*arguments: str) -> float:
    began = getrusage(RUSAGE_CHILDREN).ru_utime
    subprocess.run(
        [sys.executable, "-m", "mlperf_logging.result_summarizer", *arguments], capture_output=True, check=True
    )
    return getrusage(RUSAGE_CHILDREN).ru_utime - began


def main() -> None:
    """Print the table, or with --peak-memory the figure that a fresh process is asked for."""
    if sys.argv[1:2] == ["--peak-memory"]:
        print(_grow(sys.argv[2], Path(sys.argv[3])))
        return
    shared = Path(os.environ.get("RACKRECON_SHARED", Path(__file__).resolve().parents[3] / "shared"))
    print("| reading result logs | figure | target |\n|---|---|---|")
    for what, figure, target in measurements(shared):
        print(f"| {what} | {figure} | {target} |", flush=True)


if __name__ == "__main__":
    main()
