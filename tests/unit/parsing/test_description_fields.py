from __future__ import annotations

import pytest

from pipelines.parsing.description_fields import description_fields


def test_each_field_with_its_line() -> None:
    content = b'{\n  "submitter": "A",\n  "hw_notes": "submitter: x",\n\n  "stack": {"cuda": 1}\n}\n'
    assert description_fields(content) == {"submitter": 2, "hw_notes": 3, "stack": 5}


def test_a_byte_order_mark_and_an_escaped_name() -> None:
    assert description_fields('\ufeff{"\\u0061": 1,\n"b": 2}'.encode()) == {"a": 1, "b": 2}


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 1000])
def test_what_is_no_object_has_no_fields(content: bytes) -> None:
    assert description_fields(content) is None
