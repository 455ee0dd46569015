"""Switches, links and hops of a non-blocking or over-subscribed fat tree of two or three tiers.

Sizing rules and limits belong here; which switch a product uses is a fact, and what a smaller fabric costs a run is
in `bandwidth`. The rules reproduce the tables of NVIDIA's DGX SuperPOD reference architectures.
"""

from __future__ import annotations

import polars as pl

ENDPOINTS, RADIX, PLANES = pl.col("endpoints"), pl.col("radix"), pl.col("planes")


def largest_fabric(tiers: int) -> pl.Expr:
    """Return the endpoints that a non-blocking tree of switches of `radix` ports can join.

    One switch joins k, two tiers k^2/2, three k^3/4.

    Args:
        tiers: 1, 2 or 3.

    Raises:
        ValueError: another number of tiers.
    """
    formulas = {1: RADIX, 2: RADIX**2 // 2, 3: RADIX**3 // 4}
    if tiers not in formulas:
        raise ValueError(f"a fabric has 1, 2 or 3 tiers, not {tiers}")
    return formulas[tiers]


def down_ports(oversubscription: pl.Expr | float = 1.0) -> pl.Expr:
    """Return a leaf's ports towards endpoints.

    Floor(k o / (1 + o)), half of them where nothing is over-subscribed.
    """
    ratio = oversubscription if isinstance(oversubscription, pl.Expr) else pl.lit(float(oversubscription))
    return (RADIX * ratio / (1 + ratio) + 1e-9).floor().cast(pl.Int64)


def size_fabrics(fabrics: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    """Return the switches and links of each fabric.

    A leaf spreads its uplinks evenly, so the spines of a two-tier tree are the least divisor of a leaf's uplinks that
    gives ports enough. A tree whose leaves outnumber a switch's ports has a third tier: spines take the uplinks of the
    leaves with half their ports, so where nothing is over-subscribed there are as many as leaves, and pass all on.

    Args:
        fabrics: `endpoints` (ports of one plane to attach), `radix` (ports of a switch at the rate of an endpoint),
            and optionally `planes` (parallel networks, 1), `rails` (leaves come in multiples of it, 1),
            `oversubscription` (1).

    Returns:
        The columns given and `down_ports, up_ports, leaf_switches, spine_switches, core_switches, leaf_spine_links,
        spine_core_links` over all planes, `tiers`, `largest_endpoints` of that many tiers and `fits`. Links are
        logical: a twin-port cable carries one link of each of two planes. Counts are null where the endpoints exceed
        three tiers.
    """
    frame = fabrics.lazy()
    given = frame.collect_schema().names()
    defaults = {"planes": 1, "rails": 1, "oversubscription": 1.0}
    frame = frame.with_columns(pl.lit(value).alias(name) for name, value in defaults.items() if name not in given)
    sized = frame.with_row_index("_row").with_columns(down_ports=down_ports(pl.col("oversubscription")))
    sized = sized.with_columns(up_ports=RADIX - pl.col("down_ports"))
    sized = sized.with_columns(_leaf=_multiple(_ceiling(ENDPOINTS, pl.col("down_ports")), pl.col("rails")))
    sized = sized.with_columns(tiers=_tiers())
    sized = sized.join(_even_spines(sized), on="_row", how="left")
    leaf, up, tiers = pl.col("_leaf"), pl.col("up_ports"), pl.col("tiers")
    uplinks = pl.when(tiers >= 2).then(leaf * up).otherwise(0)
    spine = pl.when(tiers == 2).then("_spine").when(tiers == 3).then(_ceiling(uplinks, RADIX // 2)).otherwise(0)
    core = pl.when(tiers == 3).then(_ceiling(uplinks, RADIX)).otherwise(0)
    per_plane = {
        "leaf_switches": leaf,
        "spine_switches": spine,
        "core_switches": core,
        "leaf_spine_links": uplinks,
        "spine_core_links": pl.when(tiers == 3).then(uplinks).otherwise(0),
    }
    fits = leaf <= RADIX**2 // 2
    return (
        sized.with_columns(
            largest_endpoints=pl.when(tiers == 2)
            .then(largest_fabric(2))
            .when(tiers == 3)
            .then(largest_fabric(3))
            .otherwise(RADIX),
            fits=fits,
            **{name: pl.when(fits).then(count * PLANES).cast(pl.Int64) for name, count in per_plane.items()},
        )
        .sort("_row")
        .drop("_row", "_leaf", "_spine")
        .collect()
    )


def nodes_per_rail_group() -> pl.Expr:
    """Return the nodes or trays whose same-numbered NICs share one leaf.

    One NIC per rail and node, so the down ports.
    """
    return pl.col("down_ports")


def racks_per_leaf(trays_per_rack: pl.Expr | int) -> pl.Expr:
    """Return the racks that share the leaves of their rails: 72 down ports hold 4 racks of 18 trays."""
    return pl.col("down_ports") // trays_per_rack


def switch_hops(*, crosses_rail_group: bool) -> pl.Expr:
    """Return the switches that a message passes on its rail: 1 in a rail group, 3 across, 5 with a core."""
    if not crosses_rail_group:
        return pl.lit(1, pl.Int64)
    return (2 * pl.col("tiers") - 1).cast(pl.Int64)


def _tiers() -> pl.Expr:
    leaf = pl.col("_leaf")
    is_one = (leaf <= 1) & (pl.col("rails") == 1)
    return pl.when(is_one).then(1).when(leaf <= RADIX).then(2).otherwise(3)


def _even_spines(sized: pl.LazyFrame) -> pl.LazyFrame:
    """Return, for two tiers, the least divisor of a leaf's uplinks that is enough spines."""
    two = sized.filter(pl.col("tiers") == 2).select(
        "_row", "up_ports", need=_ceiling(pl.col("_leaf") * pl.col("up_ports"), RADIX)
    )
    tried = two.with_columns(_spine=pl.int_ranges(1, pl.col("up_ports") + 1)).explode("_spine", empty_as_null=True)
    enough = tried.filter((pl.col("up_ports") % pl.col("_spine") == 0) & (pl.col("_spine") >= pl.col("need")))
    return enough.group_by("_row").agg(pl.col("_spine").min())


def _ceiling(count: pl.Expr, size: pl.Expr) -> pl.Expr:
    return (count + size - 1) // size


def _multiple(count: pl.Expr, of: pl.Expr) -> pl.Expr:
    return _ceiling(count, of) * of
