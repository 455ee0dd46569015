"""Checks against published results: times, accelerators and racks of runs, and ratios between two of them.

A result is found by what the sentence names: round, benchmark, part, count. A claim that one result bears out is
supported; one that only another part, round or the clock bears out is misplaced; a round that is not here makes it
not checkable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from pipelines.parsing.claims import kind_of
from pipelines.reconciling._claim_model import Alternative, Candidate, Check, Claim
from pipelines.reconciling._claim_nouns import accelerator_noun
from pipelines.reconciling._claim_references import plain_name
from pipelines.reconciling._claim_rules import fits
from pipelines.reconciling._claim_world import PARTS, PRODUCTS, World, parts_named

BENCHMARKS = {
    "Llama 3.1 405B": ("llama31_405b",),
    "Llama 3.1 8B": ("llama31_8b",),
    "Llama 2 70B": ("llama2_70b_lora", "llama2-70b"),
    "GPT-3": ("gpt3",),
    "GPT-OSS 20B": ("gpt_oss_20b",),
    "DeepSeek-V3": ("deepseekv3_671b",),
    "FLUX.1": ("flux1",),
    "Stable Diffusion": ("stable_diffusion",),
    "DLRM-DCNv2": ("dlrm_dcnv2",),
    "R-GAT": ("rgat",),
    "RetinaNet": ("retinanet",),
    "BERT": ("bert",),
    "ResNet": ("resnet",),
}
"""Benchmarks by the name that a text gives their model."""

_LATER = re.compile(r"\b(?:later|next|following|newer|subsequent)\s(?:MLPerf\s)?round\b", re.I)
_RUN_WORDS = re.compile(
    r"MLPerf|\bround\b|\bsubmi(?:t|ssion)|\btrain(?:ed|ing\stime|s\b)|\brun(?:s|ning)?\b|\bcompleted\b|\bfinished\b|\bscal(?:e|ed|ing)\b|time[\s-]to[\s-]train|\brecord\b",
    re.I,
)

Row = Mapping[str, Any]

_PAIR = 2


@dataclass(frozen=True, slots=True)
class Query:
    """What a sentence names of a run; an empty constraint is none."""

    rounds: tuple[str, ...] = ()
    after: str | None = None
    """Only rounds later than this."""
    benchmarks: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    count: tuple[float, float] | None = None
    racks: float | None = None
    minutes: tuple[float, float] | None = None

    def finds(self, row: Row, *, without: str = "") -> bool:
        """Say whether a result is one that the sentence can speak of; `without` leaves one constraint out."""
        tests: dict[str, Callable[[], bool]] = {
            "rounds": lambda: not self.rounds or row["round"] in self.rounds,
            "after": lambda: self.after is None or row["round"] > self.after,
            "benchmarks": lambda: not self.benchmarks or row["benchmark"] in self.benchmarks,
            "parts": lambda: not self.parts or plain_name(row["accelerator"] or "") in self.parts,
            "count": lambda: self.count is None or self.count[0] <= (row["accelerator_count"] or 0) <= self.count[1],
            "racks": lambda: self.racks is None or row.get("racks_stated") == self.racks,
            "minutes": lambda: self.minutes is None or self.minutes[0] <= row["score_minutes"] <= self.minutes[1],
        }
        return all(test() for name, test in tests.items() if name != without)


def speaks_of_a_run(claim: Claim) -> bool:
    """Say whether a count is told of a run rather than of a product."""
    if claim.metric == "time_to_train":
        return True
    if claim.metric not in ("accelerators", "racks", "nodes") or claim.is_hypothetical:
        return False
    if "time_to_train" in claim.beside or any(kind_of(name) is None and "-v" in name for name in claim.mentions):
        return True
    if claim.low < 64 and claim.scope != "rack":
        return False
    about_rounds = any("-v" in name and kind_of(name) is None for name in claim.context) or any(
        name in BENCHMARKS for name in (*claim.mentions, *claim.context)
    )
    return about_rounds and _RUN_WORDS.search(claim.sentence) is not None


def query_of(claim: Claim, world: World) -> Query:
    """Return what the sentence, and for the benchmark the text around it, names of a run."""
    rounds = tuple(name for name in claim.mentions if _is_round(name))
    context_rounds = [name for name in claim.context if _is_round(name)]
    after = context_rounds[0] if not rounds and _LATER.search(claim.sentence) and context_rounds else None
    if claim.subject in BENCHMARKS and claim.metric == "time_to_train":
        models = [claim.subject]
    elif claim.workload is not None:
        models = [claim.workload] if claim.workload in BENCHMARKS else []
    else:
        models = [name for name in claim.context if name in BENCHMARKS][:1]
    names = tuple(name for name in claim.parts if kind_of(name) in (*PARTS, *PRODUCTS) and name != claim.baseline)
    return Query(
        rounds=rounds,
        after=after,
        benchmarks=tuple(benchmark for name in models for benchmark in BENCHMARKS[name]),
        parts=parts_named(names, world),
        count=None if claim.metric == "accelerators" else _bounds(claim, "accelerators"),
        racks=None,
        minutes=None if claim.metric == "time_to_train" else _bounds(claim, "time_to_train"),
    )


def _is_round(name: str) -> bool:
    return kind_of(name) is None and re.fullmatch(r"[a-z]+-v\d\.\d", name) is not None


def _bounds(claim: Claim, metric: str) -> tuple[float, float] | None:
    other = claim.beside.get(metric)
    if other is None or other.get("scope") in ("rack", "node", "pod"):
        return None
    low, high, how = float(other["low"]), float(other["high"]), other.get("comparator")
    slack = 0.02 if metric == "time_to_train" else 0.005
    if how in ("more", "reaches") and metric == "accelerators":
        return low * (1 - slack), low * 1.25
    return low * (1 - slack), high * (1 + slack) + (0.06 if metric == "time_to_train" else 0)


def result_check(claim: Claim, world: World, query: Query | None = None) -> Check:
    """Hold a claim against the published results that it speaks of."""
    asked = query or query_of(claim, world)
    missing = [name for name in asked.rounds if name not in world.rounds]
    expression = _expression(claim, asked)
    if missing and len(missing) == len(asked.rounds):
        return Check(expression, verdict="not_checkable", reason=_not_here(claim, missing[0], world), is_final=True)
    around = next((name for name in claim.context if _is_round(name)), None)
    if not asked.rounds and around is not None and around not in world.rounds:
        found = [c for row in world.results if asked.finds(row) for c in _values(claim, row) if fits(claim, c)]
        if not found:
            return Check(expression, verdict="not_checkable", reason=_not_here(claim, around, world), is_final=True)
    rows = [row for row in world.results if asked.finds(row)]
    if not rows and claim.metric != "time_to_train":
        rows = [row for row in world.results if asked.finds(row, without="minutes")]
    candidates = [candidate for row in rows for candidate in _values(claim, row)]
    alternatives = [*_clock(claim, rows), *_elsewhere(claim, world, asked)]
    if not candidates and not alternatives:
        return Check(
            expression,
            reason=f"No result in the rounds here ({', '.join(sorted(world.rounds)) or 'none'}) is of such a run.",
        )
    is_named = bool(asked.benchmarks) and (asked.count is not None or bool(asked.rounds))
    firm = tuple(c if is_named else replace(c, is_firm=False) for c in candidates)
    return Check(
        expression, firm, tuple(alternatives), is_any=True, reason="" if firm else "No result here is of such a run."
    )


def _values(claim: Claim, row: Row) -> Iterator[Candidate]:
    """Give what a result says on the claim's metric."""
    label = label_of(row)
    evidence = f"mart.results: {row['result_id']}"
    count, racks = row["accelerator_count"], row.get("racks_stated")
    if claim.metric == "time_to_train":
        factor = row.get("rcp_factor") or 1.0
        shown = (
            f"median of the runs {row['raw_minutes']:.4f} x convergence factor {factor:.6f}"
            if row.get("raw_minutes")
            else "score"
        )
        yield Candidate(
            label, row["score_minutes"], row["score_minutes"], f"{shown} = {row['score_minutes']:.4f} min", evidence
        )
    elif claim.metric == "racks" and racks:
        yield Candidate(
            label,
            racks,
            racks,
            f"racks stated in {row['system_name']!r} = {racks}",
            f"core.systems: {row['round']}, {row['system']}",
        )
    elif claim.metric == "accelerators" and claim.scope == "rack" and racks and count:
        yield Candidate(
            label,
            count / racks,
            count / racks,
            f"{count:,} accelerators / {racks} racks",
            evidence,
            "in use, of 72 installed" if row.get("slots_per_rack") == 72 else "in use",
            noun=accelerator_noun(row["accelerator"] or ""),
        )
    elif claim.metric == "accelerators" and count and claim.scope != "rack":
        told = f"accelerators of {row['system']} = {count:,}"
        yield Candidate(label, count, count, told, evidence, noun=accelerator_noun(row["accelerator"] or ""))


def label_of(row: Row) -> str:
    """Return a result in a few words."""
    parts = f"{row['accelerator_count']:,} {plain_name(row['accelerator'] or 'accelerators')}"
    return f"{row['round']} {row['benchmark']} on {parts} ({row['submitter'] or row['submitter_folder']})"


def _clock(claim: Claim, rows: list[Row]) -> Iterator[Alternative]:
    if claim.metric != "time_to_train":
        return
    for row in rows:
        if row.get("raw_minutes") and (row.get("rcp_factor") or 1.0) != 1.0:
            raw = row["raw_minutes"]
            yield Alternative(
                Candidate(
                    label_of(row),
                    raw,
                    raw,
                    f"median of the runs on the clock = {raw:.4f} min",
                    f"mart.results: {row['result_id']}",
                ),
                "the clock before the convergence factor, which is not the score",
            )


def _elsewhere(claim: Claim, world: World, asked: Query) -> Iterator[Alternative]:
    """Give results that differ from what the sentence names in one thing: the part, the count, the round."""
    readings = {
        "parts": "a run on another part",
        "rounds": "a run of another round",
        "count": "a run of another size",
    }
    for constraint, reading in readings.items():
        if not getattr(asked, constraint) or (constraint != "parts" and not asked.benchmarks):
            continue
        if constraint == "count" and not (asked.rounds or asked.parts):
            continue
        for row in world.results:
            if asked.finds(row, without=constraint) and not asked.finds(row):
                for candidate in _values(claim, row):
                    yield Alternative(candidate, reading)
    if claim.metric == "racks":
        for row in world.results:
            if asked.finds(row) and row["accelerator_count"]:
                yield from _told_as_racks(row, is_counted=asked.count is not None)


def _told_as_racks(row: Row, *, is_counted: bool) -> Iterator[Alternative]:
    """Give what else is told as the racks of a run: racks that leave no slot empty, or its accelerators."""
    count, slots = row["accelerator_count"], row.get("slots_per_rack")
    evidence = f"mart.results: {row['result_id']}"
    if slots:
        full = -(-count // slots)
        told = f"{count:,} accelerators / {slots} slots of a rack, rounded up = {full}"
        yield Alternative(
            Candidate(label_of(row), full, full, told, evidence),
            "its accelerators over all slots of a rack, as if none stayed empty",
        )
    if not is_counted:
        told = f"accelerators of {row['system']} = {count:,}"
        yield Alternative(Candidate(label_of(row), count, count, told, evidence), "its accelerators told as racks")


def _not_here(claim: Claim, name: str, world: World) -> str:
    text = f"{name} is not among the rounds here ({', '.join(sorted(world.rounds)) or 'none'})."
    if claim.metric == "racks" and claim.low >= 1000:
        text += (
            f" {claim.low:,.0f} racks of 72 would be {claim.low * 72:,.0f} accelerators: accelerators told as racks?"
        )
    return text


def _expression(claim: Claim, asked: Query) -> str:
    parts = [
        f"{name}={value}"
        for name, value in (
            ("round", " | ".join(asked.rounds) or (f"after {asked.after}" if asked.after else "")),
            ("benchmark", " | ".join(asked.benchmarks)),
            ("accelerator", " | ".join(asked.parts[:4])),
            ("accelerators", f"{asked.count[0]:,.0f} to {asked.count[1]:,.0f}" if asked.count else ""),
        )
        if value
    ]
    return f"result({claim.metric}{', ' if parts else ''}{', '.join(parts)})"


def ratio_check(claim: Claim, world: World) -> Check:
    """Hold a speed-up or a gain against the ratio of two results of one benchmark with about the same count."""
    asked = query_of(claim, world)
    base_parts = parts_named((claim.baseline,), world) if claim.baseline else ()
    own_parts = tuple(part for part in asked.parts if part not in base_parts)
    ours = [
        row
        for row in world.results
        if Query(asked.rounds, None, asked.benchmarks, own_parts, asked.count, None, asked.minutes).finds(row)
    ]
    theirs = [row for row in world.results if Query((), None, asked.benchmarks, base_parts).finds(row)]
    is_of_runs = bool(asked.benchmarks) or (asked.count is not None and _RUN_WORDS.search(claim.sentence) is not None)
    if not is_of_runs or not (own_parts or asked.count) or len(ours) > 40:
        return Check()
    pairs = [
        (new, old)
        for new, old in product(ours, theirs)
        if new["benchmark"] == old["benchmark"]
        and new["result_id"] != old["result_id"]
        and _comparable(new, old, bool(base_parts))
    ]
    candidates = tuple(replace(_ratio(claim, new, old), is_firm=False) for new, old in pairs)
    fitting = tuple(c for c in candidates if fits(claim, c))
    is_named = claim.workload in BENCHMARKS and bool(base_parts)
    reason = "No two results here that it can speak of are in this ratio."
    return Check(
        f"score ratio({', '.join(asked.benchmarks)})",
        fitting or (candidates if is_named else ()),
        is_any=True,
        reason=reason,
    )


def told_pair_check(claim: Claim, world: World) -> Check:
    """Hold a speed-up against the two times that its sentence tells, or the two runs whose accelerators it counts."""
    beside = [other for other in world.document if other.sentence == claim.sentence]
    times = sorted({other.value for other in beside if other.metric == "time_to_train"})
    counts = {other.value for other in beside if other.metric == "accelerators"}
    if len(times) == _PAIR and times[0] > 0:
        pairs = [_ratio_of_times(claim, *times)]
    elif len(counts) == _PAIR:
        pairs = list(_ratios_of_counts(claim, counts, world))
    else:
        return Check()
    candidates = tuple(replace(candidate, is_firm=False) for candidate in pairs)
    fitting = tuple(candidate for candidate in candidates if fits(claim, candidate))
    return Check(
        "ratio of two that the sentence tells",
        fitting or (candidates if len(candidates) == 1 else ()),
        is_any=True,
        reason="No two results here that it can speak of are in this ratio.",
    )


def _ratio_of_times(claim: Claim, fast: float, slow: float) -> Candidate:
    value = (slow / fast - 1) * 100 if claim.dimension == "percent" else slow / fast
    expression = f"{slow:,.4g} min / {fast:,.4g} min = {slow / fast:.4f}"
    return Candidate("its own two times", value, value, expression, "arithmetic on the sentence's own figures")


def _ratios_of_counts(claim: Claim, counts: set[float], world: World) -> Iterator[Candidate]:
    """Give the ratios of results of one benchmark, the faster over the slower, one of each count."""
    asked = replace(query_of(claim, world), count=None, minutes=None)
    rows = [row for row in world.results if asked.finds(row) and row["accelerator_count"] in counts]
    for new, old in product(rows, rows):
        is_pair = new["benchmark"] == old["benchmark"] and new["accelerator_count"] != old["accelerator_count"]
        if is_pair and new["score_minutes"] < old["score_minutes"] and _is_told_faster(claim, new, old):
            yield _ratio(claim, new, old)


def _is_told_faster(claim: Claim, new: Row, old: Row) -> bool:
    """Say whether `A is faster than B` names the count of the first run before, that of the second behind `than`."""
    faster, than, slower = claim.sentence.replace(",", "").partition(" than ")
    return not than or (str(new["accelerator_count"]) in faster and str(old["accelerator_count"]) in slower)


def _comparable(new: Row, old: Row, is_named: bool) -> bool:
    if not new["accelerator_count"] or not old["accelerator_count"]:
        return False
    ratio = new["accelerator_count"] / old["accelerator_count"]
    if is_named and ratio == 1.0:
        return True
    return 0.9 <= ratio <= 1.1 and (is_named or new["round"] > old["round"])


def _ratio(claim: Claim, new: Row, old: Row) -> Candidate:
    ratio = old["score_minutes"] / new["score_minutes"]
    value = (ratio - 1) * 100 if claim.dimension == "percent" else ratio
    unlike = [
        text
        for text, differs in (
            ("another round", new["round"] != old["round"]),
            (
                f"{(new.get('precision') or '?').upper()} against {(old.get('precision') or '?').upper()}",
                new.get("precision") != old.get("precision"),
            ),
            ("another submitter", new["submitter_folder"] != old["submitter_folder"]),
        )
        if differs
    ]
    note = f"not like for like: {', '.join(unlike)}" if unlike else ""
    expression = f"{old['score_minutes']:.4f} min / {new['score_minutes']:.4f} min = {ratio:.4f}"
    return Candidate(
        f"{label_of(new)} against {label_of(old)}",
        value,
        value,
        expression,
        f"mart.results: {new['result_id']}; {old['result_id']}",
        note,
    )


def scaling_check(claim: Claim, world: World) -> Check:
    """Hold a scaling efficiency against results of one part at the two sizes that the sentence names."""
    sizes = claim.beside.get("accelerators")
    asked = query_of(claim, world)
    if sizes is None or sizes["low"] >= sizes["high"]:
        return Check(reason="An efficiency needs the two sizes that it is between.")
    small = [
        row
        for row in world.results
        if row["accelerator_count"] == sizes["low"] and Query((), None, asked.benchmarks, asked.parts).finds(row)
    ]
    large = [
        row
        for row in world.results
        if row["accelerator_count"] == sizes["high"] and Query((), None, asked.benchmarks, asked.parts).finds(row)
    ]
    candidates = []
    for first, last in product(small, large):
        if (first["benchmark"], first["round"], first["accelerator"]) != (
            last["benchmark"],
            last["round"],
            last["accelerator"],
        ):
            continue
        for basis in ("score_minutes", "raw_minutes"):
            if first.get(basis) and last.get(basis):
                value = 100 * first[basis] / last[basis] * sizes["low"] / sizes["high"]
                name = "official scores" if basis == "score_minutes" else "times on the clock"
                expression = f"{first[basis]:.3f} / {last[basis]:.3f} / ({sizes['high']:,.0f} / {sizes['low']:,.0f})"
                candidates.append(
                    Candidate(
                        f"{label_of(last)} over {sizes['low']:,.0f}",
                        value,
                        value,
                        expression,
                        f"mart.results: {last['result_id']}; {first['result_id']}",
                        f"by {name}",
                    )
                )
    return Check("scaling efficiency", tuple(candidates), is_any=True, reason="No two results here are of these sizes.")
