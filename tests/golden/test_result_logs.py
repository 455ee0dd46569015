"""The real result logs of two rounds: counts, times and step times that were established independently."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from pipelines.parsing.layout import classify
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import ParsedLogs, parse_result_logs
from pipelines.schemas.core import Evals, ParseFindings, Runs, Steps

STEP_SECONDS = {
    "v5.0": {
        "tyche_ngpu256_ngc25.04_nemo": 19.1685,
        "carina_ngpu512_ngc25.04_nemo": 19.2780,
        "tyche_ngpu512_ngc25.04_nemo": 19.4323,
        "carina_ngpu1024_ngc25.04_nemo": 8.4485,
        "carina_ngpu1536_ngc25.04_nemo": 8.4992,
        "carina_ngpu2048_ngc25.04_nemo": 7.1585,
        "carina_ngpu2496_ngc25.04_nemo": 5.8225,
        "eos-dfw_n64_ngc25.01_nemo": 55.1433,
        "eos-dfw_n256_ngc25.01_nemo": 14.2216,
        "eos-dfw_n304_ngc25.01_nemo": 12.7116,
        "eos-dfw_n320_ngc25.01_nemo": 11.1730,
        "eos-dfw_n1024_ngc25.01_nemo": 5.1790,
        "nebius_soperator_8xH200_n64_ngc25.01_nemo": 50.012,
        "nebius_soperator_8xH200_n128_ngc25.01_nemo": 25.356,
    },
    "v5.1": {
        "tyche_ngpu512_ngc25.09_nemo": 17.2602,
        "hsg_ngpu2560_ngc25.09_nemo": 3.1901,
        "hsg_ngpu5120_ngc25.09_nemo": 2.2286,
        "theia_ngpu512_ngc25.09_nemo": 13.1448,
        "hpg.dgxb200x8.n32": 27.645,
        "hpg.dgxb200x8.n56": 27.977,
        "nebius_h200_n64": 50.012,
        "nebius_h200_n128": 25.356,
    },
}


def result_logs(archive: Path, round_name: str) -> Iterator[PublishedFile]:
    """Yield the result logs of an archive, each under its path below the archive's top folder."""
    with tarfile.open(archive) as tar:
        for member in tar:
            path = member.name.partition("/")[2]
            placed = classify(path)
            if member.isfile() and placed is not None and placed.kind == "result_log":
                stream = tar.extractfile(member)
                assert stream is not None
                content = stream.read()
                yield PublishedFile(round_name, path, hashlib.sha256(content).hexdigest(), content)


@pytest.fixture(scope="module")
def rounds(shared: Path) -> dict[str, ParsedLogs]:
    return {
        version: parse_result_logs(
            result_logs(shared / f"mlperf/training_results_{version}.tar.gz", f"training-{version}")
        )
        for version in ("v5.0", "v5.1")
    }


@pytest.mark.parametrize(
    ("version", "files", "events", "lines", "without_stop", "aborted"),
    [("v5.0", 1_717, 433_799, 1_614_623, 5, 4), ("v5.1", 1_669, 733_602, 2_448_615, 2, 1)],
)
def test_counts(
    rounds: dict[str, ParsedLogs], version: str, files: int, events: int, lines: int, without_stop: int, aborted: int
) -> None:
    runs = rounds[version].runs
    assert runs.height == files
    assert runs["event_count"].sum() == events
    assert runs["broken_line_count"].sum() == 0
    assert runs["line_count"].sum() == lines
    assert (runs["run_stop_count"] == 0).sum() == without_stop
    assert (runs["status"] == "aborted").sum() == aborted
    assert (runs["run_start_count"] == 1).all()


@pytest.mark.parametrize("version", ["v5.0", "v5.1"])
def test_frames_pass_their_schemas(rounds: dict[str, ParsedLogs], version: str) -> None:
    parsed = rounds[version]
    Runs.validate(parsed.runs)
    Evals.validate(parsed.evals)
    Steps.validate(parsed.steps)
    ParseFindings.validate(parsed.findings)


def test_start_and_stop_of_the_headline_run(rounds: dict[str, ParsedLogs]) -> None:
    carina = (
        rounds["v5.0"]
        .runs.filter(result_id="training-v5.0/IBM+CoreWeave+NVIDIA/carina_ngpu2496_ngc25.04_nemo/llama31_405b")
        .sort("source_path")
    )
    assert carina.select("run_start_ms", "run_stop_ms").rows() == [
        (1746151713647, 1746153329198),
        (1746154054506, 1746155675715),
        (1746157414129, 1746159033527),
    ]
    assert carina["samples_to_converge"].median() == 323_232
    assert carina["global_batch_size"].to_list() == [1248] * 3
    assert carina["gradient_accumulation_steps"].to_list() == [32.0] * 3


@pytest.mark.parametrize("version", ["v5.0", "v5.1"])
def test_step_seconds_of_llama31_405b(rounds: dict[str, ParsedLogs], version: str) -> None:
    runs = rounds[version].runs.filter(benchmark="llama31_405b")
    seconds = dict(runs.group_by("system").agg(pl.col("step_median_seconds").median()).iter_rows())
    assert seconds.keys() == STEP_SECONDS[version].keys()
    for system, expected in STEP_SECONDS[version].items():
        digits = len(str(expected).partition(".")[2])
        assert seconds[system] == pytest.approx(expected, abs=0.51 * 10**-digits), system


@pytest.mark.parametrize("version", ["v5.0", "v5.1"])
def test_steps_times_batch_are_the_samples(rounds: dict[str, ParsedLogs], version: str) -> None:
    runs = rounds[version].runs.filter(benchmark="llama31_405b")
    assert (runs["step_count"] * runs["global_batch_size"] == runs["samples_to_converge"]).all()
    assert (runs["step_count"] == runs["logged_step_count"]).all()


def test_evaluations_of_llama31_405b(rounds: dict[str, ParsedLogs]) -> None:
    older = rounds["v5.0"].runs.filter(benchmark="llama31_405b")
    batch = older["global_batch_size"]
    next_multiple = (46_080 + batch - 1) // batch * batch
    assert (older["first_eval_samples"] == next_multiple).all()
    assert (older["eval_interval_samples"] == next_multiple).all()
    without_start = older.filter(pl.col("eval_median_seconds").is_null())["system"].unique().sort()
    assert without_start.to_list() == ["tyche_ngpu256_ngc25.04_nemo", "tyche_ngpu512_ngc25.04_nemo"]
    newer = rounds["v5.1"].runs.filter(benchmark="llama31_405b", submitter_folder="NVIDIA")
    assert newer["first_eval_samples"].is_between(276_480, 307_200).all()
    assert set(newer["eval_interval_samples"]) == {18_432, 19_200}
