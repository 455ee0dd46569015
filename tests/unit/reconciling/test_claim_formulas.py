"""What published runs of a part say of how many it would take: one power law, whatever results there are."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reconciling._claim_formulas import _needs
from pipelines.reconciling._claim_references import gather_references
from pipelines.reconciling._claim_world import World

RUN = {"benchmark": "llama31_405b", "round": "training-v5.0", "score_minutes": 27.33}


def result(count: int, minutes: float | None) -> dict[str, Any]:
    return {**RUN, "accelerator": "H100-SXM5-80GB", "accelerator_count": count, "score_minutes": minutes}


def needs(*results: dict[str, Any]) -> list[tuple[float, str]]:
    return list(_needs(RUN, ("H100-SXM5-80GB",), World(references=gather_references({}), results=results)))


def test_a_law_through_the_two_largest_sizes() -> None:
    ((count, told),) = needs(result(512, 240.0), result(1024, 120.0), result(2048, 60.0))
    assert count == pytest.approx(2048 * 60.0 / 27.33)
    assert told == "power law through 1,024 and 2,048, exponent 1.000"


def test_of_results_of_one_size_the_fastest_counts() -> None:
    ((count, _),) = needs(result(2048, 75.0), result(1024, 120.0), result(2048, 60.0), result(1024, 130.0))
    assert count == pytest.approx(2048 * 60.0 / 27.33)


def test_no_law_follows_from_one_size_or_where_more_are_no_faster() -> None:
    assert needs(result(2048, 60.0), result(2048, 61.0)) == []
    assert needs(result(1024, 60.0), result(2048, 60.0)) == []
    assert needs(result(1024, 60.0), result(2048, None)) == []


@given(st.lists(st.tuples(st.integers(1, 10_000), st.one_of(st.none(), st.floats(0.1, 1e4))), max_size=6))
def test_any_results_give_a_number_or_none(results: list[tuple[int, float | None]]) -> None:
    found = needs(*(result(count, minutes) for count, minutes in results))
    assert len(found) <= 1
    assert pl.Series([count for count, _ in found], dtype=pl.Float64).is_not_nan().all()
