"""What a name that nothing bears can have meant: parts and platforms of a like name, and what they have."""

from __future__ import annotations

import re
from difflib import get_close_matches

import polars as pl

from pipelines.lake.tables import Lake
from pipelines.publishing.chain import NAMES_SUGGESTED
from pipelines.publishing.fact_chain import RESOLVED

_MOST_NAMED = 6
_LEAST_LETTERS = 2
"""A shorter name is part of too many others."""


def near_facts(lake: Lake, name: str) -> str | None:
    """Return a sentence on the specifications that a name can have meant, None where none comes near.

    Args:
        lake: Where the resolved values are.
        name: Such as `H100`, `NVLink 5` or `H100-SXM5-80GB/fp9`.
    """
    facts = lake.read(RESOLVED)
    subject, _, metric = name.partition("/")
    of_subject = facts.filter(pl.col("subject").str.to_lowercase() == subject.lower())
    if metric and of_subject.height:
        metrics = of_subject["metric"].sort().to_list()
        near = get_close_matches(metric, metrics, n=NAMES_SUGGESTED)
        meant = f"; did you mean {', '.join(near)}" if near else ""
        return f"{of_subject['subject'][0]} has no {metric!r}{meant}; it has {', '.join(metrics)}"
    like = _subjects_like(facts, subject if metric else name) or _values_like(facts, name)
    return f"nothing is named {name!r}; did you mean {', '.join(like[:_MOST_NAMED])}" if like else None


def _subjects_like(facts: pl.DataFrame, name: str) -> list[str]:
    """Return the subjects that have the name in theirs, the one with the most values first."""
    subjects = facts.group_by("subject").len().sort("len", "subject", descending=[True, False])["subject"].to_list()
    wanted = _plain(name)
    if len(wanted) < _LEAST_LETTERS:
        return []
    holding = [subject for subject in subjects if wanted in _plain(subject)]
    if holding:
        return sorted(holding, key=lambda subject: not _plain(subject).startswith(wanted))
    by_plain = {_plain(subject): subject for subject in subjects}
    return [by_plain[near] for near in get_close_matches(wanted, by_plain, n=NAMES_SUGGESTED, cutoff=0.7)]


def _values_like(facts: pl.DataFrame, name: str) -> list[str]:
    """Return the values in words that have the name in theirs: a link, a memory, a switch."""
    wanted = _plain(name)
    if len(wanted) < _LEAST_LETTERS:
        return []
    told = facts.drop_nulls("words").sort("subject", "metric")
    holding = [row for row in told.iter_rows(named=True) if wanted in _plain(row["words"])]
    return [f"{row['subject']}/{row['metric']}" for row in holding]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
