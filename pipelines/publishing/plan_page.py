"""A plan as one HTML page that opens offline: no scripts, nothing fetched. Published text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import jinja2

from pipelines.publishing.notice import TRADEMARK
from pipelines.publishing.plan_frontier import frontier_rows, frontier_said
from pipelines.publishing.plan_provenance import Provenance
from pipelines.publishing.plan_text import comparison_rows
from pipelines.publishing.plan_words import Part, Rows, derived, headline, inputs, number, parts
from pipelines.reconciling.planning_answers import Answer, Comparison, Frontier

_STYLE = """
.figure { font-weight: 600; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--page); padding: 0.8rem; border-radius: 6px; }
.tracks { display: grid; gap: 0.35rem; margin: 0.6rem 0; }
.tracked { display: grid; grid-template-columns: minmax(8rem, 18rem) 1fr 7.5rem;
  gap: 0 0.8rem; align-items: center; font-size: 0.9rem; }
.track { position: relative; height: 1.1rem; border-radius: 3px; background: var(--page); }
.track i { position: absolute; top: 0; bottom: 0; }
.track .range { background: var(--info); opacity: 0.22; min-width: 3px; }
.track .dot { width: 0.7rem; height: 0.7rem; top: 0.2rem; margin-left: -0.35rem; border-radius: 50%;
  background: var(--info); }
.track .dot.main { background: var(--link); outline: 2px solid var(--ink); }
.parts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1.2rem; }
.parts section { margin: 0; }
.parts .wide { grid-column: 1 / -1; }
.track .zero { left: 50%; width: 1px; background: var(--quiet); }
.track .move { background: var(--info); border-radius: 2px; min-width: 2px; }
@media (max-width: 46rem) {
  td, td.number { min-width: 0; padding-right: 0.5rem; white-space: normal; overflow-wrap: normal; }
  td, th { font-size: 0.8rem; }
  .tracked { grid-template-columns: 1fr max-content; }
  .tracked .track { grid-row: 2; grid-column: 1 / -1; }
}
"""
_MOVED = {"needed_gigabytes_per_second": "GB/s", "kilowatts": "kW"}
"""What an assumption moves, where its name is long."""

_EDGE = 6.0
"""Per cent of a track that stays empty at both ends."""


@dataclass(frozen=True)
class Track:
    """One line of a figure: a label, a place or a bar, a value."""

    label: str
    value: str
    left: float
    width: float = 0.0


@dataclass(frozen=True)
class Shown:
    """A plan above the fold; the letter tells two apart."""

    letter: str
    headline: str
    derived: str
    extrapolations: Sequence[str]


@dataclass(frozen=True)
class Picture:
    """Lines on one scale: places in a shaded band, or bars from the middle where there is none."""

    tracks: Sequence[Track]
    band: Track | None = None


@dataclass(frozen=True)
class ShownPart:
    """A part, with a picture where it has one."""

    title: str
    figure: str
    sentences: Sequence[str]
    items: Sequence[str]
    rows: Rows | None
    picture: Picture | None

    @property
    def is_wide(self) -> bool:
        """Say whether it takes the whole width."""
        return self.rows is not None or bool(self.items)


def plan_as_html(answer: Answer, provenance: Provenance) -> str:
    """Return the page of a plan."""
    return _page(
        provenance,
        title=f"Plan: {answer.inputs.work} on {answer.inputs.platform}",
        plans=[Shown("", headline(answer), derived(answer.inputs), answer.extrapolations)],
        parts=[_shown(part, answer) for part in parts(answer)],
        inputs=inputs(answer),
    )


def comparison_as_html(comparison: Comparison, provenance: Provenance) -> str:
    """Return the page of two plans side by side."""
    first, second = comparison.first, comparison.second
    plans = [
        Shown(f" of {letter}", headline(answer), derived(answer.inputs), answer.extrapolations)
        for letter, answer in (("A", first), ("B", second))
    ]
    return _page(
        provenance,
        title=f"Plans compared: {first.inputs.work}",
        plans=plans,
        rows=comparison_rows(comparison),
    )


def frontier_as_html(frontier: Frontier, provenance: Provenance) -> str:
    """Return the page of the plans that no other beats."""
    plans = [Shown("", frontier_said(frontier), derived(frontier.inputs), frontier.extrapolations)]
    return _page(provenance, title="Time, size and power", plans=plans, rows=frontier_rows(frontier))


def _page(provenance: Provenance, **content: Any) -> str:
    absent: dict[str, Any] = {"parts": [], "rows": None, "inputs": None, "kind": "A plan"}
    report_style = files("pipelines.publishing.report").joinpath("static/report.css").read_text("utf-8")
    return _template().render(
        **(absent | content),
        style=report_style + _STYLE,
        command=provenance.command,
        provenance=provenance.lines(),
        age=provenance.age,
        trademark=TRADEMARK,
    )


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pipelines.publishing"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("plan.html")


def _shown(part: Part, answer: Answer) -> ShownPart:
    pictures = {"Racks": _racks, "Assumptions": _changes}
    picture = pictures[part.title](answer) if part.title in pictures else None
    return ShownPart(part.title, part.figure, part.sentences, part.items, part.rows, picture)


def _racks(answer: Answer) -> Picture:
    """Return where each way of counting stands on one scale, and the band of the range."""
    racks = answer.racks
    ways = (
        ("recommended", racks.recommended),
        ("by division", racks.by_division),
        ("by replica", racks.by_replica),
        ("by model", racks.by_model),
        ("largest run held out", racks.by_largest_held_out),
        ("by power law", racks.by_power_law),
    )
    counted = [(name, float(value)) for name, value in ways if value is not None]
    least, most = _ends([*(value for _, value in counted), racks.low, racks.high])

    def at(value: float) -> float:
        return round(_EDGE + (100 - 2 * _EDGE) * (value - least) / (most - least), 2)

    width = round(at(racks.high) - at(racks.low), 2)
    band = Track("range", f"{racks.low:,} to {racks.high:,} racks", at(racks.low), width)
    return Picture([Track(name, number(value), at(value)) for name, value in counted], band)


def _ends(values: Iterable[float]) -> tuple[float, float]:
    """Return the ends of a scale, never the same."""
    given = list(values)
    least, most = min(given), max(given)
    return (least, most) if most > least else (least - 1, most + 1)


def _changes(answer: Answer) -> Picture:
    """Return a bar from the middle for each assumption, the largest half as long as a track."""
    changes = [(each, each.change_percent) for each in answer.assumptions if each.change_percent is not None]
    largest = max((abs(change) for _, change in changes), default=0.0) or 1.0
    bars = [
        Track(
            each.name,
            f"{change:+.1f} % {_MOVED.get(each.moves, each.moves)}",
            round(50 + min(0.0, 50 * change / largest), 2),
            round(50 * abs(change) / largest, 2),
        )
        for each, change in changes
    ]
    return Picture(bars)
