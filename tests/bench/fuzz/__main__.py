"""Fuzzes every target for a bounded time, guided by coverage, and reports what was tried and what broke.

Run as `python -m tests.bench.fuzz [TARGET...]`; RACKRECON_FUZZ_SECONDS is the time of each target. Input that breaks a
target is kept under RACKRECON_FUZZ_FOLDER with the command that shows it again.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.fuzz.targets import TARGETS, seeds_of

SECONDS = int(os.environ.get("RACKRECON_FUZZ_SECONDS", "30"))
FOLDER = Path(os.environ.get("RACKRECON_FUZZ_FOLDER", "data/fuzz")).resolve()
REPOSITORY = Path(__file__).resolve().parents[3]
LONGEST_INPUT = 20_000
SLOWEST_SECONDS = 20
MEMORY_MEGABYTES = 2048

_STATUS = re.compile(r"#(\d+)\s+\S+\s+cov: (\d+) ft: (\d+)")
_TRIED = re.compile(r"stat::number_of_executed_units: (\d+)")


def fuzz(name: str) -> str | None:
    """Fuzz one target, print one line, and return what broke it."""
    corpus, broken = FOLDER / name / "corpus", FOLDER / name / "broken"
    for folder in (corpus, broken):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds_of(name)):
        (corpus / f"seed-{number}").write_bytes(seed)
    executions, end = 0, time.monotonic() + SECONDS
    while True:
        left_seconds = max(1, round(end - time.monotonic()))
        ran = _run(name, f"-max_total_time={left_seconds}", f"-artifact_prefix={broken}/", str(corpus))
        statuses, tried = _STATUS.findall(ran.stderr), _TRIED.findall(ran.stderr)
        executions += int(tried[-1] if tried else statuses[-1][0] if statuses else 0)
        kept = re.findall(r"Test unit written to (\S+)", ran.stderr)
        if not (kept and _was_held_up(name, Path(kept[-1]))):
            break
        Path(kept[-1]).unlink()
    print(f"{name:24} {executions:>10,} executions, {int(statuses[-1][1]) if statuses else 0:>6,} edges", flush=True)
    if ran.returncode == 0:
        return None
    told = [line for line in ran.stderr.splitlines() if re.match(r"\s*[\w.]*(Error|Exception)\b|==\d+== ERROR", line)]
    shows = f"python -m tests.bench.fuzz.one {name} {kept[-1]}" if kept else ran.stderr[-2000:]
    return f"{name}: {'; '.join(told[:3]) or 'ended with ' + str(ran.returncode)}\n  {shows}"


def _was_held_up(name: str, kept: Path) -> bool:
    """Whether input that took too long does not when tried again: a busy machine held the process up."""
    return kept.name.startswith("timeout-") and _run(name, str(kept)).returncode == 0


def _run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    options = [
        f"-max_len={LONGEST_INPUT}",
        f"-timeout={SLOWEST_SECONDS}",
        f"-rss_limit_mb={MEMORY_MEGABYTES}",
        "-print_final_stats=1",
    ]
    command = [sys.executable, "-m", "tests.bench.fuzz.one", name, *options, *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, errors="replace", check=False)


def main() -> int:
    """Fuzz the targets that are named, or all."""
    wanted = sys.argv[1:] or list(TARGETS)
    unknown = sorted(set(wanted) - set(TARGETS))
    if unknown:
        print(f"no target {', '.join(unknown)}; there are: {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    broken = [told for name in wanted if (told := fuzz(name)) is not None]
    print("\n".join(broken) if broken else "Nothing broke.")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
