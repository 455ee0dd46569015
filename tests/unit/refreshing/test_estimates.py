"""How far a refresh says it is, and how it learns from its own pace."""

from __future__ import annotations

import pytest

from pipelines.refreshing.estimates import Course, Standing


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_what_is_left_follows_the_pace_of_what_has_ended(clock: Clock) -> None:
    shown: list[Standing] = []
    course = Course(shown.append, clock)
    for name, seconds in {"first": 8.0, "second": 8.0, "answers": 12.0}.items():
        course.expect(name, seconds)
    course.begin("first")
    clock.seconds += 34  # twice as slow as measured: 4 s to load and 8 s for the part, 10 s of which count as known
    course.end("first")
    course.begin("second")
    clock.seconds += 16
    course.end("second")
    course.begin("answers")
    assert shown == [Standing(1, 3, 32.0), Standing(2, 3, 30.0), Standing(3, 3, 14.0)]
    assert str(shown[1]) == "2 of 3, about 30 s left"


def test_what_is_left_is_never_nothing(clock: Clock) -> None:
    shown: list[Standing] = []
    course = Course(shown.append, clock)
    course.expect("only", 1.0)
    clock.seconds += 60
    course.begin("only")
    assert shown == [Standing(1, 1, 1.0)]


def test_parts_that_begin_together_count_as_begun(clock: Clock) -> None:
    shown: list[Standing] = []
    course = Course(shown.append, clock)
    for name in ("a", "b", "answers"):
        course.expect(name, 10.0)
    course.begin("a")
    course.begin("b")
    assert [standing.number for standing in shown] == [1, 2]
    clock.seconds += 10
    course.end("b")
    course.end("a")
    course.begin("answers")
    assert shown[-1] == Standing(3, 3, 10.0)
