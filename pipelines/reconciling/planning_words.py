"""Counts and times as a plan's sentences tell them."""

from __future__ import annotations

import math

from pipelines.reconciling.planning_asks import MINUTES_PER_DAY


def racks_in_words(count: int) -> str:
    """Return a number of racks."""
    return "1 rack" if count == 1 else f"{count:,} racks"


def time_in_words(minutes: float) -> str:
    """Return a time in days from one day on, else in minutes."""
    return f"{minutes / MINUTES_PER_DAY:,.2f} days" if minutes >= MINUTES_PER_DAY else f"{minutes:,.2f} min"


def filled(replica: int, allowed: int) -> int:
    """Return the accelerators at work in a rack that is full.

    Args:
        replica: accelerators of one replica.
        allowed: accelerators that may be at work in a rack. A larger replica is spread evenly over as few as hold it.
    """
    return replica * (allowed // replica) if replica <= allowed else math.ceil(replica / math.ceil(replica / allowed))


def idle_in_words(replica: int, allowed: int) -> str:
    """Return why a full rack has fewer at work than it may, empty where it has as many."""
    idle = allowed - filled(replica, allowed)
    return f"whole replicas of {replica:,} leave {idle} idle" if idle else ""


def at_work_in_words(accelerators: int, racks: int, replica: int, allowed: int, slots: int) -> str:
    """Return how many accelerators are at work in each rack, and why not more."""
    full, why = filled(replica, allowed), idle_in_words(replica, allowed)
    reason = f": {why}" if why else ""
    last = accelerators - full * (racks - 1)
    if racks == 1:
        return f"{accelerators} of {slots} accelerators at work"
    told = f"{full} of {slots} accelerators at work in each"
    if last == full:
        return told + reason
    if replica > allowed:
        return f"up to {told}{reason}"
    return f"{told} but one, filled in part with {last}{reason}"
