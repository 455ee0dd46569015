"""What one launch configuration says: parallelism, batch, nodes, precision, each with the file that it was read from.

The names that settings go by belong here; how a shell text is followed belongs in `_shell`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from pipelines.parsing._shell import Evaluated, Setting

SYNONYMS = {
    "tensor_parallel": ("TP", "TENSOR_MODEL_PARALLEL", "PRIMUS_TP", "MLLOG_TENSOR_PARALLELISM"),
    "pipeline_parallel": ("PP", "PIPELINE_MODEL_PARALLEL", "PRIMUS_PP", "MLLOG_PIPELINE_PARALLELISM"),
    "context_parallel": ("CP", "CONTEXT_PARALLEL", "PRIMUS_CP", "MLLOG_CONTEXT_PARALLELISM"),
    "virtual_pipeline": ("VP", "INTERLEAVED_PIPELINE", "PRIMUS_VPP"),
    "expert_parallel": (
        "EP",
        "EXPERT_PARALLEL",
        "EXPERT_MODEL_PARALLEL",
        "PRIMUS_EP",
        "MLLOG_EXPERT_PARALLELISM",
    ),
    "micro_batch": ("MBS", "MICRO_BATCH_SIZE", "PRIMUS_MICRO_BATCH_SIZE", "MLLOG_MICRO_BATCH_SIZE"),
    "minibatch_per_replica": ("MINIBS",),
}
"""Column of `core.launches` to the settings that state it: NeMo's, Primus's, and what a log is told to say."""

_NODES = ("DGXNNODES", "NNODES")
_ACCELERATORS_PER_NODE = ("DGXNGPU", "GPUS_PER_NODE")
_LOGGED_PRECISION = ("MLLOG_LOWEST_NUMERICAL_PRECISION_LINEAR", "MLLOG_LOWEST_NUMERICAL_PRECISION_IN_LINEAR")
_PRECISIONS = {"fp4": ("FP4", {"fp4", "nvfp4", "mxfp4"}), "fp8": ("FP8", {"fp8", "mxfp8"})}
"""Precision, lowest first, to the setting that turns it on and the words for it in file names."""
_NOT_SET = frozenset({"", "null", "none"})
_OFF = {"virtual_pipeline": _NOT_SET | {"0"}}
_NODES_IN_NAME = re.compile(r"_0*(\d{1,5})x0*(\d{1,3})(?=[x._])")
_LAYOUT_IN_NAME = (
    re.compile(
        r"_\d+x\d+x(?P<minibatch_per_replica>\d+)x?tp(?P<tensor_parallel>\d+)(?:pp(?P<pipeline_parallel>\d+))?"
        r"(?:ep(?P<expert_before>\d+))?(?:cp(?P<context_parallel>\d+))?(?:ep(?P<expert_parallel>\d+))?(?=[x._])"
    ),
    re.compile(
        r"_\d+x\d+x(?P<minibatch_per_replica>\d+)x(?P<tensor_parallel>\d+)x(?P<pipeline_parallel>\d+)"
        r"_mbs(?P<micro_batch>\d+)(?=[x._])"
    ),
)
"""How names of configurations spell a layout: `_8x8x1xtp4pp1cp2` for llama, the degree of experts before or behind
`cp` for mixtures of them, `_96x8x16x4x8_mbs1` for gpt3."""
_MODEL_SIZE = re.compile(r"(?<![0-9a-z])\d{1,4}b(?![0-9a-z])")


@dataclass(frozen=True, slots=True)
class Stated:
    """A value and where it was read; the value is None where nothing states it."""

    value: int | None
    source: str | None = None


@dataclass(frozen=True)
class Configuration:
    """One launch configuration with the files that it includes."""

    path: str
    sha256: str
    evaluated: Evaluated

    @property
    def name(self) -> str:
        """Return the file name."""
        return self.path.rpartition("/")[2]

    @property
    def folders(self) -> list[str]:
        """Return the folders below the benchmark's."""
        return self.path.split("/")[3:-1]

    @property
    def includes_unread(self) -> bool:
        """Say whether a setting may stand in a file that is not published."""
        return self.evaluated.misses_includes

    def stated(self, column: str) -> Stated:
        """Return what states a column of `core.launches`: a setting, or the file's name where nothing sets it."""
        setting = self.setting(SYNONYMS[column])
        if setting is None:
            return Stated(self.layout_in_name[column], self.path) if column in self.layout_in_name else Stated(None)
        value = _count(setting.value)
        return Stated(value, setting.path if value is not None else None)

    @cached_property
    def layout_in_name(self) -> dict[str, int]:
        """Return the columns that the file's name spells."""
        found = next((match for pattern in _LAYOUT_IN_NAME if (match := pattern.search(self.name))), None)
        spelled = {} if found is None else {column: _count(digits) for column, digits in found.groupdict().items()}
        spelled["expert_parallel"] = spelled.pop("expert_before", None) or spelled.get("expert_parallel")
        return {column: value for column, value in spelled.items() if value is not None}

    def setting(self, names: tuple[str, ...]) -> Setting | None:
        """Return the setting of these names that was made last."""
        return next((found for name, found in reversed(self.evaluated.settings.items()) if name in names), None)

    def unreadable(self, column: str) -> Setting | None:
        """Return the setting that should state a column but cannot be read, None where all is well."""
        setting = self.setting(SYNONYMS[column])
        if setting is None or _count(setting.value) is not None:
            return None
        is_off = setting.value is not None and setting.value.lower() in _OFF.get(column, _NOT_SET)
        return None if is_off else setting

    @cached_property
    def shape(self) -> tuple[int | None, int | None]:
        """Return nodes and accelerators per node, from the settings or else the file name.

        A name that counts other nodes than the settings counts something else first, such as the instances of an HPC
        benchmark, so what stands second in it is not the accelerators of a node.
        """
        name = _NODES_IN_NAME.search(self.name)
        nodes = self._count_of(_NODES)
        per_node = self._count_of(_ACCELERATORS_PER_NODE)
        if name is not None and nodes in (None, int(name[1])):
            nodes = nodes or int(name[1])
            per_node = per_node or int(name[2])
        return nodes, per_node

    def _count_of(self, names: tuple[str, ...]) -> int | None:
        setting = self.setting(names)
        return _count(setting.value) if setting else None

    @cached_property
    def model_sizes(self) -> frozenset[str]:
        """Return the model sizes (`8b`, `405b`) that its name and its includes' names mention."""
        names = [self.name, *(path.rpartition("/")[2] for path in self.evaluated.includes)]
        return model_sizes(" ".join(names))

    @cached_property
    def precision(self) -> tuple[str | None, str | None]:
        """Return the lowest precision of the matrix multiplications and what says so: setting or file_name.

        The names are its own and those of includes that are not published, which may have set it.
        """
        spelled = _words(" ".join([self.name, *self.evaluated.missing]))
        logged = self.setting(_LOGGED_PRECISION)
        said = _words(logged.value or "") if logged else set()
        for precision, (name, words) in _PRECISIONS.items():
            setting = self.evaluated.settings.get(name)
            is_on = setting is not None and setting.value is not None and setting.value.lower() in ("true", "1")
            if is_on or said & words:
                return precision, "setting"
            if spelled & words and (setting is None or setting.value is None):
                return precision, "file_name"
        return None, None


def model_sizes(text: str) -> frozenset[str]:
    """Return the model sizes (`8b`, `405b`) that a text mentions."""
    return frozenset(_MODEL_SIZE.findall(text.lower().replace("_", " ")))


def _words(text: str) -> set[str]:
    return set(re.split("[^a-z0-9]", text.lower()))


def _count(text: str | None) -> int | None:
    found = re.fullmatch(r"0*([1-9]\d{0,8})", text or "", re.ASCII)
    return int(found[1]) if found else None
