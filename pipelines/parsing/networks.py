"""What a description says of networks: the ports of a node, paths inside it, the interconnect of accelerators.

How a rate is printed belongs in `quantities`; what ports are worth for one accelerator in `system_descriptions`.
Whatever has more than one meaning is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from pipelines.parsing.quantities import Rate, find_rates, is_absent, parse_rate, plain, printed_rates


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

        A label decides. Without labels it is the kind of port that is both the fastest and alone the most numerous, or
        of which several carry more than twice what all others do together, unless the rate of another one cannot be
        told.
        """
        if any(ports.roles for ports in self.ports):
            named = [ports for ports in self.ports if "compute" in ports.roles]
            return named[0] if len(named) == 1 and named[0].rate is not None else None
        rated = [ports for ports in self.ports if ports.rate is not None]
        if not rated or any(ports.may_be_faster for ports in self.ports):
            return None
        best = max(rated, key=lambda ports: (ports.rate.gigabits_per_second if ports.rate else 0.0, _number(ports)))
        rivals = [ports for ports in rated if ports is not best]
        if any(_number(ports) >= _number(best) for ports in rivals):
            carries_most = _carried(best) > 2 * sum(_carried(ports) for ports in rivals)
            return best if carries_most and _number(best) >= _FEWEST_RAILS else None
        return best


_FEWEST_RAILS = 4
"""Ports of one kind from which on they are taken for those of the accelerators by what they carry alone."""


def _carried(ports: Ports) -> float:
    return _number(ports) * ports.rate.gigabits_per_second if ports.rate else 0.0


def _number(ports: Ports) -> int:
    return ports.count or 1


_ROLE_NAMES = "storage|compute|management|mgmt"
_ROLES = re.compile(rf"(?P<roles>(?:{_ROLE_NAMES})(?:\s?[&+/]\s?(?:{_ROLE_NAMES}))*)\s?:\s?", re.IGNORECASE)
_DIRECTION = re.compile(r"\bfor (?:(?P<compute>EW|east-west)|NS|north-south)\b", re.IGNORECASE)
"""Traffic between the accelerators of a cluster is called east-west, traffic in and out of it north-south."""
_PER_NODE = re.compile(r"(?:for )?(?:each|every|per) [\w -]*(?:node|server)\s?:\s?", re.IGNORECASE)
_PATH = re.compile(r"\b((?:GPU|CPU|PCIe|NIC)-(?:GPU|CPU|PCIe|NIC))(?:\s?:|\sis\b)", re.IGNORECASE)
_COUNT = re.compile(r"(\d{1,4})\s?x\s?", re.IGNORECASE)
_COUNT_AT_END = re.compile(r"(?<!\d)(\d{1,2})\s?x\s?$", re.IGNORECASE)
_COUNT_ALONE = re.compile(r"([1-9])\s")
_COUNTED_BARE = re.compile(r"(\d{1,4})\s?x\s?(\d{1,4})G", re.IGNORECASE)
_MEDIUM = r"(?:\s?(?:ethernet|infiniband|ib|roce(?:v2)?|omni-path|edr|hdr|ndr|xdr)\b)"
_COUNT_BEHIND = re.compile(rf"{_MEDIUM}*\s?x\s?(\d{{1,4}})", re.IGNORECASE)
_PORTS_OF_ADAPTER = re.compile(r"\b(?:(\d)|(dual)|(quad))[- ]ports?\b", re.IGNORECASE)
_RATE_ALONE = re.compile(rf"(?P<ports>(?:\d|single|dual|quad)[- ]ports?\s)?(?:{_MEDIUM}\s)*", re.IGNORECASE)
_MEDIUM_ONLY = re.compile(rf"{_MEDIUM}*", re.IGNORECASE)
_ALTERNATIVES = re.compile(r"\b(?:or|max|up to)\b", re.IGNORECASE)
_OTHER_RATE_BEFORE = re.compile(r"(?<![A-Za-z\d])(\d{1,4})\s?/\s?$")
_INFINIBAND_RATE = re.compile(r"\b(?:HDR|NDR|XDR|GDR)[\s-]?(100|200|400|800|1600)(?!\d)", re.IGNORECASE)
_BREAK = re.compile(r"([;,]\s?|\s\+\s|\sand\s(?=\d{1,4}\s?x))(?![^()]*\))", re.IGNORECASE)
"""What parts a text; a list in brackets belongs to what stands before it."""
_IN_BRACKETS = re.compile(r"\([^()]*\)")


def parse_network(text: object) -> Network:
    """Read a networking text part by part.

    Args:
        text: A whole field, such as `8x ConnectX-7 IB NDR 400Gb/s + 200Gb/s Ethernet NIC`, `200Gb/s x 8` or
            `2x ConnectX-6, 100Gb/s Ethernet`.

    Returns:
        Every kind of port and every data path that the text names, in order; those without a rate are kept.
    """
    ports, paths = [], []
    for part in [] if is_absent(text) else _parts(plain(text)):
        path = _PATH.search(part)
        if path:
            paths.append(DataPath(path[1], next(iter(find_rates(part)), None)))
        elif part:
            ports.append(_ports(part))
    return Network(tuple(ports), tuple(paths))


def _parts(text: str) -> Iterator[str]:
    """Give the parts of a text; the rate alone behind a counted product and a comma belongs to the product."""
    part, *others = _BREAK.split(text)
    for separator, following in zip(others[::2], others[1::2], strict=True):
        if separator.startswith(",") and _is_counted_without_rate(part) and _is_rate_alone(following):
            part = f"{part}, {following}"
        else:
            yield part
            part = following
    yield part


def _is_counted_without_rate(part: str) -> bool:
    return _COUNT.match(_body(part)) is not None and not find_rates(part) and not _INFINIBAND_RATE.search(part)


def _is_rate_alone(part: str) -> bool:
    """Say whether a part is a rate and its medium, or begins like `Single-Port 400 Gb/s`; `200Gb/s NIC` is a device."""
    rates = printed_rates(part)
    before = _RATE_ALONE.fullmatch(part, 0, rates[0].start) if len(rates) == 1 else None
    if before is None:
        return False
    return before["ports"] is not None or _MEDIUM_ONLY.fullmatch(part, rates[0].stop) is not None


def _body(part: str) -> str:
    """Return a part without what it serves and without the node that it is in."""
    label = _ROLES.match(part)
    return _PER_NODE.sub("", part[label.end() :] if label else part, count=1)


def _ports(part: str) -> Ports:
    count, rate = _count_and_rate(_body(part))
    return Ports(part, _roles(part), count, rate)


def _roles(part: str) -> frozenset[str]:
    label, direction = _ROLES.match(part), _DIRECTION.search(part)
    if label:
        named = re.findall(_ROLE_NAMES, label["roles"].lower())
        return frozenset("management" if role == "mgmt" else role for role in named)
    if direction:
        return frozenset({"compute"} if direction["compute"] else {"storage", "management"})
    return frozenset()


def _count_and_rate(body: str) -> tuple[int | None, Rate | None]:
    """Return how many ports there are and the rate of one, None for what is not stated or not certain."""
    bare = _COUNTED_BARE.fullmatch(body)
    if bare:
        return int(bare[1]), Rate(Decimal(bare[2]), "Gb/s")
    counted = _counted(body)
    adapter = body[counted.end() :] if counted else body
    behind = _counted_behind(adapter)
    if behind is not None:
        count, rate = behind
        return (None, None) if counted else (count, rate)
    per_adapter, found = _adapter(adapter)
    if found is None and not _ALTERNATIVES.search(adapter):
        per_adapter, found = _adapter(_IN_BRACKETS.sub("", adapter))
    states_number = counted is not None or per_adapter > 1
    return per_adapter * (int(counted[1]) if counted else 1) if states_number else None, found


def _counted(body: str) -> re.Match[str] | None:
    """Return the count before a product or a rate: `8x ConnectX-7`, `4 100GbE`."""
    starts = {printed.start for printed in printed_rates(body)}
    alone = _COUNT_ALONE.match(body)
    if alone and alone.end() in starts:
        return alone
    return None if 0 in starts else _COUNT.match(body)


def _counted_behind(body: str) -> tuple[int, Rate] | None:
    """Return count and rate of `200Gb/s x 8`; behind a product `x 8` can be the lanes of its slot."""
    rates = printed_rates(body)
    if len(rates) != 1 or rates[0].start != 0:
        return None
    behind = _COUNT_BEHIND.fullmatch(body, rates[0].stop)
    return (int(behind[1]), rates[0].rate) if behind else None


def _adapter(body: str) -> tuple[int, Rate | None]:
    """Return the ports of one adapter and their rate; no rate where what is printed does not come to one total."""
    options = []
    for printed in printed_rates(body):
        before = body[max(0, printed.start - 8) : printed.start]
        counted, other = _COUNT_AT_END.search(before), _OTHER_RATE_BEFORE.search(before)
        options.append((int(counted[1]) if counted else 1, printed.rate))
        options += [(1, Rate(Decimal(other[1]), printed.rate.unit))] if other else []
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
    """What the text counts: links or ports."""


_NVLINK_GIGABYTES_PER_SECOND = {2: (50, 300), 3: (50, 600), 4: (50, 900), 5: (100, 1800), 6: (100, 3600)}
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
        (`aggregated`, `per GPU`), from the figures of the NVLink generation, or from the form: a rate right beside
        a count of ports is that of one port, and a text that is nothing but a rate gives that of an accelerator.
    """
    plain_text = _clause_between_accelerators(plain(text))
    rates = printed_rates(plain_text)
    if len(rates) != 1:
        return None
    behind = _counted_behind(plain_text)
    if behind is not None:
        return Interconnect(behind[1], "link", behind[0])
    rate, before = rates[0].rate, plain_text[: rates[0].start]
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
