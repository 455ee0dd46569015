"""A search in shares, each done as if elsewhere, finds what a search in one piece finds."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import polars as pl
import pytest

from pipelines.modelling import planning_search
from pipelines.modelling.planning_layouts import layouts
from pipelines.modelling.planning_search import search
from tests.bench.planning import plan


def elsewhere(work: Callable[[Any], Any], units: Iterable[Any]) -> Iterator[Any]:
    """Work off units as another process does: nothing is shared but what can be sent."""
    sent = pickle.dumps(work)
    for unit in units:
        yield pickle.loads(pickle.dumps(pickle.loads(sent)(pickle.loads(pickle.dumps(unit)))))


@pytest.mark.parametrize("layouts_of_a_share", [1, 100, 10**9])
def test_shares_find_what_one_piece_finds(layouts_of_a_share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning_search, "_LAYOUTS_OF_A_SHARE", layouts_of_a_share)
    asked = plan()
    some = layouts(asked.work.model, asked.work.batch_most).filter(
        (pl.col("micro_batch") <= 2) & (pl.col("tensor_parallel") >= 8)
    )
    assert some.height > 500
    here, there = search(asked, some, 2048), search(asked, some, 2048, elsewhere)
    assert here.frontier.height > 10
    assert here.frontier.equals(there.frontier)
    assert here.layouts.equals(there.layouts)
    assert (here.candidates, here.fitting) == (there.candidates, there.fitting)
