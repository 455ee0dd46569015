"""How much of the data-parallel traffic a step cannot hide, and the network bandwidth that keeps it small.

Gradients are reduced while the last micro-batch runs backward and the pipeline drains, parameters gathered while the
first runs forward and the pipeline fills: two windows. The windows are a choice of the model, not a measurement, so
an answer is a range over stated assumptions, and its verdict has three states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from pipelines.modelling.parallelism import bubble_slots
from pipelines.modelling.traffic import data_scale_out_bytes

_GIGA = 1e9


@dataclass(frozen=True)
class Assumptions:
    """What a need for bandwidth rests on."""

    exposed_share: float
    """Communication that may stay exposed, as a share of the rest of the step."""
    nic_efficiency: float = 1.0
    """Share of the NIC's rate that collectives reach."""
    gradient_bytes: int = 2
    window_scale: float = 1.0
    """The overlap windows against those of the model."""
    oversubscription: float = 1.0
    """Bandwidth of the leaves' down ports over their up ports: traffic between leaves gets the NIC's rate over it."""


CENTRAL = Assumptions(exposed_share=0.01)
FAVOURABLE = Assumptions(exposed_share=0.02, window_scale=1.2)
UNFAVOURABLE = Assumptions(exposed_share=0.005, nic_efficiency=0.85, gradient_bytes=4, window_scale=0.8)


def exposed_seconds(assumptions: Assumptions, bandwidth: pl.Expr) -> pl.Expr:
    """Return the communication of a step that its windows do not hide, at `bandwidth` in GB/s of one accelerator.

    Needs the columns of `traffic`, `micro_batch_seconds` and `parameter_bytes`.
    """
    rate = bandwidth * _GIGA * _reached_share(assumptions)
    return sum(
        ((sent / rate - window).clip(lower_bound=0.0) for sent, window in _collectives(assumptions)), pl.lit(0.0)
    )


def needed_gigabytes_per_second(assumptions: Assumptions) -> pl.Expr:
    """Return the least bandwidth, in GB/s of one accelerator and direction, that keeps exposure to the share.

    The share is of the measured step without what is exposed at the bandwidth that the system has. Exposure is a sum
    of terms max(0, sent / rate - window), and such a sum is the largest over its subsets: the need is the largest of
    three closed forms. Needs also `step_seconds` and `nic_available_gigabytes_per_second`, which may be null.
    """
    exposed = exposed_seconds(assumptions, pl.col("nic_available_gigabytes_per_second")).fill_null(0.0)
    budget = assumptions.exposed_share * (pl.col("step_seconds") - exposed).clip(lower_bound=0.0)
    (reduced, reduce_window), (gathered, gather_window) = _collectives(assumptions)
    rate = pl.max_horizontal(
        (reduced + gathered) / (budget + reduce_window + gather_window),
        reduced / (budget + reduce_window),
        gathered / (budget + gather_window),
    )
    return rate / _GIGA / _reached_share(assumptions)


def with_needs(rows: pl.DataFrame, needs: Mapping[str, Assumptions]) -> pl.DataFrame:
    """Add a column of `needed_gigabytes_per_second` under each name.

    One after another: Polars takes some 50 MB to plan such an expression.
    """
    for name, assumptions in needs.items():
        rows = rows.with_columns(needed_gigabytes_per_second(assumptions).alias(name))
    return rows


def verdict(available: pl.Expr, low: pl.Expr, high: pl.Expr) -> pl.Expr:
    """Return `enough`, `not_enough`, or `too_close_to_call` where the range of the need holds what there is."""
    return (
        pl.when(available >= high)
        .then(pl.lit("enough"))
        .when(available < low)
        .then(pl.lit("not_enough"))
        .when(available.is_not_null() & low.is_not_null() & high.is_not_null())
        .then(pl.lit("too_close_to_call"))
    )


def utilisation(sent_bytes: pl.Expr, bandwidth: pl.Expr) -> pl.Expr:
    """Return the share of a step in which a link of `bandwidth` GB/s is busy with the bytes sent."""
    return sent_bytes / (bandwidth * _GIGA * pl.col("step_seconds"))


def busy_seconds(sent_bytes: pl.Expr, bandwidth: pl.Expr) -> pl.Expr:
    """Return the time in which a link of `bandwidth` GB/s sends the bytes."""
    return sent_bytes / (bandwidth * _GIGA)


def exposed_collective(assumptions: Assumptions, bandwidth: pl.Expr) -> pl.Expr:
    """Return which collective leaves more time exposed at `bandwidth`, `gradient_reduction` or `parameter_gather`.

    `none` where both hide; null where the bandwidth is not known.
    """
    rate = bandwidth * _GIGA * _reached_share(assumptions)
    reduced, gathered = (sent / rate - window for sent, window in _collectives(assumptions))
    longer = pl.when(reduced >= gathered).then(pl.lit("gradient_reduction")).otherwise(pl.lit("parameter_gather"))
    is_hidden = pl.max_horizontal(reduced, gathered) <= 0
    return pl.when(is_hidden.is_not_null()).then(pl.when(is_hidden).then(pl.lit("none")).otherwise(longer))


def _reached_share(assumptions: Assumptions) -> float:
    return assumptions.nic_efficiency / assumptions.oversubscription


def _collectives(assumptions: Assumptions) -> tuple[tuple[pl.Expr, pl.Expr], tuple[pl.Expr, pl.Expr]]:
    """Return bytes sent and window, in seconds, of the gradient reduction and of the parameter gather.

    A backward pass takes two thirds of a micro-batch's time, a forward pass one third.
    """
    window = pl.col("micro_batch_seconds") * (1 + bubble_slots()) * assumptions.window_scale
    reduced = data_scale_out_bytes(assumptions.gradient_bytes)
    gathered = data_scale_out_bytes(1) * pl.col("parameter_bytes")
    return (reduced, window * 2 / 3), (gathered, window / 3)
