"""The model over whole spaces of layouts, replicas, micro-batches and batches: every candidate, in bounded chunks.

A candidate's memory, traffic and step are sums of terms that depend on fewer axes (`_planning_factors`), so that what
is left per candidate is a few passes of arithmetic over arrays that stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.modelling._planning_factors import (
    REPLICA,
    Batches,
    Floats,
    Integers,
    Replica,
    Rows,
    batches,
    in_groups,
    replicas,
    rows,
)
from pipelines.modelling._planning_frontier import Frontier
from pipelines.modelling.planning import Plan, reached_gigabytes_per_second

Number = TypeVar("Number", bound=np.generic)
Spread = Callable[..., Iterator[Any]]
"""As the builtin `map`: takes a function and what to give it, yields its results in that order."""

_GIGA = 1e9
_AT_ONCE = 16_384
"""Candidates in one chunk: the arrays of a chunk fit in a second-level cache together."""

_LAYOUTS_OF_A_SHARE = 2048
"""About how many layouts make a unit of work that is done elsewhere; which counts batches anew."""


@dataclass(frozen=True)
class Found:
    """Sizes that no other beats on racks, accelerators and time at once, and what was looked at."""

    layouts: pl.DataFrame
    """Those searched, numbered by `index`."""
    frontier: pl.DataFrame
    """`index, data_parallel, accelerator_count, racks, minutes`: the best batch of a layout at a size."""
    candidates: int
    fitting: int
    """Candidates that fit in memory."""


class _Buffers:
    """Arrays that every chunk uses again."""

    def __init__(self) -> None:
        self._floats: dict[str, Floats] = {}
        self._flags: dict[str, npt.NDArray[np.bool_]] = {}

    def floats(self, name: str, shape: tuple[int, int]) -> Floats:
        size = shape[0] * shape[1]
        if name not in self._floats or self._floats[name].size < size:
            self._floats[name] = np.empty(max(size, _AT_ONCE))
        return self._floats[name][:size].reshape(shape)

    def flags(self, name: str, shape: tuple[int, int]) -> npt.NDArray[np.bool_]:
        size = shape[0] * shape[1]
        if name not in self._flags or self._flags[name].size < size:
            self._flags[name] = np.empty(max(size, _AT_ONCE), dtype=np.bool_)
        return self._flags[name][:size].reshape(shape)


@dataclass(frozen=True)
class Chunk:
    """What was computed for some candidates: arrays of one row a layout and one column a pair of `Batches`."""

    pairs: slice
    needed_bytes: Floats
    fits: npt.NDArray[np.bool_]
    scale_up_bytes: Floats
    scale_out_bytes: Floats
    step_seconds: Floats
    seconds: Floats
    """Of the whole run; infinite where it does not fit or cannot be scheduled."""


def search(plan: Plan, layouts: pl.DataFrame, accelerators_most: int, spread: Spread | None = None) -> Found:
    """Evaluate every candidate of the layouts: each number of replicas, each batch, up to so many accelerators.

    Args:
        plan: the work, the machine, the steps.
        layouts: those to search.
        accelerators_most: size of the largest cluster.
        spread: works off shares of the layouts elsewhere; null searches all of them here. What is found is the same.
    """
    grouped, frontier = in_groups(layouts), Frontier(plan.machine.active_per_rack)
    if spread is None:
        found: Iterable[_OfReplica] = _search_replicas(plan, accelerators_most, grouped)
    else:
        found = chain.from_iterable(spread(partial(_search_share, plan, accelerators_most), _shares(grouped)))
    candidates = fitting = 0
    for one in found:
        candidates += one.candidates
        fitting += one.fitting
        frontier.add(one.accelerators, one.index, one.replicas, one.minutes)
    return Found(grouped, frontier.frame(), candidates, fitting)


@dataclass(frozen=True)
class _OfReplica:
    """What was found for one choice of `REPLICA`: its accelerators and, of its best sizes, what `_Best` tells."""

    accelerators: int
    index: Integers
    replicas: Integers
    minutes: Floats
    candidates: int
    fitting: int


def _shares(grouped: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Cut layouts into shares of about equal length, each of which holds all layouts of its replicas."""
    share = pl.col("index").first().over(REPLICA) // _LAYOUTS_OF_A_SHARE
    yield from grouped.with_columns(_share=share).partition_by("_share", include_key=False, maintain_order=True)


def _search_share(plan: Plan, accelerators_most: int, share: pl.DataFrame) -> list[_OfReplica]:
    return list(_search_replicas(plan, accelerators_most, share))


def _search_replicas(plan: Plan, accelerators_most: int, share: pl.DataFrame) -> Iterator[_OfReplica]:
    first, grouped = share["index"].first(), share.drop("index").with_row_index("index")
    of_layouts, pairs, buffers = rows(plan, grouped), {}, _Buffers()
    for replica, parts in replicas(plan, grouped, accelerators_most):
        best = _Best(len(replica.state_bytes))
        candidates = fitting = 0
        for part in parts:
            micro_batch = int(grouped["micro_batch"][part.start])
            if micro_batch not in pairs:
                pairs[micro_batch] = batches(plan, micro_batch)
            for chunk in chunks(plan, replica, of_layouts.part(part), pairs[micro_batch], buffers):
                candidates += chunk.fits.size
                fitting += int(np.count_nonzero(chunk.fits))
                best.take(chunk, pairs[micro_batch], first + part.start)
        yield _OfReplica(replica.accelerators, *best.sizes(), candidates, fitting)


class _Best:
    """The shortest time at each number of replicas of one replica, and the layout that has it."""

    def __init__(self, replicas: int) -> None:
        self._seconds = np.full(replicas, np.inf)
        self._index = np.zeros(replicas, dtype=np.int64)

    def take(self, chunk: Chunk, pairs: Batches, first_index: int) -> None:
        """Take in some candidates; the first of two equals stays."""
        begins, replicas = _begins(pairs.starts, chunk.pairs)
        seconds = np.minimum.reduceat(chunk.seconds, begins, axis=1)
        layout = seconds.argmin(axis=0)
        shortest = seconds[layout, np.arange(len(replicas))]
        is_better = shortest < self._seconds[replicas]
        self._seconds[replicas[is_better]] = shortest[is_better]
        self._index[replicas[is_better]] = layout[is_better] + first_index

    def sizes(self) -> tuple[Integers, Integers, Floats]:
        """Return layout, replicas and minutes of the sizes at which more replicas are faster than all fewer."""
        least_before = np.concatenate([[np.inf], np.minimum.accumulate(self._seconds)[:-1]])
        kept = np.flatnonzero(self._seconds < least_before)
        return self._index[kept], kept + 1, self._seconds[kept] / 60


def chunks(
    plan: Plan, replica: Replica, layouts: Rows, pairs: Batches, buffers: _Buffers | None = None
) -> Iterator[Chunk]:
    """Yield every candidate of some layouts of one replica, in chunks of whole numbers of replicas.

    The arrays of a chunk are used again for the next.
    """
    reuse = buffers or _Buffers()
    by_replicas = _step_beyond_micro_batches(plan, replica, layouts)
    most = min(len(replica.state_bytes), len(pairs.starts) - 1)
    for part in _parts(pairs.starts[: most + 1], max(1, _AT_ONCE // len(layouts.in_flight))):
        yield _chunk(plan, replica, layouts, pairs, by_replicas, part, reuse)


def _chunk(
    plan: Plan, replica: Replica, layouts: Rows, pairs: Batches, by_replicas: Floats, part: slice, reuse: _Buffers
) -> Chunk:
    shape = len(layouts.in_flight), part.stop - part.start
    micro, index = pairs.micro_batches[part], pairs.replica_index[part]
    needed, up, out, step, other = (reuse.floats(name, shape) for name in ("needed", "up", "out", "step", "other"))
    fits = reuse.flags("fits", shape)
    np.minimum(micro, _column(layouts.in_flight), out=needed)
    needed *= _column(layouts.activation_bytes)
    needed += replica.state_bytes[index]
    np.less_equal(needed, plan.machine.memory_bytes, out=fits)
    np.multiply(micro, _column(layouts.scale_up_bytes), out=up)
    up += replica.data_scale_up_bytes[index]
    np.multiply(micro, _column(layouts.scale_out_bytes), out=out)
    out += replica.data_scale_out_bytes[index]
    np.multiply(micro, _column(layouts.micro_batch_seconds), out=step)
    np.take(by_replicas, index, axis=1, out=other, mode="clip")
    step += other
    np.multiply(up, 1 / (plan.machine.scale_up_gigabytes_per_second * _GIGA), out=other)
    np.maximum(step, other, out=step)
    np.multiply(out, 1 / (reached_gigabytes_per_second(plan.machine) * _GIGA), out=other)
    np.maximum(step, other, out=step)
    np.multiply(step, pairs.steps[part], out=other)
    other += pairs.rest_seconds[part]
    possible = reuse.flags("possible", shape)
    np.logical_or(micro >= replica.pipeline_parallel, ~_column(layouts.is_interleaved), out=possible)
    np.logical_and(possible, fits, out=possible)
    np.copyto(other, np.inf, where=~possible)
    return Chunk(part, needed, fits, up, out, step, other)


def _step_beyond_micro_batches(plan: Plan, replica: Replica, layouts: Rows) -> Floats:
    """Return what of a step its micro-batches do not change: bubble, fixed part, exposure; a layout by replicas."""
    rate = reached_gigabytes_per_second(plan.machine) * _GIGA
    micro_batch, bubble = _column(layouts.micro_batch_seconds), _column(layouts.bubble_slots)
    window = micro_batch * (1 + bubble)
    exposed = np.maximum(replica.reduced_bytes / rate - window * (2 / 3), 0.0)
    exposed += np.maximum(replica.gathered_bytes / rate - window * (1 / 3), 0.0)
    exposed -= plan.steps.exposed_in_fit_seconds
    np.maximum(exposed, 0.0, out=exposed)
    beyond: Floats = exposed + (micro_batch * bubble + plan.steps.fixed_seconds)
    return beyond


def _parts(starts: Integers, most: int) -> Iterator[slice]:
    """Cut pairs between numbers of replicas, at most so many at once, or those of one number."""
    begin = 0
    while begin < len(starts) - 1:
        end = int(np.searchsorted(starts, starts[begin] + most, side="right")) - 1
        end = max(end, begin + 1)
        if starts[end] > starts[begin]:
            yield slice(int(starts[begin]), int(starts[end]))
        begin = end


def _begins(starts: Integers, part: slice) -> tuple[Integers, Integers]:
    """Return where in a chunk each number of replicas begins, and that number less one; those without pairs go."""
    last = int(np.searchsorted(starts, part.stop, side="left"))
    first = int(np.searchsorted(starts, part.start, side="right")) - 1
    numbers = np.arange(first, last)
    held = numbers[starts[first + 1 : last + 1] > starts[first:last]]
    return starts[held] - part.start, held


def _column(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    return values[:, np.newaxis]
