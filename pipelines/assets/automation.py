"""The jobs that refresh everything as `rackrecon refresh` does, and what starts them: a schedule and a sensor."""

import hashlib
from contextlib import ExitStack

import dagster as dg

from pipelines.assets.execution import runner_of
from pipelines.assets.jobs import asset_definitions
from pipelines.assets.tables import ROUNDS
from pipelines.refreshing import rounds
from pipelines.refreshing.flow import refresh
from pipelines.refreshing.workshop import Workshop

REFRESH_ALL = "refresh_all"
REFRESH_LIVE = "refresh_live"

_SENSOR_SECONDS = 6 * 3600


def _refresh(context: dg.OpExecutionContext, workshop: Workshop, *, is_live: bool) -> None:
    runner = runner_of(workshop.settings, asset_definitions({"workshop": workshop}), context.instance)
    with ExitStack() as stack:
        stack.enter_context(workshop.refreshing())
        if is_live:
            stack.enter_context(workshop.asking_hosts(context.log.info))
        report = refresh(workshop, [], [], runner, context.log.info)
    if report.failed:
        reasons = "; ".join(f"{part.name}: {part.reason}" for part in report.failed)
        raise dg.Failure(reasons, metadata={part.name: part.reason or "" for part in report.failed})


@dg.op
def refresh_every_round(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Workshop]) -> None:
    """Run `refresh_round` for each round that is stale and `refresh_answers` where anything changed."""
    _refresh(context, workshop, is_live=False)


@dg.op
def refresh_from_hosts(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Workshop]) -> None:
    """Ask the hosts first, then do the same with the rounds and pages that changed."""
    _refresh(context, workshop, is_live=True)


@dg.job(
    name=REFRESH_ALL,
    description="What `rackrecon refresh` does: each stale round, then all answers. The runs that it starts show here.",
)
def refresh_all() -> None:
    """Bring everything up to date."""
    refresh_every_round()


@dg.job(
    name=REFRESH_LIVE,
    description="What `rackrecon refresh --live` does: new and changed rounds and pages are fetched, then all answers.",
)
def refresh_live() -> None:
    """Bring everything up to date with what is published."""
    refresh_from_hosts()


every_monday = dg.ScheduleDefinition(
    name="refresh_live_every_monday",
    job=refresh_live,
    cron_schedule="0 6 * * 1",
    execution_timezone="UTC",
    description="Rounds appear four times a year and are corrected in between: once a week is often enough.",
)


@dg.sensor(
    name="changed_commits",
    job_name=REFRESH_LIVE,
    minimum_interval_seconds=_SENSOR_SECONDS,
    description="Asks at which commit each round stands; starts a live refresh where the lake holds another one.",
)
def changed_commits(workshop: dg.ResourceParam[Workshop]) -> dg.SensorResult | dg.SkipReason:
    """Start one live refresh for each set of commits that the lake does not hold; register their rounds."""
    with workshop.live_sources() as live:
        found = live.discover([])
    stale = [entry for entry in found.rounds.values() if not rounds.holds(workshop.lake, entry)]
    if not stale:
        told = "; ".join(found.failures.values())
        return dg.SkipReason(told or f"{len(found.rounds)} rounds stand at the commits that are held")
    commits = " ".join(sorted(f"{entry.round}@{entry.commit}" for entry in stale))
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                run_key=hashlib.sha256(commits.encode()).hexdigest(), tags={"rackrecon/rounds": str(len(stale))}
            )
        ],
        dynamic_partitions_requests=[ROUNDS.build_add_request([entry.round for entry in stale])],
    )


def automation_definitions() -> dg.Definitions:
    """Return the jobs, the schedule and the sensor."""
    return dg.Definitions(jobs=[refresh_all, refresh_live], schedules=[every_monday], sensors=[changed_commits])
