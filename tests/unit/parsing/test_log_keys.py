from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.log_keys import read_log_keys


def line(key: str, value: Any, **metadata: Any) -> str:
    return ":::MLLOG " + json.dumps({"time_ms": 1, "key": key, "value": value, "metadata": metadata})


def log(*lines: str, end: str = "\n") -> bytes:
    return ("\n".join(lines) + end).encode()


def test_each_key_with_its_lines_and_values() -> None:
    read = read_log_keys(
        log("noise", line("seed", 7), "0: " + line("seed", 7), line("seed", 8), line("run_start", None))
    )
    seed = read.keys["seed"]
    assert (seed.line, seed.second_line, seed.count, seed.value) == (2, 3, 3, 7)
    assert seed.values == {"7": 2, "8": 4}
    assert read.keys["run_start"].second_line is None
    assert (read.broken_lines, read.not_finite_lines, read.first_carriage_return) == ((), (), None)
    assert read.ends_in_newline


def test_settings_are_what_is_stated_once_and_for_all() -> None:
    read = read_log_keys(
        log(
            line("global_batch_size", 1248),
            line("opt_name", "adamw"),
            line("opt_name", "adamw"),
            line("seed", 1),
            line("seed", 2),
            line("init_stop", None),
            line("tracked_stats", {"train_step_time": 1.0}),
            line("conv_layers", {"a": 1}),
        )
    )
    assert read.settings() == {"global_batch_size": 1248, "opt_name": "adamw"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"time_ms": 1, "key": "a"', "not JSON"),
        ("[1]", "a JSON list, not an object"),
        ('{"time_ms": 1, "key": "a", "value": 1}', "without metadata"),
        ('{"time_ms": 1, "key": 3, "value": 1, "metadata": {}}', "a key that is no text"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_line_that_is_no_event_is_told_with_its_reason(text: str, reason: str) -> None:
    ((number, told),) = read_log_keys(log("x", f":::MLLOG {text}")).broken_lines
    assert number == 2
    assert told.startswith(reason)


def test_nan_and_infinity_are_found_and_their_names_in_texts_are_not() -> None:
    read = read_log_keys(
        b':::MLLOG {"time_ms": 1, "key": "loss", "value": {"a": [NaN]}, "metadata": {}}\n'
        b':::MLLOG {"time_ms": 1, "key": "note", "value": "NaN is no number", "metadata": {}}\n'
        b':::MLLOG {"time_ms": 1, "key": "rate", "value": -Infinity, "metadata": {}}\n'
    )
    assert read.not_finite_lines == ((1, "loss"), (3, "rate"))


def test_line_ends() -> None:
    read = read_log_keys(b"first\n" + line("a", 1).encode() + b"\r\n" + line("b", 2).encode())
    assert read.first_carriage_return == 2
    assert not read.ends_in_newline
    assert [use.line for use in read.keys.values()] == [2, 3]


def test_the_last_token_of_a_line_counts_and_a_carriage_return_ends_an_event() -> None:
    joined = f"{line('first', 1)} {line('last', 2)}"
    progress = f"50%\r{line('third', 3)}\r100%"
    assert list(read_log_keys(log(joined, progress)).keys) == ["last", "third"]


@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda text: f":::MLLOG {text}\n".encode()))
def test_no_content_raises(content: bytes) -> None:
    read = read_log_keys(content)
    assert sum(use.count for use in read.keys.values()) + len(read.broken_lines) <= content.count(b":::MLLOG ")
