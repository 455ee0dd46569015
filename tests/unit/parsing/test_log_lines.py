"""Where lines end and event texts stand, held against Python's own searches."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing import _log_lines
from pipelines.parsing._log_lines import locate

_CONTENTS = st.lists(st.sampled_from([b"\n", b"\n\n", b"a", b"text of more than eight bytes", b"\n" * 9])).map(b"".join)
_LINES = st.lists(st.sampled_from([b"\n", b"\r", b":", b"::", b":::MLLOG ", b":::MLLOG", b"0: ", b"{}", b"x" * 30]))


@given(_CONTENTS)
def test_newlines_before_an_offset_and_after_it(content: bytes) -> None:
    _, newlines = locate(content)
    offsets = list(range(len(content) + 1))
    assert newlines.before(np.array(offsets)).tolist() == [content[:offset].count(b"\n") for offset in offsets]
    in_a_line = [offset for offset in offsets if b"\n" not in content[max(0, offset - 7) : offset]]
    before, ends = newlines.around(np.array(in_a_line, np.int64))
    assert before.tolist() == [content[:offset].count(b"\n") for offset in in_a_line]
    assert ends.tolist() == [(content + b"\n").find(b"\n", offset) for offset in in_a_line]


@given(_LINES.map(b"".join))
def test_the_text_after_the_last_token_of_a_line(content: bytes) -> None:
    located, _ = locate(content)
    expected = []
    for number, line in enumerate(content.split(b"\n")):
        # A carriage return ends a text, after which another may begin on the same line.
        expected += [(number, part.rpartition(b":::MLLOG ")[2]) for part in line.split(b"\r") if b":::MLLOG " in part]
    bounds = zip(located.lines.tolist(), located.starts.tolist(), located.ends.tolist(), strict=True)
    assert [(number, content[start:end]) for number, start, end in bounds] == expected


@given(_LINES.map(b"".join))
def test_blocks_join_without_seam(content: bytes) -> None:
    (in_one, newlines), offsets = locate(content), np.arange(len(content) + 1)
    with patch.object(_log_lines, "_BLOCK_BYTES", 16):
        in_blocks, newlines_of_blocks = locate(content)
    for name in ("starts", "ends", "lines"):
        assert getattr(in_blocks, name).tolist() == getattr(in_one, name).tolist()
    assert newlines_of_blocks.before(offsets).tolist() == newlines.before(offsets).tolist()
