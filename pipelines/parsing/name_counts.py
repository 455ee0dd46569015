"""Counts in the name of a system: `carina_ngpu2496`, `16xXE9712x4GB200`, `8x H200-SXM-141GB`, `tpu-v5p-12288`.

What the words count by their form is read here; whether that is so is held against the description in
`reconciling.name_counts`. Counts of racks are read in `_rack_counts`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Literal

from pipelines.parsing.names import chips_in, names_nvlink_machine, rack_product_named
from pipelines.parsing.quantities import plain

Unit = Literal["accelerators", "accelerators_per_node", "nodes", "machines", "grid", "tpu_units"]


@dataclass(frozen=True, slots=True)
class NameCount:
    """One count in a name."""

    words: str
    """The words that state it."""
    count: int
    """The number, or the product where several stand together."""
    unit: Unit
    """What the words count by their form. A grid is the product of two counts; what a TPU's name counts depends."""
    model: str | None = None
    """The machine that is counted, where the name says what is in it."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a system is made of, to tell an accelerator from a machine and a processor in its name."""

    accelerator_text: str = ""
    processor_text: str = ""
    accelerator: str | None = None
    """Canonical part; it tells the rack-scale product that `NVL72` alone means."""

    def has_accelerator(self, word: str) -> bool:
        """Say whether a word is the accelerator's name or begins with a chip's."""
        if any(word.upper().startswith(chip) for chip in chips_in(word)):
            return True
        squashed = _squash(word)
        least = 2 if any(map(str.isdigit, squashed)) else 3
        return len(squashed) >= least and squashed in _squash(self.accelerator_text)

    def has_processor(self, word: str) -> bool:
        """Say whether a word is the host processor's name."""
        squashed = _squash(word)
        return len(squashed) > 2 and squashed in _squash(self.processor_text)


def counts_in_name(name: str, hardware: Hardware) -> tuple[NameCount, ...]:
    """Return the counts of accelerators, nodes and machines that a system's name states, in their order.

    Args:
        name: A system's folder or its name as described.
        hardware: What the system is made of; counts of racks and of processors are passed over.
    """
    text = plain(name)
    found: dict[int, NameCount] = {}
    read: set[int] = set()
    for pattern, reader in _FORMS:
        for match in pattern.finditer(text):
            numbers = [match.span(group) for group in pattern.groupindex.values()]
            positions = {position for start, stop in numbers for position in range(start, stop)}
            if positions & read:
                continue
            count = reader(match, hardware)
            if count is not None:
                read |= positions
                found[match.start()] = count
    return tuple(count for _, count in sorted(found.items()) if count.count > 0)


def _squash(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())


def _one(unit: Unit, match: re.Match[str], hardware: Hardware) -> NameCount:
    del hardware
    return NameCount(match[0].strip(" _-"), int(match["n"]), unit)


def _grid(match: re.Match[str], hardware: Hardware) -> NameCount:
    del hardware
    return NameCount(match[0], int(match["n"]) * int(match["m"]), "grid")


def _grid_of_parts(match: re.Match[str], hardware: Hardware) -> NameCount | None:
    """`2x8x MI325X`, where what follows is the accelerator."""
    return _grid(match, hardware) if hardware.has_accelerator(match[3]) else None


def _machine_of_parts(match: re.Match[str], hardware: Hardware) -> NameCount | None:
    """`16xXE9712x4GB200`: machines; what is in each of them is a count of its own."""
    model, part = match[2], match[4]
    if hardware.has_accelerator(model) or not hardware.has_accelerator(part):
        return None
    return NameCount(f"{match['n']}x{model}", int(match["n"]), "machines", model)


def _parts_of_machine(match: re.Match[str], hardware: Hardware) -> NameCount | None:
    """`x4GB200` behind a machine's name; `x18x4GB200` is a rack of 18 trays."""
    if not hardware.has_accelerator(match[2]):
        return None
    return NameCount(match[0], prod(map(int, re.findall(r"\d+", match["n"]))), "accelerators_per_node")


def _counted(match: re.Match[str], hardware: Hardware) -> NameCount | None:
    """`8x H200`, `16x ARS-121GL-NBO`, `39x NVIDIA GB200 NVL72`: what is counted is told by the word."""
    phrase, word = match[2], match[3]
    words = f"{match['n']}x {word}" if " " in match[0] else match[0]
    if rack_product_named(phrase, hardware.accelerator) or names_nvlink_machine(phrase):
        return None
    if hardware.has_accelerator(word) or _WITH_MEMORY.fullmatch(phrase):
        return NameCount(words, int(match["n"]), "accelerators")
    if hardware.has_processor(word) or _NO_MACHINE.fullmatch(word):
        return None
    return NameCount(words, int(match["n"]), "machines")


def _behind_part(match: re.Match[str], hardware: Hardware) -> NameCount | None:
    """`180GBx8`, `aarch64x72`, `dgxb200x8`: a count behind an accelerator or what it is packed in."""
    word = match[1]
    if not (chips_in(word) or _PACKAGING.fullmatch(word) or hardware.has_accelerator(word)):
        return None
    return NameCount(match[0], int(match["n"]), "accelerators")


_VENDORS = r"(?:(?:NVIDIA|AMD|Intel|Google|AWS|Amazon|Habana|Huawei|Instinct|GeForce|Radeon|Tesla)[ _-])*"
_NO_MACHINE = re.compile(r"PCIe|NVLink|NVSwitch|HBM\d?e?|Ethernet|InfiniBand|IB|NIC|CPUs?|GB", re.IGNORECASE)
_WITH_MEMORY = re.compile(r"(?!(?:DDR|DRAM|DIMM|SSD|NVMe))[A-Z]{2,4}-\d{2,4}GB(?![A-Za-z0-9]).*")
"""An accelerator called by letters and its memory: `VR-288GB`."""
_PACKAGING = re.compile(r"\d+GB|SXM\d?|NVL|PCIE|OAM|aarch64", re.IGNORECASE)
_N, _M = r"(?P<n>\d{1,6})", r"(?P<m>\d{1,6})"
_START, _END = r"(?<![A-Za-z0-9.])", r"(?![A-Za-z0-9])"
_WORD = r"([A-Za-z][A-Za-z0-9.]{0,30})"
_CHAIN = r"(?:x\d{1,6}){1,4}"


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Hardware], NameCount | None]], ...] = (
    (
        re.compile(rf"\b(?:tpu-(?:v\d+[a-z]*|trillium|ironwood)|v\d+(?:lite)?pod)-{_N}{_END}", re.IGNORECASE),
        partial(_one, "tpu_units"),
    ),
    (re.compile(rf"{_START}ngpus?{_N}{_END}", re.IGNORECASE), partial(_one, "accelerators")),
    (re.compile(rf"{_START}{_N}[\s_-]?GPUs?(?![A-Za-z])", re.IGNORECASE), partial(_one, "accelerators")),
    (
        re.compile(rf"(?<![A-Za-z])GPU\.[A-Za-z0-9]{{2,10}}\.{_N}(?![A-Za-z0-9])"),
        partial(_one, "accelerators_per_node"),
    ),
    (re.compile(rf"{_START}{_N}\s?x\s?{_M}\s?x\s?{_VENDORS}{_WORD}"), _grid_of_parts),
    (re.compile(rf"{_START}{_N}x([A-Za-z][A-Za-z0-9.]{{0,30}}?)(?=({_CHAIN}){_WORD})"), _machine_of_parts),
    (re.compile(rf"(?<=[A-Za-z])(?P<n>{_CHAIN})(?={_WORD})"), _parts_of_machine),
    (re.compile(rf"(?<=[0-9])(?P<n>x\d{{1,6}})(?={_WORD})"), _parts_of_machine),
    (re.compile(rf"{_START}{_N}\s?x[\s-]?(?=({_VENDORS}[^,()]{{0,40}})){_VENDORS}{_WORD}"), _counted),
    (re.compile(rf"([A-Za-z0-9]{{1,20}})x{_N}{_END}", re.IGNORECASE), _behind_part),
    (re.compile(rf"(?<=[\s_-])x{_N}{_END}"), partial(_one, "accelerators")),
    # A host's name has more figures behind: `rack2-n12-05`.
    (re.compile(rf"(?<![A-Za-z0-9])n{_N}{_END}(?!-\d)"), partial(_one, "nodes")),
    (re.compile(rf"(?<=_)N{_N}$"), partial(_one, "nodes")),
    (re.compile(rf"{_START}{_N}[\s_-]?nodes?(?![A-Za-z])", re.IGNORECASE), partial(_one, "nodes")),
    (re.compile(rf"(?<=[\s_-]){_N}N(?=[\s_-]|$)"), partial(_one, "nodes")),
    (re.compile(rf"{_START}{_N}x{_M}(?![A-Za-z0-9.])"), _grid),
)
"""The forms, the more certain first; a number that one has read no other reads again."""
