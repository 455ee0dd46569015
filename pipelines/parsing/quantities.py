"""Free-text quantities to typed values: memory, network ports, the interconnect of accelerators.

One grammar for every figure that a submitter types into a description; what a figure is worth for a system belongs in
`system_descriptions`. Decimal and binary units, and bits and bytes, are kept apart; what is not certain gives None.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal

LONGEST_TEXT = 2_000
"""Characters of a text that are read at all; no published quantity is longer."""

_ABSENT = frozenset({"", "-", "--", "n/a", "na", "none", "null", "tbd", "todo", "unknown"})
_DECIMAL_POWER = {"K": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_BINARY_POWER = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50}
_DIGITS = r"\d{1,12}(?:\.\d{1,20})?"


def plain(text: object) -> str:
    """Return a text, cut to `LONGEST_TEXT` characters, with plain spaces, dashes, times signs and letters."""
    normal = unicodedata.normalize("NFKC", str(text)[:LONGEST_TEXT]).replace("\u00d7", "x")
    return " ".join(re.sub("[\u2010-\u2015\u2212]", "-", normal).split())


def is_absent(text: object) -> bool:
    """Say whether a text states nothing: blank, `N/A`, `None`, `-` and their like."""
    return text is None or plain(text).lower() in _ABSENT


def prints_a_quantity(text: object) -> bool:
    """Say whether a text holds a figure with a unit of memory or rate, whether or not it can be read."""
    return re.search(r"\d\s?[KMGTP]i?B(?![a-z])", plain(text), re.IGNORECASE) is not None


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

    @property
    def size_bytes(self) -> int:
        """Return the size of one, rounded to whole bytes."""
        return int((self.number * _factor(self.unit)).to_integral_value())

    def __str__(self) -> str:
        size = f"{self.number:f} {self.unit}"
        return size if self.count == 1 else f"{self.count}x {size}"


_MEMORY = re.compile(
    rf"(?:(?P<count>[1-9]\d{{0,4}})\s?[xX]\s?)?(?P<number>{_DIGITS})\s?"
    r"(?:(?P<typed_twice>T)\sGB|(?P<prefix>[KMGTPkmgtp])(?P<binary>i)?B?)"
    r"(?:\s(?i:unified|ecc))?(?:\s(?i:(?:LP|G)?DDR\d[A-Z]?|HBM\d?e?|RAM|memory)){0,2}"
)


def parse_memory(text: object) -> Memory | None:
    """Read a memory size.

    Args:
        text: A whole field, such as `189471 MiB`, `1.7 TB`, `80G`, `2x 24 GB` or `256 GB DDR4`.

    Returns:
        The size as printed, or None where the text states no size, several sizes, or more than a size. A letter alone
        is decimal; `2T GB`, a prefix typed before the unit of the form, is 2 TB; `80 Gb` would be bits and is not read.
    """
    found = _MEMORY.fullmatch(plain(text))
    if found is None:
        return None
    prefix = (found["prefix"] or found["typed_twice"]).upper()
    return Memory(Decimal(found["number"]), f"{prefix}{found['binary'] or ''}B", int(found["count"] or 1))


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
    r"(?P<bits>[KMGTkmgt])(?:b|[Bb]its?)(?:(?i:/s(?:ec)?|ps)\b|(?!\w|/(?!\d)))"
    r"|(?P<bytes>[KMGTkmgt]i?)B(?i:ytes?)?(?i:/s(?:ec)?|ps)\b"
    r"|(?P<ethernet>[MGT])(?:[bB]?[eE]\b|(?i:base-\w))"
    r"|(?P<spelled>(?i:giga|mega))(?i:bits?\b)"
    r"|(?P<bare>[MGT])(?=\s(?i:ethernet|infiniband|ib|roce|nic|pcie ethernet)\b))"
)
_INFINIBAND_RATE = re.compile(r"\b(?:HDR|NDR|XDR|GDR)\s?(100|200|400|800|1600)(?!\d)", re.IGNORECASE)


def find_rates(text: object) -> list[Rate]:
    """Return every data rate that a text prints, in order.

    Without a unit of time only what counts bits is a rate (`200Gb Ethernet`, `400GbE`, `100G Ethernet`): `80GB` is not.
    """
    return [_rate(found) for found in _RATE.finditer(plain(text))]


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


@dataclass(frozen=True, slots=True)
class Ports:
    """One kind of network port that a description names."""

    text: str
    roles: frozenset[str]
    """What a label says that it serves: compute, storage, management; empty without a label."""
    count: int | None
    """Ports, None where the text gives no number."""
    rate: Rate | None
    """Rate of one port, None where none is printed or several that differ."""

    @property
    def may_be_faster(self) -> bool:
        """Say whether these are ports whose rate cannot be told."""
        return self.rate is None and (self.count is not None or bool(find_rates(self.text)))


@dataclass(frozen=True, slots=True)
class DataPath:
    """The rate of a path inside a node, such as `PCIe-NIC: 500 GB/s`; not a port."""

    name: str
    rate: Rate | None


@dataclass(frozen=True, slots=True)
class Network:
    """Everything that a networking text names."""

    ports: tuple[Ports, ...] = ()
    data_paths: tuple[DataPath, ...] = ()

    @property
    def compute(self) -> Ports | None:
        """Return the ports for compute traffic with their rate, None where they cannot be told from others.

        A label decides. Without labels it is the kind of port that is both the fastest and alone the most numerous,
        unless the rate of another one cannot be told.
        """
        if any(ports.roles for ports in self.ports):
            named = [ports for ports in self.ports if "compute" in ports.roles]
            return named[0] if len(named) == 1 and named[0].rate is not None else None
        rated = [ports for ports in self.ports if ports.rate is not None]
        if not rated or any(ports.may_be_faster for ports in self.ports):
            return None
        best = max(rated, key=lambda ports: (ports.rate.gigabits_per_second if ports.rate else 0.0, _number(ports)))
        rivals = [ports for ports in rated if ports is not best]
        return None if any(_number(ports) >= _number(best) for ports in rivals) else best


def _number(ports: Ports) -> int:
    return ports.count or 1


_ROLE_NAMES = "storage|compute|management|mgmt"
_ROLES = re.compile(rf"(?P<roles>(?:{_ROLE_NAMES})(?:\s?[&+/]\s?(?:{_ROLE_NAMES}))*)\s?:\s?", re.IGNORECASE)
_PER_NODE = re.compile(r"(?:for )?(?:each|every|per) [\w -]*(?:node|server)\s?:\s?", re.IGNORECASE)
_PATH = re.compile(r"\b((?:GPU|CPU|PCIe|NIC)-(?:GPU|CPU|PCIe|NIC))(?:\s?:|\sis\b)", re.IGNORECASE)
_COUNT = re.compile(r"(\d{1,4})\s?x\s?", re.IGNORECASE)
_COUNT_AT_END = re.compile(r"(?<!\d)(\d{1,2})\s?x\s?$", re.IGNORECASE)
_PORTS_OF_ADAPTER = re.compile(r"\b(?:(\d)|(dual)|(quad))[- ]ports?\b", re.IGNORECASE)
_ALTERNATIVES = re.compile(r"\b(?:or|max|up to)\b", re.IGNORECASE)
_BREAK = re.compile(r"(?:[;,]\s?|\s\+\s)(?![^()]*\))")
"""What parts a text; a list in brackets belongs to what stands before it."""
_IN_BRACKETS = re.compile(r"\([^()]*\)")


def parse_network(text: object) -> Network:
    """Read a networking text part by part.

    Args:
        text: A whole field, such as `8x ConnectX-7 IB NDR 400Gb/s + 200Gb/s Ethernet NIC`.

    Returns:
        Every kind of port and every data path that the text names, in order; those without a rate are kept.
    """
    ports, paths = [], []
    for part in [] if is_absent(text) else _BREAK.split(plain(text)):
        path = _PATH.search(part)
        if path:
            paths.append(DataPath(path[1], next(iter(find_rates(part)), None)))
        elif part:
            ports.append(_ports(part))
    return Network(tuple(ports), tuple(paths))


def _ports(part: str) -> Ports:
    label = _ROLES.match(part)
    roles = re.findall(_ROLE_NAMES, label["roles"].lower()) if label else []
    body = _PER_NODE.sub("", part[label.end() :] if label else part, count=1)
    counted = None if _RATE.match(body) else _COUNT.match(body)
    adapter = body[counted.end() :] if counted else body
    per_adapter, rate = _adapter(adapter)
    if rate is None and not _ALTERNATIVES.search(adapter):
        per_adapter, rate = _adapter(_IN_BRACKETS.sub("", adapter))
    states_number = counted is not None or per_adapter > 1
    count = per_adapter * (int(counted[1]) if counted else 1) if states_number else None
    return Ports(part, frozenset("management" if role == "mgmt" else role for role in roles), count, rate)


def _adapter(body: str) -> tuple[int, Rate | None]:
    """Return the ports of one adapter and their rate; no rate where what is printed does not come to one total."""
    options = []
    for found in _RATE.finditer(body):
        counted = _COUNT_AT_END.search(body[max(0, found.start() - 6) : found.start()])
        options.append((int(counted[1]) if counted else 1, _rate(found)))
    options += [(1, Rate(Decimal(digits), "Gb/s")) for digits in _INFINIBAND_RATE.findall(body)]
    totals = {multiplier * rate.gigabits_per_second for multiplier, rate in options}
    if len(totals) != 1 or 0.0 in totals or _ALTERNATIVES.search(body):
        return 1, None
    multiplier, rate = min(options, key=lambda option: option[0])
    named = _PORTS_OF_ADAPTER.search(body)
    if named and multiplier == 1:
        multiplier = max(1, int(named[1] or (2 if named[2] else 4)))
    return multiplier, rate


@dataclass(frozen=True, slots=True)
class Interconnect:
    """A rate between accelerators, and of what it is the rate."""

    rate: Rate
    scope: str | None
    """accelerator, link or aggregate; None where the text does not say."""
    link_count: int | None = None
    """What the text counts before the rate: links or ports."""


_NVLINK_GIGABYTES_PER_SECOND = {2: (50, 300), 3: (50, 600), 4: (50, 900), 5: (100, 1800)}
"""One link and one accelerator, both directions, by NVLink generation (https://www.nvidia.com/en-us/data-center/nvlink/)."""
_BETWEEN_ACCELERATORS = re.compile(r"\bnvlink|\bxgmi|\binfinity fabric", re.IGNORECASE)
_GENERATION = re.compile(r"\bgen\.?\s?(\d)\b|\b(\d)(?:st|nd|rd|th)[- ]gen|\bnvlink\s?v?(\d)\b", re.IGNORECASE)


def parse_interconnect(text: object) -> Interconnect | None:
    """Read an accelerator interconnect.

    Args:
        text: A whole field, such as `NVLINK Gen5 1800 GB/s + NVSWITCH Gen5` or `24x 100Gb/s Ethernet`.

    Returns:
        The one rate that is printed with its scope, or None where none or several are; of clauses that describe
        several networks the one that names a link between accelerators counts. The scope follows from words
        (`aggregated`, `per GPU`), from the figures of the NVLink generation, or from the form: a rate right after
        counted ports is that of one port, and a text that is nothing but a rate gives that of an accelerator.
    """
    plain_text = _clause_between_accelerators(plain(text))
    rates = list(_RATE.finditer(plain_text))
    if len(rates) != 1:
        return None
    rate, before = _rate(rates[0]), plain_text[: rates[0].start()]
    counted = _COUNT.match(before)
    count = int(counted[1]) if counted else None
    return Interconnect(rate, _scope(plain_text, before, rate, is_counted=counted is not None), count)


def _clause_between_accelerators(text: str) -> str:
    """Return the one clause that names a link between accelerators, the whole text where none or several do."""
    named = [clause for clause in re.split(r";\s?", text) if _BETWEEN_ACCELERATORS.search(clause)]
    return named[0] if len(named) == 1 else text


def _scope(text: str, before: str, rate: Rate, *, is_counted: bool) -> str | None:
    lower = text.lower()
    if re.search(r"\baggregat|\btotal\b|\bbisection", lower):
        return "aggregate"
    if re.search(r"(?:\bper |/\s?)(?:gpu|accelerator|chip|card)\b", lower):
        return "accelerator"
    if re.search(r"(?:\bper |/\s?)(?:link|port|lane)\b", lower):
        return "link"
    if "nvlink" in lower or "nvswitch" in lower:
        return _nvlink_scope(_GENERATION.search(before), rate.gigabytes_per_second)
    if is_counted and not re.search("[,;+]", before):
        return "link"
    return "accelerator" if parse_rate(text) else None


def _nvlink_scope(generation: re.Match[str] | None, gigabytes_per_second: float) -> str | None:
    numbers = _NVLINK_GIGABYTES_PER_SECOND if generation is None else [int(next(filter(None, generation.groups())))]
    known = [_NVLINK_GIGABYTES_PER_SECOND[number] for number in numbers if number in _NVLINK_GIGABYTES_PER_SECOND]
    if any(gigabytes_per_second == accelerator for _, accelerator in known):
        return "accelerator"
    if any(gigabytes_per_second in (link, link / 2) for link, _ in known):
        return "link"
    if len(known) == 1 and gigabytes_per_second > known[0][1] and gigabytes_per_second % known[0][1] == 0:
        return "aggregate"
    return None
