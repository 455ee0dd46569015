"""Which round's rules loose logs are scored under: the one asked for, the one their folder names, the newest.

What the rules are belongs in `rules`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from pipelines.parsing.names import canonical_benchmark
from pipelines.scoring.rules import Rules, round_order

Basis = Literal["asked", "folder", "newest"]


class UnknownRulesetError(ValueError):
    """No round of that name is known; the message lists those that are."""


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The round whose rules and reference convergence points apply, and why that one."""

    round: str
    basis: Basis
    """`asked` for; `folder`: a folder's name states the round; `newest`: the last round that has the benchmark."""


def ruleset_named(text: str, rules: Rules, benchmark: str) -> str:
    """Return the round that a text means: `training-v5.1`, `v5.1`, `5.1` or `5.1.0`.

    Args:
        text: what was asked for.
        rules: the rules of the rounds.
        benchmark: decides between training and HPC where the text does not.

    Raises:
        UnknownRulesetError: there is no such round.
    """
    found = re.fullmatch(r"(?:([a-z]+)-)?v?(\d+\.\d+)(?:\.0)?", text.strip().lower())
    rounds = rules.rounds["round"].to_list()
    candidates = [name for name in rounds if found and re.fullmatch(rf"{found[1] or '[a-z]+'}-v{found[2]}", name)]
    if not candidates:
        raise UnknownRulesetError(f"no ruleset {text!r}; there are {', '.join(rounds)}")
    with_benchmark = [name for name in candidates if benchmark in _benchmarks(rules, name)]
    return str((with_benchmark or candidates)[0])


def newest_round(benchmark: str, rules: Rules) -> str:
    """Return the last round that has the benchmark, else the last of all."""
    having = rules.benchmarks.filter(benchmark=rules.aliases.get(benchmark, benchmark))
    rounds = having if having.height else rules.rounds
    known = rounds.select("round").unique().sort(round_order(pl.col("round")))
    return str(known["round"].item(-1))


def choose_ruleset(benchmark: str, folder_round: str | None, asked: str | None, rules: Rules) -> Ruleset:
    """Return the ruleset that logs of a benchmark fall under.

    Args:
        benchmark: as its folder or its logs name it.
        folder_round: the round that a folder's name states.
        asked: what was asked for.
        rules: the rules of the rounds.

    Raises:
        UnknownRulesetError: what was asked for is no round.
    """
    if asked is not None:
        return Ruleset(ruleset_named(asked, rules, benchmark), "asked")
    if folder_round is not None:
        return Ruleset(folder_round, "folder")
    return Ruleset(newest_round(benchmark, rules), "newest")


def with_renamed_benchmarks(rules: Rules, round_name: str) -> Rules:
    """Return the rules with the older names of the round's benchmarks (`ssd` where the round has `retinanet`)."""
    own = _benchmarks(rules, round_name)
    others = set(rules.benchmarks["benchmark"]) - own
    renamed = {
        other: name for other in others for name in own if canonical_benchmark(other) == canonical_benchmark(name)
    }
    return replace(rules, aliases=rules.aliases | renamed)


def _benchmarks(rules: Rules, round_name: str) -> set[str]:
    return set(rules.benchmarks.filter(round=round_name)["benchmark"])
