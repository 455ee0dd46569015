"""Runs the jobs in this process through the project's Dagster instance, so that its runs show in the UI."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError
from dagster._core.events import DagsterEventType
from dagster._core.instance.ref import InstanceRef

from pipelines.assets.jobs import ASK_HOSTS, REFRESH_ANSWERS, REFRESH_ROUND
from pipelines.assets.records import swift_records
from pipelines.assets.rounds import ROUND_ASSETS, SOURCE_FAILURE
from pipelines.assets.tables import ROUNDS
from pipelines.refreshing.flow import RunOutcome
from pipelines.settings import Settings

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
_NO_COMPUTE_LOGS = {
    "compute_logs": {
        "module": "dagster._core.storage.noop_compute_log_manager",
        "class": "NoOpComputeLogManager",
    }
}


@contextmanager
def project_instance(home: Path) -> Iterator[dg.DagsterInstance]:
    """Give the Dagster instance of a folder.

    What runs in this process writes to this process's terminal, so nothing is captured of its output.
    """
    reference = InstanceRef.from_dir(str(home), overrides=_NO_COMPUTE_LOGS)
    with swift_records(), dg.DagsterInstance.from_ref(reference) as instance:
        yield instance


class InProcessRunner:
    """Runs the assets for a refresh, which holds the lock of the workshop that the jobs were given."""

    def __init__(self, definitions: dg.Definitions, instance: dg.DagsterInstance) -> None:
        self._definitions = definitions
        self._instance = instance

    def run_rounds(self, round_names: Iterable[str]) -> Iterator[tuple[str, RunOutcome]]:
        """Bring `raw` and `core` of each round up to date, one round after another."""
        for name in round_names:
            yield name, self._run_assets_of(name, ROUND_ASSETS)

    def run_sheets(self) -> RunOutcome:
        """Put the pages that were fetched into `raw`."""
        return self._run(ASK_HOSTS)

    def run_answers(self) -> RunOutcome:
        """Bring `mart` and the warehouse up to date."""
        return self._run(REFRESH_ANSWERS)

    def _run_assets_of(self, round_name: str, assets: Sequence[dg.AssetsDefinition]) -> RunOutcome:
        """Run some of the assets of one round."""
        if not self._instance.has_dynamic_partition(str(ROUNDS.name), round_name):
            self._instance.add_dynamic_partitions(str(ROUNDS.name), [round_name])
        keys = [key for asset in assets for key in asset.keys]
        return self._run(REFRESH_ROUND, partition_key=round_name, asset_selection=keys)

    def _run(self, job: str, **arguments: Any) -> RunOutcome:
        logging.getLogger("dagster").setLevel(logging.CRITICAL)
        result = self._definitions.resolve_job_def(job).execute_in_process(
            run_config=QUIET,
            instance=self._instance,
            raise_on_error=False,
            **arguments,
        )
        if result.success:
            return RunOutcome()
        if any(_is_interruption(event) for event in result.all_events):
            # Dagster makes a failed step of a signal; whoever sent it wants the refresh to end, not to go on without.
            raise KeyboardInterrupt
        return failure(result.all_events)


def runner_of(settings: Settings, definitions: dg.Definitions, instance: dg.DagsterInstance) -> InProcessRunner:
    """Return what runs the assets of a refresh: this process, or the cluster where the settings name one."""
    if settings.cluster is None:
        return InProcessRunner(definitions, instance)
    # imported here: what it needs is an extra, which most machines do not have
    from pipelines.assets.cluster import ClusterRunner  # noqa: PLC0415

    return ClusterRunner(definitions, instance, settings)


def _is_interruption(event: dg.DagsterEvent) -> bool:
    """Return whether the event tells that SIGINT or SIGTERM ended a step or the run."""
    if event.event_type is DagsterEventType.RUN_CANCELED:
        return True
    error = event.step_failure_data.error if event.is_step_failure else None
    while error is not None and error.cls_name != DagsterExecutionInterruptedError.__name__:
        error = error.cause
    return error is not None


def failure(events: Iterable[dg.DagsterEvent]) -> RunOutcome:
    """Return the reason of the first step that failed, in the words of the error that made it fail."""
    reason = "the run failed before any step did"
    for event in events:
        if event.is_step_failure:
            data = event.step_failure_data
            if data.user_failure_data is not None:
                of = data.user_failure_data.metadata.get("of")
                is_source = of is not None and of.value == SOURCE_FAILURE
                return RunOutcome(data.user_failure_data.description or "no reason given", is_source)
            if data.error is not None:
                error = data.error.cause or data.error
                return RunOutcome(f"{event.step_key}: {error.message.strip()}")
        if event.is_run_failure and event.job_failure_data.error is not None:
            reason = event.job_failure_data.error.message.strip()
    return RunOutcome(reason)
