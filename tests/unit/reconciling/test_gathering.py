"""All findings in one table: what stands alone, what is told once, how severe each is."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import polars as pl

from pipelines.parsing.published import ParseFinding, findings_frame
from pipelines.reconciling.gathering import PLACES_NAMED, gather_findings
from pipelines.schemas import TABLES
from pipelines.schemas.mart import Findings


def table(name: str, *rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=TABLES[name].schema.create_empty().schema)


def gather(told_elsewhere: Set[tuple[str, str]] = frozenset(), **frames: pl.DataFrame) -> pl.DataFrame:
    given = {
        "parse_findings": findings_frame([]),
        "scoring_findings": Findings.create_empty(),
        "rack_audit": table("mart.rack_audit"),
        "reconciled_runs": table("mart.reconciled_runs"),
        "claims_ledger": table("mart.claims_ledger"),
        "checks": table("mart.checks"),
        **{
            name.partition(".")[2]: table(name)
            for name in (
                "core.systems",
                "mart.accelerators",
                "mart.fact_conflicts",
                "mart.names",
                "mart.name_counts",
                "mart.description_audit",
            )
        },
    }
    return Findings.validate(gather_findings(told_elsewhere=told_elsewhere, **{**given, **frames}))


def parse_finding(path: str, **other: Any) -> ParseFinding:
    return ParseFinding("training-v9.0", path, "log.odd", "It is odd.", **{"found": "this", **other})


def test_nothing_to_say() -> None:
    assert gather().is_empty()


def test_what_occurs_many_times_is_told_once_with_its_count_and_first_places() -> None:
    names = [f"{number}.txt" for number in range(PLACES_NAMED + 2)]
    findings = [parse_finding(name) for name in names] + [parse_finding("0.txt", place="line 2", severity="info")]
    (row,) = gather(parse_findings=findings_frame(findings)).to_dicts()
    assert (row["kind"], row["subject"], row["severity"]) == ("log.odd", "training-v9.0", "warning")
    assert row["explanation"] == "6 times in 5 files, such as: It is odd."
    assert row["evidence"] == "0.txt, 1.txt, 2.txt and others, in core.parse_findings"
    assert row["found"] == "this"


def test_what_occurs_once_keeps_its_words() -> None:
    (row,) = gather(parse_findings=findings_frame([parse_finding("a.txt", severity="info")])).to_dicts()
    assert (row["explanation"], row["evidence"], row["severity"]) == ("It is odd.", "a.txt", "info")


def test_errors_of_parsing_stand_alone() -> None:
    findings = [parse_finding("a.txt", place="line 1", severity="error"), parse_finding("b.txt", severity="error")]
    rows = gather(parse_findings=findings_frame(findings)).to_dicts()
    assert [row["subject"] for row in rows] == ["training-v9.0/a.txt, line 1", "training-v9.0/b.txt"]
    assert {row["severity"] for row in rows} == {"error"}


def test_racks_are_told_unless_they_are_whole_or_part() -> None:
    rows = [
        {
            "round": "training-v9.0",
            "submitter_folder": "A",
            "system": verdict,
            "verdict": verdict,
            "accelerator_count": 100,
            "slots_per_rack": 72,
            "remainder_by_slots": 28,
            "explanation": "because",
        }
        for verdict in ("whole", "explained", "ambiguous", "part_rack", "contradicted", "not_stated")
    ]
    found = gather(rack_audit=table("mart.rack_audit", *rows))
    assert dict(found.select("kind", "severity").iter_rows()) == {
        "racks.explained": "info",
        "racks.ambiguous": "info",
        "racks.not_stated": "info",
        "racks.contradicted": "warning",
    }
    contradicted = found.filter(kind="racks.contradicted").row(0, named=True)
    assert contradicted["subject"] == "training-v9.0/A/contradicted"
    assert contradicted["expected"] == "a whole number of racks of 72"
    assert contradicted["found"] == "100 accelerators, 28 left over"


def test_a_run_outside_its_interval_and_a_network_that_is_not_enough_are_told() -> None:
    run = {
        "result_id": "training-v9.0/a/b/c",
        "round": "training-v9.0",
        "score_minutes": 30.0,
        "predicted_low_minutes": 25.0,
        "predicted_high_minutes": 28.0,
        "family": "f",
        "verdict": "slower_than_predicted",
        "explanation": "words",
        "nic_verdict": "not_enough",
        "nic_needed_gigabytes_per_second_low": 60.0,
        "nic_needed_gigabytes_per_second_mid": 70.0,
        "nic_needed_gigabytes_per_second_high": 80.0,
        "nic_available_gigabytes_per_second": 50.0,
    }
    fine = {**run, "result_id": "training-v9.0/a/b/d", "verdict": "as_predicted", "nic_verdict": "enough"}
    rows = gather(reconciled_runs=table("mart.reconciled_runs", run, fine)).to_dicts()
    assert [(row["kind"], row["severity"], row["found"]) for row in rows] == [
        ("model.slower_than_predicted", "warning", "30.0 min"),
        ("network.not_enough", "info", "50.0 GB/s"),
    ]
    assert rows[0]["expected"] == "25.0 to 28.0 min"


def test_claims_are_told_where_they_are_refuted_and_each_once() -> None:
    def claim(claim_id: str, verdict: str, **other: Any) -> dict[str, Any]:
        row = {
            "claim_id": claim_id,
            "document": "article.txt",
            "quote": "7 kW of power",
            "metric": "power",
            "value": "7",
            "unit": "kW",
            "verdict": verdict,
            "explanation": "It is 38 kW.",
            "checked_by": "power(32 accelerators)",
            "expression": "32 x 1.2 kW",
            "evidence": "core.spec_facts: GB200, power_watts, page",
        }
        return {**row, **other}

    ledger = table(
        "mart.claims_ledger",
        claim("a-1", "contradicted"),
        claim("a-2", "implausible", unit=None, evidence=None),
        claim("a-3", "misplaced"),
        claim("a-4", "contradicted", repeat_of="a-1"),
        *(claim(f"b-{verdict}", verdict) for verdict in ("supported", "assumption", "not_checkable", "not_a_claim")),
    )
    rows = gather(claims_ledger=ledger).to_dicts()
    assert [(row["kind"], row["subject"], row["severity"], row["found"]) for row in rows] == [
        ("claim.contradicted", "a-1", "warning", "7 kW"),
        ("claim.implausible", "a-2", "warning", "7"),
        ("claim.misplaced", "a-3", "info", "7 kW"),
    ]
    assert rows[0]["explanation"] == "article.txt: It is 38 kW."
    assert rows[0]["expected"] == "32 x 1.2 kW"
    assert [row["evidence"] for row in rows[:2]] == [
        "mart.claims_ledger: core.spec_facts: GB200, power_watts, page",
        "mart.claims_ledger: power(32 accelerators)",
    ]


def test_checks_that_did_not_pass_are_told_and_one_that_broke_is_an_error() -> None:
    def check(name: str, status: str, severity: str = "warning") -> dict[str, Any]:
        return {
            "table": "mart.results",
            "name": name,
            "severity": severity,
            "status": status,
            "failed_count": 2 if status == "failed" else None,
            "is_blocking": False,
            "meaning": "it holds",
            "explanation": "it does not",
        }

    rows = gather(
        checks=table("mart.checks", check("a", "passed"), check("b", "failed"), check("c", "errored"))
    ).to_dicts()
    assert [(row["kind"], row["severity"], row["found"]) for row in rows] == [
        ("check.b", "warning", "2 rows that do not"),
        ("check.c", "error", None),
    ]
    elsewhere = {("mart.results", "b"), ("mart.results", "c")}
    checks = table("mart.checks", check("b", "failed"), check("c", "errored"))
    assert gather(elsewhere, checks=checks)["kind"].to_list() == ["check.c"]


def test_facts_are_told_where_nothing_explains_them_and_where_there_are_none() -> None:
    def conflict(source: str, value: float, explained_by: str = "unexplained") -> dict[str, Any]:
        return {
            "subject": "Part 1",
            "metric": "bf16_dense_teraflops",
            "source": source,
            "locator": "row 1",
            "value": value,
            "resolved_value": 1000.0,
            "resolved_source": "vendor-page",
            "unit": "TFLOP/s",
            "ratio": value / 1000,
            "explained_by": explained_by,
        }

    rows = gather(
        systems=table("core.systems", {"round": "training-v9.0", "accelerator": "Part 2"}, {"round": "training-v9.0"}),
        accelerators=table(
            "mart.accelerators",
            {"accelerator": "Part 1", "fact_count": 3},
            {"accelerator": "Part 2", "fact_count": 0},
            {"accelerator": "Part 3", "fact_count": 0},
        ),
        fact_conflicts=table(
            "mart.fact_conflicts",
            conflict("a", 1200.0),
            conflict("b", 1500.0),
            conflict("c", 2000.0, "density"),
        ),
    ).to_dicts()
    assert [(row["finding_id"], row["severity"]) for row in rows] == [
        ("facts.none:Part 2", "info"),
        ("facts.unexplained:Part 1/bf16_dense_teraflops", "info"),
    ]
    assert rows[0]["explanation"].startswith("1 system uses Part 2, which is known by name only")
    assert "a factor of 1.2 to 1.5 on bf16_dense_teraflops of Part 1" in rows[1]["explanation"]
    assert (rows[1]["expected"], rows[1]["found"]) == (
        "1000 TFLOP/s by vendor-page",
        "1200 TFLOP/s by a; 1500 TFLOP/s by b",
    )


def test_findings_of_scoring_pass_through() -> None:
    finding = {
        "finding_id": "score.x:y",
        "kind": "score.x",
        "severity": "info",
        "subject": "y",
        "explanation": "so it is",
    }
    assert gather(scoring_findings=table("mart.findings", finding))["finding_id"].to_list() == ["score.x:y"]
