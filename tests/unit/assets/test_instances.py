"""The Dagster instance where several runs go on at once: none waits for another that waits for it."""

from __future__ import annotations

import logging
import shutil
import threading
import warnings
from pathlib import Path

import dagster as dg
import pytest

from pipelines.assets.execution import project_instance

_OURS = Path(__file__).resolve().parents[3] / "dagster_home" / "dagster.yaml"
_LONGEST_WAIT_SECONDS = 60.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Give the folder of an instance as the project sets it up."""
    shutil.copy(_OURS, tmp_path)
    return tmp_path


def test_a_run_starts_while_another_stores_an_event(home: Path) -> None:
    with project_instance(home) as instance:
        assert _handlers_while_an_event_is_stored(instance) == ["_EventListenerLogHandler"]


def test_a_step_starts_on_a_worker_while_another_stores_an_event(home: Path) -> None:
    with project_instance(home) as instance, dg.DagsterInstance.from_ref(instance.get_ref()) as on_the_worker:
        assert _handlers_while_an_event_is_stored(on_the_worker) == ["_EventListenerLogHandler"]


def test_handlers_that_dagster_yaml_names_are_made(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text(
        "python_logs: {dagster_handler_config: {handlers: {own: {class: logging.NullHandler}}}}"
    )
    with project_instance(tmp_path) as instance, warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)  # such handlers may change, says Dagster
        assert [type(handler).__name__ for handler in instance.get_handlers()] == [
            "_EventListenerLogHandler",
            "NullHandler",
        ]


def _handlers_while_an_event_is_stored(instance: dg.DagsterInstance) -> list[str]:
    """Return what a run that starts gets to log to, while this thread holds what it would log to."""
    storing, got = logging.Handler(), list[str]()

    def start() -> None:
        got.extend(type(handler).__name__ for handler in instance.get_handlers())

    starting = threading.Thread(target=start, daemon=True)
    storing.acquire()
    try:
        starting.start()
        starting.join(_LONGEST_WAIT_SECONDS)
        assert not starting.is_alive(), "the run that starts waits for the one that stores"
    finally:
        storing.release()
    return got
