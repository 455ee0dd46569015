"""Parse rate and peak memory in a process of its own.

`python -m tests.bench.parsing ROUND rate|memory|base|grep|half0|half1`
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable

from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import parse_result_log_batches
from tests.bench.corpus import files, result_logs
from tests.bench.measuring import median_processor_seconds, peak_megabytes, run


def parse(logs: Iterable[PublishedFile]) -> int:
    """Read every log to frames of runs, evaluations and steps; return the number of events."""
    return sum(int(batch.runs["event_count"].sum()) for batch in parse_result_log_batches(iter(logs)))


def rate(round_name: str) -> dict[str, float]:
    """Measure from bytes in memory to frames, for all logs and for every other one."""
    logs = result_logs(round_name)
    half = logs[::2]
    return {
        "bytes": sum(len(log.content) for log in logs),
        "events": parse(logs),
        "seconds": median_processor_seconds(lambda: parse(logs)),
        "half_bytes": sum(len(log.content) for log in half),
        "half_seconds": median_processor_seconds(lambda: parse(half)),
        "find_seconds": median_processor_seconds(lambda: [log.content.count(b":::MLLOG") for log in logs]),
    }


def memory(round_name: str, *, is_parsing: bool) -> dict[str, float]:
    """Measure the peak of a process that streams the archive, with or without parsing what comes."""
    logs = files(round_name, {"result_log"})
    _ = parse(logs) if is_parsing else sum(len(log.content) for log in logs)
    return {"megabytes": peak_megabytes()}


def grep(round_name: str) -> dict[str, float]:
    """Measure `grep -c` over all logs in one file that is in memory: the least seconds on the clock of some turns."""
    with tempfile.NamedTemporaryFile() as file:
        size = sum(file.write(log.content) for log in result_logs(round_name))
        file.flush()
        turns = [run(["grep", "-c", ":::MLLOG", file.name], LC_ALL="C").wall_seconds for _ in range(5)]
    return {"bytes": size, "seconds": min(turns)}


def halves(round_name: str, number: int) -> None:
    """Read every other log each time that a line comes in, and say when done; a first line says that logs are there."""
    logs = result_logs(round_name)[number::2]
    parse(logs)
    print("ready", flush=True)
    for _ in sys.stdin:
        parse(logs)
        print("read", flush=True)


def main(round_name: str, what: str) -> None:
    """Print what was measured as JSON."""
    if what in ("half0", "half1"):
        halves(round_name, int(what[-1]))
        return
    measures = {"rate": rate, "grep": grep}
    measured = measures[what](round_name) if what in measures else memory(round_name, is_parsing=what == "memory")
    print(json.dumps(measured))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
