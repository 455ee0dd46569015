"""Does an accelerator count fit the racks that its submitter states? One verdict per rack-scale system.

A count that does not fill its racks is no error: runs leave slots idle for whole model replicas, or since providers
keep trays in reserve. What the files do not decide is called ambiguous, not guessed.
"""

from __future__ import annotations

import polars as pl

from pipelines.modelling.parallelism import replica_accelerators
from pipelines.modelling.racks import active_by_replica, racks_by_division
from pipelines.schemas.mart import RackAudit

SPARE_TRAYS = 2
"""Trays of a rack that some providers keep in reserve: 16 of 18 are then in use."""

_KEYS = ["round", "submitter_folder", "system"]
_COUNT, _STATED, _SLOTS = pl.col("accelerator_count"), pl.col("racks_stated"), pl.col("slots_per_rack")
_TRAY, _ACTIVE, _REPLICA = (
    pl.col("accelerators_per_node"),
    pl.col("active_per_rack"),
    pl.col("replica_accelerator_count"),
)


def audit_racks(systems: pl.DataFrame, launches: pl.DataFrame) -> pl.DataFrame:
    """Return `mart.rack_audit`: every system of a rack-scale product, with a verdict and a sentence.

    Stated racks decide first: `whole`, `part_rack`, `explained` (the same number of trays in use in each), else
    `contradicted`. Without them the count is held against whole racks, whole replicas per rack and spare trays: one
    that fits makes it `whole` or `explained`, several make it `ambiguous`, none `not_stated`.

    Args:
        systems: `core.systems`.
        launches: `core.launches`; one that its log contradicts is not used.
    """
    audited = (
        systems.filter(pl.col("rack_product").is_not_null() & _SLOTS.is_not_null())
        .join(_replicas(launches), on=_KEYS, how="left")
        .with_columns(
            active_by_replica=active_by_replica(),
            active_by_spare_trays=_SLOTS - SPARE_TRAYS * _TRAY,
            remainder_by_slots=_COUNT % _SLOTS,
            racks_least=racks_by_division(),
        )
        .with_columns(fitting=_fitting())
        .with_columns(verdict=_verdict())
        .with_columns(active_per_rack=_active())
        .with_columns(
            idle_slots=_where_possible(_STATED * _SLOTS - _COUNT),
            fill_fraction=_where_possible(_COUNT / (_STATED * _SLOTS)),
            active_explained_by=_active_explained_by(),
        )
        .with_columns(explanation=_explanation())
        .sort(_KEYS)
    )
    return RackAudit.cast(audited.select(RackAudit.column_names()))


def _replicas(launches: pl.DataFrame) -> pl.DataFrame:
    """Return the largest model replica that a launch of each system states."""
    return (
        launches.filter(pl.col("batch_check") != "contradicted")
        .group_by(_KEYS)
        .agg(replica_accelerator_count=replica_accelerators().max())
    )


def _fitting() -> pl.Expr:
    """Return the numbers of active accelerators per rack that divide the count, smallest first."""
    candidates = [pl.col(name) for name in ("slots_per_rack", "active_by_replica", "active_by_spare_trays")]
    dividing = [pl.when((size > 0) & (_COUNT % size == 0)).then(size) for size in candidates]
    return pl.concat_list(dividing).list.drop_nulls().list.unique().list.sort()


def _verdict() -> pl.Expr:
    per_rack = _COUNT // _STATED
    is_even = (_COUNT % _STATED == 0) & (per_rack % _TRAY.fill_null(1) == 0)
    stated = (
        pl.when((_STATED < 1) | (_COUNT > _STATED * _SLOTS) | ~is_even)
        .then(pl.lit("contradicted"))
        .when(_COUNT == _STATED * _SLOTS)
        .then(pl.lit("whole"))
        .when(_STATED == 1)
        .then(pl.lit("part_rack"))
        .otherwise(pl.lit("explained"))
    )
    fits_whole, fits = pl.col("fitting").list.contains(_SLOTS), pl.col("fitting").list.len()
    unstated = (
        pl.when(_COUNT < _SLOTS)
        .then(pl.lit("part_rack"))
        .when(fits > 1)
        .then(pl.lit("ambiguous"))
        .when(fits_whole)
        .then(pl.lit("whole"))
        .when(fits == 1)
        .then(pl.lit("explained"))
        .otherwise(pl.lit("not_stated"))
    )
    is_known = _COUNT.fill_null(0) > 0
    return pl.when(~is_known).then(pl.lit("not_stated")).when(_STATED.is_not_null()).then(stated).otherwise(unstated)


def _active() -> pl.Expr:
    """Return the accelerators in use in each rack, null where neither statement nor division tells them."""
    verdict = pl.col("verdict")
    return (
        pl.when(verdict.is_in(["contradicted", "ambiguous", "not_stated"]))
        .then(None)
        .when(_STATED.is_not_null())
        .then(_COUNT // _STATED)
        .when(verdict == "part_rack")
        .then(_COUNT)
        .otherwise(pl.col("fitting").list.first())
    )


def _where_possible(expression: pl.Expr) -> pl.Expr:
    return pl.when((_STATED > 0) & (_STATED * _SLOTS >= _COUNT)).then(expression)


def _active_explained_by() -> pl.Expr:
    by_replica, by_trays = pl.col("active_by_replica") == _ACTIVE, pl.col("active_by_spare_trays") == _ACTIVE
    return pl.when(pl.col("verdict") == "explained").then(
        pl.when(by_replica & by_trays)
        .then(pl.lit("replica_or_spare_trays"))
        .when(by_replica)
        .then(pl.lit("replica"))
        .when(by_trays)
        .then(pl.lit("spare_trays"))
        .otherwise(pl.lit("not_explained"))
    )


def _explanation() -> pl.Expr:
    return pl.coalesce(_when(verdict, sentence) for verdict, sentence in _sentences())


def _when(verdict: str, sentence: pl.Expr) -> pl.Expr:
    return pl.when(pl.col("verdict") == verdict).then(sentence)


def _sentences() -> list[tuple[str, pl.Expr]]:
    """Return candidate sentences, each null unless its figures are known; the first that applies is taken."""
    per_rack = pl.format("{} = {} x {}", _COUNT, _COUNT // _ACTIVE, _ACTIVE)
    fits = pl.col("fitting").list.eval(pl.element().cast(pl.String)).list.join(" and ")
    full = pl.when(_COUNT % _SLOTS == 0).then(
        pl.format(", although {} full racks would hold as many", _COUNT // _SLOTS)
    )
    return [
        ("whole", pl.format("{}: no slot of the {} stated is idle.", per_rack, _racks(_STATED))),
        ("whole", pl.format("{}: whole racks, though no rack count is stated.", per_rack)),
        (
            "part_rack",
            pl.format("{} of the {} slots of one stated rack: a part rack is no error.", _COUNT, _SLOTS * _STATED),
        ),
        (
            "part_rack",
            pl.format("{} fit in one rack of {} slots, none is stated: a part rack is no error.", _COUNT, _SLOTS),
        ),
        (
            "explained",
            pl.format(
                "{}: {} of {} slots in use in each of {} stated racks{}; {}.",
                per_rack,
                _ACTIVE,
                _SLOTS,
                _STATED,
                full.fill_null(""),
                _reason(),
            ),
        ),
        (
            "explained",
            pl.format(
                "{}: no rack count is stated, and of the usual numbers per rack only {} divides the count; {}.",
                per_rack,
                _ACTIVE,
                _reason(),
            ),
        ),
        ("ambiguous", pl.format("{} divides by {} per rack, and no rack count is stated to decide.", _COUNT, fits)),
        (
            "contradicted",
            pl.when(_COUNT > _STATED * _SLOTS).then(
                pl.format("{} stated racks hold {} accelerators, not {}.", _STATED, _STATED * _SLOTS, _COUNT)
            ),
        ),
        (
            "contradicted",
            pl.format(
                "{} accelerators are not the same whole number of trays of {} in each of {} stated racks.",
                _COUNT,
                _TRAY,
                _STATED,
            ),
        ),
        (
            "not_stated",
            pl.format(
                "{} need {} racks of {} or more; no count is stated, and no usual number per rack divides them.",
                _COUNT,
                pl.col("racks_least"),
                _SLOTS,
            ),
        ),
        ("not_stated", pl.lit("The description states no accelerator count.")),
        ("contradicted", pl.format("{} accelerators do not fit {} stated racks.", _COUNT, _STATED)),
    ]


def _reason() -> pl.Expr:
    """Say what explains the number in use, both readings where the files leave two."""
    several = pl.format("{} model replicas of {}", _ACTIVE // _REPLICA, _REPLICA)
    replicas = pl.when(_ACTIVE == _REPLICA).then(pl.format("one model replica of {}", _REPLICA)).otherwise(several)
    trays = pl.format("{} of {} trays", _ACTIVE // _TRAY, _SLOTS // _TRAY)
    reason = pl.col("active_explained_by")
    return (
        pl.when(reason == "replica_or_spare_trays")
        .then(pl.format("{} is {} and also {}, so why it is {} is ambiguous", _ACTIVE, replicas, trays, _ACTIVE))
        .when(reason == "replica")
        .then(pl.format("{} is {}", _ACTIVE, replicas))
        .when(reason == "spare_trays")
        .then(pl.format("{} is {}, as where two are kept in reserve", _ACTIVE, trays))
        .otherwise(pl.format("{} is {}", _ACTIVE, trays))
        .fill_null("nothing stated says why")
    )


def _racks(count: pl.Expr) -> pl.Expr:
    return pl.when(count == 1).then(pl.lit("one rack")).otherwise(pl.format("{} racks", count))
