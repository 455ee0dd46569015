"""The launch configuration that a result's logs name, as logs of training v6.0 do."""

from __future__ import annotations

import json

import pytest

from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import parse_result_logs
from tests.unit.parsing.test_launch_configs import (
    BENCHMARK,
    CONFIG,
    FOLDER,
    NOTE,
    OWN,
    ROUND,
    SYSTEM,
    kinds,
    launched,
    published,
    runs_frame,
)

OTHER = OWN.replace("tp4pp8cp2", "tp8pp4cp2")
FILE, OTHER_FILE = (path.rpartition("/")[2] for path in (OWN, OTHER))
OTHER_CONFIG = CONFIG.replace("TENSOR_MODEL_PARALLEL=4", "TENSOR_MODEL_PARALLEL=8").replace(
    "PIPELINE_MODEL_PARALLEL=8", "PIPELINE_MODEL_PARALLEL=4"
)
BY_MATCH = "nodes+folder+minibatch+accelerator"


@pytest.mark.parametrize(
    "logged",
    [
        OTHER_FILE,
        f"/workspace/llm/conf/{OTHER_FILE}",
        f"../../elsewhere/{OTHER_FILE}\n",
        f"C:\\runs\\{OTHER_FILE}",
    ],
)
def test_the_file_that_the_logs_name_wins_over_the_note_and_the_best_match(logged: str) -> None:
    files = {OWN: CONFIG, NOTE: f"source {FILE}", OTHER: OTHER_CONFIG}
    unnamed, _ = launched(files, runs_frame({"config_filename": None}))
    assert (unnamed["config_path"], unnamed["config_match"], unnamed["tensor_parallel"]) == (OWN, "note", 4)
    named, findings = launched(files, runs_frame({"config_filename": logged}, {"config_filename": None}))
    assert (named["config_path"], named["config_match"]) == (OTHER, "log")
    assert (named["tensor_parallel"], named["tensor_parallel_source"]) == (8, OTHER)
    assert (named["batch_check"], named["notes"], findings) == ("confirmed", None, [])


def test_logs_that_name_one_file_by_different_paths_agree() -> None:
    runs = runs_frame({"config_filename": f"/a/{OTHER_FILE}"}, {"config_filename": f"/b/{OTHER_FILE}"})
    row, findings = launched({OWN: CONFIG, OTHER: OTHER_CONFIG}, runs)
    assert (row["config_path"], row["config_match"], findings) == (OTHER, "log", [])


@pytest.mark.parametrize(
    ("folders", "chosen", "match", "times"),
    [
        (("nemo",), "nemo", "log", None),
        (("nemo", SYSTEM), SYSTEM, "log", None),
        (("nemo", "pytorch"), SYSTEM, BY_MATCH, 2),
        ((f"{SYSTEM}/a", f"{SYSTEM}/b", "nemo"), SYSTEM, BY_MATCH, 2),
        ((), SYSTEM, BY_MATCH, 0),
    ],
)
def test_the_file_that_the_logs_name_must_be_the_only_one(
    folders: tuple[str, ...], chosen: str, match: str, times: int | None
) -> None:
    files = {f"{FOLDER}/{folder}/config_named.sh": "export TP=8\n" for folder in folders}
    row, findings = launched({OWN: CONFIG} | files, runs_frame({"config_filename": "config_named.sh"}))
    file = "config_named.sh" if match == "log" else FILE
    assert (row["config_path"], row["config_match"]) == (f"{FOLDER}/{chosen}/{file}", match)
    unresolved = [(one.source_path, one.place, one.expected, one.found) for one in findings]
    assert unresolved == (
        []
        if times is None
        else [
            (
                f"Acme/results/{SYSTEM}/{BENCHMARK}/result_0.txt",
                f"{ROUND}/Acme/{SYSTEM}/{BENCHMARK}",
                "one configuration called 'config_named.sh'",
                f"{times} configurations",
            )
        ]
    )
    assert kinds(findings) == ([] if times is None else ["launch.log_unresolved"])
    assert row["notes"] == (None if times is None else f"the logs name 'config_named.sh', published {times} times")


def test_logs_that_name_different_files_are_reported_and_the_note_counts() -> None:
    runs = runs_frame({"config_filename": OTHER_FILE}, {"config_filename": FILE})
    row, findings = launched({OWN: CONFIG, OTHER: OTHER_CONFIG, NOTE: f"source {FILE}"}, runs)
    assert (row["config_path"], row["config_match"]) == (OWN, "note")
    assert row["notes"] == "the logs name 2 different configurations"
    assert [(one.kind, one.found) for one in findings] == [("launch.logs_disagree", f"'{FILE}', '{OTHER_FILE}'")]


@pytest.mark.parametrize("logged", ["", "  ", None])
def test_a_log_that_names_nothing_leaves_the_choice(logged: str | None) -> None:
    row, findings = launched({OWN: CONFIG}, runs_frame({"config_filename": logged}))
    assert (row["config_match"], row["notes"], findings) == (BY_MATCH, None, [])


@pytest.mark.parametrize(
    "logged", [f"{OTHER_FILE}/", "..", "/", "\x1b[31m\n" * 9, "config_" + "x" * 100_000, "[0-9]*.sh"]
)
def test_hostile_names_in_logs_are_quoted_short_and_match_nothing(logged: str) -> None:
    row, findings = launched({OWN: CONFIG, OTHER: CONFIG.replace("128", "1")}, runs_frame({"config_filename": logged}))
    assert (row["config_path"], row["config_match"]) == (OWN, BY_MATCH)
    (finding,) = findings
    assert (finding.kind, finding.found) == ("launch.log_unresolved", "0 configurations")
    assert len(finding.expected or "") < 140 > len(row["notes"])
    assert "\x1b" not in (finding.expected or "") + row["notes"]


def test_logs_that_name_a_file_for_other_nodes_give_layout_only() -> None:
    runs = runs_frame({"config_filename": OTHER_FILE})
    row, findings = launched({OWN: CONFIG, OTHER: OTHER_CONFIG.replace("=128", "=64")}, runs)
    assert (row["config_match"], row["tensor_parallel"], row["precision"]) == ("log", 8, "fp8")
    assert (row["minibatch_per_replica"], row["micro_batch"], row["micro_batch_source"]) == (None, 1, "derived")
    assert [(one.kind, one.found, one.explanation[:13]) for one in findings] == [
        ("launch.overridden", "64 x 4", "The logs name")
    ]


def test_a_result_of_v6_is_read_from_its_logs_to_its_launch() -> None:
    def log(number: int) -> PublishedFile:
        events = {"config_filename": f"/home/user/job_{number}/{OTHER_FILE}", "global_batch_size": 896}
        events |= {"gradient_accumulation_steps": 112, "submission_benchmark": BENCHMARK}
        lines = [
            f'{number}: :::MLLOG {{"time_ms": 1, "key": "{key}", "value": {json.dumps(value)}, "metadata": {{}}}}'
            for key, value in events.items()
        ]
        return published(f"Acme/results/{SYSTEM}/{BENCHMARK}/result_{number}.txt", "\n".join(lines))

    runs = parse_result_logs([log(0), log(1), log(2)]).runs
    assert runs["config_filename"].to_list() == [f"/home/user/job_{number}/{OTHER_FILE}" for number in range(3)]
    row, findings = launched({OWN: CONFIG, OTHER: OTHER_CONFIG, NOTE: f"source {FILE}"}, runs)
    assert (row["config_path"], row["config_match"], row["source_path"]) == (OTHER, "log", OTHER)
    assert (row["tensor_parallel"], row["pipeline_parallel"], row["batch_check"]) == (8, 4, "confirmed")
    assert findings == []
