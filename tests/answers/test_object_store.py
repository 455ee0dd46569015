"""Every command on a lake in a bucket, filled from the embedded snapshot: the same answers as from a folder."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipelines.lake.tables import Lake
from pipelines.schemas import TABLES
from tests.answers.conftest import COMMAND, Run
from tests.conftest import S3Server

pytestmark = [pytest.mark.server, pytest.mark.timeout(900)]

RESULT = "training-v5.0/IBM+CoreWeave+NVIDIA/carina_ngpu2496_ngc25.04_nemo/llama31_405b"
OTHER = "training-v5.0/IBM+CoreWeave+NVIDIA/carina_ngpu1024_ngc25.04_nemo/llama31_405b"


@pytest.fixture(scope="module")
def in_bucket(s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Fill a lake in a bucket and give the environment of a machine that works with it."""
    s3_server.make_bucket("answers")
    environment = {
        **s3_server.environment,
        "RACKRECON_LAKE": "s3://answers/lake",
        "RACKRECON_DATA": str(tmp_path_factory.mktemp("machine")),
    }
    filled = subprocess.run(
        [*COMMAND, "refresh"], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert filled.returncode == 0, filled.stderr
    assert f"{environment['RACKRECON_DATA']}/warehouse.duckdb (rackrecon query SQL), s3://answers/lake" in filled.stdout
    return environment


@pytest.fixture
def both(filled: Path, in_bucket: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> tuple[Lake, Lake]:
    """Give the lake in a folder and the one in a bucket."""
    for name, value in in_bucket.items():
        monkeypatch.setenv(name, value)
    return Lake.at(str(filled / "lake")), Lake.at(in_bucket["RACKRECON_LAKE"])


def test_the_tables_are_those_of_a_folder(both: tuple[Lake, Lake]) -> None:
    folder, bucket = both
    for name, entry in TABLES.items():
        assert bucket.partitions(name) == folder.partitions(name), name
        assert_frame_equal(bucket.read(name), folder.read(name), check_exact=False, rel_tol=1e-12)
        for partition in folder.partitions(name) if entry.layer != "mart" else ():
            part = partition if entry.by_round else None
            made, kept = folder.manifest(name, part), bucket.manifest(name, part)
            assert made is not None
            assert kept is not None
            assert kept.sha256 == made.sha256, name


def test_nothing_new_is_no_work(rackrecon: Run, in_bucket: Mapping[str, str]) -> None:
    again = rackrecon("refresh", **in_bucket)
    assert again.returncode == 0
    assert "Nothing to do: inputs and code of 2 rounds and of all answers are unchanged." in again.stderr


def test_another_machine_asks(rackrecon: Run, in_bucket: Mapping[str, str], tmp_path: Path) -> None:
    elsewhere = {**in_bucket, "RACKRECON_DATA": str(tmp_path / "elsewhere")}
    question = "SELECT count(*) AS n, count(score_minutes) AS scored FROM mart.results"
    assert rackrecon("query", question, "--format", "csv", **elsewhere).stdout == "n,scored\n385,385\n"
    assert rackrecon("query", question, "--format", "csv").stdout == "n,scored\n385,385\n"
    checks = json.loads(rackrecon("check", "--format", "json", **elsewhere).stdout)
    assert {check["status"] for check in checks} <= {"passed", "failed"}
    chain = rackrecon("explain", RESULT, **elsewhere)
    assert chain.returncode == 0, chain.stderr
    assert chain.stdout == rackrecon("explain", RESULT).stdout
    assert RESULT in chain.stdout


def test_results_and_documents_are_held_against_it(
    rackrecon: Run, in_bucket: Mapping[str, str], tmp_path: Path
) -> None:
    compared = rackrecon("compare", RESULT, OTHER, "--format", "csv", **in_bucket)
    assert compared.returncode == 0, compared.stderr
    assert compared.stdout == rackrecon("compare", RESULT, OTHER, "--format", "csv").stdout != ""
    document = tmp_path / "article.txt"
    document.write_text("The GB200 NVL72 rack holds 72 GPUs. The H100 SXM has 80 GB of memory.\n", "utf-8")
    claims = rackrecon("claims", str(document), "--format", "json", **in_bucket)
    assert claims.returncode == 0, claims.stderr
    assert claims.stdout == rackrecon("claims", str(document), "--format", "json").stdout
    assert json.loads(claims.stdout)


def test_a_plan_is_made_from_it(rackrecon: Run, in_bucket: Mapping[str, str]) -> None:
    asked = ["plan", "--workload", "llama31_405b", "--target-minutes", "27.33"]
    asked += ["--platform", "gb200-nvl72", "--precision", "fp8"]
    plan = rackrecon(*asked, **in_bucket)
    assert plan.returncode == 0, plan.stderr
    assert plan.stdout == rackrecon(*asked).stdout
    assert "39 racks" in plan.stdout


def test_what_is_handed_out_comes_from_it(rackrecon: Run, in_bucket: Mapping[str, str], tmp_path: Path) -> None:
    report = rackrecon("report", "--output", str(tmp_path / "report"), **in_bucket)
    assert report.returncode == 0, report.stderr
    assert "carina_ngpu2496" in Path(report.stdout.strip()).read_text("utf-8")
    release = rackrecon("release", "--output", str(tmp_path / "releases"), **in_bucket)
    assert release.returncode == 0, release.stderr
    folder = Path(release.stdout.strip())
    assert pl.read_parquet(folder / "parquet" / "mart.results.parquet").height == 385
    snapshot = rackrecon("snapshot", "--output", str(tmp_path / "snapshot"), **in_bucket)
    assert snapshot.returncode == 0, snapshot.stderr
    assert "training-v5.0: mlcommons/training_results_v5.0 at " in snapshot.stderr


def test_lakes_of_either_kind_are_compared(rackrecon: Run, in_bucket: Mapping[str, str], filled: Path) -> None:
    lake, tables = in_bucket["RACKRECON_LAKE"], ("--table", "core.runs", "--table", "mart.results")
    same = rackrecon("diff", lake, str(filled), *tables, **in_bucket)
    assert same.returncode == 0, same.stderr
    assert "no row differs" in same.stderr
    nothing = rackrecon("diff", "s3://answers/nothing", str(filled), **in_bucket)
    assert nothing.returncode == 2
    assert "s3://answers/nothing: expected a lake, found none" in nothing.stderr
