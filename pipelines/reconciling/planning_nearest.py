"""The measured run that is most like a plan, and how far the plan is from it."""

from __future__ import annotations

from typing import Any

import polars as pl

from pipelines.modelling import flops
from pipelines.modelling.planning import Plan
from pipelines.modelling.workloads import frame
from pipelines.reconciling.planning_answers import Nearest
from pipelines.reconciling.planning_asks import Ask
from pipelines.reconciling.planning_facts import Facts
from pipelines.reconciling.planning_platforms import Platform


def nearest(ask: Ask, platform: Platform, plan: Plan, row: dict[str, Any], facts: Facts) -> Nearest | None:
    """Return the run of the same work, else of a model of like size; on the same part, at the same precision, as large.

    What is the same counts in this order, then the ratio of sizes. None where no run is known.
    """
    size = frame([plan.work.model]).select(flops.active_parameters()).item()
    ranked = facts.members.filter(pl.col("score_minutes").is_not_null()).with_columns(
        is_same_workload=pl.col("benchmark") == pl.lit(ask.workload).fill_null(""),
        is_same_accelerator=pl.col("accelerator") == platform.accelerator,
        is_same_precision=pl.col("precision") == platform.precision,
        is_same_layout=pl.col("layout") == row["layout"],
        parameters_apart=(flops.active_parameters() / size).log().abs(),
        size_ratio=row["accelerator_count"] / pl.col("accelerator_count"),
    )
    same = ("is_same_workload", "is_same_accelerator", "is_same_precision")
    apart = [pl.col("parameters_apart"), pl.col("size_ratio").log().abs(), pl.col("result_id")]
    if ranked.is_empty():
        return None
    run = ranked.sort(*(~pl.col(name) for name in same), *apart).row(0, named=True)
    return Nearest(
        result_id=run["result_id"],
        accelerator=run["accelerator"],
        accelerators=run["accelerator_count"],
        precision=run["precision"],
        score_minutes=run["score_minutes"],
        size_ratio=run["size_ratio"],
        is_same_workload=run["is_same_workload"],
        is_same_accelerator=run["is_same_accelerator"],
        is_same_precision=run["is_same_precision"],
        is_same_layout=run["is_same_layout"],
        sentence=_sentence(run, row),
    )


def _sentence(run: dict[str, Any], row: dict[str, Any]) -> str:
    differences = [
        name
        for name, is_same in (
            (f"another workload ({run['benchmark']})", run["is_same_workload"]),
            (f"another part ({run['accelerator']})", run["is_same_accelerator"]),
            (f"another precision ({run['precision']})", run["is_same_precision"]),
            (f"another layout ({run['layout']})", run["is_same_layout"]),
        )
        if not is_same
    ]
    apart = "; ".join(differences) or "the same workload, part, precision and layout"
    return (
        f"{run['result_id']}: {run['accelerator_count']:,} accelerators, {run['score_minutes']:.2f} min measured. "
        f"The plan's {row['accelerator_count']:,} are {run['size_ratio']:.2f} times as many; {apart}."
    )
