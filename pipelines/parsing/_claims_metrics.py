"""What a figure measures, of which scope, in which direction or precision: read from the words around it.

A metric that the words leave open stays open (`bandwidth`, `memory`): who holds the facts decides what it can be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipelines.parsing._claims_exactness import Quantity

_COUNT_METRICS = {
    "GPUs": "accelerators",
    "CPUs": "cpus",
    "racks": "racks",
    "nodes": "nodes",
    "pods": "pods",
    "dies": "dies",
    "KV heads": "kv_heads",
    "attention heads": "attention_heads",
    "layers": "layers",
    "experts": "experts",
    "leaf switches": "leaf_switches",
    "spine switches": "spine_switches",
    "core switches": "core_switches",
    "switch trays": "switch_trays",
    "switch chips": "switch_chips",
    "compute trays": "compute_trays",
    "optical modules": "optical_modules",
    "cables": "cables",
    "switches": "switches",
    "ports": "ports",
    "NICs": "nics",
    "DPUs": "dpus",
    "links": "links",
    "lanes": "lanes",
    "cores": "cores",
    "superchips": "superchips",
    "HBM stacks": "memory_stacks",
    "domains": "domains",
    "systems": "systems",
    "clusters": "clusters",
    "users": "users",
    "tokens": "tokens",
    "parameters": "parameters",
    "transistors": "transistors",
    "submitters": "submitters",
    "steps": "steps",
    "buildings": "buildings",
}
_NETWORK = (
    r"scale[-\s]out|\bNICs?\b|SuperNIC|ConnectX|InfiniBand|Ethernet|network|\bports?\b|Quantum|Spectrum-|optical|transceiver|RDMA|(?-i:\bRoCE)|"
    r"(?-i:\bEFA\b)|OSFP|QSFP|(?-i:\bLPO\b)|between racks|outside it|outside the|inter-?node|"
    r"east-west|switch(?! system)|Mellanox|BlueField"
)
_SCALE_UP = (
    r"NVLink|scale[-\s]up|egress|NVSwitch|Infinity Fabric|xGMI|UALink|(?-i:\bICI\b)|UnifiedBus|NeuronLink|"
    r"interconnect|GPU-to-GPU|"
    r"all-to-all|aggregate bandwidth|inside the rack|in-rack|chip-to-chip|bisection|\baggregate\b"
)
_CUES: dict[str, tuple[tuple[str, str], ...]] = {
    "data_rate": (
        ("decompression_bandwidth", r"decompress"),
        ("optical_rate", r"optical modules?|transceivers?|\bOSFP\b|LPO modules?"),
        ("chip_link_bandwidth", r"C2C|NV-HBI|NV-HSI|NVLink-HBI|die-to-die|CPU-GPU|CPU-to-GPU|GPU-CPU|GPU-to-CPU"),
        ("storage_bandwidth", r"storage|\bSSDs?\b|NVMe|checkpoint|file ?system"),
        (
            "memory_bandwidth",
            r"memory bandwidth|HBM\w* bandwidth|bandwidth of (?:the )?HBM|memory delivers|"
            r"HBM\w*(?= (?:at|with|delivers))",
        ),
        ("scale_up_bandwidth", _SCALE_UP),
        ("scale_out_bandwidth", _NETWORK),
        ("memory_bandwidth", r"HBM|memory"),
        ("pcie_bandwidth", r"PCIe"),
    ),
    "memory": (
        (
            "fast_memory",
            r"fast memory|unified (?:GPU )?memory(?! pool)|GPU (?:and|\+|plus) CPU memory|combined (?:GPU|memory)|"
            r"pooled|coherent memory",
        ),
        ("cpu_memory", r"LPDDR|CPU memory|host memory|system memory|\bDDR5"),
        ("storage", r"storage|\bSSDs?\b|NVMe|checkpoint|dataset|disk"),
        ("memory_capacity", r"HBM|GPU memory|memory|VRAM|\bmem(?=Per)"),
    ),
    "ratio": (
        ("rack_ratio", r"(?:fewer|more|less) racks"),
        ("power_ratio", r"\bthe power\b|\bpower of\b|power (?:draw|consumption)"),
        (
            "bandwidth_ratio",
            r"bandwidth|slower per GPU|slower .{0,30}connection|connection .{0,60}slower|"
            r"slower than (?:inside|NVLink|the (?:link|connection))",
        ),
        ("cost_ratio", r"\bTCO\b|\bcosts?\b|cheaper|price"),
        ("energy_ratio", r"energy|power efficien|performance per watt|perf/W"),
        ("memory_ratio", r"memory"),
        (
            "speed_up",
            r"fast|speed|slow|performance|throughput|inference|training|quick|record|efficien|gain|improve|compute|FLOP",
        ),
    ),
    "percent": (
        ("utilisation", r"utili[sz]|\bMFU\b|\bidle\b|occupancy"),
        (
            "scaling_efficiency",
            r"scaling efficiency|strong[-\s]scaling|scaled? .{0,40}efficien|efficien\w+ .{0,40}scal|linear scaling",
        ),
        ("saving", r"sav|reduc|lower|less|fewer|cut|cheaper"),
        ("gain", r"faster|improv|increas|higher|more|boost|gain|speed|better"),
    ),
    "time": (("latency", r"latency|delay|round[-\s]trip|\bTTFT\b|time to first token"),),
    "tokens": (
        ("context_length", r"context|sequence"),
        ("training_tokens", r"train|corpus|dataset|pretrain"),
    ),
}
_COMPILED = {
    dimension: tuple((metric, re.compile(pattern, re.IGNORECASE)) for metric, pattern in cues)
    for dimension, cues in _CUES.items()
}
_DEFAULTS = {
    "data_rate": "bandwidth",
    "memory": "memory",
    "power": "power",
    "energy": "energy",
    "compute": "peak_compute",
    "transfer_rate": "lane_rate",
    "ratio": "ratio",
    "percent": "share",
    "time": "duration",
    "money": "price",
    "frequency": "frequency",
    "bytes_per_token": "kv_bytes_per_token",
}
_PER_COST = re.compile(r"\s?(?:per[-\s]|/\s?)(?:(?P<watt>[kM]?W\b|(?:kilo|mega)?watts?\b)|(?:dollar|USD|\$))", re.I)
_CLAUSE_END = re.compile(r"[;—]|,\s(?=(?:and|but|which|while|with|providing|forming|using)\b)|:\s|\.\s")
_TRAINING = re.compile(
    r"MLPerf|train(?!s?\sof)|pretrain|fine-?tun|benchmark|converge|completed|finish|reached|record|clock(?:ing|ed)|\brun\b|\bround\b",
    re.I,
)
_SCOPES = {
    "accelerator": r"GPUs?|accelerators?|chips?|cards?|NPUs?|TPUs?|XPUs?|packages?|devices?|"
    r"(?:[BH][123]00|GB[23]00)(?!\sNVL|-NVL|\ssystem)",
    "die": r"die|dies",
    "tray": r"(?:compute\s)?trays?|superchips?",
    "node": r"nodes?|servers?|hosts?|boards?|units?",
    "rack": r"racks?|cabinets?|NVL72",
    "pod": r"(?:super|Super)?[pP](?:od|OD)s?|super\s?nodes?|SUs?|scalable\sunits?",
    "link": r"links?",
    "lane": r"lanes?|channels?",
    "port": r"ports?|NICs?",
    "token": r"tokens?",
    "domain": r"(?:NVLink\s)?domains?",
    "fabric": r"fabrics?|networks?",
}
_PER = tuple(
    (
        scope,
        re.compile(
            rf"(?:(?i:\bper)[-\s]|^\s?/\s?|(?i:\beach|\bevery|\bone|\ba\ssingle|\bsame)\s(?:NVLink\s[\d.]*\s?)?|"
            rf"\b(?:in|within|on)\san?\s(?:\w+\s)?)(?:{words})\b(?!-to-)"
        ),
    )
    for scope, words in _SCOPES.items()
)
_SINGLE_CHANNEL = re.compile(r"single[-\s]channel|per[-\s]lane|each lane", re.I)
_PRECISION = re.compile(r"\b(NVFP4|MXFP4|MXFP8|FP4|FP6|FP8|BF16|FP16|TF32|FP32|FP64|INT8|INT4)\b", re.I)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a figure measures."""

    metric: str
    scope: str | None = None
    direction: str | None = None
    """`one` or `both`, of a data rate."""
    density: str | None = None
    """`dense` or `sparse`, of a compute rate."""
    precision: str | None = None
    is_explicit: bool = True
    """Whether words near the figure name the metric."""


def meaning_of(text: str, quantity: Quantity, others: list[Quantity], label: str = "") -> Meaning:
    """Say what a figure measures.

    Args:
        text: The sentence.
        quantity: The figure.
        others: All figures of the sentence; words beyond the next one speak of that.
        label: Heading or column title above, used where the sentence has no cue.
    """
    start, end = _window(text, quantity, others)
    near, clause = text[start:end], text
    metric, is_explicit = _metric(text, quantity, near, clause, label)
    return Meaning(
        metric=metric,
        scope=_scope(text, quantity, start, end),
        direction=_direction(near) if quantity.unit.dimension == "data_rate" else None,
        density=_density(near) if quantity.unit.dimension == "compute" else None,
        precision=_precision(text, quantity, near, label),
        is_explicit=is_explicit,
    )


def _window(text: str, quantity: Quantity, others: list[Quantity]) -> tuple[int, int]:
    apart = [q for q in others if not _restates(text, quantity, q)]
    before = [q.end for q in apart if q.end <= quantity.start]
    after = [q.start for q in apart if q.start >= quantity.end]
    start = max(before, default=0)
    end = min(after, default=len(text))
    cuts = [m.end() for m in _CLAUSE_END.finditer(text, start, quantity.start)]
    start = max(start, cuts[-1] if cuts else start)
    stop = _CLAUSE_END.search(text, quantity.end, end)
    return start, stop.start() if stop else end


_MODEL_WEIGHTS = re.compile(
    r"\bmodel\sin\s(?:FP|BF|INT)\d+\s\($|\bmodel\sin\s(?:FP|BF|INT)\d+\b[^.;]{0,40}|\bweights\b|\bparameters\s(?:need|take|require)",
    re.I,
)


def _restates(text: str, quantity: Quantity, other: Quantity) -> bool:
    """Say whether a figure tells the same in another unit, in brackets or between dashes.

    `1,440 PFLOPS (1.44 EFLOPS)`.
    """
    if quantity.unit.dimension != other.unit.dimension or quantity is other:
        return False
    first, second = sorted((quantity, other), key=lambda q: q.start)
    between = text[first.end : second.start]
    one, two = first.high * first.unit.factor, second.high * second.unit.factor
    return len(between) < 45 and re.search(r"[(-]\s?$", between) is not None and abs(one - two) <= 0.02 * max(one, two)


def _metric(text: str, quantity: Quantity, near: str, clause: str, label: str) -> tuple[str, bool]:
    if quantity.metric:
        return quantity.metric, True
    dimension = quantity.unit.dimension
    if dimension in ("compute", "data_rate", "tokens_rate", "memory") and (per := _PER_COST.match(text, quantity.end)):
        return f"{_DEFAULTS.get(dimension, dimension)}_per_{'watt' if per['watt'] else 'dollar'}", True
    if dimension == "count":
        return _count_metric(text, quantity, near)
    if dimension == "time":
        return _time_metric(text, near, label)
    if dimension == "transfer_rate" and re.search(r"bandwidth", near, re.I):
        return "bandwidth", True
    if dimension == "memory" and _MODEL_WEIGHTS.search(text[max(0, quantity.start - 60) : quantity.end + 30]):
        return "model_memory", True
    if dimension == "compute" and re.search(r"\b(?:sustain\w*|measured|achiev\w+|application)\b", near, re.I):
        return "achieved_compute", True
    for words, is_near in ((near, True), (clause, False), (label, False)):
        best = _nearest_cue(dimension, words, quantity, text if words is not label else "", is_near)
        if best is not None:
            return best, is_near
    return _DEFAULTS.get(dimension, dimension), dimension in (
        "power",
        "compute",
        "energy",
        "transfer_rate",
        "bytes_per_token",
    )


def _nearest_cue(dimension: str, words: str, quantity: Quantity, text: str, is_near: bool) -> str | None:
    """Return the metric whose cue comes first in the table; of a data rate, the one whose cue is nearest."""
    found = [(metric, m) for metric, pattern in _COMPILED.get(dimension, ()) for m in pattern.finditer(words)]
    if not found:
        return None
    if dimension not in ("data_rate", "memory"):
        return found[0][0]
    offset = max(0, text.find(words)) if is_near else 0
    centre = quantity.start - offset
    length = quantity.end - quantity.start

    def distance(match: re.Match[str]) -> int:
        if match.start() >= centre:
            return match.start() - centre - length
        belongs_to_item_before = is_near and "," in words[match.end() : centre]
        return int(1.4 * (centre - match.end())) + 1 + 40 * belongs_to_item_before

    if any(metric in ("chip_link_bandwidth", "decompression_bandwidth", "optical_rate") for metric, _ in found):
        return found[0][0]
    return min(found, key=lambda pair: distance(pair[1]))[0]


def _count_metric(text: str, quantity: Quantity, near: str) -> tuple[str, bool]:
    symbol = quantity.unit.symbol
    if symbol == "tokens":
        for metric, pattern in _COMPILED["tokens"]:
            if pattern.search(near):
                return metric, True
    return _COUNT_METRICS.get(symbol, symbol.replace(" ", "_")), True


def _time_metric(text: str, near: str, label: str) -> tuple[str, bool]:
    for metric, pattern in _COMPILED["time"]:
        if pattern.search(near):
            return metric, True
    if _TRAINING.search(text):
        return "time_to_train", bool(_TRAINING.search(near))
    return ("time_to_train", False) if _TRAINING.search(label) else ("duration", False)


def _scope(text: str, quantity: Quantity, start: int, end: int) -> str | None:
    after, before = text[quantity.end : min(end, quantity.end + 60)], text[start : quantity.start]
    inside = text[quantity.start : quantity.end]
    if quantity.unit.symbol == "GPUs" and (
        found := re.match(r"-?\s?(racks?|nodes?|servers?|domains?|NVLink domain)\b", after)
    ):
        return _scope_of(found[1])
    if _SINGLE_CHANNEL.search(before) or _SINGLE_CHANNEL.search(after):
        return "lane"
    hits = [(m.start(), scope) for scope, pattern in _PER for m in pattern.finditer(after)]
    if hits:
        return min(hits)[1]
    if quantity.scope:
        return quantity.scope
    if quantity.unit.dimension == "count" and (each := _each_of(text, quantity, after, start)) is not None:
        return each
    label = re.match(r"[^:]{2,80}:\s", text)
    told = text[: quantity.start] if label is not None else before
    hits = [(m.start(), scope) for scope, pattern in _PER for m in pattern.finditer(told)]
    if hits:
        return max(hits)[1]
    if re.search(r"\bper[-\s](?:GPU|chip)\b", inside):
        return "accelerator"
    of_racks = rf"\b(?:{_HOLDERS})\b[^.;]{{0,40}}\bwith\s\d+\s(?:\w+\s){{0,2}}\w+\seach\s(?:\w+\s){{0,3}}$"
    is_counted = quantity.unit.symbol == "GPUs" or re.search(of_racks, text[: quantity.start], re.I)
    if not is_counted and re.search(
        r"\b(?:GPUs|chips|accelerators|NPUs),?\seach\s(?:\w+\s){0,3}$", text[: quantity.start]
    ):
        return "accelerator"
    return None


_HOLDERS = r"racks?|cabinets?|nodes?|servers?|trays?|pods?|superpods?|arrays?|clusters?|islands?|domains?"


def _each_of(text: str, quantity: Quantity, after: str, start: int) -> str | None:
    """Return what holds a count that is told of each.

    `39 racks running 64 GPUs each`, `39 racks, each with 64 GPUs`.
    """
    before = text[: quantity.start]
    follows = re.match(r"\s(?:each|apiece)\b", after) is not None
    precedes = re.search(r"(?<!\bin\s)(?<!\bof\s)\beach\s(?:\w+\s){1,2}$", before) is not None
    ends_the_figure_before = re.match(r"\s?each\b", text[start:]) and not re.search(
        rf"(?:{_HOLDERS})$", text[:start], re.I
    )
    precedes = precedes and not ends_the_figure_before
    if not (follows or precedes):
        return None
    holders = list(re.finditer(rf"\b({_HOLDERS})\b", before, re.I))
    if not holders:
        return None
    return _scope_of(holders[-1][1].lower()) or "other"


def _scope_of(word: str) -> str | None:
    for scope, words in _SCOPES.items():
        if re.fullmatch(words, word):
            return scope
    return None


def _direction(near: str) -> str | None:
    if re.search(r"bi-?directional|both directions|full[-\s]duplex|total bandwidth", near, re.I):
        return "both"
    if re.search(
        r"uni-?directional|per direction|each (?:way|direction)|one[-\s]way|\begress\b|\bingress\b", near, re.I
    ):
        return "one"
    return None


def _density(near: str) -> str | None:
    if re.search(r"with(?:out)? sparsity|\bspars", near, re.I):
        return "dense" if re.search(r"without sparsity|non-?sparse", near, re.I) else "sparse"
    return "dense" if re.search(r"\bdense\b", near, re.I) else None


def _precision(text: str, quantity: Quantity, near: str, label: str) -> str | None:
    told = re.match(r"[^:]{2,80}:\s", text)
    for words in (text[quantity.start : quantity.end + 24], near, told[0] if told else "", label):
        found = _PRECISION.search(words)
        if found is not None:
            word = found[1].upper()
            return {"NVFP4": "FP4", "MXFP4": "FP4", "MXFP8": "FP8"}.get(word, word)
    return None
