"""A result or a run that the lake has, by its readable name, as the commands on loose files take it."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from pipelines._cli.loose_files import Log, NamedResult
from pipelines._cli.messages import UsageError
from pipelines.lake.tables import Lake
from pipelines.parsing.log_keys import Value, read_log_keys
from pipelines.scoring.loose import LooseTables
from pipelines.settings import Settings
from pipelines.sources.intake import read_file


def find_in_lake(name: str) -> NamedResult:
    """Return the result or the run of that name.

    Raises:
        UsageError: there is none.
    """
    lake, round_name = Lake.at(Settings.from_environment().lake), name.partition("/")[0]
    runs = lake.read("core.runs", [round_name]) if round_name in lake.partitions("core.runs") else None
    found = None if runs is None else runs.filter((pl.col("result_id") == name) | (pl.col("run_id") == name))
    if found is None or found.is_empty():
        raise UsageError(f"{name}: no such file or folder, and no such result or run in the lake")
    first = found.row(0, named=True)
    paths = found["source_path"].implode()
    of_system = [pl.col(column) == first[column] for column in ("submitter_folder", "system")]
    of_result = pl.col("result_id") == first["result_id"]

    def table(short_name: str, *conditions: pl.Expr) -> pl.DataFrame:
        return lake.read(f"core.{short_name}", [round_name]).filter(*conditions)

    def log(path: str) -> Log:
        at = pl.col("source_path") == path
        return Log(table("steps", at), table("evals", at), _settings(lake, round_name, path))

    return NamedResult(
        name=name,
        is_run=first["run_id"] == name,
        ruleset=round_name,
        is_own_ruleset=True,
        tables=LooseTables(
            runs=found,
            evals=table("evals", pl.col("source_path").is_in(paths)),
            systems=table("systems", *of_system),
            scaling_factors=table("scaling_factors", of_result),
            power_readings=table("power_readings", of_result),
        ),
        log=log,
    )


def _settings(lake: Lake, round_name: str, path: str) -> Mapping[str, Value]:
    """Return what the log states, nothing where the lake has no bytes: the embedded snapshot has none."""
    if round_name not in lake.partitions("raw.files"):
        return {}
    file = read_file(lake, round_name, path)
    return {} if file is None else read_log_keys(file.content).settings()
