"""A plan as text, JSON, page and rows: what stands where, in which words, and how published text is treated."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from selectolax.lexbor import LexborHTMLParser

from pipelines.publishing.notice import TRADEMARK
from pipelines.publishing.plan_frontier import COLUMNS, ROWS_SHOWN, frontier_as_json, frontier_frame
from pipelines.publishing.plan_json import answer_as_json, comparison_as_json, field_names, plan_as_json
from pipelines.publishing.plan_page import comparison_as_html, frontier_as_html, plan_as_html
from pipelines.publishing.plan_text import WIDTH, comparison_as_text, frontier_as_text, plan_as_text
from pipelines.publishing.plan_words import duration, durations, headline, parts
from pipelines.reconciling.planning_answers import Answer, Frontier, FrontierPoint
from tests.unit.publishing.plan_sample import ANSWER, CLUSTER, COMPARISON, FRONTIER, PROVENANCE

HOSTILE = "</style></script><img src=x onerror=alert(1)>\"&'"
TITLES = [
    "Racks",
    "Accelerators",
    "Time",
    "Network",
    "Fabric",
    "Power",
    "Cost",
    "Faster network",
    "What binds",
    "Nearest run",
    "Assumptions",
    "Rests on",
    "Searched",
]


def text_of(answer: Answer) -> str:
    return plan_as_text(answer, PROVENANCE)


def test_one_answer_leads() -> None:
    lines = text_of(ANSWER).splitlines()
    assert lines[0] == "39 racks (38 to 40) of GB200 NVL72, for llama31_405b in 27.33 minutes at fp8;"
    assert lines[1] == "predicted 26.76 minutes"


@pytest.mark.parametrize(
    ("goal", "told"),
    [
        ({"target_minutes": 30.0}, "in 30 minutes"),
        ({"days": 90.0}, "in 90 days"),
        ({"days": 1.0}, "in 1 day "),
        ({"target_minutes": 1.0}, "in 1 minute "),
    ],
)
def test_a_deadline_is_told_as_it_was_asked(goal: dict[str, float], told: str) -> None:
    ask = replace(ANSWER.ask, **{"target_minutes": None, **goal})
    assert f"{told}" in headline(replace(ANSWER, ask=ask))


def test_the_answer_says_that_it_is_derived_and_from_which_rounds() -> None:
    lines = text_of(ANSWER).splitlines()
    assert lines[2] == "Derived by a model from results up to training-v5.0, not an official result."
    assert "training-v5.0: mlcommons/training_results_v5.0 at 0fdc28f00000, Apache-2.0, read" in lines


def test_each_assumption_stands_beside_what_it_moves() -> None:
    text = text_of(ANSWER)
    assert f"{'':16}- With all 72 at work 35 racks are enough.\n" in text


def test_extrapolation_is_said_before_the_answer() -> None:
    lines = text_of(replace(ANSWER, extrapolations=("No run of this work is here.",))).splitlines()
    assert lines[0] == "EXTRAPOLATION: No run of this work is here."
    assert lines[2].startswith("39 racks")


def test_a_size_is_answered_by_a_time() -> None:
    ask = replace(ANSWER.ask, target_minutes=None, racks=41)
    told = headline(replace(ANSWER, ask=ask))
    assert told == "26.76 minutes (25.30 to 28.30 minutes) on 39 racks of GB200 NVL72, for llama31_405b at fp8"


@pytest.mark.parametrize(
    ("size", "told"),
    [
        ({"racks": 41, "spare_racks": 2}, ""),
        ({"racks": 39, "spare_racks": 0}, ""),
        (
            {"racks": 500, "spare_racks": 0},
            "; of 500 racks given 39 are of use: a batch of at most 1,536 samples keeps no more busy to any use",
        ),
        (
            {"racks": 500, "spare_racks": 2},
            "; of 500 racks given, 2 of them spare, 39 are of use: a batch of at most 1,536 samples keeps no more "
            "busy to any use",
        ),
        (
            {"accelerators": 2500},
            "; of 2,500 accelerators given 2,496 are of use: whole replicas take 64 accelerators each",
        ),
        ({"megawatts": 9.0}, ""),
    ],
)
def test_what_of_a_size_is_of_no_use_stands_in_the_first_line(size: dict[str, Any], told: str) -> None:
    ask = replace(ANSWER.ask, target_minutes=None, **size)
    assert headline(replace(ANSWER, ask=ask)).partition(" at fp8")[2] == told


def test_a_rack_that_is_filled_in_part_is_said() -> None:
    cluster = replace(CLUSTER, accelerators=1000, racks=32, replica_accelerators=8, data_parallel=125)
    racks = replace(ANSWER.racks, recommended=32, accelerators_per_rack=32, active_per_rack=32)
    inputs = replace(ANSWER.inputs, active_per_rack=32, accelerators_per_rack=32)
    text = " ".join(text_of(replace(ANSWER, cluster=cluster, racks=racks, inputs=inputs)).split())
    assert "32 of 32 accelerators at work in each but one, filled in part with 8; 2 spare" in text
    assert "step-time model, up to 32 at work in each rack" in text


def test_parts_come_in_the_order_in_which_a_planner_asks() -> None:
    assert [part.title for part in parts(ANSWER)] == TITLES
    assert [part.title for part in parts(replace(ANSWER, cost=None))] == [name for name in TITLES if name != "Cost"]


def test_every_line_fits_a_terminal_but_one_name() -> None:
    wide = [line for line in text_of(ANSWER).splitlines() if len(line) > WIDTH]
    assert wide == []
    for text in (comparison_as_text(COMPARISON, PROVENANCE), frontier_as_text(FRONTIER, PROVENANCE)):
        assert max(map(len, text.splitlines())) <= WIDTH


@pytest.mark.parametrize("width", [60, 45])
def test_every_line_fits_a_narrower_terminal(width: int) -> None:
    for text in (
        plan_as_text(ANSWER, PROVENANCE, width),
        comparison_as_text(COMPARISON, PROVENANCE, width),
        frontier_as_text(FRONTIER, PROVENANCE, width),
    ):
        assert max(map(len, text.splitlines())) <= width
    printed = plan_as_text(ANSWER, PROVENANCE, width).split("Ask it again with:\n")[1]
    assert shlex.split(printed.replace("\\\n", "")) == shlex.split(PROVENANCE.command)


def test_the_three_counts_stand_beside_what_they_count() -> None:
    text = text_of(ANSWER)
    for name, racks in (("racks_by_division", 35), ("racks_by_replica", 39), ("racks_by_model", 39)):
        assert re.search(rf"^ {name} +{racks} ", text, re.MULTILINE), name
    assert "step-time model, 64 at work in each rack" in text
    assert "2 spare: order 41" in text


def test_a_figure_and_its_unit_stay_on_one_line() -> None:
    for line in text_of(ANSWER).splitlines():
        assert not line.lstrip().startswith(("% ", "GB/s ", "minutes ", "kW"))


def test_what_is_missing_says_why() -> None:
    bare = replace(
        ANSWER,
        fabric=None,
        fabric_reason="No switch is known for such NICs.",
        power=None,
        power_reason="No rating is published.",
        nearest=None,
        nearest_reason="No run is like it.",
        basis=replace(ANSWER.basis, error_percent=None, error_reason="two runs are met exactly"),
        time=replace(ANSWER.time, low_minutes=None, high_minutes=None),
    )
    text = text_of(bare)
    for told in (
        "Fabric          not sized",
        "No switch is known for such NICs.",
        "Power           not known",
        "No rating is published.",
        "No run is like it.",
        "No error is told: two runs are met exactly.",
        "26.76 minutes (no interval)",
    ):
        assert told in text


def test_a_network_that_nothing_crosses_needs_no_figures() -> None:
    network = replace(ANSWER.network, verdict="enough", scale_out_bytes=0.0, sentence="Nothing crosses the domain.")
    text = text_of(replace(ANSWER, network=network))
    assert "Network         enough\n                Nothing crosses the domain.\n" in text
    assert "GB/s an accelerator (" not in text.partition("Inputs")[0]


def test_goodput_turns_minutes_into_time_on_the_calendar() -> None:
    time = replace(ANSWER.time, goodput=0.9, on_the_calendar_minutes=29.73, goodput_sentence="90 % of the time trains.")
    text = text_of(replace(ANSWER, time=time))
    assert "predicted 29.73 minutes" in text
    assert "29.73 minutes on the calendar" in " ".join(text.split())


def test_the_command_is_pasted_as_it_stands() -> None:
    printed = text_of(ANSWER).split("Ask it again with:\n")[1]
    assert shlex.split(printed.replace("\\\n", "")) == shlex.split(PROVENANCE.command)


@pytest.mark.parametrize(
    ("minutes", "told"),
    [
        (0.000123, "0.00012 minutes"),
        (27.333, "27.33 minutes"),
        (206.3, "3.44 hours"),
        (4 * 1440, "4.00 days"),
        (150.4 * 1440, "150.4 days"),
    ],
)
def test_times_are_told_in_the_unit_that_they_are_read_in(minutes: float, told: str) -> None:
    assert duration(minutes) == told


def test_a_range_of_times_has_one_unit() -> None:
    assert durations(2700, 3000) == "1.88 to 2.08 days"


def test_json_has_every_field_in_the_order_of_a_plan() -> None:
    plan = plan_as_json(ANSWER, PROVENANCE)
    assert json.loads(json.dumps(plan)) == plan
    assert list(plan)[:4] == ["command", "extrapolations", "racks_recommended", "racks_low"]
    assert (plan["racks_recommended"], plan["racks_by_division"], plan["racks_by_power_law"]) == (39, 35, 38.2)
    assert plan["cluster"]["tensor_parallel"] == 4
    assert plan["assumptions"][1]["to_value"] is None
    assert plan["trademark"] == TRADEMARK
    assert plan["sources"][0]["commit"] == "0fdc28f0000000000000"
    assert "derived" in plan["derived"]


def paths(value: Any, above: str = "") -> set[str]:
    if isinstance(value, list):
        return set[str]().union(*(paths(each, above) for each in value)) or {above.rstrip(".")}
    if isinstance(value, dict) and value:
        return set[str]().union(*(paths(each, f"{above}{name}.") for name, each in value.items()))
    return {above.rstrip(".")}


def test_the_list_of_fields_is_that_of_a_plan() -> None:
    listed = set(field_names())
    plan = plan_as_json(replace(ANSWER, extrapolations=("x",)), PROVENANCE)
    found = {re.sub(r"^(sources|files)\..*", r"\1", path) for path in paths(plan)}
    assert found == listed


def test_two_plans_in_json_and_text() -> None:
    both = comparison_as_json(COMPARISON, PROVENANCE)
    assert both["a"] == answer_as_json(ANSWER)
    assert both["figures"][0] == {
        "figure": "racks_recommended",
        "unit": "racks",
        "a": 39,
        "b": 180,
        "b_over_a": pytest.approx(4.615, abs=1e-3),
    }
    text = comparison_as_text(COMPARISON, PROVENANCE)
    assert text.startswith("A  39 racks (38 to 40) of GB200 NVL72")
    assert re.search(r"^ network verdict +too close to call +enough$", text, re.MULTILINE)
    assert text.count("Derived by a model from results up to training-v5.0") == 2


def test_the_extrapolation_of_each_of_two_plans_is_said_before_it() -> None:
    second = replace(ANSWER, extrapolations=("No such run.",))
    lines = comparison_as_text(replace(COMPARISON, second=second), PROVENANCE).splitlines()
    assert lines.index("EXTRAPOLATION of B: No such run.") < next(
        place for place, line in enumerate(lines) if line.startswith("B  39 racks")
    )


def test_a_frontier_as_rows() -> None:
    frame = frontier_frame(FRONTIER)
    assert frame.schema == pl.Schema(COLUMNS)
    assert frame["computer_kilowatts"].to_list() == [4914.0, None]
    assert frame["layout"].to_list() == [CLUSTER.layout] * 2
    told = frontier_as_json(FRONTIER, PROVENANCE)
    assert told["points"] == frame.to_dicts()
    assert told["trademark"] == TRADEMARK


def frontier_of(*sizes: tuple[int, float]) -> Frontier:
    points = tuple(
        FrontierPoint(
            cluster=replace(CLUSTER, racks=racks, accelerators=64 * racks, minutes=minutes),
            computer_kilowatts=132.0 * racks,
        )
        for racks, minutes in sizes
    )
    return replace(FRONTIER, points=points)


def test_many_points_are_thinned_for_people_only() -> None:
    frontier = frontier_of(*((racks, 1000 / racks) for racks in range(200, 0, -1)), (7, 900.0))
    assert frontier_frame(frontier)["racks"].to_list() == sorted([7, *range(1, 201)])
    text = frontier_as_text(frontier, PROVENANCE)
    told = " ".join(text.split())
    assert told.startswith("201 plans of llama31_405b on GB200 NVL72 at fp8 that no other beats on time, accelerators")
    assert "from 64 accelerators in 16.67 hours to 12,800 accelerators in 5.00 minutes." in told
    shown = [int(line.split()[0]) for line in text.splitlines() if "tp4-cp2" in line]
    assert 20 <= len(shown) <= ROWS_SHOWN
    assert (shown[0], shown[-1]) == (1, 200)
    assert shown == sorted(set(shown))
    assert "900.0 minutes" not in text, "a slower plan on as many racks is not shown"
    assert f"{len(shown)} of them stand below; --format csv and json give all." in " ".join(text.split())


def test_a_frontier_in_words() -> None:
    text = frontier_as_text(FRONTIER, PROVENANCE)
    assert text.startswith("2 plans of llama31_405b on GB200 NVL72 at fp8 that no other beats")
    assert "\nDerived by a model from results up to training-v5.0" in text
    extrapolated = frontier_as_text(replace(FRONTIER, extrapolations=("No such run.",)), PROVENANCE)
    assert extrapolated.startswith("EXTRAPOLATION: No such run.\n")
    assert re.search(r"^ +39 +2,496 +26.76 minutes +4.91 +tp4-cp2-pp8-vp8-mb1 +1,248$", text, re.MULTILINE)
    assert frontier_as_text(frontier_of(), PROVENANCE).startswith("No plan fits.")


def page_of(html: str) -> LexborHTMLParser:
    return LexborHTMLParser(html)


def test_the_page_says_what_the_text_says() -> None:
    page = page_of(plan_as_html(replace(ANSWER, extrapolations=("No run is here.",)), PROVENANCE))
    assert page.css_first("p.answer").text().startswith("39 racks (38 to 40) of GB200 NVL72")
    assert page.css_first("main > p").text() == "Extrapolation. No run is here."
    assert [node.text() for node in page.css(".parts h2")] == TITLES
    assert page.css_first("pre").text() == PROVENANCE.command
    footer = page.css_first("footer").text()
    assert TRADEMARK in footer
    assert PROVENANCE.age in footer


def test_the_page_places_each_count_on_one_scale() -> None:
    page = page_of(plan_as_html(ANSWER, PROVENANCE))
    section = next(node for node in page.css(".parts section") if node.css_first("h2").text() == "Racks")
    rows = {row.css_first("span").text(): row for row in section.css(".tracked")}
    left = {
        name: float(re.search(r"left:([\d.]+)%", row.css_first(".dot").attributes["style"] or "")[1])  # type: ignore[index]
        for name, row in rows.items()
    }
    assert left["by division"] == 6.0
    assert left["by division"] < left["largest run held out"] < left["by power law"] < left["by model"]
    assert left["by model"] == left["recommended"]


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    for html in (
        plan_as_html(ANSWER, PROVENANCE),
        comparison_as_html(COMPARISON, PROVENANCE),
        frontier_as_html(FRONTIER, PROVENANCE),
    ):
        page = page_of(html)
        assert page.css("script") == []
        assert [node.attributes.get("href") for node in page.css("link")] == ["data:,"]
        assert page.css("[src]") == []
        assert "url(" not in page.css_first("style").text()


def test_published_text_is_escaped() -> None:
    answer = replace(ANSWER, inputs=replace(ANSWER.inputs, work=HOSTILE, platform=HOSTILE), extrapolations=(HOSTILE,))
    provenance = replace(PROVENANCE, command=HOSTILE, age=HOSTILE)
    page = page_of(plan_as_html(answer, provenance))
    assert page.css("img, script") == []
    assert HOSTILE in page.css_first("h1").text()
    assert page.css_first("pre").text() == HOSTILE
