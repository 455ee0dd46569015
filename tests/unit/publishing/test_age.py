"""The calendar of rounds and the line that says how old the figures are."""

from __future__ import annotations

from datetime import date

import pytest

from pipelines.publishing.age import age_line, newest, newest_known, newest_published


@pytest.mark.parametrize(
    ("series", "today", "name"),
    [
        ("training", date(2025, 6, 30), "training-v4.1"),
        ("training", date(2025, 7, 1), "training-v5.0"),
        ("training", date(2025, 11, 15), "training-v5.0"),
        ("training", date(2025, 12, 1), "training-v5.1"),
        ("training", date(2026, 1, 1), "training-v5.1"),
        ("training", date(2026, 8, 1), "training-v6.0"),
        ("inference", date(2025, 10, 1), "inference-v5.1"),
        ("inference", date(2025, 3, 1), "inference-v4.1"),
    ],
)
def test_the_calendar(series: str, today: date, name: str) -> None:
    assert newest_published(series, today).name == name


def test_hpc_has_no_calendar() -> None:
    with pytest.raises(KeyError):
        newest_published("hpc", date(2025, 1, 1))


def test_versions_are_compared_as_numbers() -> None:
    assert newest(["training-v9.1", "training-v10.0", "inference-v11.0", "scratch"], "training") == "training-v10.0"
    assert newest(["hpc-v3.0"], "training") is None


def test_the_line_says_what_is_missing() -> None:
    today = date(2026, 8, 1)
    assert age_line({"training-v5.0": None, "training-v5.1": "2026-07-02T10:00:00Z"}, today) == (
        "Newest training round here: training-v5.1, read 2026-07-02; newest published as far as is known: "
        "training-v6.0 (June 2026, by the calendar of rounds); what was published since is not in these figures."
    )
    assert "not in these figures" not in age_line({"training-v6.0": None}, today)
    assert age_line({}, today).startswith("No training round here yet; newest published")


def test_a_round_that_its_publisher_lists_is_known_before_the_calendar_has_it() -> None:
    today = date(2026, 8, 1)
    assert newest_known("training", today, ["training-v6.1", "hpc-v3.0"]) == (
        "training-v6.1",
        "listed by its publisher",
    )
    by_the_calendar = ("training-v6.0", "June 2026, by the calendar of rounds")
    assert newest_known("training", today, ["training-v5.1"]) == by_the_calendar
    assert "not in these figures" in age_line({"training-v6.0": None}, today, ["training-v6.1"])
    assert "not in these figures" not in age_line({"training-v6.1": None}, today, ["training-v6.1"])
