"""Log events out of the bytes of result logs: where each stands, what it says, which are broken.

Finding and decoding events belongs here; what an event means for a run does not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pipelines.parsing._log_floods import FloodGate
from pipelines.parsing._log_json import LONGEST_FOR_MSGSPEC, REFUSALS, Event, NotAnEventError, decode, decode_short
from pipelines.parsing._log_lines import Offsets, locate

EventsByKey = defaultdict[str, list[Event]]

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


@dataclass(slots=True)
class Log:
    """One log: its event texts, where they stand, and what is known without decoding them."""

    content: bytes
    """What the offsets count in: the log, perhaps among others."""
    starts: list[int]
    ends: list[int]
    lines: list[int]
    """Line number of each text, from 1."""
    are_short: bool
    """Whether no text is longer than `LONGEST_FOR_MSGSPEC`."""
    line_count: int
    event_count: int
    """Lines with an event, broken and repeated ones included."""
    repeated_init_start_ms: int | None
    """Earliest of the init_start events that are left out as repeated ones."""
    broken: list[BrokenEvent]
    """Texts that turned out to be no events, so far."""
    unread: list[tuple[int, list[str]]]
    """Lines of events with members whose value could not be read, so far."""

    def events(self) -> Iterator[tuple[list[Event], list[int]]]:
        """Decode the texts and yield events with their lines, some at once."""
        content = self.content
        for first in range(0, len(self.starts), _EVENTS_AT_ONCE):
            part = slice(first, first + _EVENTS_AT_ONCE)
            texts = [content[start:end] for start, end in zip(self.starts[part], self.ends[part], strict=True)]
            yield self._decode(texts, self.lines[part])

    def text_at(self, line: int) -> bytes:
        """Return the event text that stands on a line."""
        place = bisect_left(self.lines, line)
        return self.content[self.starts[place] : self.ends[place]]

    def _decode(self, texts: list[bytes], lines: list[int]) -> tuple[list[Event], list[int]]:
        if self.are_short:
            try:
                return list(map(decode_short, texts)), lines
            except REFUSALS:
                pass
        events: list[Event] = []
        kept: list[int] = []
        for text, line in zip(texts, lines, strict=True):
            try:
                event, unread = decode(text)
            except NotAnEventError as error:
                self.broken.append(BrokenEvent(line, text, str(error), error.is_json))
                continue
            events.append(event)
            kept.append(line)
            if unread:
                self.unread.append((line, unread))
        return events, kept


class LogReader:
    """Reads logs; what it learns of repeated events in some speeds up others."""

    def __init__(self) -> None:
        self._gate = FloodGate(_key_of)

    def read(self, contents: Sequence[bytes]) -> list[Log]:
        """Return the logs; nothing in `contents` raises.

        Lines end at a newline. As in the official reader a carriage return ends an event too, and of two tokens on a
        line the last one counts; a text is an event if the json module accepts it and it is an object with a time in
        milliseconds, a key, a value and metadata.

        Small logs are read fastest when several are given at once.
        """
        content = contents[0] if len(contents) == 1 else b"\n".join(contents)
        begins = np.cumsum([0, *(len(log) + 1 for log in contents)])
        located = locate(content)
        first_lines = located.newlines.searchsorted(begins[:-1])
        line_counts = located.newlines.searchsorted(begins[1:] - 1) - first_lines
        line_counts += [bool(log) and not log.endswith(b"\n") for log in contents]
        event_counts = np.diff(located.starts.searchsorted(begins))

        flood = self._gate.part(content, located)
        init_start_ms = _earliest(flood.init_start_ms, located.starts[flood.init_starts], begins)
        located = located.only(~flood.is_member)
        bounds = located.starts.searchsorted(begins)
        lines = located.lines - np.repeat(first_lines - 1, np.diff(bounds))
        are_short = int((located.ends - located.starts).max(initial=0)) <= LONGEST_FOR_MSGSPEC
        starts, ends, numbers = located.starts.tolist(), located.ends.tolist(), lines.tolist()
        return [
            Log(
                content=content,
                starts=starts[first:end],
                ends=ends[first:end],
                lines=numbers[first:end],
                are_short=are_short,
                line_count=line_count,
                event_count=event_count,
                repeated_init_start_ms=earliest,
                broken=[],
                unread=[],
            )
            for (first, end), line_count, event_count, earliest in zip(
                pairwise(bounds.tolist()), line_counts.tolist(), event_counts.tolist(), init_start_ms, strict=True
            )
        ]


def _earliest(times_ms: Offsets, starts: Offsets, begins: Offsets) -> list[int | None]:
    """Return the earliest of the times in each log, None where it has none."""
    bounds = starts.searchsorted(begins).tolist()
    return [int(times_ms[first:end].min()) if end > first else None for first, end in pairwise(bounds)]


def _key_of(text: bytes) -> str | None:
    try:
        return decode(text)[0].key
    except NotAnEventError:
        return None
