"""Which fields a system description has, on which line each stands, and which one a misspelled name means.

What the fields mean belongs in `system_descriptions`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import takewhile

from pipelines.parsing._published_json import decoded, read_json

_SHORTEST_MISSPELLED = 6
"""Letters of the shortest name that is known with a slip; a shorter one can be another name."""
_NAMES_REMEMBERED = 1_000


def description_fields(content: bytes) -> dict[str, int] | None:
    """Return the line, from 1, of each field of the outermost object; None where the content is no JSON object."""
    text, _ = decoded(content)
    try:
        described, _ = read_json(text)
    except ValueError:
        return None
    if not isinstance(described, dict):
        return None
    return {name: _line(text, name) for name in described}


def meant_fields(names: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Return the field that each name means which is none of those known: `number of nodes`, `divison`.

    Args:
        names: Names of one description, in order.
        known: Names of the form.

    Returns:
        By name as published: the one known field that differs in nothing but case and separators, or else by one slip
        of a letter. A field that the description also has by its own name is meant by no other; of two names for one
        field the first counts.
    """
    stated, fields = list(names), frozenset(known)
    meant: dict[str, str] = {}
    for name in stated:
        if name in fields:
            continue
        near = _near(name, fields)
        if len(near) == 1 and near[0] not in stated and near[0] not in meant.values():
            meant[name] = near[0]
    return meant


@lru_cache(_NAMES_REMEMBERED)
def _near(name: str, fields: frozenset[str]) -> tuple[str, ...]:
    """Return the fields that a name may mean; descriptions of a round mostly share their names."""
    spelled = re.sub("[^a-z0-9]+", "_", name.strip().lower())
    return (spelled,) if spelled in fields else tuple(field for field in fields if is_one_slip(spelled, field))


def is_one_slip(written: str, meant: str) -> bool:
    """Say whether one letter more, less or other, or two that changed places, part two names of some length."""
    if abs(len(written) - len(meant)) > 1 or min(len(written), len(meant)) < _SHORTEST_MISSPELLED:
        return False
    start = _common_start(written, meant)
    stop = _common_start(written[start:][::-1], meant[start:][::-1])
    wrong, right = written[start : len(written) - stop], meant[start : len(meant) - stop]
    return max(len(wrong), len(right)) <= 1 or (len(wrong) == 2 and wrong == right[::-1])


def _common_start(first: str, second: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def _line(text: str, name: str) -> int:
    """Return where the name stands first as a key; 1 where it is written with escapes."""
    found = re.search(rf"{re.escape(json.dumps(name, ensure_ascii=False))}\s*:", text)
    return text.count("\n", 0, found.start()) + 1 if found else 1
