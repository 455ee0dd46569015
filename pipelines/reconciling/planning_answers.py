"""What a plan says, part by part, in the order in which it is told: plain data, units in the names of fields.

A figure that nothing supports is None, and a sentence beside it says why. How an answer is laid out belongs in the
command.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.reconciling.planning_asks import Ask


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Everything that the answer follows from, as it was resolved."""

    work: str
    platform: str
    """Canonical name."""
    accelerator: str
    precision: str
    peak_teraflops: float
    """Dense, of one accelerator at the precision."""
    memory_bytes: int
    """Of one accelerator."""
    scale_up_gigabytes_per_second: float
    """Of one accelerator, one direction."""
    nic_gigabits_per_second: float
    """Of one accelerator, one direction."""
    nic_basis: str
    accelerators_per_rack: int
    active_per_rack: int
    domain_accelerators: int
    """Accelerators at work in one scale-up domain."""
    rack_basis: str
    oversubscription: float
    goodput: float | None
    pue: float | None
    spare_racks: int
    total_parameters: float
    active_parameters: float
    sequence_length: int
    samples: float | None
    """To train on; None for a benchmark, whose need depends on the batch."""
    batch_least: int
    batch_most: int
    batch_basis: str
    newest_round: str
    """Of the runs that it rests on."""


@dataclass(frozen=True, kw_only=True)
class Basis:
    """What the predicted step rests on."""

    kind: str
    """`calibrated`: runs of this workload on this part at this precision; `points`: runs of others."""
    family: str | None
    """Family of runs whose fit it is."""
    micro_batch_seconds: float | None
    """a of the family; None where it follows from the efficiency."""
    fixed_seconds: float
    efficiency: float
    """Model FLOPs (causal) over dense peak while a pipeline is full."""
    efficiency_low: float
    efficiency_high: float
    error_percent: float | None
    """Mean error with each run held out, in the step; None where it cannot be estimated."""
    worst_error_percent: float | None
    error_reason: str | None
    """Why there is no error."""
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Racks:
    """How many racks, by every way of counting."""

    recommended: int
    low: int
    high: int
    noise_low: int | None
    """Where the time may miss by what the benchmark's own runs scatter."""
    noise_high: int | None
    spare: int
    ordered: int
    """Recommended and spare."""
    by_division: int
    """The accelerators over the slots of a rack."""
    by_replica: int
    """Whole replicas of the model in each rack."""
    by_model: int
    """What the step-time model gives for the goal, in racks with so many at work as asked."""
    by_largest_held_out: int | None
    """The same without the family's largest run."""
    by_power_law: float | None
    """By a law through two measured scores, not rounded."""
    accelerators_per_rack: int
    active_per_rack: int
    """At work in a rack that is full: whole replicas, so perhaps fewer than may be."""
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """One way to spread the work."""

    accelerators: int
    racks: int
    replica_accelerators: int
    tensor_parallel: int
    context_parallel: int
    pipeline_parallel: int
    virtual_pipeline: int
    expert_parallel: int
    data_parallel: int
    micro_batch: int
    micro_batches: int
    global_batch_size: int
    layout: str
    memory_needed_bytes: float
    memory_available_bytes: int
    recompute: str
    """`selective` or `full`: what of the activations is computed again."""
    minutes: float
    step_seconds: float


@dataclass(frozen=True, kw_only=True)
class Time:
    """How long the work takes on the recommended racks."""

    minutes: float
    low_minutes: float | None
    high_minutes: float | None
    days: float
    interval_basis: str
    steps: float
    step_seconds: float
    bubble_share: float
    fixed_share: float
    goodput: float | None
    on_the_calendar_minutes: float
    """Minutes over goodput; the same as `minutes` where running is uninterrupted."""
    goodput_sentence: str


@dataclass(frozen=True, kw_only=True)
class Network:
    """Whether the NICs are enough."""

    verdict: str
    """`enough`, `not_enough` or `too_close_to_call`."""
    available_gigabytes_per_second: float
    """Of one accelerator, one direction, before oversubscription."""
    needed_low_gigabytes_per_second: float
    needed_gigabytes_per_second: float
    needed_high_gigabytes_per_second: float
    scale_out_bytes: float
    """That one accelerator sends in a step."""
    scale_up_bytes: float
    exposed_seconds: float
    exposed_share: float
    """Of the step, by the window model."""
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Fabric:
    """Switches and cables of the recommended racks, spare ones included."""

    endpoints: int
    radix: int
    tiers: int
    rails: int
    leaf_switches: int
    spine_switches: int
    core_switches: int
    host_cables: int
    leaf_spine_cables: int
    spine_core_cables: int
    oversubscription: float
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Power:
    """Rated power: an upper bound of what is drawn, so nothing is divided by it."""

    computer_kilowatts_low: float
    computer_kilowatts_high: float
    facility_kilowatts_low: float | None
    """With PUE; None where none is given."""
    facility_kilowatts_high: float | None
    pue: float | None
    kilowatts_per_rack_low: float
    kilowatts_per_rack_high: float
    basis: str
    """`rack`, `node` or `part`: what the rating is of; a part's leaves out all around it."""
    level: str
    """Level of scale that is fed such a power."""
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Binding:
    """What keeps the plan from being smaller, or the time from being shorter."""

    constraint: str
    """`time`, `memory`, `batch`, `racks` or `power`."""
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """The measured run that is most like the plan."""

    result_id: str
    accelerator: str
    accelerators: int
    precision: str
    score_minutes: float
    size_ratio: float
    """Accelerators of the plan over those of the run."""
    is_same_workload: bool
    is_same_accelerator: bool
    is_same_precision: bool
    is_same_layout: bool
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Assumption:
    """One assumption, and what the answer would be if it alone were otherwise."""

    name: str
    value: str
    varied_to: str
    moves: str
    """Figure that it moves most: `racks`, `days`, `minutes`, `kilowatts` or `needed_gigabytes_per_second`."""
    from_value: float
    to_value: float | None
    """None where the goal is then out of reach."""
    change_percent: float | None
    sentence: str


@dataclass(frozen=True, kw_only=True)
class BreakEven:
    """What a faster network would be worth, without any price."""

    modelled_percent: float
    """Of the cost of the accelerators, by the window model, at the most: nothing exposed."""
    unfavourable_percent: float
    """The same under the least favourable assumptions."""
    measured_sentence: str | None
    """What pairs of runs with other NICs show; None where there are none."""
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Cost:
    """By the prices given."""

    currency: str
    accelerators: float
    network: float
    racks: float
    energy_bound: float | None
    """At rated power for the whole time; None without a price of energy or without a rating."""
    total: float
    """Without energy."""
    break_even_network: float
    """What a network that exposes nothing may cost more, by the window model."""


@dataclass(frozen=True, kw_only=True)
class Searched:
    """What was looked at; every candidate has its memory verdict, its traffic and its step time."""

    layouts: int
    candidates: int
    fitting: int
    """Candidates that fit in memory."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A plan. `extrapolations` come first where there are any."""

    ask: Ask
    """Asked again, it gives the same answer."""
    inputs: Inputs
    extrapolations: tuple[str, ...]
    basis: Basis
    racks: Racks
    cluster: Cluster
    time: Time
    network: Network
    fabric: Fabric | None
    fabric_reason: str | None
    power: Power | None
    power_reason: str | None
    binding: Binding
    nearest: Nearest | None
    nearest_reason: str | None
    assumptions: tuple[Assumption, ...]
    """Those that move the racks or the time, then the network's need, then the power; the farthest first."""
    break_even: BreakEven
    cost: Cost | None
    alternative: Cluster | None
    """Of a calibrated plan, the smallest of layouts that no run here used: by efficiency alone, so an extrapolation."""
    searched: Searched


@dataclass(frozen=True, kw_only=True)
class FrontierPoint:
    """A plan that no other beats on time, accelerators and power at once."""

    cluster: Cluster
    computer_kilowatts: float | None


@dataclass(frozen=True, kw_only=True)
class Frontier:
    """All such plans, fewest racks first, and what they stand on; `extrapolations` come first where there are any."""

    points: tuple[FrontierPoint, ...]
    extrapolations: tuple[str, ...]
    inputs: Inputs
    basis: Basis


@dataclass(frozen=True, kw_only=True)
class ComparisonRow:
    """One figure of two plans."""

    figure: str
    unit: str
    first: Any
    second: Any
    ratio: float | None
    """Second over first; None where they are no numbers or the first is zero."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two plans side by side."""

    first: Answer
    second: Answer
    rows: tuple[ComparisonRow, ...]
