from __future__ import annotations

import importlib

import polars as pl
import pytest

from pipelines.scoring.rules import benchmark_name, load_rules, parse_rules, round_order


def test_every_round_has_the_benchmarks_and_run_counts_of_the_official_package() -> None:
    meta = pytest.importorskip("mlperf_logging.benchmark_meta")
    rules = load_rules()
    for round_name in rules.rounds["round"]:
        usage, _, version = round_name.partition("-v")
        known = rules.benchmarks.filter(round=round_name, scaling_mode="strong")
        counts = meta.get_result_file_counts(usage)
        assert set(known["benchmark"]) == set(meta.get_allowed_benchmarks(usage, version))
        assert {row["benchmark"]: row["required_run_count"] for row in known.to_dicts()} == {
            name: counts[name] for name in known["benchmark"]
        }


def test_every_round_of_the_official_package_is_known_from_the_first_with_this_form_of_log() -> None:
    meta = pytest.importorskip("mlperf_logging.benchmark_meta")
    published = {
        f"{usage}-v{version}" for usage, versions in meta._ALL_ALLOWED_BENCHMARKS.items() for version in versions
    }
    assert published - set(load_rules().rounds["round"]) == {"training-v0.6"}


def test_the_limit_of_initialisation_is_that_of_the_official_checker() -> None:
    package = pytest.importorskip("mlperf_logging.compliance_checker")
    resources = importlib.import_module("importlib.resources")
    for row in load_rules().rounds.to_dicts():
        usage = row["round"].partition("-")[0]
        folder = resources.files(package).joinpath(f"{usage}_{row['ruleset']}")
        if row["round"] == "hpc-v0.7":
            assert not folder.is_dir()
            continue
        text = folder.joinpath("common.yaml").read_text()
        limits = (row["init_limit_closed_ms"] // 60_000, row["init_limit_open_ms"] // 60_000)
        if "240 if v['value'] == 'open' else 30" in text:
            assert limits == (30, 240)
        else:
            assert limits[0] == limits[1]
            assert f"< ({limits[0]}*60*1e3)" in text


@pytest.mark.parametrize(
    ("round_name", "task", "required", "drop"),
    [
        ("training-v3.0", "unet3d", 40, 4),
        ("training-v5.0", "llama31_405b", 3, 1),
        ("training-v2.1", "dlrm", 5, 1),
        ("training-v4.1", "ssd", 5, 1),
        ("training-v4.0", "gnn", 10, 1),
        ("training-v6.1", "qwen35_397b_grpo", 3, 1),
        ("hpc-v3.0", "openfold", 10, 1),
    ],
)
def test_runs_required_and_dropped(round_name: str, task: str, required: int, drop: int) -> None:
    rule = load_rules().benchmarks.filter(round=round_name, benchmark=task, scaling_mode="strong")
    assert rule.select("required_run_count", "olympic_drop").rows() == [(required, drop)]


def test_only_hpc_has_weak_scaling() -> None:
    weak = load_rules().benchmarks.filter(scaling_mode="weak")
    assert set(weak["round"]) == {"hpc-v1.0", "hpc-v2.0", "hpc-v3.0"}


def test_a_folder_may_go_by_another_name() -> None:
    folders = pl.DataFrame({"folder": ["mask", "bert"]})
    assert folders.select(benchmark_name(pl.col("folder"), load_rules())).to_series().to_list() == ["maskrcnn", "bert"]


def test_rounds_come_in_the_order_of_their_versions_and_unknown_names_last() -> None:
    names = ["training-v10.0", "x", "training-v2.1", "training-v2.0", "hpc-v3.0"]
    frame = pl.DataFrame({"round": names})
    assert frame.sort(round_order(pl.col("round")))["round"].to_list() == [
        "training-v2.0",
        "training-v2.1",
        "hpc-v3.0",
        "training-v10.0",
        "x",
    ]


def test_a_benchmark_without_a_run_count_is_refused_by_name() -> None:
    document = {
        "package": "p",
        "required_runs": {"training": {}},
        "olympic_drop": {},
        "rounds": [
            {
                "name": "training-v9.0",
                "ruleset": "9.0.0",
                "scaling_modes": ["strong"],
                "init_limit_minutes": {"closed": 1, "open": 1},
                "benchmarks": ["nobody"],
            }
        ],
    }
    with pytest.raises(KeyError, match="nobody"):
        parse_rules(document)
