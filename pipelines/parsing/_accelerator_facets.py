"""Chip, form and memory of an accelerator, in whatever order a text gives them: `A100 80GB PCIe`, `H100 80GB SXM5`.

Which parts there are belongs in `accelerator_names.toml`; texts that name a part letter by letter in `names`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.parsing.quantities import plain

MEMORY_TOLERANCE = 0.08
"""Memory fitted and memory usable of one part differ by less (192 and 180 GB, 288 and 270 GB); no two parts do."""

_CHIP = r"[abhlpv]\d{1,3}[a-z]?|g[bh]\d{3}|mi\d{3}[a-z]"
_MEMORY = re.compile(r"(?<![a-z0-9.])(\d{2,3})\s?gi?b(?![a-z0-9])")
_FORM = re.compile(r"(?<![a-z0-9])(sxm|pcie|oam|nvl)(\d?)(?![a-z0-9])")
_SAYS_NO_PART = re.compile(r"hbm\d?e?|gddr\d?x?|\d{3,4}\s?w")
_MAKERS = frozenset({"nvidia", "amd", "intel", "instinct", "tesla"})
_GENERATIONS = frozenset({"pascal", "volta", "ampere", "hopper", "grace", "blackwell", "ultra"})
_KINDS = frozenset({"tensor", "core", "gpu", "gpus", "ai", "accelerator", "card", "module", "graphics"})
_NEUTRAL = _MAKERS | _GENERATIONS | _KINDS
"""Words that tell no part from another of the same chip."""
_OF_ONE = {"superchip": "gh"}
"""Words that stand for one accelerator with these chips alone: a superchip of GB200 holds two."""


@dataclass(frozen=True, slots=True)
class Facets:
    """What a text says, None for what it leaves open."""

    chip: str
    form: str | None
    generation: str
    """Of the form, such as 5 of SXM5; blank where none is given."""
    memory_gigabytes: int | None

    def is_of(self, part: Facets) -> bool:
        """Say whether this can be a name of that part: it says all that tells its form, and nothing else."""
        if self.chip != part.chip:
            return False
        if part.form is None:
            return self.form != "nvl" and self._has_memory_of(part)
        is_form = self.form == part.form and self.generation in ("", part.generation or self.generation)
        return is_form and self._has_memory_of(part)

    def _has_memory_of(self, part: Facets) -> bool:
        own, other = self.memory_gigabytes, part.memory_gigabytes
        return own is None or other is None or abs(own - other) < MEMORY_TOLERANCE * max(own, other)


def facets_of(text: str) -> Facets | None:
    """Return the facets of a text; None where it holds several chips, none, or words that may name another part."""
    rest = re.sub(r"\((?:r|tm)\)|[\u00ae\u2122]", "", plain(text).lower())
    memories, forms = set(_MEMORY.findall(rest)), set(_FORM.findall(rest))
    words = re.findall(r"[a-z0-9.]+", _SAYS_NO_PART.sub(" ", _FORM.sub(" ", _MEMORY.sub(" ", rest))))
    chips = {word for word in words if re.fullmatch(_CHIP, word)}
    if len(chips) != 1 or len(memories) > 1 or len(forms) > 1:
        return None
    neutral = _NEUTRAL | {word for word, of_chips in _OF_ONE.items() if next(iter(chips)).startswith(of_chips)}
    if not set(words) <= neutral | chips:
        return None
    form, generation = next(iter(forms), (None, ""))
    return Facets(chips.pop(), form, generation, int(next(iter(memories))) if memories else None)


def part_with_facets(text: str, parts: Iterable[tuple[str, Facets]]) -> str | None:
    """Return the one part of those given that a text can be a name of, None where it is none or several."""
    said = facets_of(text)
    fitting = {part for part, facets in parts if said is not None and said.is_of(facets)}
    return fitting.pop() if len(fitting) == 1 else None
