"""What nobody sends by mistake, to every parser and archive reader: none stops, none lets a bad row through.

The targets are those of the long run, `make bench-fuzz`; the tests beside this file say what each reader makes of what
is merely odd.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bench.fuzz.targets import PLAIN_SEEDS, TARGETS, seeds_of, tarball

TEXTS = [
    "",
    "\0",
    "a\0b",
    "\x1b[31mred",
    "\ufeff",
    "\u202egnp.exe",
    "\u2066\u2069",
    "e" + "\u0301" * 50,
    "\U0001f4a9",
    "\ud800",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd|' /C calc'!A0",
    "'; DROP TABLE mart.results; --",
    "../../etc/passwd",
    "%s%n{0}${x}`x`$(x)",
    "x" * 5000,
    "9" * 5000,
    "1e999",
    "-1e999",
    "NaN",
    "٣٤ GB",
    "½",
    "0x10",
    "1_000",
    "-8",
]
NUMBERS: list[Any] = [
    0,
    -1,
    2**31,
    2**63 - 1,
    2**63,
    10**400,
    1e308,
    5e-324,
    -0.0,
    float("nan"),
    float("inf"),
    True,
    None,
]
VALUES: list[Any] = [*TEXTS, *NUMBERS, [], {}, [[]], {"": {}}]


def blunt() -> Iterator[tuple[str, bytes]]:
    """Give bytes that are hostile to any reader of text."""
    yield "nothing", b""
    yield "NUL bytes", bytes(50_000)
    yield "one long line", b":::MLLOG " + b"a" * 200_000
    yield "many lines", b"\n" * 100_000
    yield "deep lists", b"[" * 30_000
    yield "deep objects", b'{"a":' * 10_000
    yield (
        "a deep value in an event",
        b':::MLLOG {"time_ms":1,"key":"a","value":%s%s,"metadata":{}}' % (b"[" * 9999, b"]" * 9999),
    )
    yield "deep HTML", b"<table><tr><td>" * 3000
    yield "deep Markdown", b"> " * 3000 + b"- " * 3000 + b"*" * 3000
    yield "a table of many columns", b"a," * 5_000
    yield "open quotes", b'"' * 9999 + b"'" * 9999
    yield "braces", b"${" * 5000 + b"$((" * 5000 + b"}" * 5000
    yield "no UTF-8", bytes(range(256)) * 40
    yield "UTF-16", "🦊{}".encode("utf-16")
    yield "an unfinished surrogate", b'{"a": "\\ud800"}'
    yield "numbers beyond all bounds", b"[1e999, -1e999, NaN, Infinity, " + b"9" * 5000 + b"]"
    yield "one key often", b"{" + b'"number_of_nodes": 1,' * 1000 + b'"number_of_nodes": 2}'
    yield "spans of a whole page", b"<table><tr><td rowspan=99999999 colspan=99999999>1</table>"
    yield (
        "entities in entities",
        b"<!DOCTYPE a ["
        + b"".join(b'<!ENTITY e%d "%s">' % (level, b"&e%d;" % (level - 1) * 9) for level in range(1, 9))
        + b"]><a>&e8;</a>",
    )
    yield "a PDF that is none", b"%PDF-1.7\n" + b"1 0 obj<</Length 99999999/Filter/FlateDecode>>stream\n" * 500
    yield (
        "a PDF whose pages are in a circle",
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[2 0 R]/Count 1>>endobj\ntrailer<</Root 1 0 R>>",
    )


BLUNT = dict(blunt())


@pytest.mark.parametrize("name", TARGETS)
def test_no_blunt_attack_stops_a_reader(name: str) -> None:
    for content in BLUNT.values():
        TARGETS[name](content)


def mutated(seed: bytes, place: int, value: Any) -> bytes:
    """Return the seed with one of its JSON values replaced, or with text put at some place of one that is no JSON."""
    texts = list(re.finditer(rb'"(?:[^"\\]|\\.)*"|-?[0-9.]+|null|true', seed))
    if not texts or place % 5 == 0:
        at = place % (len(seed) + 1)
        return seed[:at] + str(value).encode("utf-8", "surrogatepass") + seed[at:]
    found = texts[place % len(texts)]
    return seed[: found.start()] + json.dumps(value).encode() + seed[found.end() :]


CHANGES = st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(VALUES)), min_size=1, max_size=3)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(changes=CHANGES, number=st.integers(0, 50))
def test_no_value_anywhere_stops_a_reader(name: str, changes: list[tuple[int, Any]], number: int) -> None:
    seeds = (*seeds_of(name), *PLAIN_SEEDS)
    content = seeds[number % len(seeds)]
    for place, value in changes:
        content = mutated(content, place, value)
    TARGETS[name](content)


def test_brackets_and_nested_tags_are_read_in_linear_time() -> None:
    """Each took minutes when the time grew with the square or the cube of the length; the suite's time limit tells."""
    TARGETS["claims_markdown"](b"[" * 40_000 + b"![](" * 5_000 + b"[](" * 5_000)
    for tag in (b"<table><tr><td>", b"<dl><dt>", b"<div>", b"<ul><li>", b"<sup>"):
        TARGETS["claims_html"](tag * 8_000)
        TARGETS["sheet_html_tables"](tag * 8_000)


def test_spans_that_are_no_numbers() -> None:
    for span in ("²", "9" * 5000, "-1", "0", "٣"):
        TARGETS["claims_html"](f"<table><tr><td colspan={span} rowspan={span}>1</td></table>".encode())
        TARGETS["sheet_html_tables"](f"<table><tr><td colspan={span} rowspan={span}>1</td></table>".encode())


TOP = "training_results_v5.0-abc"


@pytest.mark.parametrize(
    "names",
    [
        [f"{TOP}/../../x"],
        ["/etc/passwd"],
        [f"{TOP}/a/b", f"{TOP}/a/b"],
        [f"{TOP}/" + "a/" * 4000 + "b"],
        [f"{TOP}/\u202ea/\u0301b"],
        [f"{TOP}/CON", f"{TOP}/a:b", f"{TOP}/a "],
        [f"{TOP}/{number}" for number in range(1100)],
    ],
)
def test_archives_with_hostile_names(names: list[str]) -> None:
    TARGETS["archive"](tarball(names))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, b"\0", b"V", b"D"]
)
def test_archives_with_members_that_are_no_files(kind: bytes) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo(f"{TOP}/a")
        member.type, member.linkname = kind, "/etc/passwd"
        archive.addfile(member)
    TARGETS["archive"](buffer.getvalue())
