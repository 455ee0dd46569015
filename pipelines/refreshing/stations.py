"""The way from facts to answers, station by station, in the order in which they run."""

from __future__ import annotations

import polars as pl

from pipelines.parsing.spec_sheets.frames import read_sheet
from pipelines.parsing.spec_sheets.registry import Registry, read_registry
from pipelines.quality.apart import SUITES
from pipelines.quality.consistency import families_hold_like_results, power_near_rating, score_follows_from_runs
from pipelines.quality.outcomes import outcomes_frame
from pipelines.quality.suites import CHECKS
from pipelines.reconciling.claims import CHECKED_AGAINST, known_claims, reconcile_claims
from pipelines.reconciling.comparability import compare_groups
from pipelines.reconciling.descriptions import audit_descriptions
from pipelines.reconciling.facts import reconcile_facts
from pipelines.reconciling.gathering import gather_findings
from pipelines.reconciling.modelled import MODELLED, modelling_tables
from pipelines.reconciling.name_counts import audit_names
from pipelines.reconciling.naming import list_names
from pipelines.reconciling.planning_facts import NEEDED_TABLES
from pipelines.reconciling.racks import audit_racks
from pipelines.reconciling.sheets import sheet_remarks
from pipelines.refreshing.answers import Answers, Frames, Station
from pipelines.refreshing.quarantine import QUARANTINE, structure_outcomes
from pipelines.scoring.inference import inference_answers
from pipelines.scoring.rcp import expected_progress
from pipelines.scoring.results import score_results
from pipelines.scoring.rules import load_rules
from pipelines.scoring.runs import judge_runs
from pipelines.sources.registry import registry_files
from pipelines.sources.sheets import current, sheets_of

_NAMES = (
    "parsing/names.py",
    "parsing/_accelerator_facets.py",
    "parsing/quantities.py",
    "parsing/submitter_names.toml",
    "parsing/accelerator_names.toml",
)
_SCORING = ("scoring", *_NAMES, "schemas/findings.py")
_RECONCILING = ("reconciling", "modelling", "scoring")
_CLAIMS = ("reconciling", "modelling", "parsing", "sources/registry")


def _judge(frames: Frames) -> Answers:
    return Answers({"mart.runs": judge_runs(frames["core.runs"], frames["core.systems"], load_rules())})


def _score(frames: Frames) -> Answers:
    results, findings = score_results(
        frames["core.runs"],
        frames["mart.runs"],
        frames["core.systems"],
        frames["core.scaling_factors"],
        frames["core.power_readings"],
        load_rules(),
    )
    return Answers({"mart.results": results}, findings)


def _audit(frames: Frames) -> Answers:
    return Answers({"mart.rack_audit": audit_racks(frames["core.systems"], frames["core.launches"])})


def _infer(frames: Frames) -> Answers:
    tables = inference_answers(frames["core.inference_results"])
    written = {"mart.inference_results": tables.results, "mart.inference_accelerators": tables.parts}
    return Answers(written, tables.findings)


def _registry() -> Registry:
    return read_registry(registry_files())


def _read_specifications(frames: Frames) -> Answers:
    """Read the registry and the version of each watched page that stands."""
    registry = _registry()
    pages = [read_sheet(form, sheet, registry.subjects) for form, sheet in sheets_of(current(frames["raw.sheets"]))]
    return Answers(
        {
            "core.spec_facts": pl.concat([registry.facts, *(facts for facts, _ in pages)]),
            "core.sheet_findings": pl.concat([registry.findings, *(findings for _, findings in pages)]),
        }
    )


def _resolve(frames: Frames) -> Answers:
    registry = _registry()
    facts = reconcile_facts(frames["core.spec_facts"], registry.subject_frame, registry.containments)
    return Answers(
        {
            "mart.accelerators": facts.accelerators,
            "mart.platforms": facts.platforms,
            "mart.resolved_facts": facts.resolved,
            "mart.fact_conflicts": facts.conflicts,
        }
    )


def _list_names(frames: Frames) -> Answers:
    return Answers({"mart.names": list_names(frames["core.systems"], frames["core.runs"])})


def _audit_names(frames: Frames) -> Answers:
    return Answers({"mart.name_counts": audit_names(frames["core.systems"], frames["mart.accelerators"])})


def _audit_descriptions(frames: Frames) -> Answers:
    registry = _registry()
    audit = audit_descriptions(
        frames["core.systems"], frames["core.spec_facts"], registry.subject_frame, registry.containments
    )
    return Answers({"mart.description_audit": audit})


def _compare(frames: Frames) -> Answers:
    compared = compare_groups(frames["mart.results"], frames["core.runs"], frames["core.launches"])
    return Answers({"mart.comparability": compared})


def _model(frames: Frames) -> Answers:
    return Answers(
        modelling_tables(
            results=frames["mart.results"],
            runs_core=frames["core.runs"],
            runs_mart=frames["mart.runs"],
            launches=frames["core.launches"],
            systems=frames["core.systems"],
            accelerators=frames["mart.accelerators"],
            platforms=frames["mart.platforms"],
            resolved_facts=frames["mart.resolved_facts"],
            expected_progress=expected_progress,
        )
    )


def _list_claims(_: Frames) -> Answers:
    return Answers({"core.claims": known_claims()})


def _judge_claims(frames: Frames) -> Answers:
    inputs = {**frames, "registry.containments": _registry().containments}
    return Answers({"mart.claims_ledger": reconcile_claims(frames["core.claims"], inputs)})


def _check(frames: Frames) -> Answers:
    results = frames["mart.results"]
    own = [
        score_follows_from_runs(results, frames["mart.runs"]),
        families_hold_like_results(frames["mart.reconciled_runs"], results),
        power_near_rating(results, frames["mart.accelerators"]),
        *structure_outcomes(frames[QUARANTINE]),
    ]
    return Answers({"mart.checks": pl.concat([outcomes_frame(own), SUITES.run(frames)])})


def _gather(frames: Frames) -> Answers:
    findings = gather_findings(
        parse_findings=frames["core.parse_findings"],
        scoring_findings=_score(frames).findings,
        rack_audit=frames["mart.rack_audit"],
        reconciled_runs=frames["mart.reconciled_runs"],
        claims_ledger=frames["mart.claims_ledger"],
        checks=frames["mart.checks"],
        told_elsewhere={(check.table, check.name) for check in CHECKS if check.rows_are_findings},
        systems=frames["core.systems"],
        accelerators=frames["mart.accelerators"],
        fact_conflicts=frames["mart.fact_conflicts"],
        names=frames["mart.names"],
        name_counts=frames["mart.name_counts"],
        description_audit=frames["mart.description_audit"],
    )
    remarks = [_infer(frames).findings, sheet_remarks(frames["core.sheet_findings"])]
    return Answers({"mart.findings": pl.concat([findings, *remarks]).sort("finding_id")})


READ_SPECIFICATIONS = "read_specifications"
"""Station whose facts are watched for changes."""

_SCORED_FROM = ("core.runs", "mart.runs", "core.systems", "core.scaling_factors", "core.power_readings")

_CHECKED = (
    "core.systems",
    "core.launches",
    "mart.results",
    "mart.runs",
    "mart.accelerators",
    "mart.fact_conflicts",
    "mart.name_counts",
    "mart.description_audit",
    "mart.rack_audit",
    "mart.comparability",
    "mart.calibrations",
    "mart.reconciled_runs",
)
_GATHERED = (
    "core.parse_findings",
    "core.sheet_findings",
    "core.inference_results",
    *_SCORED_FROM,
    "mart.accelerators",
    "mart.fact_conflicts",
    "mart.names",
    "mart.name_counts",
    "mart.description_audit",
    "mart.rack_audit",
    "mart.reconciled_runs",
    "mart.claims_ledger",
    "mart.checks",
)

STATIONS: tuple[Station, ...] = (
    Station("judge_runs", ("core.runs", "core.systems"), ("mart.runs",), _SCORING, _judge),
    Station("score_results", _SCORED_FROM, ("mart.results",), _SCORING, _score),
    Station(
        "sum_up_inference",
        ("core.inference_results",),
        ("mart.inference_results", "mart.inference_accelerators"),
        (*_SCORING, "schemas/inference.py"),
        _infer,
    ),
    Station(
        READ_SPECIFICATIONS,
        ("raw.sheets",),
        ("core.spec_facts", "core.sheet_findings"),
        ("parsing/spec_sheets", *_NAMES, "sources/registry", "sources/sheets.py"),
        _read_specifications,
    ),
    Station(
        "resolve_facts",
        ("core.spec_facts",),
        ("mart.accelerators", "mart.platforms", "mart.resolved_facts", "mart.fact_conflicts"),
        ("reconciling", "parsing/spec_sheets", *_NAMES, "sources/registry"),
        _resolve,
    ),
    Station(
        "list_names",
        ("core.systems", "core.runs"),
        ("mart.names",),
        ("reconciling/naming.py", *_NAMES),
        _list_names,
    ),
    Station(
        "audit_names",
        ("core.systems", "mart.accelerators"),
        ("mart.name_counts",),
        ("reconciling/name_counts.py", "parsing/name_counts.py", *_NAMES),
        _audit_names,
    ),
    Station(
        "audit_descriptions",
        ("core.systems", "core.spec_facts"),
        ("mart.description_audit",),
        ("reconciling", "parsing/spec_sheets", *_NAMES, "sources/registry"),
        _audit_descriptions,
    ),
    Station(
        "compare_groups",
        ("mart.results", "core.runs", "core.launches"),
        ("mart.comparability",),
        ("reconciling/comparability.py", *_NAMES),
        _compare,
    ),
    Station("audit_racks", ("core.systems", "core.launches"), ("mart.rack_audit",), _RECONCILING, _audit),
    Station(
        "model_runs",
        NEEDED_TABLES,
        MODELLED,
        _RECONCILING,
        _model,
    ),
    Station("list_claims", (), ("core.claims",), _CLAIMS, _list_claims),
    Station("judge_claims", ("core.claims", *CHECKED_AGAINST), ("mart.claims_ledger",), _CLAIMS, _judge_claims),
    Station(
        "check_answers",
        _CHECKED,
        ("mart.checks",),
        ("quality", "refreshing/quarantine.py"),
        _check,
        sees_quarantine=True,
    ),
    Station(
        "gather_findings",
        _GATHERED,
        ("mart.findings",),
        (*_RECONCILING, *_NAMES, "schemas/findings.py", "quality/suites.py", "quality/audit_checks.py"),
        _gather,
    ),
)
"""Every station. Scores are made again for the findings about them: it costs less than a table to keep them in."""
