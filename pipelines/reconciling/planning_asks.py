"""What a planner asks: a workload or a model, a platform and a precision, and a deadline or a size.

What an ask resolves to, facts at hand, belongs in `planning_platforms` and `planning_efficiency`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pipelines.modelling.workloads import Workload

MINUTES_PER_DAY = 24 * 60
LARGEST_COUNT = 10_000_000
"""Accelerators beyond which no plan is made."""


class PlanError(ValueError):
    """An ask that no plan follows from; the message says what to change.

    `field` is the field of `Ask` to change.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What parts cost, in one currency; none is shipped with the project."""

    currency: str
    accelerator: float
    nic: float = 0.0
    """Of one port."""
    switch: float = 0.0
    cable: float = 0.0
    rack: float = 0.0
    kilowatt_hour: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no price.

        Raises:
            PlanError: a price is negative or no number, or that of an accelerator is not above zero.
        """
        for name in ("accelerator", "nic", "switch", "cable", "rack", "kilowatt_hour"):
            if not math.isfinite(getattr(self, name)) or getattr(self, name) < 0:
                raise PlanError("prices", f"price of {name}: expected zero or more, found {getattr(self, name)}")
        if self.accelerator == 0:
            raise PlanError("prices", "price of accelerator: expected more than zero, found 0")


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One question: work, where it runs, and either a deadline or a size."""

    platform: str
    """A rack product, node or part: `GB200 NVL72`, `gb200-nvl72`, `h100`."""
    precision: str
    workload: str | None = None
    """A benchmark, named as in the logs; or else `model`, with `tokens` or `samples`."""
    model: Workload | None = None
    tokens: float | None = None
    samples: float | None = None
    target_minutes: float | None = None
    """A deadline; or else `days`, or a size: `racks`, `accelerators` or `megawatts`."""
    days: float | None = None
    racks: int | None = None
    accelerators: int | None = None
    megawatts: float | None = None
    active_per_rack: int | None = None
    """Accelerators that work in each rack; the platform's usual number where not given."""
    accelerators_per_rack: int | None = None
    """Accelerators that a rack holds; only for platforms without a rack product."""
    spare_racks: int = 0
    goodput: float | None = None
    """Share of the time that trains; uninterrupted running where not given."""
    oversubscription: float = 1.0
    nic_gigabits_per_second: float | None = None
    """Of one accelerator; the platform's where not given."""
    pue: float | None = None
    """Power usage effectiveness: power at the meter over that of the computers."""
    batch_most: int | None = None
    """Samples a step; what the round's results used, or 16.8 million tokens of a model, where not given."""
    prices: Prices | None = None

    def __post_init__(self) -> None:
        """Refuse what can be told to be wrong without any facts.

        Raises:
            PlanError: a field is missing, out of range, or contradicts another.
        """
        self._check_work()
        self._check_goal()
        for name in ("target_minutes", "days", "megawatts", "tokens", "samples", "nic_gigabits_per_second"):
            _require_positive(name, getattr(self, name))
        for name in ("racks", "accelerators", "active_per_rack", "accelerators_per_rack", "batch_most"):
            _require_count(name, getattr(self, name))
        if self.spare_racks < 0:
            raise PlanError("spare_racks", f"spare racks: expected zero or more, found {self.spare_racks}")
        if self.goodput is not None and not 0 < self.goodput <= 1:
            raise PlanError("goodput", f"goodput: expected a share above 0 and up to 1, found {self.goodput}")
        if not (math.isfinite(self.oversubscription) and self.oversubscription >= 1):
            raise PlanError(
                "oversubscription", f"oversubscription: expected 1 (none) or more, found {self.oversubscription}"
            )
        if self.pue is not None and not (math.isfinite(self.pue) and self.pue >= 1):
            raise PlanError(
                "pue", f"PUE: expected 1 or more, as power at the meter holds the computers' own, found {self.pue}"
            )

    def _check_work(self) -> None:
        if (self.workload is None) == (self.model is None):
            raise PlanError("workload", "work: name a benchmark, or give a model's config.json, one of the two")
        if self.model is not None and (self.tokens is None) == (self.samples is None):
            raise PlanError("tokens", "work: a model needs the tokens or the samples to train on, one of the two")
        if self.workload is not None and (self.tokens is not None or self.samples is not None):
            raise PlanError(
                "tokens", "work: a benchmark trains until it reaches its quality; leave tokens and samples out"
            )

    def _check_goal(self) -> None:
        goals = ("target_minutes", "days", "racks", "accelerators", "megawatts")
        given = [name for name in goals if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(name.replace("_", " ") for name in given) or "none"
            raise PlanError(
                given[-1] if given else "target_minutes",
                f"goal: give one of target minutes, days, racks, accelerators and megawatts; found {found}",
            )

    @property
    def deadline_minutes(self) -> float | None:
        """Return the deadline; None where a size is asked with."""
        if self.days is not None:
            return self.days * MINUTES_PER_DAY
        return self.target_minutes


def _require_positive(name: str, value: float | None) -> None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise PlanError(name, f"{name.replace('_', ' ')}: expected more than zero, found {value}")


def _require_count(name: str, value: int | None) -> None:
    if value is not None and not 0 < value <= LARGEST_COUNT:
        raise PlanError(name, f"{name.replace('_', ' ')}: expected 1 to {LARGEST_COUNT:,}, found {value}")
