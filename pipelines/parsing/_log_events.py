"""Log events out of the bytes of result logs: where each stands, what it says, which are broken.

Finding and decoding events belongs here; what an event means for a run does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from pipelines.parsing._log_json import (
    LINES_A_LOG,
    LONGEST_FOR_MSGSPEC,
    REFUSALS,
    Event,
    NotAnEventError,
    decode,
    decode_short,
)
from pipelines.parsing._log_known import KnownEvents, KnownValue, nothing_known
from pipelines.parsing._log_lines import Flags, Located, Offsets, locate
from pipelines.parsing._log_shapes import KnownRows, RowKind

EventsByKey = defaultdict[str, list[Event]]

_LARGER_THAN_ANY_BLOCK = 16_000_000
_EVENTS_AT_ONCE = 512
"""Events that are decoded before they are looked at: more would not stay in the processor's cache."""


@dataclass(slots=True)
class BrokenEvent:
    """A line with the token whose text is no event."""

    line: int
    text: bytes
    reason: str
    is_json: bool
    """Whether the text is JSON, though not an event."""


def first_on_each_line(broken: Sequence[BrokenEvent]) -> list[BrokenEvent]:
    """Return the first broken text of each line that has some, in the order of lines: returns may part a line."""
    of_line = {text.line: text for text in reversed(broken)}
    return sorted(of_line.values(), key=lambda text: text.line)


@dataclass(slots=True)
class Log:
    """What is told of one log beside its events."""

    line_count: int
    event_count: int
    """Lines with an event, broken and known ones included."""
    known_values: list[KnownValue]
    """Of known events of which the value is read."""
    known_value_places: Offsets
    broken: list[BrokenEvent] = field(default_factory=list)
    """Texts that turned out to be no events, so far."""
    unread: list[tuple[int, list[str]]] = field(default_factory=list)
    """Lines of events with members whose value could not be read, so far."""

    def last_values(self, decoded: Mapping[str, Event]) -> Mapping[str, Any]:
        """Return the last value of each key, of known events and of the last `decoded` ones."""
        values = dict(self.known_values)
        for key, event in decoded.items():
            if key not in values or self._place_of_known(key) < event.place:
                values[key] = event.value
        return values

    def _place_of_known(self, key: str) -> int:
        """Return the place of the last known event with that key."""
        places: list[int] = self.known_value_places.tolist()
        return max(place for place, (known, _) in zip(places, self.known_values, strict=True) if known == key)


@dataclass(frozen=True, slots=True)
class _Texts:
    """Event texts: where each begins and ends in the content, and its place among all lines of all logs."""

    starts: Offsets
    ends: Offsets
    places: Offsets

    def at(self, chosen: Offsets | Flags | slice) -> _Texts:
        return _Texts(self.starts[chosen], self.ends[chosen], self.places[chosen])

    def parts(self) -> Iterator[_Texts]:
        for first in range(0, len(self.starts), _EVENTS_AT_ONCE):
            yield self.at(slice(first, first + _EVENTS_AT_ONCE))

    def cut(self, content: bytes) -> list[bytes]:
        bounds = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [content[start:end] for start, end in bounds]


class Reading:
    """Logs that were read together: what was known of their events, and the others, which are decoded on demand."""

    def __init__(
        self,
        content: bytes,
        first_log: int,
        logs: list[Log],
        rows: Mapping[RowKind, KnownRows],
        others: _Texts,
    ) -> None:
        self.first_log = first_log
        self.logs = logs
        self.rows = rows
        self._content = content
        self._others = others
        self._are_short = _longest(others) <= LONGEST_FOR_MSGSPEC

    def events(self) -> Iterator[list[Event]]:
        """Decode the events that were not known and yield them, some at once."""
        for part in self._others.parts():
            texts, places = part.cut(self._content), part.places.tolist()
            events = _decoded(texts) if self._are_short else None
            if events is None:
                yield [event for text, place in zip(texts, places, strict=True) for event in self._decode(text, place)]
                continue
            for event, place in zip(events, places, strict=True):
                event.place = place
            yield events

    def text_at(self, place: int) -> bytes:
        """Return the event text that stands at a place."""
        number = int(self._others.places.searchsorted(place))
        return self._content[self._others.starts[number] : self._others.ends[number]]

    def _decode(self, text: bytes, place: int) -> list[Event]:
        """Return the event that a text is, none where it is none; its log is told what could not be read."""
        number, line = divmod(place, LINES_A_LOG)
        log = self.logs[number - self.first_log]
        try:
            event, unread = decode(text)
        except NotAnEventError as error:
            log.broken.append(BrokenEvent(line, text, str(error), error.is_json))
            return []
        if unread:
            log.unread.append((line, unread))
        event.place = place
        return [event]


class LogReader:
    """Reads logs; what it learns of repeated events in some speeds up others."""

    def __init__(
        self, kinds: Sequence[RowKind] = (), in_full: Collection[str] | None = None, by_value: Collection[str] = ()
    ) -> None:
        """Take what is needed: rows of some kinds, events of some keys as a whole, the last value of those of others.

        Of other keys nothing is needed; without `in_full` every event is needed as a whole.
        """
        _keep_freed_memory()
        self._kinds = kinds
        self._known = None if in_full is None else KnownEvents(_decoded_if_readable, kinds, in_full, by_value)

    def read(self, contents: Sequence[bytes], first_log: int = 0) -> Reading:
        """Return the logs, of which the first has that number; nothing in `contents` raises.

        Lines end at a newline. As in the official reader a carriage return ends an event too, and of two tokens on a
        line the last one counts; a text is an event if the json module accepts it and it is an object with a time in
        milliseconds, a key, a value and metadata.

        Small logs are read fastest when several are given at once.
        """
        content = contents[0] if len(contents) == 1 else b"\n".join(contents)
        begins = np.cumsum([0, *(len(log) + 1 for log in contents)])
        located, newlines = locate(content)
        first_lines = newlines.before(begins[:-1])
        line_counts = newlines.before(begins[1:] - 1) - first_lines
        line_counts += [bool(log) and not log.endswith(b"\n") for log in contents]
        bounds = located.starts.searchsorted(begins)
        texts = _Texts(located.starts, located.ends, _places(located, bounds, first_lines, first_log))

        parted = self._known.part(content, located) if self._known else nothing_known(located, self._kinds)
        value_places = texts.places[parted.value_places]
        logs = [
            Log(line_count, event_count, parted.values[first:end], value_places[first:end])
            for line_count, event_count, (first, end) in zip(
                line_counts.tolist(),
                np.diff(bounds).tolist(),
                pairwise(parted.value_places.searchsorted(bounds).tolist()),
                strict=True,
            )
        ]
        return Reading(
            content,
            first_log,
            logs,
            {kind: rows.at(texts.places) for kind, rows in zip(self._kinds, parted.rows, strict=True)},
            texts.at((~parted.is_known).nonzero()[0]),
        )


def _keep_freed_memory() -> None:
    """Have the memory that a group of logs took kept for the next group.

    glibc gives what is freed back to the system as soon as more lies unused than twice the largest block freed so far,
    and to ask for it again group after group takes a tenth of the time of reading. So a block is freed that is larger
    than any of a group; as nothing is written to it, it takes no memory.
    """
    bytes(_LARGER_THAN_ANY_BLOCK)


def _places(located: Located, bounds: Offsets, first_lines: Offsets, first_log: int) -> Offsets:
    """Return the place of each text: its log times `LINES_A_LOG` plus its line, from 1."""
    begins = np.arange(first_log, first_log + len(first_lines)) * LINES_A_LOG - first_lines + 1
    places: Offsets = located.lines + np.repeat(begins, np.diff(bounds))
    return places


def _longest(texts: _Texts) -> int:
    return int((texts.ends - texts.starts).max(initial=0))


def _decoded(texts: list[bytes]) -> list[Event] | None:
    """Return the events that short texts are, None if one of them is refused."""
    try:
        return list(map(decode_short, texts))
    except REFUSALS:
        return None


def _decoded_if_readable(texts: list[bytes]) -> list[Event | None]:
    """Return the event that each text is, None where it is none or has members that cannot be read."""
    events: Sequence[Event] | None = None
    if max(map(len, texts)) <= LONGEST_FOR_MSGSPEC:
        events = _decoded(texts)
    return [_decoded_alone(text) for text in texts] if events is None else list(events)


def _decoded_alone(text: bytes) -> Event | None:
    try:
        event, unread = decode(text)
    except NotAnEventError:
        return None
    return None if unread else event
