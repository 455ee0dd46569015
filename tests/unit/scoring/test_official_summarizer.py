"""Small synthetic rounds, scored here and by the official summarizer."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

from pipelines.parsing.layout import classify
from pipelines.parsing.power_logs import parse_power_logs
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import parse_result_logs
from pipelines.parsing.scaling_factors import parse_scaling_factors
from pipelines.parsing.system_descriptions import parse_system_descriptions
from pipelines.scoring.results import score_results
from pipelines.scoring.rules import load_rules
from pipelines.scoring.runs import judge_runs

# Read by the summarizer at import; skipping is for an environment without the test extra.
summarizer = pytest.importorskip("mlperf_logging.result_summarizer.result_summarizer")

pytestmark = pytest.mark.filterwarnings("ignore")

Outcome = Literal["success", "aborted", "no_start", "no_stop", "broken", "slow_init"]
SPOILT: tuple[Outcome, ...] = ("aborted", "no_start", "no_stop", "broken", "slow_init")
START_MS = 1_700_000_000_000
SYSTEM = {
    "submitter": "Org",
    "division": "closed",
    "status": "onprem",
    "system_name": "a system",
    "number_of_nodes": "4",
    "host_processors_per_node": "2",
    "host_processor_model_name": "a processor",
    "host_processor_core_count": "64",
    "accelerators_per_node": "8",
    "accelerator_model_name": "NVIDIA H100-SXM5-80GB",
    "framework": "a framework",
    "hw_notes": "",
    "sw_notes": "",
}


@dataclass(frozen=True)
class Task:
    """A benchmark of a round, with what its checker wants to see in a log."""

    round_name: str
    name: str
    run_count: int
    passing: float
    failing: float
    settings: dict[str, Any]
    division: str = "closed"
    evaluation: str = "eval_accuracy"
    progress: str = "epoch_num"
    train_samples: int = 100
    scaling_mode: str = "strong"
    factor: float | None = None

    @property
    def ruleset(self) -> str:
        return self.round_name.partition("-v")[2] + ".0"

    @property
    def usage(self) -> str:
        return self.round_name.partition("-")[0]

    @property
    def init_limit_ms(self) -> int:
        is_long = self.division == "open" and self.usage == "training" and self.ruleset >= "2"
        return (240 if is_long else 30) * 60_000


TASKS = [
    Task(
        "training-v4.1",
        "llama2_70b_lora",
        10,
        0.92,
        0.95,
        {
            "global_batch_size": 8,
            "opt_base_learning_rate": 4e-4,
            "opt_learning_rate_training_steps": 1024,
            "opt_gradient_clip_norm": 0.3,
            "opt_adamw_weight_decay": 1e-4,
            "lora_alpha": 32,
            "lora_rank": 16,
        },
        progress="samples_count",
        factor=1.0123,
    ),
    Task(
        "training-v4.0",
        "gnn",
        10,
        0.73,
        0.5,
        {"global_batch_size": 16384, "opt_name": "adam", "opt_base_learning_rate": 0.001},
    ),
    Task(
        "training-v3.0",
        "ssd",
        5,
        0.35,
        0.1,
        {
            "global_batch_size": 256,
            "opt_name": "adam",
            "opt_base_learning_rate": 1e-4,
            "opt_weight_decay": 0.0,
            "opt_learning_rate_warmup_epochs": 1,
            "opt_learning_rate_warmup_factor": 0.001,
        },
        factor=1.1,
    ),
    Task("training-v3.0", "unet3d", 40, 0.91, 1.5, {"global_batch_size": 56}, division="open"),
    Task("training-v2.0", "unet3d", 40, 0.91, 1.5, {"global_batch_size": 56}, division="open", factor=1.05),
    Task(
        "training-v2.1",
        "minigo",
        10,
        0.51,
        0.1,
        {
            "train_batch_size": 4096,
            "lr_boundaries": [1],
            "lr_rates": [0.1],
            "actual_selfplay_games_per_generation": 8192,
            "min_selfplay_games_per_generation": 8192,
        },
    ),
    Task(
        "hpc-v3.0",
        "oc20",
        5,
        0.03,
        0.3,
        {
            "global_batch_size": 256,
            "opt_name": "AdamW",
            "opt_base_learning_rate": 0.001,
            "opt_learning_rate_warmup_steps": 1,
            "opt_learning_rate_warmup_factor": 0.1,
            "opt_learning_rate_decay_boundary_steps": [1],
            "opt_learning_rate_decay_factor": 0.1,
            "number_of_nodes": 2,
            "accelerators_per_node": 8,
        },
        evaluation="eval_error",
        factor=1.2,
    ),
]
WEAK = Task(
    "hpc-v3.0",
    "cosmoflow",
    10,
    0.12,
    0.3,
    {
        "global_batch_size": 64,
        "opt_name": "sgd",
        "opt_base_learning_rate": 0.001,
        "opt_learning_rate_warmup_epochs": 1,
        "opt_learning_rate_warmup_factor": 1.0,
        "opt_learning_rate_decay_boundary_epochs": [1, 2],
        "opt_learning_rate_decay_factor": 0.1,
        "number_of_nodes": 1,
        "accelerators_per_node": 0,
    },
    evaluation="eval_error",
    scaling_mode="weak",
    factor=1.3,
)


@dataclass
class Log:
    """The lines of one result log."""

    task: Task
    start_ms: int
    run_ms: int
    outcome: Outcome
    lines: list[str] = field(default_factory=list)

    def text(self) -> str:
        task, start = self.task, self.start_ms
        init_ms = task.init_limit_ms if self.outcome == "slow_init" else 10_000
        for key, value in self._head().items():
            self._event(start - init_ms - 5, key, value)
        self._event(start - init_ms, "init_start")
        for key, value in task.settings.items():
            self._event(start - 1, key, value)
        self._event(start, "init_stop")
        if self.outcome != "no_start":
            self._event(start, "run_start")
        self._event(start, "block_start", epoch_count=1, first_epoch_num=1)
        self._event(start, "eval_start", epoch_num=1)
        reached = task.failing if self.outcome == "aborted" else task.passing
        self._event(start + 1, task.evaluation, reached, **{task.progress: 3000})
        self._event(start + 1, "eval_stop", epoch_num=1)
        self._event(start + 1, "block_stop", first_epoch_num=1)
        if self.outcome == "broken":
            self.lines.append(':::MLLOG {"time_ms": 1, "key": "x", "value": nullx')
        if self.outcome != "no_stop":
            status = "aborted" if self.outcome == "aborted" else "success"
            self._event(start + self.run_ms, "run_stop", status=status)
        return "\n".join(self.lines) + "\n"

    def _head(self) -> dict[str, Any]:
        return {
            "submission_benchmark": self.task.name,
            "submission_org": "Org",
            "submission_platform": "platform",
            "submission_division": self.task.division,
            "submission_status": "onprem",
            "cache_clear": True,
            "seed": 1,
            "gradient_accumulation_steps": 1,
            "train_samples": self.task.train_samples,
            "eval_samples": 10,
        }

    def _event(self, time_ms: int, key: str, value: Any = None, **metadata: Any) -> None:
        event = {
            "namespace": "",
            "time_ms": time_ms,
            "event_type": "POINT_IN_TIME",
            "key": key,
            "value": value,
            "metadata": {"file": "a.py", "lineno": 1, **metadata},
        }
        self.lines.append(f":::MLLOG {json.dumps(event)}")


def write_result(folder: Path, task: Task, outcomes: list[Outcome], chance: random.Random) -> None:
    """Write a system with one result into a submitter's folder."""
    (folder / "systems").mkdir(parents=True, exist_ok=True)
    (folder / "systems/sys.json").write_text(json.dumps({**SYSTEM, "division": task.division}))
    middle = f"{task.scaling_mode}/" if task.usage == "hpc" else ""
    results = folder / f"results/sys/{middle}{task.name}"
    results.mkdir(parents=True)
    for number, outcome in enumerate(outcomes):
        start = START_MS + chance.randrange(3_600_000)
        log = Log(task, start, chance.randrange(1_000, 20_000_000), outcome)
        (results / f"result_{number}.txt").write_text(log.text())
    if task.factor is not None:
        (results / "scaling.json").write_text(json.dumps({"scaling_factor": task.factor}))


def published(folder: Path, round_name: str, kind: str) -> Iterator[PublishedFile]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder.parent).as_posix()
        placed = classify(name)
        if path.is_file() and placed is not None and placed.kind == kind:
            content = path.read_bytes()
            yield PublishedFile(round_name, name, hashlib.sha256(content).hexdigest(), content)


def our_results(folder: Path, round_name: str) -> pl.DataFrame:
    runs = parse_result_logs(published(folder, round_name, "result_log")).runs
    systems = parse_system_descriptions(published(folder, round_name, "system_description"))[0]
    factors = parse_scaling_factors(published(folder, round_name, "scaling_factor"))[0]
    power = parse_power_logs(published(folder, round_name, "power_log"))[0]
    judged = judge_runs(runs, systems, load_rules())
    return score_results(runs, judged, systems, factors, power, load_rules())[0]


def summarize(folder: Path, task: Task) -> tuple[Any, Any, Any]:
    """Return the official tables: strong scores, weak results, strong details. It rewrites factors as it reads."""
    strong, weak, detailed, _ = summarizer.summarize_results(str(folder), task.usage, task.ruleset)
    return strong, weak, detailed


def outcomes_of(task: Task, failed: int, chance: random.Random) -> list[Outcome]:
    spoilt = [chance.choice(SPOILT) for _ in range(failed)]
    drawn: list[Outcome] = [*spoilt, *["success"] * (task.run_count - failed)]
    chance.shuffle(drawn)
    return drawn


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.round_name}/{task.name}")
def test_strong_scores_are_those_of_the_official_summarizer(tmp_path: Path, task: Task) -> None:
    most = 5 if task.name == "unet3d" else 2
    for failed in (0, most - 1, most):
        chance = random.Random(f"{task.round_name}/{task.name}/{failed}")
        folder = tmp_path / str(failed) / "Org"
        write_result(folder, task, outcomes_of(task, failed, chance), chance)
        row = our_results(folder, task.round_name).to_dicts()[0]
        (official,) = summarize(folder, task)[0][task.name].tolist()
        assert row["counted_run_count"] == task.run_count - failed
        assert row["score_minutes"] == official
        assert (official is None) == (failed == most)


@pytest.mark.parametrize("failed", [0, 2, 6])
def test_a_weak_result_is_that_of_the_official_summarizer(tmp_path: Path, failed: int) -> None:
    chance = random.Random(failed)
    folder = tmp_path / "Org"
    outcomes: list[Outcome] = [*outcomes_of(WEAK, failed, chance), *["success"] * 5]
    write_result(folder, WEAK, outcomes, chance)
    pruned = folder / "results/sys/weak/cosmoflow/pruned_results"
    pruned.mkdir()
    (pruned / "result_99.txt").write_text(Log(WEAK, START_MS, 10**9, "success").text())
    row = our_results(folder, WEAK.round_name).to_dicts()[0]
    (official,) = summarize(folder, WEAK)[1].to_dict("records") or [{}]
    enough = failed <= 5
    for ours, theirs in {
        "time_to_train_all_minutes": "time_to_train_all",
        "model_count": "number_of_models",
        "instance_accelerator_count": "instance_scale",
    }.items():
        assert row[ours] == official.get(f"cosmoflow:{theirs}")
        assert (row[ours] is not None) == enough
    assert row["score_minutes"] is None
    if enough:
        assert row["accelerator_count"] == official["accelerators_count"]


@pytest.mark.parametrize("seed", range(3))
def test_energy_is_that_of_the_official_summarizer(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    task = TASKS[2]
    folder = tmp_path / "Org"
    write_result(folder, task, outcomes_of(task, seed % 2, chance), chance)
    results = folder / f"results/sys/{task.name}"
    for path in list(results.glob("result_*.txt")):
        for device in ("node_0", "node_1", "sw_0"):
            target = results / "power" / path.stem / f"{device}.txt"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(power_log(device, chance))
    row = our_results(folder, task.round_name).to_dicts()[0]
    (official,) = summarize(folder, task)[2][f"{task.name}:Energy"].tolist()
    assert row["energy_joules"] == pytest.approx(official, rel=1e-12)


def power_log(device: str, chance: random.Random) -> str:
    """Return a meter's log of some minutes, or a switch's estimate."""
    start = START_MS
    events: list[tuple[int, str, Any]] = [(start, "conversion_eff", chance.uniform(0.5, 1.0))]
    if device.startswith("sw"):
        events.append((start, "interconnect_power_est", chance.randrange(10, 500)))
    else:
        events.append((start, "power_measurement_start", None))
        times = sorted(chance.sample(range(1, 600_000), 20))
        events += [(start + time, "power_reading", chance.uniform(100.0, 900.0)) for time in times]
        events.append((start + 600_000, "power_measurement_stop", None))
    lines = [
        json.dumps({"time_ms": time, "event_type": "POINT_IN_TIME", "key": key, "value": value, "metadata": {}})
        for time, key, value in events
    ]
    return "".join(f":::MLLOG {line}\n" for line in lines)
