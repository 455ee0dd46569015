"""Products: a figure that must be the product of others beside it, such as batch = replicas x micro-batch x steps."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def expect_product() -> type[Any]:
    """Return the expectation class; takes `column_list=[factor, ..., product]` and `tolerance`, relative.

    A row satisfies it where the factors multiply to the product. Rows where a figure is missing satisfy it: there is
    nothing to hold against the other.
    """
    from great_expectations.execution_engine import PandasExecutionEngine
    from great_expectations.expectations.expectation import MulticolumnMapExpectation
    from great_expectations.expectations.metrics.map_metric_provider import (
        MulticolumnMapMetricProvider,
        multicolumn_condition_partial,
    )

    # Great Expectations has no types that mypy follows.
    class Product(MulticolumnMapMetricProvider):  # type: ignore[misc]
        condition_metric_name = "multicolumn_values.product"
        condition_value_keys = ("tolerance",)

        # Its decorator makes a class method of this and has no types.
        @multicolumn_condition_partial(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
        def _pandas(cls, column_list: Any, tolerance: float, **_: Any) -> Any:  # noqa: N805
            figures = column_list.astype(float)
            product = figures.iloc[:, :-1].prod(axis=1, skipna=False)
            stated = figures.iloc[:, -1]
            return product.isna() | stated.isna() | ((product - stated).abs() <= tolerance * stated.abs())

    # As above: a base without types.
    class ExpectProduct(MulticolumnMapExpectation):  # type: ignore[misc]
        """Expect the last column to be the product of the others."""

        tolerance: float = 0.0

        map_metric = Product.condition_metric_name
        success_keys = ("tolerance", "mostly")
        args_keys = ("column_list", "tolerance")

    return ExpectProduct
