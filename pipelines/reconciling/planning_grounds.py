"""What a plan stands on: runs of the same work on the same part, else runs of others, and how far off those may be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from pipelines.modelling import flops
from pipelines.modelling.planning import Plan, StepModel, Work, with_model, work_done
from pipelines.modelling.sums import ordered_mean
from pipelines.modelling.workloads import Workload, frame
from pipelines.reconciling.planning_answers import Basis
from pipelines.reconciling.planning_asks import Ask, PlanError
from pipelines.reconciling.planning_efficiency import Efficiency, efficiency_points, estimate
from pipelines.reconciling.planning_facts import Facts
from pipelines.reconciling.planning_families import (
    Family,
    benchmark_work,
    family_of,
    find_family,
    parameter_bytes,
    step_model,
    workload,
)
from pipelines.reconciling.planning_platforms import Platform
from pipelines.reconciling.planning_solving import layouts_on

TOKENS_PER_BATCH = 16_777_216
"""Of the largest published dense run (Llama Team 2024, arXiv 2407.21783, table 4), where a plan is given no other."""

MOST_TOKENS_PER_BATCH = 4 * TOKENS_PER_BATCH
"""Beyond which a batch is refused."""


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """The model of a plan, the layouts that it may choose from, and the same model at its bounds."""

    plan: Plan
    layouts: pl.DataFrame
    basis: Basis
    family: Family | None
    low: Plan | None
    """At the least efficiency; None where the fit's own error tells the range."""
    high: Plan | None
    held_out: Plan | None
    """Of a family, without its largest runs."""
    extrapolations: tuple[str, ...]
    batch_basis: str
    newest_round: str
    """Of the runs that it rests on."""


def grounds(ask: Ask, platform: Platform, minutes: float | None, facts: Facts) -> Grounds:
    """Return what an ask is answered from.

    Args:
        ask: the ask.
        platform: as resolved.
        minutes: the time to train in, interruptions left out; None where a size is asked with.
        facts: everything known.

    Raises:
        PlanError: nothing supports an answer.
    """
    if ask.workload is None:
        return _by_points(ask, platform, _model(ask), _training_work(ask), facts)
    workload(ask.workload)
    family = find_family(ask.workload, platform.accelerator, platform.precision, minutes, facts)
    if family is not None:
        return _by_family(ask, ask.workload, platform, family, facts)
    member, rest = _any_member(ask.workload, facts)
    work = benchmark_work(ask, ask.workload, member, rest, facts)
    told = _by_points(ask, platform, workload(ask.workload), work, facts)
    return replace(told, batch_basis=f"what results of {member['round']} used")


def _by_family(ask: Ask, benchmark: str, platform: Platform, family: Family, facts: Facts) -> Grounds:
    plan = _family_plan(ask, benchmark, platform, family, family.fit, facts)
    without = family.without_largest
    held_out = _family_plan(ask, benchmark, platform, family, without, facts) if without is not None else None
    fit = family.fit
    error = fit["leave_one_out_mape_percent"]
    efficiency = plan.steps.efficiency / _work_done(plan, family)
    told = (
        f"with each run held out the step is missed by {error:.2f} % on average, "
        f"{fit['leave_one_out_worst_percent']:.2f} % at worst"
        if error is not None
        else "too few runs to hold one out, so its error is not known"
    )
    basis = Basis(
        kind="calibrated",
        family=family.name,
        micro_batch_seconds=fit["micro_batch_seconds"],
        fixed_seconds=plan.steps.fixed_seconds,
        efficiency=efficiency,
        efficiency_low=efficiency,
        efficiency_high=efficiency,
        error_percent=error,
        worst_error_percent=fit["leave_one_out_worst_percent"],
        error_reason=None if error is not None else "too few runs to hold one out",
        sentence=f"The fit of {fit['n']} runs of {family.name}, {fit['accelerator_count_least']:,} to "
        f"{fit['accelerator_count_most']:,} accelerators: {told}.",
    )
    return Grounds(
        plan=plan,
        layouts=family.layout,
        basis=basis,
        family=family,
        low=None,
        high=None,
        held_out=held_out,
        extrapolations=() if error is not None else ("the family's runs are too few for an estimate of its error",),
        batch_basis="as asked" if ask.batch_most is not None else f"what results of {family.member['round']} used",
        newest_round=str(family.members["round"].max()),
    )


def _work_done(plan: Plan, family: Family) -> float:
    """Return the FLOPs done over those of the model in the family's runs."""
    return float(with_model(family.layout, plan).select(work_done()).item())


def _family_plan(
    ask: Ask, benchmark: str, platform: Platform, family: Family, fit: dict[str, Any], facts: Facts
) -> Plan:
    return Plan(
        work=benchmark_work(ask, benchmark, family.member, fit, facts),
        machine=platform.machine,
        steps=step_model(family, fit, platform.machine.nic_gigabytes_per_second),
        only_micro_batches=family.only_micro_batches,
    )


def _by_points(ask: Ask, platform: Platform, model: Workload, work: Work, facts: Facts) -> Grounds:
    told = estimate(model, platform.accelerator, platform.precision, facts)
    fixed = _fixed(model, platform, facts)
    # runs that tell whole steps hold a fixed part already, of unknown size: at best none comes on top of them
    least = replace(fixed, fixed_seconds=0.0) if told.holds_fixed else fixed
    middle, low, high = (
        Plan(
            work=work,
            machine=platform.machine,
            steps=replace(steps, efficiency=efficiency, parameter_bytes=parameter_bytes(platform.precision)),
        )
        for efficiency, steps in ((told.middle, fixed), (told.low, fixed), (told.high, least))
    )
    return Grounds(
        plan=middle,
        layouts=layouts_on(middle),
        basis=_points_basis(told, fixed),
        family=None,
        low=low,
        high=high,
        held_out=None,
        extrapolations=(*_of_other_work(ask, model, told, facts), *told.extrapolations),
        batch_basis="as asked"
        if ask.batch_most is not None
        else "16.8 million tokens, as the largest published dense run",
        newest_round=str(facts.members["round"].max()),
    )


def _points_basis(told: Efficiency, fixed: StepModel) -> Basis:
    return Basis(
        kind="points",
        family=None,
        micro_batch_seconds=None,
        fixed_seconds=fixed.fixed_seconds,
        efficiency=told.middle,
        efficiency_low=told.low,
        efficiency_high=told.high,
        error_percent=None,
        worst_error_percent=None,
        error_reason="too few runs of this work on this part at this precision to hold one out"
        if told.is_of_same_work
        else "no run of this work on this part at this precision, so nothing to hold out",
        sentence=told.sentence,
    )


def _of_other_work(ask: Ask, model: Workload, told: Efficiency, facts: Facts) -> tuple[str, ...]:
    """Say that other work tells the efficiency, where it does."""
    if told.is_of_same_work:
        return ()
    alike = efficiency_points(facts).filter(pl.col("is_mixture") == (model.moe_layers > 0))
    names = alike["benchmark"].unique().sort().to_list()
    if ask.workload is not None:
        return (f"no run here is of {ask.workload} on this part at this precision",)
    return (f"{model.model} is no benchmark here: runs of {', '.join(names)} tell its efficiency",)


def _fixed(model: Workload, platform: Platform, facts: Facts) -> StepModel:
    """Return the fixed part and what is hidden on the wire, from the family most like the plan that tells them.

    Like in what is trained, adapters or all; then in size, part and precision.
    """
    size = frame([model]).select(flops.active_parameters()).item()
    is_adapter = model.adapter_rank > 0
    told = (
        facts.members.unique("family")
        .join(facts.fits.drop_nulls("micro_batch_seconds").select("family", "n"), on="family")
        .sort(
            (pl.col("adapter_rank") > 0) != is_adapter,
            (flops.active_parameters() / size).log().abs().round(6),
            pl.col("accelerator") != platform.accelerator,
            pl.col("precision") != platform.precision,
            -pl.col("n"),
            "family",
        )
    )
    if told.is_empty():
        return StepModel(efficiency=1.0)
    family = family_of(told["family"][0], None, facts)
    return step_model(family, family.fit, platform.machine.nic_gigabytes_per_second)


def _any_member(benchmark: str, facts: Facts) -> tuple[dict[str, Any], dict[str, float]]:
    """Return a run of the newest round of a benchmark, and what evaluations and the rest take on average."""
    members = facts.members.filter(benchmark=benchmark)
    rest = facts.fits.join(members.select("family").unique(), on="family").select(
        ordered_mean(pl.col(name)) for name in ("eval_base_seconds", "eval_per_replica_seconds", "other_seconds")
    )
    if members.is_empty() or None in rest.row(0):
        raise PlanError(
            "workload", f"workload {benchmark}: no run of it is in the tables; refresh with a round that has one"
        )
    newest = members.sort(
        pl.col("first_eval_samples").is_null(),
        "round",
        "accelerator_count",
        "result_id",
        descending=[False, True, True, False],
    )
    return newest.row(0, named=True), rest.row(0, named=True)


def _model(ask: Ask) -> Workload:
    if ask.model is None:
        raise PlanError("workload", "work: name a benchmark, or give a model's config.json")
    return ask.model


def _training_work(ask: Ask) -> Work:
    """Return a model and its tokens as work: every batch needs the same samples, and nothing is evaluated."""
    model = _model(ask)
    samples = ask.samples if ask.samples is not None else (ask.tokens or 0.0) / model.sequence_length
    usual, largest = (max(1, tokens // model.sequence_length) for tokens in (TOKENS_PER_BATCH, MOST_TOKENS_PER_BATCH))
    most = ask.batch_most or usual
    if most > largest:
        raise PlanError(
            "batch_most",
            f"batch: no published run learns from as many as {MOST_TOKENS_PER_BATCH / 1e6:.0f} million tokens a step; "
            f"give at most {largest:,} samples of {model.sequence_length:,} tokens",
        )
    needs = pl.DataFrame({"global_batch_size": range(1, most + 1)}).with_columns(
        converging_samples=pl.lit(float(samples)), evaluations=pl.lit(0.0)
    )
    return Work(model=model, needs=needs)
