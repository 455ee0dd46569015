"""The refresh: which rounds there are, which are stale, what each came to. It runs nothing itself.

The work is done by a runner, which is Dagster; what is fresh is told by the manifests in the lake alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import polars as pl

from pipelines.lake.gate import ColumnsError
from pipelines.quality.apart import SUITES
from pipelines.refreshing import answers, rounds
from pipelines.refreshing.estimates import (
    ANSWERS_SECONDS,
    ARCHIVE_SECONDS,
    HOST_SECONDS,
    SNAPSHOT_SECONDS,
    Course,
    Show,
)
from pipelines.refreshing.live import Discovered, LiveSources, record_known_rounds
from pipelines.refreshing.publishing import is_published
from pipelines.refreshing.round_inputs import RoundInput, forget, recall, remember
from pipelines.refreshing.stations import STATIONS
from pipelines.refreshing.workshop import Workshop
from pipelines.schemas import table
from pipelines.sources.errors import SourceError
from pipelines.sources.repository import Repository, open_repository

Tell = Callable[[str], None]

ANSWERS = "answers"
"""Name of the part that is all of `mart` and the warehouse."""

SPECIFICATIONS = "specifications"
"""Name of the part that is all watched pages."""


class RefreshError(Exception):
    """What was asked of a refresh cannot be done; the message says what can."""


@dataclass(frozen=True)
class RunOutcome:
    """How a run of the assets ended."""

    reason: str | None = None
    """Why it failed, None where it did not."""
    is_source: bool = False
    """Whether an input is at fault, as against a check or this project."""


class Runner(Protocol):
    """Runs the assets."""

    def run_rounds(self, round_names: Iterable[str]) -> Generator[tuple[str, RunOutcome]]:
        """Bring `raw` and `core` of each round up to date; give what came of it as soon as it ends, in any order.

        What is under way is given up where the generator is closed.

        Args:
            round_names: Each is taken only when its turn has come.
        """

    def run_sheets(self) -> RunOutcome:
        """Put the pages that were fetched into `raw`."""

    def run_answers(self) -> RunOutcome:
        """Bring `mart` and the warehouse up to date."""


@dataclass(frozen=True)
class Part:
    """What came of one part of a refresh: a round, an input that does not tell its round, or the answers."""

    name: str
    state: Literal["unchanged", "refreshed", "failed"]
    reason: str | None = None
    is_source: bool = False


@dataclass
class Report:
    """What came of a refresh."""

    parts: list[Part] = field(default_factory=list)

    @property
    def failed(self) -> list[Part]:
        """Return the parts that failed."""
        return [part for part in self.parts if part.state == "failed"]

    @property
    def is_unchanged(self) -> bool:
        """Whether there was nothing to do."""
        return all(part.state == "unchanged" for part in self.parts)


def refresh(
    workshop: Workshop,
    paths: Sequence[Path],
    only: Sequence[str],
    runner: Runner,
    tell: Tell,
    show: Show = lambda standing: None,
) -> Report:
    """Bring the lake and the warehouse up to date and return what came of each part.

    Args:
        workshop: Whose lake; its lock must be held. Hosts are asked where it is asking them.
        paths: Results repositories to read; none means what the lake knows and the embedded snapshot.
        only: Rounds to keep to; none means all.
        runner: Runs the assets.
        tell: Takes a line on what is being done.
        show: Takes how far the refresh is, before the line on what is done next.

    Raises:
        RefreshError: two inputs are of one round, or there is no such round.
    """
    report, course = Report(), Course(show)
    given = _open_all(workshop, paths, report)
    listed = _discover(workshop, workshop.live, only, report, tell) if workshop.live else {}
    wanted = _wanted(workshop, {**listed, **given}, only, with_snapshot=not paths)
    untried = [name for name in wanted if not any(part.name == name for part in report.parts)]
    report.parts += _refresh_rounds(workshop, untried, {**listed, **given}, runner, tell, course)
    if workshop.live and not only:
        report.parts += _refresh_sheets(workshop, workshop.live, runner, tell)
    if any(workshop.lake.partitions(name) for name in ("core.sources", "raw.sheets")):
        report.parts.append(_refresh_answers(workshop, runner, tell, course))
    return report


def rounds_read(workshop: Workshop) -> dict[str, str | None]:
    """Return the rounds of the lake and of the snapshot, and when the bytes of each were read, null where not known."""
    rounds: dict[str, str | None] = dict.fromkeys(workshop.lake.partitions("core.sources"))
    of_snapshot = {entry.round: entry.read_at for entry in workshop.snapshot.about().rounds}
    return rounds | of_snapshot | dict(_rows(workshop, "core.sources").select("round", "retrieved_at").iter_rows())


def listed_rounds(workshop: Workshop) -> list[str]:
    """Return the rounds that their publisher listed when it was last asked, those that were not fetched among them."""
    return _rows(workshop, "core.known_rounds")["round"].sort().to_list()


def _rows(workshop: Workshop, name: str) -> pl.DataFrame:
    """Return a table's rows; those of an older program are not known before a refresh has carried them over."""
    try:
        return workshop.lake.read(name)
    except ColumnsError:
        return table(name).schema.create_empty()


def _open_all(workshop: Workshop, paths: Sequence[Path], report: Report) -> dict[str, Repository]:
    opened: dict[str, Repository] = {}
    for path in paths:
        try:
            repository = open_repository(path, workshop.settings.limits)
        except SourceError as error:
            report.parts.append(Part(str(path), "failed", str(error), is_source=True))
            continue
        if repository.round in opened:
            first = opened[repository.round].place
            raise RefreshError(f"{first} and {path} both hold {repository.round}: name one of them")
        opened[repository.round] = repository
    return opened


def _discover(
    workshop: Workshop, live: LiveSources, only: Sequence[str], report: Report, tell: Tell
) -> dict[str, RoundInput]:
    """Return the rounds that the publisher lists and that are wanted, each at its commit."""
    tell(f"asking {workshop.settings.results_api} for the rounds of {workshop.settings.results_organisation}")
    found: Discovered = live.discover(only)
    record_known_rounds(workshop.lake, found, workshop.clock())
    report.parts += [Part(name, "failed", reason, is_source=True) for name, reason in found.failures.items()]
    return found.rounds


def _refresh_sheets(workshop: Workshop, live: LiveSources, runner: Runner, tell: Tell) -> list[Part]:
    """Ask for the watched pages; run the assets only where one changed."""
    tell("asking for the watched pages of specifications")
    try:
        fetched = live.fetch_sheets(workshop.lake, workshop.clock())
    except SourceError as error:
        return [Part(SPECIFICATIONS, "failed", str(error), is_source=True)]
    if fetched.not_due:
        tell(f"{fetched.not_due} watched pages were asked for not long ago (RACKRECON_PAGES=all asks for them too)")
    failed = [Part(error.source, "failed", str(error), is_source=True) for error in fetched.failures]
    if not fetched.changed:
        return [*failed, Part(SPECIFICATIONS, "unchanged")]
    tell(f"{len(fetched.changed)} pages changed: {', '.join(fetched.changed)}")
    live.fetched_sheets = fetched
    outcome = runner.run_sheets()
    if outcome.reason is None:
        return [*failed, Part(SPECIFICATIONS, "refreshed")]
    return [*failed, Part(SPECIFICATIONS, "failed", outcome.reason, is_source=outcome.is_source)]


def _wanted(
    workshop: Workshop, given: Mapping[str, Repository | RoundInput], only: Sequence[str], *, with_snapshot: bool
) -> list[str]:
    there_are = {*given, *workshop.lake.partitions("core.sources")}
    if with_snapshot:
        there_are |= set(workshop.snapshot.rounds())
    unknown = sorted(set(only) - there_are)
    if unknown:
        raise RefreshError(f"no round {', '.join(unknown)}; there are: {', '.join(sorted(there_are)) or 'none'}")
    return sorted(set(only) or there_are)


@dataclass(frozen=True)
class _Origin:
    """Where one round can be read from."""

    round: str
    given: Repository | RoundInput | None
    """What was named for this refresh, or found by asking."""
    before: RoundInput | None
    """What it was read from last."""


def _refresh_rounds(
    workshop: Workshop,
    round_names: Sequence[str],
    given: Mapping[str, Repository | RoundInput],
    runner: Runner,
    tell: Tell,
    course: Course,
) -> list[Part]:
    """Run the assets of the rounds that are stale and return what came of each round."""
    origins = {name: _Origin(name, given.get(name), recall(workshop.lake, name)) for name in round_names}
    parts = {name: _without_work(workshop, origin) for name, origin in origins.items()}
    stale = [name for name in round_names if parts[name] is None]
    if not stale:
        return [part for part in parts.values() if part is not None]
    for name in stale:
        course.expect(name, _seconds(workshop, origins[name]))
    course.expect(ANSWERS, ANSWERS_SECONDS)

    def begun() -> Iterator[str]:
        for name in stale:
            SUITES.start()
            course.begin(name)
            tell(f"{name}: reading {_place(workshop, origins[name])}")
            if name in given:
                remember(workshop.lake, _input(given[name]))
            yield name

    # Closed here, while the lock is held: an exception keeps what it passed alive for longer.
    with closing(runner.run_rounds(begun())) as outcomes:
        for name, outcome in outcomes:
            course.end(name)
            if outcome.reason is None:
                parts[name] = Part(name, "refreshed")
                continue
            if name in given:
                _put_back(workshop, origins[name])
            parts[name] = Part(name, "failed", outcome.reason, is_source=outcome.is_source)
    return [part for part in parts.values() if part is not None]


def _without_work(workshop: Workshop, origin: _Origin) -> Part | None:
    """Return what comes of a round that is fresh or whose input cannot be read, None for one to work on."""
    try:
        return Part(origin.round, "unchanged") if _is_fresh(workshop, origin) else None
    except SourceError as error:
        return Part(origin.round, "failed", str(error), is_source=True)


def _input(given: Repository | RoundInput) -> RoundInput:
    if isinstance(given, RoundInput):
        return given
    return RoundInput(round=given.round, path=str(Path(given.place).resolve()))


def _is_fresh(workshop: Workshop, origin: _Origin) -> bool:
    given, before = origin.given, origin.before
    if given is None and before is not None and before.is_here:
        given = open_repository(before.place, workshop.settings.limits)
    if isinstance(given, RoundInput):
        is_taken_in = rounds.holds(workshop.lake, given)
    else:
        is_taken_in = given is None or rounds.is_taken_in(workshop.lake, given)
    return is_taken_in and rounds.is_read(workshop, origin.round)


def _place(workshop: Workshop, origin: _Origin) -> str:
    given, before = origin.given, origin.before
    if isinstance(given, RoundInput):
        return f"{given.repository} at {given.commit[:12]}"
    if given is not None:
        return given.place
    if before is not None and before.is_here:
        return before.path
    return "the lake's own files" if rounds.has_bytes(workshop.lake, origin.round) else "the embedded snapshot"


def _seconds(workshop: Workshop, origin: _Origin) -> float:
    """Return about how long reading a round takes, by where it is read from."""
    given, before = origin.given, origin.before
    if isinstance(given, RoundInput):
        return HOST_SECONDS
    is_read = given is not None or (before is not None and before.is_here)
    return ARCHIVE_SECONDS if is_read or rounds.has_bytes(workshop.lake, origin.round) else SNAPSHOT_SECONDS


def _put_back(workshop: Workshop, origin: _Origin) -> None:
    """Remember again what a round was read from before, where reading what was given failed."""
    if origin.before is None:
        forget(workshop.lake, origin.round)
    else:
        remember(workshop.lake, origin.before)


def _refresh_answers(workshop: Workshop, runner: Runner, tell: Tell, course: Course) -> Part:
    if all(answers.is_fresh(workshop.lake, station) for station in STATIONS) and is_published(workshop):
        return Part(ANSWERS, "unchanged")
    SUITES.start()
    course.expect(ANSWERS, ANSWERS_SECONDS)
    course.begin(ANSWERS)
    tell("scoring, reconciling and checking all rounds")
    outcome = runner.run_answers()
    if outcome.reason is None:
        return Part(ANSWERS, "refreshed")
    return Part(ANSWERS, "failed", outcome.reason, is_source=outcome.is_source)
