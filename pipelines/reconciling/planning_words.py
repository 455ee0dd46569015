"""Counts and times as a plan's sentences tell them."""

from __future__ import annotations

from pipelines.reconciling.planning_asks import MINUTES_PER_DAY


def racks_in_words(count: int) -> str:
    """Return a number of racks."""
    return "1 rack" if count == 1 else f"{count:,} racks"


def time_in_words(minutes: float) -> str:
    """Return a time in days from one day on, else in minutes."""
    return f"{minutes / MINUTES_PER_DAY:,.2f} days" if minutes >= MINUTES_PER_DAY else f"{minutes:,.2f} min"
