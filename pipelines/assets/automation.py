"""The job that refreshes everything as `rackrecon refresh` does, and the schedule that starts it."""

import dagster as dg

from pipelines.assets.execution import InProcessRunner
from pipelines.assets.jobs import asset_definitions
from pipelines.refreshing.flow import refresh
from pipelines.refreshing.workshop import Workshop

REFRESH_ALL = "refresh_all"


@dg.op
def refresh_every_round(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Workshop]) -> None:
    """Run `refresh_round` for each round that is stale and `refresh_answers` where anything changed."""
    runner = InProcessRunner(asset_definitions({"workshop": workshop}), context.instance)
    with workshop.refreshing():
        report = refresh(workshop, [], [], runner, context.log.info)
    if report.failed:
        reasons = "; ".join(f"{part.name}: {part.reason}" for part in report.failed)
        raise dg.Failure(reasons, metadata={part.name: part.reason or "" for part in report.failed})


@dg.job(
    name=REFRESH_ALL,
    description="What `rackrecon refresh` does: each stale round, then all answers. The runs that it starts show here.",
)
def refresh_all() -> None:
    """Bring everything up to date."""
    refresh_every_round()


every_monday = dg.ScheduleDefinition(
    name="refresh_all_every_monday",
    job=refresh_all,
    cron_schedule="0 6 * * 1",
    execution_timezone="UTC",
    description="Rounds appear four times a year and are corrected in between: once a week is often enough.",
)


def automation_definitions() -> dg.Definitions:
    """Return the job and the schedule."""
    return dg.Definitions(jobs=[refresh_all], schedules=[every_monday])
