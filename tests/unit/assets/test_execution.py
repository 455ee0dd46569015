"""A signal is heard whatever Dagster does with it; a failed run says why; the UI finds the runs of the command."""

from __future__ import annotations

import signal
import threading

import dagster as dg
import pytest
import yaml
from dagster._core.storage.tags import REPOSITORY_LABEL_TAG
from dagster._utils.interrupts import capture_interrupts

from pipelines.assets.execution import IN_THE_UI, QUIET, _requests_to_end, failure
from pipelines.definitions import defs
from pipelines.lake.storage import StorageError
from pipelines.refreshing.flow import RunOutcome
from pipelines.settings import REPOSITORY


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_dagster_forgets_is_heard(how: signal.Signals) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with _requests_to_end() as is_to_end:
        with capture_interrupts():
            assert not is_to_end()
            signal.raise_signal(how)
        assert is_to_end()
        assert not is_to_end(), "it is told once"
    assert signal.getsignal(signal.SIGTERM) is before, "Dagster leaves the handler of SIGINT"


def test_another_signal_is_none_to_end() -> None:
    before = signal.signal(signal.SIGUSR1, lambda number, frame: None)
    try:
        with _requests_to_end() as is_to_end:
            signal.raise_signal(signal.SIGUSR1)
            assert not is_to_end()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_thread_hears_none() -> None:
    heard = []

    def hear() -> None:
        with _requests_to_end() as is_to_end:
            heard.append(is_to_end())

    thread = threading.Thread(target=hear)
    thread.start()
    thread.join()
    assert heard == [False]


def test_runs_of_the_command_belong_to_the_location_that_the_ui_shows() -> None:
    (place,) = yaml.safe_load((REPOSITORY / "workspace.yaml").read_text("utf-8"))["load_from"]
    location = place["python_module"]["location_name"]
    assert {REPOSITORY_LABEL_TAG: f"{defs.get_repository_def().name}@{location}"} == IN_THE_UI


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StorageError("/lake/core/runs: cannot be written"), "/lake/core/runs: cannot be written"),
        (KeyError("missing"), "take_in: KeyError: 'missing'"),
    ],
)
def test_what_made_a_run_fail_is_told_in_the_words_of_the_error(error: Exception, reason: str) -> None:
    @dg.op
    def take_in() -> None:
        raise error

    @dg.job
    def refresh() -> None:
        take_in()

    result = refresh.execute_in_process(run_config=QUIET, raise_on_error=False)
    assert failure(result.all_events) == RunOutcome(reason)
