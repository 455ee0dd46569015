from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from pipelines.scoring.rules import load_rules
from pipelines.scoring.submission_rules import (
    REQUIRED_FIELDS,
    STATUSES,
    Target,
    asks_for_seeds,
    quality_targets,
    required_keys,
)


def test_keys_of_the_round_and_of_the_benchmark() -> None:
    keys = required_keys("training-v5.1", "llama31_405b", "closed")
    assert keys[("run_stop",)] == "exactly_one"
    assert keys[("block_start", "epoch_start")] == "at_least_one"
    assert keys[("global_batch_size",)] == "exactly_one"
    assert keys[("init_checkpoint_step",)] == "exactly_one"
    assert ("global_batch_size",) not in required_keys("training-v5.1", "rgat", "open")


def test_a_benchmark_can_take_a_key_back() -> None:
    assert ("train_samples",) in required_keys("training-v2.1", "resnet", "closed")
    assert ("train_samples",) not in required_keys("training-v2.1", "minigo", "closed")


def test_nothing_is_known_of_a_round_without_a_ruleset() -> None:
    assert required_keys("hpc-v0.7", "deepcam", "closed") == {}
    assert quality_targets("hpc-v0.7", "deepcam") == ()


def test_every_round_with_a_ruleset_has_keys_for_each_benchmark() -> None:
    for round_name, benchmark in load_rules().benchmarks.select("round", "benchmark").unique().iter_rows():
        if round_name != "hpc-v0.7":
            keys = required_keys(round_name, benchmark, "closed")
            assert {("run_start",), ("run_stop",), ("init_stop",)} <= keys.keys(), (round_name, benchmark)


@pytest.mark.parametrize(
    ("quality", "logged", "is_met"),
    [(5.6, None, True), (5.61, None, False), (5.0, 4.0, True)],
)
def test_the_target_of_a_benchmark(quality: float, logged: float | None, is_met: bool) -> None:
    (target,) = quality_targets("training-v5.0", "llama31_405b")
    assert str(target) == "<= 5.6"
    assert target.is_met(quality, logged) == is_met


def test_targets_of_two_metrics_and_of_the_log() -> None:
    assert quality_targets("training-v3.0", "maskrcnn") == (
        Target("BBOX", ">=", 0.377),
        Target("SEGM", ">=", 0.339),
    )
    (logged,) = quality_targets("training-v6.1", "dlrmv4")
    assert logged.value is None
    assert not logged.is_met(0.7, 0.75)
    assert logged.is_met(0.75, 0.75)
    assert logged.is_met(0.7, None)
    assert str(logged) == ">= the target that the log states"


def test_fields_and_statuses_are_those_of_the_official_checker() -> None:
    checker = pytest.importorskip("mlperf_logging.system_desc_checker.system_desc_checker")
    source = inspect.getsource(checker)
    for text in (*REQUIRED_FIELDS, *STATUSES):
        assert f'"{text}"' in source
    listed = source[source.index("required_fields = [") : source.index("]", source.index("required_fields = ["))]
    assert listed.count('"') == 2 * len(REQUIRED_FIELDS)


def test_keys_are_those_of_the_official_checker() -> None:
    checker = pytest.importorskip("mlperf_logging.compliance_checker.mlp_compliance")
    yaml = pytest.importorskip("yaml")
    folder = Path(checker.__file__).parent
    checked = 0
    for round_name, ruleset in load_rules().rounds.select("round", "ruleset").iter_rows():
        common = folder / f"{round_name.partition('-')[0]}_{ruleset}" / "common.yaml"
        if not common.is_file():
            continue
        records = [entry["KEY"] for entry in yaml.load(common.read_text(), yaml.BaseLoader) if "KEY" in entry]
        exactly_one = {(record["NAME"],) for record in records if record.get("REQ") == "EXACTLY_ONE"}
        ours = required_keys(round_name, "no benchmark", "closed")
        assert {keys for keys, occurrence in ours.items() if occurrence == "exactly_one"} == exactly_one, round_name
        checked += 1
    assert checked == 16


@pytest.mark.parametrize(
    ("round_name", "is_asked"),
    [
        ("training-v0.7", False),
        ("hpc-v0.7", False),
        ("training-v1.0", True),
        ("hpc-v1.0", True),
        ("training-v10.0", True),
    ],
)
def test_seeds_are_asked_for_from_ruleset_1_0_0_on(round_name: str, is_asked: bool) -> None:
    assert asks_for_seeds(round_name) is is_asked
