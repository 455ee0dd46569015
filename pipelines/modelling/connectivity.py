"""How accelerators are connected: the scale-up domain, its size and number, and the cliff at its edge.

Which parallel dimensions of a run stay inside a domain is told by `traffic.is_inside`.
"""

from __future__ import annotations

import polars as pl

LARGEST_NODE = 16
"""Accelerators beyond which a part's scale-up domain spans several operating-system nodes."""

LEAST_NETWORK = 1.0
"""GB/s of one accelerator from which a network can carry what training sends between domains."""


def domain_accelerators() -> pl.Expr:
    """Return the accelerators in one scale-up domain of a system.

    A rack product has one domain a rack. A part whose domain is larger than any node spans nodes, so that a system has
    one as large as itself allows; any other part's domain ends at the node. Without either, the node is the domain.

    Columns: `slots_per_rack, part_domain_accelerators, accelerators_per_node, accelerator_count`.
    """
    part, node = pl.col("part_domain_accelerators"), pl.col("accelerators_per_node")
    by_part = pl.when(part > LARGEST_NODE).then(part).otherwise(pl.min_horizontal(part, node))
    size = pl.coalesce("slots_per_rack", pl.when(part.is_not_null()).then(by_part), node)
    is_known = size.is_not_null() & (pl.col("accelerator_count") > 0)
    return pl.when(is_known).then(pl.min_horizontal(size, "accelerator_count"))


def active_accelerators() -> pl.Expr:
    """Return the accelerators of a domain that a run can use: those of one rack where racks are stated.

    39 racks of 72 slots that hold 2,496 accelerators have 64 at work in each domain. Needs `racks_stated` too.
    """
    count, racks = pl.col("accelerator_count"), pl.col("racks_stated")
    is_even = (racks > 0) & (count % racks == 0) & (count <= racks * pl.col("slots_per_rack"))
    return pl.when(is_even).then(count // racks).otherwise(domain_accelerators())


def domain_count() -> pl.Expr:
    """Return the number of domains: the racks where they are stated, else as many as the accelerators need."""
    racks = pl.when(active_accelerators() * pl.col("racks_stated") == pl.col("accelerator_count")).then("racks_stated")
    needed = (pl.col("accelerator_count") + domain_accelerators() - 1) // domain_accelerators()
    return pl.coalesce(racks, needed)


def domain_basis() -> pl.Expr:
    """Return what a domain's size rests on: `rack_product`, `part` or `node`."""
    return (
        pl.when(pl.col("slots_per_rack").is_not_null())
        .then(pl.lit("rack_product"))
        .when(pl.col("part_domain_accelerators").is_not_null())
        .then(pl.lit("part"))
        .when(pl.col("accelerators_per_node").is_not_null())
        .then(pl.lit("node"))
    )


def cliff_ratio() -> pl.Expr:
    """Return the bandwidth of one accelerator inside the domain over that outside, one direction each.

    Null below `LEAST_NETWORK`: such a rate is that of a management port, the only one that a description states.
    """
    outside = pl.col("nic_gigabytes_per_second")
    return pl.when(outside >= LEAST_NETWORK).then(pl.col("scale_up_gigabytes_per_second") / outside)
