"""How much of its peak a part reaches on work that no run there is of: from the nearest runs, always as a range.

Within a part, efficiency is told by the size of the model between those of its runs; between precisions, by how much
runs gained where only the peak doubled; between parts, by the mean of the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from pipelines.modelling import flops, peaks, workloads
from pipelines.modelling.intervals import BENCHMARK_NOISE_PERCENT
from pipelines.modelling.sums import ordered_mean
from pipelines.modelling.workloads import Workload, frame
from pipelines.reconciling.planning_asks import PlanError
from pipelines.reconciling.planning_facts import Facts


@dataclass(frozen=True, kw_only=True)
class Efficiency:
    """Model FLOPs over dense peak (causal), and where it is from."""

    middle: float
    low: float
    high: float
    sentence: str
    extrapolations: tuple[str, ...]
    holds_fixed: bool
    """Whether the fixed part of a step is in it already: the runs tell whole steps only."""
    is_of_same_work: bool = False


@dataclass(frozen=True)
class _Range:
    low: float
    middle: float
    high: float

    def times(self, low: float, middle: float, high: float) -> _Range:
        """Return the product with another range; independent deviations add up in quadrature of their logarithms."""
        whole = self.middle * middle
        down = math.hypot(math.log(self.middle / self.low), math.log(middle / low))
        up = math.hypot(math.log(self.high / self.middle), math.log(high / middle))
        return _Range(whole * math.exp(-down), whole, whole * math.exp(up))


def efficiency_points(facts: Facts) -> pl.DataFrame:
    """Return `accelerator, precision, benchmark, is_mixture, is_adapter, active_parameters, efficiency, is_whole,
    peak_tflops, teraflops`.

    One row per part, precision and benchmark: the best that its runs reached, bubble and fixed part left out where a
    family's fit tells them apart.
    """
    runs = (
        facts.known.filter("is_pooled")
        .join(facts.fits.select("family", a="micro_batch_seconds"), on="family", how="left")
        .with_columns(
            whole=flops.achieved_tflops(pl.col("step_seconds")) / pl.col("peak_tflops"),
            filled=flops.micro_batch_efficiency(pl.col("a")),
            is_adapter=pl.col("adapter_rank") > 0,
        )
    )
    keys = ["accelerator", "precision", "benchmark", "is_mixture", "is_adapter"]
    return (
        runs.group_by(keys)
        .agg(
            efficiency=pl.coalesce(pl.col("filled").max(), pl.col("whole").max()),
            is_whole=pl.col("filled").max().is_null(),
            peak_tflops=pl.col("peak_tflops").first(),
        )
        .join(_sizes(), on="benchmark")
        .with_columns(teraflops=pl.col("efficiency") * pl.col("peak_tflops"))
        .sort(keys)
    )


def estimate(model: Workload, accelerator: str, precision: str, facts: Facts) -> Efficiency:
    """Return the efficiency of a model on a part at a precision.

    Raises:
        PlanError: no run supports any estimate.
    """
    points = _of_kind(model, efficiency_points(facts))
    size = frame([model]).select(flops.active_parameters()).item()
    own = points.filter(accelerator=accelerator, precision=precision)
    same = own.filter(benchmark=model.benchmark)
    if not same.is_empty():
        return _of_same_work(same, accelerator, precision)
    if not own.is_empty():
        return _of_part(own, size, accelerator, precision)
    gains = gains_per_doubling(efficiency_points(facts))
    if accelerator in points["accelerator"]:
        return _of_other_precision(points.filter(accelerator=accelerator), size, accelerator, precision, gains, facts)
    return _of_other_parts(points, size, accelerator, precision, gains, facts)


def gains_per_doubling(points: pl.DataFrame) -> tuple[float, float, float]:
    """Return the least, the middle and the greatest exponent g of rate ~ peak^g, between precisions of one part.

    Each pair is one benchmark on one part at two precisions: what runs gained over what the peak gained. Without any
    pair nothing is known but that a rate does not grow faster than its peak.
    """
    pairs = points.join(points, on=["accelerator", "benchmark"], suffix="_low").filter(
        pl.col("peak_tflops") > pl.col("peak_tflops_low")
    )
    told = pairs.select(
        (pl.col("teraflops") / pl.col("teraflops_low")).log()
        / (pl.col("peak_tflops") / pl.col("peak_tflops_low")).log()
    ).to_series()
    if told.is_empty():
        return 0.0, 0.5, 1.0
    # Statistics of a numeric column that is not empty are numbers; Polars types them as any value.
    least, middle, most = (min(max(float(value), 0.0), 1.0) for value in (told.min(), told.median(), told.max()))  # type: ignore[arg-type]
    return least, middle, most


def _are_whole(points: pl.DataFrame) -> bool:
    return bool(points["is_whole"].all())


def _of_kind(model: Workload, points: pl.DataFrame) -> pl.DataFrame:
    """Return the points of models alike: mixtures do not tell dense ones, nor the other way."""
    is_mixture = model.moe_layers > 0
    alike = points.filter(pl.col("is_mixture") == is_mixture)
    if alike.is_empty():
        kind = "a mixture of experts" if is_mixture else "a dense language model"
        raise PlanError(
            "model" if is_mixture else "workload",
            f"model: no run here trains {kind}, so nothing supports a plan; refresh with a round that has one "
            "(training v6.0 has DeepSeek-V3), or plan another model",
        )
    return alike


def _of_part(points: pl.DataFrame, size: float, accelerator: str, precision: str) -> Efficiency:
    whole = _interpolated(points, size)
    return Efficiency(
        low=whole.low,
        middle=whole.middle,
        high=whole.high,
        sentence=f"{_percent(whole)} of the dense {precision} peak of {accelerator}, by {_told(points)}.",
        extrapolations=_beyond_sizes(points, size),
        holds_fixed=_are_whole(points),
    )


def _of_same_work(point: pl.DataFrame, accelerator: str, precision: str) -> Efficiency:
    """Take the one figure that runs of the same work have, give or take the benchmark's own noise."""
    whole = point["efficiency"][0]
    noise = 1 + BENCHMARK_NOISE_PERCENT / 100
    told = _Range(whole / noise, whole, whole * noise)
    return Efficiency(
        low=told.low,
        middle=told.middle,
        high=told.high,
        sentence=f"{_percent(told)} of the dense {precision} peak of {accelerator}, by {_told(point)} alone.",
        extrapolations=(
            "too few runs of this work on this part at this precision for a fit: the best of them tells its efficiency",
        ),
        holds_fixed=_are_whole(point),
        is_of_same_work=True,
    )


def _of_other_precision(
    points: pl.DataFrame,
    size: float,
    accelerator: str,
    precision: str,
    gains: tuple[float, float, float],
    facts: Facts,
) -> Efficiency:
    ratio, other = _nearest_precision(points, accelerator, precision, facts)
    of_other = points.filter(precision=other)
    whole = _interpolated(of_other, size).times(*_scaled(ratio, gains))
    return Efficiency(
        low=whole.low,
        middle=whole.middle,
        high=whole.high,
        sentence=(
            f"{_percent(whole)} of the dense {precision} peak of {accelerator}, by {_told(of_other)} at {other}: where "
            f"the peak doubled, runs gained {2 ** gains[1]:.2f}x ({2 ** gains[0]:.2f} to {2 ** gains[2]:.2f})."
        ),
        extrapolations=(
            f"no run here is at {precision} on {accelerator}: its runs at {other} are scaled by what a doubled peak "
            "gained",
            *_beyond_sizes(of_other, size),
        ),
        holds_fixed=_are_whole(of_other),
    )


def _of_other_parts(
    points: pl.DataFrame,
    size: float,
    accelerator: str,
    precision: str,
    gains: tuple[float, float, float],
    facts: Facts,
) -> Efficiency:
    """Take each other part at the precision, or at its nearest, and the mean of them."""
    ranges = []
    for part in points["accelerator"].unique().sort():
        of_part = points.filter(accelerator=part)
        own = of_part.filter(precision=precision)
        if not own.is_empty():
            ranges.append(_interpolated(own, size))
        elif _peak(part, precision, facts) is not None:
            ratio, other = _nearest_precision(of_part, part, precision, facts)
            ranges.append(_interpolated(of_part.filter(precision=other), size).times(*_scaled(ratio, gains)))
    if not ranges:
        raise PlanError("platform", f"platform: nothing supports a plan for {accelerator} at {precision}; name another")
    whole = _Range(
        min(one.low for one in ranges), sum(one.middle for one in ranges) / len(ranges), max(one.high for one in ranges)
    )
    return Efficiency(
        low=whole.low,
        middle=whole.middle,
        high=whole.high,
        sentence=f"{_percent(whole)} of the dense {precision} peak, as {len(ranges)} other parts reach of theirs.",
        extrapolations=(
            f"no run here is of {accelerator}: other parts tell its efficiency",
            *_beyond_sizes(points, size),
        ),
        holds_fixed=_are_whole(points),
    )


def _interpolated(points: pl.DataFrame, size: float) -> _Range:
    """Return the efficiency at a size, between the nearest two sizes on a logarithmic scale; flat beyond.

    The range is that of all points, and at least the benchmark's noise to either side. Runs that train adapters only
    widen it, unless there are no others.
    """
    full = points.filter(~pl.col("is_adapter"))
    told = full if not full.is_empty() else points
    sizes = told.group_by("active_parameters").agg(ordered_mean(pl.col("efficiency")))
    known = sizes.sort("active_parameters")
    xs, ys = known["active_parameters"].log().to_list(), known["efficiency"].to_list()
    place = math.log(size)
    noise = 1 + BENCHMARK_NOISE_PERCENT / 100
    middle = ys[0] if place <= xs[0] else ys[-1]
    for (x, y), (next_x, next_y) in zip(zip(xs, ys, strict=True), zip(xs[1:], ys[1:], strict=True), strict=False):
        if x < place < next_x:
            middle = y + (next_y - y) * (place - x) / (next_x - x)
    known_efficiencies = points["efficiency"].to_list()
    return _Range(min(*known_efficiencies, middle / noise), middle, max(*known_efficiencies, middle * noise))


def _scaled(ratio: float, gains: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return the factors on an efficiency at another peak, least first: the rate follows peak^g."""
    least, middle, most = sorted(ratio ** (exponent - 1) for exponent in gains)
    return least, middle, most


def _nearest_precision(points: pl.DataFrame, part: str, precision: str, facts: Facts) -> tuple[float, str]:
    """Return the peak asked for over that of the nearest precision with runs, and that precision."""
    wanted = _peak(part, precision, facts)
    if wanted is None:
        raise PlanError("precision", f"precision {precision!r}: {part} has no such peak; give another")
    told = points.select("precision", "peak_tflops").unique().with_columns(
        distance=(pl.col("peak_tflops") / wanted).log().abs()
    )  # fmt: skip
    nearest = told.sort("distance", "precision").row(0, named=True)
    return wanted / nearest["peak_tflops"], nearest["precision"]


def _peak(part: str, precision: str, facts: Facts) -> float | None:
    found = peaks.by_precision(facts.accelerators).filter(accelerator=part, precision=precision)["peak_tflops"]
    return None if found.is_empty() else float(found[0])


def _beyond_sizes(points: pl.DataFrame, size: float) -> tuple[str, ...]:
    full = points.filter(~pl.col("is_adapter"))
    # As above: numbers of a column that is not empty.
    least, most = (float(value) for value in (points["active_parameters"].min(), points["active_parameters"].max()))  # type: ignore[arg-type]
    told = [] if not full.is_empty() else ["its runs train adapters only, not all weights"]
    span = f"{least / 1e9:.1f}" if least == most else f"{least / 1e9:.1f} to {most / 1e9:.1f}"
    if not least <= size <= most:
        told.append(
            f"a model of {size / 1e9:.1f} billion active parameters lies beyond those of the runs, {span} billion"
        )
    return tuple(told)


def _sizes() -> pl.DataFrame:
    return workloads.frame().select("benchmark", active_parameters=flops.active_parameters())


def _told(points: pl.DataFrame) -> str:
    told = points.select(pl.format("{} ({} %)", "benchmark", (pl.col("efficiency") * 100).round(1))).to_series()
    return f"the best runs of {', '.join(told.to_list())}"


def _percent(whole: _Range) -> str:
    return f"{whole.middle * 100:.1f} % ({whole.low * 100:.1f} to {whole.high * 100:.1f})"
