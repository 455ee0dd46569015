"""Published fabrics against the sizing rules, and what the systems here would take: `mart.fabrics`."""

from __future__ import annotations

from functools import cache
from importlib import resources

import polars as pl

from pipelines.modelling.fabric import nodes_per_rail_group, racks_per_leaf, size_fabrics, switch_hops
from pipelines.reconciling.members import SYSTEM_KEYS
from pipelines.schemas.networks_mart import Fabrics

RADIX_BY_GIGABITS = ((800.0, 144), (0.0, 64))
"""Ports of the switch taken for a NIC of at least so many Gb/s: Quantum-X800 Q3400 at 800, Quantum-2 QM9700 at 400."""

LEAST_GIGABITS = 100.0
"""NIC rate below which a description states no network for training between nodes."""

_PRINTED = {
    "leaf_switches": "printed_leaf_switches",
    "spine_switches": "printed_spine_switches",
    "core_switches": "printed_core_switches",
    "host_cables": "printed_host_cables",
    "leaf_spine_cables": "printed_leaf_spine_cables",
    "spine_core_cables": "printed_spine_core_cables",
}


def fabrics(connectivity: pl.DataFrame, systems: pl.DataFrame) -> pl.DataFrame:
    """Return `mart.fabrics`.

    Args:
        connectivity: `mart.connectivity`.
        systems: `core.systems`.
    """
    told = pl.concat([_published(), _of_systems(connectivity, systems)], how="diagonal_relaxed")
    sized = (
        size_fabrics(told)
        .with_columns(
            host_cables="endpoints",
            leaf_spine_cables=pl.col("leaf_spine_links") // pl.col("planes"),
            spine_core_cables=pl.col("spine_core_links") // pl.col("planes"),
            nodes_per_rail_group=nodes_per_rail_group(),
            racks_per_rail_group=racks_per_leaf(pl.col("nodes_per_rack")),
            hops_in_rail_group=switch_hops(crosses_rail_group=False),
            hops_across=switch_hops(crosses_rail_group=True),
        )
        .with_columns(verdict=_verdict())
        .with_columns(explanation=_explanation())
    )
    return Fabrics.cast(sized.select(Fabrics.column_names()).sort("fabric"))


@cache
def published_fabrics() -> pl.DataFrame:
    """Return the designs as printed, one row each, with the source of each."""
    text = resources.files("pipelines.reconciling").joinpath("published_fabrics.csv").read_bytes()
    return pl.read_csv(text, comment_prefix="#")


def _published() -> pl.DataFrame:
    printed = published_fabrics()
    return printed.with_columns(
        kind=pl.lit("published"),
        accelerators=pl.col("nodes") * pl.col("accelerators_per_node"),
        node_count="nodes",
        endpoints=pl.col("nodes") * pl.col("accelerators_per_node") + pl.col("other_endpoints"),
        printed_leaf_switches="printed_leaf",
        printed_spine_switches="printed_spine",
        printed_core_switches="printed_core",
        oversubscription=pl.lit(1.0),
        nodes_per_rack=pl.lit(None, dtype=pl.Int64),
    )


def _of_systems(connectivity: pl.DataFrame, systems: pl.DataFrame) -> pl.DataFrame:
    """Return the systems of several domains whose NICs are stated, each port an endpoint."""
    ports, rate = pl.col("nic_count_per_node"), pl.col("nic_gigabits_per_second")
    radix: pl.Expr = pl.lit(RADIX_BY_GIGABITS[-1][1])
    for least, size in reversed(RADIX_BY_GIGABITS[:-1]):
        radix = pl.when(rate >= least).then(pl.lit(size)).otherwise(radix)
    chosen = connectivity.select(*SYSTEM_KEYS, "domain_count", "node_count").join(
        systems.select(
            *SYSTEM_KEYS, "accelerator_count", "slots_per_rack", "accelerators_per_node",
            "nic_count_per_node", "nic_gigabits_per_second",
        ),
        on=SYSTEM_KEYS,
    )  # fmt: skip
    is_known = (pl.col("domain_count") > 1) & (pl.col("node_count") > 0) & (rate >= LEAST_GIGABITS) & (ports > 0)
    return chosen.filter(is_known).select(
        fabric=pl.concat_str(SYSTEM_KEYS, separator="/"),
        kind=pl.lit("system"),
        source=pl.format("assumed from NICs of {} Gb/s", rate.round().cast(pl.Int64)),
        accelerators="accelerator_count",
        node_count="node_count",
        endpoints=pl.col("node_count") * ports,
        radix=radix.cast(pl.Int64),
        planes=pl.lit(1, pl.Int64),
        rails=ports,
        oversubscription=pl.lit(1.0),
        nodes_per_rack=pl.when(pl.col("accelerators_per_node") > 0).then(
            pl.col("slots_per_rack") // pl.col("accelerators_per_node")
        ),
    )


def _verdict() -> pl.Expr:
    is_printed = pl.col("kind") == "published"
    same = pl.all_horizontal((pl.col(name) == pl.col(printed)) for name, printed in _PRINTED.items())
    contradicts_itself = pl.col("printed_accelerators") != pl.col("accelerators")
    return pl.when(is_printed).then(
        pl.when(contradicts_itself)
        .then(pl.lit("contradicts_itself"))
        .when(same)
        .then(pl.lit("agrees"))
        .otherwise(pl.lit("differs"))
    )


def _explanation() -> pl.Expr:
    counts = pl.format(
        "{} endpoints on switches of {} ports take {} leaves, {} spines and {} cores.",
        "endpoints",
        "radix",
        "leaf_switches",
        "spine_switches",
        "core_switches",
    )
    itself = pl.format(
        " The table prints {} accelerators beside {} nodes of {} and {} cables.",
        "printed_accelerators",
        "node_count",
        pl.col("accelerators") // pl.col("node_count"),
        "printed_host_cables",
    )
    differs = pl.format(
        " Printed are {} leaves, {} spines and {} cores.",
        "printed_leaf_switches",
        "printed_spine_switches",
        "printed_core_switches",
    )
    beyond = pl.format("{} endpoints are more than three tiers of such switches can join.", "endpoints")
    more = (
        pl.when(pl.col("verdict") == "contradicts_itself")
        .then(itself)
        .when(pl.col("verdict") == "differs")
        .then(differs)
        .otherwise(pl.lit(""))
    )
    return pl.coalesce(counts, beyond) + more
