from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.spec_sheets.cells import as_printed, is_missing, number


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("80", 80.0),
        (" 1,979 ", 1979.0),
        ("1.5e+16", 1.5e16),
        ("2,765.5", 2765.5),
        (".85", 0.85),
        ("-3", -3.0),
        (81559, 81559.0),
        (8e-06, 8e-06),
    ],
)
def test_a_number_is_read(cell: object, value: float) -> None:
    assert number(cell) == value


@pytest.mark.parametrize(
    "cell", ["", "~157", "120-132", "80 GB", "1,23", "nan", "inf", "1e999", True, None, [1], "1_000"]
)
def test_what_is_more_or_less_than_a_number_is_none(cell: object) -> None:
    assert number(cell) is None


@pytest.mark.parametrize("cell", ["", "  ", "unk", "NaN", "Nan", "N/A", "?", "-", None, "null"])
def test_cells_that_state_nothing(cell: object) -> None:
    assert is_missing(cell)


@pytest.mark.parametrize("cell", ["0", "none (PCIe)", "80"])
def test_cells_that_state_something(cell: object) -> None:
    assert not is_missing(cell)


def test_numbers_print_without_a_needless_fraction() -> None:
    assert as_printed(80.0) == "80"
    assert as_printed(494.7) == "494.7"


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e30, max_value=1e30))
def test_every_float_that_python_prints_is_read_back(value: float) -> None:
    assert number(repr(value)) == value


@given(st.text())
def test_a_text_is_a_finite_number_or_none(text: str) -> None:
    value = number(text)
    assert value is None or math.isfinite(value)
