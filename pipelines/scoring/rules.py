"""The rules of each round as data: which benchmarks it has, how many runs, what is dropped, how long a start may take.

How a rule is applied to runs belongs in `runs` and `results`; where a rule comes from is said in `rounds.toml`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import polars as pl

_ROUND_NAME = r"^(\w+)-v(\d+)\.(\d+)$"


@dataclass(frozen=True, slots=True)
class Rules:
    """What is known of the rounds."""

    package: str
    """Name and version of the package that the facts were taken from."""
    rounds: pl.DataFrame
    """One row a round: `round, ruleset, init_limit_closed_ms, init_limit_open_ms`."""
    benchmarks: pl.DataFrame
    """One row a round, benchmark and scaling mode: `round, benchmark, scaling_mode, required_run_count,
    olympic_drop`."""
    aliases: dict[str, str]
    """Folder names that stand for a benchmark of another name."""
    caveats: pl.DataFrame
    """One row a round and benchmark: `round, benchmark, caveat`."""


@cache
def load_rules() -> Rules:
    """Return the rules of `rounds.toml`."""
    text = resources.files("pipelines.scoring").joinpath("rounds.toml").read_text(encoding="utf-8")
    return parse_rules(tomllib.loads(text))


def parse_rules(document: dict[str, Any]) -> Rules:
    """Return the rules that a document in the form of `rounds.toml` states.

    Raises:
        KeyError: a round names a benchmark without a number of required runs.
    """
    rounds = document["rounds"]
    return Rules(
        package=document["package"],
        rounds=pl.DataFrame([_round_row(entry) for entry in rounds], orient="row"),
        benchmarks=pl.DataFrame([row for entry in rounds for row in _benchmark_rows(entry, document)], orient="row"),
        aliases=document.get("aliases", {}),
        caveats=pl.DataFrame(
            [(entry["round"], entry["benchmark"], entry["text"].strip()) for entry in document.get("caveats", [])],
            schema={"round": pl.String, "benchmark": pl.String, "caveat": pl.String},
            orient="row",
        ),
    )


def benchmark_name(folder: pl.Expr, rules: Rules) -> pl.Expr:
    """Return the benchmark that a benchmark folder stands for."""
    return folder.replace(rules.aliases)


def round_order(round_name: pl.Expr) -> list[pl.Expr]:
    """Return sort keys that put rounds in the order of their publication; a name of another form comes last."""
    parts = round_name.str.extract_groups(_ROUND_NAME)
    version = [parts.struct.field(part).cast(pl.Int64, strict=False) for part in ("2", "3")]
    return [version[0].is_null(), *version, round_name]


def _round_row(entry: dict[str, Any]) -> dict[str, Any]:
    limit = entry["init_limit_minutes"]
    return {
        "round": entry["name"],
        "ruleset": entry["ruleset"],
        "init_limit_closed_ms": limit["closed"] * 60_000,
        "init_limit_open_ms": limit["open"] * 60_000,
    }


def _benchmark_rows(entry: dict[str, Any], document: dict[str, Any]) -> list[dict[str, Any]]:
    usage = entry["name"].partition("-")[0]
    return [
        {
            "round": entry["name"],
            "benchmark": benchmark,
            "scaling_mode": mode,
            "required_run_count": document["required_runs"][usage][benchmark],
            "olympic_drop": document["olympic_drop"].get(benchmark, 1),
        }
        for benchmark in entry["benchmarks"]
        for mode in entry["scaling_modes"]
    ]
