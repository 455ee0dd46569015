"""`rackrecon refresh`: says how old the figures are, brings them up to date, prints what they say."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from pipelines._cli.messages import Exit, progress, say
from pipelines.lake.locks import Holder
from pipelines.publishing.age import age_line
from pipelines.publishing.headline import headline
from pipelines.refreshing.flow import (
    ANSWERS,
    SPECIFICATIONS,
    Part,
    Report,
    Runner,
    RunOutcome,
    listed_rounds,
    refresh,
    rounds_read,
)
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings


def refresh_and_report(paths: Sequence[str], rounds: Sequence[str], *, is_live: bool = False) -> int:
    """Refresh and return the exit code."""
    settings = Settings.from_environment()
    workshop = Workshop(settings)
    today = datetime.now(UTC).date()
    print(age_line(rounds_read(workshop), today, listed_rounds(workshop)), flush=True)
    with ExitStack() as stack:
        tell = stack.enter_context(progress())
        stack.enter_context(workshop.refreshing(on_wait=lambda holder: tell(_waiting(holder))))
        if is_live:
            stack.enter_context(workshop.asking_hosts(tell))
        runner = _RunnerWhenNeeded(workshop, stack)
        report = refresh(workshop, [Path(path) for path in paths], rounds, runner, tell, tell.stand)
    _print_parts(report)
    if any(part.name == ANSWERS and part.state != "failed" for part in report.parts):
        print("\n".join(headline(workshop.lake)))
        _print_places(settings)
        _repeat_failures(report)
    return int(_exit_code(report))


class _RunnerWhenNeeded:
    """Loads Dagster at the first run: it takes seconds, and most refreshes have nothing to do."""

    def __init__(self, workshop: Workshop, stack: ExitStack) -> None:
        self._workshop = workshop
        self._stack = stack

    def run_rounds(self, round_names: Iterable[str]) -> Generator[tuple[str, RunOutcome]]:
        yield from self._runner.run_rounds(round_names)

    def run_sheets(self) -> RunOutcome:
        return self._runner.run_sheets()

    def run_answers(self) -> RunOutcome:
        return self._runner.run_answers()

    @cached_property
    def _runner(self) -> Runner:
        from pipelines.assets.execution import project_instance, runner_of
        from pipelines.definitions import build_definitions

        settings = self._workshop.settings
        definitions = build_definitions(settings, {"workshop": self._workshop})
        home = settings.prepare_dagster_home()
        instance = self._stack.enter_context(project_instance(home))
        return runner_of(settings, definitions, instance)


def _waiting(holder: Holder | None) -> str:
    return f"waiting for another refresh to end: {holder or 'it left no name'}"


def _print_parts(report: Report) -> None:
    if report.is_unchanged:
        rounds = sum(part.name not in (ANSWERS, SPECIFICATIONS) for part in report.parts)
        pages = ", the watched pages" if any(part.name == SPECIFICATIONS for part in report.parts) else ""
        say(f"Nothing to do: inputs and code of {rounds} rounds{pages} and of all answers are unchanged.")
        return
    for part in report.parts:
        say(_line(part))


def _line(part: Part) -> str:
    if part.reason and part.reason.startswith(f"{part.name}: "):
        return f"{part.state}: {part.reason}"
    return f"{part.name}: {part.state}" + (f": {part.reason}" if part.reason else "")


def _repeat_failures(report: Report) -> None:
    """Say again, where a reader looks last, what the figures above it are without."""
    for part in report.failed:
        say(_line(part))


def _print_places(settings: Settings) -> None:
    where = f"{settings.warehouse} (rackrecon query SQL), {settings.lake}; rackrecon ui shows how it was made"
    print(f"Where     {where}", flush=True)


def _exit_code(report: Report) -> Exit:
    if any(part.is_source for part in report.failed):
        return Exit.source
    return Exit.check_failed if report.failed else Exit.fine
