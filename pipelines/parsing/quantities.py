"""Free-text quantities to typed values: memory sizes and data rates.

One grammar for every figure that a submitter types into a description; what a rate is the rate of belongs in
`networks`, what a figure is worth for a system in `system_descriptions`. Decimal and binary units, and bits and bytes,
are kept apart; what is not certain gives None.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from decimal import Decimal

LONGEST_TEXT = 2_000
"""Characters of a text that are read at all; no published quantity is longer."""

_ABSENT = frozenset({"", "-", "--", "n/a", "na", "none", "null", "tbd", "todo", "unknown"})
_DECIMAL_POWER = {"K": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_BINARY_POWER = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50}
_DIGITS = r"\d{1,12}(?:\.\d{1,20})?"


def plain(text: object) -> str:
    """Return a text, cut to `LONGEST_TEXT` characters, with plain spaces, dashes, times signs and letters."""
    normal = str(text)[:LONGEST_TEXT]
    if not normal.isascii():
        normal = unicodedata.normalize("NFKC", normal).replace("\u00d7", "x")
        normal = re.sub("[\u2010-\u2015\u2212]", "-", normal)
    return " ".join(normal.split())


def is_absent(text: object) -> bool:
    """Say whether a text states nothing: blank, `N/A`, `None`, `-` and their like."""
    return text is None or plain(text).lower() in _ABSENT


def prints_a_quantity(text: object) -> bool:
    """Say whether a text holds a figure with a unit of memory or rate, whether or not it can be read."""
    return re.search(r"\d\s?[KMGTP]i?B(?![a-z])", plain(text), re.IGNORECASE) is not None or bool(find_rates(text))


def _factor(unit: str) -> int:
    """Return what the prefix of a unit multiplies by: `GB` 10^9, `GiB` 2^30."""
    return int(2 ** _BINARY_POWER[unit[0]] if unit[1] == "i" else 10 ** _DECIMAL_POWER[unit[0]])


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory size as printed: `number` of `unit`, `count` times over (`2x 24 GB` is 24 GB, counted twice)."""

    number: Decimal
    unit: str
    """`GB` and its like are powers of ten, `GiB` and its like powers of two."""
    count: int = 1
    is_of_modules: bool = False
    """Whether the count is of modules (`24 x 32GB RDIMM`), which are one memory together."""

    @property
    def size_bytes(self) -> int:
        """Return the size of one, rounded to whole bytes."""
        return int((self.number * _factor(self.unit)).to_integral_value())

    def __str__(self) -> str:
        size = f"{self.number:f} {self.unit}{' DIMM' if self.is_of_modules else ''}"
        return size if self.count == 1 else f"{self.count}x {size}"


_SIZE = re.compile(
    rf"(?:(?P<count>[1-9]\d{{0,4}})\s?[xX]\s?)?(?P<number>\d{{1,3}}(?:,\d{{3}}){{1,3}}|{_DIGITS})\s?"
    r"(?:(?P<typed_twice>T)\sGB|(?P<prefix>[KMGTPkmgtp])(?P<binary>i)?B?)(?![A-Za-z0-9])"
)
_KIND_OF_MEMORY = (
    r"unified|ecc|registered|ram|memory|hbm\d?e?|(?:lp|g)?ddr\d?[a-z]?(?:[\s-]\d{4,5})?"
    r"|\d{3,5}\s?(?:mt/s|mhz)|(?:single|dual|quad|\d)[ -]rank|(?P<modules>(?:r|lr|u|so)?-?dimms?)"
)
_KINDS_OF_MEMORY = re.compile(rf"(?:[\s,(-]+(?:{_KIND_OF_MEMORY})\)?){{0,8}}", re.IGNORECASE)
_MADE_UP_OF = re.compile(r"\s?\((\d{1,4}\s?[xX]\s?[^()]{1,30})\)")


def parse_memory(text: object) -> Memory | None:
    """Read a memory size.

    Args:
        text: A whole field, such as `189471 MiB`, `1.7 TB`, `80G`, `2x 24 GB`, `256 GB DDR4`, `1,536 GB (24x 64GB)` or
            `24 x 32GB RDIMM, 3200MT/s, Dual Rank`.

    Returns:
        The size as printed, or None where the text states no size, several sizes, or more than a size and its kind. A
        letter alone is decimal; `2T GB`, a prefix typed before the unit of the form, is 2 TB; `80 Gb` would be bits and
        is not read. What a size is made up of in brackets must come to it.
    """
    whole = plain(text)
    found = _SIZE.match(whole)
    if found is None:
        return None
    prefix = (found["prefix"] or found["typed_twice"]).upper()
    unit = f"{prefix}{found['binary'] or ''}B"
    memory = Memory(Decimal(found["number"].replace(",", "")), unit, int(found["count"] or 1))
    rest = whole[found.end() :]
    made_up = _MADE_UP_OF.search(rest)
    if made_up:
        parts = parse_memory(made_up[1])
        if parts is None or memory.count > 1 or parts.count * parts.size_bytes != memory.size_bytes:
            return None
        rest = rest[: made_up.start()] + rest[made_up.end() :]
    kinds = _KINDS_OF_MEMORY.fullmatch(rest)
    return None if kinds is None else replace(memory, is_of_modules=kinds["modules"] is not None)


@dataclass(frozen=True, slots=True)
class Rate:
    """A data rate as printed: `number` of `unit`, which counts bits (`Gb/s`) or bytes (`GB/s`)."""

    number: Decimal
    unit: str

    @property
    def gigabits_per_second(self) -> float:
        """Return the rate in 10^9 bits per second."""
        return float(self._bits_per_second / 10**9)

    @property
    def gigabytes_per_second(self) -> float:
        """Return the rate in 10^9 bytes per second."""
        return float(self._bits_per_second / (8 * 10**9))

    @property
    def _bits_per_second(self) -> Decimal:
        return self.number * _factor(self.unit) * (8 if "B" in self.unit else 1)

    def __str__(self) -> str:
        return f"{self.number:f} {self.unit}"


# Only the case of the b carries meaning: a small one counts bits, a capital one bytes, unless `Bit` is spelled out.
_RATE = re.compile(
    rf"(?<!\d[.,])(?<![\da-wyzA-WYZ])(?P<number>{_DIGITS})\s?(?:"
    r"(?P<bits>[KMGTkmgt])(?:b|[Bb]its?)(?:(?i:\s?/\s?s(?:ec)?|ps)\b|(?!\w|/(?!\d)))"
    r"|(?P<bytes>[KMGTkmgt]i?)B(?i:ytes?)?(?i:\s?/\s?s(?:ec)?|ps)\b"
    r"|(?P<ethernet>[MGT])(?:[bB]?[eE]\b|(?i:base-\w))"
    r"|(?P<spelled>(?i:giga|mega))(?i:bits?\b)"
    r"|(?P<bare>[MGT])(?=\s(?i:ethernet|infiniband|ib|roce|nic|pcie ethernet)\b))"
)


@dataclass(frozen=True, slots=True)
class PrintedRate:
    """A data rate and where a text prints it."""

    rate: Rate
    start: int
    stop: int


def find_rates(text: object) -> list[Rate]:
    """Return every data rate that a text prints, in order.

    Without a unit of time only what counts bits is a rate (`200Gb Ethernet`, `400GbE`, `100G Ethernet`): `80GB` is not.
    """
    return [printed.rate for printed in printed_rates(plain(text))]


def printed_rates(text: str) -> list[PrintedRate]:
    """Return the data rates of a plain text with their places, in order."""
    return [PrintedRate(_rate(found), found.start(), found.end()) for found in _RATE.finditer(text)]


def parse_rate(text: object) -> Rate | None:
    """Return the one rate that a text is, None where it is anything else."""
    found = _RATE.fullmatch(plain(text))
    return _rate(found) if found else None


def _rate(found: re.Match[str]) -> Rate:
    if found["bytes"]:
        prefix = found["bytes"]
        return Rate(Decimal(found["number"]), f"{prefix[0].upper()}{prefix[1:]}B/s")
    prefix = found["bits"] or found["ethernet"] or found["spelled"] or found["bare"]
    return Rate(Decimal(found["number"]), f"{prefix[0].upper()}b/s")
