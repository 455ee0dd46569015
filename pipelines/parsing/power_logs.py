"""Power logs to energy integrals: a node's meter readings over time, a switch's estimated power.

Integrating one file belongs here; which runs' energies make a result, and for how long each ran, is scoring.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from pipelines.parsing._log_events import BrokenEvent, LogReader, first_on_each_line
from pipelines.parsing._log_json import LINES_A_LOG, Event, as_number
from pipelines.parsing._log_lines import Floats, Offsets
from pipelines.parsing._log_shapes import KnownRows, RowKind
from pipelines.parsing.layout import Placed, classify, result_id
from pipelines.parsing.published import ParseFinding, PublishedFile, findings_frame
from pipelines.schemas.core import PowerReadings

_BROKEN_LINES_QUOTED = 5
_BYTES_READ_TOGETHER = 5_000_000

_READINGS = RowKind(keys=("power_reading",), columns=("watts",), read=lambda event: (_finite(event.value),))
_START, _STOP = "power_measurement_start", "power_measurement_stop"
_EFFICIENCY, _ESTIMATE = "conversion_eff", "interconnect_power_est"


def parse_power_logs(files: Iterable[PublishedFile]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the logs as `core.power_readings` and what could not be read as `core.parse_findings`.

    The arithmetic is that of MLCommons' power rule (`_compute_power_node` and `_compute_power_sw` in the package
    mlperf-logging): a node's events in order of time, each reading times the time since the one before or since the
    start, up to the first stop; the last efficiency that a node logs, the last before the estimate in a switch file.
    The energy of a run of t ms is efficiency * integral * t / (stop - start) for a node and
    efficiency * interconnect power * t / 1000 for a switch, in joules.

    Columns that the file does not allow are null, with a finding.
    """
    rows: list[dict[str, Any]] = []
    findings: list[ParseFinding] = []
    reader = LogReader((_READINGS,), {_START, _STOP, _EFFICIENCY, _ESTIMATE})
    for logs in _together(files, findings):
        reading = reader.read([file.content for file, _ in logs])
        events = defaultdict(list)
        for decoded in reading.events():
            for event in decoded:
                events[event.log].append(event)
        readings = _readings_by_log(reading.rows[_READINGS], len(logs))
        for number, ((file, placed), log) in enumerate(zip(logs, reading.logs, strict=True)):
            is_node = placed.name.startswith("node_")
            meter = _read_node(readings[number], events[number]) if is_node else _read_switch(events[number])
            rows.append(_row(file, placed, meter, is_node=is_node))
            findings += _findings(file, log.broken, meter)
    return pl.DataFrame(rows, schema=PowerReadings.create_empty().schema), findings_frame(findings)


def _together(
    files: Iterable[PublishedFile], findings: list[ParseFinding]
) -> Iterator[list[tuple[PublishedFile, Placed]]]:
    """Yield power logs that are read together; a file that is none becomes a finding."""
    logs: list[tuple[PublishedFile, Placed]] = []
    size_bytes = 0
    for file in files:
        placed = classify(file.path)
        if placed is None or placed.kind != "power_log":
            findings.append(_misplaced(file))
            continue
        logs.append((file, placed))
        size_bytes += len(file.content)
        if size_bytes > _BYTES_READ_TOGETHER:
            yield logs
            logs, size_bytes = [], 0
    if logs:
        yield logs


def _misplaced(file: PublishedFile) -> ParseFinding:
    return ParseFinding(
        file.round,
        file.path,
        "power.layout",
        "The path is not that of a power log, so the file was not read.",
        expected="<submitter>/results/<system>/<benchmark>/power/<run>/node_*.txt or sw_*.txt",
        found=file.path,
        source_sha256=file.sha256,
    )


def _row(file: PublishedFile, placed: Placed, meter: _Meter, *, is_node: bool) -> dict[str, Any]:
    return {
        "round": file.round,
        "source_path": file.path,
        "source_sha256": file.sha256,
        "result_id": result_id(file.round, placed),
        "run_name": placed.run_name,
        "device": "node" if is_node else "switch",
        "device_name": placed.name.removesuffix(".txt"),
        "reading_count": meter.reading_count,
        "start_ms": meter.start_ms,
        "stop_ms": meter.stop_ms,
        "conversion_efficiency": meter.efficiency,
        "integral_joules": meter.integral_joules,
        "interconnect_power_watts": meter.interconnect_watts,
    }


@dataclass(frozen=True, slots=True)
class _Readings:
    """Power readings of one log that were known, in its order."""

    places: Offsets
    time_ms: Offsets
    watts: Floats
    """NaN where a reading is no number."""


def _readings_by_log(known: KnownRows, log_count: int) -> list[_Readings]:
    watts = known.numbers.get("watts", np.full(len(known.places), math.nan))
    bounds = known.places.searchsorted(np.arange(log_count + 1) * LINES_A_LOG).tolist()
    parts = [slice(*part) for part in pairwise(bounds)]
    return [_Readings(known.places[part], known.time_ms[part], watts[part]) for part in parts]


@dataclass(slots=True)
class _Meter:
    reading_count: int = 0
    start_ms: int | None = None
    stop_ms: int | None = None
    efficiency: float = 1.0
    """1 where the file logs none."""
    integral_joules: float | None = None
    interconnect_watts: float | None = None
    remarks: list[tuple[str, str]] = field(default_factory=list)
    """Kind and explanation of each finding."""


def _read_node(readings: _Readings, events: list[Event]) -> _Meter:
    meter = _Meter()
    watt_milliseconds = 0.0
    previous_ms, last_reading_ms = 0, None
    is_stopped = False
    for time_ms, watts, event in _in_time(readings, events):
        if meter.start_ms is not None and not is_stopped:
            is_number = ~np.isnan(watts)
            if not is_number.all():
                meter.remarks.append(("power.reading", "A reading is no number; the others count."))
            if is_number.any():
                times = time_ms[is_number]
                watt_milliseconds = _add(watt_milliseconds, watts[is_number], np.diff(times, prepend=previous_ms))
                previous_ms = last_reading_ms = int(times[-1])
                meter.reading_count += len(times)
        if event is None:
            break
        if event.key == _START:
            meter.start_ms = previous_ms = event.time_ms
        elif event.key == _STOP:
            meter.stop_ms, is_stopped = event.time_ms, True
        elif event.key == _EFFICIENCY:
            _read_efficiency(meter, event)
    _finish_node(meter, watt_milliseconds, last_reading_ms)
    return meter


def _in_time(known: _Readings, events: list[Event]) -> Iterator[tuple[Offsets, Floats, Event | None]]:
    """Yield each event that is no reading, in order of time, with times and watts of the readings since the last one.

    The last readings come with no event.
    """
    decoded = [event for event in events if event.key in _READINGS.keys]
    marks = [event for event in events if event.key not in _READINGS.keys]
    places = np.concatenate([known.places, np.array([event.place for event in decoded + marks], np.int64)])
    time_ms = np.concatenate([known.time_ms, np.array([event.time_ms for event in decoded + marks], np.int64)])
    watts = np.concatenate([known.watts, np.array([_finite(event.value) for event in decoded], np.float64)])
    order = np.lexsort((places, time_ms))
    first = 0
    for place in (order >= len(watts)).nonzero()[0].tolist():
        readings = order[first:place]
        yield time_ms[readings], watts[readings], marks[order[place] - len(watts)]
        first = place + 1
    yield time_ms[order[first:]], watts[order[first:]], None


def _add(watt_milliseconds: float, watts: Floats, milliseconds: Offsets) -> float:
    """Return the sum with each reading times its time, as adding one after the other gives it."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.append(watt_milliseconds, watts * milliseconds).cumsum()[-1])


def _finish_node(meter: _Meter, watt_milliseconds: float, last_reading_ms: int | None) -> None:
    if meter.start_ms is None:
        meter.remarks.append(("power.no_start", "Without a start of the measurement there is no energy."))
        return
    if meter.stop_ms is None:
        meter.stop_ms = last_reading_ms
        meter.remarks.append(("power.no_stop", "No stop is logged; by the rule the last reading stands for it."))
    if math.isfinite(watt_milliseconds):
        meter.integral_joules = watt_milliseconds / 1000
    else:
        meter.remarks.append(("power.overflow", "The readings are too large to be summed."))
    if meter.stop_ms is None or meter.stop_ms == meter.start_ms:
        meter.remarks.append(("power.no_duration", "The measurement has no duration, so no energy follows from it."))


def _read_switch(events: list[Event]) -> _Meter:
    meter = _Meter(interconnect_watts=0.0)
    for event in events:
        if event.key == _EFFICIENCY:
            _read_efficiency(meter, event)
        elif event.key == _ESTIMATE:
            meter.interconnect_watts = _finite(event.value)
            if meter.interconnect_watts is None:
                meter.remarks.append(("power.estimate", "The interconnect estimate is no number."))
            return meter
    meter.remarks.append(("power.no_estimate", "No interconnect estimate is logged; by the rule it counts as 0."))
    return meter


def _read_efficiency(meter: _Meter, event: Event) -> None:
    efficiency = _finite(event.value)
    if efficiency is None or efficiency < 0:
        meter.remarks.append(("power.efficiency", "The conversion efficiency is no number from 0, so it is left out."))
    else:
        meter.efficiency = efficiency


def _finite(value: Any) -> float | None:
    number = as_number(value)
    return None if number is None else float(number)


def _findings(file: PublishedFile, lines: list[BrokenEvent], meter: _Meter) -> list[ParseFinding]:
    broken = [
        ParseFinding(
            file.round,
            file.path,
            "power.broken_line",
            f"A line is no event; by the rule the others count ({len(lines):,} such lines in the file).",
            place=f"line {line.line}",
            found=f"{line.reason}: {line.text[:200].decode('latin-1')}",
            source_sha256=file.sha256,
        )
        for line in first_on_each_line(lines)[:_BROKEN_LINES_QUOTED]
    ]
    remarks = [
        ParseFinding(file.round, file.path, kind, explanation, source_sha256=file.sha256)
        for kind, explanation in dict.fromkeys(meter.remarks)
    ]
    return broken + remarks
