"""The named questions of `sql/questions`: each a file that says its grain, what is asked, and the statement.

No schema is imported here, so that an answer comes in under a second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

NAMES_SUGGESTED = 3

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_GRAIN = "-- One row per "
_COMMENT = "-- "


class NoSuchQuestionError(Exception):
    """No question has that name; the message names those that come near."""


@dataclass(frozen=True)
class Question:
    """One named question."""

    name: str
    grain: str
    """What one row of the answer is."""
    meaning: str
    """What is asked, in one line."""
    sql: str


def is_name(text: str) -> bool:
    """Return whether the text can only be the name of a question: a single word is no statement."""
    return _NAME.fullmatch(text) is not None


def read_question(folder: Path, name: str) -> Question:
    """Return the question of that name.

    Raises:
        NoSuchQuestionError: there is none.
    """
    path = folder / f"{name}.sql"
    if not is_name(name) or not path.is_file():
        known = [file.stem for file in folder.glob("*.sql")]
        near = get_close_matches(name, known, n=NAMES_SUGGESTED, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}" if near else "`rackrecon query` lists them"
        raise NoSuchQuestionError(f"no question {name!r}; {hint}")
    return _parse(name, path.read_text("utf-8"))


def read_questions(folder: Path) -> Sequence[Question]:
    """Return every question, by name."""
    return [_parse(path.stem, path.read_text("utf-8")) for path in sorted(folder.glob("*.sql"))]


def _parse(name: str, text: str) -> Question:
    grain, meaning, _ = text.split("\n", 2)
    return Question(name, grain.removeprefix(_GRAIN).removesuffix("."), meaning.removeprefix(_COMMENT), text)
