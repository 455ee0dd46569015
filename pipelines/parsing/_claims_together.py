"""Which figures are told of several products together: `eight racks of GB200 NVL72 hold 576 GPUs`.

Read from the form of words alone; what the products hold is known elsewhere.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from pipelines.parsing._claims_exactness import Quantity
from pipelines.parsing._claims_metrics import Meaning

PRODUCT_COUNTS = frozenset({"racks", "nodes", "pods", "superchips", "compute trays"})
"""Counted things that hold others."""

_MEASURED = frozenset({"power", "memory", "compute", "data_rate", "energy"})

_CLAUSE = re.compile(r"[;:—]|\.\s|\b(?:while|whereas|which|whose|but)\b", re.I)
_OF_ONE = re.compile(r"\b(?:each|every|per|apiece|any|one\sof|an?\ssingle)\b", re.I)
_OF_ONE_AFTER = re.compile(r"\s?(?:,\s)?(?:each|apiece|per|a\s(?:rack|node|server|piece)|in\s(?:each|every)|/)", re.I)
_LEFT_OVER = re.compile(r"^\s?(?:\(?\w+\)?\s){0,3}?(?:in\s)?(?:each|apiece|per\s\w+)\b,?", re.I)
_VERB = (
    r"\b(?:holds?|held|contain\w*|ha(?:s|ve|d)|hous\w+|pack\w*|giv\w+|gave|mak\w+|provid\w+|deliver\w*|offer\w*|draws?|drew|consum\w+|"
    r"us(?:es?|ed|ing)|needs?|needed|requir\w+|takes?|took|reach\w*|total\w*|combin\w+|compris\w+|includ\w+|add\w*\sup\sto|sum\w*\s(?:up\s)?to|"
    r"amount\w*\sto|come\sto|comes\sto|cost\w*|burn\w*|pull\w*|dissipat\w+|form\w*|is|are|was|were|mean\w*|yield\w*|carr\w+|suppl\w+|"
    r"host\w*|integrat\w+|links?|connect\w*|join\w*|shar\w+|pool\w*|run\s(?:at|on)|bring\w*|equals?)\b|="
)
_HELD = re.compile(_VERB, re.I)
_BESIDE = re.compile(r"\bwith\b|\($|^,\s$", re.I)
_HELD_IN = re.compile(
    r"\b(?:in|across|over|spanning|using|from|into|among|inside|within|by|fill\w*|occup\w+|of)\s(?:about\s|some\s|all\s|the\s|its\s|just\s|only\s)*~?$",
    re.I,
)


def together(
    text: str, quantity: Quantity, held_in: Quantity, quantities: list[Quantity]
) -> Literal["yes", "maybe", "no"]:
    """Say whether a figure is told of counted products together, not of one of them; `with 64 GPUs` leaves it open.

    Args:
        text: The sentence.
        quantity: The figure: 576 in `eight racks hold 576 GPUs` and in `576 GPUs in eight racks`.
        held_in: The count of products: eight racks.
        quantities: All figures of the sentence.
    """
    if held_in.unit.symbol not in PRODUCT_COUNTS or held_in.form != "single" or _OF_ONE_AFTER.match(text, quantity.end):
        return "no"
    first, second = sorted((quantity, held_in), key=lambda q: q.start)
    whole = text[first.end : second.start]
    last = max((q.end for q in quantities if first.end <= q.start and q.end <= second.start), default=None)
    near = whole if last is None else _LEFT_OVER.sub(" ", text[last : second.start])
    if _CLAUSE.search(whole) or _OF_ONE.search(near):
        return "no"
    if first is not held_in:
        return "yes" if last is None and _HELD_IN.search(whole) else "no"
    if _HELD.search(whole):
        return "yes"
    return "maybe" if _BESIDE.search(whole) else "no"


_CONSUMES = re.compile(
    rf"(?:\s\([^)]*\))?(?:\sof\s(?:[\w.-]+\s?){{1,4}}?)?,?\s(?:together\s|alone\s|in\stotal\s|would\s|will\s|can\s|could\s|must\s|"
    rf"may\s|\w+ly\s)*(?:{_VERB})\s(?:\w+\s){{0,3}}~?",
    re.I,
)
_BEGINS = re.compile(
    r"(?:^|[;:—(,.]\s?|\b(?:while|where|whereas|that|then|so|but|because|when|if|and)\s|^(?:of|in|inside|on)\s[^,;]{2,40}\s)"
    r"(?:the\s|about\s|around\s|roughly\s|some\s|just\s|only\s|~)*$",
    re.I,
)
_HOLDERS = frozenset({"GPUs", "racks", "nodes", "superchips", "compute trays", "pods"})


def is_condition(text: str, count: Quantity, quantities: list[Quantity]) -> str | None:
    """Return why a count is no claim: it only says what the next figure is told of, as in `32 GPUs draw 53 kW`.

    A count of what a named product has is a claim: `the rack's 72 GPUs draw 120 kW`.
    """
    following = next((q for q in quantities if q.start >= count.end), None)
    if following is None or not is_condition_of(text, count, following, quantities):
        return None
    return f"says what {text[following.start : following.end]} is told of"


def is_condition_of(text: str, count: Quantity, quantity: Quantity, quantities: list[Quantity]) -> bool:
    """Say whether a count only says what a figure is told of: 32 GPUs for 53 kW."""
    if count.unit.symbol not in _HOLDERS or quantity.unit.dimension not in _MEASURED or quantity.start < count.end:
        return False
    if any(count.end <= q.start and q.end <= quantity.start for q in quantities):
        return False
    is_subject = _BEGINS.search(text[: count.start]) and _CONSUMES.fullmatch(text[count.end : quantity.start])
    return is_subject is not None


def figures_beside(
    text: str, quantity: Quantity, quantities: list[Quantity], meanings: list[Meaning]
) -> dict[str, dict[str, Any]]:
    """Return the other figures of a sentence, for each metric one.

    Returns:
        From metric to `low` and `high` in the canonical unit, `comparator`, `scope`, whether one of the two is told of
        the other's products `together` (yes, maybe, no), and whether it is the `condition` of this figure. Of several
        the one that is together, else the nearest. `each` holds the counts that are told of each rack or node.
    """
    nearest: dict[str, tuple[tuple[bool, int], dict[str, Any]]] = {}
    each: dict[str, list[float]] = {}
    for other, meaning in zip(quantities, meanings, strict=True):
        if other is quantity or (other.start == quantity.start and other.end == quantity.end):
            continue
        if ";" in text[min(other.end, quantity.end) : max(other.start, quantity.start)]:
            continue
        told = {together(text, *pair, quantities) for pair in ((quantity, other), (other, quantity))}
        how = next(word for word in ("yes", "maybe", "no") if word in told)
        distance = min(abs(other.start - quantity.end), abs(quantity.start - other.end))
        factor = other.unit.factor
        entry = {
            "low": other.low * factor,
            "high": other.high * factor,
            "comparator": other.comparator,
            "scope": meaning.scope or "",
            "together": how,
            "condition": is_condition_of(text, other, quantity, quantities),
        }
        if meaning.scope in ("rack", "node") and other.unit.dimension == "count" and other.low == other.high:
            each.setdefault(meaning.metric, []).append(other.low)
        rank = (how != "yes", distance)
        if meaning.metric not in nearest or rank < nearest[meaning.metric][0]:
            nearest[meaning.metric] = (rank, entry)
    return {name: {**entry, **({"each": each[name]} if name in each else {})} for name, (_, entry) in nearest.items()}
