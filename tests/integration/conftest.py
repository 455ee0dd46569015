"""A small results repository, written here, and workshops on folders of their own."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

from pipelines.assets.execution import InProcessRunner, project_instance
from pipelines.definitions import build_definitions
from pipelines.quality.gate import run_checks
from pipelines.quality.outcomes import outcomes_frame
from pipelines.quality.suites import CHECKS
from pipelines.refreshing import flow, stations
from pipelines.refreshing import workshop as workshop_module
from pipelines.refreshing.flow import Report
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings
from pipelines.snapshot import Snapshot

COMMIT = "0123456789abcdef0123456789abcdef01234567"
START_MS = 1_746_000_000_000


def log_line(key: str, time_ms: int, value: object = None, **metadata: object) -> str:
    event = {"namespace": "", "time_ms": time_ms, "event_type": "POINT_IN_TIME", "key": key, "value": value}
    return f":::MLLOG {json.dumps({**event, 'metadata': {'file': 'train.py', 'lineno': 1, **metadata}})}"


def result_log(minutes: float, benchmark: str = "llama31_405b", status: str = "success") -> str:
    stop_ms = START_MS + round(minutes * 60_000)
    lines = [
        log_line("submission_benchmark", START_MS - 9000, benchmark),
        log_line("submission_org", START_MS - 9000, "Acme"),
        log_line("submission_division", START_MS - 9000, "closed"),
        log_line("submission_status", START_MS - 9000, "onprem"),
        log_line("submission_platform", START_MS - 9000, "acme_rack"),
        log_line("init_start", START_MS - 8000),
        log_line("global_batch_size", START_MS - 7000, 1152),
        log_line("init_stop", START_MS - 1000),
        log_line("run_start", START_MS),
        log_line("eval_accuracy", stop_ms - 1000, 5.5, samples_count=322_560),
        log_line("run_stop", stop_ms, status=status),
    ]
    return "\n".join(lines) + "\n"


SYSTEM = {
    "submitter": "Acme",
    "division": "closed",
    "status": "Available on-premise",
    "system_name": "Acme (39x NVIDIA GB200 NVL72)",
    "number_of_nodes": "624",
    "accelerators_per_node": "4",
    "accelerator_model_name": "NVIDIA GB200",
    "accelerator_memory_capacity": "186 GB",
    "host_networking": "4x 400Gb/s",
    "framework": "some framework",
}


def published_files(minutes: tuple[float, ...] = (27.0, 26.9, 27.2)) -> dict[str, str]:
    folder = "Acme/results/acme_rack/llama31_405b"
    logs = {f"{folder}/result_{index}.txt": result_log(time) for index, time in enumerate(minutes)}
    return {
        "Acme/systems/acme_rack.json": json.dumps(SYSTEM),
        f"{folder}/scaling.json": json.dumps({"scaling_factor": 1.01}),
        **logs,
    }


def write_tarball(path: Path, files: Mapping[str, str], repository: str = "training_results_v5.0") -> Path:
    headers = {"comment": COMMIT}
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT, pax_headers=headers) as archive:
        for name, text in files.items():
            content = text.encode()
            member = tarfile.TarInfo(f"{repository}-{COMMIT}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture
def tarball(tmp_path: Path) -> Callable[..., Path]:
    """Write a small results repository; `minutes` are the times of its runs."""

    def write(name: str = "training_results_v5.0.tar.gz", minutes: tuple[float, ...] = (27.0, 26.9, 27.2)) -> Path:
        repository = name.removesuffix(".tar.gz")
        return write_tarball(tmp_path / name, published_files(minutes), repository)

    return write


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Give settings on a folder of the test's own, also for processes that it starts."""
    monkeypatch.setenv("RACKRECON_DATA", str(tmp_path / "data"))
    return Settings.from_environment()


@pytest.fixture
def workshop(settings: Settings) -> Workshop:
    """Give a workshop on those settings, without what the package's own snapshot holds."""
    workshop = Workshop(settings)
    workshop.snapshot = Snapshot(settings.data / "no-snapshot")
    return workshop


class SuitesHere:
    """The suites in this process, which then imports Great Expectations once for all tests."""

    def start(self) -> None:
        """Nothing is to be started."""

    def stop(self) -> None:
        """Nothing is to be ended."""

    def run(self, frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        return outcomes_frame(run_checks(CHECKS, frames))


@pytest.fixture
def suites_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (flow, stations, workshop_module):
        monkeypatch.setattr(module, "SUITES", SuitesHere())


Refresh = Callable[..., Report]


@pytest.fixture
def refresh(workshop: Workshop, suites_here: None) -> Refresh:
    """Refresh the workshop's lake through Dagster, in this process."""

    def run(*paths: Path, only: tuple[str, ...] = ()) -> Report:
        definitions = build_definitions(workshop.settings, {"workshop": workshop})
        with project_instance(workshop.settings.prepare_dagster_home()) as instance, workshop.refreshing():
            runner = InProcessRunner(definitions, instance)
            return flow.refresh(workshop, paths, only, runner, lambda message: None)

    return run
