"""Log events out of the bytes of one result log: where each stands, what it says, which are broken.

Finding and decoding events belongs here; what an event means for a run does not.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt

from pipelines.parsing._log_floods import FloodGate, earliest_ms

TOKEN = b":::MLLOG "
"""What introduces an event; the text after the last one on a line counts."""

LARGEST_INTEGER = 2**63 - 1

_RAREST_LETTER = TOKEN.index(b"G")
_TOKEN_WORD = np.frombuffer(TOKEN, np.uint64, 1)[0]
_NEWLINE, _CARRIAGE_RETURN, _SPACE = b"\n\r "

# The json module refuses integers of more than 4,300 digits, msgspec skips over them: such lines go to json.
_LONGEST_FOR_MSGSPEC = 4_000
_REFUSALS = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)

Places = dict[str, list[int]]
"""Where the events of each key stand among the events of a log."""

_Offsets = npt.NDArray[np.int64]
_Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_INTEGER)]


class Statistics(msgspec.Struct, gc=False):
    """The members of an event's dictionary value that are read; the others are checked and passed over."""

    train_step_time: float | None = None
    train_step_timing: float | None = None
    train_step_timing_in_s: float | None = msgspec.field(default=None, name="train_step_timing in s")
    time: float | None = None
    data: float | None = None
    reduced_train_loss: float | None = None
    train_loss: float | None = None
    loss: float | None = None
    throughput: float | None = None
    imgs_sec: float | None = None
    lr: float | None = None
    learning_rate: float | None = None
    max_memory_usage: float | None = None
    validation_step_time: float | None = None


class Metadata(msgspec.Struct, gc=False):
    """The members of an event's metadata that are read."""

    samples_count: float | None = None
    epoch_num: float | None = None
    step_num: float | None = None
    step: float | list[Any] | None = None
    lr: float | None = None
    status: str | None = None
    metric: str | None = None


class Event(msgspec.Struct, gc=False):
    """One log event."""

    time_ms: _Milliseconds
    key: str
    value: Statistics | list[Any] | str | int | float | bool | None
    metadata: Metadata


_decode_plain = msgspec.json.Decoder(Event).decode


@dataclass(frozen=True, slots=True)
class BrokenEvent:
    """A line with the token whose text is no event."""

    line: int
    text: bytes
    reason: str
    is_json: bool
    """Whether the text is JSON, though not an event."""


@dataclass(frozen=True, slots=True)
class LogEvents:
    """The events of one log, in the order of their lines."""

    events: list[Event]
    lines: _Offsets
    """Line number of each event, from 1."""
    texts: list[bytes]
    """Text of each event, after the token."""
    broken: list[BrokenEvent]
    line_count: int
    event_count: int
    """Lines with an event, broken and repeated ones included."""
    repeated_ms: dict[str, int]
    """Earliest time of the events that are left out as repeated ones, by their key."""


class LogReader:
    """Reads logs; what it learns of one log's repeated events speeds up the next."""

    def __init__(self) -> None:
        self._gate = FloodGate(_key_of)

    def read(self, content: bytes) -> LogEvents:
        """Return the events of a log; nothing in `content` raises.

        Lines end at a newline. As in the official reader a carriage return ends an event too, and of two tokens on a
        line the last one counts; a text is an event if the json module accepts it and it is an object with a time in
        milliseconds, a key, a value and metadata.
        """
        starts, ends, lines, line_count = _locate(content)
        event_count = len(starts)
        repeated = self._gate.part(content, starts, ends)
        repeated_ms = {key: earliest_ms(content, starts[places]) for key, places in repeated.items()}
        if repeated:
            is_other = np.ones(event_count, np.bool_)
            is_other[np.concatenate(list(repeated.values()))] = False
            starts, ends, lines = starts[is_other], ends[is_other], lines[is_other]
        texts = [content[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        broken: list[BrokenEvent] = []
        try:
            events = list(map(_decode_plain if _are_short(starts, ends) else decode, texts))
        except (*_REFUSALS, NotAnEventError):
            events, kept, broken = _decode_one_by_one(texts, lines)
            lines, texts = lines[kept], [texts[place] for place in kept]
        return LogEvents(events, lines, texts, broken, line_count, event_count, repeated_ms)


def _are_short(starts: _Offsets, ends: _Offsets) -> bool:
    return int((ends - starts).max(initial=0)) <= _LONGEST_FOR_MSGSPEC


def _locate(content: bytes) -> tuple[_Offsets, _Offsets, _Offsets, int]:
    """Return start, end and line number of every event text, and the number of lines."""
    characters = np.frombuffer(content, np.uint8)
    newlines = (characters == _NEWLINE).nonzero()[0]
    line_count = len(newlines)
    if content and not content.endswith(b"\n"):
        newlines = np.append(newlines, len(content))
        line_count += 1
    starts = _token_ends(content, characters)
    lines = newlines.searchsorted(starts)
    ends = newlines[lines]
    if b"\r" in content:
        returns = np.append((characters == _CARRIAGE_RETURN).nonzero()[0], len(content))
        ends = np.minimum(ends, returns[returns.searchsorted(starts)])
    is_overtaken = starts[1:] <= ends[:-1]
    if is_overtaken.any():
        is_last = np.append(~is_overtaken, True)
        starts, ends, lines = starts[is_last], ends[is_last], lines[is_last]
    return starts, ends, lines + 1, line_count


def _token_ends(content: bytes, characters: npt.NDArray[np.uint8]) -> _Offsets:
    """Return the offset behind every token.

    Looking for the letter of the token that logs use least, then comparing eight bytes at once, takes half the
    time of a substring search.
    """
    if len(content) < len(TOKEN):
        return np.empty(0, np.int64)
    words = np.ndarray((len(content) - 7,), np.uint64, content, strides=(1,))
    letters = characters[_RAREST_LETTER : len(content) - 1]
    found = (letters == TOKEN[_RAREST_LETTER]).nonzero()[0]
    found = found[words[found] == _TOKEN_WORD]
    starts: _Offsets = found[characters[found + 8] == _SPACE] + len(TOKEN)
    return starts


class NotAnEventError(Exception):
    """A text is no log event; the message says why."""

    def __init__(self, reason: str, *, is_json: bool) -> None:
        super().__init__(reason)
        self.is_json = is_json


def decode(text: bytes) -> Event:
    """Return the event that a text is.

    Raises:
        NotAnEventError: the text is none.
    """
    if len(text) <= _LONGEST_FOR_MSGSPEC:
        try:
            return _decode_plain(text)
        except _REFUSALS:
            pass
    return _decode_with_json(text)


def _decode_one_by_one(texts: list[bytes], lines: _Offsets) -> tuple[list[Event], list[int], list[BrokenEvent]]:
    """Return the events, their places among the texts, and the texts that are none."""
    events: list[Event] = []
    kept: list[int] = []
    broken: list[BrokenEvent] = []
    for place, text in enumerate(texts):
        try:
            events.append(decode(text))
            kept.append(place)
        except NotAnEventError as error:
            broken.append(BrokenEvent(int(lines[place]), text, str(error), error.is_json))
    return events, kept, broken


def _key_of(text: bytes) -> str | None:
    try:
        return decode(text).key
    except NotAnEventError:
        return None


def _decode_with_json(text: bytes) -> Event:
    """Decode what msgspec refuses but the json module takes: NaN, huge numbers, lone surrogates, other types."""
    record = load_json(text)
    if not isinstance(record, dict):
        raise NotAnEventError(f"a JSON {type(record).__name__}, not an object", is_json=True)
    missing = [name for name in ("time_ms", "key", "value", "metadata") if name not in record]
    if missing:
        raise NotAnEventError(f"without {', '.join(missing)}", is_json=True)
    key, metadata = record["key"], record["metadata"]
    return Event(
        time_ms=_milliseconds(record["time_ms"]),
        key=storable(key) if isinstance(key, str) else "",
        value=_value(record["value"]),
        metadata=_metadata(metadata) if isinstance(metadata, dict) else Metadata(),
    )


def load_json(text: bytes) -> Any:
    """Return the JSON value of an event's text.

    Raises:
        NotAnEventError: the text is not JSON to the json module, decoded as the official reader does (Latin-1).
    """
    try:
        record = json.loads(text.decode("latin-1").strip())
        if text.isascii():
            return record
    except (ValueError, RecursionError) as error:
        raise NotAnEventError(f"not JSON: {error}", is_json=False) from None
    try:
        return json.loads(text.decode("utf-8").strip())
    except ValueError:
        return record


def storable(text: str) -> str:
    """Return the text without lone surrogates, which no UTF-8 column can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _milliseconds(value: Any) -> int:
    number = as_number(value)
    if number is None or not 0 <= number <= LARGEST_INTEGER:
        raise NotAnEventError(f"time_ms is {str(value)[:40]!r}, not milliseconds since 1970", is_json=True)
    return int(number)


def as_number(value: Any) -> int | float | None:
    """Return a finite number that a JSON value states, as a number or in a string; else None."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:
        return None


def as_float(value: Any) -> float | None:
    """Return a number as a float, NaN and infinity included; None where the value is no number or too large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        members = {field.encode_name: field.name for field in msgspec.structs.fields(Statistics)}
        return Statistics(**{members[name]: as_float(value[name]) for name in value.keys() & members.keys()})
    return value


def _metadata(metadata: dict[str, Any]) -> Metadata:
    status, metric = (metadata.get(name) for name in ("status", "metric"))
    return Metadata(
        samples_count=_finite(metadata.get("samples_count")),
        epoch_num=_finite(metadata.get("epoch_num")),
        step_num=_finite(metadata.get("step_num")),
        step=_finite(metadata.get("step")),
        lr=as_float(metadata.get("lr")),
        status=storable(status) if isinstance(status, str) else None,
        metric=storable(metric) if isinstance(metric, str) else None,
    )


def _finite(value: Any) -> float | None:
    number = as_number(value)
    return None if number is None else float(number)
