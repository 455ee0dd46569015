"""Racks for a number of accelerators, three ways: by division, by model replica, by stated racks."""

from __future__ import annotations

import polars as pl


def racks_by_division() -> pl.Expr:
    """Return the fewest racks whose slots hold the accelerators."""
    return _ceiling_division(pl.col("accelerator_count"), pl.col("slots_per_rack"))


def racks_by_replica(data_parallel: pl.Expr) -> pl.Expr:
    """Return the racks that hold whole model replicas.

    Where several replicas fit in a rack each stays in one; a larger replica takes racks of its own. Needs
    `replica_accelerator_count` and `slots_per_rack`.
    """
    replica, slots = pl.col("replica_accelerator_count"), pl.col("slots_per_rack")
    shared = _ceiling_division(data_parallel, replicas_per_rack())
    return pl.when(replica <= slots).then(shared).otherwise(data_parallel * _ceiling_division(replica, slots))


def replicas_per_rack() -> pl.Expr:
    """Return the whole replicas that one rack holds, null where a replica is larger than a rack."""
    whole = pl.col("slots_per_rack") // pl.col("replica_accelerator_count")
    return pl.when(whole >= 1).then(whole)


def active_by_replica() -> pl.Expr:
    """Return the accelerators that whole replicas use of a rack: 64 of 72 where a replica takes 64."""
    return pl.col("replica_accelerator_count") * replicas_per_rack()


def _ceiling_division(count: pl.Expr, size: pl.Expr) -> pl.Expr:
    """Return the count over the size, rounded up; whole numbers stay whole."""
    return (count + size - 1) // size
