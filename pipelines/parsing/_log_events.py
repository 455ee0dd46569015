"""Log events out of the bytes of result logs: where each stands, what it says, which are broken.

Finding and decoding events belongs here; what an event means for a run does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pipelines.parsing._log_floods import FloodGate
from pipelines.parsing._log_json import LONGEST_FOR_MSGSPEC, REFUSALS, Event, NotAnEventError, decode, decode_short
from pipelines.parsing._log_lines import Offsets, locate

Places = dict[str, list[int]]
"""Where the events of each key of one log stand among the events of all logs that were read with it."""


@dataclass(slots=True)
class BrokenEvent:
    """A line with the token whose text is no event."""

    line: int
    text: bytes
    reason: str
    is_json: bool
    """Whether the text is JSON, though not an event."""


@dataclass(slots=True)
class LogSummary:
    """What is known of one log besides its events."""

    first: int
    """Place of its first event among the events of all logs that were read with it."""
    end: int
    """Place behind its last one."""
    line_count: int
    event_count: int
    """Lines with an event, broken and repeated ones included."""
    repeated_init_start_ms: int | None
    """Earliest of the init_start events that are left out as repeated ones."""
    broken: list[BrokenEvent]


@dataclass(slots=True)
class LogEvents:
    """The events of logs that were read together, log by log and in the order of their lines."""

    events: list[Event]
    lines: Offsets
    """Line number of each event within its log, from 1."""
    log: Offsets
    """Number of the log of each event, from 0."""
    texts: list[bytes]
    """Text of each event, after the token."""
    logs: list[LogSummary]


class LogReader:
    """Reads logs; what it learns of repeated events in some speeds up others."""

    def __init__(self) -> None:
        self._gate = FloodGate(_key_of)

    def read(self, contents: Sequence[bytes]) -> LogEvents:
        """Return the events of logs; nothing in `contents` raises.

        Lines end at a newline. As in the official reader a carriage return ends an event too, and of two tokens on a
        line the last one counts; a text is an event if the json module accepts it and it is an object with a time in
        milliseconds, a key, a value and metadata.

        Small logs are read fastest when several are given at once.
        """
        content = contents[0] if len(contents) == 1 else b"\n".join(contents)
        begins = np.cumsum([0, *(len(log) + 1 for log in contents)])
        located = locate(content)
        event_counts = np.diff(located.starts.searchsorted(begins))
        first_lines = located.newlines.searchsorted(begins[:-1])
        line_counts = located.newlines.searchsorted(begins[1:] - 1) - first_lines
        line_counts += [bool(log) and not log.endswith(b"\n") for log in contents]

        flood = self._gate.part(content, located)
        init_start_ms = _earliest(flood.init_start_ms, located.starts[flood.init_starts], begins)
        located = located.only(~flood.is_member)
        log = begins.searchsorted(located.starts, "right") - 1
        lines = located.lines - first_lines[log] + 1
        texts = [content[start:end] for start, end in zip(located.starts.tolist(), located.ends.tolist(), strict=True)]
        are_short = int((located.ends - located.starts).max(initial=0)) <= LONGEST_FOR_MSGSPEC
        events, refusals = _decode_all(texts, are_short=are_short)
        broken: list[list[BrokenEvent]] = [[] for _ in contents]
        for place, error in refusals.items():
            broken[log[place]].append(BrokenEvent(int(lines[place]), texts[place], str(error), error.is_json))
        if refusals:
            kept = [place for place in range(len(texts)) if place not in refusals]
            lines, log, texts = lines[kept], log[kept], [texts[place] for place in kept]
        bounds = log.searchsorted(np.arange(len(contents) + 1)).tolist()
        logs = [
            LogSummary(*facts)
            for facts in zip(
                bounds[:-1], bounds[1:], line_counts.tolist(), event_counts.tolist(), init_start_ms, broken, strict=True
            )
        ]
        return LogEvents(events, lines, log, texts, logs)


def _earliest(times_ms: Offsets, starts: Offsets, begins: Offsets) -> list[int | None]:
    """Return the earliest of the times in each log, None where it has none."""
    bounds = starts.searchsorted(begins).tolist()
    return [int(times_ms[first:end].min()) if end > first else None for first, end in pairwise(bounds)]


def _decode_all(texts: list[bytes], *, are_short: bool) -> tuple[list[Event], dict[int, NotAnEventError]]:
    """Return the events, and for each text that is none its place and why."""
    if are_short:
        try:
            return list(map(decode_short, texts)), {}
        except REFUSALS:
            pass
    events: list[Event] = []
    refusals: dict[int, NotAnEventError] = {}
    for place, text in enumerate(texts):
        try:
            events.append(decode(text))
        except NotAnEventError as error:
            refusals[place] = error
    return events, refusals


def _key_of(text: bytes) -> str | None:
    try:
        return decode(text).key
    except NotAnEventError:
        return None
