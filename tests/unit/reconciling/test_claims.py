"""Verdicts: the rules on small cases, the ledger's rows, and four short articles whose claims are known."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.parsing.claims import Media
from pipelines.parsing.spec_sheets.registry import read_registry
from pipelines.reconciling._claim_model import Alternative, Candidate, Check, Claim
from pipelines.reconciling._claim_rules import CHECK_THIS, judge
from pipelines.reconciling.claims import DOCUMENT_COLUMNS, Inputs, check_document, known_claims, reconcile_claims
from pipelines.reconciling.facts import reconcile_facts
from pipelines.schemas.core import Claims
from pipelines.schemas.mart import ClaimsLedger
from pipelines.sources.registry import registry_files

ARTICLES = Path(__file__).parent / "articles"
CARINA = "training-v5.0/IBM+CoreWeave+NVIDIA/carina_ngpu2496_ngc25.04_nemo/llama31_405b"


def result(
    round_name: str, folder: str, system: str, part: str, count: int, raw: float, factor: float, **more: Any
) -> dict[str, Any]:
    result_id = f"training-{round_name}/{folder}/{system}/llama31_405b"
    return {
        "result_id": result_id,
        "round": f"training-{round_name}",
        "submitter_folder": folder,
        "submitter": folder,
        "system": system,
        "system_name": system,
        "division": "closed",
        "benchmark": "llama31_405b",
        "scaling_mode": "strong",
        "accelerator": part,
        "accelerator_count": count,
        "raw_minutes": raw,
        "rcp_factor": factor,
        "score_minutes": raw * factor,
        "first_result_id": result_id,
        "racks_stated": None,
        "slots_per_rack": None,
    } | more


RESULTS = [
    result(
        "v5.0",
        "IBM+CoreWeave+NVIDIA",
        "carina_ngpu2496_ngc25.04_nemo",
        "GB200 (per GPU)",
        2496,
        26.989966666666668,
        1.0127710127710128,
        racks_stated=39,
        slots_per_rack=72,
        system_name="Carina (39x NVIDIA GB200 NVL72)",
    ),
    result("v5.0", "IBM+CoreWeave+NVIDIA", "carina_ngpu512_ngc25.04_nemo", "GB200 (per GPU)", 512, 104.947, 1.153846),
    result("v5.0", "NVIDIA", "eos-dfw_n64_ngc25.04_nemo", "H100-SXM5-80GB", 512, 230.676, 1.166667),
    result("v5.0", "NVIDIA", "eos-dfw_n320_ngc25.04_nemo", "H100-SXM5-80GB", 2560, 50.350, 1.142857),
    result("v5.0", "NVIDIA", "eos-dfw_n1024_ngc25.04_nemo", "H100-SXM5-80GB", 8192, 19.638, 1.059524),
    result("v5.1", "NVIDIA", "hsg_ngpu2560_ngc25.09_nemo", "GB200 (per GPU)", 2560, 18.794, 1.0),
    result(
        "v5.1",
        "NVIDIA",
        "hsg_ngpu5120_ngc25.09_nemo",
        "GB200 (per GPU)",
        5120,
        9.9945,
        1.0,
        racks_stated=80,
        slots_per_rack=72,
    ),
    result("v5.1", "NVIDIA", "theia_ngpu512_ngc25.09_nemo", "GB300 (per GPU)", 512, 64.605, 1.0),
]


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    registry = read_registry(registry_files())
    resolved = reconcile_facts(registry.facts, registry.subject_frame, registry.containments)
    frame = pl.DataFrame(RESULTS, infer_schema_length=None)
    systems = ["round", "submitter_folder", "system", "racks_stated", "slots_per_rack"]
    return {
        "core.spec_facts": registry.facts,
        "mart.accelerators": resolved.accelerators,
        "mart.platforms": resolved.platforms,
        "registry.containments": registry.containments,
        "mart.results": frame.drop("racks_stated", "slots_per_rack"),
        "core.systems": frame.select(systems),
    }


def verdicts(text: str, inputs: Inputs, media: Media = "text") -> list[tuple[str, str, str]]:
    return list(check_document(text, media, inputs).select("value", "unit", "verdict").iter_rows())


EXPECTED = list(csv.DictReader((ARTICLES / "expected.csv").read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("article", sorted({row["article"] for row in EXPECTED}))
def test_articles_whose_claims_are_known(article: str, inputs: Inputs) -> None:
    media: dict[str, Media] = {"txt": "text", "html": "html", "md": "markdown"}
    text = (ARTICLES / article).read_text(encoding="utf-8")
    checked = check_document(text, media[article.rpartition(".")[2]], inputs)
    told = set(checked.select("value", "unit", "metric", "verdict").iter_rows())
    expected = {(r["value"], r["unit"], r["metric"], r["verdict"]) for r in EXPECTED if r["article"] == article}
    assert told == expected


def candidate(value: float, **more: Any) -> Candidate:
    return Candidate("the known one", value, value, "known", "a row", **more)


def claim(value: float, **more: Any) -> Claim:
    return Claim("power", value, value, subject="GB200 NVL72", kind="platform", unit="kW", dimension="power", **more)


@pytest.mark.parametrize(
    ("told", "check", "verdict"),
    [
        (claim(120.0), Check("c", (candidate(121.0),)), "supported"),
        (claim(120.0), Check("c", (candidate(121.0), candidate(300.0))), "misplaced"),
        (claim(120.0), Check("c", (candidate(121.0), candidate(300.0)), is_any=True), "supported"),
        (claim(960.0), Check("c", (candidate(120.0),), (Alternative(candidate(960.0), "the pod"),)), "misplaced"),
        (claim(2.0), Check("c", (candidate(53.0),), is_any=True, floor=candidate(9.6)), "implausible"),
        (claim(900.0), Check("c", (candidate(53.0),), ceiling=candidate(230.0)), "implausible"),
        (claim(500.0), Check("c", (candidate(120.0),)), "contradicted"),
        (claim(125.0), Check("c", (candidate(120.0),)), CHECK_THIS),
        (claim(500.0, is_explicit=False), Check("c", (candidate(120.0),)), CHECK_THIS),
        (claim(500.0), Check("c", (candidate(120.0, is_firm=False),)), CHECK_THIS),
        (claim(500.0), Check("c", (candidate(120.0),), doubtful=(candidate(500.0),)), CHECK_THIS),
        (claim(500.0, is_hypothetical=True), Check("c", (candidate(120.0),)), "assumption"),
        (claim(500.0), Check("c"), "not_checkable"),
        (claim(150.0, comparator="more"), Check("c", (candidate(170.0),)), "supported"),
        (claim(150.0, comparator="less"), Check("c", (candidate(170.0),)), "contradicted"),
        (claim(130.0, is_approximate=True), Check("c", (candidate(120.0),)), "supported"),
    ],
)
def test_rules(told: Claim, check: Check, verdict: str) -> None:
    assert judge(told, check).verdict == verdict


def test_a_misplaced_figure_names_its_factor_and_where_it_belongs() -> None:
    judged = judge(claim(960.0), Check("c", (candidate(120.0),), (Alternative(candidate(960.0), "the pod"),)))
    assert "a factor of 8" in judged.explanation
    assert judged.strongest_reading == "It would be right of the pod (the known one)."
    assert (judged.computed_low, judged.relative_error) == (120.0, 7.0)


def test_where_a_misplaced_figure_belongs_is_named_once() -> None:
    known = replace(candidate(960.0), label="the pod")
    judged = judge(claim(960.0), Check("c", (candidate(120.0),), (Alternative(known, "the pod"),)))
    assert judged.strongest_reading == "It would be right of the pod."
    assert judged.explanation.count("the pod") == 1


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("The GB200 NVL72 has 72 GPUs.", "supported"),
        ("The GB200 NVL72 provides 1.04 PB/s of NVLink bandwidth.", "misplaced"),
        ("The GB200 NVL72 draws 1.2 MW.", "misplaced"),
        ("An H100 draws 1,400 W.", "contradicted"),
        ("An H100 draws about 720 W.", "supported"),
        ("The H100 delivers 3,958 TFLOPS of dense FP8.", "misplaced"),
        ("The GB300 NVL72 has 800 GB/s of networking per GPU.", "misplaced"),
        ("The GB200 NVL72 is connected at 800 GB per second by Quantum-X800 InfiniBand.", "misplaced"),
        ("Each NVLink 5 link moves 100 GB/s.", "supported"),
        ("NVLink 5 provides 1.8 TB/s per GPU.", "supported"),
        ("NVLink 5 provides 900 GB/s per direction per GPU.", "supported"),
        ("NVLink 5 provides 1.8 TB/s per direction per GPU.", "misplaced"),
        ("NVLink 5 provides 1.8 TB/s per GPU. NVLink 5 provides 1.8 TB/s per direction per GPU.", "misplaced"),
        ("NVLink 5 provides 450 GB/s per direction per GPU.", "check_this"),
        ("TPU v5p has 95 GB of HBM.", "supported"),
        ("The GB300 NVL72 reaches 1.4 EFLOPS of FP4.", "supported"),
        ("The B300 has 288 GB of memory.", "supported"),
        ("The B500 has 512 GB of memory.", "not_checkable"),
        ("A fabric of Quantum-X800 switches joins at most 9,216 GPUs in one fabric.", "contradicted"),
        ("MLPerf Training v5.0 appeared on 4 June 2025.", "supported"),
        ("The GB200 NVL72 delivers 30x faster inference than H100.", "supported"),
        ("The GB200 NVL72 delivers 31x faster inference than H100.", "not_checkable"),
        ("CloudMatrix 384 has 1.7 times the compute of the GB200 NVL72.", "supported"),
        ("A 70B model in FP16 takes 140 GB.", "supported"),
        ("2,496 does not divide by 72.", "supported"),
        ("2,448 does not divide by 72.", "contradicted"),
        ("100,000 GPUs in NVL72 racks need 30 MW.", "implausible"),
        ("A GB200 NVL72 rack holds 20,736 TB of HBM.", "contradicted"),
        ("Unlike the H100, the B200 has 80 GB of memory.", "misplaced"),
        ("An H100 delivers 3.35 Tb/s of memory bandwidth.", "misplaced"),
        ("The B200 carries 192 Gb of HBM3e.", "misplaced"),
        ("The H100 delivers 989 TFLOPS of dense FP8.", "misplaced"),
        ("An H100 gives 4 TFLOPS per watt.", "not_checkable"),
        ("A B300 does 14 PFLOPS per kilowatt.", "not_checkable"),
        ("The GB200 NVL72 has 9 NVLink switch trays.", "supported"),
        ("The GB200 NVL72 has 18 NVLink switch trays.", "contradicted"),
        ("1,024 H100 GPUs draw 717 kW.", "supported"),
        ("1,024 H100 at 700 W each draw 717 kW.", "supported"),
        ("1,024 H100 GPUs draw 1.4 MW.", "check_this"),
        ("2,496 GB200 trained Llama 3.1 405B in 27.33 minutes.", "supported"),
        ("2,496 GB200 trained Llama 3.1 405B in 17.33 minutes.", "contradicted"),
    ],
)
def test_single_sentences(text: str, verdict: str, inputs: Inputs) -> None:
    assert [row[2] for row in verdicts(text, inputs)][-1] == verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("The GB200 NVL72 draws 120 kW per rack; 32 GPUs draw 53 kW.", "supported"),
        ("A GB200 NVL72 rack draws 120 kW; half of it, 36 GPUs, takes 65 kW.", "supported"),
        ("Each tray of 4 GPUs of a GB200 NVL72 takes 7 kW.", "supported"),
        ("Of a GB200 NVL72 32 GPUs draw 500 kW.", "contradicted"),
        ("The GB200 NVL72 with 72 GPUs draws 120 kW.", "supported"),
        ("The GB200 NVL72 with 72 GPUs draws 500 kW.", "contradicted"),
        ("Eight racks of GB200 NVL72 hold 576 GPUs and draw 120 kW each.", "supported"),
    ],
)
def test_a_power_may_be_of_some_of_the_accelerators_of_a_platform(text: str, verdict: str, inputs: Inputs) -> None:
    """72 of them draw 120 to 132 kW together, so 32 draw 53 to 59."""
    powers = check_document(text, "text", inputs).filter(metric="power")
    assert powers["verdict"][-1] == verdict


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("A GB200 NVL72 rack draws 120 W.", "kW"),
        ("Each H100 SXM draws 700 kW.", "W"),
        ("A DGX H100 draws 10.2 W.", "kW"),
        ("An H100 delivers 1,979 PFLOPS of dense FP8.", "TFLOPS"),
    ],
)
def test_a_figure_that_is_a_thousand_times_off_is_told_the_unit_in_which_it_is_right(
    text: str, unit: str, inputs: Inputs
) -> None:
    (row,) = check_document(text, "text", inputs).to_dicts()
    assert row["verdict"] in ("contradicted", "implausible")
    assert f"It would be right in {unit}." in row["explanation"]


def test_a_time_that_is_right_in_another_unit_is_told_it(inputs: Inputs) -> None:
    row = check_document("8,192 H100 trained Llama 3.1 405B in 20.8 hours.", "text", inputs).to_dicts()[-1]
    assert (row["metric"], row["verdict"]) == ("time_to_train", "contradicted")
    assert "It would be right in min." in row["explanation"]


def test_a_power_of_one_is_not_held_against_that_of_all(inputs: Inputs) -> None:
    each, together = (
        check_document("1,024 H100 at 700 W draw 717 kW.", "text", inputs).filter(metric="power").to_dicts()
    )
    assert (each["computed_high"], together["computed_high"]) == pytest.approx((700.0, 716.8))


def test_sources_of_a_power_span_that_of_one_and_that_of_all_apart(inputs: Inputs) -> None:
    """Between the 700 W of one H100 and the 717 kW of 1,024 lies no figure that any source tells."""
    powers = check_document("1,024 H100 at 9 kW draw 717 kW.", "text", inputs).filter(metric="power")
    assert powers["verdict"][0] != "supported"


def test_a_count_is_never_joined_on_the_number_alone(inputs: Inputs) -> None:
    """9,216 is a TPU pod's chips and an NVIDIA fabric's example: each is held against its own subject."""
    checked = check_document("A TPU7x pod has 9,216 chips. The DGX SuperPOD GB200 has 9,216 GPUs.", "text", inputs)
    assert checked["verdict"].to_list() == ["supported", "misplaced"]
    assert "576 GPUs" in checked["explanation"][1]


def test_results_are_found_by_round_part_and_count(inputs: Inputs) -> None:
    score = "In MLPerf Training v5.0, 2,496 GB200 GPUs trained Llama 3.1 405B in {} minutes."
    assert [verdicts(score.format(minutes), inputs)[-1][2] for minutes in ("27.3", "27.33", "26.99", "21")] == [
        "supported",
        "supported",
        "misplaced",
        "contradicted",
    ]
    wrong_part = "5,120 GB300 GPUs trained Llama 3.1 405B in 10 minutes in MLPerf Training v5.1."
    assert {row[2] for row in verdicts(wrong_part, inputs)} == {"misplaced"}


def test_racks_by_division_are_told_from_the_racks_that_were_used(inputs: Inputs) -> None:
    text = "2,496 GB200 GPUs in {} NVL72 racks trained Llama 3.1 405B in 27.3 minutes in MLPerf Training v5.0."
    rows = {
        count: check_document(text.format(count), "text", inputs).filter(metric="racks").row(0, named=True)
        for count in (35, 39, 45)
    }
    verdicts = {count: row["verdict"] for count, row in rows.items()}
    assert verdicts == {35: "misplaced", 39: "supported", 45: "check_this"}
    assert "39 racks. The figure is that of its accelerators over all slots of a rack" in rows[35]["explanation"]
    assert rows[35]["rewording"].endswith("): 39 racks.")
    assert "2,496 accelerators / 72 slots of a rack, rounded up = 35" in rows[35]["expression"]


def test_racks_of_one_rack_without_a_run_contradict_nothing(inputs: Inputs) -> None:
    rows = check_document("2,496 GB200 GPUs are 35 racks of NVL72.", "text", inputs).filter(metric="racks")
    assert rows["verdict"].to_list() == ["not_checkable"]
    assert rows["explanation"][0].startswith("It counts racks of GB200 NVL72, which is one rack")


def test_a_round_that_is_not_here_is_not_checkable(inputs: Inputs) -> None:
    text = "In MLPerf Training v6.0, DeepSeek-V3 trained in 2.02 minutes on 8,192 GB300 NVL72 systems."
    checked = check_document(text, "text", inputs)
    assert checked["verdict"].to_list() == ["not_checkable", "not_checkable"]
    assert "589,824" in checked["explanation"][1], "8,192 racks would be more accelerators than anybody runs"


def test_a_speed_up_across_rounds_says_that_it_is_not_like_for_like(inputs: Inputs) -> None:
    text = (
        "A 2,560-GPU run of Llama 3.1 405B took 18.79 minutes in MLPerf Training v5.1, 45% faster than the prior round."
    )
    row = check_document(text, "text", inputs).filter(pl.col("metric") == "gain").row(0, named=True)
    assert row["verdict"] == "supported"
    assert "another round" in row["rewording"]


@pytest.mark.parametrize(
    ("text", "verdict", "ratio"),
    [
        ("The 5,120-GPU run in v5.1 was 2.7 times faster than the 2,496-GPU run in v5.0.", "supported", 2.735),
        ("Llama 3.1 405B on 5,120 GB200 in v5.1 was 5 times faster than on 2,496 GB200 in v5.0.", "check_this", 2.735),
        (
            "Llama 3.1 405B went from 27.33 minutes in v5.0 to 9.99 minutes in v5.1, 2.7 times faster.",
            "supported",
            27.33 / 9.99,
        ),
        (
            "Llama 3.1 405B went from 27.33 minutes in v5.0 to 9.99 minutes in v5.1, 4 times faster.",
            "check_this",
            27.33 / 9.99,
        ),
        ("The 2,496-GPU run in v5.0 was 2.7 times faster than the 5,120-GPU run in v5.1.", "not_checkable", None),
    ],
)
def test_a_speed_up_between_two_runs_or_times_of_its_sentence(
    text: str, verdict: str, ratio: float | None, inputs: Inputs
) -> None:
    row = check_document(text, "text", inputs).filter(metric="speed_up").row(0, named=True)
    assert row["verdict"] == verdict
    assert row["computed_high"] == (None if ratio is None else pytest.approx(ratio, abs=5e-4))


def test_the_footnote_of_a_result(inputs: Inputs) -> None:
    text = "MLPerf Training v5.0: 2,496 GB200 GPUs trained Llama 3.1 405B in 27.3 minutes. The GB200 NVL72 has 72 GPUs."
    with_age = {
        **inputs,
        "core.sources": pl.DataFrame({"round": ["training-v5.0"], "retrieved_at": ["2026-01-02T03:04:05Z"]}),
    }
    rows = check_document(text, "text", with_age).rows(named=True)
    note = next(row["footnote"] for row in rows if row["unit"] == "min")
    for part in (
        "v5.0",
        "Closed",
        "llama31_405b",
        "IBM+CoreWeave+NVIDIA",
        CARINA,
        "2026-01-02",
        "not verified by MLCommons",
        "trademark",
    ):
        assert part in note
    count = next(row["footnote"] for row in rows if row["value"] == "2496")
    assert "derived" in count
    assert rows[-1]["footnote"] is None, "a fact of a product rests on no result"


def test_a_repeat_has_the_verdict_of_the_first_telling(inputs: Inputs) -> None:
    rows = check_document(
        "A GB200 NVL72 has 72 GPUs.\n\n| GPUs per GB200 NVL72 | 72 |\n|---|---|\n", "text", inputs
    ).rows(named=True)
    assert [(row["verdict"], row["repeat_of"]) for row in rows] == [("supported", None), ("supported", 1)]


def test_without_any_table_nothing_is_contradicted() -> None:
    text = (ARTICLES / "news.md").read_text(encoding="utf-8") + (ARTICLES / "cluster_blog.txt").read_text(
        encoding="utf-8"
    )
    told = set(check_document(text, "markdown", {})["verdict"])
    assert told <= {"not_checkable", "assumption", "not_a_claim", "supported", "contradicted", "misplaced"}
    assert set(check_document("The GB300 NVL72 draws 500 kW.", "text", {})["verdict"]) == {"not_checkable"}


def test_known_claims_carry_no_verdict() -> None:
    claims = known_claims()
    Claims.validate(claims)
    assert claims.height == 95
    assert not any("verdict" in name or "independent" in name for name in claims.columns)
    assert claims["quote"].str.split(" ").list.len().max() <= 15  # type: ignore[operator]
    assert set(claims["repeat_of"].drop_nulls()) <= set(claims["claim_id"])


def test_the_ledger_computes_its_verdicts(inputs: Inputs) -> None:
    ledger = reconcile_claims(known_claims(), inputs)
    ClaimsLedger.validate(ledger)
    rows = {row["claim_id"]: row for row in ledger.iter_rows(named=True)}
    assert (rows["s1-11"]["verdict"], rows["s1-11"]["computed_value"]) == ("misplaced", 0.13)
    assert "a factor of 8" in rows["s1-11"]["explanation"]
    assert rows["s1-12"]["verdict"] == "misplaced"
    assert "219 W each" in rows["s1-08"]["explanation"]
    assert rows["s1-08"]["verdict"] == "implausible"
    assert "18x" in rows["s0-06"]["explanation"]
    assert "9x" in rows["s0-06"]["explanation"]
    assert "288 leaf switches" in rows["s0-13"]["explanation"]
    assert "4,992 is 2 times the 2,496" in rows["s0-26"]["explanation"]
    assert rows["s0-26"]["verdict"] == "assumption"
    assert rows["s0-20"]["computed_value"] == pytest.approx(27.334656, abs=1e-5)
    assert "26.9900 x convergence factor 1.012771" in rows["s0-20"]["expression"]
    assert rows["s1-17"]["verdict"] == "supported"


def test_a_ledger_row_follows_the_facts(inputs: Inputs) -> None:
    """The verdict is computed: with other facts it is another."""
    claims = known_claims().filter(pl.col("claim_id") == "s1-11")
    facts = inputs["core.spec_facts"]
    of_rack = (pl.col("subject") == "GB200 NVL72") & (pl.col("quantity") == "scale_up_aggregate_terabytes_per_second")
    changed = facts.with_columns(value=pl.when(of_rack).then(1_100.0).otherwise(pl.col("value")))
    ledger = reconcile_claims(claims, {**inputs, "core.spec_facts": changed})
    assert ledger["verdict"].to_list() == ["supported"]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "GB200 NVL72",
                "has",
                "72 GPUs",
                "draws",
                "120 kW",
                "MLPerf Training v5.0",
                "in 27 min",
                "H100",
                "10x",
                "per rack",
                "; ",
                ". ",
                "Llama 3.1 405B",
                "30%",
                "128 leaf switches",
                "assuming",
            ]
        ),
        max_size=25,
    )
)
def test_any_sentence_gets_a_verdict(words: list[str]) -> None:
    checked = check_document(" ".join(words), "text", {"mart.results": pl.DataFrame(RESULTS, infer_schema_length=None)})
    assert checked.columns == list(DOCUMENT_COLUMNS)
    assert checked["verdict"].null_count() == 0
