"""Every command on a lake in a bucket, filled from the embedded snapshot: the same answers as from a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipelines.lake.tables import Lake
from pipelines.schemas import TABLES
from tests.answers.conftest import Run
from tests.conftest import S3Server

pytestmark = [pytest.mark.server, pytest.mark.timeout(900)]

RESULT = "training-v5.0/IBM+CoreWeave+NVIDIA/carina_ngpu2496_ngc25.04_nemo/llama31_405b"
OTHER = "training-v5.0/IBM+CoreWeave+NVIDIA/carina_ngpu1024_ngc25.04_nemo/llama31_405b"


@dataclass(frozen=True)
class Scene:
    """A lake in a bucket, one in a folder, and the command on either."""

    run: Run
    in_bucket: Mapping[str, str]
    """Environment of a machine that works with the lake in the bucket."""
    filled: Path
    folder: Path
    """Empty, for what a command writes."""


@pytest.fixture
def scene(rackrecon: Run, filled: Path, s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Fill a lake in a bucket from the embedded snapshot."""
    s3_server.make_bucket("answers")
    environment = {
        **s3_server.environment,
        "RACKRECON_LAKE": "s3://answers/lake",
        "RACKRECON_DATA": str(tmp_path / "machine"),
    }
    made = rackrecon("refresh", **environment)
    assert made.returncode == 0, made.stderr
    assert f"{tmp_path}/machine/warehouse.duckdb (rackrecon query SQL), s3://answers/lake" in made.stdout
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return Scene(rackrecon, environment, filled, tmp_path)


def test_every_command_answers_as_from_a_folder(scene: Scene, subtests: pytest.Subtests) -> None:
    for part in (
        the_tables_are_the_same,
        nothing_new_is_no_work,
        another_machine_asks,
        results_and_documents_are_held_against_it,
        a_plan_is_made_from_it,
        what_is_handed_out_comes_from_it,
        lakes_of_either_kind_are_compared,
    ):
        with subtests.test(part.__name__):
            part(scene)


def the_tables_are_the_same(scene: Scene) -> None:
    folder, bucket = Lake.at(str(scene.filled / "lake")), Lake.at(scene.in_bucket["RACKRECON_LAKE"])
    for name, entry in TABLES.items():
        assert bucket.partitions(name) == folder.partitions(name), name
        assert_frame_equal(bucket.read(name), folder.read(name), check_exact=False, rel_tol=1e-12)
        for partition in folder.partitions(name) if entry.layer != "mart" else ():
            made, kept = folder.manifest(name, partition), bucket.manifest(name, partition)
            assert made is not None
            assert kept is not None
            assert kept.sha256 == made.sha256, name


def nothing_new_is_no_work(scene: Scene) -> None:
    again = scene.run("refresh", **scene.in_bucket)
    assert again.returncode == 0
    assert "Nothing to do: inputs and code of 2 rounds and of all answers are unchanged." in again.stderr


def another_machine_asks(scene: Scene) -> None:
    elsewhere = {**scene.in_bucket, "RACKRECON_DATA": str(scene.folder / "elsewhere")}
    question = "SELECT count(*) AS n, count(score_minutes) AS scored FROM mart.results"
    assert scene.run("query", question, "--format", "csv", **elsewhere).stdout == "n,scored\n385,385\n"
    assert scene.run("query", question, "--format", "csv").stdout == "n,scored\n385,385\n"
    checks = json.loads(scene.run("check", "--format", "json", **elsewhere).stdout)
    assert {check["status"] for check in checks} <= {"passed", "failed"}
    chain = scene.run("explain", RESULT, **elsewhere)
    assert chain.returncode == 0, chain.stderr
    assert chain.stdout == scene.run("explain", RESULT).stdout
    assert RESULT in chain.stdout


def results_and_documents_are_held_against_it(scene: Scene) -> None:
    compared = scene.run("compare", RESULT, OTHER, "--format", "csv", **scene.in_bucket)
    assert compared.returncode == 0, compared.stderr
    assert compared.stdout == scene.run("compare", RESULT, OTHER, "--format", "csv").stdout != ""
    document = scene.folder / "article.txt"
    document.write_text("The GB200 NVL72 rack holds 72 GPUs. The H100 SXM has 80 GB of memory.\n", "utf-8")
    claims = scene.run("claims", str(document), "--format", "json", **scene.in_bucket)
    assert claims.returncode == 0, claims.stderr
    assert claims.stdout == scene.run("claims", str(document), "--format", "json").stdout
    assert json.loads(claims.stdout)


def a_plan_is_made_from_it(scene: Scene) -> None:
    asked = ["plan", "--workload", "llama31_405b", "--target-minutes", "27.33"]
    asked += ["--platform", "gb200-nvl72", "--precision", "fp8"]
    plan = scene.run(*asked, **scene.in_bucket)
    assert plan.returncode == 0, plan.stderr
    assert plan.stdout == scene.run(*asked).stdout
    assert "39 racks" in plan.stdout


def what_is_handed_out_comes_from_it(scene: Scene) -> None:
    report = scene.run("report", "--output", str(scene.folder / "report"), **scene.in_bucket)
    assert report.returncode == 0, report.stderr
    assert "carina_ngpu2496" in Path(report.stdout.strip()).read_text("utf-8")
    release = scene.run("release", "--output", str(scene.folder / "releases"), **scene.in_bucket)
    assert release.returncode == 0, release.stderr
    folder = Path(release.stdout.strip())
    assert pl.read_parquet(folder / "parquet" / "mart.results.parquet").height == 385
    snapshot = scene.run("snapshot", "--output", str(scene.folder / "snapshot"), **scene.in_bucket)
    assert snapshot.returncode == 0, snapshot.stderr
    assert "training-v5.0: mlcommons/training_results_v5.0 at " in snapshot.stderr


def lakes_of_either_kind_are_compared(scene: Scene) -> None:
    lake, tables = scene.in_bucket["RACKRECON_LAKE"], ("--table", "core.runs", "--table", "mart.results")
    same = scene.run("diff", lake, str(scene.filled), *tables, **scene.in_bucket)
    assert same.returncode == 0, same.stderr
    assert "no row differs" in same.stderr
    nothing = scene.run("diff", "s3://answers/nothing", str(scene.filled), **scene.in_bucket)
    assert nothing.returncode == 2
    assert "s3://answers/nothing: expected a lake, found none" in nothing.stderr
