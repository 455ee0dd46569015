"""Whole racks: an accelerator count that fills racks of the stated size, or less than one rack."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def expect_whole_racks() -> type[Any]:
    """Return the expectation class; takes `column_list=[accelerator count, slots per rack]`.

    A row satisfies it when the count is a whole number of racks, or smaller than one rack (a part rack is no error).
    Rows where either figure is missing satisfy it: there is nothing to hold against the other.
    """
    from great_expectations.execution_engine import PandasExecutionEngine
    from great_expectations.expectations.expectation import MulticolumnMapExpectation
    from great_expectations.expectations.metrics.map_metric_provider import (
        MulticolumnMapMetricProvider,
        multicolumn_condition_partial,
    )

    # Great Expectations has no types that mypy follows.
    class WholeRacks(MulticolumnMapMetricProvider):  # type: ignore[misc]
        condition_metric_name = "multicolumn_values.whole_racks"

        # Its decorator makes a class method of this and has no types.
        @multicolumn_condition_partial(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
        def _pandas(cls, column_list: Any, **_: Any) -> Any:  # noqa: N805
            accelerators, slots = column_list.iloc[:, 0], column_list.iloc[:, 1]
            return accelerators.isna() | slots.isna() | (accelerators % slots == 0) | (accelerators < slots)

    # As above: a base without types.
    class ExpectWholeRacks(MulticolumnMapExpectation):  # type: ignore[misc]
        """Expect each count to be a whole number of racks, or less than one rack."""

        map_metric = WholeRacks.condition_metric_name
        args_keys = ("column_list",)

    return ExpectWholeRacks
