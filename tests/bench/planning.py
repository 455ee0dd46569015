"""Rate and peak memory of the planning search, in a process of its own: `python -m tests.bench.planning`.

Every candidate counted has had its memory verdict, its traffic on both tiers, its step time and its time to train
computed; nothing is left out by reasoning. The rate is over the whole search, the parts that many candidates share
included.
"""

from __future__ import annotations

import json

import polars as pl

from pipelines.modelling.planning import Machine, Plan, StepModel, Work
from pipelines.modelling.planning_layouts import layouts
from pipelines.modelling.planning_search import Found, search
from pipelines.modelling.workloads import WORKLOADS
from tests.bench.measuring import median_processor_seconds, peak_megabytes

BATCH_MOST = 1536
"""Of the largest run of the benchmark."""

LARGEST_CLUSTER = 100_000


def plan(benchmark: str = "llama31_405b") -> Plan:
    """Return a benchmark on racks of GB200 with the step of its published runs."""
    model = next(one for one in WORKLOADS if one.benchmark == benchmark)
    needs = pl.DataFrame({"global_batch_size": range(1, BATCH_MOST + 1)}).with_columns(
        converging_samples=pl.lit(327_360.0), evaluations=pl.lit(7.0)
    )
    return Plan(
        work=Work(model=model, needs=needs, eval_base_seconds=3.56, eval_per_replica_seconds=335.0, other_seconds=6.1),
        machine=Machine(
            memory_bytes=198_674_743_296,
            peak_teraflops=5000.0,
            domain_accelerators=64,
            scale_up_gigabytes_per_second=900.0,
            nic_gigabytes_per_second=50.0,
            active_per_rack=64,
        ),
        steps=StepModel(efficiency=0.3838, fixed_seconds=0.2712, hidden_share=0.0886, exposed_in_fit_seconds=0.055),
    )


def look() -> Found:
    """Search every layout, number of replicas and batch of the plan."""
    asked = plan()
    return search(asked, layouts(asked.work.model), LARGEST_CLUSTER)


def measure() -> dict[str, float]:
    """Measure the search over its whole space, and the memory of the process after it."""
    found = look()
    return {
        "candidates": found.candidates,
        "fitting": found.fitting,
        "layouts": found.layouts.height,
        "seconds": median_processor_seconds(look, runs=3),
        "megabytes": peak_megabytes(),
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
