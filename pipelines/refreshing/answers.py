"""Runs a station between `core` and `mart`: reads, computes, writes, and tells whether there was anything to do.

Which stations there are belongs in `stations`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import polars as pl

from pipelines.lake.code_versions import code_version
from pipelines.lake.manifests import Manifest
from pipelines.lake.tables import Lake
from pipelines.refreshing.quarantine import QUARANTINE, quarantine_inputs, read_quarantine
from pipelines.refreshing.workshop import Workshop
from pipelines.schemas import table
from pipelines.schemas.mart import Findings

Frames = Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class Answers:
    """What a station gives: its tables, and rows for `mart.findings`."""

    tables: Frames
    findings: pl.DataFrame = field(default_factory=Findings.create_empty)


@dataclass(frozen=True)
class Station:
    """One step of the way from facts to answers: a pure function between frames."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    rooms: tuple[str, ...]
    """Packages and modules whose code decides what comes out, beside the schemas."""
    compute: Callable[[Frames], Answers]
    sees_quarantine: bool = False
    """Whether it is also given the rows of every table that broke a rule, as `quarantine`."""

    @property
    def code_version(self) -> str:
        """Return a digest of the code that this station depends on."""
        return code_version("schemas", "refreshing/stations.py", *self.rooms)


def bring_up_to_date(workshop: Workshop, station: Station) -> dict[str, Manifest]:
    """Run the station unless it may keep what is fresh; return the manifest of each of its tables."""
    if not (workshop.only_stale and is_fresh(workshop.lake, station)):
        _run(workshop.lake, station)
    return workshop.lake.manifests(station.writes)


def is_fresh(lake: Lake, station: Station) -> bool:
    """Return whether running the station would change nothing."""
    inputs = inputs_of(lake, station)
    return all(lake.is_fresh(name, inputs=inputs, code_version=station.code_version) for name in station.writes)


def inputs_of(lake: Lake, station: Station) -> dict[str, str]:
    """Return the SHA-256 of every partition that the station reads; one without a manifest counts as changed."""
    inputs = {
        f"{name}/{partition}": manifest.sha256 if manifest else "unknown"
        for name in station.reads
        for partition in lake.partitions(name)
        for manifest in [lake.manifest(name, partition)]
    }
    return inputs | (quarantine_inputs(lake) if station.sees_quarantine else {})


def _run(lake: Lake, station: Station) -> None:
    inputs = inputs_of(lake, station)
    frames = {name: lake.read(name).sort(table(name).schema.primary_key()) for name in station.reads}
    if station.sees_quarantine:
        frames[QUARANTINE] = read_quarantine(lake)
    answers = station.compute(frames)
    for name in station.writes:
        lake.write(name, answers.tables[name], inputs=inputs, code_version=station.code_version)
