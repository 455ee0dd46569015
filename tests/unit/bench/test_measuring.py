"""What the page of benchmarks says of a goal."""

from __future__ import annotations

import pytest

from tests.bench.measuring import goal


@pytest.mark.parametrize(
    ("wanted", "measured", "at_most", "said"),
    [
        (300, 300, False, "goal 300"),
        (300, 299.9, False, "goal 300, missed"),
        (1_000, 1_100, False, "goal 1,000"),
        (1.1, 1.1, True, "goal 1.1"),
        (1.1, 1.16, True, "goal 1.1, missed"),
    ],
)
def test_a_goal_that_is_not_met_is_called_missed(wanted: float, measured: float, *, at_most: bool, said: str) -> None:
    assert goal(wanted, measured, at_most=at_most) == said
