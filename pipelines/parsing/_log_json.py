"""One log event out of its text: the usual form quickly, every other that JSON allows as well.

Decoding a text belongs here; finding the texts in a log is done in `_log_events`.
"""

from __future__ import annotations

import json
import math
import reprlib
from typing import Annotated, Any

import msgspec

LARGEST_INTEGER = 2**63 - 1

LINES_A_LOG = 2**32
"""Numbers the lines of all logs in one row: log times this plus line."""

# The json module refuses integers of more than 4,300 digits, msgspec skips over them: such texts go to json.
LONGEST_FOR_MSGSPEC = 4_000
REFUSALS = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)

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
    throughput: float | None = None
    imgs_sec: float | None = None
    lr: float | None = None
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
    place: int = 0
    """Its place among the lines of all logs; whoever reads a log sets it, whatever a text says."""

    @property
    def log(self) -> int:
        """Number of the log that it stands in."""
        return self.place // LINES_A_LOG

    @property
    def line(self) -> int:
        """Line number within the log, from 1."""
        return self.place % LINES_A_LOG


decode_short = msgspec.json.Decoder(Event).decode
"""Decodes a text of at most `LONGEST_FOR_MSGSPEC` bytes; raises one of `REFUSALS` where `decode` must be asked."""


class NotAnEventError(Exception):
    """A text is no log event; the message says why."""

    def __init__(self, reason: str, *, is_json: bool) -> None:
        super().__init__(reason)
        self.is_json = is_json


def decode(text: bytes) -> tuple[Event, list[str]]:
    """Return the event that a text is, and its members whose value could not be read.

    Raises:
        NotAnEventError: the text is none.
    """
    if len(text) <= LONGEST_FOR_MSGSPEC:
        try:
            return decode_short(text), []
        except REFUSALS:
            pass
    return _decode_with_json(text)


def _decode_with_json(text: bytes) -> tuple[Event, list[str]]:
    """Decode what msgspec refuses but the json module takes: NaN, huge numbers, lone surrogates, other types."""
    record = load_json(text)
    if not isinstance(record, dict):
        raise NotAnEventError(f"a JSON {type(record).__name__}, not an object", is_json=True)
    missing = [name for name in ("time_ms", "key", "value", "metadata") if name not in record]
    if missing:
        raise NotAnEventError(f"without {', '.join(missing)}", is_json=True)
    time_ms = as_number(record["time_ms"])
    if time_ms is None or not 0 <= time_ms <= LARGEST_INTEGER:
        raise NotAnEventError(f"time_ms is {quoted(record['time_ms'])}, not milliseconds since 1970", is_json=True)
    key, value, metadata = record["key"], record["value"], record["metadata"]
    unread = [] if isinstance(key, str) else ["key"]
    if time_ms != int(time_ms):
        unread.append("fraction of time_ms")
    if isinstance(value, dict):
        value = Statistics(**_members(value, Statistics, "value", unread))
    described = Metadata()
    if isinstance(metadata, dict):
        described = Metadata(**_members(metadata, Metadata, "metadata", unread))
    elif metadata:
        unread.append("metadata")
    event = Event(
        time_ms=int(time_ms),
        key=storable(key) if isinstance(key, str) else "",
        value=storable(value) if isinstance(value, str) else value,
        metadata=described,
    )
    return event, unread


def load_json(text: bytes) -> Any:
    """Return the JSON value of an event's text.

    Spaces of any kind may follow it, as the official reader strips the line; before it only those of JSON may stand.

    Raises:
        NotAnEventError: the text is not JSON to the json module, decoded as the official reader does (Latin-1).
    """
    try:
        record = json.loads(text.decode("latin-1").rstrip())
    except (ValueError, RecursionError) as error:
        raise NotAnEventError(f"not JSON: {error}", is_json=False) from None
    if text.isascii():
        return record
    try:
        return json.loads(text.decode("utf-8").rstrip())
    except (ValueError, RecursionError):
        return record


def quoted(value: Any) -> str:
    """Return a JSON value for a message, cut where it is long or deep."""
    return _quote.repr(value)


_quote = reprlib.Repr()
_quote.maxstring = _quote.maxlong = _quote.maxother = 100


def storable(text: str) -> str:
    """Return the text without lone surrogates, which no UTF-8 column can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


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


def _members(record: dict[str, Any], struct: type[msgspec.Struct], place: str, unread: list[str]) -> dict[str, Any]:
    """Return the members of a record that the struct has; those that cannot be read are added to `unread`."""
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(struct):
        value = record.get(field.encode_name)
        if value is None:
            continue
        if field.name in _TEXTS:
            found[field.name] = storable(value) if isinstance(value, str) else None
        else:
            found[field.name] = _number_of(value, may_be_infinite=place == "value" or field.name == "lr")
        if found[field.name] is None:
            unread.append(f"{place}.{field.encode_name}")
    return found


_TEXTS = ("status", "metric")


def _number_of(value: Any, *, may_be_infinite: bool) -> float | None:
    number = as_float(value) if may_be_infinite else None
    if number is None:
        stated = as_number(value)
        number = None if stated is None else float(stated)
    return number
