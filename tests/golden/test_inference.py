"""The summary of inference v5.1, record by record, against the survey of it."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

import polars as pl
import pytest

from pipelines.parsing.inference_summaries import parse_inference_summaries
from pipelines.parsing.published import PublishedFile
from pipelines.scoring.inference import InferenceTables, inference_answers

Frames = tuple[pl.DataFrame, pl.DataFrame]


@pytest.fixture(scope="module")
def read(shared: Path) -> Frames:
    with tarfile.open(shared / "mlperf" / "inference_results_v5.1.tar.gz") as archive:
        member = next(entry for entry in archive if entry.name.endswith("/summary_results.json"))
        file = archive.extractfile(member)
        assert file is not None
        content = file.read()
    sha256 = hashlib.sha256(content).hexdigest()
    return parse_inference_summaries([PublishedFile("inference-v5.1", "summary_results.json", sha256, content)])


@pytest.fixture(scope="module")
def answers(read: Frames) -> InferenceTables:
    return inference_answers(read[0])


def counts(frame: pl.DataFrame, column: str) -> dict[object, int]:
    return dict(frame.group_by(column).len().iter_rows())


def test_every_record_is_read_and_nothing_is_wrong(read: Frames) -> None:
    records, findings = read
    assert records.height == 1448
    assert records["location"].n_unique() == 1448
    assert records["published_id"].n_unique() == 390
    assert records["submitter"].n_unique() == 32
    assert records.select("submitter", "platform").n_unique() == 121
    assert records["system_name"].n_unique() == 100
    assert findings["kind"].to_list() == ["inference.unknown_field"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("division", {"open": 839, "closed": 609}),
        ("suite", {"edge": 862, "datacenter": 586}),
        ("scenario", {"Offline": 580, "SingleStream": 290, "MultiStream": 281, "Server": 229, "Interactive": 68}),
        ("result_unit", {"Latency (ms)": 571, "Tokens/s": 406, "Samples/s": 399, "Queries/s": 72}),
        ("availability", {"available": 1446, "preview": 2}),
        ("number_of_nodes", {1: 1394, 2: 24, 18: 10, 4: 8, 3: 6, 6: 4, 8: 2}),
        ("power_unit", {None: 1424, "Watts": 16, "millijoules": 8}),
        ("is_inferred", {True: 536, False: 912}),
    ],
)
def test_the_columns_hold_what_was_counted(read: Frames, column: str, expected: dict[object, int]) -> None:
    assert counts(read[0], column) == expected


def test_models_and_accelerators(read: Frames) -> None:
    records = read[0]
    assert (records["benchmark"].n_unique(), records["model"].n_unique()) == (17, 107)
    assert records["accelerators_per_node"].null_count() == 880
    assert records["accelerator_text"].null_count() == 877
    assert records["weight_data_types_text"].n_unique() == 15
    unnamed = records.filter(pl.col("accelerator_text").is_not_null() & pl.col("accelerator").is_null())
    assert unnamed["accelerator_text"].str.contains(r"\(x\d+\), ").all()


def test_one_submitter_fills_most_of_it_and_the_default_view_leaves_that_out(answers: InferenceTables) -> None:
    results = answers.results
    assert results.filter(submitter="GATEOverflow").height == 841
    comparable = results.filter(division="closed", suite="datacenter")
    assert comparable.height == 554
    assert comparable.filter(submitter="GATEOverflow").height == 3


def test_totals_of_racks_and_of_mixed_systems(answers: InferenceTables) -> None:
    results = answers.results
    racks = results.filter(pl.col("number_of_nodes") == 18)
    assert racks["accelerator_count"].to_list() == [72] * 10
    mixed = results.filter(pl.col("accelerators").str.contains(" + ", literal=True))
    assert counts(mixed, "accelerators") == {
        "32 Instinct MI300X + 16 Instinct MI325X": 4,
        "16 Instinct MI325X + 8 Instinct MI300X": 4,
    }
    assert sorted(mixed["accelerator_count"].unique()) == [24, 48]


def test_the_two_accuracy_targets_are_linked(answers: InferenceTables) -> None:
    results = answers.results
    assert results["twin_id"].is_not_null().sum() == 2 * 127
    assert results["twin_has_same_result"].sum() == 2 * 95
    assert (~results["is_counted_once"]).sum() == 95
    assert results.filter(is_lower_better=True).height == 571


def test_one_system_is_named_after_more_accelerators_than_it_states(answers: InferenceTables) -> None:
    assert counts(answers.findings, "kind") == {"inference.count_against_name": 2}
    assert set(answers.findings["found"]) == {"XE8640_4xH100_vLLM"}
