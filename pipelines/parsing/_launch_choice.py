"""Which published configuration launched a result: the one that its logs name, else its note, else the best match.

Reading a configuration belongs in `_launch_settings`; what the chosen one means for a result in `launch_configs`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from pipelines.parsing import names
from pipelines.parsing._launch_settings import Configuration, model_sizes

MOST_MENTIONS = 50
"""Configurations that one note is searched for."""

_MENTION = re.compile(r"(?P<sourced>(?:\bsource|(?<!\S)\.)\s+)?[\"'`]?(?P<path>[\w./${}<>+-]{0,300}\.sh)\b")
_PUT_ASIDE = re.compile(r"(?<![a-z0-9])(?:bak|backup)s?(?![a-z0-9])", re.IGNORECASE)
"""What folders are called that keep older copies, such as `config.bak`."""
_SHARED_BY_OTHERS = re.compile(r"config_(?:common|mounts|gbs)\b|_common\b")


@dataclass(frozen=True, slots=True)
class LaunchedResult:
    """What logs and description say of a result that a configuration must fit."""

    submitter_folder: str
    system: str
    benchmark: str
    number_of_nodes: int | None
    accelerators_per_node: int | None
    accelerator: str | None
    global_batch_size: int | None
    named_by_logs: frozenset[str] = frozenset()
    """File names of the configurations that its logs name, without folders."""

    @property
    def accelerator_count(self) -> int | None:
        """Return the accelerators of the system."""
        if self.number_of_nodes is None or self.accelerators_per_node is None:
            return None
        return self.number_of_nodes * self.accelerators_per_node


@dataclass(slots=True)
class Choice:
    """The configurations that fit a result best; several where nothing tells them apart."""

    configurations: list[Configuration] = field(default_factory=list)
    reasons: tuple[str, ...] = ()
    unresolved: list[tuple[str, str, int]] = field(default_factory=list)
    """Notes that name what cannot be resolved: path, the name as written, how often it is published."""

    @property
    def named_by(self) -> Literal["log", "note"] | None:
        """Return what of the submitter names the configuration, None where it is the best match."""
        return "log" if "log" in self.reasons else "note" if "note" in self.reasons else None


@dataclass(frozen=True, slots=True)
class Note:
    """A submitter's note on how a system was launched."""

    path: str
    text: str

    def is_about(self, system: str) -> bool:
        """Say whether the note is a system's: by its file name, or by its folder for a plain README."""
        name = posixpath.basename(self.path).removesuffix(".md")
        return name.lower() == f"readme-{system}".lower() or (
            name.lower() == "readme" and system in self.path.split("/")[3:-1]
        )

    def mentions(self) -> list[str]:
        """Return the configurations that the note names, as written; those that it sources, where it sources any."""
        found = [match for match, _ in zip(_MENTION.finditer(self.text), range(MOST_MENTIONS), strict=False)]
        paths = [
            (match["path"], bool(match["sourced"])) for match in found if "config" in posixpath.basename(match["path"])
        ]
        own = [(path, sourced) for path, sourced in paths if not _SHARED_BY_OTHERS.search(posixpath.basename(path))]
        sourced_only = [path for path, sourced in own or paths if sourced]
        return list(dict.fromkeys(sourced_only or [path for path, _ in own or paths]))


def choose(result: LaunchedResult, notes: Iterable[Note], configurations: list[Configuration]) -> Choice:
    """Return the configurations that fit a result best.

    Args:
        result: What logs and description say.
        notes: The submitter's notes for the benchmark.
        configurations: The submitter's configurations for the benchmark.
    """
    launched = with_logged_names(result, configurations)
    if len(launched) == 1:
        return Choice(launched, ("log",))
    unresolved: list[tuple[str, str, int]] = []
    for note in notes:
        if note.is_about(result.system):
            named = _named_by(note, configurations, unresolved)
            fitting = [one for one in named if _has_shape_of(one, result)] or named
            if fitting and not _is_example_of_another_part(fitting, note, configurations, result):
                return Choice(fitting, ("note",), unresolved)
    matched = _best_match(result, configurations)
    matched.unresolved = unresolved
    return matched


def with_logged_names(result: LaunchedResult, configurations: list[Configuration]) -> list[Configuration]:
    """Return what has the name that the logs state, none where they differ; in the system's folder, if any is there."""
    if len(result.named_by_logs) != 1:
        return []
    named = [one for one in configurations if one.name in result.named_by_logs]
    return [one for one in named if result.system in one.folders] or named


def _named_by(
    note: Note, configurations: list[Configuration], unresolved: list[tuple[str, str, int]]
) -> list[Configuration]:
    """Return what a note names: beside it, or else alone of that name under the benchmark."""
    chosen: dict[str, Configuration] = {}
    for mention in note.mentions():
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(note.path), mention))
        same_name = [one for one in configurations if one.name == posixpath.basename(mention)]
        exact = [one for one in same_name if one.path == beside]
        beside_by_name = [one for one in same_name if posixpath.dirname(one.path) == posixpath.dirname(note.path)]
        found = exact or beside_by_name or same_name
        if len({one.sha256 for one in found}) == 1:
            chosen[found[0].path] = found[0]
        else:
            unresolved.append((note.path, mention, len(found)))
    return list(chosen.values())


def _is_example_of_another_part(
    named: list[Configuration], note: Note, configurations: list[Configuration], result: LaunchedResult
) -> bool:
    """Say whether a note, copied from one part's folder to another's, names that part's file as its example.

    The folder then holds a configuration of its own, of the result's shape and part; a name alone tells too little,
    since files for one part are often launched on another.
    """
    folder, chips = posixpath.dirname(note.path), names.chips_in(result.accelerator or "")
    own = [
        one
        for one in configurations
        if posixpath.dirname(one.path) == folder and _has_shape_of(one, result) and names.chips_in(one.name) & chips
    ]
    elsewhere = [one for one in named if posixpath.dirname(one.path) != folder and names.chips_in(one.name)]
    return bool(own) and len(elsewhere) == len(named) and not any(names.chips_in(one.name) & chips for one in named)


def _has_shape_of(configuration: Configuration, result: LaunchedResult) -> bool:
    return configuration.shape == (result.number_of_nodes, result.accelerators_per_node)


def _best_match(result: LaunchedResult, configurations: list[Configuration]) -> Choice:
    sizes = model_sizes(result.benchmark)
    candidates = [
        one
        for one in configurations
        if _has_shape_of(one, result) and (not sizes or not one.model_sizes or sizes & one.model_sizes)
    ]
    if not candidates:
        return Choice()
    ranks = {one.path: _rank(one, result) for one in candidates}
    best = min(ranks.values())
    reasons = ["nodes"]
    reasons += ["folder"] if best[0] == 0 else []
    reasons += ["minibatch"] if best[1] == 0 else []
    reasons += ["system_name" if best[2] == 0 else "accelerator"] if best[2] < 2 else []
    return Choice([one for one in candidates if ranks[one.path] == best], tuple(reasons))


def _rank(configuration: Configuration, result: LaunchedResult) -> tuple[int, int, int, int]:
    """Rank a candidate, the best lowest: by its folder, by batch, by its name; one put aside as a copy comes last."""
    own_folder = 0 if result.system in configuration.folders else 1
    put_aside = int(any(_PUT_ASIDE.search(folder) for folder in configuration.folders))
    return own_folder, _batch_rank(configuration, result), _name_rank(configuration, result), put_aside


def _batch_rank(configuration: Configuration, result: LaunchedResult) -> int:
    fits = minibatch_fits(
        configuration.stated("minibatch_per_replica").value,
        replicas_of(configuration, result),
        result.global_batch_size,
    )
    return 1 if fits is None else 0 if fits else 2


def minibatch_fits(minibatch: int | None, replicas: int | None, global_batch_size: int | None) -> bool | None:
    """Say whether the replicas' minibatches are the batch of the log, None where one is not known."""
    if minibatch is None or replicas is None or global_batch_size is None:
        return None
    return minibatch * replicas == global_batch_size


def replicas_of(configuration: Configuration, result: LaunchedResult) -> int | None:
    """Return the data-parallel degree that a configuration gives a result's accelerators, None unless whole."""
    tensor, pipeline = (configuration.stated(column).value for column in ("tensor_parallel", "pipeline_parallel"))
    context = configuration.stated("context_parallel").value
    return data_parallel(result.accelerator_count, tensor or 1, pipeline or 1, context or 1)


def data_parallel(accelerators: int | None, tensor: int, pipeline: int, context: int) -> int | None:
    """Return accelerators over TP x PP x CP, None unless that is whole."""
    replica = tensor * pipeline * context
    if not accelerators or accelerators % replica:
        return None
    return accelerators // replica


def _name_rank(configuration: Configuration, result: LaunchedResult) -> int:
    squashed = _squash(configuration.name.removeprefix("config_").removesuffix(".sh"))
    if _squash(result.system) in squashed:
        return 0
    chips = names.chips_in(configuration.name)
    if not chips:
        return 2
    return 1 if names.chips_in(result.accelerator or "") & chips else 3


def _squash(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())
