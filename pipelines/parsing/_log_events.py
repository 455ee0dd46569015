"""Log events out of the bytes of result logs: where each stands, what it says, which are broken.

Finding and decoding events belongs here; what an event means for a run does not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

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
from pipelines.parsing._log_known import Codes, Floats, KnownEvents, KnownValue, Marks, nothing_known
from pipelines.parsing._log_lines import Flags, Located, Offsets, locate

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

    @classmethod
    def by_log(cls, located: Located, lines: Offsets, are_wanted: Flags, bounds: Offsets) -> list[Texts]:
        """Return the wanted texts of each log.

        Args:
            located: The texts of all logs.
            lines: Line number of each text.
            are_wanted: Which of the texts are wanted.
            bounds: Place of the first text of each log, and the number of texts.
        """
        places = are_wanted.nonzero()[0]
        starts, ends, numbers = located.starts[places].tolist(), located.ends[places].tolist(), lines[places].tolist()
        within = places.searchsorted(bounds).tolist()
        return [cls(starts[first:end], ends[first:end], numbers[first:end]) for first, end in pairwise(within)]


@dataclass(frozen=True, slots=True)
class LogMarks:
    """Known events of the keys in `MARK_CODES` in several logs, in their order, as arrays."""

    codes: Codes
    logs: Offsets
    """Which of the logs, from 0."""
    lines: Offsets
    """Line numbers in that log, from 1."""
    time_ms: Offsets
    samples_count: Floats
    """NaN where an event names none."""


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
    """Lines with an event, broken and known ones included."""
    known_values: list[KnownValue]
    """Of known events of which the value is read."""
    known_value_lines: Offsets
    broken: list[BrokenEvent] = field(default_factory=list)
    """Texts that turned out to be no events, so far."""
    unread: list[tuple[int, list[str]]] = field(default_factory=list)
    """Lines of events with members whose value could not be read, so far."""

    def last_values(self, events: Mapping[str, Sequence[Event]]) -> dict[str, Any]:
        """Return the last value of each key, of known events and of the `events` that were decoded."""
        values = dict(self.known_values)
        for key, found in events.items():
            if key not in values or self._line_of_known(key) < found[-1].line:
                values[key] = found[-1].value
        return values

    def _line_of_known(self, key: str) -> int:
        """Return the line of the last known event with that key."""
        lines: list[int] = self.known_value_lines.tolist()
        return max(line for line, (known, _) in zip(lines, self.known_values, strict=True) if known == key)

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


@dataclass(frozen=True, slots=True)
class Reading:
    """Logs that were read together, and the known marks in them."""

    logs: list[Log]
    marks: LogMarks


class LogReader:
    """Reads logs; what it learns of repeated events in some speeds up others."""

    def __init__(self, in_full: Collection[str] | None = None, by_value: Collection[str] = ()) -> None:
        """Take the keys of events that are needed as a whole, and of those of which the last value will do.

        Of other keys than these and `MARKS` nothing is needed; without `in_full` every event is needed as a whole.
        """
        self._known = None if in_full is None else KnownEvents(_decoded_wholly, in_full, by_value)

    def read(self, contents: Sequence[bytes]) -> Reading:
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
        bounds = located.starts.searchsorted(begins)
        lines = located.lines - np.repeat(first_lines - 1, np.diff(bounds))

        parted = self._known.part(content, located) if self._known else nothing_known(located)
        other_texts = Texts.by_log(located, lines, ~(parted.is_known | parted.is_statistics), bounds)
        step_texts = Texts.by_log(located, lines, parted.is_statistics, bounds)
        value_lines = lines[parted.value_places]
        are_short = int((located.ends - located.starts).max(initial=0)) <= LONGEST_FOR_MSGSPEC
        logs = [
            Log(
                content=content,
                step_texts=steps,
                other_texts=others,
                are_short=are_short,
                line_count=line_count,
                event_count=event_count,
                known_values=parted.values[first_value:end_value],
                known_value_lines=value_lines[first_value:end_value],
            )
            for steps, others, line_count, event_count, (first_value, end_value) in zip(
                step_texts,
                other_texts,
                line_counts.tolist(),
                np.diff(bounds).tolist(),
                pairwise(parted.value_places.searchsorted(bounds).tolist()),
                strict=True,
            )
        ]
        return Reading(logs, _marks_of_logs(parted.marks, lines, bounds))


def _marks_of_logs(marks: Marks, lines: Offsets, bounds: Offsets) -> LogMarks:
    logs = bounds.searchsorted(marks.places, "right") - 1
    return LogMarks(marks.codes, logs, lines[marks.places], marks.time_ms, marks.samples_count)


def _decoded(texts: list[bytes]) -> list[StepEvent] | None:
    """Return statistics of training steps, None if one of the short texts is none."""
    try:
        return list(map(decode_short_step, texts))
    except REFUSALS:
        return None


def _decoded_wholly(text: bytes) -> Event | None:
    """Return the event that a text is, None where it is none or has members that cannot be read."""
    try:
        event, unread = decode(text)
    except NotAnEventError:
        return None
    return None if unread else event
