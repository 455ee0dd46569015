"""Power logs to energy integrals: a node's meter readings over time, a switch's estimated power.

Integrating one file belongs here; which runs' energies make a result, and for how long each ran, is scoring.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from pipelines.parsing._log_events import BrokenEvent, LogReader, first_on_each_line
from pipelines.parsing._log_json import Event, as_number
from pipelines.parsing.layout import classify, result_id
from pipelines.parsing.published import ParseFinding, PublishedFile, findings_frame
from pipelines.schemas.core import PowerReadings

_BROKEN_LINES_QUOTED = 5


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
    reader = LogReader()
    for file in files:
        placed = classify(file.path)
        if placed is None or placed.kind != "power_log":
            findings.append(
                ParseFinding(
                    file.round,
                    file.path,
                    "power.layout",
                    "The path is not that of a power log, so the file was not read.",
                    expected="<submitter>/results/<system>/<benchmark>/power/<run>/node_*.txt or sw_*.txt",
                    found=file.path,
                    source_sha256=file.sha256,
                )
            )
            continue
        reading = reader.read([file.content])
        events = [event for decoded in reading.events() for event in decoded]
        (log,) = reading.logs
        is_node = placed.name.startswith("node_")
        meter = _read_node(events) if is_node else _read_switch(events)
        rows.append(
            {
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
        )
        findings += _findings(file, log.broken, meter)
    return pl.DataFrame(rows, schema=PowerReadings.create_empty().schema), findings_frame(findings)


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


def _read_node(events: list[Event]) -> _Meter:
    meter = _Meter()
    watt_milliseconds = 0.0
    previous_ms, last_reading_ms = 0, None
    is_stopped = False
    for event in sorted(events, key=lambda event: event.time_ms):
        if event.key == "power_measurement_start":
            meter.start_ms = previous_ms = event.time_ms
        elif event.key == "power_measurement_stop":
            meter.stop_ms, is_stopped = event.time_ms, True
        elif event.key == "conversion_eff":
            _read_efficiency(meter, event)
        elif event.key == "power_reading" and meter.start_ms is not None and not is_stopped:
            watts = as_number(event.value)
            if watts is None:
                meter.remarks.append(("power.reading", "A reading is no number; the others count."))
                continue
            watt_milliseconds += watts * (event.time_ms - previous_ms)
            previous_ms = last_reading_ms = event.time_ms
            meter.reading_count += 1
    _finish_node(meter, watt_milliseconds, last_reading_ms)
    return meter


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
        if event.key == "conversion_eff":
            _read_efficiency(meter, event)
        elif event.key == "interconnect_power_est":
            watts = as_number(event.value)
            if watts is None:
                meter.remarks.append(("power.estimate", "The interconnect estimate is no number."))
            meter.interconnect_watts = None if watts is None else float(watts)
            return meter
    meter.remarks.append(("power.no_estimate", "No interconnect estimate is logged; by the rule it counts as 0."))
    return meter


def _read_efficiency(meter: _Meter, event: Event) -> None:
    efficiency = as_number(event.value)
    if efficiency is None or efficiency < 0:
        meter.remarks.append(("power.efficiency", "The conversion efficiency is no number from 0, so it is left out."))
    else:
        meter.efficiency = float(efficiency)


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
