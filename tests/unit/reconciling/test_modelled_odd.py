"""Odd facts: whatever logs, launches and descriptions hold, every table is made and passes its schema."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pipelines.reconciling.modelled import MODELLED, modelling_tables
from pipelines.schemas import table
from pipelines.schemas.facts_mart import Platforms, ResolvedFacts
from tests.unit.reconciling.world import Result, expected_progress, family, frame_of, no_reference, world

COUNTS = st.sampled_from([None, 0, 1, 2, 3, 8, 72, 1_000, 10**9])
SIZES = st.sampled_from([None, 1, 2, 3, 4, 8, 64, 100_000])
NUMBERS = st.sampled_from([None, 0.0, 1e-9, 0.5, 50.0, 1e12])

LAUNCH = {
    "tensor_parallel": SIZES,
    "context_parallel": SIZES,
    "pipeline_parallel": SIZES,
    "virtual_pipeline": SIZES,
    "expert_parallel": SIZES,
    "data_parallel": SIZES,
    "micro_batch": SIZES,
    "precision": st.sampled_from([None, "fp4", "bf16", "odd"]),
    "precision_source": st.sampled_from([None, "setting", "assumption"]),
    "batch_check": st.sampled_from(["confirmed", "contradicted", "not_checkable"]),
}
RESULT = {
    "accelerator": st.sampled_from([None, "GB300 (per GPU)", "unknown part"]),
    "accelerator_count": COUNTS,
    "benchmark": st.sampled_from(["gpt3", "llama2_70b_lora", "deepseekv3_671b", "gpt_oss_20b", "qwen35_397b_grpo"]),
    "division": st.sampled_from([None, "open"]),
    "score_minutes": NUMBERS,
    "raw_minutes": NUMBERS,
    "rcp_factor": NUMBERS,
    "global_batch_size": COUNTS,
    "samples_to_converge": NUMBERS,
    "step_median_seconds": NUMBERS,
}
DESCRIPTION = {
    "accelerators_per_node": COUNTS,
    "number_of_nodes": COUNTS,
    "slots_per_rack": st.sampled_from([None, 1, 72]),
    "racks_stated": COUNTS,
    "rack_product": st.sampled_from([None, "another"]),
    "nic_gigabytes_per_second_per_accelerator": NUMBERS,
    "nic_count_per_node": COUNTS,
    "nic_gigabits_per_second": NUMBERS,
}
LOG = {
    "samples_unit": st.sampled_from([None, "tokens", "epochs", "steps"]),
    "step_count": COUNTS,
    "eval_count": st.sampled_from([0, 1, 50]),
    "eval_seconds": st.sampled_from([None, "[]", "[0.0]", "[1.5, 1e9]"]),
    "eval_total_seconds": NUMBERS,
    "first_eval_samples": COUNTS,
    "eval_interval_samples": COUNTS,
    "throughput_median": NUMBERS,
    "throughput_unit": st.sampled_from([None, "samples/s", "tokens/s"]),
}


def some_of(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


@st.composite
def odd_results(draw: st.DrawFn) -> list[Result]:
    odd = [
        Result(
            f"odd{place}",
            draw(st.sampled_from([1, 8, 32])),
            draw(st.sampled_from([1, 40])),
            launch=draw(some_of(LAUNCH)),
            result=draw(some_of(RESULT)),
            description=draw(some_of(DESCRIPTION)),
            log=draw(some_of(LOG)),
        )
        for place in range(3)
    ]
    return [*family(), *odd]


@given(odd_results(), st.booleans())
@settings(max_examples=10, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
def test_every_table_is_made(results: list[Result], has_reference: bool) -> None:
    tables = modelling_tables(
        **world(results),
        platforms=frame_of(Platforms, [{"platform": "GB200 NVL72", "accelerator_count": 72, "power_kilowatts": 126.0}]),
        resolved_facts=ResolvedFacts.create_empty(),
        expected_progress=expected_progress if has_reference else no_reference,
    )
    for name in MODELLED:
        _, failures = table(name).schema.filter(tables[name])
        assert failures.counts() == {}, (name, failures.invalid().head(3).to_dicts())
    assert tables["mart.reconciled_runs"].height == len({one.result_id for one in results})
