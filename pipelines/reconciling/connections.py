"""How each system's accelerators are connected, and which dimensions of its run cross: `mart.connectivity`."""

from __future__ import annotations

import polars as pl

from pipelines.modelling import connectivity, flops, traffic
from pipelines.reconciling.members import SYSTEM_KEYS
from pipelines.schemas.networks_mart import Connectivity

_RUN = ["result_id", "layout", "data_parallel"]
_DIMENSIONS = (*traffic.DIMENSIONS, "data")
_INSIDE = [f"is_{name}_inside" for name in _DIMENSIONS]


def connections(systems: pl.DataFrame, accelerators: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Return `mart.connectivity`, one row for each system that has accelerators.

    Args:
        systems: `core.systems`.
        accelerators: `mart.accelerators`.
        known: `members.language_model_results`.
    """
    parts = accelerators.select(
        "accelerator",
        part_domain_accelerators="scale_up_domain_accelerators",
        scale_up_gigabytes_per_second="scale_up_gigabytes_per_second_per_direction",
    )
    told = (
        systems.filter(pl.col("accelerator_count") > 0)
        .select(
            *SYSTEM_KEYS,
            "accelerator",
            "accelerator_count",
            "accelerators_per_node",
            "slots_per_rack",
            "racks_stated",
            "rack_product",
            node_count="number_of_nodes",
            nic_gigabytes_per_second="nic_gigabytes_per_second_per_accelerator",
        )
        .join(parts, on="accelerator", how="left")
        .with_columns(
            domain_accelerators=connectivity.domain_accelerators(),
            active_per_domain=connectivity.active_accelerators(),
            domain_count=connectivity.domain_count(),
            domain_basis=connectivity.domain_basis(),
            cliff_ratio=connectivity.cliff_ratio(),
        )
        .with_columns(nodes_per_domain=pl.col("node_count") / pl.col("domain_count"))
        .join(_largest_runs(known), on=SYSTEM_KEYS, how="left")
        .with_columns(rule_verdict=_rule_verdict())
        .with_columns(explanation=_explanation())
    )
    return Connectivity.cast(told.select(Connectivity.column_names()).sort(SYSTEM_KEYS))


def _largest_runs(known: pl.DataFrame) -> pl.DataFrame:
    """Return, of each system, the run of its largest language model whose parallelism is known."""
    told = known.filter(pl.col("layout").is_not_null() & pl.col("domain_accelerators").is_not_null())
    inside = {f"is_{name}_inside": traffic.is_inside(name) for name in _DIMENSIONS}
    return (
        told.with_columns(parameters=flops.total_parameters(), **inside)
        .with_columns(
            pl.when(pl.col(f"{name}_parallel").fill_null(1) > 1).then(f"is_{name}_inside").alias(f"is_{name}_inside")
            for name in _DIMENSIONS
        )
        .sort(*SYSTEM_KEYS, "parameters", "result_id", descending=[False, False, False, True, False])
        .unique(SYSTEM_KEYS, keep="first", maintain_order=True)
        .select(*SYSTEM_KEYS, *_RUN, *_INSIDE)
    )


def _rule_verdict() -> pl.Expr:
    crosses = ~pl.col("is_tensor_inside").fill_null(value=True) | ~pl.col("is_expert_inside").fill_null(value=True)
    is_whole = pl.all_horizontal(pl.col(name).fill_null(value=True) for name in _INSIDE)
    return (
        pl.when(pl.col("layout").is_null())
        .then(None)
        .when(crosses)
        .then(pl.lit("broken"))
        .when(is_whole)
        .then(pl.lit("one_domain"))
        .when(pl.col("is_pipeline_inside").fill_null(value=False))
        .then(pl.lit("pipeline_inside"))
        .otherwise(pl.lit("holds"))
    )


def _explanation() -> pl.Expr:
    count, domain, active = pl.col("accelerator_count"), pl.col("domain_accelerators"), pl.col("active_per_domain")
    used = pl.when(active < domain).then(pl.format(", {} of them at work,", active)).otherwise(pl.lit(""))
    nodes = pl.col("nodes_per_domain")
    of_nodes = (
        pl.when(nodes == 1)
        .then(pl.lit(" of one operating-system node each"))
        .when(nodes > 1)
        .then(pl.format(" of {} operating-system nodes each", _plain(nodes)))
        .otherwise(pl.lit(""))
    )
    domains = pl.when(pl.col("domain_count") == 1).then(
        pl.format("One scale-up domain of {}{}", domain, of_nodes)
    ).otherwise(
        pl.format("{} accelerators in {} scale-up domains of {}{}{}", count, "domain_count", domain, used, of_nodes)
    )  # fmt: skip
    cliff = pl.format(
        "; {} GB/s inside against {} outside, a cliff of {}x",
        _plain(pl.col("scale_up_gigabytes_per_second")),
        _plain(pl.col("nic_gigabytes_per_second")),
        _plain(pl.col("cliff_ratio")),
    ).fill_null("")
    unknown = pl.lit("Neither the part nor the description tells the scale-up domain.")
    first = pl.when(domain.is_null()).then(unknown).otherwise(domains + cliff + ".")
    lists = [
        pl.concat_list(
            pl.when(pl.col(f"is_{name}_inside") == is_inside).then(pl.lit(name)) for name in _DIMENSIONS
        ).list.drop_nulls().list.join(", ").replace("", "nothing")
        for is_inside in (True, False)
    ]  # fmt: skip
    run = pl.format("Its run {} keeps {} inside and sends {} across.", "layout", *lists)
    return pl.concat_str(first, run, separator=" ", ignore_nulls=True)


def _plain(number: pl.Expr) -> pl.Expr:
    """Return a number as text, whole ones without a fraction."""
    whole = number.round().cast(pl.Int64).cast(pl.String)
    return pl.when(number == number.round()).then(whole).otherwise(number.round(1).cast(pl.String))
