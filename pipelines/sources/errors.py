"""The one error of every source: what was read, where in it, what was expected and what was found."""

from __future__ import annotations

_LONGEST_QUOTE = 200


class SourceError(Exception):
    """A source cannot be read, or is not what it should be. Nothing of it is kept."""

    def __init__(self, source: str, member: str | None, expected: str, found: str) -> None:
        place = source if member is None else f"{source}: {printable(member)}"
        super().__init__(f"{place}: expected {expected}, found {found}")
        self.source = source
        self.member = member
        self.expected = expected
        self.found = found


class CutOffError(SourceError):
    """A source ends before its content does; the same source may be whole when it is read again."""


def printable(text: str) -> str:
    """Return untrusted text in a form that is safe to print: escaped where needed, and not too long."""
    shown = text if text.isprintable() else ascii(text)
    return shown if len(shown) <= _LONGEST_QUOTE else f"{shown[:_LONGEST_QUOTE]}..."
