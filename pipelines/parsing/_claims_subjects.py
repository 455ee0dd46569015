"""The names that a text can speak of: parts, products, networks, models, rounds; found by the alias registry.

A name carries digits that are no figures (`H100`, `Llama 3.1 405B`), so names are found before figures are read.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Subject:
    """One entry of the alias registry."""

    name: str
    kind: str
    """accelerator, cpu, nic, switch, link, component, platform, model, level, round, or a family of one of these."""
    members: tuple[str, ...]
    """What the name stands for in the fact tables; itself where it is one thing."""
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Mention:
    """A name found in a text."""

    start: int
    end: int
    name: str
    kind: str
    members: tuple[str, ...]


_ROUND = re.compile(
    r"(?:MLPerf(?:™|®)?\s)?(?P<suite>Training|Inference|HPC|Storage|Client|Tiny)?(?:\s(?:Benchmark\s)?[Rr]ound)?\s?"
    r"(?<![\w.])v(?P<version>\d\.\d)(?![\w.]?\d)"
)
_BENCHMARK_NAME = re.compile(r"MLPerf|MLCommons")


@lru_cache(maxsize=1)
def subjects() -> tuple[Subject, ...]:
    """Return the registry, the entries that take precedence first."""
    path = resources.files("pipelines.sources").joinpath("registry", "claims_subjects.csv")
    entries = []
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
        members = tuple(row["members"].split("|")) if row["members"] else (row["subject"],)
        pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{row['pattern']})(?![A-Za-z0-9])")
        entries.append(Subject(row["subject"], row["kind"], members, pattern))
    return tuple(entries)


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Subject]:
    return {entry.name: entry for entry in subjects()}


def members_of(name: str) -> tuple[str, ...]:
    """Return what a subject of the registry stands for in the fact tables; a name that is not in it is itself."""
    entry = _by_name().get(name)
    return entry.members if entry is not None else (name,)


def kind_of(name: str) -> str | None:
    """Return the kind of a subject of the registry, None for a name that is not in it."""
    entry = _by_name().get(name)
    return entry.kind if entry is not None else None


def siblings_of(name: str) -> tuple[str, ...]:
    """Return the other members of the families that a member is in: `TPU7x pod` for `TPU v5p pod`."""
    families = [e for e in subjects() if e.kind.endswith("_family") and e.name != "supernode" and name in e.members]
    return tuple(dict.fromkeys(member for family in families for member in family.members if member != name))


def find_mentions(text: str) -> list[Mention]:
    """Find the names in a text, in order, none overlapping another.

    A longer or earlier entry of the registry wins.
    """
    taken = [False] * len(text)
    found: list[Mention] = [
        Mention(match.start(), match.end(), _round_name(match), "round", (_round_name(match),))
        for match in _ROUND.finditer(text)
    ]
    for mention in found:
        taken[mention.start : mention.end] = [True] * (mention.end - mention.start)
    for entry in subjects():
        for match in entry.pattern.finditer(text):
            if match.end() > match.start() and not any(taken[match.start() : match.end()]):
                taken[match.start() : match.end()] = [True] * (match.end() - match.start())
                found.append(Mention(match.start(), match.end(), entry.name, entry.kind, entry.members))
    return sorted(found, key=lambda mention: mention.start)


def names_benchmark_suite(text: str) -> bool:
    """Say whether a text speaks of MLPerf, so that its times are results."""
    return _BENCHMARK_NAME.search(text) is not None


def _round_name(match: re.Match[str]) -> str:
    suite = (match["suite"] or "training").lower()
    return f"{suite}-v{match['version']}"
