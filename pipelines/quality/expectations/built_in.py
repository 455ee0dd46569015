"""The expectations that Great Expectations brings, by name, made only when a suite runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def built_in(name: str, **settings: Any) -> Callable[[], Any]:
    """Return what makes the expectation of that name with these settings."""

    def build() -> Any:
        import great_expectations.expectations as expectations

        return getattr(expectations, name)(**settings)

    return build
