"""The expectations that Great Expectations brings, under the names that checks use, made only when a suite runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Build = Callable[[], Any]
"""What makes an expectation."""


def between(column: str, least: float | None = None, most: float | None = None) -> Build:
    """Expect figures from the least to the most; without a limit where one is not given."""
    return _built_in("ExpectColumnValuesToBeBetween", column=column, min_value=least, max_value=most)


def above_zero(column: str, most: float) -> Build:
    """Expect figures above zero, up to the most."""
    return _built_in("ExpectColumnValuesToBeBetween", column=column, min_value=0, strict_min=True, max_value=most)


def one_of(column: str, allowed: Iterable[str]) -> Build:
    """Expect none but the words allowed."""
    return _built_in("ExpectColumnValuesToBeInSet", column=column, value_set=list(allowed))


def none_of(column: str, *refused: str) -> Build:
    """Expect none of the words refused."""
    return _built_in("ExpectColumnValuesToNotBeInSet", column=column, value_set=list(refused))


def not_null(column: str) -> Build:
    """Expect a value in every row."""
    return _built_in("ExpectColumnValuesToNotBeNull", column=column)


def at_least(column: str, other: str) -> Build:
    """Expect the figure of one column to be at least that of the other, where both are known."""
    return _pair(column, other, or_equal=True)


def more_than(column: str, other: str) -> Build:
    """Expect the figure of one column to be above that of the other, where both are known."""
    return _pair(column, other)


def _pair(column: str, other: str, **settings: Any) -> Build:
    return _built_in(
        "ExpectColumnPairValuesAToBeGreaterThanB",
        column_A=column,
        column_B=other,
        ignore_row_if="either_value_is_missing",
        **settings,
    )


def _built_in(name: str, **settings: Any) -> Build:
    def build() -> Any:
        import great_expectations.expectations as expectations

        return getattr(expectations, name)(**settings)

    return build
