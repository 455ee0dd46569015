"""The rules that turn a check into a verdict, the same for a claim of the ledger and for one that nobody has seen.

In order: what the check decided itself; supported where the claim fits; misplaced where it fits only some of what it
is told of, or something else by a known factor; implausible where no known thing comes near; contradicted only where
the words leave no doubt, else `check_this`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from pipelines.reconciling._claim_model import Alternative, Candidate, Check, Claim, Judgement, shown_range
from pipelines.reconciling._claim_nouns import COUNTED_ACCELERATORS

CHECK_THIS = "check_this"
"""What a mismatch is called whose cause may be ours: the subject, the metric or the source is in doubt."""

DOUBT = 3.0
"""A contradiction needs an error of this many tolerances."""

FAR = 1.8
"""A value this many times beyond every known one is implausible."""


def judge(claim: Claim, check: Check) -> Judgement:
    """Return the verdict on a claim by what its check found."""
    if check.verdict is not None:
        return _told_by_check(claim, check)
    if not check.candidates and not check.alternatives:
        return _judgement(
            claim, check, "not_checkable", check.reason or "Nothing published here to hold it against.", None
        )
    fitting = [candidate for candidate in check.candidates if fits(claim, candidate)]
    firm = [candidate for candidate in check.candidates if candidate.is_firm]
    if fitting and (check.is_any or len(fitting) == len(check.candidates)):
        return _supported(claim, check, _nearest(claim, fitting), len(fitting))
    if fitting:
        return _partly(claim, check, fitting, [c for c in check.candidates if c not in fitting])
    for alternative in check.alternatives:
        if _matches(claim, alternative):
            return _misplaced(claim, check, alternative)
    far = _beyond_all_known(claim, check)
    if far is not None:
        return far
    if not check.candidates:
        return _judgement(claim, check, "not_checkable", "No value in the form that it tells is published here.", None)
    if claim.is_hypothetical:
        return _judgement(
            claim,
            check,
            "assumption",
            "It tells what would be, on a premise that is not stated.",
            _closest(claim, check),
        )
    return _mismatch(claim, check, firm)


def fits(claim: Claim, candidate: Candidate) -> bool:
    """Say whether a known value is what the claim says, within what its words allow."""
    tolerance = claim.tolerance + 1e-9
    low, high = claim.low * (1 - tolerance), claim.high * (1 + tolerance)
    if claim.comparator == "more":
        return candidate.high >= low
    if claim.comparator == "less":
        return candidate.low <= high
    if claim.comparator == "reaches":
        return candidate.high >= low
    return candidate.high >= low and candidate.low <= high


def _matches(claim: Claim, alternative: Alternative) -> bool:
    """Say whether the claim is right about something else; a bound must be near, since many things exceed it."""
    candidate = alternative.candidate
    tolerance = claim.tolerance if claim.dimension == "count" else max(claim.tolerance, 0.03)
    if claim.comparator in ("more", "less", "maximum", "reaches"):
        tolerance = max(tolerance, 0.1)
    tolerance += 1e-9
    return candidate.high >= claim.low * (1 - tolerance) and candidate.low <= claim.high * (1 + tolerance)


def relative_error(claim: Claim, candidate: Candidate) -> float:
    """Return the distance of the claimed from the known value over the known one; 0 where the ranges overlap."""
    if candidate.high >= claim.low and candidate.low <= claim.high:
        return 0.0
    known = candidate.high if claim.low > candidate.high else candidate.low
    told = claim.low if claim.low > candidate.high else claim.high
    return (told - known) / known if known else float("inf")


def _nearest(claim: Claim, candidates: list[Candidate]) -> Candidate:
    return min(candidates, key=lambda candidate: (abs(relative_error(claim, candidate)), not candidate.is_firm))


def _closest(claim: Claim, check: Check) -> Candidate | None:
    return _nearest(claim, list(check.candidates)) if check.candidates else None


def told(claim: Claim, candidate: Candidate) -> str:
    """Return a known value in the unit of the claim; accelerators by what those of the candidate are called."""
    unit = candidate.noun if candidate.noun and claim.unit == COUNTED_ACCELERATORS else claim.unit
    return shown_range(candidate.low, candidate.high, claim.dimension, unit, claim.factor)


def _judgement(
    claim: Claim, check: Check, verdict: str, explanation: str, best: Candidate | None, strongest: str = ""
) -> Judgement:
    return Judgement(
        verdict=verdict,
        explanation=explanation,
        expression=best.expression if best else check.expression,
        computed_low=best.low if best else None,
        computed_high=best.high if best else None,
        relative_error=relative_error(claim, best) if best else None,
        tolerance=claim.tolerance,
        evidence=best.evidence if best else "",
        strongest_reading=strongest,
        best=best,
    )


def _told_by_check(claim: Claim, check: Check) -> Judgement:
    best = _closest(claim, check)
    strongest = {
        "assumption": "Right if its premise is granted.",
        "not_checkable": "It may be right; it names nothing that it can be held against.",
        "not_a_claim": "It states nothing about the world.",
        "misplaced": "Right about one of the two things that it joins.",
    }.get(check.verdict or "", "")
    return _judgement(claim, check, check.verdict or "not_checkable", check.reason, best, strongest)


def _supported(claim: Claim, check: Check, best: Candidate, count: int) -> Judgement:
    note = f" ({best.note})" if best.note else ""
    of = f"{best.label}: {told(claim, best)}{note}"
    more = f", and {count - 1} more" if count > 1 and not check.is_any else ""
    reading = f"Read as {best.note}." if best.note else "It holds as it stands."
    return _judgement(claim, check, "supported", f"{of}{more}.", best, reading)


def _partly(claim: Claim, check: Check, fitting: list[Candidate], failing: list[Candidate]) -> Judgement:
    holds = ", ".join(f"{c.label} ({told(claim, c)})" for c in fitting[:3])
    fails = ", ".join(f"{c.label} ({told(claim, c)})" for c in failing[:3])
    text = f"It holds for {holds}, not for {fails}."
    return _judgement(claim, check, "misplaced", text, _nearest(claim, failing), f"Right of {fitting[0].label} alone.")


def _misplaced(claim: Claim, check: Check, alternative: Alternative) -> Judgement:
    other = alternative.candidate
    own = next((c for c in check.candidates if c.label == other.label), None) or _closest(claim, check)
    factor = ""
    if own is not None and own.high > 0:
        ratio = (other.low + other.high) / (own.low + own.high)
        factor = f", a factor of {ratio if ratio >= 1 else 1 / ratio:.3g}"
    own_text = f"{own.label}: {told(claim, own)}. " if own is not None else ""
    note = f" ({other.note})" if other.note else ""
    is_named = alternative.reading in other.label
    whose = other.label if is_named else f"{alternative.reading}: {other.label}"
    text = f"{own_text}The figure is that of {whose}, {told(claim, other)}{note}{factor}."
    of = other.label if is_named else f"{alternative.reading} ({other.label})"
    strongest = f"It would be right of {of}."
    judged = _judgement(claim, check, "misplaced", text, own or other, strongest)
    evidence = "; ".join(dict.fromkeys(part for part in (judged.evidence, other.evidence) if part))
    return replace(judged, evidence=evidence, expression=f"{judged.expression}; told figure: {other.expression}")


def _beyond_all_known(claim: Claim, check: Check) -> Judgement | None:
    if claim.dimension == "count" and claim.source in ("context", "document"):
        return None
    if check.floor is not None and claim.high * FAR < check.floor.low and claim.comparator != "more":
        known = (
            f" Known: {'; '.join(f'{c.label} {told(claim, c)} ({c.expression})' for c in check.candidates[:3])}."
            if check.candidates
            else ""
        )
        factor = check.floor.low / claim.high
        least = f"{check.floor.label}; the lowest known comes to {told(claim, check.floor)}"
        text = f"It is {factor:.3g} times below any known: {least}.{known}"
        strongest = f"It would need something {factor:.2g} times below any that is known."
        return _judgement(claim, check, "implausible", text, check.floor, strongest)
    if check.ceiling is not None and claim.low > FAR * check.ceiling.high and claim.comparator != "less":
        factor = claim.low / check.ceiling.high
        most = f"{check.ceiling.label}, {told(claim, check.ceiling)}"
        text = f"It is {factor:.3g} times above the highest known: {most}."
        strongest = f"It would need something {factor:.2g} times above any that is known."
        return _judgement(claim, check, "implausible", text, check.ceiling, strongest)
    return None


_CONSISTS = (
    r"\b(?:has|have|contains?|holds?|houses|packs|integrat\w+|compris\w+|consists?\sof|links?|connects?|combin\w+|features?|"
    r"includes?|is|are)\s(?:\w+\s){0,3}"
)


def _names_composition(claim: Claim) -> bool:
    """Say whether a count is told of what a product consists of, not of a run or site that uses it."""
    if claim.metric not in ("accelerators", "racks", "nodes", "cpus"):
        return True
    number = re.escape(f"{claim.value / claim.factor:,.0f}")
    return claim.scope is not None or re.search(rf"{_CONSISTS}~?{number}\b", claim.sentence) is not None


_PREFIXES = ("", *"kMGTPE")
_MINUTES = {"s": 1 / 60, "min": 1.0, "h": 60.0, "days": 1440.0}


def _right_unit(claim: Claim, known: Candidate) -> str | None:
    """Return the unit in which a figure would be right, a step of a thousand or of time away: kW where W is told."""
    if claim.dimension == "time":
        units = [(unit, minutes / claim.factor) for unit, minutes in _MINUTES.items() if unit != claim.unit]
    elif claim.dimension in ("power", "memory", "compute", "data_rate", "energy"):
        letter = claim.unit[:1] if claim.unit[:1] in _PREFIXES else ""
        rest = claim.unit.removeprefix(letter)
        places = {step: _PREFIXES.index(letter) + step for step in (-1, 1)}
        units = [(f"{_PREFIXES[at]}{rest}", 1e3**step) for step, at in places.items() if 0 <= at < len(_PREFIXES)]
    else:
        return None
    scaled = ((unit, replace(claim, low=claim.low * by, high=claim.high * by)) for unit, by in units)
    return next((unit for unit, other in scaled if fits(replace(other, comparator="equal"), known)), None)


def _mismatch(claim: Claim, check: Check, firm: list[Candidate]) -> Judgement:
    best = _nearest(claim, firm or list(check.candidates))
    error = abs(relative_error(claim, best))
    text = f"{best.label}: {told(claim, best)}{f' ({best.note})' if best.note else ''}, which is not what is claimed."
    if claim.source in ("context", "document") and claim.dimension == "count":
        return _judgement(
            claim,
            check,
            "not_checkable",
            "It does not say of what, and it is not the number of what the text speaks of.",
            None,
        )
    if (claim.kind == "level" or claim.subject == "supernode") and not claim.is_universal:
        reason = f"Such a size or rate of a {claim.subject} is not published here, and it is within what there is."
        return _judgement(claim, check, "not_checkable", reason, None)
    if (unit := _right_unit(claim, best)) is not None:
        text += f" It would be right in {unit}."
    if check.lookalikes:
        text += f" It is that of {' and '.join(candidate.label for candidate in check.lookalikes)}."
    if check.doubtful:
        other = check.doubtful[0]
        text += f" One source of low confidence prints {told(claim, other)} ({other.evidence})."
    is_sure = (
        bool(firm)
        and not check.doubtful
        and _names_composition(claim)
        and claim.is_explicit
        and claim.kind not in ("level", "link", None)
        and not claim.is_vague
        and not claim.is_typical
        and not (claim.dimension == "count" and claim.is_universal and claim.scope is None)
        and error >= max(DOUBT * claim.tolerance, 0.1 if claim.dimension != "count" else 0.01)
    )
    strongest = f"No reading is known under which it holds; the nearest value, {best.label}, is {error:.0%} off."
    verdict = "contradicted" if is_sure else CHECK_THIS
    if not is_sure:
        text += " What it is told of may have been misread: check this."
    return _judgement(claim, check, verdict, text, best, strongest)
