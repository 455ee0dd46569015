"""Two real rounds to every table of the modelling core, held against figures that were computed elsewhere."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pipelines.modelling import calibration
from pipelines.reconciling.members import language_model_results
from pipelines.reconciling.modelled import MODELLED, modelling_tables
from pipelines.reconciling.networks import natural_experiments
from pipelines.schemas import table
from pipelines.scoring.rcp import expected_progress

HEADLINE = "training-v5.0/IBM+CoreWeave+NVIDIA/carina_ngpu2496_ngc25.04_nemo/llama31_405b"
FACTS = ("results", "runs_core", "runs_mart", "launches", "systems", "accelerators")
Tables = dict[str, pl.DataFrame]


@pytest.fixture(scope="module")
def tables(language_model_facts: Tables) -> Tables:
    return modelling_tables(**language_model_facts, expected_progress=expected_progress)


def row(frame: pl.DataFrame, text: str, column: str = "result_id") -> dict[str, Any]:
    return frame.filter(pl.col(column).str.contains(text, literal=True)).row(0, named=True)


@pytest.mark.parametrize("name", MODELLED)
def test_tables_pass_their_schemas(tables: Tables, name: str) -> None:
    assert set(tables) == set(MODELLED)
    table(name).schema.validate(tables[name])


def test_minutes_add_up_to_the_score(tables: Tables) -> None:
    parts = ["steps", "evaluation", "remainder", "other_runs", "rcp"]
    steps = ["ideal", "bubble", "fixed", "beyond_model"]
    told = tables["mart.time_breakdown"].with_columns(
        parts=pl.sum_horizontal([f"{name}_seconds" for name in parts], ignore_nulls=False),
        of_steps=pl.sum_horizontal([f"{name}_seconds" for name in steps], ignore_nulls=False),
    )
    assert told["parts"].is_not_null().sum() >= 165
    assert told.select((pl.col("parts") - pl.col("score_seconds")).abs().max()).item() < 1e-6
    assert told["of_steps"].is_not_null().sum() >= 20
    assert told.select((pl.col("of_steps") - pl.col("steps_seconds")).abs().max()).item() < 1e-6


def test_where_the_minutes_of_the_headline_go(tables: Tables) -> None:
    told = row(tables["mart.time_breakdown"], HEADLINE)
    assert told["middle_run_seconds"] == pytest.approx(26.989967 * 60, abs=1e-3)
    assert told["rcp_seconds"] == pytest.approx((27.334656 - 26.989967) * 60, abs=1e-3)
    assert told["evaluation_seconds"] == pytest.approx(7 * 13.07, abs=0.1)
    shares = [told[f"{part}_seconds"] / told["steps_seconds"] for part in ("bubble", "fixed")]
    assert shares == pytest.approx([0.0251, 0.0463], abs=5e-5)
    assert told["startup_seconds"] > 60, "initialisation is no part of the clock"


# base, larger, efficiency on the clock, on the score, by throughput, by the model
SCALING = [
    ("carina_ngpu512", "carina_ngpu2496", 0.7976, 0.9087, 0.9460, None),
    ("eos-dfw_n64", "eos-dfw_n1024", 0.7342, 0.8084, 0.8873, 0.8864),
    ("v5.1/NVIDIA/tyche_ngpu512", "hsg_ngpu2560", 0.9039, 0.9039, 0.9018, 0.9072),
    ("v5.1/NVIDIA/tyche_ngpu512", "hsg_ngpu5120", 0.8499, 0.8499, 0.8606, 0.8593),
    ("hsg_ngpu2560", "hsg_ngpu5120", 0.9402, 0.9402, 0.9543, 0.9473),
    ("tyche_ngpu256", "carina_ngpu2496", None, None, 0.9406, 0.9485),
]


@pytest.mark.parametrize(("base", "larger", "raw", "score", "throughput", "model"), SCALING)
def test_strong_scaling_on_three_bases(
    tables: Tables,
    base: str,
    larger: str,
    raw: float | None,
    score: float | None,
    throughput: float,
    model: float | None,
) -> None:
    pairs = tables["mart.strong_scaling"].filter(
        (pl.col("benchmark") == "llama31_405b") & pl.col("base_result_id").str.contains(base, literal=True)
    )
    pair = row(pairs, larger)
    for basis, expected in (("raw", raw), ("score", score), ("throughput", throughput), ("model", model)):
        if expected is not None:
            assert pair[f"efficiency_{basis}"] == pytest.approx(expected, abs=6e-5), basis
    assert not pair["is_mixed_precision"]


def test_2496_to_5120_mixes_precisions(tables: Tables) -> None:
    pair = row(tables["mart.strong_scaling"].filter(base_result_id=HEADLINE), "hsg_ngpu5120")
    assert pair["is_mixed_precision"]
    assert pair["is_mixed_software"]
    assert [pair[f"efficiency_{basis}"] for basis in ("raw", "score", "throughput", "model")] == [None] * 4
    assert pair["no_efficiency_reason"] == "precisions differ or are not known: fp8 and fp4"


def test_what_stops_a_larger_run_from_scaling(tables: Tables) -> None:
    """Fewer micro-batches a step: the bubble grows from 0.8 to 2.7 %, the fixed part from 1.4 to 4.7 %."""
    pairs = tables["mart.strong_scaling"].filter(pl.col("base_result_id").str.contains("tyche_ngpu256"))
    pair = row(pairs, "carina_ngpu2496")
    shares = [pair[name] for name in ("base_bubble_share", "bubble_share", "base_fixed_share", "fixed_share")]
    assert [round(share * 100, 1) for share in shares] == [0.8, 2.7, 1.4, 4.7]


# NIC and scale-up use, exposed s, need at 1 % and 5 %, ratio, verdict
BANDWIDTH = [
    ("carina_ngpu512", 0.017, 0.088, 0.017, 32.8, 13.0, 1.53, "too_close_to_call"),
    ("carina_ngpu1024", 0.042, 0.087, 0.041, 44.6, 24.2, 1.12, "too_close_to_call"),
    ("carina_ngpu2048", 0.051, 0.086, 0.053, 47.7, 27.5, 1.05, "too_close_to_call"),
    ("carina_ngpu2496", 0.064, 0.086, 0.055, 49.6, 30.7, 1.01, "too_close_to_call"),
    ("hsg_ngpu2560", 0.116, 0.119, 0.150, 73.9, 49.8, 0.68, "not_enough"),
    ("hsg_ngpu5120", 0.169, 0.117, 0.155, 77.9, 58.0, 0.64, "not_enough"),
    ("theia_ngpu512", 0.013, 0.065, 0.0, 35.4, 16.7, 2.82, "too_close_to_call"),
    ("eos-dfw_n64", 0.044, 0.172, 0.0, 18.4, 5.4, 2.72, "too_close_to_call"),
    ("eos-dfw_n1024", 0.107, 0.152, 0.024, 46.6, 30.9, 1.07, "too_close_to_call"),
]


@pytest.mark.parametrize(("system", "nic", "inside", "exposed", "one", "five", "ratio", "verdict"), BANDWIDTH)
def test_network_needs(
    tables: Tables,
    system: str,
    nic: float,
    inside: float,
    exposed: float,
    one: float,
    five: float,
    ratio: float,
    verdict: str,
) -> None:
    told = row(tables["mart.bandwidth"].filter(benchmark="llama31_405b"), system)
    assert told["nic_utilisation"] == pytest.approx(nic, abs=6e-4)
    assert told["scale_up_utilisation"] == pytest.approx(inside, abs=6e-4)
    assert told["exposed_seconds"] == pytest.approx(exposed, abs=6e-4)
    assert told["needed_gigabytes_per_second"] == pytest.approx(one, abs=0.06)
    assert told["needed_at_5_percent_gigabytes_per_second"] == pytest.approx(five, abs=0.06)
    assert told["oversubscription_most"] == pytest.approx(ratio, abs=6e-3)
    assert told["verdict"] == verdict


def test_which_tier_and_collective_bind(tables: Tables) -> None:
    bandwidth = tables["mart.bandwidth"]
    headline, largest = row(bandwidth, HEADLINE), row(bandwidth, "hsg_ngpu5120_ngc25.09_nemo/llama31_405b")
    assert (headline["binding_tier"], headline["binding_collective"]) == ("scale_up", "tensor, scale_up")
    assert headline["exposed_collective"] == "gradient_reduction"
    assert (largest["binding_tier"], largest["binding_collective"]) == ("scale_out", "data, scale_out")


def test_a_faster_network_gained_nothing(tables: Tables, language_model_facts: Tables) -> None:
    """8,192 GB200 FP4 of training-v6.0, the same software on 800 Gb/s NICs: 1.296 s a step of 1,024 samples.

    Its log: Azure/results/2048xAzure_GB200/llama31_405b/result_0.txt of that round, steps 310 to 323.
    """
    facts = {name: language_model_facts[name] for name in FACTS}
    known = language_model_results(**facts, expected_progress=expected_progress)
    later = known.filter(pl.col("result_id").str.contains("hsg_ngpu5120_ngc25.09_nemo/llama31_405b")).with_columns(
        result_id=pl.lit("training-v6.0/Azure/2048xAzure_GB200/llama31_405b"),
        software_round=pl.lit("training-v6.0"),
        accelerator_count=pl.lit(8192, pl.Int64),
        data_parallel=pl.lit(128, pl.Int64),
        global_batch_size=pl.lit(1024, pl.Int64),
        pipeline_slots=pl.lit(8 + 7 / 8),
        step_seconds=pl.lit(1.296),
        nic_available_gigabytes_per_second=pl.lit(100.0),
        family=pl.lit("later"),
        member=pl.lit("later"),
    )
    both = pl.concat([known, later])
    fits = calibration.fit(both.filter("is_member").lazy()).collect()
    first = natural_experiments(both, fits).row(0, named=True)
    assert (first["verdict"], first["is_same_software"], first["reference_count"]) == ("contradicts", True, 3)
    assert first["measured_change_percent"] == pytest.approx(0.1, abs=0.1)
    assert first["window_change_percent"] == pytest.approx(-12, abs=0.5)


def test_pipeline_inside_the_rack_halves_what_the_network_carries(tables: Tables) -> None:
    told = row(tables["mart.bandwidth"], HEADLINE)
    assert told["scale_out_bytes"] / 1e9 == pytest.approx(18.54, abs=6e-3)
    assert told["pipeline_bytes"] / told["scale_out_bytes"] == pytest.approx(0.93, abs=5e-3)


@pytest.mark.parametrize(
    ("system", "domain", "domains", "nodes", "inside", "outside", "cliff", "verdict"),
    [
        ("carina_ngpu2496_ngc25.04_nemo", 72, 39, 16, 900, 50, 18, "pipeline_inside"),
        ("theia_ngpu512_ngc25.09_nemo", 72, 8, 16, 900, 100, 9, "pipeline_inside"),
        ("eos-dfw_n1024_ngc25.01_nemo", 8, 1024, 1, 450, 50, 9, "holds"),
        ("8xKinabalux18x4GB200", 72, 8, 18, 900, 50, 18, None),
        ("tyche_ngpu8_ngc25.04_nemo", 8, 1, 2, 900, 50, 18, "one_domain"),
    ],
)
def test_connectivity(
    tables: Tables,
    system: str,
    domain: int,
    domains: int,
    nodes: float,
    inside: float,
    outside: float,
    cliff: float,
    verdict: str | None,
) -> None:
    told = tables["mart.connectivity"].filter(system=system).row(0, named=True)
    names = ("domain_accelerators", "domain_count", "nodes_per_domain", "scale_up_gigabytes_per_second")
    assert [told[name] for name in names] == [domain, domains, nodes, inside]
    assert (told["nic_gigabytes_per_second"], told["cliff_ratio"]) == (outside, cliff)
    assert told["rule_verdict"] == verdict


def test_every_system_with_accelerators_is_connected(tables: Tables, language_model_facts: Tables) -> None:
    systems = language_model_facts["systems"].filter(pl.col("accelerator_count") > 0)
    told = tables["mart.connectivity"]
    assert told.height == systems.height == 186
    assert told["domain_accelerators"].null_count() == 0
    assert told.filter(pl.col("domain_count") * pl.col("domain_accelerators") < pl.col("accelerator_count")).is_empty()
    assert told.filter(rule_verdict="broken").is_empty()


def test_the_headline_run_keeps_its_pipeline_inside(tables: Tables) -> None:
    told = tables["mart.connectivity"].filter(system="carina_ngpu2496_ngc25.04_nemo").row(0, named=True)
    dimensions = ("tensor", "context", "expert", "pipeline", "data")
    assert [told[f"is_{name}_inside"] for name in dimensions] == [True, True, None, True, False]
    assert "39 scale-up domains of 72, 64 of them at work, of 16 operating-system nodes each" in told["explanation"]


def test_h100_for_the_headline_time(tables: Tables) -> None:
    told = row(tables["mart.equivalents"].filter(result_id=HEADLINE), "/H100-SXM5-80GB/", "family")
    assert (told["equivalent_data_parallel"], told["equivalent_accelerator_count"], told["racks"]) == (45, 5760, 180)
    assert told["predicted_minutes"] == pytest.approx(27.09, abs=6e-3)
    assert told["held_out_accelerator_count"] == 5760
    assert told["power_law_exponent"] == pytest.approx(0.8746, abs=6e-5)
    assert told["power_law_accelerator_count"] == pytest.approx(5996, abs=0.5)
    assert (told["low_accelerator_count"], told["high_accelerator_count"]) == (5760, 5996)
    assert (told["low_racks"], told["high_racks"], told["accelerators_per_rack"]) == (180, 188, 32)
    assert told["low_racks"] > 156, "claimed"
    assert told["explanation"].startswith("5760 to 5996 accelerators, 180 to 188 racks of 32, for 27.33 min")


def test_a_part_without_a_run_is_an_extrapolation(tables: Tables) -> None:
    priors = tables["mart.equivalents"].filter(basis="physical_prior", benchmark="llama31_405b")
    seen = set(tables["mart.reconciled_runs"].filter(benchmark="llama31_405b")["accelerator"])
    assert not set(priors["accelerator"]) & seen
    told = priors.drop_nulls("equivalent_accelerator_count")
    assert told.select(
        (pl.col("low_accelerator_count") < pl.col("equivalent_accelerator_count")).all()
        & (pl.col("equivalent_accelerator_count") < pl.col("high_accelerator_count")).all()
    ).item()
    assert told["error_percent"].unique().to_list() == pytest.approx([10.49], abs=6e-3)
    assert told["explanation"].str.contains("an extrapolation: no run of the part is here").all()


@pytest.mark.parametrize(
    ("system", "accelerators_fit_with", "gigabytes"),
    [
        ("carina_ngpu2496", "selective_recompute", 127.5),
        ("eos-dfw_n1024", "selective_recompute", 63.4),
        ("nebius_soperator_8xH200_n64", "selective_recompute", 135.1),
        ("theia_ngpu512", "selective_recompute", 260.6),
    ],
)
def test_memory_of_published_runs(tables: Tables, system: str, accelerators_fit_with: str, gigabytes: float) -> None:
    told = row(tables["mart.memory"].filter(benchmark="llama31_405b"), system)
    assert told["needed_bytes"] / 1e9 == pytest.approx(gigabytes, abs=0.06)
    assert told["fits_with"] == accelerators_fit_with


def test_no_run_that_ran_is_told_not_to_fit(tables: Tables) -> None:
    assert set(tables["mart.memory"]["fits_with"].drop_nulls()) == {"selective_recompute", "full_recompute"}


@pytest.mark.parametrize(
    ("system", "low", "high", "bound", "level"),
    [("carina_ngpu2496", 4680, 5148, 2.3157, "row"), ("hsg_ngpu5120", 9600, 10560, 1.759, "row")],
)
def test_power_of_published_runs(
    tables: Tables, system: str, low: float, high: float, bound: float, level: str
) -> None:
    told = row(tables["mart.power"].filter(pl.col("result_id").str.ends_with("llama31_405b")), system)
    assert (told["computer_kilowatts_low"], told["computer_kilowatts_high"]) == (low, high)
    assert told["energy_bound_megawatt_hours"] == pytest.approx(bound, abs=1e-3)
    assert (told["level"], told["power_basis"]) == (level, "rack")


def test_published_fabrics(tables: Tables) -> None:
    published = tables["mart.fabrics"].filter(kind="published")
    assert dict(published.group_by("verdict").len().iter_rows()) == {"agrees": 19, "contradicts_itself": 1}
    odd = published.filter(verdict="contradicts_itself").row(0, named=True)
    assert (odd["printed_accelerators"], odd["accelerators"], odd["printed_host_cables"]) == (9216, 10368, 10368)
    assert (odd["leaf_switches"], odd["spine_switches"]) == (144, 72)


def test_fabrics_of_systems_here(tables: Tables) -> None:
    told = row(tables["mart.fabrics"], "theia_ngpu512_ngc25.09_nemo", "fabric")
    assert (told["radix"], told["rails"], told["racks_per_rail_group"], told["hops_across"]) == (144, 4, 4, 3)
    headline = row(tables["mart.fabrics"], "carina_ngpu2496", "fabric")
    assert (headline["endpoints"], headline["largest_endpoints"], headline["tiers"]) == (2496, 65_536, 3)


def test_levels_of_scale(tables: Tables) -> None:
    program = tables["mart.levels"].filter(scenario="program").sort("place")
    assert program["level"].to_list() == [
        "package (1 GPU)",
        "node (8)",
        "rack (72)",
        "node (8)",
        "cluster (16k)",
        "cluster (16k)",
    ]
    assert tables["mart.levels"]["scenario"].n_unique() == 5
    pretrain = program.filter(pl.col("job").str.contains("70B on 15T")).row(0, named=True)
    assert (pretrain["by_time"], pretrain["bound_by"], pretrain["power_level"]) == (1351, "time", "pod")
    assert pretrain["binding"] == "accelerators"
