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
from pipelines.parsing._log_json import (
    LONGEST_FOR_MSGSPEC,
    REFUSALS,
    Event,
    NotAnEventError,
    StepEvent,
    decode,
    decode_short,
    decode_short_step,
)
from pipelines.parsing._log_lines import Located, Offsets, locate

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


@dataclass(frozen=True, slots=True)
class Texts:
    """Event texts of one log: where each begins and ends, and its line number, from 1."""

    starts: list[int]
    ends: list[int]
    lines: list[int]


@dataclass(slots=True)
class Log:
    """One log: its event texts, where they stand, and what is known without decoding them."""

    content: bytes
    """What the offsets count in: the log, perhaps among others."""
    step_texts: Texts
    """Texts that look like statistics of training steps."""
    other_texts: Texts
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

    def step_events(self) -> Iterator[tuple[list[StepEvent], list[int]]]:
        """Decode statistics of training steps and yield them with their lines, some at once.

        From the first text on that is none, the rest becomes one of `other_texts`.
        """
        for first, texts, lines in self._chunks(self.step_texts):
            events = _decoded(texts) if self.are_short else None
            if events is None:
                self._set_aside(first)
                return
            yield events, lines

    def events(self) -> Iterator[tuple[list[Event], list[int]]]:
        """Decode the other texts and yield events with their lines, some at once."""
        for _, texts, lines in self._chunks(self.other_texts):
            yield self._decode(texts, lines)

    def text_at(self, line: int) -> bytes:
        """Return the event text that stands on a line."""
        texts = self.other_texts
        place = bisect_left(texts.lines, line)
        return self.content[texts.starts[place] : texts.ends[place]]

    def _chunks(self, texts: Texts) -> Iterator[tuple[int, list[bytes], list[int]]]:
        content = self.content
        for first in range(0, len(texts.starts), _EVENTS_AT_ONCE):
            part = slice(first, first + _EVENTS_AT_ONCE)
            bounds = zip(texts.starts[part], texts.ends[part], strict=True)
            yield first, [content[start:end] for start, end in bounds], texts.lines[part]

    def _set_aside(self, first: int) -> None:
        """Move the step texts from the `first` on to the other texts, in the order of their lines."""
        steps, others = self.step_texts, self.other_texts
        bounds = sorted(
            [
                *zip(others.lines, others.starts, others.ends, strict=True),
                *zip(steps.lines[first:], steps.starts[first:], steps.ends[first:], strict=True),
            ]
        )
        self.other_texts = Texts(*([bound[place] for bound in bounds] for place in (1, 2, 0)))

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
        located, newlines = locate(content)
        first_lines = newlines.before(begins[:-1])
        line_counts = newlines.before(begins[1:] - 1) - first_lines
        line_counts += [bool(log) and not log.endswith(b"\n") for log in contents]
        event_counts = np.diff(located.starts.searchsorted(begins))

        flood = self._gate.part(content, located)
        init_start_ms = _earliest(flood.init_start_ms, located.starts[flood.init_starts], begins)
        step_texts = _texts_by_log(located.only(flood.is_statistics), begins, first_lines)
        other_texts = _texts_by_log(located.only(~(flood.is_repeated | flood.is_statistics)), begins, first_lines)
        are_short = int((located.ends - located.starts).max(initial=0)) <= LONGEST_FOR_MSGSPEC
        return [
            Log(
                content=content,
                step_texts=steps,
                other_texts=others,
                are_short=are_short,
                line_count=line_count,
                event_count=event_count,
                repeated_init_start_ms=earliest,
                broken=[],
                unread=[],
            )
            for steps, others, line_count, event_count, earliest in zip(
                step_texts, other_texts, line_counts.tolist(), event_counts.tolist(), init_start_ms, strict=True
            )
        ]


def _texts_by_log(located: Located, begins: Offsets, first_lines: Offsets) -> list[Texts]:
    bounds = located.starts.searchsorted(begins)
    lines = (located.lines - np.repeat(first_lines - 1, np.diff(bounds))).tolist()
    starts, ends = located.starts.tolist(), located.ends.tolist()
    return [Texts(starts[first:end], ends[first:end], lines[first:end]) for first, end in pairwise(bounds.tolist())]


def _earliest(times_ms: Offsets, starts: Offsets, begins: Offsets) -> list[int | None]:
    """Return the earliest of the times in each log, None where it has none."""
    bounds = starts.searchsorted(begins).tolist()
    return [int(times_ms[first:end].min()) if end > first else None for first, end in pairwise(bounds)]


def _decoded(texts: list[bytes]) -> list[StepEvent] | None:
    """Return statistics of training steps, None if one of the short texts is none."""
    try:
        return list(map(decode_short_step, texts))
    except REFUSALS:
        return None


def _key_of(text: bytes) -> str | None:
    try:
        return decode(text)[0].key
    except NotAnEventError:
        return None
