"""Groups of logs: every log once, in order, by length; what each holds is read alone as it is read together."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from pipelines.lake import partitions
from pipelines.lake.tables import Lake
from pipelines.parsing.result_logs import parse_result_logs
from pipelines.refreshing.log_groups import log_groups, read_group
from pipelines.refreshing.rounds import keep
from pipelines.settings import Limits
from pipelines.sources.intake import read_files, store_repository
from pipelines.sources.repository import open_repository

ROUND = "training-v5.0"
LINE = ':::MLLOG {"namespace": "", "time_ms": %d, "key": "submission_org", "value": "Acme", "metadata": {}}\n'


def log(index: int) -> bytes:
    return "".join(LINE % (1_746_000_000_000 + index * 10 + line) for line in range(10)).encode()


def lake_of(folder: Path, files: Mapping[str, bytes], repository: str = "training_results_v5.0") -> Lake:
    """Take a checkout with these files into a lake."""
    checkout = folder / f"{repository}-{'0' * 40}"
    for name, content in files.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_bytes(content)
    lake = Lake.at(str(folder / "lake"))
    store_repository(open_repository(checkout, Limits()), lake, keep, noon, code_version="1")
    return lake


def noon() -> datetime:
    """Return a fixed time."""
    return datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """Give a lake with twelve logs of equal length, of which two have the same bytes, in several row groups."""
    monkeypatch.setattr(partitions, "BATCH_BYTES", 4000)
    logs = {f"Acme/results/one/bert/result_{index:02}.txt": log(index % 11) for index in range(12)}
    lake = lake_of(tmp_path, {**logs, "Acme/systems/one.json": b"{}", "Zeta/systems/two.json": b"{}"})
    with lake.open_partition("raw.files", ROUND) as groups:
        assert len(groups.row_counts) > 2
    return lake


@pytest.mark.parametrize(("logs_together", "groups"), [(1, 12), (5, 3), (12, 1), (100, 1)])
def test_groups_hold_every_log_once_in_order(lake: Lake, tmp_path: Path, logs_together: int, groups: int) -> None:
    found = list(log_groups(lake, str(tmp_path / "lake"), ROUND, logs_together * len(log(0))))
    assert len(found) == groups
    assert [found[0].first_row, found[-1].stop_row] == [0, 14]
    assert [one.stop_row for one in found[:-1]] == [one.first_row for one in found[1:]]

    together = parse_result_logs(read_files(lake, ROUND, {"result_log"}))
    assert together.runs.height == 12
    apart = [read_group(group) for group in found]
    assert pl.concat([one.runs for one in apart]).equals(together.runs)
    findings = pl.concat([one.findings for one in apart])
    assert findings.sort(findings.columns).equals(together.findings.sort(findings.columns))


def test_a_round_without_logs_is_one_group_without_rows(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, {"summary_results.json": b"[]"}, "inference_results_v5.1")
    (group,) = log_groups(lake, str(tmp_path / "lake"), "inference-v5.1")
    assert read_group(group).runs.is_empty()
