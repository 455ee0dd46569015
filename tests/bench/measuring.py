"""Processor time and peak memory, of a call in this process or of a whole command."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ONE_CORE = {"POLARS_MAX_THREADS": "1"}

Row = tuple[str, str, str]
"""One line of the page: what was measured, the figure, and what it should be."""


def goal(wanted: float, measured: float, *, at_most: bool = False) -> str:
    """Return what a figure should be, and that it is not where it is not."""
    is_met = measured <= wanted if at_most else measured >= wanted
    return f"goal {wanted:,g}" if is_met else f"goal {wanted:,g}, missed"


@dataclass(frozen=True)
class Usage:
    """What one finished command used."""

    processor_seconds: float
    wall_seconds: float
    peak_megabytes: float


def median_processor_seconds(call: Callable[[], object], runs: int = 5) -> float:
    """Return the median processor time of a call, after one call that is not counted."""
    call()
    return statistics.median(_processor_seconds(call) for _ in range(runs))


def _processor_seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def run(command: Sequence[str | Path], *, folder: Path | None = None, **environment: str) -> Usage:
    """Run a command to its end, in `folder` where one is named, and return what it and its children used.

    Its peak memory is never less than that of this process, which must stay small.

    Raises:
        RuntimeError: the command failed; the message holds the end of what it said.
    """
    started = time.perf_counter()
    process = subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **environment},
        cwd=folder,
    )
    assert process.stdout is not None
    said = process.stdout.read()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {said.decode(errors='replace')[-2000:]}")
    return Usage(used.ru_utime + used.ru_stime, time.perf_counter() - started, used.ru_maxrss / 1000)


def median_usage(command: Sequence[str | Path], runs: int = 5, **environment: str) -> Usage:
    """Return the medians of several runs of a command, after one that is not counted."""
    run(command, **environment)
    return medians([run(command, **environment) for _ in range(runs)])


def medians(usages: Sequence[Usage]) -> Usage:
    """Return the median of each figure."""
    return Usage(
        *(
            statistics.median(getattr(usage, name) for usage in usages)
            for name in ("processor_seconds", "wall_seconds", "peak_megabytes")
        )
    )


def python(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this repository with this interpreter."""
    return [sys.executable, "-m", module, *arguments]


def peak_megabytes() -> float:
    """Return the peak memory of this program; what `getrusage` tells includes that of the process that started it."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1000


def cores() -> list[int]:
    """Return the cores that this process may run on."""
    return sorted(os.sched_getaffinity(0))


def alone(module: str, *arguments: str) -> dict[str, float]:
    """Return what a module of this repository measures in a process of its own, on one core."""
    said = subprocess.run(
        ["taskset", "-c", str(cores()[0]), *python(module, *arguments)],
        env={**os.environ, **ONE_CORE},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    measured: dict[str, float] = json.loads(said.stdout)
    return measured
