"""Loose files to tables: which logs belong together, under which round's rules, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pipelines._cli.messages import UsageError, say
from pipelines.parsing.layout import classify
from pipelines.parsing.log_keys import Value
from pipelines.parsing.power_logs import parse_power_logs
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import parse_result_log_batches
from pipelines.parsing.scaling_factors import parse_scaling_factors
from pipelines.parsing.system_descriptions import parse_system_descriptions
from pipelines.scoring.loose import LooseTables
from pipelines.scoring.rules import Rules
from pipelines.scoring.rulesets import Ruleset, UnknownRulesetError, choose_ruleset
from pipelines.settings import Settings
from pipelines.sources.loose import LooseFile, LooseTree, find_files


@dataclass(frozen=True, slots=True)
class Group:
    """Logs of one tree that fall under one ruleset, and what belongs to them."""

    ruleset: Ruleset
    round: str
    """Round of the files, as their folder states it; the ruleset's where none does."""
    is_own_ruleset: bool
    logs: tuple[LooseFile, ...]
    others: tuple[LooseFile, ...]

    def published(self, kind: str) -> Iterator[PublishedFile]:
        """Give the files of a kind, one at a time."""
        return (file.published(self.round) for file in (*self.logs, *self.others) if file.kind == kind)

    def shown(self) -> dict[str, str]:
        """Return where each file is, by its path in a repository."""
        return {file.path: file.shown for file in (*self.logs, *self.others)}


@dataclass(frozen=True, slots=True)
class Log:
    """What one log says step by step, and what it states once."""

    steps: pl.DataFrame
    evals: pl.DataFrame
    settings: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class NamedResult:
    """A result, or one run of it, under the name that it was asked for by."""

    name: str
    is_run: bool
    ruleset: str
    is_own_ruleset: bool
    tables: LooseTables
    log: Callable[[str], Log]
    """Gives the log at a path."""


def find(paths: Sequence[str], *, with_launches: bool = False) -> LooseTree:
    """Return what the paths name.

    Raises:
        UsageError: a path is not there.
    """
    for path in paths:
        if not Path(path).exists():
            raise UsageError(f"{path}: no such file or folder")
    places = [Path(path) for path in paths]
    return find_files(places, Settings.from_environment().limits, with_launches=with_launches)


def say_what_is_passed_over(paths: Sequence[str], tree: LooseTree) -> None:
    """Say which files were named and are no log and no description."""
    read = {Path(file.shown).resolve() for file in tree.files}
    for path in paths:
        if Path(path).is_file() and Path(path).resolve() not in read:
            say(f"{path}: passed over, no result log: it holds no whole :::MLLOG event")


def groups(files: Iterable[LooseFile], asked: str | None, rules: Rules) -> list[Group]:
    """Return the logs by tree and ruleset, each with the other files of its tree.

    Raises:
        UsageError: what was asked for is no ruleset.
    """
    logs: dict[tuple[str | None, str | None, Ruleset], list[LooseFile]] = {}
    others: dict[str | None, list[LooseFile]] = {}
    for file in files:
        placed = classify(file.path)
        if file.kind != "result_log" or placed is None:
            others.setdefault(file.root, []).append(file)
            continue
        ruleset = ruleset_for(placed.benchmark or "", file.round, asked, rules)
        logs.setdefault((file.root, file.round, ruleset), []).append(file)
    return [
        Group(
            ruleset=ruleset,
            round=round_name or ruleset.round,
            is_own_ruleset=round_name == ruleset.round or ruleset.basis == "newest",
            logs=tuple(own),
            others=tuple(others.get(root, ())),
        )
        for (root, round_name, ruleset), own in logs.items()
    ]


def ruleset_for(benchmark: str, folder_round: str | None, asked: str | None, rules: Rules) -> Ruleset:
    """Return the ruleset of a benchmark's logs.

    Raises:
        UsageError: what was asked for is no ruleset.
    """
    try:
        return choose_ruleset(benchmark, folder_round, asked, rules)
    except UnknownRulesetError as error:
        raise UsageError(f"--ruleset: {error}") from None


def read_tables(group: Group, *, with_steps: bool) -> LooseTables:
    """Return what the files of a group say.

    Args:
        group: whose files are read.
        with_steps: whether the runs have what follows from their steps, such as the step time.
    """
    runs, evals = [], []
    for batch in parse_result_log_batches(group.published("result_log"), with_steps=with_steps):
        runs.append(batch.runs)
        evals.append(batch.evals)
    return LooseTables(
        runs=pl.concat(runs),
        evals=pl.concat(evals),
        systems=parse_system_descriptions(group.published("system_description"))[0],
        scaling_factors=parse_scaling_factors(group.published("scaling_factor"))[0],
        power_readings=parse_power_logs(group.published("power_log"))[0],
    )
