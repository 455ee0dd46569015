"""The modelling core against figures that were computed elsewhere from the published logs of v5.0 and v5.1."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest

from pipelines.modelling import bandwidth, calibration, flops, parallelism, peaks, step_time, traffic, workloads
from pipelines.parsing.spec_sheets.registry import read_registry
from pipelines.reconciling.facts import reconcile_facts
from pipelines.sources.registry import registry_files

GB200, GB300, H100, H200, B200 = (
    "GB200 (per GPU)",
    "GB300 (per GPU)",
    "H100-SXM5-80GB",
    "H200-SXM-141GB",
    "B200-SXM-180GB",
)

# accelerator, precision, accelerators, TP, DP, batch, step seconds; TFLOPS per accelerator, MFU, MFU against BF16
RUNS = {
    "tyche256": (GB200, "fp8", 256, 4, 4, 448, 19.1685, 1887.6, 0.3775, 0.755),
    "carina512": (GB200, "fp8", 512, 4, 8, 896, 19.2780, 1876.9, 0.3754, 0.751),
    "tyche512": (GB200, "fp8", 512, 4, 8, 896, 19.4323, 1862.0, 0.3724, 0.745),
    "carina1024": (GB200, "fp8", 1024, 4, 16, 768, 8.4485, 1835.5, 0.3671, 0.734),
    "carina1536": (GB200, "fp8", 1536, 4, 24, 1152, 8.4992, 1824.6, 0.3649, 0.730),
    "carina2048": (GB200, "fp8", 2048, 4, 32, 1280, 7.1585, 1805.2, 0.3610, 0.722),
    "carina2496": (GB200, "fp8", 2496, 4, 39, 1248, 5.8225, 1775.5, 0.3551, 0.710),
    "tyche512fp4": (GB200, "fp4", 512, 4, 8, 1152, 17.2602, 2695.3, 0.2695, 1.078),
    "hsg2560": (GB200, "fp4", 2560, 4, 40, 960, 3.1901, 2430.6, 0.2431, 0.972),
    "hsg5120": (GB200, "fp4", 5120, 4, 80, 1280, 2.2286, 2319.5, 0.2319, 0.928),
    "theia512": (GB300, "fp4", 512, 2, 16, 1152, 13.1448, 3539.2, 0.2359, 1.416),
    "hpg256": (B200, "fp8", 256, 4, 4, 576, 27.645, 1682.8, 0.374, 0.748),
    "hpg448": (B200, "fp8", 448, 4, 7, 1008, 27.977, 1662.9, 0.370, 0.739),
    "eos512": (H100, "fp8", 512, 8, 4, 1152, 55.1433, 843.6, 0.4263, 0.853),
    "eos2048": (H100, "fp8", 2048, 8, 16, 1152, 14.2216, 817.8, 0.4132, 0.826),
    "eos2432": (H100, "fp8", 2432, 8, 19, 1216, 12.7116, 813.3, 0.4110, 0.822),
    "eos2560": (H100, "fp8", 2560, 8, 20, 1120, 11.1730, 809.6, 0.4091, 0.818),
    "eos8192": (H100, "fp8", 8192, 8, 64, 1536, 5.1790, 748.6, 0.3783, 0.757),
    "nebius512": (H200, "fp8", 512, 4, 8, 1152, 50.012, 930.2, 0.470, 0.940),
    "nebius1024": (H200, "fp8", 1024, 4, 16, 1152, 25.356, 917.4, 0.464, 0.927),
}

# scale-out GB of the data dimension, NIC and NVLink use, exposed s, need at 1 % and 5 %, GB/s available
NETWORK = {
    "carina512": (16.65, 0.017, 0.088, 0.017, 32.8, 13.0, 50.0),
    "carina1024": (17.84, 0.042, 0.087, 0.041, 44.6, 24.2, 50.0),
    "carina2048": (18.43, 0.051, 0.086, 0.053, 47.7, 27.5, 50.0),
    "carina2496": (18.54, 0.064, 0.086, 0.055, 49.6, 30.7, 50.0),
    "hsg2560": (18.55, 0.116, 0.119, 0.150, 73.9, 49.8, 50.0),
    "hsg5120": (18.79, 0.169, 0.117, 0.155, 77.9, 58.0, 50.0),
    "theia512": (16.65, 0.013, 0.065, 0.0, 35.4, 16.7, 100.0),
    "eos512": (16.65, 0.044, 0.172, 0.0, 18.4, 5.4, 50.0),
    "eos8192": (18.88, 0.107, 0.152, 0.024, 46.6, 30.9, 50.0),
}
MICRO_BATCH_SECONDS = {(GB200, "fp8"): 0.1683617, (GB200, "fp4"): 0.1175880, (H100, "fp8"): 0.1887258}
FIXED_SECONDS = {(GB200, "fp8"): 0.2711510, (GB200, "fp4"): 0.2507845, (H100, "fp8"): 0.4756446}
DOMAIN = {GB200: 72, GB300: 72, H100: 8, H200: 8, B200: 8}
NVLINK = {H100: 450.0, H200: 450.0}


@cache
def _peaks() -> pl.DataFrame:
    registry = read_registry(registry_files())
    parts = reconcile_facts(registry.facts, registry.subject_frame, registry.containments)
    return peaks.by_precision(parts.accelerators)


def _runs(*names: str) -> pl.DataFrame:
    rows = []
    for name in names:
        accelerator, precision, count, tensor, data, batch, step, *_ = RUNS[name]
        slots = batch / data + 7 / 8
        rows.append(
            {
                "name": name,
                "benchmark": "llama31_405b",
                "accelerator": accelerator,
                "precision": precision,
                "accelerator_count": count,
                "tensor_parallel": tensor,
                "context_parallel": 2,
                "pipeline_parallel": 8,
                "virtual_pipeline": 8,
                "expert_parallel": 1,
                "data_parallel": data,
                "micro_batch": 1,
                "global_batch_size": batch,
                "step_seconds": step,
                "parameter_bytes": 1,
                "domain_accelerators": DOMAIN[accelerator],
                "micro_batch_seconds": MICRO_BATCH_SECONDS.get((accelerator, precision), step / slots),
                "fixed_seconds": FIXED_SECONDS.get((accelerator, precision), 0.0),
            }
        )
    model = workloads.frame()
    return pl.DataFrame(rows).join(model, on="benchmark").join(_peaks(), on=["accelerator", "precision"])


def test_constants_of_llama31_405b() -> None:
    model = workloads.frame().filter(benchmark="llama31_405b")
    constants = model.select(
        flops.layer_parameters().alias("layer"),
        flops.total_parameters().alias("total"),
        flops.matmul_parameters().alias("matmul"),
        flops.flops_per_token("6n").alias("6n"),
        flops.flops_per_token("causal").alias("causal"),
        flops.flops_per_token("full").alias("full"),
    ).row(0)
    assert constants == pytest.approx(
        (3.187671e9, 4.058534e11, 4.037479e11, 2.43512e12, 2.52396e12, 2.62542e12), rel=2e-6
    )
    assert constants[4] / constants[3] == pytest.approx(1.036, abs=5e-4)
    assert constants[5] / constants[3] == pytest.approx(1.078, abs=5e-4)


@pytest.mark.parametrize("name", list(RUNS))
def test_utilisation_of_published_runs(name: str) -> None:
    tflops, share, share_of_bf16 = RUNS[name][7:]
    run = _runs(name)
    achieved = run.select(flops.achieved_tflops(pl.col("step_seconds"))).item()
    bf16 = _peaks().filter(accelerator=RUNS[name][0], precision="bf16").item(0, "peak_tflops")
    assert achieved == pytest.approx(tflops, rel=1e-4)
    assert achieved / run.item(0, "peak_tflops") == pytest.approx(share, abs=6e-4 if share == round(share, 3) else 6e-5)
    assert achieved / bf16 == pytest.approx(share_of_bf16, abs=1e-3)


def test_utilisation_at_the_precision_of_the_run_is_at_most_one() -> None:
    shares = _runs(*RUNS).select(flops.achieved_tflops(pl.col("step_seconds")) / pl.col("peak_tflops")).to_series()
    assert shares.is_between(0, 1, closed="right").all()


def test_a_published_rate_counts_the_whole_attention_and_every_step() -> None:
    """1,829 TFLOPS were published for 2,496: 5.874 s is the mean of all steps of its three logs, none left out."""
    run = _runs("carina2496")
    full = run.select(flops.achieved_tflops(pl.lit(5.87403), "full")).item()
    assert full == pytest.approx(1830.6, abs=0.2)
    assert full == pytest.approx(1829, rel=1e-3)
    assert run.select(flops.achieved_tflops(pl.col("step_seconds"))).item() == pytest.approx(1775.5, abs=0.1)


def test_small_domains_are_slower_than_the_fit_of_large_ones() -> None:
    """B200 in nodes of 8 against the fit of GB200 in racks, confounded with site, software and power."""
    fit = {"micro_batch_seconds": pl.lit(0.1683617), "fixed_seconds": pl.lit(0.2711510)}
    runs = _runs("hpg256", "hpg448").with_columns(**fit)
    predicted = runs.select(step_time.step_seconds(step_time.pipeline_slots())).to_series()
    assert predicted.to_list() == pytest.approx([24.66] * 2, abs=5e-3)
    slower = (runs["step_seconds"] / predicted - 1).to_list()
    assert slower == pytest.approx([0.121, 0.1345], abs=1e-3)


@pytest.mark.parametrize(("name", "expected"), [("carina512", 0.3838), ("eos512", 0.4325), ("hsg2560", 0.2747)])
def test_efficiency_of_a_micro_batch(name: str, expected: float) -> None:
    run = _runs(name).with_columns(replica_accelerator_count=parallelism.replica_accelerators())
    efficiency = run.select(flops.micro_batch_efficiency(pl.col("micro_batch_seconds"))).item()
    assert efficiency == pytest.approx(expected, abs=6e-5)


@pytest.mark.parametrize("name", list(NETWORK))
def test_network_need_of_published_runs(name: str) -> None:
    sent, nic, nvlink, exposed, at_one, at_five, available = NETWORK[name]
    run = _runs(name).with_columns(nic_available_gigabytes_per_second=pl.lit(available))
    link = NVLINK.get(RUNS[name][0], 900.0)
    row = (
        traffic.traffic(run)
        .with_columns(
            exposed=bandwidth.exposed_seconds(bandwidth.CENTRAL, pl.lit(available)),
            at_one=bandwidth.needed_gigabytes_per_second(bandwidth.CENTRAL),
            at_five=bandwidth.needed_gigabytes_per_second(bandwidth.Assumptions(exposed_share=0.05)),
            nic=bandwidth.utilisation(pl.col("scale_out_bytes"), pl.lit(available)),
            nvlink=bandwidth.utilisation(pl.col("scale_up_bytes"), pl.lit(link)),
        )
        .row(0, named=True)
    )
    assert (row["gradient_scale_out_bytes"] + row["gather_scale_out_bytes"]) / 1e9 == pytest.approx(sent, abs=6e-3)
    assert row["exposed"] == pytest.approx(exposed, abs=6e-4)
    assert row["at_one"] == pytest.approx(at_one, abs=0.06)
    assert row["at_five"] == pytest.approx(at_five, abs=0.06)
    assert row["nic"] == pytest.approx(nic, abs=6e-4)
    assert row["nvlink"] == pytest.approx(nvlink, abs=6e-4)


def test_headline_need_moves_with_the_assumptions() -> None:
    run = _runs("carina2496").with_columns(nic_available_gigabytes_per_second=pl.lit(50.0))
    narrow, wide, wider_gradients = (
        run.select(bandwidth.needed_gigabytes_per_second(bandwidth.Assumptions(exposed_share=0.01, **changes))).item()
        for changes in ({"window_scale": 1.2}, {"window_scale": 0.8}, {"gradient_bytes": 4})
    )
    assert narrow == pytest.approx(42, abs=0.5)
    assert wide == pytest.approx(60, abs=0.5)
    assert wider_gradients == pytest.approx(92, abs=1.5)


# base, run, measured efficiency, efficiency by the model
SCALING = [
    ("tyche256", "carina2496", 0.9406, 0.9485),
    ("carina512", "carina2496", 0.9460, None),
    ("eos512", "eos8192", 0.8873, 0.8864),
    ("tyche512fp4", "hsg2560", 0.9018, 0.9072),
    ("tyche512fp4", "hsg5120", 0.8606, 0.8593),
    ("hsg2560", "hsg5120", 0.9543, 0.947),
    ("tyche256", "tyche512", 0.9864, 1.0),
    ("tyche256", "carina1024", 0.9724, 0.9719),
    ("tyche256", "carina1536", 0.9666, 0.9719),
    ("tyche256", "carina2048", 0.9563, 0.9624),
]


@pytest.mark.parametrize(("base", "name", "measured", "modelled"), SCALING)
def test_strong_scaling(base: str, name: str, measured: float, modelled: float | None) -> None:
    pair = _runs(base, name)
    by_model = step_time.step_seconds(step_time.pipeline_slots())
    for seconds, expected in ((pl.col("step_seconds"), measured), (by_model, modelled)):
        if expected is not None:
            rates = pair.select(step_time.samples_per_second_per_accelerator(seconds)).to_series()
            assert rates[1] / rates[0] == pytest.approx(expected, abs=1.1e-4 if expected != 0.947 else 6e-4)


@pytest.mark.parametrize(
    ("accelerators", "tensor", "context", "pipeline", "data", "sequence", "batch", "tflops", "utilisation"),
    [
        (8192, 8, 1, 16, 64, 8192, 32, 430, 0.435),
        (16384, 8, 1, 16, 128, 8192, 16, 400, 0.404),
        (16384, 8, 16, 16, 8, 131_072, 16, 380, 0.384),
    ],
)
def test_parallelism_of_the_llama3_herd(
    accelerators: int,
    tensor: int,
    context: int,
    pipeline: int,
    data: int,
    sequence: int,
    batch: int,
    tflops: int,
    utilisation: float,
) -> None:
    row = pl.DataFrame(
        {
            "tensor_parallel": [tensor],
            "context_parallel": [context],
            "pipeline_parallel": [pipeline],
            "data_parallel": [data],
            "accelerator_count": [accelerators],
        }
    )
    assert parallelism.require_world(row).height == 1
    assert data * batch * sequence == 16_777_216
    peak = _peaks().filter(accelerator=H100, precision="bf16").item(0, "peak_tflops")
    assert tflops / peak == pytest.approx(utilisation, abs=1e-3)


# accelerators, DP, batch, seconds: GB200 runs of DeepSeek-V3 by one submitter in training-v6.0, TP2 PP4 VP4 EP32;
# the last steps of NVIDIA/results/tyche-hsg_ngpu*_ngc26.04_nemo/deepseekv3_671b/result_0.txt
MIXTURE = [(512, 64, 15_360, 30.73), (2048, 256, 15_360, 9.06), (4096, 512, 16_384, 5.386), (8192, 1024, 16_384, 3.456)]


def test_two_parameters_hold_for_a_mixture_of_one_submitter() -> None:
    members = pl.DataFrame(
        [
            {
                "family": "f",
                "member": str(count),
                "accelerator_count": count,
                "data_parallel": data,
                "global_batch_size": batch,
                "pipeline_slots": batch / data + 3 / 4,
                "step_seconds": seconds,
                "eval_seconds": 1.0,
                "remainder_seconds": 0.0,
            }
            for count, data, batch, seconds in MIXTURE
        ]
    )
    fit = calibration.fit(members.lazy()).collect().row(0, named=True)
    assert fit["leave_one_out_mape_percent"] < 4
    assert abs(fit["largest_held_out_error_percent"]) < 4
    assert fit["linear_baseline_error_percent"] < -40, "linear scaling from 512 to 8,192 would be off by half"


def test_experts_of_those_runs_stay_in_the_rack_and_their_pipeline_does_not() -> None:
    model = workloads.frame().filter(benchmark="deepseekv3_671b")
    rows = [
        {
            "accelerator_count": count,
            "data_parallel": data,
            "global_batch_size": batch,
            "tensor_parallel": 2,
            "context_parallel": 1,
            "pipeline_parallel": 4,
            "virtual_pipeline": 4,
            "expert_parallel": 32,
            "micro_batch": 1,
            "domain_accelerators": 64,
        }
        for count, data, batch, _ in MIXTURE
    ]
    sent = traffic.traffic(pl.DataFrame(rows).join(model, how="cross"))
    assert sent["expert_scale_up_share"].to_list() == [1.0] * 4
    assert sent["pipeline_scale_up_share"].to_list() == [0.0] * 4
    assert (sent["expert_bytes"] > sent["tensor_bytes"]).all()
