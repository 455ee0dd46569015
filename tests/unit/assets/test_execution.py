"""A signal is heard whatever Dagster does with it; runs of the command are found where the UI looks for them."""

from __future__ import annotations

import signal
import threading

import pytest
import yaml
from dagster._core.storage.tags import REPOSITORY_LABEL_TAG
from dagster._utils.interrupts import capture_interrupts

from pipelines.assets.execution import IN_THE_UI, _requests_to_end
from pipelines.definitions import defs
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
