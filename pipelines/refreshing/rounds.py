"""The two stations of one round: its bytes into `raw`, and what they say into `core`.

A round comes from a results repository, or from the embedded snapshot, whose tables pass the same gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack

import polars as pl

from pipelines.lake.code_versions import code_version
from pipelines.lake.manifests import Manifest
from pipelines.lake.tables import Lake, PendingPartition
from pipelines.parsing.inference_summaries import parse_inference_summaries
from pipelines.parsing.launch_configs import parse_launches
from pipelines.parsing.layout import STRAY, classify, nearly
from pipelines.parsing.power_logs import parse_power_logs
from pipelines.parsing.published import PublishedFile, findings_frame
from pipelines.parsing.result_logs import ParsedLogs
from pipelines.parsing.scaling_factors import parse_scaling_factors
from pipelines.parsing.stray_files import stray_file_findings
from pipelines.parsing.system_descriptions import parse_system_descriptions
from pipelines.refreshing.log_groups import log_groups, read_group
from pipelines.refreshing.round_inputs import RoundInput, recall
from pipelines.refreshing.workshop import Workshop
from pipelines.schemas import TABLES, table
from pipelines.sources.errors import SourceError
from pipelines.sources.intake import read_files, store_repository
from pipelines.sources.repository import Repository, open_repository

TAKEN_IN = ("raw.files", "core.sources")
"""Tables that taking in a round writes."""

READ = tuple(
    entry.name for entry in TABLES.values() if entry.layer == "core" and entry.by_round and entry.name not in TAKEN_IN
)
"""Tables that reading a round writes."""

_READING_REPOSITORIES = (
    "sources/archives.py",
    "sources/folders.py",
    "sources/intake.py",
    "sources/members.py",
    "sources/repository.py",
)
_LAUNCH_KINDS = ("launch_config", "launch_note")

_Parse = Callable[[Iterable[PublishedFile]], tuple[pl.DataFrame, pl.DataFrame]]
_SMALL: tuple[tuple[str, str, _Parse], ...] = (
    ("core.scaling_factors", "scaling_factor", parse_scaling_factors),
    ("core.power_readings", "power_log", parse_power_logs),
    ("core.inference_results", "inference_summary", parse_inference_summaries),
)


def intake_version() -> str:
    """Return the version of the code that decides what is kept of a repository."""
    return code_version("schemas/raw.py", *_READING_REPOSITORIES, "parsing/layout.py")


def reading_version() -> str:
    """Return the version of the code that decides what the kept files say."""
    return code_version("schemas", "parsing", "refreshing/rounds.py", "refreshing/log_groups.py")


def keep(path: str) -> str | None:
    """Return the kind of a published file, None for one that no parser reads."""
    placed = classify(path)
    return placed.kind if placed else STRAY if nearly(path) else None


def take_in(workshop: Workshop, round_name: str) -> dict[str, Manifest]:
    """Bring `raw.files` and `core.sources` of the round up to date; a round of the snapshot has no files.

    A repository that is gone leaves the bytes that the lake holds.

    Returns:
        The manifest of each partition that there is.

    Raises:
        SourceError: the repository cannot be read, or nothing is known of the round; the lake is as it was.
    """
    lake, known = workshop.lake, recall(workshop.lake, round_name)
    if known is not None and known.repository:
        _fetch_where_wanted(workshop, known)
    elif known is not None and known.is_here:
        repository = open_repository(known.place, workshop.settings.limits)
        if repository.round != round_name:
            raise SourceError(repository.place, None, f"results of {round_name}", f"results of {repository.round}")
        if not (workshop.only_stale and is_taken_in(lake, repository)):
            _store(workshop, repository)
    elif not has_bytes(lake, round_name):
        _copy_from_snapshot(workshop, ("core.sources",), round_name)
    return lake.manifests(TAKEN_IN, round_name)


def is_taken_in(lake: Lake, repository: Repository) -> bool:
    """Return whether the lake holds what the repository holds now."""
    return _is_taken_in(lake, repository.round, {repository.source: repository.fingerprint})


def _is_taken_in(lake: Lake, round_name: str, inputs: Mapping[str, str]) -> bool:
    return all(lake.is_fresh(name, round_name, inputs=inputs, code_version=intake_version()) for name in TAKEN_IN)


def holds(lake: Lake, wanted: RoundInput) -> bool:
    """Return whether the lake holds that commit of the repository, wherever it was read from, by today's code."""
    if wanted.round not in lake.partitions("core.sources"):
        return False
    (row,) = lake.read("core.sources", [wanted.round]).iter_rows(named=True)
    is_that = (row["source"], row["commit"]) == (wanted.repository, wanted.commit)
    made_from = lake.manifest("raw.files", wanted.round)
    return is_that and made_from is not None and _is_taken_in(lake, wanted.round, made_from.inputs)


def has_bytes(lake: Lake, round_name: str) -> bool:
    """Return whether the lake holds published files of the round."""
    return round_name in lake.partitions("raw.files")


def read_round(workshop: Workshop, round_name: str) -> dict[str, Manifest]:
    """Bring every `core` table of the round up to date, from its files or else from the snapshot.

    Raises:
        SourceError: there is neither.
    """
    lake = workshop.lake
    if not (workshop.only_stale and is_read(workshop, round_name)):
        if has_bytes(lake, round_name):
            _parse(workshop, round_name)
        else:
            _copy_from_snapshot(workshop, READ, round_name)
    return lake.manifests(READ, round_name)


def is_read(workshop: Workshop, round_name: str) -> bool:
    """Return whether reading the round again would change nothing."""
    inputs = _reading_inputs(workshop, round_name)
    lake, version = workshop.lake, reading_version()
    return inputs is not None and all(
        lake.is_fresh(name, round_name, inputs=inputs, code_version=version) for name in READ
    )


def _reading_inputs(workshop: Workshop, round_name: str) -> dict[str, str] | None:
    if has_bytes(workshop.lake, round_name):
        files = workshop.lake.manifest("raw.files", round_name)
        return {"raw.files": files.sha256} if files else None
    if round_name in workshop.snapshot.rounds():
        return {"snapshot": workshop.snapshot.digest(round_name)}
    return None


def _fetch_where_wanted(workshop: Workshop, wanted: RoundInput) -> None:
    """Fetch the round's tarball: in a live refresh where the lake holds another commit, by hand in any case."""
    if workshop.only_stale and (workshop.live is None or holds(workshop.lake, wanted)):
        return
    with workshop.live_sources() as live:
        live.fetch(wanted.repository, wanted.commit, lambda repository: _store(workshop, repository))


def _store(workshop: Workshop, repository: Repository) -> None:
    lake = workshop.lake
    sources = store_repository(repository, lake, keep, workshop.clock, code_version=intake_version())
    inputs = {repository.source: repository.fingerprint}
    lake.write("core.sources", sources, repository.round, inputs=inputs, code_version=intake_version())


def _copy_from_snapshot(workshop: Workshop, names: Iterable[str], round_name: str) -> None:
    if round_name not in workshop.snapshot.rounds():
        expected = "a results repository (refresh --from PATH) or a round of the embedded snapshot"
        raise SourceError(round_name, None, expected, "neither")
    inputs = {"snapshot": workshop.snapshot.digest(round_name)}
    for name in names:
        entry = table(name)
        # A snapshot that an older version wrote has no file of a table that is newer.
        is_there = entry.in_snapshot and name in workshop.snapshot.about().tables
        frame = workshop.snapshot.read(name, round_name) if is_there else entry.schema.create_empty()
        workshop.lake.write(name, frame, round_name, inputs=inputs, code_version=reading_version())


def _parse(workshop: Workshop, round_name: str) -> None:
    """Parse the round's files: the logs group by group straight into the lake, the small files at once."""
    lake = workshop.lake
    files = lake.manifest("raw.files", round_name)
    inputs = {"raw.files": files.sha256 if files else ""}
    with ExitStack() as stack:
        pending = {
            name: stack.enter_context(lake.writer(name, round_name, inputs=inputs, code_version=reading_version()))
            for name in READ
        }
        findings = pending["core.parse_findings"]
        runs = _parse_logs(workshop, round_name, pending)
        systems, remarks = parse_system_descriptions(read_files(lake, round_name, {"system_description"}))
        pending["core.systems"].append(systems)
        findings.append(findings_frame(remarks))
        launches, remarks = parse_launches(read_files(lake, round_name, _LAUNCH_KINDS), systems, runs)
        pending["core.launches"].append(launches)
        findings.append(findings_frame(remarks))
        findings.append(findings_frame(stray_file_findings(read_files(lake, round_name, {STRAY}))))
        for name, kind, parse in _SMALL:
            frame, found = parse(read_files(lake, round_name, {kind}))
            pending[name].append(frame)
            findings.append(found)


def _parse_logs(workshop: Workshop, round_name: str, pending: Mapping[str, PendingPartition]) -> pl.DataFrame:
    """Parse the result logs group by group and return their runs, which the launches need."""

    def land(logs: ParsedLogs) -> pl.DataFrame:
        pending["core.runs"].append(logs.runs)
        pending["core.evals"].append(logs.evals)
        pending["core.steps"].append(logs.steps)
        pending["core.parse_findings"].append(logs.findings)
        return logs.runs

    groups = log_groups(workshop.lake, workshop.settings.lake, round_name)
    # Unlike a loop, this holds no group while the next one is read.
    return pl.concat(list(map(land, workshop.spread(read_group, groups))))
