"""Ratios: a figure that somebody states, near the one that is known, or at least in the same league."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def expect_ratio() -> type[Any]:
    """Return the expectation class; takes `column_A` over `column_B`, which lies between `least` and `most`.

    Rows where either figure is missing satisfy it: there is nothing to hold against the other.
    """
    from great_expectations.execution_engine import PandasExecutionEngine
    from great_expectations.expectations.expectation import ColumnPairMapExpectation
    from great_expectations.expectations.metrics.map_metric_provider import (
        ColumnPairMapMetricProvider,
        column_pair_condition_partial,
    )

    # Great Expectations has no types that mypy follows.
    class Ratio(ColumnPairMapMetricProvider):  # type: ignore[misc]
        condition_metric_name = "column_pair_values.ratio"
        condition_value_keys = ("least", "most")

        # Its decorator makes a class method of this, names the columns and has no types.
        @column_pair_condition_partial(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
        def _pandas(cls, column_A: Any, column_B: Any, least: float, most: float, **_: Any) -> Any:  # noqa: N803, N805
            ratio = column_A.astype(float) / column_B.astype(float)
            return ratio.isna() | ratio.between(least, most)

    # As above: a base without types.
    class ExpectRatio(ColumnPairMapExpectation):  # type: ignore[misc]
        """Expect column A over column B to lie between two limits."""

        least: float
        most: float
        ignore_row_if: str = "either_value_is_missing"

        map_metric = Ratio.condition_metric_name
        success_keys = ("least", "most", "ignore_row_if", "mostly")
        args_keys = ("column_A", "column_B", "least", "most")

    return ExpectRatio
