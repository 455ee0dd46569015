"""JSON as people type it is read, and told; what can mean two things is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing._mended_json import MOST_MENDS, mended_json
from pipelines.parsing._published_json import decoded, parse_json, read_json


@pytest.mark.parametrize(
    ("text", "value", "mends"),
    [
        ('{"a": {"b": "1",\n },\n}', {"a": {"b": "1"}}, ("a comma before } in line 1", "a comma before } in line 2")),
        ("[1, 2, ]", [1, 2], ("a comma before ] in line 1",)),
        ('{"a": 1, // why\n"b": 2}', {"a": 1, "b": 2}, ("a comment in line 1",)),
        ('# first\n{"a": /* in\nside */ 1}', {"a": 1}, ("a comment in line 1", "a comment in line 2")),
        ('{"a": 1, # last\n}', {"a": 1}, ("a comment in line 1", "a comma before } in line 1")),
        ('{"a": "1"\n "b": [2]\n "c" : 3}', {"a": "1", "b": [2], "c": 3}, ('no comma before "b" in line 2',
                                                                           'no comma before "c" in line 3')),
        ('{"a": "two\nlines", "b": "\t"}', {"a": "two\nlines", "b": "\t"},
         ("a line break or tab inside a text in line 1", "a line break or tab inside a text in line 2")),
    ],
)  # fmt: skip
def test_what_people_type_is_read_and_told(text: str, value: object, mends: tuple[str, ...]) -> None:
    assert read_json(text) == (value, mends)


@pytest.mark.parametrize("text", ['{"url": "https://a.b/#c", "note": "a,} /* b */", "q": "\\",]"}', "[]", "1", '"#"'])
def test_what_is_json_is_not_touched(text: str) -> None:
    assert read_json(text) == (json.loads(text), ())
    assert mended_json(text) == (text, ())


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a": 1', '{"a": "b', '{"a" 1}', "{'a': 1}", '{"a": "x,\n "b": 1}', "[1 2]", '{"a": "b": 1}', ","],
)
def test_what_can_mean_two_things_or_is_cut_off_stays_broken(text: str) -> None:
    with pytest.raises(json.JSONDecodeError) as mended:
        read_json(text)
    with pytest.raises(json.JSONDecodeError) as strict:
        parse_json(text)
    assert str(mended.value) == str(strict.value)


def test_a_text_of_nothing_but_mends_is_refused() -> None:
    text = "[" + "#\n" * (MOST_MENDS + 1) + "]"
    with pytest.raises(ValueError, match="Expecting value"):
        read_json(text)
    assert read_json(text.replace("#\n", "", 1))[0] == []


@pytest.mark.parametrize("opening", ['"\\"', "/*", "/", "#", "//", '"'])
def test_what_nothing_closes_costs_one_pass(opening: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|Unterminated|Extra data"):
        read_json(opening * 300_000)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_JSON, st.sampled_from(['# a "comment"\n', "/* , } ] */", "// x\n"]))
def test_comments_and_last_commas_change_no_value(value: Any, comment: str) -> None:
    written = json.dumps({"a": value, "b": [value]}, indent=1).replace("\n", f"\n{comment}", 1)
    assert read_json(written[:-1] + ",}")[0] == {"a": value, "b": [value]}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_other_encodings_are_told_by_their_mark(encoding: str) -> None:
    assert decoded("\u00e9 {}".encode(encoding)) == ("\u00e9 {}", f"{encoding.upper()} with a byte order mark")


def test_utf8_is_read_with_and_without_a_mark() -> None:
    assert decoded(b"\xef\xbb\xbf{}") == decoded(b"{}") == ("{}", None)
    text, wrong = decoded(b"a\xff")
    assert (text, "0xff" in str(wrong)) == ("a\ufffd", True)
