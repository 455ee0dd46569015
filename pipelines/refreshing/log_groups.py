"""The result logs of a round in groups of about equal length: the units of work that a large round is read in.

Groups depend on the stored files alone, so that their rows are the same wherever each is read. What a log says is
read in `parsing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from pipelines.lake.tables import Lake
from pipelines.parsing.result_logs import ParsedLogs, parse_result_logs
from pipelines.sources.intake import read_files

GROUP_BYTES = 64_000_000
"""Log text of a group, up to the file that goes over it: less costs time for each group, more costs memory."""

_LOGS = {"result_log"}


@dataclass(frozen=True)
class LogGroup:
    """Result logs that are read together; small, so that it can be sent where they are read."""

    lake: str
    """Where the lake is, as in the setting RACKRECON_LAKE."""
    round: str
    first_row: int
    stop_row: int
    """Rows of the round's `raw.files` among which the logs are, counted from 0; the last one is not of the group."""


def log_groups(lake: Lake, location: str, round_name: str, group_bytes: int = GROUP_BYTES) -> Iterator[LogGroup]:
    """Give the groups of a round in the order of its files; at least one, which may hold no log.

    Args:
        lake: Lake that holds the round's files.
        location: Where it is.
        round_name: Round.
        group_bytes: Log text of a group.
    """
    files = pl.concat(lake.iter_batches("raw.files", round_name, ["kind", "size_bytes"])).with_row_index("row")
    logs = files.filter(pl.col("kind").is_in(_LOGS))
    number = (pl.col("size_bytes").cum_sum() - pl.col("size_bytes")) // group_bytes
    starts = [0, *logs.filter(number.diff() > 0)["row"]]
    for first, stop in zip(starts, [*starts[1:], files.height], strict=True):
        yield LogGroup(location, round_name, first, stop)


def read_group(group: LogGroup) -> ParsedLogs:
    """Return what the logs of the group say.

    Raises:
        LakeError: the lake or the round's files cannot be read.
    """
    rows = range(group.first_row, group.stop_row)
    return parse_result_logs(read_files(Lake.at(group.lake), group.round, _LOGS, rows))
