"""A plan in words: one answer first, then part by part, each with its figure, its reasons and its rows.

Where the words go, a terminal or a page, belongs in `plan_text` and `plan_page`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pipelines.publishing.plan_racks import of_those_given, racks_at_work
from pipelines.reconciling.planning_answers import Answer, Cluster, Inputs, Nearest
from pipelines.reconciling.planning_asks import Ask

DERIVED = "All figures here are derived from published results and specifications; none is an official result."

_DAYS_FROM_MINUTES = 2 * 24 * 60
_HOURS_FROM_MINUTES = 180


@dataclass(frozen=True)
class Rows:
    """A small table; the columns named in `numbers` stand right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """One part of a plan."""

    title: str
    figure: str
    """What is read first; empty where the rows are all."""
    sentences: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    rows: Rows | None = field(default=None)


def headline(answer: Answer) -> str:
    """Return the answer in one line: racks for a deadline, a time for a size."""
    racks, time, inputs = answer.racks, answer.time, answer.inputs
    if answer.ask.deadline_minutes is None:
        return (
            f"{_time_range(answer)} on {_count(racks.recommended, 'rack')} of {inputs.platform}, for {inputs.work} "
            f"at {inputs.precision}{of_those_given(answer)}"
        )
    span = "" if racks.low == racks.high else f" ({racks.low:,} to {racks.high:,})"
    predicted, asked = duration(time.on_the_calendar_minutes), _asked(answer.ask)
    return (
        f"{_count(racks.recommended, 'rack')}{span} of {inputs.platform}, for {inputs.work} in {asked} at "
        f"{inputs.precision}; predicted {predicted}"
    )


def _asked(ask: Ask) -> str:
    """Return the deadline in the unit that it was given in."""
    number, unit = (ask.days, "day") if ask.days is not None else (ask.target_minutes or 0.0, "minute")
    return f"{number:,.10g} {unit}{'' if number == 1 else 's'}"


def derived(inputs: Inputs) -> str:
    """Return what the answer is: ours."""
    return f"Derived by a model from results up to {inputs.newest_round}, not an official result."


def parts(answer: Answer) -> Iterator[Part]:
    """Give the parts in the order in which a planner asks."""
    yield _racks(answer)
    yield _cluster(answer)
    yield _time(answer)
    yield _network(answer)
    yield _fabric(answer)
    yield _power(answer)
    if answer.cost is not None:
        yield _cost(answer)
    yield Part("Faster network", answer.break_even.sentence, _some(answer.break_even.measured_sentence))
    yield Part("What binds", answer.binding.sentence)
    yield _nearest(answer)
    yield _assumptions(answer)
    yield _basis(answer)
    yield _searched(answer)


def inputs(answer: Answer) -> Rows:
    """Return every input as it was resolved."""
    given = answer.inputs
    goodput = "not given: uninterrupted running" if given.goodput is None else f"{given.goodput:.6g}"
    rows = (
        ("work", given.work),
        ("model", f"{_big(given.total_parameters)} parameters, {_big(given.active_parameters)} active"),
        ("samples", _samples(answer)),
        ("platform", f"{given.platform} of {given.accelerator}"),
        ("precision", f"{given.precision}, dense peak {given.peak_teraflops:,.6g} TFLOPS an accelerator"),
        ("memory", f"{given.memory_bytes / 1e9:,.1f} GB an accelerator"),
        (
            "scale-up",
            f"{given.scale_up_gigabytes_per_second:,.6g} GB/s a direction, "
            f"up to {given.domain_accelerators} at work in a domain",
        ),
        ("NIC", f"{given.nic_gigabits_per_second:,.6g} Gb/s an accelerator ({given.nic_basis})"),
        (
            "rack",
            f"up to {given.active_per_rack} of {given.accelerators_per_rack} accelerators at work ({given.rack_basis})",
        ),
        ("spare racks", f"{given.spare_racks:,}"),
        ("goodput", goodput),
        ("oversubscription", f"{given.oversubscription:.6g}"),
        ("PUE", "not given" if given.pue is None else f"{given.pue:.6g}"),
        ("batch", f"{given.batch_least:,} to {given.batch_most:,} samples ({given.batch_basis})"),
        ("newest round", given.newest_round),
    )
    return Rows(("input", "value"), rows)


def words(slug: str) -> str:
    """Return a slug as words."""
    return slug.replace("_", " ")


def duration(minutes: float) -> str:
    """Return a time in the unit that it is read in."""
    size, unit = _unit(minutes)
    return f"{_short(minutes / size)} {unit}"


def durations(low: float, high: float) -> str:
    """Return a range of times in one unit."""
    size, unit = _unit(high)
    return f"{_short(low / size)} to {_short(high / size)} {unit}"


def _unit(minutes: float) -> tuple[float, str]:
    if minutes >= _DAYS_FROM_MINUTES:
        return 1440.0, "days"
    return (60.0, "hours") if minutes >= _HOURS_FROM_MINUTES else (1.0, "minutes")


def _racks(answer: Answer) -> Part:
    racks, at_work = answer.racks, racks_at_work(answer)
    most = "" if racks.recommended * racks.active_per_rack == answer.cluster.accelerators else "up to "
    ways: list[tuple[str, float | None, str]] = [
        ("racks_by_division", racks.by_division, f"accelerators over {racks.accelerators_per_rack} slots of a rack"),
        ("racks_by_replica", racks.by_replica, "whole replicas of the model in each rack"),
        ("racks_by_model", racks.by_model, f"step-time model, {most}{racks.active_per_rack} at work in each rack"),
        ("largest run held out", racks.by_largest_held_out, "the same, fitted without the largest run"),
        ("by power law", racks.by_power_law, "through two measured scores"),
    ]
    rows = tuple((name, number(value), note) for name, value, note in ways if value is not None)
    span = "" if racks.low == racks.high else f" ({racks.low:,} to {racks.high:,})"
    spare = f"; {racks.spare:,} spare: order {racks.ordered:,}" if racks.spare else ""
    noise = ""
    if racks.noise_low is not None and racks.noise_high is not None and racks.noise_low != racks.noise_high:
        noise = f"{racks.noise_low:,} to {racks.noise_high:,} where the time misses by its interval."
    said = " recommended" if answer.ask.deadline_minutes is not None else " racks" if racks.recommended > 1 else " rack"
    return Part(
        "Racks",
        f"{racks.recommended:,}{said}{span}, {at_work}{spare}",
        _some(noise),
        rows=Rows(("way of counting", "racks", "what it counts"), rows, ("racks",)),
    )


def _cluster(answer: Answer) -> Part:
    cluster = answer.cluster
    return Part(
        "Accelerators", f"{cluster.accelerators:,} at work", (parallelism(cluster), batch(cluster), memory(cluster))
    )


def parallelism(cluster: Cluster) -> str:
    """Return how the model is spread."""
    experts = f", experts over {cluster.expert_parallel}" if cluster.expert_parallel > 1 else ""
    chunks = f" with {cluster.virtual_pipeline} chunks a stage" if cluster.virtual_pipeline > 1 else ""
    return (
        f"{_count(cluster.data_parallel, 'replica')} (data parallel) of {cluster.replica_accelerators:,}: tensor "
        f"{cluster.tensor_parallel} x context {cluster.context_parallel} x pipeline {cluster.pipeline_parallel}"
        f"{chunks}{experts}."
    )


def batch(cluster: Cluster) -> str:
    """Return what a step takes in."""
    return (
        f"Batch {cluster.global_batch_size:,} samples: {_count(cluster.micro_batches, 'micro-batch', 'es')} of "
        f"{cluster.micro_batch} a replica."
    )


def memory(cluster: Cluster) -> str:
    """Return what of an accelerator's memory is taken."""
    return (
        f"Memory {cluster.memory_needed_bytes / 1e9:,.1f} of {cluster.memory_available_bytes / 1e9:,.1f} GB; "
        f"{cluster.recompute} recomputation of activations."
    )


def _time(answer: Answer) -> Part:
    time = answer.time
    shares = (
        f"{time.steps:,.0f} steps of {time.step_seconds:.4g} s, of which the pipeline idles "
        f"{_percent(time.bubble_share)} and {_percent(time.fixed_share)} is fixed."
    )
    return Part("Time", _time_range(answer), _some(time.goodput_sentence, shares, _sentence(time.interval_basis)))


def _time_range(answer: Answer) -> str:
    time = answer.time
    span = "no interval" if time.low_minutes is None or time.high_minutes is None else ""
    if time.low_minutes is not None and time.high_minutes is not None:
        span = f"{durations(time.low_minutes, time.high_minutes)}"
    calendar = "" if time.goodput is None else f", {duration(time.on_the_calendar_minutes)} on the calendar"
    return f"{duration(time.minutes)} ({span}){calendar}"


def _network(answer: Answer) -> Part:
    network, ratio = answer.network, answer.inputs.oversubscription
    shared = "" if ratio == 1 else f", the over-subscription of {ratio:g} counted in the need"
    if network.scale_out_bytes <= 0:
        return Part("Network", words(network.verdict), _some(network.sentence))
    told = (
        f"{words(network.verdict)}: needs {network.needed_gigabytes_per_second:.1f} GB/s an accelerator "
        f"({network.needed_low_gigabytes_per_second:.1f} to {network.needed_high_gigabytes_per_second:.1f}), has "
        f"{network.available_gigabytes_per_second:.6g}{shared}"
    )
    sent = (
        f"An accelerator sends {network.scale_out_bytes / 1e9:,.2f} GB a step through its NIC, "
        f"{network.scale_up_bytes / 1e9:,.2f} GB inside its domain; {network.exposed_seconds * 1e3:.3g} ms of it "
        f"({_percent(network.exposed_share)} of the step) are not hidden, by the window model."
    )
    return Part("Network", told, (sent,))


def _fabric(answer: Answer) -> Part:
    fabric = answer.fabric
    if fabric is None:
        return Part("Fabric", "not sized", _some(answer.fabric_reason))
    core = f", {fabric.core_switches:,} core" if fabric.core_switches else ""
    cables = f"{fabric.host_cables:,} to hosts, {fabric.leaf_spine_cables:,} leaf to spine"
    if fabric.spine_core_cables:
        cables += f", {fabric.spine_core_cables:,} spine to core"
    told = f"{fabric.leaf_switches:,} leaf, {fabric.spine_switches:,} spine{core} switches of {fabric.radix} ports"
    return Part("Fabric", told, (f"{fabric.endpoints:,} NICs, those of spare racks included; cables: {cables}.",))


def _power(answer: Answer) -> Part:
    power = answer.power
    if power is None:
        return Part("Power", "not known", _some(answer.power_reason))
    told = f"{_megawatts(power.computer_kilowatts_low, power.computer_kilowatts_high)} of computers"
    if power.facility_kilowatts_low is not None and power.facility_kilowatts_high is not None:
        told += f", {_megawatts(power.facility_kilowatts_low, power.facility_kilowatts_high)} at the meter"
    return Part("Power", told, _some(power.sentence))


def _cost(answer: Answer) -> Part:
    cost = answer.cost
    assert cost is not None
    energy = (
        ""
        if cost.energy_bound is None
        else f" Energy at rated power: at most {cost.currency} {cost.energy_bound:,.0f}."
    )
    told = (
        f"Accelerators {cost.accelerators:,.0f}, network {cost.network:,.0f}, racks {cost.racks:,.0f}.{energy} "
        f"A network that hides all its traffic may cost {cost.break_even_network:,.0f} more, by the window model."
    )
    return Part("Cost", f"{cost.currency} {cost.total:,.0f} by your prices, energy left out", (told,))


def _nearest(answer: Answer) -> Part:
    nearest = answer.nearest
    if nearest is None:
        return Part("Nearest run", "none", _some(_sentence(answer.nearest_reason or "")))
    told = f"{duration(nearest.score_minutes)} on {nearest.accelerators:,} {nearest.accelerator} at {nearest.precision}"
    return Part("Nearest run", told, (nearest.result_id, _distance(nearest)))


def _distance(nearest: Nearest) -> str:
    """Return what the plan and the run have in common, and how far apart their sizes are."""
    kinds = {
        "work": nearest.is_same_workload,
        "part": nearest.is_same_accelerator,
        "precision": nearest.is_same_precision,
        "layout": nearest.is_same_layout,
    }
    same, other = ([name for name, is_same in kinds.items() if is_same is wanted] for wanted in (True, False))
    shared = f"The same {_listed(same)}" if same else "Nothing the same"
    differing = f", another {_listed(other)}" if other else ""
    return f"{shared}{differing}; the plan has {nearest.size_ratio:.2f} times its accelerators."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _searched(answer: Answer) -> Part:
    other = answer.alternative
    searched = answer.searched
    told = (
        f"{searched.candidates:,} ways to spread the work were looked at, {searched.layouts:,} layouts; "
        f"{searched.fitting:,} fit in memory."
    )
    if other is None:
        return Part("Searched", told)
    better = (
        f"Of layouts that no run here used, {_count(other.racks, 'rack')} by efficiency alone, an extrapolation: "
        f"{other.layout}, {duration(other.minutes)}."
    )
    return Part("Searched", told, (better,))


def _basis(answer: Answer) -> Part:
    basis = answer.basis
    reason = "" if basis.error_reason is None else _sentence(f"no error is told: {basis.error_reason}")
    family = basis.family or ""
    return Part(
        "Rests on", basis.sentence.replace(f" of {family}", "") if family else basis.sentence, _some(family, reason)
    )


def _assumptions(answer: Answer) -> Part:
    told = "One at a time: what is assumed, what if not, what then"
    return Part("Assumptions", told, items=tuple(each.sentence for each in answer.assumptions))


def _samples(answer: Answer) -> str:
    given = answer.inputs
    length = f"of {given.sequence_length:,} tokens"
    return f"as many as the benchmark needs, {length}" if given.samples is None else f"{given.samples:,.0f} {length}"


def _some(*sentences: str | None) -> tuple[str, ...]:
    return tuple(each for each in sentences if each)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "." if text else ""


def _count(number: int, noun: str, ending: str = "s") -> str:
    return f"{number:,} {noun}{'' if number == 1 else ending}"


def number(value: float) -> str:
    """Return a count, or a figure of four digits."""
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:,.4g}"


def _short(value: float) -> str:
    if value < 0.1:
        return f"{value:.2g}"
    return f"{value:,.2f}" if value < 100 else f"{value:,.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _big(number: float) -> str:
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.4g} {name}"
    return f"{number:,.0f}"


def _megawatts(low: float, high: float) -> str:
    unit, size = ("MW", 1000.0) if high >= 1000 else ("kW", 1.0)
    told = f"{high / size:.3g}" if low == high else f"{low / size:.3g} to {high / size:.3g}"
    return f"{told} {unit}"
