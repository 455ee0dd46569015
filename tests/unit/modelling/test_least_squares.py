from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.modelling.least_squares import two_parameters


def solved(u: np.ndarray, v: np.ndarray, t: np.ndarray) -> tuple[float | None, float | None]:
    sums = {"uu": u @ u, "uv": u @ v, "vv": v @ v, "ut": u @ t, "vt": v @ t, "n": float(len(t))}
    p, q = two_parameters("uu", "uv", "vv", "ut", "vt", "n")
    row = pl.DataFrame({name: [float(value)] for name, value in sums.items()}).select(p=p, q=q).row(0)
    return row[0], row[1]


@given(st.lists(st.tuples(*[st.floats(0.1, 10)] * 2, st.floats(-5, 5)), min_size=2, max_size=8))
def test_parameters_are_those_of_numpy(points: list[tuple[float, float, float]]) -> None:
    u, v, t = (np.array(column) for column in zip(*points, strict=True))
    columns = np.column_stack([u, v])
    found = solved(u, v, t)
    if np.linalg.cond(columns) > 1e3:
        return
    assert found == pytest.approx(tuple(np.linalg.lstsq(columns, t, rcond=None)[0]), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("points", [[(1.0, 2.0, 3.0)], [(1.0, 2.0, 3.0), (2.0, 4.0, 7.0)], []])
def test_points_that_do_not_tell_them_apart_tell_neither(points: list[tuple[float, float, float]]) -> None:
    u, v, t = (np.array([point[place] for point in points]) for place in range(3))
    assert solved(u, v, t) == (None, None)
