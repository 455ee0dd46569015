"""JSON as people type it: comments, a comma before a closing bracket, none between two fields, line breaks in texts.

Only what can mean nothing else is mended, and each mend is told; a text that is cut off stays broken.
"""

from __future__ import annotations

import re

MOST_MENDS = 1_000
"""Mends of one text; what needs more is another language."""

# Possessive, so that a quote that nothing closes costs one pass.
_PIECE = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*+"?)|(?P<comment>//[^\n]*+|\#[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)'
    r"|(?P<space>\s++)|(?P<mark>[{}\[\],:])|(?P<other>[^\s{}\[\],:\"/#]++|.)",
    re.DOTALL,
)
_COLON = re.compile(r"\s*+:")
_ESCAPED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_BREAK = re.compile("[\n\r\t]")


def mended_json(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text without what JSON does not allow but people write, and what was mended, with its lines.

    Lines stay where they are.

    Raises:
        ValueError: it needs more than `MOST_MENDS`.
    """
    mending = _Mending()
    for found in _PIECE.finditer(text):
        mending.add(str(found.lastgroup), found[0], is_name=_COLON.match(text, found.end()) is not None)
        if len(mending.mends) > MOST_MENDS:
            raise ValueError(f"more than {MOST_MENDS} places that are no JSON")
    return "".join(mending.written), tuple(mending.mends)


class _Mending:
    """A text while it is mended, piece by piece."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.mends: list[str] = []
        self._line = 1
        self._before = "{"
        self._before_at = (0, 1)
        """Where the piece before was written, and its line."""

    def add(self, kind: str, piece: str, *, is_name: bool) -> None:
        """Write a piece; a name is a text with a colon behind it."""
        if kind == "comment":
            self._mend("a comment")
            self.written.append("\n" * piece.count("\n"))
        elif kind == "space":
            self.written.append(piece)
        else:
            if piece in ("}", "]") and self._before == ",":
                self._drop_comma(piece)
            place = len(self.written), self._line
            self.written.append(self._text(piece, is_name=is_name) if kind == "string" else piece)
            self._before, self._before_at = piece, place
        self._line += piece.count("\n")

    def _text(self, piece: str, *, is_name: bool) -> str:
        comma = ""
        if is_name and self._before not in ("{", "[", ","):
            self._mend(f"no comma before {piece[:50]}")
            comma = ","
        if _BREAK.search(piece):
            self._mend("a line break or tab inside a text")
            piece = _BREAK.sub(lambda found: _ESCAPED[found[0]], piece)
        return comma + piece

    def _drop_comma(self, closing: str) -> None:
        place, line = self._before_at
        self.written[place] = ""
        self.mends.append(f"a comma before {closing} in line {line}")

    def _mend(self, what: str) -> None:
        self.mends.append(f"{what} in line {self._line}")
