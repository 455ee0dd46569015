"""Levels of scale and power: `mart.levels` and `mart.power`."""

from __future__ import annotations

import polars as pl

from pipelines.modelling import levels, power
from pipelines.modelling.levels import Accelerator, Job
from pipelines.modelling.racks import racks_by_division
from pipelines.reconciling.members import SYSTEM_KEYS
from pipelines.schemas.modelling_mart import Levels, Power

USAGE_EFFECTIVENESS = (1.1, 1.5)
"""Power at the meter over power of the computers, from the best of large sites to a usual one: an assumption."""

RACK_PRODUCT = "GB200 NVL72"
"""Rack whose power the levels are fed at."""

SMALL_MEMORY = Accelerator(memory_gigabytes=80.0)

_NODE_PLATFORMS = 16
"""Accelerators up to which a platform is a node, not a rack."""

_LEVEL_OF_POWER = {
    "package (1 GPU)": "rack",
    "node (8)": "rack",
    "rack (72)": "rack",
    "pod (576)": "pod",
    "cluster (16k)": "cluster",
    "cluster (100k)": "cluster",
    levels.BEYOND: "campus",
}
"""A level of the program by the names of `power.POWER_LEVELS`."""


def levels_of_scale(platforms: pl.DataFrame) -> pl.DataFrame:
    """Return `mart.levels`: the program, and its exercises.

    Args:
        platforms: `mart.platforms`, for the power of a rack.
    """
    halved = Job(levels.PRETRAIN_70B.name, levels.PRETRAIN_70B.memory_gigabytes, levels.PRETRAIN_70B.flop, 30)
    scenarios = {
        "program": (levels.JOBS, Accelerator()),
        "exercise 1: 30 days in place of 60": ((halved,), Accelerator()),
        "exercise 2: 80 GB in place of 288": (levels.JOBS, SMALL_MEMORY),
        "exercise 3: serve 405B": (_serving_405b(), Accelerator()),
        "exercise 3: serve 405B, 80 GB in place of 288": (_serving_405b(), SMALL_MEMORY),
    }
    placed = pl.concat(_placed(name, jobs, accelerator) for name, (jobs, accelerator) in scenarios.items())
    rack = platforms.filter(platform=RACK_PRODUCT).select(
        kilowatts_per_rack="power_kilowatts", accelerators_per_rack="accelerator_count"
    )
    fed = (
        placed.join(rack, how="cross")
        .with_columns(
            kilowatts=power.accelerators_kilowatts(
                pl.col("needed"), pl.col("kilowatts_per_rack"), pl.col("accelerators_per_rack")
            )
        )
        .with_columns(power_level=power.level_by_power(pl.col("kilowatts")))
        .with_columns(
            binding=power.binding_level(
                pl.col("level").replace_strict(_LEVEL_OF_POWER), pl.col("power_level"), power.POWER_LEVELS
            )
        )
    )
    return Levels.cast(fed.select(Levels.column_names()).sort("scenario", "place"))


def powers(
    results: pl.DataFrame,
    systems: pl.DataFrame,
    accelerators: pl.DataFrame,
    platforms: pl.DataFrame,
    resolved_facts: pl.DataFrame,
) -> pl.DataFrame:
    """Return `mart.power`.

    Args:
        results, accelerators, platforms, resolved_facts: the `mart` tables of these names.
        systems: `core.systems`.
    """
    units = power_units(accelerators, platforms, resolved_facts)
    of_racks = units.filter(basis="rack").select(pl.all().exclude("accelerator").name.suffix("_of_rack"))
    of_nodes = units.filter(basis="node").select("accelerator", pl.all().exclude("accelerator").name.suffix("_of_node"))
    of_parts = units.filter(basis="part").select("accelerator", pl.all().exclude("accelerator").name.suffix("_of_part"))
    rows = (
        results.filter(pl.col("score_minutes").is_not_null())
        .select("result_id", *SYSTEM_KEYS, "accelerator", "accelerator_count", "raw_minutes", "energy_joules")
        .join(
            systems.select(*SYSTEM_KEYS, "rack_product", "slots_per_rack", "racks_stated"), on=SYSTEM_KEYS, how="left"
        )
        .join(of_racks, left_on="rack_product", right_on="platform_of_rack", how="left", coalesce=False)
        .join(of_nodes, on="accelerator", how="left")
        .join(of_parts, on="accelerator", how="left")
        .with_columns(racks=pl.coalesce("racks_stated", racks_by_division()))
    )
    chosen = rows.with_columns(
        pl.coalesce(f"{name}_of_rack", f"{name}_of_node", f"{name}_of_part").alias(name)
        for name in ("platform", "basis", "low", "high", "unit_accelerators")
    )
    share = pl.col("accelerator_count") / pl.col("unit_accelerators")
    is_whole_racks = (pl.col("basis") == "rack") & (share >= 1)
    count = pl.when(is_whole_racks).then("racks").otherwise(share)
    low, high = (power.racks_kilowatts(count, pl.col(name)) for name in ("low", "high"))
    none = pl.lit(0.0)
    told = chosen.with_columns(
        racks=pl.when(is_whole_racks).then("racks"),
        power_basis="basis",
        unit_kilowatts_low="low",
        unit_kilowatts_high="high",
        computer_kilowatts_low=low,
        computer_kilowatts_high=high,
        facility_kilowatts_low=power.facility_kilowatts(low, pl.lit(USAGE_EFFECTIVENESS[0]), none),
        facility_kilowatts_high=power.facility_kilowatts(high, pl.lit(USAGE_EFFECTIVENESS[1]), none),
        energy_bound_megawatt_hours=power.energy_bound_megawatt_hours(high, pl.col("raw_minutes")),
        energy_measured_megawatt_hours=pl.col("energy_joules") / 3.6e9,
        level=power.level_by_power(high),
        no_power_reason=pl.when(high.is_null()).then(pl.lit("no power is known of the platform or of the part")),
    )
    return Power.cast(told.select(Power.column_names()).sort("result_id"))


def _serving_405b() -> tuple[Job, ...]:
    """Return the third exercise, which does not say in which precision the cache is: both."""
    return tuple(
        Job(
            f"serve 405B FP8, 128 users × 16k, cache {name}",
            405 + 128 * 16_384 * levels.kv_cache_bytes_per_token(126, 8, 128, width) / 1e9,
        )
        for name, width in (("FP8", 1), ("BF16", 2))
    )


def _placed(scenario: str, jobs: tuple[Job, ...], accelerator: Accelerator) -> pl.DataFrame:
    return levels.place_jobs(jobs, accelerator).with_columns(
        scenario=pl.lit(scenario),
        place=pl.int_range(1, pl.len() + 1, dtype=pl.Int64),
        accelerator_memory_gigabytes=pl.lit(accelerator.memory_gigabytes),
        accelerator_flop_per_second=pl.lit(accelerator.flop_per_second),
        model_flops_utilisation=pl.lit(accelerator.model_flops_utilisation),
    )


def power_units(accelerators: pl.DataFrame, platforms: pl.DataFrame, resolved_facts: pl.DataFrame) -> pl.DataFrame:
    """Return `platform, accelerator, unit_accelerators, basis, low, high`, kilowatts of what power is known of.

    A rack product by its name, one node platform a part, and parts alone, which leave out all around them.
    """
    drawn = resolved_facts.filter(metric="power_kilowatts").select(
        platform="subject",
        low=pl.coalesce("value_low", "value"),
        high=pl.coalesce("value_high", "value"),
    )
    known = platforms.select("platform", "accelerator", "rack_count", unit_accelerators="accelerator_count").join(
        drawn, on="platform"
    )
    racks = known.filter(pl.col("rack_count") == 1).with_columns(basis=pl.lit("rack"))
    nodes = (
        known.filter(pl.col("unit_accelerators") <= _NODE_PLATFORMS)
        .sort("accelerator", "platform")
        .unique("accelerator", keep="first", maintain_order=True)
        .with_columns(basis=pl.lit("node"))
    )
    parts = accelerators.filter(pl.col("power_watts").is_not_null()).select(
        platform="accelerator",
        accelerator="accelerator",
        unit_accelerators=pl.lit(1, pl.Int64),
        low=pl.col("power_watts") / 1_000,
        high=pl.col("power_watts") / 1_000,
        basis=pl.lit("part"),
    )
    return pl.concat([racks.drop("rack_count"), nodes.drop("rack_count"), parts], how="diagonal")
