"""`make bench`: every measurement of the project, as medians and ratios of one run, written to docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.bench import ratios, reading, refreshing
from tests.bench.corpus import REPOSITORY
from tests.bench.measuring import Row, alone, goal


def main() -> None:
    """Measure, print and write the page."""
    sections = {
        "Reading logs, one core": list(reading.one_core()),
        "Reading logs, two cores": list(reading.two_cores()),
        "Against the official summarizer": list(reading.peer()),
        "Searching for a plan, one core": list(searching()),
    }
    with tempfile.TemporaryDirectory() as data:
        sections["A whole refresh"] = list(refreshing.refreshes(Path(data)))
        sections["Answers from what was refreshed"] = list(refreshing.answers(Path(data)))
        sections["Refreshing ever larger rounds"] = list(refreshing.growth(Path(data)))
    page = _page(sections)
    (REPOSITORY / "docs" / "benchmarks.md").write_text(page)
    ratios.keep()
    print(page)


def searching() -> Iterator[Row]:
    """Measure how many ways to spread work are judged in a second: memory, traffic, step and time to train of each."""
    measured = alone("tests.bench.planning")
    millions = measured["candidates"] / 1e6
    yield (
        f"{measured['layouts']:,.0f} layouts of llama31_405b, {millions:,.1f} million candidates",
        f"{millions / measured['seconds']:,.1f} million/s",
        goal(20, millions / measured["seconds"]),
    )
    yield ("peak memory of the process", f"{measured['megabytes']:,.0f} MB", "")


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
