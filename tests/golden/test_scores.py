"""Scores of two real rounds against those of the official summarizer, read from the archives as published."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

from pipelines.parsing.layout import classify
from pipelines.parsing.power_logs import parse_power_logs
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import parse_result_log_batches
from pipelines.parsing.scaling_factors import parse_scaling_factors
from pipelines.parsing.system_descriptions import parse_system_descriptions
from pipelines.schemas import mart
from pipelines.scoring.results import score_results
from pipelines.scoring.rules import load_rules
from pipelines.scoring.runs import judge_runs

VERSIONS = ("v5.0", "v5.1")
HEADLINE = "training-v5.0/IBM+CoreWeave+NVIDIA/carina_ngpu2496_ngc25.04_nemo/llama31_405b"
NAMES = ["round", "submitter", "system", "benchmark"]


@dataclass
class Archive:
    """The files of one archive: result logs as a stream, the small ones kept by kind."""

    path: Path
    round_name: str
    kept: dict[str, list[PublishedFile]] = field(default_factory=dict)

    def result_logs(self) -> Iterator[PublishedFile]:
        with tarfile.open(self.path) as tar:
            for member in tar:
                path = member.name.partition("/")[2]
                placed = classify(path)
                stream = tar.extractfile(member) if member.isfile() and placed else None
                if stream is None or placed is None:
                    continue
                content = stream.read()
                file = PublishedFile(self.round_name, path, hashlib.sha256(content).hexdigest(), content)
                if placed.kind == "result_log":
                    yield file
                else:
                    self.kept.setdefault(placed.kind, []).append(file)


@dataclass(frozen=True)
class Scored:
    runs: pl.DataFrame
    results: pl.DataFrame
    findings: pl.DataFrame


@pytest.fixture(scope="module", params=[True, False], ids=["with_steps", "without_steps"])
def scored(shared: Path, request: pytest.FixtureRequest) -> Scored:
    def runs_of(archive: Archive) -> pl.DataFrame:
        batches = parse_result_log_batches(archive.result_logs(), with_steps=request.param)
        return pl.concat([batch.runs for batch in batches])

    archives = [Archive(shared / f"mlperf/training_results_{one}.tar.gz", f"training-{one}") for one in VERSIONS]
    runs = pl.concat(map(runs_of, archives))

    def kept(kind: str) -> Iterator[PublishedFile]:
        return (file for archive in archives for file in archive.kept.get(kind, []))

    systems = parse_system_descriptions(kept("system_description"))[0]
    judged = judge_runs(runs, systems, load_rules())
    results, findings = score_results(
        runs,
        judged,
        systems,
        parse_scaling_factors(kept("scaling_factor"))[0],
        parse_power_logs(kept("power_log"))[0],
        load_rules(),
    )
    return Scored(judged, results, findings)


@pytest.fixture(scope="module")
def official(shared: Path) -> pl.DataFrame:
    return pl.concat([pl.read_csv(shared / f"mlperf/golden/training-{one}.csv") for one in VERSIONS])


def test_every_official_score_is_equal(scored: Scored, official: pl.DataFrame) -> None:
    assert official.height == 385
    both = official.join(scored.results, on=NAMES, how="left", suffix="_ours")
    assert both.height == 385
    difference = (both["score_minutes_ours"] / both["score_minutes"] - 1).abs()
    assert difference.null_count() == 0
    assert both.filter(difference > 1e-9).select(*NAMES, "score_minutes", "score_minutes_ours").rows() == []
    # The arithmetic is done in the official order, so that no digit differs.
    assert (both["score_minutes_ours"] == both["score_minutes"]).all()
    assert (both["accelerator_count_ours"] == both["accelerator_count"]).all()
    assert (both["division_ours"] == both["division"]).all()


def test_no_other_strong_closed_result_has_a_score(scored: Scored, official: pl.DataFrame) -> None:
    ours = scored.results.filter(
        (pl.col("scaling_mode") == "strong") & (pl.col("division") == "closed") & pl.col("score_minutes").is_not_null()
    )
    assert ours.join(official, on=NAMES, how="anti")["result_id"].to_list() == []


def test_the_headline_result(scored: Scored) -> None:
    (row,) = scored.results.filter(result_id=HEADLINE).to_dicts()
    assert row["score_minutes"] == 27.334655875655876
    assert row["raw_minutes"] == pytest.approx(26.989967, abs=1e-6)
    assert row["rcp_factor"] == row["rcp_factor_recomputed"] == 1.0127710127710128
    assert (row["expected_samples"], row["samples_to_converge"]) == (327360.0, 323232.0)
    kept = scored.runs.filter("is_kept", result_id=HEADLINE)
    assert kept["raw_minutes"].to_list() == [row["raw_minutes"]]


def test_energy_is_that_of_the_official_summarizer(scored: Scored, shared: Path) -> None:
    golden = pl.read_csv(shared / "mlperf/golden/energy-v5.0.csv")
    both = golden.join(scored.results, on=NAMES, how="left")
    for row in both.to_dicts():
        assert row["energy_joules"] == pytest.approx(row["energy_official_number"], rel=1e-9), row["result_id"]
    measured = scored.results.filter(pl.col("energy_joules").is_not_null())
    assert measured.join(golden, on=NAMES, how="anti").height == 0


def test_a_published_factor_follows_from_the_reference_points(scored: Scored) -> None:
    published = scored.results.filter((pl.col("rcp_factor_source") == "file") & (pl.col("division") == "closed"))
    assert published.height == 184
    equal = (pl.col("rcp_factor_recomputed") / pl.col("rcp_factor") - 1).abs() < 1e-12
    exceptions = published.filter(~equal.fill_null(value=False))
    assert exceptions.select("result_id", "rcp_factor", "rcp_factor_recomputed", "rcp_check").rows() == [
        # The published logs converge slower than the reference, so their factor would be 1; this one fits other runs.
        ("training-v5.1/Supermicro/AS-4126GS-NBR-LCC/llama31_8b", 1.003831417624521, 1.0, "passed"),
    ]


def test_without_a_published_factor_none_was_needed(scored: Scored) -> None:
    others = scored.results.filter((pl.col("rcp_factor_source") != "file") & (pl.col("division") == "closed"))
    assert others.height == 201
    assert set(others["rcp_factor_source"]) == {"not_needed"}
    assert set(others["rcp_check"]) == {"passed"}


def test_runs_that_do_not_count(scored: Scored) -> None:
    failed = scored.runs.filter(pl.col("is_counted").not_())
    by_rule = failed.group_by("round", "not_counted_rule").agg(count=pl.len().cast(pl.Int64)).sort(pl.all())
    assert by_rule.rows() == [
        ("training-v5.0", "init_time", 1),
        ("training-v5.0", "run_stop", 5),
        ("training-v5.0", "status", 4),
        ("training-v5.1", "run_stop", 2),
        ("training-v5.1", "status", 1),
    ]
    (slow,) = failed.filter(not_counted_rule="init_time").to_dicts()
    assert slow["result_id"] == "training-v5.0/tinycorp/tinybox_green/bert"
    assert slow["init_minutes"] == pytest.approx(32.29, abs=0.01)


def test_logs_of_one_round_resubmitted_in_the_next(scored: Scored) -> None:
    nebius = scored.results.filter(submitter_folder="Nebius", benchmark="llama31_405b").sort("result_id")
    assert nebius.height == 4
    old = nebius.filter(round="training-v5.0")["result_id"].to_list()
    assert sorted(set(nebius["first_result_id"])) == sorted(old)
    assert nebius["score_minutes"].round(4).to_list() == [124.4959, 244.5944, 120.9389, 237.606]
    runs = scored.runs.filter(pl.col("result_id").is_in(nebius["result_id"].implode()))
    assert set(runs.filter("is_first_publication")["round"]) == {"training-v5.0"}
    said = scored.findings.filter(kind="run.same_log")["subject"].to_list()
    assert set(said) >= set(nebius.filter(round="training-v5.1")["result_id"])


def test_frames_pass_their_schemas(scored: Scored) -> None:
    assert mart.Runs.validate(scored.runs).height == 3386
    assert mart.Results.validate(scored.results).height == scored.results.height
    assert mart.Findings.validate(scored.findings).height == scored.findings.height
