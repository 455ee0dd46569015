"""What part a figure plays in its sentence: a claim about which subject, a premise of another, or none.

The subject of a figure is the nearest name that can have such a metric; a sentence without one speaks of what came
before.
"""

from __future__ import annotations

import re

from pipelines.parsing._claims_exactness import Quantity
from pipelines.parsing._claims_focus import HARDWARE, is_aside
from pipelines.parsing._claims_metrics import Meaning
from pipelines.parsing._claims_subjects import Mention


def counted_names(mentions: list[Mention], quantities: list[Quantity]) -> set[Mention]:
    """Return the names that are only the noun of a count: `72 Blackwell GPUs` is not told of Blackwell."""
    return {
        mention
        for mention in mentions
        for quantity in quantities
        if quantity.unit.dimension == "count" and quantity.start <= mention.start and mention.end <= quantity.end
    }


_HELD_AGAINST = re.compile(
    r"\b(?:than|versus|vs\.?|over|compared (?:to|with)|of(?: the)?|relative to|against)\s"
    r"(?:the\s|an?\s|(?:prior|previous)\s|\w+'s\s)*$",
    re.I,
)


def baseline_of(text: str, quantity: Quantity, mentions: list[Mention]) -> Mention | None:
    """Return the name that a ratio or a percentage is told against: `4x the performance of H100`."""
    if quantity.unit.dimension not in ("ratio", "percent"):
        return None
    after = (m for m in mentions if m.start >= quantity.end)
    return next((m for m in after if _HELD_AGAINST.search(text[quantity.end : m.start])), None)


def baselines_of(text: str, quantities: list[Quantity], mentions: list[Mention]) -> set[Mention]:
    """Return the names that ratios of a sentence are told against, unless a figure stands right behind one."""
    found = {baseline_of(text, quantity, mentions) for quantity in quantities}
    has_figure = {m for m in mentions for q in quantities if 0 <= q.start - m.end <= 4}
    return {m for m in found if m is not None and m not in has_figure}


def workload_of(quantity: Quantity, mentions: list[Mention]) -> str | None:
    """Return the model that a figure of a run is told of.

    For a ratio the one right after it, else the nearest before.
    """
    models = [m for m in mentions if m.kind == "model"]
    before = [m for m in models if m.end <= quantity.start]
    after = [m for m in models if m.start >= quantity.end]
    if quantity.unit.dimension in ("ratio", "percent") and after and after[0].start - quantity.end < 60:
        return after[0].name
    return before[-1].name if before else (after[0].name if after else None)


def parts_of(text: str, quantity: Quantity, quantities: list[Quantity], mentions: list[Mention]) -> list[str]:
    """Return the parts and products that the run of a figure is on.

    A part that is the noun of a count belongs to that count: of several counts, the one nearest to the figure.
    """
    counts = [q for q in quantities if q.unit.symbol in ("GPUs", "racks", "nodes") and q.form != "change"]
    nearest = min(counts, key=lambda q: abs(q.start - quantity.start), default=None)
    hardware = [m for m in mentions if m.kind in HARDWARE and not is_aside(text, m, quantity)]
    inside = {q.start: [m for m in hardware if q.start <= m.start and m.end <= q.end] for q in counts}
    if nearest is not None and inside[nearest.start]:
        return [m.name for m in inside[nearest.start]]
    taken = {m for names in inside.values() for m in names}
    return [m.name for m in hardware if m not in taken]


def quoted_out(text: str, quantity: Quantity) -> bool:
    """Say whether an amount is only a phrase: in quotation marks, or `a few` of something counted."""
    if quantity.form == "vague" and quantity.unit.dimension == "count" and quantity.high <= 9:
        return True
    if quantity.unit.dimension in ("rack_units", "length", "area"):
        return True
    is_loose = quantity.form == "vague" or quantity.unit.symbol in ("weeks", "months", "years")
    return is_loose and text.count('"', 0, quantity.start) % 2 == 1 and '"' in text[quantity.end :]


def is_premise(
    text: str, quantity: Quantity, meaning: Meaning, quantities: list[Quantity], meanings: list[Meaning]
) -> bool:
    """Say whether a figure only states what another is told of.

    The GPUs that a power is for, the layers behind a cache size.
    """
    if quantity.form == "change" and meaning.metric == "accelerators":
        return True
    before = text[max(0, quantity.start - 24) : quantity.start]
    metrics = {other.metric for other in meanings}
    if meaning.metric in ("layers", "kv_heads", "head_dimension") and "kv_bytes_per_token" in metrics:
        return text.count("(", 0, quantity.start) > text.count(")", 0, quantity.start)
    if meaning.metric in ("accelerators", "nodes") and "power" in metrics:
        power = min(
            (q for q, m in zip(quantities, meanings, strict=True) if m.metric == "power"),
            key=lambda q: abs(q.start - quantity.start),
        )
        is_near = abs(power.start - quantity.end) < 60 or abs(quantity.start - power.end) < 30
        return (
            is_near
            and re.search(
                r"\b(?:with|of|for|per|to\spower|powering)\s(?:about\s|around\s|over\s|some\s)?~?$", before, re.I
            )
            is not None
        )
    return False


def is_hypothetical(text: str, quantity: Quantity) -> bool:
    """Say whether the sentence tells what would be: an equivalent, an assumption, an extrapolation."""
    words = r"\bassum\w+|\bequivalent\b|\bhypothetical|\bextrapolat\w+|\bsuppose\b|\bif\s(?:we|you|it)\b"
    words += r"|\bwould\s(?:need|take|require|have)"
    return re.search(words, text, re.I) is not None


def is_typical(text: str, quantity: Quantity) -> bool:
    """Say whether a figure is told of the usual case only."""
    return (
        re.search(
            r"\b(?:typical(?:ly)?|usual(?:ly)?|commonly|often|most|average|standard)\b",
            text[max(0, quantity.start - 70) : quantity.end],
            re.I,
        )
        is not None
    )


def is_universal(text: str, quantity: Quantity) -> bool:
    """Say whether a figure is told of each and every one."""
    return (
        re.search(r"\b(?:each|every|all|always|any)\b", text[max(0, quantity.start - 60) : quantity.end + 20], re.I)
        is not None
    )


_EXERCISE = re.compile(
    r"\b(?:try\sit|exercises?|practice|homework|quiz|check\syourself|problem\sset|your\sturn)\b", re.I
)
_PROPERTIES = frozenset(
    [
        "memory_capacity",
        "memory",
        "memory_bandwidth",
        "peak_compute",
        "layers",
        "kv_heads",
        "head_dimension",
        "hidden_size",
        "attention_heads",
        "experts",
    ]
)


def is_exercise(headings: tuple[str, ...], meaning: Meaning, subject: Mention | None) -> str | None:
    """Return why a figure of an exercise is no claim; properties of a named part or model are."""
    if not any(_EXERCISE.search(heading) for heading in headings[-1:]):
        return None
    if meaning.metric in _PROPERTIES and subject is not None:
        return None
    return "input of an exercise"
