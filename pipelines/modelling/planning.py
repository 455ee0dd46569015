"""What a training run would need on a machine, for every way to spread it: memory, traffic, step and time to train.

The step is that of `step_time`, t = a (m + (PP - 1) / VP) + b, with a told by an efficiency so that layouts differ by
what they send. `evaluate` is the model as plain expressions; `search` in `planning_search` runs it over whole spaces,
and tests hold the two against each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from pipelines.modelling import bandwidth, flops, memory, traffic
from pipelines.modelling.memory import LOW_PRECISION, Storage
from pipelines.modelling.parallelism import micro_batches, replica_accelerators
from pipelines.modelling.racks import racks_by_replica
from pipelines.modelling.step_time import pipeline_slots
from pipelines.modelling.time_to_train import train_seconds
from pipelines.modelling.traffic import ByteWidths
from pipelines.modelling.workloads import Workload, frame

NARROW_PRECISIONS = ("fp8", "fp4")
"""Precisions whose weights are kept and gathered, and whose tokens are dispatched, in 8 bits."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What work is spread over, one accelerator at a time."""

    memory_bytes: int
    peak_teraflops: float
    """Dense, at the precision."""
    domain_accelerators: int
    """Accelerators at work in a scale-up domain."""
    scale_up_gigabytes_per_second: float
    nic_gigabytes_per_second: float
    oversubscription: float = 1.0
    active_per_rack: int
    """Accelerators at work in a rack."""


@dataclass(frozen=True, kw_only=True)
class StepModel:
    """What runs tell of a step, for layouts that no run used as well."""

    efficiency: float
    """Work of a micro-batch over the dense peak of its replica (causal FLOPs)."""
    fixed_seconds: float = 0.0
    hidden_share: float = 0.0
    """Time on the wire of activations over that of the work, in the runs that tell the efficiency, which holds it."""
    exposed_in_fit_seconds: float = 0.0
    """Exposed data-parallel traffic in those runs by the window model, which `fixed_seconds` holds."""
    parameter_bytes: int = 1
    """Width of parameters when they are gathered."""

    @property
    def storage(self) -> Storage:
        """Return the bytes of each kind of number in memory."""
        return LOW_PRECISION if self.parameter_bytes == 1 else Storage()

    @property
    def widths(self) -> ByteWidths:
        """Return the bytes of each kind of number on the wire."""
        return ByteWidths(parameter=self.parameter_bytes, dispatch=self.parameter_bytes)


@dataclass(frozen=True, kw_only=True)
class Work:
    """What is trained, and how much of it each batch size takes."""

    model: Workload
    needs: pl.DataFrame
    """`global_batch_size, converging_samples, evaluations`: one row per batch size that may be chosen, ascending."""
    eval_base_seconds: float = 0.0
    eval_per_replica_seconds: float = 0.0
    other_seconds: float = 0.0

    @property
    def batch_least(self) -> int:
        """Return the smallest batch."""
        return int(self.needs["global_batch_size"][0])

    @property
    def batch_most(self) -> int:
        """Return the largest batch."""
        return int(self.needs["global_batch_size"][-1])


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One question to the model: this work, on this machine, at steps like these."""

    work: Work
    machine: Machine
    steps: StepModel
    only_micro_batches: int | None = None
    """Micro-batches of a step, where a step is known for this number alone."""


def evaluate(candidates: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Add everything that the model says of each candidate.

    Args:
        candidates: `tensor_parallel, context_parallel, pipeline_parallel, virtual_pipeline, expert_parallel,
            data_parallel, micro_batch, global_batch_size, is_recomputed`.
        plan: the work, the machine, the steps.

    Returns:
        The candidates and `accelerator_count, replica_accelerator_count, racks, micro_batches, needed_bytes, fits,
        can_be_scheduled`, the columns of `traffic`, `micro_batch_seconds, exposed_seconds, step_seconds` and
        `minutes`.

    Raises:
        WorldSizeError: expert parallelism does not divide a pipeline stage.
    """
    rows = with_model(candidates, plan).with_columns(
        accelerator_count=replica_accelerators() * pl.col("data_parallel"), micro_batches=micro_batches()
    )
    sent = traffic.traffic(with_domain(rows, plan), plan.steps.widths)
    timed = sent.with_columns(
        needed_bytes=needed_bytes(plan.steps),
        activation_seconds=activation_seconds(plan) / micro_batches(),
        compute_seconds=compute_seconds(plan.steps),
    ).with_columns(micro_batch_seconds=micro_batch_seconds(plan.steps))
    exposed = bandwidth.exposed_seconds(exposure(plan.machine), pl.lit(plan.machine.nic_gigabytes_per_second))
    stepped = (
        timed.with_columns(exposed_seconds=exposed)
        .with_columns(step_seconds=step_seconds(plan))
        .with_columns(
            fits=pl.col("needed_bytes") <= plan.machine.memory_bytes,
            can_be_scheduled=can_be_scheduled(),
            racks=racks_by_replica(pl.col("data_parallel")),
        )
        .join(plan.work.needs, on="global_batch_size", how="left", maintain_order="left")
    )
    return stepped.with_columns(
        eval_base_seconds=pl.lit(plan.work.eval_base_seconds),
        eval_per_replica_seconds=pl.lit(plan.work.eval_per_replica_seconds),
        other_seconds=pl.lit(plan.work.other_seconds),
    ).with_columns(minutes=minutes())


def with_model(layouts: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Add the columns of the model, and those of the machine that formulas name."""
    return layouts.join(frame([plan.work.model]), how="cross").with_columns(
        replica_accelerator_count=replica_accelerators(),
        peak_tflops=pl.lit(plan.machine.peak_teraflops),
        parameter_bytes=pl.lit(plan.steps.parameter_bytes),
        slots_per_rack=pl.lit(plan.machine.active_per_rack),
    )


def with_domain(rows: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Add the accelerators of one domain: fewer where a run has fewer."""
    return rows.with_columns(
        domain_accelerators=pl.min_horizontal(pl.lit(plan.machine.domain_accelerators), "accelerator_count")
    )


def needed_bytes(steps: StepModel) -> pl.Expr:
    """Return what a candidate needs of one accelerator's memory."""
    return (
        pl.when("is_recomputed")
        .then(memory.training_bytes(steps.storage, recompute="full"))
        .otherwise(memory.training_bytes(steps.storage))
    )


def compute_seconds(steps: StepModel) -> pl.Expr:
    """Return the time of one micro-batch at the efficiency; recomputed layers run forward once more."""
    return flops.micro_batch_seconds_at_peak() / steps.efficiency * work_done()


def work_done() -> pl.Expr:
    """Return the FLOPs done over those of the model: more where layers run forward twice."""
    more = flops.flops_per_token(is_recomputed=True) / flops.flops_per_token()
    return pl.when("is_recomputed").then(more).otherwise(1.0)


def activation_seconds(plan: Plan) -> pl.Expr:
    """Return the time on the wire of the activations of a step, one tier after the other.

    Needs the columns of `traffic`.
    """
    inside = sum(
        (pl.col(f"{name}_bytes") * pl.col(f"{name}_scale_up_share") for name in traffic.DIMENSIONS), pl.lit(0.0)
    )
    outside = sum(
        (pl.col(f"{name}_bytes") * (1 - pl.col(f"{name}_scale_up_share")) for name in traffic.DIMENSIONS), pl.lit(0.0)
    )
    machine = plan.machine
    return bandwidth.busy_seconds(inside, pl.lit(machine.scale_up_gigabytes_per_second)) + bandwidth.busy_seconds(
        outside, pl.lit(reached_gigabytes_per_second(machine))
    )


def micro_batch_seconds(steps: StepModel) -> pl.Expr:
    """Return a: the work, and of the activations' time on the wire what goes beyond the share that runs hid.

    A layout that sends less than they did gets no credit. Needs `compute_seconds`, `activation_seconds`, both of one
    micro-batch.
    """
    work = pl.col("compute_seconds")
    return work + (pl.col("activation_seconds") - steps.hidden_share * work).clip(lower_bound=0.0)


def step_seconds(plan: Plan) -> pl.Expr:
    """Return the time of a step: slots, the fixed part, exposure beyond that of the runs, and no less than any link.

    Needs the columns of `traffic`, `micro_batch_seconds` and `exposed_seconds`.
    """
    beyond = (pl.col("exposed_seconds") - plan.steps.exposed_in_fit_seconds).clip(lower_bound=0.0)
    modelled = pl.col("micro_batch_seconds") * pipeline_slots() + plan.steps.fixed_seconds + beyond
    machine = plan.machine
    return pl.max_horizontal(
        modelled,
        bandwidth.busy_seconds(pl.col("scale_up_bytes"), pl.lit(machine.scale_up_gigabytes_per_second)),
        bandwidth.busy_seconds(pl.col("scale_out_bytes"), pl.lit(reached_gigabytes_per_second(machine))),
    )


def can_be_scheduled() -> pl.Expr:
    """Return whether a schedule exists.

    Interleaved stages work on groups of at least PP micro-batches; a group may hold any number more (Narayanan et al.
    2021, section 2.2; Llama Team 2024, arXiv 2407.21783, section 3.3.2).
    """
    one_group = pl.col("pipeline_parallel") * pl.col("data_parallel") * pl.col("micro_batch")
    return (pl.col("virtual_pipeline") == 1) | (pl.col("global_batch_size") >= one_group)


def minutes() -> pl.Expr:
    """Return the time to train; needs what `evaluate` has added before."""
    steps = pl.col("converging_samples") / pl.col("global_batch_size")
    return train_seconds(steps, pl.col("step_seconds"), pl.col("evaluations")) / 60


def exposure(machine: Machine) -> bandwidth.Assumptions:
    """Return the central assumptions at the machine's oversubscription."""
    return bandwidth.Assumptions(exposed_share=0.01, oversubscription=machine.oversubscription)


def reached_gigabytes_per_second(machine: Machine) -> float:
    """Return what one accelerator gets between domains when all send at once."""
    return machine.nic_gigabytes_per_second / machine.oversubscription
