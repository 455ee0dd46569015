"""How the language-model results of two real rounds were launched, against an independent reading."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.parsing.launch_configs import parse_launches
from pipelines.parsing.layout import classify
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import parse_result_logs
from pipelines.parsing.system_descriptions import parse_system_descriptions
from pipelines.schemas.core import Launches

VERSIONS = ("v5.0", "v5.1")
LANGUAGE_MODELS = ("llama31_405b", "llama31_8b", "llama2_70b_lora")
COMPARED = {
    "TP": "tensor_parallel",
    "PP": "pipeline_parallel",
    "CP": "context_parallel",
    "VP": "virtual_pipeline",
    "micro_batch": "micro_batch",
}


def published(archive: Path, version: str) -> Iterator[PublishedFile]:
    with tarfile.open(archive) as tar:
        for member in tar:
            path = member.name.partition("/")[2]
            placed = classify(path)
            if placed is None or not member.isfile():
                continue
            if placed.kind == "result_log" and placed.benchmark not in LANGUAGE_MODELS:
                continue
            stream = tar.extractfile(member)
            assert stream is not None
            content = stream.read()
            yield PublishedFile(f"training-{version}", path, hashlib.sha256(content).hexdigest(), content)


@pytest.fixture(scope="module")
def launches(shared: Path) -> pl.DataFrame:
    kinds: dict[str, list[PublishedFile]] = {}
    for version in VERSIONS:
        for file in published(shared / f"mlperf/training_results_{version}.tar.gz", version):
            placed = classify(file.path)
            kinds.setdefault(placed.kind if placed else "", []).append(file)
    systems, _ = parse_system_descriptions(kinds["system_description"])
    runs = parse_result_logs(kinds["result_log"]).runs
    frame, _ = parse_launches([*kinds["launch_config"], *kinds["launch_note"]], systems, runs)
    Launches.validate(frame)
    return frame


@pytest.fixture(scope="module")
def compared(shared: Path, launches: pl.DataFrame) -> pl.DataFrame:
    golden = pl.read_csv(shared / "mlperf/golden/llm_launches.csv", infer_schema_length=0)
    golden = golden.filter(pl.col("round").is_in(VERSIONS)).with_columns(
        round="training-" + pl.col("round"),
        **{f"golden_{name}": pl.col(name).cast(pl.Int64) for name in COMPARED},
    )
    keys = ("round", "submitter_folder", "system", "benchmark")
    kept = golden.rename({"submitter_dir": "submitter_folder"}).select(*keys, "ga_check", pl.col("^golden_.*$"))
    return kept.join(launches, on=list(keys), how="left", maintain_order="left")


def mismatches(rows: pl.DataFrame) -> list[dict[str, Any]]:
    differs = pl.any_horizontal(
        *(pl.col(f"golden_{name}").ne_missing(pl.col(column)) for name, column in COMPARED.items())
    )
    columns = [f"golden_{name}" for name in COMPARED] + list(COMPARED.values())
    return rows.filter(differs).select("round", "submitter_folder", "system", "benchmark", *columns).to_dicts()


def test_every_result_has_a_row(compared: pl.DataFrame, launches: pl.DataFrame) -> None:
    assert (compared.height, launches.height) == (174, 174)
    assert compared["result_id"].null_count() == 0


def test_parallelism_of_every_405b_result(compared: pl.DataFrame) -> None:
    rows = compared.filter(benchmark="llama31_405b")
    assert rows.height == 22
    assert mismatches(rows) == []
    assert rows["batch_check"].unique().to_list() == ["confirmed"]


def test_parallelism_of_the_results_that_their_logs_confirm(compared: pl.DataFrame) -> None:
    rows = compared.filter(ga_check="ok")
    wrong = mismatches(rows)
    share = 1 - len(wrong) / rows.height
    assert rows.height == 142
    assert share >= 0.95, f"{share:.1%} of {rows.height} rows agree; these do not: {wrong}"
    assert rows["batch_check"].unique().to_list() == ["confirmed"]


def test_the_results_that_contradict_their_logs(compared: pl.DataFrame) -> None:
    contradicted = compared.filter(batch_check="contradicted").select("submitter_folder", "system", "benchmark")
    assert set(contradicted.rows()) == {
        ("HPE", "HPE-Cray-XD670-H200-SXM5-141GB_n2_24.09", "llama2_70b_lora"),
        ("HPE", "HPE-Cray-XD670-H200-SXM5-141GB_n4_24.09", "llama2_70b_lora"),
        ("Oracle", "1xBM.GPU.H200.8", "llama2_70b_lora"),
        ("Cisco", "1xC885A_M8-8xMI350X-OAM-288GB", "llama2_70b_lora"),
        *compared.filter(ga_check="bad", benchmark="llama31_8b")
        .select("submitter_folder", "system", "benchmark")
        .rows(),
    }


@pytest.mark.parametrize(
    ("system", "precision", "source", "match"),
    [
        ("theia_ngpu512_ngc25.09_nemo", "fp4", "setting", "note"),
        ("tyche_ngpu512_ngc25.09_nemo", "fp4", "setting", "note"),
        ("hsg_ngpu5120_ngc25.09_nemo", "fp4", "setting", "note"),
        ("carina_ngpu2496_ngc25.04_nemo", "fp8", "setting", "note"),
        ("eos-dfw_n1024_ngc25.01_nemo", "fp8", "setting", "note"),
        ("hpg.dgxb200x8.n56", "fp8", "assumption", "nodes+minibatch+accelerator"),
    ],
)
def test_precision_of_405b_results(
    launches: pl.DataFrame, system: str, precision: str, source: str, match: str
) -> None:
    found = launches.filter(system=system, benchmark="llama31_405b")
    assert found.select("precision", "precision_source", "config_match").rows() == [(precision, source, match)]
