"""Ratios that a change may not spoil unseen: `python -m tests.bench.ratios` holds them against the committed file.

They are taken on little data, so that CI can afford them, and compared with generous bounds, since machines differ.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.bench.corpus import REPOSITORY, private_copy, result_logs
from tests.bench.measuring import median_processor_seconds
from tests.bench.parsing import parse
from tests.bench.reading import official_seconds

FILE = REPOSITORY / "docs" / "benchmark_ratios.json"
_ROUND, _SUBMITTER = "training-v5.0", "krai"
_BOUND = 2.0
"""A ratio may be worse by this factor: machines differ, and so does what else they do."""

_LARGER_IS_WORSE = {
    "parsing_over_search": True,
    "cost_per_byte_all_over_half": True,
    "official_over_parsing": False,
}


def measure() -> dict[str, float]:
    """Return the ratios, each of two things measured one after another in this process."""
    logs = result_logs(_ROUND)[::4]
    half = logs[::2]
    seconds, half_seconds = (median_processor_seconds(lambda some=some: parse(some), 3) for some in (logs, half))
    search_seconds = median_processor_seconds(lambda: [log.content.count(b":::MLLOG") for log in logs], 3)
    sizes = [sum(len(log.content) for log in some) for some in (logs, half)]
    own = [log for log in result_logs(_ROUND) if log.path.startswith(f"{_SUBMITTER}/")]
    with tempfile.TemporaryDirectory() as folder:
        theirs = official_seconds(private_copy(_ROUND, (_SUBMITTER,), Path(folder)) / _SUBMITTER, _ROUND)
    return {
        "parsing_over_search": round(seconds / search_seconds, 2),
        "cost_per_byte_all_over_half": round(seconds / sizes[0] / (half_seconds / sizes[1]), 2),
        "official_over_parsing": round(theirs / median_processor_seconds(lambda: parse(own), 3), 1),
    }


def keep() -> None:
    """Write the ratios to the committed file."""
    FILE.write_text(json.dumps(measure(), indent=2) + "\n")


def worsened(measured: dict[str, float], committed: dict[str, float]) -> list[str]:
    """Return a line for each ratio that is worse than the committed one by more than the bound, or not there."""
    lines = []
    for name, is_larger_worse in _LARGER_IS_WORSE.items():
        if name not in committed or name not in measured:
            lines.append(f"{name}: expected in both, found {measured.get(name)} and committed {committed.get(name)}")
            continue
        was, now = committed[name], measured[name]
        if (now > was * _BOUND) if is_larger_worse else (now < was / _BOUND):
            lines.append(f"{name}: {now} against {was} in {FILE.name}, more than {_BOUND} times worse")
    return lines


def main() -> None:
    """Measure, print, and end with 1 where something got much slower."""
    measured = measure()
    print(json.dumps(measured, indent=2))
    lines = worsened(measured, json.loads(FILE.read_text()))
    print("\n".join(lines), file=sys.stderr)
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
