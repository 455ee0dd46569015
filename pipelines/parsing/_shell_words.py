"""Shell text to simple commands: where a word and a command end, and nothing of what they mean.

Quotes, comments, continuations, `$(...)`, `${...}` and here-documents belong here; values belong in `_shell`.
Reading takes one pass whatever the text holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PLAIN = re.compile(r"[^\s'\"\\$`;&|()<>#]+")
_BLANK = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_REDIRECTION = re.compile(r"(?:<<<|[<>]+)[|]?(&(?:\d|-))?&?")
_HERE_DOCUMENT = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1")
_SEPARATOR = re.compile(r"&&|\|\||;;&?|;&|\|&|[;&|()\n]")
_BEFORE_TEST = frozenset({"if", "elif", "while", "until", "then", "else", "do", "!"})
_ARRAY_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command: its words as written, and what stands after it."""

    words: tuple[str, ...]
    line: int
    """Line of its first word, from 1."""
    separator: str
    """`&&`, `||`, `|`, `;`, `(`, `)`, a line end, or nothing at the end of the text."""


class UnterminatedError(ValueError):
    """A quote or a bracket is never closed; the text cannot be read from there."""

    def __init__(self, line: int) -> None:
        super().__init__(f"a quote or bracket that opens on line {line} is never closed")
        self.line = line


def commands(text: str) -> Iterator[Command]:
    """Give the commands of a text in order.

    Raises:
        UnterminatedError: after the commands before a quote or bracket that is never closed.
    """
    return _Splitter(text).commands()


class _Splitter:
    """One pass over a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.line = 1
        self.here_documents: list[str] = []

    def commands(self) -> Iterator[Command]:
        words: list[str] = []
        first_line = 1
        is_test = False
        starts_command = True
        while self.position < len(self.text):
            if self.skip_blanks_and_redirections(is_test=is_test):
                continue
            is_arithmetic = starts_command and self.text.startswith("((", self.position)
            separator = None if is_test or is_arithmetic else _SEPARATOR.match(self.text, self.position)
            if separator is None:
                if not words:
                    first_line = self.line
                word = self.group() if is_arithmetic else self.word(is_test=is_test)
                is_test = word != "]]" if is_test else word == "[[" and starts_command
                starts_command = starts_command and word in _BEFORE_TEST
                if not (word.isdigit() and self.text.startswith(("<", ">"), self.position)):
                    words.append(word)
                continue
            yield Command(tuple(words), first_line if words else self.line, separator[0])
            words = []
            starts_command = True
            self.advance(separator.end())
            if separator[0] == "\n":
                self.skip_here_documents()
        if words:
            yield Command(tuple(words), first_line, "")

    def advance(self, end: int) -> None:
        self.line += self.text.count("\n", self.position, end)
        self.position = end

    def skip_blanks_and_redirections(self, *, is_test: bool) -> bool:
        text, start = self.text, self.position
        blank = _BLANK.match(text, start)
        if blank:
            self.advance(blank.end())
            return True
        if text[start] == "#":
            end = text.find("\n", start)
            self.advance(end if end >= 0 else len(text))
            return True
        if is_test and text[start] == "\n":
            self.advance(start + 1)
            return True
        if text[start] not in "<>" or is_test:
            return False
        here = _HERE_DOCUMENT.match(text, start)
        if here:
            self.here_documents.append(here[2])
            self.advance(here.end())
            return True
        redirection = _REDIRECTION.match(text, start)
        self.advance(redirection.end() if redirection else start + 1)
        if redirection is None or not redirection[1]:
            target = _BLANK.match(text, self.position)
            self.advance(target.end() if target else self.position)
            self.word(is_test=False)
        return True

    def skip_here_documents(self) -> None:
        for delimiter in self.here_documents:
            end = re.compile(rf"^\t*{delimiter}$", re.MULTILINE).search(self.text, self.position)
            self.advance(end.end() if end else len(self.text))
        self.here_documents = []

    def group(self) -> str:
        start, end = self.position, end_of_group(self.text, self.position)
        if end < 0:
            raise UnterminatedError(self.line)
        self.advance(end)
        return self.text[start:end]

    def word(self, *, is_test: bool) -> str:
        text, start = self.text, self.position
        if is_test and text.startswith("]]", start):
            self.advance(start + 2)
            return "]]"
        end = start
        stops = " \t\r\n" if is_test else " \t\r\n;&|()<>"
        while end < len(text) and text[end] not in stops:
            plain = _PLAIN.match(text, end)
            end = plain.end() if plain else end_of_group(text, end)
            if end < 0:
                raise UnterminatedError(self.line)
            if end < len(text) and text[end] == "(" and _ARRAY_ASSIGNMENT.fullmatch(text, start, end):
                end = end_of_group(text, end)
                if end < 0:
                    raise UnterminatedError(self.line)
        self.advance(end)
        return text[start:end]


_CLOSER = {"(": ")", "{": "}"}


def end_of_group(text: str, start: int) -> int:
    """Return the end of the quote, expansion or single character that starts at `start`, -1 where it never closes."""
    closers: list[str] = []
    position = start
    while position < len(text):
        position = _step(text, position, closers)
        if not closers:
            return min(position, len(text))
    return -1


_DULL = {
    '"': re.compile(r'[^"\\$`]+'),
    ")": re.compile(r"[^()'\"\\$`]+"),
    "}": re.compile(r"[^}'\"\\$`]+"),
    "`": re.compile(r"[^`\\]+"),
}


def _step(text: str, position: int, closers: list[str]) -> int:
    """Take one quote, bracket or run of dull characters, and keep the closers that are waited for."""
    closer = closers[-1] if closers else ""
    dull = _DULL[closer].match(text, position) if closer else None
    if dull:
        return dull.end()
    character = text[position]
    if character == closer:
        closers.pop()
        return position + 1
    if character == "\\":
        return position + 2
    if character == "'" and closer != '"':
        end = text.find("'", position + 1)
        if end < 0:
            closers.append("never")
            return len(text)
        return end + 1
    if character in '"`':
        closers.append(character)
    elif character == "$" and text[position + 1 : position + 2] in ("(", "{"):
        closers.append(_CLOSER[text[position + 1]])
        return position + 2
    elif character == "(" and closer in ("", ")"):
        closers.append(")")
    return position + 1
