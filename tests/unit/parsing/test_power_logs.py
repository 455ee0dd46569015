"""Power logs: MLCommons' arithmetic, checked against the package that defines it, and hostile files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlperf_logging.compliance_checker.mlp_parser.ruleset_510 import LogLine
from mlperf_logging.result_summarizer import result_summarizer

from pipelines.parsing.power_logs import parse_power_logs
from pipelines.parsing.published import PublishedFile
from pipelines.schemas.core import ParseFindings, PowerReadings

NODE = "smc/results/n8/gpt3/power/result_0/node_0.txt"
SWITCH = "smc/results/n8/gpt3/power/result_0/sw_0.txt"
RUN_MS = 90_000


def power_file(events: Sequence[tuple[int, str, Any]], path: str = NODE) -> PublishedFile:
    lines = [
        ":::MLLOG " + json.dumps({"time_ms": time_ms, "key": key, "value": value, "metadata": {}})
        for time_ms, key, value in events
    ]
    return PublishedFile("training-v4.0", path, "cd" * 32, "\n".join(lines).encode())


def official_events(events: Sequence[tuple[int, str, Any]]) -> list[LogLine]:
    return [LogLine("", float(at), key, {"value": value, "metadata": {}}, 0) for at, key, value in events]  # type: ignore[arg-type]


def test_a_node_is_integrated() -> None:
    events = [
        (1_000, "power_measurement_start", None),
        (1_000, "conversion_eff", 0.94),
        (2_000, "power_reading", 100.0),
        (4_000, "power_reading", 250),
        (5_000, "power_measurement_stop", None),
        (6_000, "power_reading", 9_999.0),
    ]
    frame, findings = parse_power_logs([power_file(events)])
    assert PowerReadings.validate(frame).select(
        "result_id",
        "run_name",
        "device",
        "device_name",
        "reading_count",
        "start_ms",
        "stop_ms",
        "conversion_efficiency",
        "integral_joules",
        "interconnect_power_watts",
    ).rows() == [
        ("training-v4.0/smc/n8/gpt3", "result_0", "node", "node_0", 2, 1_000, 5_000, 0.94, 100.0 + 500.0, None)
    ]
    assert findings.is_empty()


def test_a_switch_has_an_estimate() -> None:
    events = [(0, "conversion_eff", 0.9), (0, "interconnect_power_est", 750), (0, "conversion_eff", 0.5)]
    frame, findings = parse_power_logs([power_file(events, SWITCH)])
    assert frame.select("device", "conversion_efficiency", "interconnect_power_watts").rows() == [
        ("switch", 0.9, 750.0)
    ]
    assert findings.is_empty()


keys = st.sampled_from(["power_measurement_start", "power_measurement_stop", "power_reading", "conversion_eff", "x"])


@given(st.lists(st.tuples(st.integers(0, 50), keys, st.integers(0, 1_000) | st.floats(0, 1e6)), max_size=12))
def test_nodes_equal_the_official_sum(events: list[tuple[int, str, Any]]) -> None:
    (row,) = parse_power_logs([power_file(events)])[0].rows(named=True)
    try:
        official = result_summarizer._compute_power_node(official_events(events), RUN_MS)
    except (ValueError, ZeroDivisionError):
        assert row["start_ms"] is None or row["stop_ms"] in (None, row["start_ms"])
        return
    if row["stop_ms"] is None:  # neither a stop nor a reading: no energy, which the official reader counts as 0
        assert official == 0
        return
    ours = row["conversion_efficiency"] * row["integral_joules"] * RUN_MS / (row["stop_ms"] - row["start_ms"])
    assert ours == pytest.approx(official, rel=1e-12)


TYPES = {"power_measurement_start": "INTERVAL_START", "power_measurement_stop": "INTERVAL_END"}
EARLY = 1_700_000_000_000


def as_written(events: Sequence[tuple[int, str, Any]], path: str) -> PublishedFile:
    """Return a file as the logging library writes it, with readings ahead of it that are too early to count."""
    lines = []
    for time_ms, key, value in [*((-1, "power_reading", 1.0 + number) for number in range(16)), *events]:
        event_type = TYPES.get(key, "POINT_IN_TIME")
        event = {"namespace": "", "time_ms": EARLY + time_ms, "event_type": event_type, "key": key, "value": value}
        lines.append(":::MLLOG " + json.dumps(event | {"metadata": {}}))
    return PublishedFile("training-v4.0", path, "cd" * 32, "\n".join(lines).encode())


watts = st.integers(0, 1_000) | st.floats(0, 1e6) | st.sampled_from(["a lot", "12.5", None, True, 1e308, -0.0])


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 50), keys, watts), max_size=12), min_size=1, max_size=4), st.booleans()
)
def test_files_read_together_as_written_say_what_each_says_decoded(
    files: list[list[tuple[int, str, Any]]], is_reversed: bool
) -> None:
    """Hold what is known of readings by their shape against decoding each event."""
    paths = [NODE.replace("node_0", f"node_{number}") for number in range(len(files))]
    named = list(zip(files, paths, strict=True))[:: -1 if is_reversed else 1]
    frame, findings = parse_power_logs([as_written(events, path) for events, path in named])
    early = [(EARLY - 1, "power_reading", 1.0)] * 16
    for number, (events, path) in enumerate(named):
        moved = [*early, *((EARLY + time_ms, key, value) for time_ms, key, value in events)]
        alone, remarks = parse_power_logs([power_file(moved, path)])
        assert frame[number].equals(alone)
        assert findings.filter(source_path=path).equals(remarks)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 50),
            st.sampled_from(["interconnect_power_est", "conversion_eff", "x"]),
            st.floats(0, 1e6),
        ),
        max_size=6,
    )
)
def test_switches_equal_the_official_sum(events: list[tuple[int, str, Any]]) -> None:
    (row,) = parse_power_logs([power_file(events, SWITCH)])[0].rows(named=True)
    official = result_summarizer._compute_power_sw(official_events(events), RUN_MS)
    assert row["conversion_efficiency"] * row["interconnect_power_watts"] * RUN_MS / 1000 == pytest.approx(official)


@pytest.mark.parametrize(
    ("events", "kinds"),
    [
        ([], ["power.no_start"]),
        ([(0, "power_reading", 1)], ["power.no_start"]),
        ([(0, "power_measurement_start", None), (9, "power_reading", 1)], ["power.no_stop"]),
        ([(0, "power_measurement_start", None)], ["power.no_stop", "power.no_duration"]),
        ([(5, "power_measurement_start", None), (5, "power_measurement_stop", None)], ["power.no_duration"]),
        (
            [(0, "power_measurement_start", None), (9, "power_reading", "a lot"), (9, "power_measurement_stop", None)],
            ["power.reading"],
        ),
        (
            [(0, "power_measurement_start", None), (9, "conversion_eff", -1), (9, "power_measurement_stop", None)],
            ["power.efficiency"],
        ),
    ],
)
def test_what_a_node_lacks(events: list[tuple[int, str, Any]], kinds: list[str]) -> None:
    frame, findings = parse_power_logs([power_file(events)])
    assert len(PowerReadings.validate(frame)) == 1
    assert ParseFindings.validate(findings)["kind"].to_list() == kinds


def test_two_broken_texts_on_one_line_are_one_finding() -> None:
    content = b":::MLLOG {\r:::MLLOG [\n:::MLLOG 5\n"
    _, findings = parse_power_logs([PublishedFile("training-v4.0", NODE, "cd" * 32, content)])
    broken = ParseFindings.validate(findings).filter(kind="power.broken_line")
    assert broken["place"].to_list() == ["line 1", "line 2"]
    assert broken["explanation"].str.contains("3 such lines").all()


def test_broken_lines_are_passed_over_and_reported() -> None:
    good = power_file([(0, "power_measurement_start", None), (10, "power_measurement_stop", None)])
    file = PublishedFile(good.round, NODE, good.sha256, b":::MLLOG {oops\n" + good.content)
    frame, findings = parse_power_logs([file])
    assert frame["integral_joules"].to_list() == [0.0]
    assert findings.select("kind", "place").rows() == [("power.broken_line", "line 1")]


def test_a_file_elsewhere_is_reported() -> None:
    frame, findings = parse_power_logs([power_file([], "node_0.txt")])
    assert frame.is_empty()
    assert findings["kind"].to_list() == ["power.layout"]


@given(st.binary(max_size=300), st.sampled_from([NODE, SWITCH]))
def test_any_bytes_give_a_row(content: bytes, path: str) -> None:
    content = content.replace(b"T", b":::MLLOG ")
    frame, findings = parse_power_logs([PublishedFile("training-v4.0", path, "ef" * 32, content)])
    assert len(PowerReadings.validate(frame)) == 1
    ParseFindings.validate(findings)
