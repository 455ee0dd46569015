"""A document whose claims are to be checked: its bytes as text, and the form it is written in.

What the text claims belongs in `parsing.claims`.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO

from pipelines.parsing.claims import LONGEST_DOCUMENT, Media
from pipelines.sources.errors import SourceError

_MOST_BYTES_OF_A_CHARACTER = 4
_MOST_BYTES = _MOST_BYTES_OF_A_CHARACTER * (LONGEST_DOCUMENT + 2)
"""Enough for more characters than are read, so that a longer document is told as one, and an endless one ends."""

_MEDIA: dict[str, Media] = {
    ".htm": "html",
    ".html": "html",
    ".xhtml": "html",
    ".md": "markdown",
    ".markdown": "markdown",
}
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""The longer mark first: that of UTF-32 begins with that of UTF-16."""

_HTML = re.compile(rb"\s*(?:<!--.*?-->\s*|<\?xml[^>]*>\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.I)
_OF_PAGES = re.compile(r"iso8859|cp|koi8|gb|big5|euc|shift_jis")
"""Encodings, as Python names them, that pages were written in before UTF-8; others, such as `hex`, are no text."""

_SNIFFED_BYTES = 4096
_FALLBACK = "windows-1252"


@dataclass(frozen=True, slots=True)
class Document:
    """A document as text."""

    text: str
    media: Media
    encoding: str
    """How its bytes were read."""
    is_guessed: bool
    """Whether they were neither UTF-8 nor in an encoding that the document states."""


def read_document(name: str, stream: BinaryIO, media: Media | None = None) -> Document:
    """Read a document as text.

    Args:
        name: File name, whose suffix tells the form; a name that tells none is a text unless it begins as HTML does.
        stream: Its bytes, of which no more are read than are used.
        media: The form, where the caller knows it.

    Raises:
        SourceError: it cannot be read, or is no text.
    """
    try:
        content = stream.read(_MOST_BYTES)
    except OSError as error:
        raise SourceError(name, None, "a document", error.strerror or type(error).__name__) from error
    if content.startswith(b"%PDF-"):
        raise SourceError(name, None, "text, Markdown or HTML", "a PDF; extract its text first, as pdftotext does")
    form = media or _MEDIA.get(PurePath(name).suffix.lower()) or _sniffed(content)
    text, encoding, is_guessed = _decoded(content, form)
    if "\0" in text:
        raise SourceError(name, None, "text, Markdown or HTML", "a binary file")
    return Document(text, form, encoding, is_guessed)


def _sniffed(content: bytes) -> Media:
    return "html" if _HTML.match(content[:_SNIFFED_BYTES].removeprefix(codecs.BOM_UTF8)) else "text"


def _decoded(content: bytes, media: Media) -> tuple[str, str, bool]:
    """Return the text, its encoding, and whether that was guessed: a mark, UTF-8, what the page says, else a guess."""
    marked = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if content.startswith(mark)), None)
    if marked is not None:
        return content.decode(marked, errors="replace"), marked, False
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(content, final=len(content) < _MOST_BYTES), "utf-8", False
    except UnicodeDecodeError:
        stated = _stated(content) if media == "html" else None
        return content.decode(stated or _FALLBACK, errors="replace"), stated or _FALLBACK, stated is None


def _stated(content: bytes) -> str | None:
    """Return the encoding that a page states, where it is one that turns bytes into text."""
    found = _CHARSET.search(content[:_SNIFFED_BYTES])
    if found is None:
        return None
    try:
        name = codecs.lookup(found[1].decode("ascii")).name
    except (LookupError, UnicodeDecodeError):
        return None
    return name if _OF_PAGES.match(name) else None
