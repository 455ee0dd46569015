"""The published archives: what is kept of them, how long that takes and how much memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pipelines.parsing.layout import classify
from pipelines.settings import Limits
from pipelines.sources.repository import open_repository, open_tarball_stream

STORE = """
import json, sys, time
from datetime import datetime, UTC
from pathlib import Path
from pipelines.lake.tables import Lake
from pipelines.parsing.layout import classify
from pipelines.settings import Limits
from pipelines.sources.intake import read_files, store_repository
from pipelines.sources.repository import open_repository

def keep(path):
    placed = classify(path)
    return placed.kind if placed else None

def peak_megabytes():
    # Not ru_maxrss: across exec it keeps the peak of the process that started this one.
    line = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))
    return int(line.split()[1]) / 1024

before, start = peak_megabytes(), time.process_time()
lake = Lake.at(sys.argv[2])
repository = open_repository(Path(sys.argv[1]), Limits())
row = store_repository(repository, lake, keep, lambda: datetime.now(UTC), code_version="1").row(0, named=True)
stored_seconds = time.process_time() - start
read_bytes = sum(len(file.content) for file in read_files(lake, repository.round))
print(json.dumps(row | {"peak": peak_megabytes(), "before": before, "seconds": stored_seconds, "read": read_bytes}))
"""

KEPT = {
    "training_results_v5.0": {
        "result_log": 1717,
        "system_description": 94,
        "launch_config": 511,
        "launch_note": 39,
        "scaling_factor": 101,
        "power_log": 35,
    },
    "training_results_v5.1": {
        "result_log": 1669,
        "system_description": 92,
        "launch_config": 876,
        "launch_note": 35,
        "scaling_factor": 83,
    },
    "inference_results_v5.1": {"system_description": 125, "inference_summary": 1},
}
COMMITS = {
    "training_results_v5.0": "0fdc28f013256aea84fa36fdaf1e0fa46094b18c",
    "training_results_v5.1": "441d65f4445cd59687466533fd9f55399136e7a4",
    "inference_results_v5.1": "965182b03376a00fcae415c54e560e1c83937932",
}
PEAK_MEGABYTES = 400


def keep(path: str) -> str | None:
    """Return the kind of a file that a parser reads."""
    placed = classify(path)
    return placed.kind if placed else None


@pytest.mark.parametrize("name", list(KEPT))
def test_exactly_what_a_parser_reads_is_kept(shared: Path, name: str) -> None:
    repository = open_repository(shared / "mlperf" / f"{name}.tar.gz", Limits())
    assert repository.source == f"mlcommons/{name}"
    assert repository.round == name.replace("_results_", "-")
    assert repository.commit == COMMITS[name]
    assert Counter(file.kind for file in repository.files(keep)) == KEPT[name]


def test_a_stream_gives_the_same_files(shared: Path) -> None:
    path = shared / "mlperf" / "inference_results_v5.1.tar.gz"
    with path.open("rb") as file:
        streamed = list(open_tarball_stream(file, "a stream", Limits()).files(keep))
    assert streamed == list(open_repository(path, Limits()).files(keep))


@pytest.mark.parametrize("name", ["training_results_v5.0", "training_results_v5.1"])
def test_storing_takes_seconds_and_bounded_memory(shared: Path, name: str, tmp_path: Path) -> None:
    archive = shared / "mlperf" / f"{name}.tar.gz"
    done = subprocess.run(
        [sys.executable, "-c", STORE, str(archive), str(tmp_path)], capture_output=True, text=True, check=True
    )
    figures = json.loads(done.stdout)
    assert figures["file_count"] == sum(KEPT[name].values())
    assert figures["read"] == figures["size_bytes"]
    assert figures["seconds"] < 20
    assert figures["peak"] < PEAK_MEGABYTES
