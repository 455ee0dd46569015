"""From what was typed to an ask of the planning engine, and back to the command that asks it again.

What an ask means, and which values make sense beside each other, belongs in `reconciling.planning_asks`.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pipelines._cli.messages import UsageError
from pipelines.modelling.flops import total_parameters
from pipelines.modelling.model_config import LARGEST_BYTES, ModelConfigError, workload_from_config
from pipelines.modelling.workloads import Workload, frame
from pipelines.reconciling.planning_asks import Ask, PlanError, Prices

_THOUSANDS = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_COUNT = re.compile(r"(?P<number>\d[\d_,]*(\.\d+)?(e\d{1,2})?|\.\d+)\s*(?P<suffix>[A-Za-z]?)", re.IGNORECASE)
_SHARE = re.compile(r"(?P<number>\d*\.?\d+)\s*(?P<percent>%?)")
_RATE = re.compile(r"(?P<number>\d*\.?\d+)\s*(?P<unit>G|Gb/s|Gbps|Gbit/s|T|Tb/s|Tbps|Tbit/s)?")
_LARGEST_PRICES_BYTES = 100_000
_LONGEST_NAME = 60

USUAL_SEQUENCE_LENGTH = 8192
"""Tokens of a sample where none are given: most of a pre-training is run so, whatever more a model takes."""

_OPTION_OF = {
    "workload": "the work (--workload or --model)",
    "tokens": "--tokens or --samples",
    "target_minutes": "a goal (--target-minutes, --days, --racks, --accelerators or --megawatts)",
    "nic_gigabits_per_second": "--nic",
}
"""Options to give where a field of an ask is missing, and where an option has another name."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was typed; each field is the option of that name."""

    workload: str | None = None
    model: Path | None = None
    tokens: str | None = None
    samples: str | None = None
    sequence_length: int | None = None
    target_minutes: float | None = None
    days: float | None = None
    racks: int | None = None
    accelerators: int | None = None
    megawatts: float | None = None
    platform: str | None = None
    precision: str | None = None
    active_per_rack: int | None = None
    accelerators_per_rack: int | None = None
    spare_racks: int = 0
    goodput: str | None = None
    oversubscription: float = 1.0
    nic: str | None = None
    batch_most: int | None = None
    pue: float | None = None
    prices: Path | None = None

    def command(self, *more: str) -> str:
        """Return the command that asks the same again."""
        given = [(entry.name, getattr(self, entry.name)) for entry in fields(self)]
        defaults = {entry.name: entry.default for entry in fields(self)}
        typed = [
            word
            for name, value in given
            if value != defaults[name]
            for word in (f"--{name.replace('_', '-')}", _plain(value))
        ]
        return shlex.join(["rackrecon", "plan", *typed, *more])

    def ask(self) -> Ask:
        """Return what is asked.

        Raises:
            UsageError: an option is missing, cannot be read, or contradicts another.
        """
        missing = self._missing()
        if missing or self.platform is None or self.precision is None:
            raise UsageError(f"a plan needs {', '.join(missing)}; `rackrecon plan --help` shows examples")
        if self.sequence_length is not None and self.model is None:
            raise UsageError("--sequence-length is of a model: leave it out, a benchmark has its own")
        tokens, samples = _count("--tokens", self.tokens), _count("--samples", self.samples)
        goodput, nic = _share("--goodput", self.goodput), _gigabits("--nic", self.nic)
        model = None if self.model is None else _model(self.model, self.sequence_length)
        prices = None if self.prices is None else _prices(self.prices)
        try:
            return Ask(
                platform=self.platform,
                precision=self.precision.lower(),
                workload=self.workload,
                model=model,
                tokens=tokens,
                samples=samples,
                target_minutes=self.target_minutes,
                days=self.days,
                racks=self.racks,
                accelerators=self.accelerators,
                megawatts=self.megawatts,
                active_per_rack=self.active_per_rack,
                accelerators_per_rack=self.accelerators_per_rack,
                spare_racks=self.spare_racks,
                goodput=goodput,
                oversubscription=self.oversubscription,
                nic_gigabits_per_second=nic,
                batch_most=self.batch_most,
                pue=self.pue,
                prices=prices,
            )
        except PlanError as error:
            raise refused(error, self) from None

    def _missing(self) -> list[str]:
        """Return what no plan goes without and was not given."""
        goals = (self.target_minutes, self.days, self.racks, self.accelerators, self.megawatts)
        return [
            option
            for option, is_given in (
                (_OPTION_OF["workload"], (self.workload, self.model) != (None, None)),
                (_OPTION_OF["target_minutes"], any(goal is not None for goal in goals)),
                ("--platform (such as gb200-nvl72)", self.platform is not None),
                ("--precision (such as fp8)", self.precision is not None),
            )
            if not is_given
        ]

    def beside(self, name: str) -> Options:
        """Return the same with one thing otherwise, as --compare names it: a NIC, a platform, one at a precision."""
        if _RATE.fullmatch(name.strip()):
            return replace(self, nic=name.strip())
        platform, slash, precision = name.rpartition("/")
        if slash and re.fullmatch(r"[a-z]{2,4}\d{1,2}", precision.strip(), re.IGNORECASE):
            return replace(self, platform=platform.strip(), precision=precision.strip())
        return replace(self, platform=name.strip())


def refused(error: PlanError, options: Options) -> UsageError:
    """Return an engine's refusal with the option to change, or with those of which one is needed."""
    own = f"--{error.field.replace('_', '-')}"
    is_given = getattr(options, error.field, None) is not None
    return UsageError(f"{error} ({own if is_given else _OPTION_OF.get(error.field, own)})")


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def _count(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    match = _COUNT.fullmatch(text.strip())
    if match is None or match["suffix"].upper() not in _THOUSANDS:
        raise UsageError(
            f"{option}: expected a number, with K, M, B or T for thousands, millions, billions or trillions, "
            f"such as 20T, 300B or 1.5e12; found {text!r}"
        )
    return float(re.sub("[_,]", "", match["number"])) * _THOUSANDS[match["suffix"].upper()]


def _share(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    match = _SHARE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{option}: expected a share such as 0.9, or 90%; found {text!r}")
    return float(match["number"]) / (100 if match["percent"] else 1)


def _gigabits(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"{option}: expected gigabits a second of one accelerator, such as 400 or 400G; found {text!r}; "
            "1 GB/s are 8 Gb/s"
        )
    return float(match["number"]) * (1000 if (match["unit"] or "").startswith("T") else 1)


def _model(path: Path, sequence_length: int | None) -> Workload:
    content = _read(path, LARGEST_BYTES)
    try:
        model = workload_from_config(content, sequence_length=sequence_length)
        if sequence_length is None and model.sequence_length > USUAL_SEQUENCE_LENGTH:
            model = workload_from_config(content, sequence_length=USUAL_SEQUENCE_LENGTH)
        return _named(model)
    except ModelConfigError as error:
        raise UsageError(f"{path}: {error}") from None


def _named(model: Workload) -> Workload:
    """Return the model under a short name with its size; of a path on somebody's disk its last part stays."""
    own = model.model.rstrip("/")
    own = own.rpartition("/")[2] if own.startswith(("/", ".", "~")) or own.count("/") > 1 else own
    billions = frame([model]).select(total_parameters()).item() / 1e9
    size = f"{billions:,.0f}" if billions >= 1000 else f"{billions:.3g}"  # digits, where :g turns to powers of ten
    name = f"{own[:_LONGEST_NAME]} ({size}B)"
    return replace(model, benchmark=name, model=name)


def _prices(path: Path) -> Prices:
    known = {entry.name: entry.type for entry in fields(Prices)}
    try:
        given: dict[str, Any] = tomllib.loads(_read(path, _LARGEST_PRICES_BYTES).decode("utf-8"))
    except ValueError as error:
        raise UsageError(f"{path}: expected TOML: {error}") from None
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{path}: {name}: no such price; expected some of {', '.join(known)}")
        is_right = isinstance(value, str) if name == "currency" else type(value) in (int, float)
        if not is_right:
            expected = "a text such as EUR" if name == "currency" else "a number"
            raise UsageError(f"{path}: {name}: expected {expected}, found {value!r}")
    missing = [name for name in ("currency", "accelerator") if name not in given]
    if missing:
        raise UsageError(f"{path}: {' and '.join(missing)} missing")
    try:
        return Prices(**given)
    except PlanError as error:
        raise UsageError(f"{path}: {error}") from None


def _read(path: Path, most_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > most_bytes:
        raise UsageError(f"{path}: expected at most {most_bytes:,} bytes")
    return content
