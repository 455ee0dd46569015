"""Figures with their unit: a numeral or a range, what it counts or measures, and how exactly it is meant.

What a count counts is read in `_claims_counted`; which metric and which subject a figure belongs to is decided in
`_claims_metrics`.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Literal

from pipelines.parsing._claims_counted import counts_things, noun_after
from pipelines.parsing._claims_exactness import Quantity, qualified
from pipelines.parsing._claims_masks import masked
from pipelines.parsing._claims_numbers import Numeral, find_multiples, find_numerals
from pipelines.parsing._claims_subjects import Mention
from pipelines.parsing._claims_units import RATIO_WORDS, Unit, measure_at

_SEPARATOR = re.compile(r"\s?(?P<dash>-{1,2}|—)\s?|~|\s(?P<word>to|or|and|through|up to)\s", re.IGNORECASE)
_TIMES = re.compile(r"\s?[×xX*]\s?")
_CURRENCIES = ("$", "€", "£")
_GAP = re.compile(r"\s(?:of|or\sso|of\sthe)\s|\s?-?\s?")
_SHORT_RATE = re.compile(r"(?P<letter>[GT])(?![\w/])")
_NETWORK_WORD = re.compile(
    r"Ethernet|InfiniBand|(?-i:\bIB\b|\bNIC|LPO|RoCE)|\bport|optic|transceiver|OSFP|QSFP|network|switch|RDMA|ConnectX|"
    r"Quantum|Spectrum|link|cable",
    re.I,
)
_COMPUTE_ADJECTIVES = re.compile(r"(?:(?:(?:NV|MX)?FP\d{1,2}|BF16|TF32|INT8|AI|dense|sparse|peak|Tensor)[\s-]){1,3}")
_PARAMETER_SUFFIXES = frozenset({"B", "T"})


def find_quantities(text: str, mentions: list[Mention]) -> tuple[list[Quantity], list[tuple[int, int]]]:
    """Find the figures of a sentence.

    Args:
        text: One sentence.
        mentions: The names in it.

    Returns:
        Figures in order, and the spans of digits that no unit could be found for.
    """
    blank = masked(text, mentions)
    numerals = find_numerals(blank)
    quantities: list[Quantity] = []
    unread: list[tuple[int, int]] = []
    index = 0
    while index < len(numerals):
        found, used = _quantities_from(text, mentions, numerals, index)
        quantities += found
        if not found and numerals[index].kind == "digits":
            unread.append((numerals[index].start, numerals[index].end))
        index += used
    quantities += [
        qualified(text, Quantity(m.start, m.end, m.value, m.value, Unit("x", "ratio"), noun=text[m.start : m.end]))
        for m in find_multiples(blank)
        if not any(q.start <= m.start < q.end for q in quantities)
    ]
    quantities.sort(key=lambda quantity: quantity.start)
    return _with_inherited_units(text, quantities, unread)


def _quantities_from(
    text: str, mentions: list[Mention], numerals: list[Numeral], index: int
) -> tuple[list[Quantity], int]:
    first = numerals[index]
    second = numerals[index + 1] if index + 1 < len(numerals) else None
    if second is not None and _TIMES.fullmatch(text[first.end : second.start]):
        return _product(text, mentions, first, second), 2
    if second is not None and (pair := _compared(text, mentions, first, second)) is not None:
        return pair, 2
    if second is not None and first.kind == "digits" and text[first.end : second.start] == " ":
        rated = _product(text, mentions, first, second)
        if len(rated) == 2 and rated[0].unit.symbol != "GPUs":
            return rated, 2
    if second is not None:
        joined = _range(text, mentions, first, second)
        if joined is not None:
            return joined, 2
    single = _single(text, mentions, first)
    return ([single] if single is not None else []), 1


_VERSUS = re.compile(r"\s?(?:vs\.?|versus|compared\s(?:to|with)|against)\s", re.IGNORECASE)


def _compared(text: str, mentions: list[Mention], first: Numeral, second: Numeral) -> list[Quantity] | None:
    """Read `2,500 vs. 780 TFLOPS` and `192 GB compared to 128 GB`.

    The first of the subject, the second of what it is held against.
    """
    own = _unit_after(text, mentions, first)
    end = own[1] if own is not None and own[1] <= second.start else first.end
    other = _single(text, mentions, second)
    if other is None or not _VERSUS.fullmatch(text[end : second.start]):
        return None
    unit = own[0] if own is not None and own[1] <= second.start else other.unit
    if unit.dimension != other.unit.dimension:
        return None
    told = Quantity(
        first.start, end, first.low, first.high, unit, half_unit=first.half_unit, noun=text[first.start : end]
    )
    return [replace(qualified(text, told), role="compared"), replace(other, role="baseline")]


def _product(text: str, mentions: list[Mention], first: Numeral, second: Numeral) -> list[Quantity]:
    """Read `144 × 800 Gb/s` as a count and the rate of one."""
    rate = _single(text, mentions, second)
    if rate is None:
        return []
    count_noun = noun_after(text, mentions, rate.end, first)
    if rate.unit.dimension == "count":
        return [rate]
    symbol = count_noun[0].symbol if count_noun is not None else ("ports" if rate.unit.is_bits else "GPUs")
    counted = Quantity(
        first.start, first.end, first.low, first.high, Unit(symbol, "count"), noun=text[first.start : rate.end]
    )
    return [qualified(text, counted), rate if rate.unit.is_bits else replace(rate, scope="accelerator")]


def _range(text: str, mentions: list[Mention], first: Numeral, second: Numeral) -> list[Quantity] | None:
    own = _unit_after(text, mentions, first)
    between_from = own[1] if own is not None and own[1] <= second.start else first.end
    connector = _SEPARATOR.fullmatch(text[between_from : second.start])
    if connector is None or not first.low < second.high:
        return None
    is_money = text[: first.start].rstrip().endswith(_CURRENCIES)
    after = (Unit("$", "money"), second.end) if is_money else _unit_after(text, mentions, second)
    if after is None or (own is not None and own[1] <= second.start and own[0].dimension != after[0].dimension):
        return None
    unit, end = after
    word = (connector["word"] or "").lower()
    before = text[: first.start].rstrip().lower()
    if word == "and" and not before.endswith("between"):
        return None
    if word == "or" and not (first.kind == "vague" or second.high - first.low == 1):
        return None
    form: Literal["range", "change"] = "change" if before.endswith("from") and word in ("to", "up to") else "range"
    scale = (own[0].factor / unit.factor) if own is not None and own[1] <= second.start else 1.0
    low = first.low * scale
    if is_money and first.low < 1000 <= second.high:
        low *= 10 ** (3 * int(math.log10(second.high) // 3))
    if second.suffix and not first.suffix and own is None and first.low < 1000 <= second.low:
        low *= {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}[second.suffix]
    is_vague = "vague" in (first.kind, second.kind)
    quantity = Quantity(
        first.start, end, low, second.high, unit, is_approximate=is_vague, noun=text[first.start : end], form=form
    )
    return [qualified(text, quantity)]


def _single(text: str, mentions: list[Mention], numeral: Numeral) -> Quantity | None:
    if numeral.suffix == "T" and _is_line_rate(numeral.low / 1e12, "T") and _NETWORK_WORD.search(text):
        rate = numeral.low / 1e12
        return qualified(text, Quantity(numeral.start, numeral.end, rate, rate, Unit("Tb/s", "data_rate", 125.0)))
    if text[: numeral.start].rstrip().endswith(_CURRENCIES):
        unit, end = Unit("$", "money"), numeral.end
    else:
        found = _unit_after(text, mentions, numeral)
        if found is None:
            return None
        unit, end = found
    if numeral.kind == "words" and not _word_counts(numeral, unit):
        return None
    if numeral.high == 1 and unit.dimension == "count":
        return None
    form: Literal["single", "vague"] = "vague" if numeral.kind == "vague" else "single"
    quantity = Quantity(
        numeral.start,
        end,
        numeral.low,
        numeral.high,
        unit,
        is_approximate=numeral.kind == "vague",
        half_unit=numeral.half_unit,
        form=form,
        noun=text[numeral.start : end],
    )
    return qualified(text, quantity)


def _word_counts(numeral: Numeral, unit: Unit) -> bool:
    """Say whether a number told in words is a figure: `two dies` is, `one rack` and `seven levels` are not."""
    return (
        numeral.low > 1
        and unit.dimension not in ("length", "mass", "rack_units")
        and unit.symbol not in ("systems", "steps", "links")
    )


def _unit_after(text: str, mentions: list[Mention], numeral: Numeral) -> tuple[Unit, int] | None:
    place = numeral.end
    plus = re.compile(r"\s?\+(?=\s|$|-)").match(text, place)
    place = plus.end() if plus else place
    start = _GAP.match(text, place).end()  # type: ignore[union-attr]
    if text.startswith(("-high", "-layer", "-way", "-bit", "-inch"), place):
        return None
    adjectives = _COMPUTE_ADJECTIVES.match(text, start)
    for candidate in (start, adjectives.end() if adjectives else start):
        measure = measure_at(text, candidate)
        if measure is not None and (candidate == start or measure[0].dimension == "compute"):
            return measure
    short = _SHORT_RATE.match(text, start)
    if short is not None and _is_line_rate(numeral.low, short["letter"]) and _NETWORK_WORD.search(text):
        factor = 1 / 8 if short["letter"] == "G" else 125.0
        return Unit(f"{short['letter']}b/s", "data_rate", factor), short.end()
    times = RATIO_WORDS.match(text, place)
    if times is not None:
        counts = numeral.is_whole and counts_things(text, mentions, times)
        counted = noun_after(text, mentions, times.end(), numeral) if counts else None
        return counted if counted is not None else (Unit("x", "ratio"), times.end())
    counted = noun_after(text, mentions, start if text[place:start].strip() == "of" else place, numeral)
    if counted is not None:
        return counted
    if numeral.suffix in _PARAMETER_SUFFIXES and numeral.kind == "digits":
        return Unit("parameters", "count"), numeral.end
    return None


def _is_line_rate(value: float, letter: str) -> bool:
    rates = (
        {10, 25, 40, 50, 56, 100, 200, 400, 800, 1600, 3200} if letter == "G" else {1.6, 3.2, 12.8, 25.6, 51.2, 102.4}
    )
    return value in rates


def _depth(text: str, place: int) -> int:
    return text.count("(", 0, place) - text.count(")", 0, place)


_BARE_AFTER = re.compile(r"\s?(?:[,.;:)]|$|\s?(?:on|in|or|and|instead|for)\b)")


def _with_inherited_units(
    text: str, quantities: list[Quantity], unread: list[tuple[int, int]]
) -> tuple[list[Quantity], list[tuple[int, int]]]:
    """Give a bare figure the unit of the count before it: `8 GPUs on HGX, 72 on NVL72`."""
    left: list[tuple[int, int]] = []
    for start, end in unread:
        depth = _depth(text, start)
        earlier = [
            q
            for q in quantities
            if q.end <= start
            and q.unit.dimension in ("count", "data_rate", "bytes_per_token")
            and _depth(text, q.start) == depth
        ]
        value = text[start:end].replace(",", "")
        follows = _BARE_AFTER.match(text, end) is not None and re.search(
            r"(?:,|;|\bat|\bof|\bor|and)\s?$", text[:start]
        )
        if (
            earlier
            and follows
            and re.fullmatch(r"\d+(?:\.\d+)?", value)
            and not re.search(r"\b(?:divide|by)\s?$", text[:start])
        ):
            number = float(value)
            quantities.append(
                Quantity(
                    start, end, number, number, earlier[-1].unit, half_unit=0.5, noun=text[start:end], is_inherited=True
                )
            )
        else:
            left.append((start, end))
    return sorted(quantities, key=lambda quantity: quantity.start), left
