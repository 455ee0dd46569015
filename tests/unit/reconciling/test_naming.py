"""One name for each spelling, those of the rounds and those of the registry."""

from __future__ import annotations

import polars as pl

from pipelines.reconciling.naming import list_names, name_list_findings
from pipelines.schemas import core
from pipelines.schemas.audits_mart import Names


def system(folder: str, submitter: str | None, accelerator: str | None) -> dict[str, object]:
    return {
        "round": "training-v9.0",
        "submitter_folder": folder,
        "system": "x",
        "submitter": submitter,
        "accelerator_text": accelerator,
    }


def names() -> pl.DataFrame:
    systems = [
        system("IBM+CoreWeave+NVIDIA", "CoreWeave + IBM + NVIDIA", "NVIDIA GB200"),
        system("krai", "Krai", "N/A"),
        system("NewCo", "NewCo Inc.", "Wafer 9"),
        system("NewCo", "NewCo Inc.", "2x Wafer 9"),
    ]
    runs = [
        {"round": "training-v9.0", "result_id": "a", "benchmark": "ssd", "submission_benchmark": "ssd"},
        {"round": "training-v9.1", "result_id": "b", "benchmark": "ssd", "submission_benchmark": "retinanet"},
    ]
    frame = list_names(
        pl.DataFrame(systems, schema=core.Systems.create_empty().schema),
        pl.DataFrame(runs, schema=core.Runs.create_empty().schema),
    )
    return Names.validate(frame)


def test_each_spelling_has_its_name_and_says_where_it_stands() -> None:
    told = {(row["kind"], row["published"]): row for row in names().to_dicts()}
    joint = told["submitter", "IBM+CoreWeave+NVIDIA"]
    assert (joint["canonical"], joint["basis"]) == ("CoreWeave + IBM + NVIDIA", "joint")
    krai = told["submitter", "krai"]
    assert (krai["canonical"], krai["basis"], krai["published_in"]) == ("Krai", "listed", "folder")
    assert told["submitter", "Krai"]["published_in"] == "description, registry"
    ssd = told["benchmark", "ssd"]
    assert (ssd["canonical"], ssd["published_in"]) == ("retinanet", "folder, log, registry")
    assert (ssd["rounds"], ssd["occurrence_count"]) == ("training-v9.0, training-v9.1", 2)
    assert told["accelerator", "NVIDIA GB200"]["canonical"] == "GB200 (per GPU)"
    assert told["accelerator", "Wafer 9"]["basis"] == "unknown"
    assert ("accelerator", "N/A") not in told


def test_the_registry_alone_is_listed_too() -> None:
    qct = names().filter(published="QCT").row(0, named=True)
    assert (qct["canonical"], qct["published_in"], qct["occurrence_count"]) == (
        "Quanta Cloud Technology",
        "registry",
        0,
    )
    assert qct["rounds"] == ""


def test_a_submitter_that_is_not_listed_is_a_finding() -> None:
    findings = name_list_findings(names())
    assert findings["subject"].to_list() == ["NewCo", "NewCo Inc."]
    assert set(findings["severity"]) == {"info"}
