"""What a count counts: the noun after a numeral, or the name of a product or part, past adjectives.

Which numerals a sentence has, and which of them measure something, is decided in `_claims_quantities`.
"""

from __future__ import annotations

import re

from pipelines.parsing._claims_numbers import Numeral
from pipelines.parsing._claims_subjects import Mention
from pipelines.parsing._claims_units import Unit, counted_at

_STOP_WORDS = frozenset(
    [
        "of",
        "in",
        "on",
        "per",
        "with",
        "for",
        "and",
        "or",
        "to",
        "is",
        "are",
        "was",
        "were",
        "at",
        "by",
        "from",
        "that",
        "which",
        "across",
        "using",
        "each",
        "has",
        "have",
        "had",
        "a",
        "an",
        "the",
        "into",
        "as",
        "than",
        "vs",
        "versus",
        "can",
        "could",
        "will",
        "would",
        "may",
        "it",
        "its",
        "they",
        "while",
        "where",
        "when",
        "if",
        "but",
        "not",
        "be",
        "been",
        "via",
        "plus",
        "inside",
        "within",
        "between",
        "over",
        "under",
    ]
)
_COUNT_KINDS = {
    "accelerator": "GPUs",
    "accelerator_family": "GPUs",
    "cpu": "CPUs",
    "nic": "NICs",
    "switch": "switches",
}


def counts_things(text: str, mentions: list[Mention], times: re.Match[str]) -> bool:
    """Say whether `8x` counts what follows (`8x H100`) rather than telling a ratio (`8x faster`)."""
    if "times" in times[0] or "fold" in times[0]:
        return False
    start = times.end() + (text[times.end() : times.end() + 1] == " ")
    start += len("NVIDIA ") if text.startswith("NVIDIA ", start) else 0
    kinds = {*_COUNT_KINDS, "platform", "platform_family"}
    mention = next((m for m in mentions if m.start == start and m.kind in kinds), None)
    if mention is not None:
        return not re.match(
            r"\s?(?:'s\s)?(?:performance|speed|throughput|faster|more|inference|training)", text[mention.end :]
        )
    return counted_at(text, start) is not None and not re.match(r"(?:GPU|chip|network|link)\s", text[start:])


def noun_after(text: str, mentions: list[Mention], place: int, numeral: Numeral) -> tuple[Unit, int] | None:
    """Find the counted thing after a numeral, past adjectives and names: `2,496 Blackwell GPUs`, `64 active GPUs`."""
    position = place
    last_name: Mention | None = None
    for _ in range(7):
        gap = re.compile(r"[\s-]{0,2}").match(text, position)
        position = gap.end() if gap else position
        counted = counted_at(text, position)
        if counted is not None and _agrees(text, counted, numeral, position):
            return _named_count(counted, last_name, text)
        mention = next((m for m in mentions if m.start == position), None)
        if mention is not None:
            # In `2,496 GB200 trained Llama 3.1` the second name is no longer what is counted.
            if last_name is not None and text[last_name.end : mention.start].strip(" -"):
                break
            last_name, position = mention, mention.end
            continue
        word = re.compile(r"\(?[A-Za-z][\w/+'.]*[\w)]|[A-Za-z]").match(text, position)
        if word is None or word[0].lower() in _STOP_WORDS or (last_name is not None and word[0].endswith("s")):
            break
        if text[place : word.start()].count(" ") > 6:
            break
        position = word.end()
    return _count_of_name(last_name, text, place)


def _named_count(counted: tuple[Unit, int], name: Mention | None, text: str) -> tuple[Unit, int]:
    """Read `8,192 GB300 NVL72 systems` as racks: a rack-scale product is counted by the rack."""
    unit, end = counted
    if unit.symbol in ("systems", "pods") and name is not None and name.kind in ("platform", "platform_family"):
        return Unit(_platform_count(name.name), "count"), end
    return unit, end


def _platform_count(name: str) -> str:
    """Return what a product is counted in: racks, nodes, superchips or pods."""
    if "NVL72" in name or name == "Helios":
        return "racks"
    if "Superchip" in name:
        return "superchips"
    return "nodes" if name.startswith(("DGX", "HGX", "MI355X")) and "SuperPOD" not in name else "pods"


def _count_of_name(name: Mention | None, text: str, place: int) -> tuple[Unit, int] | None:
    if name is None or text[place : name.start].count(" ") > 2:
        return None
    if name.kind in ("platform", "platform_family"):
        return Unit(_platform_count(name.name), "count"), name.end
    if name.kind not in _COUNT_KINDS:
        return None
    if name.kind in ("switch", "nic") and not re.match(r"s\b", text[name.end : name.end + 2]):
        return None
    return Unit(_COUNT_KINDS[name.kind], "count"), name.end


def _agrees(text: str, counted: tuple[Unit, int], numeral: Numeral, position: int) -> bool:
    """Say whether the noun can be what the numeral counts: a plural, or joined by a hyphen as in `72-GPU rack`."""
    noun = text[position : counted[1]]
    is_joined = position > 0 and text[position - 1] == "-" and numeral.end >= position - 1
    is_plural = noun.lower().endswith(("s", "-level")) or noun.lower().startswith("context")
    return is_plural or is_joined or numeral.high == 1
