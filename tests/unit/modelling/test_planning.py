"""The search over whole spaces against the same model as plain expressions, candidate by candidate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipelines.modelling import planning, workloads
from pipelines.modelling._planning_factors import batches, in_groups, replicas, rows
from pipelines.modelling._planning_frontier import undominated
from pipelines.modelling.planning import Machine, Plan, StepModel, Work
from pipelines.modelling.planning_layouts import layouts
from pipelines.modelling.planning_search import chunks, search
from pipelines.modelling.workloads import Workload
from tests.unit.modelling.conftest import LAYOUT

BY_NAME = {workload.benchmark: workload for workload in workloads.WORKLOADS}
LLAMA_405B = BY_NAME["llama31_405b"]
GB200 = Machine(
    memory_bytes=198_674_743_296,
    peak_teraflops=5000.0,
    domain_accelerators=64,
    scale_up_gigabytes_per_second=900.0,
    nic_gigabytes_per_second=50.0,
    active_per_rack=64,
)
HEADLINE = LAYOUT | {"is_recomputed": False}


def needs(least: int, most: int, samples: float = 327_360.0) -> pl.DataFrame:
    sizes = pl.DataFrame({"global_batch_size": range(least, most + 1)})
    return sizes.with_columns(converging_samples=samples + 10.0 * pl.col("global_batch_size"), evaluations=pl.lit(7.0))


def small_model(**changes: object) -> Workload:
    model = Workload(
        benchmark="small",
        model="small",
        layers=6,
        hidden=1024,
        heads=8,
        kv_heads=4,
        head_dim=128,
        ffn=4096,
        ffn_matrices=3,
        vocabulary=32_000,
        sequence_length=4096,
        vector_parameters=10_000,
    )
    return replace(model, **changes)  # type: ignore[arg-type]


MIXTURE = {"moe_layers": 5, "experts": 4, "experts_per_token": 2, "expert_ffn": 512}


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    least = draw(st.integers(1, 12))
    model = small_model(**(MIXTURE if draw(st.booleans()) else {}), layers=draw(st.sampled_from([4, 6, 10])))
    return Plan(
        work=Work(
            model=model,
            needs=needs(least, draw(st.integers(least, 40))),
            eval_base_seconds=draw(st.floats(0, 5)),
            eval_per_replica_seconds=draw(st.floats(0, 100)),
            other_seconds=draw(st.floats(0, 50)),
        ),
        machine=Machine(
            memory_bytes=draw(st.integers(1_000_000_000, 20_000_000_000)),
            peak_teraflops=draw(st.floats(1, 5000)),
            domain_accelerators=draw(st.sampled_from([4, 8, 64, 72])),
            scale_up_gigabytes_per_second=draw(st.floats(10, 2000)),
            nic_gigabytes_per_second=draw(st.floats(0.5, 200)),
            oversubscription=draw(st.floats(1, 4)),
            active_per_rack=draw(st.sampled_from([32, 64])),
        ),
        steps=StepModel(
            efficiency=draw(st.floats(0.05, 1)),
            fixed_seconds=draw(st.floats(0, 1)),
            hidden_share=draw(st.floats(0, 0.5)),
            exposed_in_fit_seconds=draw(st.floats(0, 0.1)),
            parameter_bytes=draw(st.sampled_from([1, 2])),
        ),
    )


def searched_candidates(plan: Plan, chosen: pl.DataFrame) -> pl.DataFrame:
    """Return every candidate as the search computes it."""
    grouped = in_groups(chosen)
    of_layouts = rows(plan, grouped)
    frames = []
    for replica, parts in replicas(plan, grouped, 10**6):
        for part in parts:
            some, micro_batch = grouped[part], grouped["micro_batch"][part.start]
            pairs = batches(plan, micro_batch)
            for chunk in chunks(plan, replica, of_layouts.part(part), pairs):
                data_parallel = pairs.replica_index[chunk.pairs] + 1
                micro_batches = pairs.micro_batches[chunk.pairs]
                possible = replica.possible[data_parallel - 1]
                for place in range(some.height):
                    frames.append(
                        pl.DataFrame(
                            {
                                "data_parallel": data_parallel,
                                "global_batch_size": (micro_batches * data_parallel * micro_batch).astype(np.int64),
                                "needed": chunk.needed_bytes[place],
                                "fitting": chunk.fits[place],
                                "up": chunk.scale_up_bytes[place],
                                "out": chunk.scale_out_bytes[place],
                                "step": chunk.step_seconds[place],
                                "seconds": chunk.seconds[place],
                            }
                        )
                        .filter(possible)
                        .join(some[place], how="cross")
                    )
    assume(frames)
    return pl.concat(frames)


@settings(max_examples=15)
@given(plan=plans(), picks=st.lists(st.integers(0, 10**6), min_size=6, max_size=6))
def test_search_agrees_with_the_plain_formulas(plan: Plan, picks: list[int]) -> None:
    every = layouts(plan.work.model)
    chosen = every[[pick % every.height for pick in picks]].unique(maintain_order=True)
    told = searched_candidates(plan, chosen)
    plain = planning.evaluate(told, plan)
    for ours, theirs in (
        ("needed", "needed_bytes"),
        ("up", "scale_up_bytes"),
        ("out", "scale_out_bytes"),
        ("step", "step_seconds"),
    ):
        np.testing.assert_allclose(plain[ours], plain[theirs], rtol=1e-9, err_msg=ours)
    is_close = (plain["needed"] / plan.machine.memory_bytes - 1).abs() < 1e-9
    assert ((plain["fitting"] == plain["fits"]) | is_close).all()
    possible = plain["fitting"] & plain["can_be_scheduled"]
    assert plain.filter(~possible)["seconds"].is_infinite().all()
    whole = plain.filter(possible)
    np.testing.assert_allclose(whole["seconds"] / 60, whole["minutes"], rtol=1e-9)


@settings(max_examples=8)
@given(plan=plans())
def test_search_finds_what_trying_all_finds(plan: Plan) -> None:
    every = layouts(plan.work.model).filter(pl.col("micro_batch") <= 2)
    chosen = every.sample(min(every.height, 60), seed=1)
    told = searched_candidates(plan, chosen)
    plain = planning.evaluate(told, plan)
    possible = plain.filter(pl.col("seconds").is_finite())
    found = search(plan, chosen, 10**6)
    assert found.fitting <= found.candidates
    assert found.fitting == plain["fitting"].sum()
    frontier = found.frontier.rename({"minutes": "found"})
    size = ["racks", "accelerator_count"]
    at_size = frontier.join(possible.group_by(size).agg(pl.col("minutes").min()), on=size, how="left")
    np.testing.assert_allclose(at_size["found"], at_size["minutes"], rtol=1e-9)
    beaten = possible.join(frontier.select(*size, "found"), how="cross", suffix="_found").filter(
        (pl.col("racks_found") <= pl.col("racks"))
        & (pl.col("accelerator_count_found") <= pl.col("accelerator_count"))
        & (pl.col("found") <= pl.col("minutes") * (1 + 1e-9))
    )
    keys = [*size, "minutes"]
    assert possible.join(beaten, on=keys, how="anti").is_empty(), "every candidate is on the frontier or beaten by it"


def test_nothing_on_the_frontier_is_beaten() -> None:
    sizes = pl.DataFrame(
        {
            "index": [0, 1, 2, 3, 4],
            "data_parallel": [1, 1, 1, 1, 1],
            "racks": [1, 1, 2, 2, 2],
            "accelerator_count": [32, 64, 48, 64, 96],
            "minutes": [10.0, 8.0, 9.0, 8.0, 7.0],
        }
    )
    assert undominated(sizes)["index"].to_list() == [0, 1, 2, 4]


@given(
    sizes=st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 5).map(float)), min_size=1, max_size=40
    )
)
def test_a_staircase_finds_what_comparing_all_finds(sizes: list[tuple[int, int, float]]) -> None:
    frame = pl.DataFrame(
        [(place, 1, *size) for place, size in enumerate(sizes)],
        schema=["index", "data_parallel", "racks", "accelerator_count", "minutes"],
        orient="row",
    )
    kept = undominated(frame).select("racks", "accelerator_count", "minutes").rows()
    best = {
        one
        for one in sizes
        if not any(other != one and all(x <= y for x, y in zip(other, one, strict=True)) for other in sizes)
    }
    assert sorted(kept) == sorted(best)


def test_the_layout_of_the_fit_gives_the_fit() -> None:
    """Within the family the model is t = a (m + (PP - 1) / VP) + b, whatever the window model and the links say."""
    at_peak = 8192 * 2.52396e12 / (64 * 5e15)
    efficiency = at_peak / 0.16836173
    plan = Plan(
        work=Work(model=LLAMA_405B, needs=needs(1248, 1248)),
        machine=GB200,
        steps=StepModel(efficiency=efficiency, fixed_seconds=0.27115095, hidden_share=1.0, exposed_in_fit_seconds=1.0),
    )
    told = planning.evaluate(pl.DataFrame([HEADLINE]), plan).row(0, named=True)
    assert told["micro_batch_seconds"] == pytest.approx(0.16836173, rel=1e-5)
    assert told["step_seconds"] == pytest.approx(0.16836173 * 32.875 + 0.27115095, rel=1e-5)
    assert told["scale_out_bytes"] / 1e9 == pytest.approx(18.54, abs=0.005)
    assert (told["racks"], told["accelerator_count"], told["fits"]) == (39, 2496, True)


def test_a_layout_that_sends_more_takes_longer() -> None:
    """Tensor ranks over two domains of 8 send over the network, and the model charges for it."""
    narrow = replace(GB200, domain_accelerators=8)
    plan = Plan(
        work=Work(model=LLAMA_405B, needs=needs(1248, 1248)),
        machine=narrow,
        steps=StepModel(efficiency=0.38, hidden_share=0.1),
    )
    spread = HEADLINE | {"tensor_parallel": 16, "context_parallel": 1, "pipeline_parallel": 4, "virtual_pipeline": 1}
    inside, outside = planning.evaluate(pl.DataFrame([HEADLINE, spread]), plan)["step_seconds"]
    assert outside > 3 * inside


def test_recomputation_takes_a_third_more_work_and_less_memory() -> None:
    plan = Plan(work=Work(model=LLAMA_405B, needs=needs(1248, 1248)), machine=GB200, steps=StepModel(efficiency=0.38))
    once, twice = planning.evaluate(pl.DataFrame([HEADLINE, HEADLINE | {"is_recomputed": True}]), plan).iter_rows(
        named=True
    )
    assert twice["compute_seconds"] / once["compute_seconds"] == pytest.approx(4 / 3, abs=0.01)
    assert twice["needed_bytes"] < once["needed_bytes"]


def test_layouts_are_those_that_a_model_allows() -> None:
    every = layouts(LLAMA_405B)
    assert every.unique().height == every.height
    published = {name: HEADLINE[name] for name in every.columns}
    assert every.join(pl.DataFrame([published]), on=every.columns, how="semi").height == 1
    assert every.filter(128 % pl.col("tensor_parallel") != 0).is_empty()
    assert every["expert_parallel"].unique().to_list() == [1]
    assert every["micro_batch"].unique().sort().to_list() == [1, 2, 4, 8]
    assert layouts(LLAMA_405B, 4097)["micro_batch"].unique().sort().to_list() == [2, 4, 8, 16]
    assert layouts(LLAMA_405B, 32_768)["micro_batch"].min() == 8
    mixture = layouts(small_model(**MIXTURE))
    assert mixture["expert_parallel"].unique().sort().to_list() == [1, 2, 4]


@pytest.mark.parametrize("model_name", [name for name, workload in BY_NAME.items() if not workload.adapter_rank])
def test_chunks_are_bounded(model_name: str) -> None:
    """A chunk holds 16,384 candidates, or those of one number of replicas where they are more."""
    model = BY_NAME[model_name]
    plan = Plan(work=Work(model=model, needs=needs(1, 3000)), machine=GB200, steps=StepModel(efficiency=0.4))
    grouped = in_groups(layouts(model).filter(pl.col("expert_parallel") == 1))
    of_layouts = rows(plan, grouped)
    replica, parts = next(iter(replicas(plan, grouped, 10_000)))
    pairs = batches(plan, grouped["micro_batch"][parts[0].start])
    sizes = [chunk.fits.size for chunk in chunks(plan, replica, of_layouts.part(parts[0]), pairs)]
    count = parts[0].stop - parts[0].start
    assert max(sizes) <= max(16_384, 3000 * count)
    assert sum(sizes) == count * pairs.starts[len(replica.state_bytes)]
