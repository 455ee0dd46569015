"""Paths of results repositories, as they are and as they should not be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.layout import Placed, classify, result_id


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "NVIDIA/results/eos_n64/bert/result_0.txt",
            Placed("result_log", "result_0.txt", "NVIDIA", "eos_n64", "bert"),
        ),
        (
            "smc/results/n8/gpt3/result_4-240405_2_raw_0.txt",
            Placed("result_log", "result_4-240405_2_raw_0.txt", "smc", "n8", "gpt3"),
        ),
        (
            "HPE+LBNL/results/perlmutter/weak/deepcam/result_00.txt",
            Placed("result_log", "result_00.txt", "HPE+LBNL", "perlmutter", "deepcam", "weak"),
        ),
        (
            "NVIDIA/results/eos/strong/oc20/result_1.txt",
            Placed("result_log", "result_1.txt", "NVIDIA", "eos", "oc20", "strong"),
        ),
        ("AMD/systems/MI300X.json", Placed("system_description", "MI300X.json", "AMD", "MI300X")),
        (
            "closed/Krai/systems/x.y.json",
            Placed("system_description", "x.y.json", "Krai", "x.y", division="closed"),
        ),
        ("AMD/results/MI300X/bert/scaling.json", Placed("scaling_factor", "scaling.json", "AMD", "MI300X", "bert")),
        (
            "smc/results/n8/gpt3/power/result_0/node_12.txt",
            Placed("power_log", "node_12.txt", "smc", "n8", "gpt3", run_name="result_0"),
        ),
        (
            "smc/results/n8/gpt3/power/result_0/sw_0.txt",
            Placed("power_log", "sw_0.txt", "smc", "n8", "gpt3", run_name="result_0"),
        ),
        (
            "Dell/benchmarks/llama31_8b/implementations/x/config_A.sh",
            Placed("launch_config", "config_A.sh", "Dell", benchmark="llama31_8b"),
        ),
        ("QCT/benchmark/bert/run.sh", Placed("launch_config", "run.sh", "QCT", benchmark="bert")),
        (
            "Dell/benchmarks/bert/implementations/x/README-x.md",
            Placed("launch_note", "README-x.md", "Dell", benchmark="bert"),
        ),
        ("summary_results.json", Placed("inference_summary", "summary_results.json")),
        ("summary.json", Placed("inference_summary", "summary.json")),
    ],
)
def test_what_a_parser_reads(path: str, expected: Placed) -> None:
    assert classify(path) == expected


@pytest.mark.parametrize(
    "path",
    [
        "",
        "README.md",
        "NVIDIA/systems/package_checker.log",
        "NVIDIA/benchmarks/bert/systems/x.json",
        "NVIDIA/benchmarks/bert/results/x/bert/result_0.txt",
        "NVIDIA/benchmarks/run.sh",
        "NVIDIA/benchmarks/bert/main.py",
        "NVIDIA/results/eos/result_0.txt",
        "NVIDIA/results/eos/bert/nvlog.json.3",
        "NVIDIA/results/eos/bert/compliance_0.out",
        "NVIDIA/results/eos/bert/recommendation_nccl_allreduce.txt",
        "NVIDIA/results/eos/bert/config_x.sh",
        "NVIDIA/results/eos/bert/power/node_0.txt",
        "NVIDIA/results/eos/bert/power/result_0/plot.png",
        "Fujitsu/results/fugaku/weak/cosmoflow/pruned_results/result_648.txt",
        "NVIDIA/results/eos/weak/result_0.txt",
        "../results/eos/bert/result_0.txt",
        "NVIDIA//results/eos/bert/result_0.txt",
        "NVIDIA/results/./eos/bert/result_0.txt",
        "results/summary_results.json",
    ],
)
def test_what_no_parser_reads(path: str) -> None:
    assert classify(path) is None


def test_result_id_names_weak_results() -> None:
    strong = classify("NVIDIA/results/eos/strong/oc20/result_1.txt")
    weak = classify("NVIDIA/results/eos/weak/oc20/result_1.txt")
    plain = classify("NVIDIA/results/eos/oc20/scaling.json")
    assert strong is not None
    assert weak is not None
    assert plain is not None
    assert result_id("hpc-v3.0", strong) == "hpc-v3.0/NVIDIA/eos/oc20"
    assert result_id("hpc-v3.0", weak) == "hpc-v3.0/NVIDIA/eos/oc20/weak"
    assert result_id("training-v5.0", plain) == "training-v5.0/NVIDIA/eos/oc20"


def test_a_description_belongs_to_no_single_result() -> None:
    placed = classify("AMD/systems/MI300X.json")
    assert placed is not None
    with pytest.raises(ValueError, match=r"MI300X\.json \(system_description\) belongs to no single result"):
        result_id("training-v5.0", placed)


@given(
    st.text()
    | st.lists(st.sampled_from(["a", "results", "systems", "weak", "power", "benchmark", "..", ""])).map("/".join)
)
def test_any_path_has_an_answer(path: str) -> None:
    placed = classify(path)
    assert placed is None or path.endswith(placed.name)
