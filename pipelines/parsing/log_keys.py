"""Which keys a result log states, how often and with which values: what a checker of logs and a reader of settings ask.

What an event means for a run belongs in `_log_runs`; whether a key should be there belongs in `scoring`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pipelines.parsing._log_events import Event, LogEvents, NotAnEventError, Statistics, load_json, read_events

Value = str | int | float | bool | None

_EVENT_KEYS = frozenset(
    f"{what}_{end}" for what in ("init", "run", "block", "epoch", "eval", "staging") for end in ("start", "stop")
) | {"cache_clear", "eval_accuracy", "eval_error", "tracked_stats", "train_loss", "throughput", "power_reading"}
"""Keys that mark a moment or measure something, and are no setting however often they stand there."""


@dataclass(slots=True)
class KeyUse:
    """One key of a log."""

    key: str
    line: int
    """Line of its first event, from 1."""
    count: int = 0
    values: dict[str, int] = field(default_factory=dict)
    """Each distinct value as JSON text or as `an object`, with the line where it first stands."""
    value: Value = None
    """Value of the first event where it is a scalar."""


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


_AN_OBJECT = "an object"


def read_log_keys(content: bytes) -> LogKeys:
    """Return the keys of a log; nothing in `content` raises."""
    log = read_events(content)
    keys: dict[str, KeyUse] = {}
    lines = log.lines.tolist()
    for event, line in zip(log.events, lines, strict=True):
        use = keys.get(event.key)
        if use is None:
            use = keys[event.key] = KeyUse(event.key, line, value=_scalar(event))
        use.count += 1
        use.values.setdefault(_text(event), line)
    return LogKeys(
        keys=keys,
        broken_lines=tuple((broken.line, broken.reason) for broken in log.broken),
        not_finite_lines=tuple(_not_finite(log, lines)),
        first_carriage_return=_first_carriage_return(content),
        ends_in_newline=not content or content.endswith(b"\n"),
    )


def _scalar(event: Event) -> Value:
    value = event.value
    return value if isinstance(value, str | int | float | bool) else None


def _text(event: Event) -> str:
    return _AN_OBJECT if isinstance(event.value, Statistics | list) else repr(event.value)


def _not_finite(log: LogEvents, lines: list[int]) -> list[tuple[int, str]]:
    """Return where a text holds one of the words that the json module takes for numbers and JSON does not have."""
    suspects = [place for place, text in enumerate(log.texts[: len(lines)]) if b"NaN" in text or b"Infinity" in text]
    return [(lines[place], log.events[place].key) for place in suspects if _has_no_number(log.texts[place])]


def _has_no_number(text: bytes) -> bool:
    try:
        record = load_json(text)
    except NotAnEventError:
        return False
    return _is_not_finite(record)


def _is_not_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_is_not_finite, value.values()))
    if isinstance(value, list):
        return any(map(_is_not_finite, value))
    return isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")))


def _first_carriage_return(content: bytes) -> int | None:
    place = content.find(b"\r\n")
    return None if place < 0 else content.count(b"\n", 0, place) + 1
