"""Units and counted things, as articles write them; the one place where a claim's unit is named and converted.

A unit has a dimension and a factor to the canonical unit of that dimension. What the figure measures is decided
elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CANONICAL = {
    "data_rate": "GB/s",
    "memory": "GB",
    "power": "kW",
    "energy": "kWh",
    "compute": "TFLOPS",
    "transfer_rate": "GT/s",
    "time": "min",
    "ratio": "x",
    "percent": "%",
    "frequency": "GHz",
    "money": "$",
}
"""Canonical unit of each dimension that has one."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measure or a counted thing."""

    symbol: str
    """As shown: `GB/s`, `minutes` is `min`, a counted thing is its plural."""
    dimension: str
    """Key of `CANONICAL`, `count`, or the name of something that is only read."""
    factor: float = 1.0
    """What one is in the canonical unit."""

    @property
    def is_bits(self) -> bool:
        """Say whether a data rate counts bits."""
        return self.dimension == "data_rate" and "b" in self.symbol


_SI = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21}
_WORDS = {"kilo": "k", "mega": "M", "giga": "G", "tera": "T", "peta": "P", "exa": "E", "zetta": "Z"}
_PREFIX = r"(?P<prefix>[kKMGTPEZ]|(?i:kilo|mega|giga|tera|peta|exa|zetta)-?\s?)"
_PER_SECOND = r"(?:/s(?:ec(?:ond)?)?\b|ps\b|\s?(?i:per|a)\s(?i:second|sec)\b)"

_MEASURES: tuple[tuple[str, str], ...] = (
    ("bytes_rate", rf"{_PREFIX}(?P<binary>i)?(?:B|(?i:bytes?)){_PER_SECOND}"),
    ("bits_rate", rf"{_PREFIX}(?:b|(?i:bits?)){_PER_SECOND}|(?P<ethernet>[GT])b?E\b"),
    (
        "compute",
        r"(?P<prefix>[MGTPEZ]|(?i:mega|giga|tera|peta|exa|zetta)-?\s?)?(?i:flop/s|flops)\b|(?P<short>[TPE])F\b",
    ),
    ("tops", r"(?P<prefix>[TPE])OPS\b"),
    ("transfer_rate", r"GT/s|(?i:gigatransfers\sper\ssecond)"),
    ("bytes_per_token", r"(?i:(?:(?P<kilo>K)B|bytes?)(?:\s(?:per|/\s?)\s?token|/token))"),
    ("memory", rf"{_PREFIX}(?P<binary>i)?(?:B(?:ytes?)?|bytes?)(?![\w/])|(?i:bytes)\b"),
    ("memory_bits", rf"{_PREFIX}(?:b|(?i:bits?))(?![\w/])"),
    ("energy", rf"{_PREFIX}(?:Wh\b|(?i:watt)[-\s]?(?i:hours?))|(?P<joule>[kMG])?J\b|(?i:joules)\b"),
    ("power", rf"{_PREFIX}?(?:W(?![\w/])|(?i:watts?)\b)"),
    ("frequency", r"(?P<prefix>[kMGT])[Hh]z\b"),
    ("money", r"(?:dollars|USD|EUR|euros)\b"),
    ("percent", r"%|(?i:per\s?cent)\b"),
    ("hours", r"(?i:hours?|hrs?|h)\b(?!\d)"),
    ("minutes", r"(?i:minutes?|mins?)\b"),
    ("days", r"(?i:days?)\b"),
    ("weeks", r"(?i:weeks?)\b"),
    ("months", r"(?i:months?)\b"),
    ("years", r"(?i:years?)\b"),
    ("milliseconds", r"(?:ms\b|(?i:milli-?seconds?)\b)"),
    ("microseconds", r"(?:us\b|(?i:micro-?seconds?)\b)"),
    ("nanoseconds", r"(?:ns\b|(?i:nano-?seconds?)\b)"),
    ("seconds", r"(?:s\b(?!-)|(?i:sec(?:ond)?s?)\b)"),
    ("nanometres", r"(?:nm\b|(?i:nanomet(?:er|re)s?)\b)"),
    ("length", r"(?:mm\b|cm\b|km\b|(?i:miles?|met(?:er|re)s?|feet|ft)\b)"),
    ("area", r"(?:mm\^?2\b|(?i:square\s(?:feet|met(?:er|re)s))\b)"),
    ("mass", r"(?:kg\b|(?i:lbs?|pounds?|tonnes?|(?:metric\s)?tons?)\b|t\b)"),
    ("temperature", r"°\s?[CF]\b"),
    ("rack_units", r"(?:U|RU)\b"),
    ("tokens_rate", r"(?i:tokens(?:\sper\s|/)s(?:ec(?:ond)?)?\b)"),
)
_MEASURE = {name: re.compile(pattern) for name, pattern in _MEASURES}

_MINUTES = {
    "hours": 60.0,
    "minutes": 1.0,
    "days": 1440.0,
    "weeks": 10_080.0,
    "months": 43_830.0,
    "years": 525_960.0,
    "milliseconds": 1 / 60_000,
    "microseconds": 1 / 6e7,
    "nanoseconds": 1 / 6e10,
    "seconds": 1 / 60,
}
_TIME_SYMBOLS = {
    "hours": "h",
    "minutes": "min",
    "days": "days",
    "weeks": "weeks",
    "months": "months",
    "years": "years",
    "milliseconds": "ms",
    "microseconds": "us",
    "nanoseconds": "ns",
    "seconds": "s",
}
_READ_ONLY = {
    "nanometres": ("nm", "length"),
    "length": ("length", "length"),
    "area": ("area", "area"),
    "mass": ("mass", "mass"),
    "temperature": ("°", "temperature"),
    "rack_units": ("U", "rack_units"),
    "tokens_rate": ("tokens/s", "tokens_rate"),
}

_COUNTED: tuple[tuple[str, str], ...] = (
    ("KV heads", r"(?:KV|key-value)\sheads"),
    ("attention heads", r"(?:attention|query)\sheads"),
    ("layers", r"(?:transformer\s|decoder\s)?layers"),
    ("experts", r"(?:routed\s|active\s)?experts"),
    ("leaf switches", r"(?:leaf|leaves)(?:[-\s]switch(?:es)?)?|ToR\sswitches"),
    ("spine switches", r"spines?(?:[-\s]switch(?:es)?)?"),
    ("core switches", r"core[-\s]switches"),
    ("switch trays", r"(?:NVLink\s|NV)?[Ss]witch\strays?"),
    ("switch chips", r"(?:NVLink\s|NV)?[Ss]witch\s(?:chips?|ASICs?)"),
    ("compute trays", r"(?:compute\s)?trays?|compute\sblades"),
    (
        "optical modules",
        r"(?:(?:SiPh|LPO|OSFP|QSFP\w*|DR4|optical)\s)*(?:optical\smodules?|transceivers?|optics)|LPO\smodules?",
    ),
    ("cables", r"cables?"),
    ("switches", r"switch(?:es)?"),
    ("HBM stacks", r"(?:HBM\w*\s)?stacks"),
    ("dies", r"(?:compute\s|GPU\s|reticle-limited\s)*(?:dies|chiplets|XCDs)"),
    ("ports", r"ports?"),
    ("NICs", r"(?:Super)?NICs?|network\s(?:adapters?|cards?)"),
    ("DPUs", r"DPUs?"),
    ("links", r"(?:NVLink\s)?links?"),
    ("lanes", r"lanes?"),
    ("cores", r"(?:CPU\s|Arm\s|Tensor\s|Neoverse\s(?:V2\s)?)*cores?"),
    ("CPUs", r"(?:CPU\s(?:chips|packages|sockets)|CPUs?|host\sprocessors)"),
    ("superchips", r"[Ss]uper[-\s]?chips?"),
    (
        "GPUs",
        r"(?:AI\s|NVIDIA\s)*(?:GPUs?|accelerators?|chips?|NPUs?|TPUs?|XPUs?|GPU\spackages|AI\sprocessors?|"
        r"(?:accelerator\s|GPU\s)?cards?)(?:-?level)?",
    ),
    ("racks", r"(?:rack(?:s|-scale\ssystems?)?|cabinets?)"),
    ("pods", r"(?:(?:super)?pods?|super\s?nodes?|scalable\sunits?|SUs?)"),
    ("nodes", r"(?:nodes?|servers?|hosts?|machines?|instances?)"),
    ("domains", r"(?:NVLink\s|scale-up\s)*domains?"),
    ("systems", r"systems?"),
    ("clusters", r"clusters?"),
    ("users", r"(?:concurrent\s)?(?:users?|sessions?|requests?)"),
    ("tokens", r"(?:tokens?|context(?:\s(?:window|length))?)"),
    ("parameters", r"param(?:eter)?s?"),
    ("transistors", r"transistors?"),
    ("submitters", r"(?:submitters|submitting\sorgani[sz]ations|organi[sz]ations|participants|partners)"),
    ("steps", r"(?:steps|iterations)"),
    ("buildings", r"buildings"),
)
_COUNTED_PATTERNS = tuple((name, re.compile(rf"(?i:{pattern})(?![\w])")) for name, pattern in _COUNTED)

RATIO_WORDS = re.compile(r"(?:-|\s)?(?:x|×|X)(?![\w×])(?=\s|[,.;:)\"]|$|-)|\s?-?(?i:times|fold)\b(?!\s(?:zone|series))")
"""What makes a number a ratio: `10x`, `ten times`, `2-fold`."""


def measure_at(text: str, place: int) -> tuple[Unit, int] | None:
    """Return the unit of measure that starts at a place, and where it ends; None where there is none."""
    for name, pattern in _MEASURE.items():
        found = pattern.match(text, place)
        if found is not None and found.end() > place:
            return _unit(name, found), found.end()
    return None


def counted_at(text: str, place: int) -> tuple[Unit, int] | None:
    """Return the counted thing that is named at a place, and where its name ends; None where there is none."""
    for name, pattern in _COUNTED_PATTERNS:
        found = pattern.match(text, place)
        if found is not None:
            return Unit(name, "count"), found.end()
    return None


def named_unit(symbol: str) -> Unit | None:
    """Return the unit that is written so in our own tables, such as `GB/s`, `GPUs` or `x`.

    None for an unknown one.
    """
    if symbol in ("x", ":1"):
        return Unit("x", "ratio")
    measure = measure_at(symbol, 0)
    if measure is not None and measure[1] == len(symbol):
        return measure[0]
    counted = counted_at(symbol, 0)
    return counted[0] if counted is not None and counted[1] == len(symbol) else None


def _unit(name: str, found: re.Match[str]) -> Unit:
    groups = found.groupdict()
    letter = _prefix_letter(groups.get("prefix"))
    scale = _SI[letter] if letter else 1.0
    if groups.get("binary"):
        scale = 1024.0 ** {"K": 1, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5}.get(letter, 3)
    infix = "i" if groups.get("binary") else ""
    if name == "bytes_rate":
        return Unit(f"{letter}{infix}B/s", "data_rate", scale / 1e9)
    if name == "bits_rate":
        letter = groups.get("ethernet") or letter
        return Unit(f"{letter}b/s", "data_rate", _SI[letter] / 8e9)
    if name in ("compute", "tops"):
        letter = groups.get("short") or letter
        suffix = "OPS" if name == "tops" else "FLOPS"
        return Unit(f"{letter}{suffix}" if letter else "FLOP/s", "compute", (_SI[letter] if letter else 1.0) / 1e12)
    if name == "memory":
        return Unit(f"{letter}{infix}B", "memory", scale / 1e9)
    if name == "memory_bits":
        return Unit(f"{letter}b", "memory", scale / 8e9)
    if name == "power":
        return Unit(f"{letter}W", "power", scale / 1e3)
    if name == "energy":
        return _energy(found[0], letter, groups.get("joule"))
    if name == "frequency":
        return Unit(f"{letter}Hz", "frequency", scale / 1e9)
    if name == "bytes_per_token":
        kilo = bool(groups.get("kilo"))
        return Unit("KB/token" if kilo else "B/token", "bytes_per_token", 1e3 if kilo else 1.0)
    if name in _MINUTES:
        return Unit(_TIME_SYMBOLS[name], "time", _MINUTES[name])
    if name in _READ_ONLY:
        symbol, dimension = _READ_ONLY[name]
        return Unit(found[0] if dimension in ("length", "mass", "area", "temperature") else symbol, dimension)
    return Unit({"percent": "%", "money": "$", "transfer_rate": "GT/s"}[name], name)


def _energy(printed: str, letter: str, joule: str | None) -> Unit:
    if "h" in printed.lower() and "j" not in printed.lower():
        return Unit(f"{letter}Wh", "energy", _SI[letter] / 1e3)
    return Unit(f"{joule or ''}J", "energy", (_SI[joule] if joule else 1.0) / 3.6e6)


def _prefix_letter(prefix: str | None) -> str:
    if not prefix:
        return ""
    word = prefix.strip(" -")
    return _WORDS.get(word.lower(), word)
