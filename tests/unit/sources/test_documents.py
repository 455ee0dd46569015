"""A document's bytes as text: form, encoding, what is refused."""

from __future__ import annotations

import io
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.claims import LONGEST_DOCUMENT, Media
from pipelines.sources.documents import Document, read_document
from pipelines.sources.errors import SourceError


def read(content: bytes, name: str = "stdin", media: Media | None = None) -> Document:
    return read_document(name, io.BytesIO(content), media)


@pytest.mark.parametrize(
    ("name", "content", "media"),
    [
        ("a.txt", b"x", "text"),
        ("a.md", b"x", "markdown"),
        ("a.Markdown", b"<html>", "markdown"),
        ("a.htm", b"x", "html"),
        ("folder.html/a", b"x", "text"),
        ("a", b"<!doctype HTML><p>", "html"),
        ("a", b"\xef\xbb\xbf \n<html>", "html"),
        ("a", b"<?xml version='1.0'?><!-- a --><!-- b -->\n<!DOCTYPE html>", "html"),
        ("a", b"<htmlish>", "text"),
        ("a", b"see <html>", "text"),
    ],
)
def test_the_form(name: str, content: bytes, media: Media) -> None:
    assert read(content, name).media == media


def test_the_caller_knows_the_form() -> None:
    assert read(b"<html>", "a.html", "text").media == "text"


@pytest.mark.parametrize(
    ("content", "encoding", "is_guessed"),
    [
        ("half – ½".encode(), "utf-8", False),
        ("half – ½".encode("utf-8-sig"), "utf-8-sig", False),
        ("half – ½".encode("utf-16"), "utf-16", False),
        ("half – ½".encode("utf-32"), "utf-32", False),
        ("half – ½".encode("windows-1252"), "windows-1252", True),
    ],
)
def test_the_encoding(content: bytes, encoding: str, is_guessed: bool) -> None:
    document = read(content)
    assert (document.text, document.encoding, document.is_guessed) == ("half – ½", encoding, is_guessed)


@pytest.mark.parametrize(
    ("stated", "encoding", "is_guessed"),
    [
        ("iso-8859-15", "iso8859-15", False),
        ("KOI8-R", "koi8-r", False),
        ("utf-8", "windows-1252", True),
        ("utf-16", "windows-1252", True),
        ("hex", "windows-1252", True),
        ("unicode_escape", "windows-1252", True),
        ("no-such", "windows-1252", True),
    ],
)
def test_a_page_states_its_encoding(stated: str, encoding: str, is_guessed: bool) -> None:
    page = f'<html><meta http-equiv="Content-Type" content="text/html; charset={stated}"><p>'.encode() + b"\xe9"
    document = read(page)
    assert (document.encoding, document.is_guessed) == (encoding, is_guessed)
    assert document.text.endswith(b"\xe9".decode(encoding))


def test_an_endless_document_ends_and_is_longer_than_what_is_read() -> None:
    class Endless(io.RawIOBase):
        taken = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
            self.taken += len(buffer)
            buffer[:] = b"\xf0\x9f\x92\xa1"[: len(buffer)] * (len(buffer) // 4) + b"\xf0" * (len(buffer) % 4)
            return len(buffer)

    endless = Endless()
    text = read_document("stdin", io.BufferedReader(endless)).text
    assert LONGEST_DOCUMENT < len(text) <= LONGEST_DOCUMENT + 2
    assert endless.taken < 5 * LONGEST_DOCUMENT


class Broken(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize(
    ("stream", "found"),
    [
        (io.BytesIO(b"%PDF-1.4"), "found a PDF; extract its text first, as pdftotext does"),
        (io.BytesIO(b"MZ\0\0"), "found a binary file"),
        (Broken(), "found Input/output error"),
    ],
)
def test_what_is_refused(stream: BinaryIO, found: str) -> None:
    with pytest.raises(SourceError, match=found) as raised:
        read_document("a.txt", stream)
    assert str(raised.value).startswith("a.txt: expected ")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_text_or_refused(content: bytes) -> None:
    try:
        document = read(content)
    except SourceError:
        return
    assert "\0" not in document.text
