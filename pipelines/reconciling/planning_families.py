"""A family of runs as a plan's basis: its fit turned into a step model, and what its runs hid on the wire."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from pipelines.modelling import calibration, flops, intervals
from pipelines.modelling.calibration import PARAMETERS
from pipelines.modelling.planning import NARROW_PRECISIONS, Machine, Plan, StepModel, Work, evaluate, work_done
from pipelines.modelling.planning_layouts import PUBLISHED
from pipelines.modelling.time_to_train import evaluation_count, predict
from pipelines.modelling.workloads import WORKLOADS, Workload
from pipelines.reconciling.members import samples_per_unit
from pipelines.reconciling.planning_asks import Ask, PlanError
from pipelines.reconciling.planning_facts import Facts

LARGEST_BATCH = 131_072
"""Samples a step above which none is searched: several times what any benchmark's runs use."""

_OF_MACHINE = [
    "memory_bytes",
    "peak_tflops",
    "domain_accelerators",
    "scale_up_gigabytes_per_second",
    "nic_available_gigabytes_per_second",
]


@dataclass(frozen=True, kw_only=True)
class Family:
    """A fit, and the run of it that a plan is nearest to."""

    name: str
    members: pl.DataFrame
    fit: dict[str, Any]
    """Row of `calibration.fit`."""
    without_largest: dict[str, Any] | None
    """The same without the family's largest runs; None where the others do not tell a step."""
    member: dict[str, Any]
    """The run whose evaluations and round the plan takes over."""
    half_width_percent: float | None
    """Of a 95 % interval about official minutes, from members held out one at a time."""
    is_recomputed: bool = False
    """Whether its runs fit in memory, by formula, only where all layers run forward twice."""

    @property
    def layout(self) -> pl.DataFrame:
        """Return the layout that all members share, as one row of `planning_layouts.LAYOUT`."""
        row = {name: self.member[name] if self.member[name] is not None else 1 for name in PUBLISHED}
        return pl.DataFrame([row | {"is_recomputed": self.is_recomputed}])

    @property
    def only_micro_batches(self) -> int | None:
        """Return the micro-batches of a step where all members run as many; None where any number is predicted."""
        if self.fit["even_slots"] is None:
            return None
        return round(float(self.fit["even_slots"]) - self._bubble)

    @property
    def _bubble(self) -> float:
        return float((self.member["pipeline_parallel"] - 1) / (self.member["virtual_pipeline"] or 1))


def find_family(benchmark: str, accelerator: str, precision: str, minutes: float | None, facts: Facts) -> Family | None:
    """Return the family that tells a benchmark's time on a part at a precision, None where there is none.

    Families that tell a step for any number of micro-batches come before those that tell it for one, then newer
    software, then larger runs.
    """
    alike = facts.members.filter(benchmark=benchmark, accelerator=accelerator, precision=precision)
    has_step = pl.col("micro_batch_seconds").is_not_null() | pl.col("even_step_seconds").is_not_null()
    has_rest = pl.col("eval_base_seconds").is_not_null() & pl.col("other_seconds").is_not_null()
    told = (
        alike.group_by("family")
        .agg(pl.col("software_round").first())
        .join(facts.fits.filter(has_step & has_rest), on="family")
        .sort(
            pl.col("micro_batch_seconds").is_null(),
            "software_round",
            "accelerator_count_most",
            "family",
            descending=[False, True, True, False],
        )
    )
    if told.is_empty():
        return None
    return family_of(told["family"][0], minutes, facts)


def family_of(name: str, minutes: float | None, facts: Facts) -> Family:
    """Return a family by its name; `minutes` is the time that its run taken as nearest should be near to."""
    fit = facts.fits.row(by_predicate=pl.col("family") == name, named=True)
    members = facts.members.filter(family=name)
    family = Family(
        name=name,
        members=members,
        fit=fit,
        without_largest=_without_largest(members),
        member=_nearest_member(members, minutes),
        half_width_percent=_half_width_percent(members),
    )
    memory = StepModel(efficiency=1.0, parameter_bytes=parameter_bytes(family.member["precision"]))
    return replace(family, is_recomputed=_most(family, memory, ~pl.col("fits")) > 0)


def step_model(family: Family, fit: dict[str, Any], nic_gigabytes_per_second: float) -> StepModel:
    """Return the step model that gives a fit's step for the family's layout, and others by its efficiency.

    Args:
        family: the family.
        fit: its fit, or one to some of its runs.
        nic_gigabytes_per_second: of one accelerator, taken for runs whose description states none.
    """
    nic = pl.col("nic_available_gigabytes_per_second").fill_null(nic_gigabytes_per_second)
    family = replace(family, members=family.members.with_columns(nic))
    frame = _with_fit(family, fit)
    slots = fit["even_slots"]
    seconds = fit["even_step_seconds"] / slots if slots else fit["micro_batch_seconds"]
    done = frame.with_columns(is_recomputed=pl.lit(family.is_recomputed)).select(work_done()).item()
    efficiency = done * frame.select(flops.micro_batch_efficiency(pl.lit(seconds))).item()
    bare = StepModel(
        efficiency=efficiency,
        fixed_seconds=0.0 if slots else fit["fixed_seconds"],
        parameter_bytes=parameter_bytes(family.member["precision"]),
    )
    hiding = replace(bare, hidden_share=_most(family, bare, pl.col("activation_seconds") / pl.col("compute_seconds")))
    return replace(hiding, exposed_in_fit_seconds=_most(family, hiding, pl.col("exposed_seconds")))


def benchmark_work(ask: Ask, benchmark: str, member: dict[str, Any], rest: dict[str, Any], facts: Facts) -> Work:
    """Return a benchmark as work: for each batch that its round's results used, what the reference needs of samples.

    Args:
        ask: for its largest batch.
        benchmark: the benchmark.
        member: the run whose round, unit and evaluations are taken over.
        rest: `eval_base_seconds, eval_per_replica_seconds, other_seconds`.
        facts: for the round's results and reference.

    Raises:
        PlanError: the round has no reference, or the batch asked for is below any that results used.
    """
    of_round = facts.known.filter(round=member["round"], benchmark=benchmark)["global_batch_size"].drop_nulls()
    # The least and most of a column of whole numbers that is not empty; Polars types them as any value.
    least, most = int(of_round.min()), min(int(of_round.max()), LARGEST_BATCH)  # type: ignore[arg-type]
    if ask.batch_most is not None:
        if ask.batch_most < least:
            raise PlanError(
                "batch_most", f"batch: results of {member['round']} used {least} to {most}; give {least} or more"
            )
        most = min(most, ask.batch_most)
    sizes = pl.DataFrame({"global_batch_size": range(least, most + 1)}).with_columns(
        *(
            pl.lit(member[name]).alias(name)
            for name in (
                "round", "benchmark", "samples_unit", "sequence_length", "eval_count", "samples_to_converge",
                "first_eval_samples", "eval_interval_samples",
            )
        )
    )  # fmt: skip
    needs = (
        facts.expected_progress(sizes)
        .with_columns(converging_samples=pl.col("expected_samples") * samples_per_unit())
        .drop_nulls("converging_samples")
        .with_columns(evaluations=evaluation_count(pl.col("converging_samples")))
        .select("global_batch_size", "converging_samples", "evaluations")
    )
    if needs.is_empty():
        raise PlanError(
            "workload", f"workload {benchmark}: {member['round']} has no reference of the samples needed; plan a model"
        )
    return Work(
        model=workload(benchmark),
        needs=needs,
        eval_base_seconds=rest["eval_base_seconds"],
        eval_per_replica_seconds=rest["eval_per_replica_seconds"],
        other_seconds=rest["other_seconds"],
    )


def workload(benchmark: str) -> Workload:
    """Return the model of a benchmark.

    Raises:
        PlanError: none is known.
    """
    found = next((one for one in WORKLOADS if one.benchmark == benchmark), None)
    if found is None:
        names = ", ".join(one.benchmark for one in WORKLOADS)
        raise PlanError("workload", f"workload {benchmark!r} is no language-model benchmark here: name one of {names}")
    return found


def parameter_bytes(precision: str) -> int:
    """Return the width in which a precision gathers parameters."""
    return 1 if precision in NARROW_PRECISIONS else 2


def _with_fit(family: Family, fit: dict[str, Any]) -> pl.DataFrame:
    row = family.members.filter(result_id=family.member["result_id"])
    return row.with_columns(pl.lit(fit[name]).alias(name) for name in PARAMETERS)


def _most(family: Family, steps: StepModel, figure: pl.Expr) -> float:
    """Return the largest that a figure of `planning.evaluate` is in the members' runs, on the machines they had."""
    known = family.members.drop_nulls([*_OF_MACHINE, "data_parallel", "global_batch_size"])
    told = [0.0]
    for alike in known.partition_by(_OF_MACHINE, maintain_order=True):
        row = alike.row(0, named=True)
        machine = Machine(
            memory_bytes=row["memory_bytes"],
            peak_teraflops=row["peak_tflops"],
            domain_accelerators=row["domain_accelerators"],
            scale_up_gigabytes_per_second=row["scale_up_gigabytes_per_second"],
            nic_gigabytes_per_second=row["nic_available_gigabytes_per_second"],
            active_per_rack=row["domain_accelerators"],
        )
        sizes = alike.select("data_parallel", "global_batch_size")
        needs = sizes.select("global_batch_size", converging_samples=pl.lit(1.0), evaluations=pl.lit(0.0)).unique()
        plan = Plan(work=Work(model=workload(row["benchmark"]), needs=needs), machine=machine, steps=steps)
        runs = evaluate(family.layout.join(sizes, how="cross"), plan)
        told.append(float(runs.select(figure.cast(pl.Float64).max()).item()))
    return max(told)


def _without_largest(members: pl.DataFrame) -> dict[str, Any] | None:
    others = members.filter(pl.col("accelerator_count") < pl.col("accelerator_count").max())
    if others.is_empty():
        return None
    fit = calibration.fit(others.lazy()).collect().row(0, named=True)
    has_step = fit["micro_batch_seconds"] is not None or fit["even_step_seconds"] is not None
    return fit if has_step and fit["eval_base_seconds"] is not None and fit["other_seconds"] is not None else None


def _nearest_member(members: pl.DataFrame, minutes: float | None) -> dict[str, Any]:
    """Return the member nearest to a time, or the largest; where any logged its evaluations, one of those."""
    distance = (pl.col("score_minutes") / minutes).log().abs() if minutes else -pl.col("accelerator_count")
    return members.sort(pl.col("first_eval_samples").is_null(), distance, "result_id").row(0, named=True)


def _half_width_percent(members: pl.DataFrame) -> float | None:
    held_out = calibration.hold_out_each(members.lazy()).collect()
    told = predict(members.join(held_out, on=["family", "member"]))
    error = calibration.percent_error(pl.col("predicted_minutes"), pl.col("score_minutes"))
    return told.select(intervals.half_width_percent(error)).item()  # type: ignore[no-any-return]
