"""Which keys a result log states, how often and with which values: what a linter of logs and a reader of settings ask.

Every event is looked at by itself, repeated ones too; what an event means for a run belongs in `result_logs`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Value = str | int | float | bool | None

_TOKEN = b":::MLLOG "
_EVENT_KEYS = frozenset(
    f"{what}_{end}" for what in ("init", "run", "block", "epoch", "eval", "staging") for end in ("start", "stop")
) | {"cache_clear", "eval_accuracy", "eval_error", "tracked_stats", "train_loss", "throughput", "power_reading"}
"""Keys that mark a moment or measure something, and are no setting however often they stand there."""
_AN_OBJECT = "an object"
_MOST_VALUES = 1000
"""Distinct values that are kept of one key; a key with more is a measurement."""


@dataclass(slots=True)
class KeyUse:
    """One key of a log."""

    key: str
    line: int
    """Line of its first event, from 1."""
    value: Value
    """Value of the first event where it is a scalar."""
    second_line: int | None = None
    count: int = 0
    values: dict[str, int] = field(default_factory=dict)
    """Each distinct value as Python writes it, or `an object`, with the line where it first stands."""


@dataclass(frozen=True, slots=True)
class LogKeys:
    """The keys of one log."""

    keys: dict[str, KeyUse]
    broken_lines: tuple[tuple[int, str], ...]
    """Line and reason of each event that does not parse."""
    not_finite_lines: tuple[tuple[int, str], ...]
    """Line and key of each event that holds NaN or infinity, which JSON does not have."""
    first_carriage_return: int | None
    """First line that ends in a carriage return."""
    ends_in_newline: bool

    def settings(self) -> dict[str, Value]:
        """Return what the log states once and for all: each key with one scalar value."""
        return {
            name: use.value
            for name, use in self.keys.items()
            if name not in _EVENT_KEYS and len(use.values) == 1 and next(iter(use.values)) != _AN_OBJECT
        }


def read_log_keys(content: bytes) -> LogKeys:
    """Return the keys of a log; nothing in `content` raises.

    As in the official reader, the text after the last token of a line counts, and it is an event if the json module
    takes it.
    """
    keys: dict[str, KeyUse] = {}
    broken: list[tuple[int, str]] = []
    not_finite: list[tuple[int, str]] = []
    for line, text in _event_texts(content):
        try:
            key, value = _event(text)
        except ValueError as error:
            broken.append((line, str(error)))
            continue
        if (b"NaN" in text or b"Infinity" in text) and _holds_no_number(json.loads(text.decode("latin-1"))):
            not_finite.append((line, key))
        use = keys.get(key)
        if use is None:
            use = keys[key] = KeyUse(key, line, value if isinstance(value, str | int | float | bool) else None)
        elif use.second_line is None:
            use.second_line = line
        use.count += 1
        if len(use.values) < _MOST_VALUES:
            use.values.setdefault(_AN_OBJECT if isinstance(value, dict | list) else repr(value), line)
    return LogKeys(
        keys=keys,
        broken_lines=tuple(broken),
        not_finite_lines=tuple(not_finite),
        first_carriage_return=_first_carriage_return(content),
        ends_in_newline=not content or content.endswith(b"\n"),
    )


def holds_event(content: bytes) -> bool:
    """Say whether a file holds an event that parses; a text that speaks of events holds none."""
    return any(_is_event(text) for _, text in _event_texts(content))


def _is_event(text: bytes) -> bool:
    try:
        _event(text)
    except ValueError:
        return False
    return True


def _event_texts(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Give the line and the text of each event; a carriage return ends a line as a newline does."""
    if _TOKEN not in content:
        return
    for line, text in enumerate(content.split(b"\n"), start=1):
        if _TOKEN in text:
            for part in text.split(b"\r"):
                if _TOKEN in part:
                    yield line, part.rpartition(_TOKEN)[2]


def _event(text: bytes) -> tuple[str, Any]:
    """Return key and value of an event.

    Raises:
        ValueError: the text is no event.
    """
    try:
        record = json.loads(text.decode("latin-1").strip())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise ValueError(f"a JSON {type(record).__name__}, not an object")
    missing = [name for name in ("time_ms", "key", "value", "metadata") if name not in record]
    if missing:
        raise ValueError(f"without {', '.join(missing)}")
    if not isinstance(record["key"], str):
        raise ValueError("a key that is no text")
    return _storable(record["key"]), _storable(record["value"])


def _storable(value: Any) -> Any:
    """Return a text without halves of surrogate pairs, which JSON may escape; any other value as it is."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


def _holds_no_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_no_number, value.values()))
    if isinstance(value, list):
        return any(map(_holds_no_number, value))
    return isinstance(value, float) and not math.isfinite(value)


def _first_carriage_return(content: bytes) -> int | None:
    place = content.find(b"\r\n")
    return None if place < 0 else content.count(b"\n", 0, place) + 1
