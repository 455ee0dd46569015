"""How old is what we have? The newest round here, against the newest that the calendar of rounds has published.

MLCommons publishes training rounds in June and November and inference rounds in April and September; since 2022 a
round is named after its year (2025: v5.0 and v5.1). Freshness is judged against that calendar, not the last refresh.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

MONTHS = {"training": (6, 11), "inference": (4, 9)}
"""Month of a year's .0 and .1 round; a round counts as published from the first day of the next month."""

_YEAR_OF_V0 = 2020
_MONTH_NAMES = {4: "April", 6: "June", 9: "September", 11: "November"}
_ROUND = re.compile(r"(?P<series>[a-z]+)-v(?P<major>\d+)\.(?P<minor>\d+)")


@dataclass(frozen=True, order=True)
class CalendarRound:
    """One round that the calendar knows."""

    year: int
    month: int
    name: str

    @property
    def month_in_words(self) -> str:
        """Return the month of publication, such as June 2025."""
        return f"{_MONTH_NAMES[self.month]} {self.year}"


def newest_published(series: str, today: date) -> CalendarRound:
    """Return the newest round of `training` or `inference` that the calendar has published by `today`.

    Raises:
        KeyError: the series has no calendar (HPC rounds were irregular).
    """
    months = MONTHS[series]
    rounds = [
        CalendarRound(year, month, f"{series}-v{year - _YEAR_OF_V0}.{minor}")
        for year in (today.year - 1, today.year)
        for minor, month in enumerate(months)
    ]
    return max(entry for entry in rounds if (entry.year, entry.month) < (today.year, today.month))


def newest(rounds: Iterable[str], series: str) -> str | None:
    """Return the newest round of the series by version, None where there is none."""
    versions = {
        (int(match["major"]), int(match["minor"])): name
        for name in rounds
        if (match := _ROUND.fullmatch(name)) and match["series"] == series
    }
    return versions[max(versions)] if versions else None


def newest_known(series: str, today: date, listed: Iterable[str] = ()) -> tuple[str, str]:
    """Return the newest round that is known to be published, and what says so.

    Args:
        series: `training` or `inference`.
        today: Day that the calendar is read on.
        listed: Rounds that their publisher was seen to list.
    """
    due = newest_published(series, today)
    seen = newest(listed, series)
    if seen is not None and newest([seen, due.name], series) == seen:
        return seen, "listed by its publisher"
    return due.name, f"{due.month_in_words}, by the calendar of rounds"


def age_line(read_at: Mapping[str, str | None], today: date, listed: Iterable[str] = ()) -> str:
    """Return the first line of a run: newest round here, newest published as far as known, when it was read.

    Args:
        read_at: When the bytes of each round here were read, ISO 8601; null where that is not known.
        today: Day that the calendar is read on.
        listed: Rounds that their publisher was seen to list.
    """
    here = newest(read_at, "training")
    published, says = newest_known("training", today, listed)
    told = f"newest published as far as is known: {published} ({says})"
    if here is None:
        return f"No training round here yet; {told}."
    behind = (
        "" if newest([here, published], "training") == here else "; what was published since is not in these figures"
    )
    moment = read_at[here]
    read = f", read {moment[:10]}" if moment else ""
    return f"Newest training round here: {here}{read}; {told}{behind}."
