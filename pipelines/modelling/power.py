"""Power of racks and runs, and the level of scale that a power calls for.

Formulas belong here; what a product draws is a fact of `mart.platforms`. A nameplate is an upper bound of what is
drawn.
"""

from __future__ import annotations

import polars as pl

LARGEST_KILOWATTS = (("rack", 250.0), ("pod", 2_500.0), ("row", 25_000.0), ("cluster", 250_000.0))
"""Levels by the power that they stay under; `campus` above the last."""

POWER_LEVELS = (*(name for name, _ in LARGEST_KILOWATTS), "campus")


def racks_kilowatts(racks: pl.Expr, kilowatts_per_rack: pl.Expr) -> pl.Expr:
    """Return the power of the computers in racks, before cooling and distribution."""
    return racks * kilowatts_per_rack


def accelerators_kilowatts(
    accelerators: pl.Expr, kilowatts_per_unit: pl.Expr, accelerators_per_unit: pl.Expr
) -> pl.Expr:
    """Return the power of accelerators as their share of nodes, racks or systems of a known power."""
    return accelerators * kilowatts_per_unit / accelerators_per_unit


def facility_kilowatts(
    computer_kilowatts: pl.Expr, usage_effectiveness: pl.Expr, network_kilowatts: pl.Expr
) -> pl.Expr:
    """Return the power at the meter: computers times PUE (power usage effectiveness), and the network."""
    return computer_kilowatts * usage_effectiveness + network_kilowatts


def energy_bound_megawatt_hours(kilowatts: pl.Expr, minutes: pl.Expr) -> pl.Expr:
    """Return the energy of a run if it drew its nameplate throughout: an upper bound."""
    return kilowatts * minutes / 60 / 1_000


def level_by_power(kilowatts: pl.Expr) -> pl.Expr:
    """Return the smallest level of scale that is fed such a power: rack, pod, row, cluster or campus."""
    level: pl.Expr = pl.lit("campus")
    for name, most in reversed(LARGEST_KILOWATTS):
        level = pl.when(kilowatts < most).then(pl.lit(name)).otherwise(level)
    return pl.when(kilowatts.is_not_null()).then(level)


def binding_level(by_accelerators: pl.Expr, by_power: pl.Expr, order: tuple[str, ...]) -> pl.Expr:
    """Return which of two levels is the larger: `accelerators`, `power`, or `both`.

    Args:
        by_accelerators: Level that holds the job, one of `order`.
        by_power: Level that feeds it, one of `order`.
        order: Level names from small to large.
    """
    rank = {name: place for place, name in enumerate(order)}
    first = by_accelerators.replace_strict(rank, default=None, return_dtype=pl.Int64)
    second = by_power.replace_strict(rank, default=None, return_dtype=pl.Int64)
    larger = pl.when(first > second).then(pl.lit("accelerators")).when(second > first).then(pl.lit("power"))
    return larger.when(first == second).then(pl.lit("both"))
