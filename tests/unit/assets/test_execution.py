"""A signal is heard whatever Dagster does with it."""

from __future__ import annotations

import signal
import threading

import pytest
from dagster._utils.interrupts import capture_interrupts

from pipelines.assets.execution import _requests_to_end


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
