"""A process that imports everything once and forks a child for each refresh: to kill fifty costs no imports.

Run as a program: orders come in on stdin, answers go out on stdout, each a line of JSON. The children run the stations
without Dagster and without Great Expectations, and keep what a station answered to the same frames: what is under test
is what they write. `test_refresh_killed` kills whole commands as well.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

import pipelines.lake.warehouse  # noqa: F401 - so that no child has to
from pipelines.lake import partitions
from pipelines.lake.gate import Gated, gate
from pipelines.publishing.differences import DIFFERENCES
from pipelines.quality.outcomes import outcomes_frame
from pipelines.refreshing import answers, flow, publishing, rounds, stations
from pipelines.refreshing import workshop as workshop_module
from pipelines.refreshing.workshop import Workshop
from pipelines.schemas import Table
from pipelines.settings import Settings
from pipelines.snapshot import Snapshot
from tests.faults.steps import Steps

NOBODY = 65534
MOMENT = "2026-01-02T03:04:05+00:00"


@dataclass
class Order:
    """One refresh in a child of its own."""

    data: str
    repository: str
    answer: str = ""
    """File that the child leaves its answer in."""
    environment: dict[str, str] = field(default_factory=dict)
    moment: str = MOMENT
    """What the clock of the workshop says."""
    kill_after_seconds: float | None = None
    kill_at_step: int | None = None
    """Number of the change to the data folder that the child is killed before, or amid where it is a write."""
    watch: str | None = None
    """File with the SHA-256 that each object may have: after every change the folder is held against it."""
    user: int | None = None
    longest_file_bytes: int | None = None


class SuitesOfNone:
    """In place of Great Expectations' suites."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def run(self, frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        return outcomes_frame([])


class StationsRunner:
    """Runs the stations in their order."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    def run_rounds(self, round_names: Iterable[str]) -> Iterator[tuple[str, flow.RunOutcome]]:
        for name in round_names:
            rounds.take_in(self._workshop, name)
            rounds.read_round(self._workshop, name)
            yield name, flow.RunOutcome()

    def run_sheets(self) -> flow.RunOutcome:
        raise NotImplementedError("no host is asked here")

    def run_answers(self) -> flow.RunOutcome:
        for station in flow.STATIONS:
            answers.bring_up_to_date(self._workshop, station)
        publishing.publish(self._workshop)
        return flow.RunOutcome()


def remembered(
    compute: Callable[[answers.Frames], answers.Answers], folder: Path, name: str
) -> Callable[[answers.Frames], answers.Answers]:
    """Return the pure function with what it answered to the same frames kept in `folder`."""

    def answer(frames: answers.Frames) -> answers.Answers:
        digest = hashlib.sha256(name.encode())
        for key in sorted(frames):
            digest.update(key.encode() + pickle.dumps(frames[key].rows()))
        place = folder / digest.hexdigest()
        if place.exists():
            found: answers.Answers = pickle.loads(place.read_bytes())
            return found
        given = compute(frames)
        draft = place.with_suffix(f".{os.getpid()}")
        draft.write_bytes(pickle.dumps(given))
        draft.replace(place)
        return given

    return answer


def with_a_broken_rule(table: Table, frame: pl.DataFrame) -> Gated:
    """Gate a frame in which a run with a batch of 1 breaks a rule: the parsers let nothing through that does."""
    if table.name == "core.runs":
        batch = pl.col("global_batch_size")
        frame = frame.with_columns(global_batch_size=pl.when(batch == 1).then(-1).otherwise(batch))
    return gate(table, frame)


def prepare(kept: Path) -> None:
    """Put in place what makes a refresh cheap and some rows bad; before the first fork."""
    partitions.gate = with_a_broken_rule
    for module in (flow, stations, workshop_module):
        module.SUITES = SuitesOfNone()  # type: ignore[assignment]
    # The list of what changed is read from the old warehouse and decides nothing.
    publishing.changes_since = lambda lake, warehouse: ("not asked", pl.DataFrame(schema=DIFFERENCES))  # type: ignore[assignment]
    # Versions of the code are told once: an edit amid the tests is no fault of a refresh.
    for version in (rounds.intake_version, rounds.reading_version):
        version()
    assert all(station.code_version for station in flow.STATIONS)
    flow.STATIONS = tuple(
        replace(station, compute=remembered(station.compute, kept, station.name)) for station in flow.STATIONS
    )


def refresh_here(order: Order) -> dict[str, Any]:
    """Refresh and return what came of it."""
    if order.longest_file_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order.longest_file_bytes, resource.RLIM_INFINITY))
    if order.user is not None and os.getuid() == 0:
        os.setgid(order.user)
        os.setuid(order.user)
    settings = Settings.from_environment({"RACKRECON_DATA": order.data, **order.environment})
    workshop = Workshop(settings, lambda: datetime.fromisoformat(order.moment))
    workshop.snapshot = Snapshot(Path(order.data) / "no-snapshot")
    steps = Steps(settings.data, settings.warehouse, order.kill_at_step, order.watch)
    waited_for: list[str] = []
    with steps.counted(), workshop.refreshing(on_wait=lambda holder: waited_for.append(str(holder))):
        paths = [Path(order.repository)] if order.repository else []
        report = flow.refresh(workshop, paths, (), StationsRunner(workshop), lambda message: None)
    return {
        "parts": {part.name: part.state for part in report.parts},
        "reasons": {part.name: part.reason for part in report.failed},
        "waited_for": waited_for,
        "steps": steps.kinds,
        "complaints": steps.complaints,
    }


def child(order: Order) -> int:
    """Refresh in a child and return its process id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        try:
            answer = refresh_here(order)
        except Exception as error:
            answer = {"error": type(error).__name__, "message": str(error), "traceback": traceback.format_exc()}
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        Path(order.answer).write_text(json.dumps(answer), "utf-8")
        code = 0
    finally:
        os._exit(code)


def run(orders: list[Order]) -> list[dict[str, Any]]:
    """Run children at once and return their answers."""
    started = time.monotonic()
    running = {child(order): order for order in orders}
    ended: dict[str, dict[str, Any]] = {}
    while running:
        for pid, order in list(running.items()):
            if order.kill_after_seconds is not None and time.monotonic() - started >= order.kill_after_seconds:
                os.kill(pid, signal.SIGKILL)
            done, status, used = os.wait4(pid, os.WNOHANG)
            if done:
                del running[pid]
                spent = {"seconds": time.monotonic() - started, "cpu_seconds": used.ru_utime + used.ru_stime}
                ended[order.answer] = answer_of(order, status) | spent
        time.sleep(0.002)
    return [ended[order.answer] for order in orders]


def answer_of(order: Order, status: int) -> dict[str, Any]:
    """Return what a child that has ended answered."""
    if os.WIFSIGNALED(status):
        return {"killed": os.WTERMSIG(status) == signal.SIGKILL, "signal": os.WTERMSIG(status)}
    place = Path(order.answer)
    answer = json.loads(place.read_text("utf-8"))
    place.unlink()
    return {"killed": False, **answer}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "kept"
        kept.mkdir(mode=0o777)
        kept.chmod(0o777)
        Path(folder).chmod(0o755)
        prepare(kept)
        print(json.dumps({"ready": os.getpid()}), flush=True)
        for number, line in enumerate(sys.stdin):
            orders = [
                Order(**{**fields, "answer": str(kept / f"answer-{number}-{index}.json")})
                for index, fields in enumerate(json.loads(line))
            ]
            print(json.dumps(run(orders)), flush=True)


if __name__ == "__main__":
    main()
