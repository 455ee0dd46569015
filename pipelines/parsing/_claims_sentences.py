"""A block's text made even, and cut into sentences, each of which can still quote the text as it was written.

Web pages glue labels to figures (`576GPUs per SuperPOD`); here they are set apart. What a sentence says is read
elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_SENTENCE = 1_500
"""Characters after which a text without a full stop is cut."""

_ALIKE = str.maketrans(
    {
        "\u00a0": " ",
        "\u2007": " ",
        "\u2009": " ",
        "\u202f": " ",
        "\u200b": " ",
        "\t": " ",
        "\u2010": "-",
        "\u2011": "-",
        "\u2012": "-",
        "\u2013": "-",
        "\u2212": "-",
        "\u2248": "~",
        "\u223c": "~",
        "\u2715": "×",
        "\u2a09": "×",
        "\u2019": "'",
        "\u2018": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u00b5": "u",
        "\u03bc": "u",
        "\u2264": "≤",
        "\u2265": "≥",
    }
)
_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_RATE_UNITS = r"[KMGTPE]i?[Bb](?:/s|ps)?|kW|MW|GW|min|[TPE]FLOPS|[TPE]FLOP/s|GT/s|%"
_BREAKS = re.compile(
    rf"(?<![\w.-])\d[\d,.]{{0,30}}(?:(?=[A-Z][a-z]{{2}})|(?=[A-Z]{{2}}))"
    rf"|(?<![\w.-])\d[\d,.]{{0,30}}\s?(?:{_RATE_UNITS})(?=[A-Z][A-Za-z])(?!\w*(?:/s|ps)\b)"
    rf"|(?<=[a-z]{{2}})[.](?=[A-Z])"
)
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9~])")
_NOT_AN_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|approx|ca|cf|Fig|No|Nr|Inc|Corp|Ltd|al|est|incl|max|min|avg|resp|Dr|Mr|St|U\.S|Sec|Ch|Eq|etc)|^\s*\d{1,2})\.$"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: the even text that is read, and the text as written."""

    text: str
    written: str
    index: tuple[int, ...]
    """For each character of `text`, where it stands in `written`."""

    def quote(self, start: int, end: int) -> str:
        """Return the words as written from `start` to `end` of the even text."""
        return self.written[self.index[start] : self.index[end - 1] + 1] if end > start else ""


def read_sentences(block: str) -> Iterator[Sentence]:
    """Cut a block into sentences.

    Args:
        block: Text of one block.

    Yields:
        Sentences in order; a full stop inside an abbreviation, a version or a figure ends none.
    """
    even, index = _set_apart(block)
    for start, end in _spans(even):
        first, last = index[start], index[end - 1]
        places = tuple(place - first for place in index[start:end])
        yield Sentence(even[start:end], block[first : last + 1], places)


def _set_apart(block: str) -> tuple[str, list[int]]:
    """Return the even text and where each of its characters stands in the block."""
    even = block.translate(_ALIKE)
    cuts = {found.end() for found in _BREAKS.finditer(even)}
    characters: list[str] = []
    index: list[int] = []
    for place, character in enumerate(even):
        if place in cuts:
            characters.append(" ")
            index.append(place)
        if character in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻":
            if not characters or characters[-1] not in "0123456789-^" or (character == "⁻" and characters[-1] == "^"):
                continue
            if "^" not in characters[-3:]:
                characters.append("^")
                index.append(place)
            character = character.translate(_POWERS)
        characters.append(character)
        index.append(place)
    return "".join(characters), index


def _spans(even: str) -> Iterator[tuple[int, int]]:
    start = 0
    for found in _SENTENCE_END.finditer(even):
        if _NOT_AN_END.search(even[max(start, found.start() - 12) : found.start() + 1]):
            continue
        yield from _pieces(even, start, found.end())
        start = found.end()
    yield from _pieces(even, start, len(even))


def _pieces(even: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and even[start].isspace():
        start += 1
    while end > start and even[end - 1].isspace():
        end -= 1
    while end - start > LONGEST_SENTENCE:
        cut = even.rfind(" ", start, start + LONGEST_SENTENCE)
        cut = cut if cut > start else start + LONGEST_SENTENCE
        yield start, cut
        start = cut + (even[cut : cut + 1] == " ")
    if end > start:
        yield start, end
