"""The parts of a candidate's answer that depend on fewer of its axes, by the same expressions as the whole.

A replica's dimensions and data parallelism tell states and data traffic; a layout tells what one micro-batch takes; a
batch tells how many steps there are. Each is computed once here; `planning_search` puts them together per candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.modelling import memory, traffic
from pipelines.modelling.parallelism import bubble_slots, replica_accelerators, spreads_experts
from pipelines.modelling.planning import (
    Plan,
    activation_seconds,
    compute_seconds,
    micro_batch_seconds,
    with_domain,
    with_model,
)
from pipelines.modelling.time_to_train import evaluation_seconds

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

REPLICA = ("tensor_parallel", "context_parallel", "pipeline_parallel", "expert_parallel")
_ROWS_AT_ONCE = 200_000


@dataclass(frozen=True)
class Batches:
    """Every pair of replicas and micro-batches of one micro-batch size whose batch may be chosen, by replicas.

    Arrays of one entry a pair, and `starts`: where each number of replicas begins, and one past the last.
    """

    micro_batches: Floats
    replica_index: npt.NDArray[np.intp]
    """Replicas less one."""
    steps: Floats
    rest_seconds: Floats
    """Evaluations and what else a run takes beside its steps."""
    starts: Integers


@dataclass(frozen=True)
class Replica:
    """What data parallelism changes, for one choice of `REPLICA`: arrays over 1, 2, ... replicas."""

    accelerators: int
    pipeline_parallel: int
    state_bytes: Floats
    """Infinite where the experts cannot be spread."""
    data_scale_up_bytes: Floats
    data_scale_out_bytes: Floats
    reduced_bytes: Floats
    gathered_bytes: Floats
    possible: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """What one micro-batch takes: arrays of one entry a layout."""

    activation_bytes: Floats
    """Of one micro-batch that waits."""
    in_flight: Floats
    scale_up_bytes: Floats
    """Of the activations of one micro-batch."""
    scale_out_bytes: Floats
    micro_batch_seconds: Floats
    bubble_slots: Floats
    is_interleaved: npt.NDArray[np.bool_]

    def part(self, some: slice) -> Rows:
        """Return some of the layouts."""
        return Rows(**{field.name: getattr(self, field.name)[some] for field in fields(self)})


def batches(plan: Plan, micro_batch: int) -> Batches:
    """Return the pairs of replicas and micro-batches whose batch is among the plan's.

    Raises:
        ValueError: between the least and the most of the plan's batches one is missing.
    """
    needs = plan.work.needs
    sizes = needs["global_batch_size"].to_numpy()
    least, most = plan.work.batch_least, plan.work.batch_most
    if len(sizes) != most - least + 1:
        raise ValueError(f"needs: expected every batch from {least} to {most}, found {len(sizes)} of them")
    replicas = np.arange(1, most // micro_batch + 1)
    first = np.maximum(-(-least // (replicas * micro_batch)), 1)
    last = most // (replicas * micro_batch)
    if plan.only_micro_batches is not None:
        first, last = (bound(end, plan.only_micro_batches) for bound, end in ((np.maximum, first), (np.minimum, last)))
    counts = np.maximum(last - first + 1, 0)
    starts = np.concatenate([[0], np.cumsum(counts)])
    index = np.repeat(np.arange(len(replicas)), counts)
    micro = np.arange(starts[-1]) - np.repeat(starts[:-1] - first, counts)
    place = np.searchsorted(sizes, micro * (index + 1) * micro_batch)
    samples, evaluations = (needs[name].to_numpy()[place] for name in ("converging_samples", "evaluations"))
    evaluation = _evaluation_seconds(plan, replicas)[index]
    return Batches(
        micro_batches=micro.astype(np.float64),
        replica_index=index,
        steps=samples / (micro * (index + 1) * micro_batch),
        rest_seconds=evaluations * evaluation + plan.work.other_seconds,
        starts=starts,
    )


def replicas(plan: Plan, layouts: pl.DataFrame, accelerators_most: int) -> Iterator[tuple[Replica, list[slice]]]:
    """Yield every choice of `REPLICA` among the layouts, and where its layouts are; bounded in memory.

    Args:
        plan: the work, the machine, the steps.
        layouts: `in_groups(layouts(...))`.
        accelerators_most: data parallelism ends where a cluster would have more.

    Yields:
        What data parallelism changes, and one slice of `layouts` for each size of a micro-batch.
    """
    groups = _groups(layouts).with_columns(
        replicas=pl.min_horizontal(
            plan.work.batch_most // pl.col("micro_batches").list.first(),
            accelerators_most // replica_accelerators(),
        )
    ).filter(pl.col("replicas") > 0)  # fmt: skip
    portion = (pl.col("replicas").cum_sum() / _ROWS_AT_ONCE).floor()
    for some in groups.with_columns(_portion=portion).partition_by("_portion", include_key=False, maintain_order=True):
        told = _over_replicas(plan, some.select(*REPLICA, "replicas"))
        begin = 0
        for row in some.iter_rows(named=True):
            ends = np.cumsum([row["begin"], *row["counts"]])
            yield (
                _replica(row, told, slice(begin, begin + row["replicas"])),
                [slice(int(one), int(two)) for one, two in pairwise(ends)],
            )
            begin += row["replicas"]


def in_groups(layouts: pl.DataFrame) -> pl.DataFrame:
    """Return the layouts in the order in which they are searched, numbered by `index`."""
    return layouts.sort(*REPLICA, "micro_batch", "virtual_pipeline", "is_recomputed").with_row_index("index")


def _groups(layouts: pl.DataFrame) -> pl.DataFrame:
    """Return each choice of `REPLICA`, where its layouts begin, and how many there are of each micro-batch size."""
    return (
        layouts.group_by(*REPLICA, "micro_batch", maintain_order=True)
        .agg(begin=pl.col("index").first(), count=pl.len())
        .group_by(REPLICA, maintain_order=True)
        .agg(pl.col("begin").first(), counts="count", micro_batches="micro_batch")
    )


def rows(plan: Plan, layouts: pl.DataFrame) -> Rows:
    """Return what one micro-batch of each layout takes: the expressions of a step of a single micro-batch."""
    one = with_model(layouts, plan).with_columns(
        data_parallel=pl.lit(1), global_batch_size="micro_batch", accelerator_count=replica_accelerators()
    ).with_columns(domain_accelerators=pl.lit(plan.machine.domain_accelerators))  # fmt: skip
    widths, storage = plan.steps.widths, plan.steps.storage
    sent = one.with_columns(
        tensor_bytes=traffic.tensor_bytes(widths),
        context_bytes=traffic.context_bytes(widths),
        expert_bytes=traffic.expert_bytes(widths),
        pipeline_bytes=traffic.pipeline_bytes(widths),
        expert_scale_up_share=traffic.expert_scale_up_share(),
        **{
            f"{name}_scale_up_share": traffic.is_inside(name).cast(pl.Float64)
            for name in traffic.DIMENSIONS
            if name != "expert"
        },
    )
    inside, outside = (
        pl.sum_horizontal(
            pl.col(f"{name}_bytes") * (share if is_inside else 1 - share)
            for name in traffic.DIMENSIONS
            for share in [pl.col(f"{name}_scale_up_share")]
        )
        for is_inside in (True, False)
    )
    told = sent.with_columns(
        activation_seconds=activation_seconds(plan), compute_seconds=compute_seconds(plan.steps)
    ).select(
        activation_bytes=pl.when("is_recomputed")
        .then(memory.activation_bytes(storage, "full"))
        .otherwise(memory.activation_bytes(storage)),
        in_flight=pl.col("pipeline_parallel") + bubble_slots(),
        scale_up_bytes=inside,
        scale_out_bytes=outside,
        micro_batch_seconds=micro_batch_seconds(plan.steps),
        bubble_slots=bubble_slots(),
        is_interleaved=pl.col("virtual_pipeline") > 1,
    )
    return Rows(**{name: told[name].to_numpy() for name in told.columns})


def _over_replicas(plan: Plan, groups: pl.DataFrame) -> dict[str, Any]:
    storage, width = plan.steps.storage, plan.steps.parameter_bytes
    one_each = (
        groups.with_columns(data_parallel=pl.int_ranges(1, pl.col("replicas") + 1))
        .explode("data_parallel", empty_as_null=True)
        .with_columns(accelerator_count=replica_accelerators() * pl.col("data_parallel"))
    )
    # one micro-batch of one sample a replica: nothing told here depends on it
    told = with_domain(with_model(one_each, plan), plan).select(
        state_bytes=memory.weight_bytes(storage) + memory.gradient_bytes(storage) + memory.optimizer_bytes(storage),
        data_scale_up_bytes=traffic.data_scale_up_bytes(plan.steps.widths.gradient)
        + traffic.data_scale_up_bytes(width),
        reduced_bytes=traffic.data_scale_out_bytes(plan.steps.widths.gradient),
        gathered_bytes=traffic.data_scale_out_bytes(width),
        possible=spreads_experts(),
    )
    return {name: told[name].to_numpy() for name in told.columns}


def _replica(row: dict[str, Any], told: dict[str, Any], part: slice) -> Replica:
    possible = told["possible"][part]
    return Replica(
        accelerators=row["tensor_parallel"] * row["context_parallel"] * row["pipeline_parallel"],
        pipeline_parallel=row["pipeline_parallel"],
        state_bytes=np.where(possible, told["state_bytes"][part], np.inf),
        data_scale_up_bytes=told["data_scale_up_bytes"][part],
        data_scale_out_bytes=told["reduced_bytes"][part] + told["gathered_bytes"][part],
        reduced_bytes=told["reduced_bytes"][part],
        gathered_bytes=told["gathered_bytes"][part],
        possible=possible,
    )


def _evaluation_seconds(plan: Plan, replicas: Integers) -> Floats:
    frame = pl.DataFrame({"data_parallel": replicas}).with_columns(
        eval_base_seconds=pl.lit(plan.work.eval_base_seconds),
        eval_per_replica_seconds=pl.lit(plan.work.eval_per_replica_seconds),
    )
    return frame.select(evaluation_seconds()).to_series().to_numpy()
