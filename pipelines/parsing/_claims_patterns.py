"""Forms of words whose figure has no unit beside it: labels, versions, dates, divisions, constants in code.

Each form is one small reader that gives figures with their metric already told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from pipelines.parsing._claims_exactness import Quantity
from pipelines.parsing._claims_masks import DATE, masked
from pipelines.parsing._claims_numbers import Numeral, find_numerals
from pipelines.parsing._claims_subjects import Mention, find_mentions
from pipelines.parsing._claims_units import Unit, counted_at, measure_at

_LABEL = re.compile(r"^(?P<label>[^:]{2,80}):\s?")
_LABEL_UNIT = re.compile(r"[(\[,]\s?(?P<unit>[A-Za-z/%]{1,12})\s?[)\]]?$")
_PREFIXED = (
    ("head_dimension", re.compile(r"\bhead\sdim(?:ension)?(?:\sof|\sis|\s=)?\s(?P<n>\d{2,4})\b", re.I)),
    ("hidden_size", re.compile(r"\bhidden\s(?:size|dimension)(?:\sof|\sis|\s=)?\s(?P<n>\d[\d,]{2,6})\b", re.I)),
    ("sequence_length", re.compile(r"\bsequence\slength(?:\sof|\sis|\s=)?\s(?P<n>\d[\d,]{2,8}k?)\b", re.I)),
    ("global_batch_size", re.compile(r"\b(?:global\s)?batch\ssize(?:\sof|\sis|\s=)?\s(?P<n>\d[\d,]{0,8})\b", re.I)),
)
_DIVIDES = re.compile(
    r"(?P<n>\d[\d,]*)\s(?:(?P<no>does\snot|doesn't|is\snot|isn't|cannot\sbe|can't\sbe|won't)\s|is\s|does\s)?(?:evenly\s)?"
    r"(?:divid(?:es?|ed)|divisible)\s(?:evenly\s)?by\s(?P<by>\d[\d,]*)"
)
_OF_THEM = re.compile(r"\bof\s(?:them|these|those)\b")
_MOST_SLOTS = 144
_IN_USE = re.compile(
    r"\b(?P<n>\d{1,3})\s(?:out\s)?of\s(?:the\s|its\s|their\s|every\s|each\s)?(?P<of>\d{1,3}(?:\s(?:GPU\s)?(?:GPUs|accelerators|chips|slots|"
    r"positions))?)\s(?:are\s|were\s|being\s|\(?in\seach|per\srack|used|in\suse|active|populated|occupied|filled|enabled)",
    re.I,
)
_MEASURED_IN = re.compile(r"\b(?:measured|counted|told)\sin\s(?P<unit>(?:giga|mega|kilo)watts)\b", re.I)
_AS_OF = re.compile(
    r"\b(?:checked|updated|as\sof|accessed|retrieved|modified|written|last\sedited|posted|published)\b[\s:]*(?:on\s)?$",
    re.I,
)
_PUBLISHED = re.compile(r"\b(?:published|released|came\sout|results\sof)\b", re.I)
_STEP_OF = re.compile(r"\b(?:Step|Page|Lesson|Part|Slide|Question|Chapter)\s(?P<n>\d{1,3})\sof\s(?P<of>\d{1,3})\b")
_GENERATION = re.compile(r"(\d)(?:st|nd|rd|th|\.0)?")
_ORDINALS = {"third": 3, "fourth": 4, "fifth": 5, "sixth": 6}
_ASSIGNED = re.compile(
    r"\b(?:change|set|let|raise|lower|replace)\s(?P<name>[A-Za-z]\w{2,30})\s?(?:to|=|with)\s(?P<n>\d[\d,.]*)", re.I
)
_SAME_HAS = re.compile(
    r"\b(?:has|have|gets?|sees?|only|just|drops?\sto|falls?\sto)\s(?P<first>\d[\d,.]*\d|\d)(?:\sor\s(?P<second>\d[\d,.]*\d|\d))?\s?(?:[.;,]|$)"
)


@dataclass(frozen=True, slots=True)
class Apart:
    """A figure that is no claim, and why."""

    quantity: Quantity
    reason: str


def special_quantities(
    text: str, mentions: list[Mention], unread: list[tuple[int, int]], title: str = ""
) -> list[Quantity]:
    """Read the figures of a sentence that only the form of words explains.

    Args:
        text: The sentence.
        mentions: The names in it.
        unread: Spans of digits that have no unit.
        title: Title of the table column, which may name the unit: `Time to train (minutes)`.

    Returns:
        Figures whose metric is told by the form, in no order.
    """
    return [
        *_labelled(text, unread, title),
        *_pronouns(text, mentions),
        *_in_use(text),
        *_prefixed(text),
        *_divisions(text),
        *_generations(text, mentions),
        *_round_dates(text, mentions),
        *_measured_in(text),
        *_assigned(text),
    ]


def no_claims(text: str) -> list[Apart]:
    """Read figures that state nothing about the world: places in a course, as-of dates."""
    apart = []
    for found in _STEP_OF.finditer(text):
        low, high = float(found["n"]), float(found["of"])
        apart.append(
            Apart(
                Quantity(found.start(), found.end(), low, high, Unit("", "navigation"), metric="navigation"),
                "place in a course",
            )
        )
    for found in DATE.finditer(text):
        value = _ordinal(found[0])
        if value is not None and _AS_OF.search(text[: found.start()]) and not _PUBLISHED.search(text[: found.start()]):
            quantity = Quantity(found.start(), found.end(), value, value, Unit("date", "date"), metric="as_of_date")
            apart.append(Apart(quantity, "date on which the document was checked"))
    return apart


def inherited_from_before(text: str, unread: list[tuple[int, int]], before: list[Quantity]) -> list[Quantity]:
    """Give bare figures the unit of the rate in the sentence before: `900 GB/s ... the same GPU has 50 or 100`."""
    rates = [quantity for quantity in before if quantity.unit.dimension == "data_rate"]
    found = _SAME_HAS.search(text)
    if not rates or found is None:
        return []
    quantities = []
    for group in ("first", "second"):
        if found[group] and any(start == found.start(group) for start, _ in unread):
            value = float(found[group].replace(",", ""))
            span = found.span(group)
            quantities.append(
                Quantity(*span, value, value, rates[-1].unit, half_unit=0.5, noun=found[group], is_inherited=True)
            )
    return quantities


def _labelled(text: str, unread: list[tuple[int, int]], title: str) -> Iterator[Quantity]:
    label = _LABEL.match(text)
    if label is None:
        return
    unit = _bracketed_unit(title) or _unit_of_label(label["label"])
    first = next((span for span in unread if span[0] >= label.end()), None)
    if unit is None or first is None or not re.fullmatch(r"[~>≥<]?\s?", text[label.end() : first[0]]):
        return
    numerals = [numeral for numeral in find_numerals(text[: first[1]]) if numeral.start == first[0]]
    if numerals:
        numeral = numerals[0]
        is_about = "~" in text[label.end() : first[0]]
        is_most = re.search(r"\bmax(?:imum)?\b", label["label"], re.I) is not None
        yield Quantity(
            first[0],
            first[1],
            numeral.low,
            numeral.high,
            unit,
            "maximum" if is_most else "equal",
            is_about,
            numeral.half_unit,
            noun=text[first[0] : first[1]],
        )


def _bracketed_unit(label: str) -> Unit | None:
    """Return the unit that stands in brackets at the end of a label: `Memory (GB)`."""
    bracket = _LABEL_UNIT.search(label)
    measure = measure_at(bracket["unit"], 0) if bracket is not None else None
    return measure[0] if bracket is not None and measure is not None and measure[1] == len(bracket["unit"]) else None


def _unit_of_label(label: str) -> Unit | None:
    bracketed = _bracketed_unit(label)
    if bracketed is not None:
        return bracketed
    plain = label.partition(" per ")[0].partition("/")[0]
    nouns = [counted_at(plain, word.start()) for word in re.finditer(r"\b\w", plain)]
    known = [noun[0] for noun in nouns if noun is not None and noun[0].symbol not in ("domains", "systems")]
    if known:
        return known[0]
    return Unit("GPUs", "count") if re.search(r"NVLink domain|scale-up domain|world size", label, re.I) else None


def _pronouns(text: str, mentions: list[Mention]) -> Iterator[Quantity]:
    for found in _OF_THEM.finditer(text):
        numeral = _numeral_before(masked(text, mentions), found.start())
        if numeral is None or numeral.low < 2:
            continue
        nouns = [
            noun
            for word in re.finditer(r"\b\w", text[: numeral.start])
            if (noun := counted_at(text, word.start())) is not None
        ]
        if nouns:
            yield Quantity(
                numeral.start,
                found.end(),
                numeral.low,
                numeral.high,
                nouns[-1][0],
                noun=text[numeral.start : found.end()],
            )


def _in_use(text: str) -> Iterator[Quantity]:
    """Read `64 of 72 used` and `64 of the 72 GPUs in each rack` as the accelerators in use and the slots of a rack."""
    for found in _IN_USE.finditer(text):
        used, slots = float(found["n"]), float(found["of"].split()[0])
        if 1 < used <= slots <= _MOST_SLOTS and re.search(r"\brack|NVL72", text, re.I):
            for value, group in ((used, "n"), (slots, "of")):
                start, end = found.span(group)
                yield Quantity(
                    start, end, value, value, Unit("GPUs", "count"), half_unit=0.5, noun=found[group], scope="rack"
                )


def _numeral_before(blank: str, place: int) -> Numeral | None:
    numerals = [n for n in find_numerals(blank[:place]) if blank[n.end : place].strip() == ""]
    return numerals[-1] if numerals else None


def _prefixed(text: str) -> Iterator[Quantity]:
    for metric, pattern in _PREFIXED:
        for found in pattern.finditer(text):
            scale = 1000 if found["n"].endswith("k") else 1
            value = float(found["n"].rstrip("k").replace(",", "")) * scale
            yield Quantity(
                found.start(), found.end(), value, value, Unit("", "count"), half_unit=0.5 * scale, metric=metric
            )


def _divisions(text: str) -> Iterator[Quantity]:
    for found in _DIVIDES.finditer(text):
        by = float(found["by"].replace(",", ""))
        if by:
            value = float(found["n"].replace(",", "")) / by
            metric = "not_divisible" if found["no"] else "divisible"
            yield Quantity(found.start(), found.end(), value, value, Unit("", "quotient"), metric=metric, noun=found[0])


def _generations(text: str, mentions: list[Mention]) -> Iterator[Quantity]:
    """Read `fifth-generation NVLink` and `PCIe Gen6` of a named part or product, and versions of named components."""
    named = [
        m for m in mentions if m.kind in ("platform", "platform_family", "accelerator", "accelerator_family", "nic")
    ]
    for mention in mentions:
        words = text[mention.start : mention.end]
        if mention.kind == "component":
            version = re.search(r"\d\.\d", words)
            if version is not None:
                value = float(version[0])
                yield Quantity(mention.start, mention.end, value, value, Unit("", "version"), metric="version")
            continue
        family = (
            "nvlink_generation"
            if mention.name.startswith("NVLink ")
            else "pcie_generation"
            if mention.name.startswith("PCIe")
            else ""
        )
        is_named = any(m.end <= mention.start for m in named) or (family == "nvlink_generation" and bool(named))
        value_text = mention.name.rpartition(" ")[2]
        if family and is_named and re.fullmatch(r"\d(?:\.\d)?", value_text):
            value = float(value_text)
            yield Quantity(
                mention.start, mention.end, value, value, Unit("gen", "generation"), metric=family, noun=words
            )


def _round_dates(text: str, mentions: list[Mention]) -> Iterator[Quantity]:
    for found in DATE.finditer(text):
        value = _ordinal(found[0])
        is_beside = any(m.kind == "round" and 0 <= found.start() - m.end <= 14 for m in mentions)
        is_told = any(m.kind == "round" for m in mentions) and _PUBLISHED.search(
            text[max(0, found.start() - 60) : found.start()]
        )
        if value is not None and (is_beside or is_told):
            yield Quantity(
                found.start(), found.end(), value, value, Unit("date", "date"), metric="publication_date", noun=found[0]
            )


_MONTH_NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def _ordinal(text: str) -> float | None:
    """Return a full date as its proleptic ordinal, None where the text names no day."""
    iso = re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", text)
    words = re.findall(r"[A-Za-z]{3,}|\d+", text)
    try:
        if iso is not None:
            return float(date(int(iso[1]), int(iso[2]), int(iso[3])).toordinal())
        month = next(_MONTH_NAMES.index(word[:3].lower()) + 1 for word in words if word[:3].lower() in _MONTH_NAMES)
        numbers = [int(word) for word in words if word.isdigit()]
        year, day = next(n for n in numbers if n > 31), next(n for n in numbers if n <= 31)
        return float(date(year, month, day).toordinal())
    except (StopIteration, ValueError):
        return None


def _measured_in(text: str) -> Iterator[Quantity]:
    for found in _MEASURED_IN.finditer(text):
        measure = measure_at(found["unit"], 0)
        if measure is not None:
            yield Quantity(found.start(), found.end(), 1.0, 1.0, measure[0], "more", True, form="vague", noun=found[0])


def _assigned(text: str) -> Iterator[Quantity]:
    """Read a property of a part that is set by name: `Change memPerGPU to 80 (H100)`."""
    for found in _ASSIGNED.finditer(text):
        quantity = _named_constant(found["name"], found["n"], found.span())
        if quantity is not None and find_mentions(text[found.end() : found.end() + 30]):
            yield quantity


def _named_constant(name: str, digits: str, span: tuple[int, int]) -> Quantity | None:
    lowered = name.lower()
    number = re.fullmatch(r"\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?", digits.rstrip("."))
    if number is None:
        return None
    value = float(number[0].replace(",", ""))
    if "mem" in lowered or "hbm" in lowered:
        return Quantity(*span, value, value, Unit("GB", "memory"), metric="memory_capacity", noun=digits)
    if "flop" in lowered:
        return Quantity(*span, value, value, Unit("FLOP/s", "compute", 1e-12), metric="peak_compute", noun=digits)
    return None


_CONSTANT = re.compile(
    r"^\s*(?:const\s|var\s|let\s)?(?P<name>[A-Za-z_]\w*)\s*(?::=|=|:)\s*(?P<n>\d[\d_,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*[,;]?\s*(?:(?://|#)\s?(?P<note>.*))?$"
)
_NAMED_PAIR = re.compile(r"[{\[(]\s*[\"'](?P<name>[^\"']{2,40})[\"']\s*,\s*(?P<n>\d[\d_]*)\s*[}\])]")
_LEVEL_NAME = re.compile(r"\b(?:node|rack|pod|superpod|cluster|campus|server)\b", re.I)


@dataclass(frozen=True, slots=True)
class CodeFigure:
    """A constant of a program."""

    quantity: Quantity
    subject: Mention | None
    level: str | None
    reason: str | None
    """Why it is no claim; null where it states a fact about a named thing."""
    note: str = ""


def code_figures(line: str) -> list[CodeFigure]:
    """Read the constants in a line of code.

    A constant is a claim where a name or its comment says of what: a level of scale with its size, or a property of a
    part. Any other is an assumption of the program.
    """
    figures = []
    for pair in _NAMED_PAIR.finditer(line):
        level = _LEVEL_NAME.search(pair["name"])
        if level is not None:
            value = float(pair["n"].replace("_", ""))
            quantity = Quantity(
                pair.start(), pair.end(), value, value, Unit("GPUs", "count"), metric="accelerators", noun=pair["n"]
            )
            figures.append(CodeFigure(quantity, None, level[0].lower(), None, pair["name"]))
    constant = _CONSTANT.match(line)
    if constant is None:
        return figures
    note = constant["note"] or ""
    mentions = find_mentions(note)
    named = _named_constant(constant["name"], constant["n"].replace("_", ""), constant.span("n"))
    span = (constant.start("name"), constant.end())
    if named is not None and mentions:
        figures.append(CodeFigure(replace(named, start=span[0], end=span[1]), mentions[0], None, None, note))
        return figures
    value = float(constant["n"].replace("_", "").replace(",", ""))
    if value in (0.0, 1.0):
        return figures
    quantity = Quantity(
        *span, value, value, Unit("", "number"), metric=f"constant {constant['name']}", noun=constant["n"]
    )
    figures.append(CodeFigure(quantity, None, None, "constant of a program, not told of anything", note))
    return figures
