"""Runs the jobs in this process through the project's Dagster instance, so that its runs show in the UI."""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError
from dagster._core.events import DagsterEventType, RunFailureReason
from dagster._core.instance.ref import InstanceRef

from pipelines.assets.databases import make_databases
from pipelines.assets.instances import OF_MANY_RUNS
from pipelines.assets.jobs import ASK_HOSTS, REFRESH_ANSWERS, REFRESH_ROUND
from pipelines.assets.records import swift_records
from pipelines.assets.rounds import ROUND_ASSETS, SOURCE_FAILURE
from pipelines.assets.tables import ROUNDS
from pipelines.refreshing.flow import RunOutcome
from pipelines.settings import Settings

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
IN_THE_UI = {".dagster/repository": "__repository__@rackrecon"}
"""Tag by which the UI finds the runs of a job; only runs that it launched itself get one from Dagster. The
location is that of workspace.yaml, and its one repository has Dagster's name for an unnamed one."""
_OWN_ERROR = re.compile(r"pipelines(\.\w+)+: ")
"""What Dagster puts before the message of an error of ours, which needs neither its class nor the step."""
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
    make_databases(home)
    reference = InstanceRef.from_dir(str(home), overrides={**_NO_COMPUTE_LOGS, **OF_MANY_RUNS})
    with swift_records(), dg.DagsterInstance.from_ref(reference) as instance:
        yield instance


class InProcessRunner:
    """Runs the assets for a refresh, which holds the lock of the workshop that the jobs were given."""

    def __init__(self, definitions: dg.Definitions, instance: dg.DagsterInstance) -> None:
        self._definitions = definitions
        self._instance = instance

    def run_rounds(self, round_names: Iterable[str]) -> Generator[tuple[str, RunOutcome]]:
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
        with _requests_to_end() as is_to_end:
            result = self._definitions.resolve_job_def(job).execute_in_process(
                run_config=QUIET,
                instance=self._instance,
                tags=IN_THE_UI,
                raise_on_error=False,
                **arguments,
            )
            if is_to_end() or any(is_interruption(event) for event in result.all_events):
                raise KeyboardInterrupt
        return RunOutcome() if result.success else failure(result.all_events)


def runner_of(settings: Settings, definitions: dg.Definitions, instance: dg.DagsterInstance) -> InProcessRunner:
    """Return what runs the assets of a refresh: this process, or the cluster where the settings name one."""
    if settings.cluster is None:
        return InProcessRunner(definitions, instance)
    # imported here: what it needs is an extra, which most machines do not have
    from pipelines.assets.cluster import ClusterRunner  # noqa: PLC0415

    return ClusterRunner(definitions, instance, settings)


@contextmanager
def _requests_to_end() -> Iterator[Callable[[], bool]]:
    """Give what tells whether SIGINT or SIGTERM has come.

    Dagster makes a failed step of such a signal, and forgets one that comes after the last step. Whoever sent it wants
    the refresh to end, not to go on without the part. Dagster also leaves the handler of SIGINT for both.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    terminate = signal.getsignal(signal.SIGTERM)
    read, write = os.pipe()
    for end in (read, write):
        os.set_blocking(end, False)
    before = signal.set_wakeup_fd(write)

    def is_to_end() -> bool:
        try:
            return not {signal.SIGINT, signal.SIGTERM}.isdisjoint(os.read(read, 64))
        except BlockingIOError:
            return False

    try:
        yield is_to_end
    finally:
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGTERM, terminate)
        os.close(read)
        os.close(write)


def is_interruption(event: dg.DagsterEvent) -> bool:
    """Return whether the event tells that a step or the run was made to end."""
    if event.event_type is DagsterEventType.RUN_CANCELED:
        return True
    if event.is_run_failure:
        return event.job_failure_data.failure_reason is RunFailureReason.UNEXPECTED_TERMINATION
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
                said = error.message.strip()
                ours = _OWN_ERROR.match(said)
                return RunOutcome(said[ours.end() :] if ours else f"{event.step_key}: {said}")
        if event.is_run_failure and event.job_failure_data.error is not None:
            reason = event.job_failure_data.error.message.strip()
    return RunOutcome(reason)
