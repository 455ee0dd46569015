"""Whole numbers as descriptions write them: `16`, `16.0`, `2,048`, `16 nodes`, `8x GPU per node`, `two`.

What is counted must be the field's own kind of thing; a range or a choice is no count.
"""

from __future__ import annotations

import re

from pipelines.parsing.quantities import plain

MOST_COUNTED = 10**9
"""Largest count that is believed; no published one is near it."""

_PER_NODE = r"(?:\s?(?:per\s|/\s?)(?:node|server|host|system))?"
_KINDS = {
    "number_of_nodes": r"nodes?|servers?|hosts?|machines?",
    "accelerators_per_node": rf"(?:gpus?|accelerators?|chips?|cards?|tpus?|npus?)?{_PER_NODE}",
    "host_processors_per_node": rf"(?:cpus?|processors?|sockets?)?{_PER_NODE}",
}
"""What a field counts, as it may stand behind the number."""

# fmt: off
_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
# fmt: on
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {word: number for number, word in enumerate(_UNITS)} | {
    word: number for number, word in zip(range(20, 100, 10), _TENS, strict=True)
}
_WORDED = rf"(?:({'|'.join(_TENS)})[\s-]({'|'.join(_UNITS[1:10])})|({'|'.join(_WORDS)}))(?![a-z])"


def whole_number(text: object, field: str | None = None) -> int | None:
    """Return the count that a text states.

    Args:
        text: A field as published; a number may be one or a text.
        field: Name of the field, where what it counts may stand behind the number.

    Returns:
        The count, None where the text is anything else, or more than `MOST_COUNTED`.
    """
    whole = plain(text).lower()
    kinds = _KINDS.get(field or "")
    behind = rf"(?:\s?x)?(?:\s?(?:{kinds}))?" if kinds else ""
    digits = re.fullmatch(rf"(\d{{1,10}}|\d{{1,3}}(?:,\d{{3}}){{1,2}})(?:\.0{{1,10}})?{behind}", whole, re.ASCII)
    if digits:
        count = int(digits[1].replace(",", ""))
        return count if count <= MOST_COUNTED else None
    words = re.fullmatch(rf"{_WORDED}{behind}", whole) if kinds else None
    return sum(_WORDS[word] for word in words.groups() if word) if words else None
