from __future__ import annotations

import time
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.launch_configs import parse_launches
from pipelines.parsing.published import ParseFinding, PublishedFile, findings_frame
from pipelines.schemas.core import Launches, ParseFindings, Runs, Systems

ROUND = "training-v5.0"
BENCHMARK = "llama31_405b"
SYSTEM = "box_n128"
FOLDER = f"Acme/benchmarks/{BENCHMARK}/implementations"
LAYOUT = "export TENSOR_MODEL_PARALLEL=4\nexport PIPELINE_MODEL_PARALLEL=8\nexport CONTEXT_PARALLEL=2\n"
CONFIG = (
    LAYOUT + "export INTERLEAVED_PIPELINE=8\nexport MICRO_BATCH_SIZE=1\nexport MINIBS=112\n"
    "export DGXNNODES=128\nexport DGXNGPU=4\nexport FP8=True\n"
)


def published(path: str, text: str | bytes) -> PublishedFile:
    content = text if isinstance(text, bytes) else text.encode()
    return PublishedFile(ROUND, path, f"{len(content):064x}", content)


def systems_frame(**changes: Any) -> pl.DataFrame:
    row = {
        "round": ROUND,
        "submitter_folder": "Acme",
        "system": SYSTEM,
        "number_of_nodes": 128,
        "accelerators_per_node": 4,
        "accelerator_count": 512,
        "accelerator": "GB200 (per GPU)",
        "source_path": "Acme/systems/box.json",
        "source_sha256": "0",
    }
    return pl.DataFrame([row | changes], schema=Systems.create_empty().schema)


def runs_frame(*changes: dict[str, Any], benchmark: str = BENCHMARK) -> pl.DataFrame:
    rows = []
    for number, change in enumerate(changes or ({},)):
        result_id = f"{ROUND}/Acme/{SYSTEM}/{benchmark}"
        row = {
            "round": ROUND,
            "source_path": f"Acme/results/{SYSTEM}/{benchmark}/result_{number}.txt",
            "source_sha256": "1",
            "run_id": f"{result_id}/result_{number}",
            "result_id": result_id,
            "submitter_folder": "Acme",
            "system": SYSTEM,
            "benchmark": benchmark,
            "scaling_mode": "strong",
            "global_batch_size": 896,
            "gradient_accumulation_steps": 112.0,
        }
        rows.append(row | change)
    return pl.DataFrame(rows, schema=Runs.create_empty().schema)


def launched(
    files: dict[str, str | bytes], runs: pl.DataFrame | None = None, systems: pl.DataFrame | None = None
) -> tuple[dict[str, Any], list[ParseFinding]]:
    frame, findings = parse_launches(
        [published(path, text) for path, text in files.items()],
        systems_frame() if systems is None else systems,
        runs_frame() if runs is None else runs,
    )
    Launches.validate(frame)
    assert frame.height == 1
    return frame.row(0, named=True), findings


def kinds(findings: list[ParseFinding]) -> list[str]:
    return sorted(finding.kind for finding in findings)


OWN = f"{FOLDER}/{SYSTEM}/config_GB200_128x4x112xtp4pp8cp2.sh"
NOTE = f"{FOLDER}/{SYSTEM}/README-{SYSTEM}.md"


def test_a_note_names_the_configuration() -> None:
    note = f"Launch with `sbatch run.sub` after `source {OWN.rpartition('/')[2]}` in a shell."
    row, findings = launched({OWN: CONFIG, NOTE: note, f"{FOLDER}/{SYSTEM}/config_other.sh": "export TP=1\n" + CONFIG})
    assert findings == []
    expected = {
        "config_path": OWN,
        "config_match": "note",
        "tensor_parallel": 4,
        "tensor_parallel_source": OWN,
        "pipeline_parallel": 8,
        "context_parallel": 2,
        "virtual_pipeline": 8,
        "expert_parallel": None,
        "expert_parallel_source": None,
        "data_parallel": 8,
        "micro_batch": 1,
        "micro_batch_source": OWN,
        "minibatch_per_replica": 112,
        "precision": "fp8",
        "precision_source": "setting",
        "accelerator_count": 512,
        "global_batch_size": 896,
        "gradient_accumulation_steps": 112.0,
        "batch_check": "confirmed",
        "notes": None,
        "source_path": OWN,
        "result_id": f"{ROUND}/Acme/{SYSTEM}/{BENCHMARK}",
    }
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize(
    "note",
    [
        "source config_GB200_128x4x112xtp4pp8cp2.sh",
        "1. Run `source ./config_GB200_128x4x112xtp4pp8cp2.sh` and then sbatch.",
        "The script is `benchmarks/llama31_405b/implementations/box_n128/config_GB200_128x4x112xtp4pp8cp2.sh`.",
        "source config_common.sh\nsource config_GB200_128x4x112xtp4pp8cp2.sh",
        "Unlike config_old.sh:\n. config_GB200_128x4x112xtp4pp8cp2.sh",
    ],
)
def test_notes_in_prose(note: str) -> None:
    old = f"{FOLDER}/{SYSTEM}/config_old.sh"
    row, _ = launched({OWN: CONFIG, NOTE: note, old: "export TP=1\n" + CONFIG})
    assert (row["config_path"], row["config_match"]) == (OWN, "note")


def test_a_note_may_name_a_configuration_that_stands_alone_under_a_sibling() -> None:
    sibling = f"{FOLDER}/nemo/config_x.sh"
    row, findings = launched({NOTE: "source config_x.sh", sibling: CONFIG})
    assert (row["config_path"], row["config_match"], findings) == (sibling, "note", [])


EXAMPLE = "MI350X settings are in `config_MI350X_*.sh`, MI355X settings in `config_MI355X_*.sh`:\n\n    source {}\n"


@pytest.mark.parametrize(
    ("part", "own", "named", "chosen", "match"),
    [
        # A note that was copied beside another part's files, its example left as it was.
        ("MI350X", "config_MI350X_128x4x1.sh", "config_MI355X_128x4x1.sh", "own", "nodes+folder+accelerator"),
        ("MI355X", "config_MI355X_128x4x1.sh", "config_MI355X_128x4x1.sh", "own", "note"),
        # Files for one part are launched on another: without a file of its own the note stands.
        ("H200-SXM-141GB", "config_other_128x4x1.sh", "config_DGXH100_128x4x1.sh", "sibling", "note"),
        ("MI350X", "config_MI350X_64x4x1.sh", "config_MI355X_128x4x1.sh", "sibling", "note"),
    ],
)
def test_an_example_of_another_part_gives_way_to_a_file_of_the_own(
    part: str, own: str, named: str, chosen: str, match: str
) -> None:
    paths = {"own": f"{FOLDER}/{SYSTEM}/{own}", "sibling": f"{FOLDER}/sibling/{named}"}
    config = "export FP4=True\n"
    files = {paths["own"]: config, NOTE: EXAMPLE.format(named), paths["sibling"]: config + "# sibling\n"}
    row, findings = launched(files, systems=systems_frame(accelerator=f"Instinct {part}"))
    assert (row["config_path"], row["config_match"], findings) == (paths[chosen], match, [])


def test_a_note_that_cannot_be_resolved_is_reported_and_matching_goes_on() -> None:
    row, findings = launched({NOTE: "source config_gone.sh", OWN: CONFIG})
    assert (row["config_path"], row["config_match"]) == (OWN, "nodes+folder+minibatch+accelerator")
    assert [(finding.kind, finding.source_path, finding.place) for finding in findings] == [
        ("launch.note_unresolved", NOTE, "config_gone.sh")
    ]


def test_other_systems_notes_do_not_count() -> None:
    other = f"{FOLDER}/{SYSTEM}/README-other.md"
    row, _ = launched({other: "source config_x.sh", OWN: CONFIG, f"{FOLDER}/{SYSTEM}/config_x.sh": "TP=1"})
    assert row["config_match"] == "nodes+folder+minibatch+accelerator"


def test_without_a_note_nodes_then_batch_then_accelerator_decide() -> None:
    files = {
        f"{FOLDER}/all/config_GB200_64x4x112xtp4pp8cp2.sh": CONFIG.replace("=128", "=64"),
        f"{FOLDER}/all/config_GB200_128x4x8xtp4pp8cp2.sh": CONFIG.replace("=112", "=8"),
        f"{FOLDER}/all/config_GB300_128x4x112xtp4pp8cp2.sh": CONFIG,
        f"{FOLDER}/all/config_GB200_128x4x112xtp4pp8cp2.sh": CONFIG,
        f"{FOLDER}/all/config_common.sh": "export FP8=True",
    }
    row, _ = launched(files)
    assert row["config_path"] == f"{FOLDER}/all/config_GB200_128x4x112xtp4pp8cp2.sh"
    assert row["config_match"] == "nodes+minibatch+accelerator"


def test_a_folder_called_benchmark_is_read() -> None:
    path = f"Acme/benchmark/{BENCHMARK}/implementations/x/config_a.sh"
    assert launched({path: CONFIG})[0]["config_path"] == path


def test_a_configuration_for_another_model_size_is_no_candidate() -> None:
    files = {f"{FOLDER}/{SYSTEM}/config_GB200_128x4x112xtp4pp8cp2_8b.sh": CONFIG}
    row, findings = launched(files)
    assert (row["config_path"], kinds(findings)) == (None, ["launch.no_configuration"])


def test_what_tied_candidates_disagree_on_is_null() -> None:
    files = {
        f"{FOLDER}/{SYSTEM}/config_GB200_128x4x112_a.sh": CONFIG + "export INTERLEAVED_PIPELINE=4\nexport FP4=True\n",
        f"{FOLDER}/{SYSTEM}/config_GB200_128x4x112_b.sh": CONFIG,
    }
    row, _ = launched(files)
    assert (row["tensor_parallel"], row["virtual_pipeline"], row["precision"]) == (4, None, None)
    assert "virtual_pipeline: 2 configurations fit alike and disagree (4, 8)" in row["notes"]
    assert "precision: configurations fit alike and disagree (fp8, fp4)" in row["notes"]


@pytest.mark.parametrize("off", ["null", "None", '""', "0"])
def test_no_interleaving(off: str) -> None:
    row, findings = launched({OWN: CONFIG + f"export INTERLEAVED_PIPELINE={off}\n"})
    assert (row["virtual_pipeline"], findings) == (None, [])


def test_synonyms_last_setting_and_includes() -> None:
    common = f"{FOLDER}/{SYSTEM}/config_common.sh"
    text = "export TP=1 MBS=2\nsource $(dirname ${BASH_SOURCE[0]})/config_common.sh\n" + CONFIG + ': "${VP:=6}"\n'
    row, _ = launched({OWN: text, common: "export TP=2\nexport CP=8\nexport FP4=True"})
    assert (row["tensor_parallel"], row["context_parallel"], row["virtual_pipeline"]) == (4, 2, 6)
    assert (row["precision"], row["precision_source"]) == ("fp4", "setting")
    row, _ = launched({OWN: CONFIG + "source config_common.sh\n", common: "export TP=2\n"})
    assert (row["tensor_parallel"], row["tensor_parallel_source"]) == (2, common)


def test_a_setting_that_cannot_be_evaluated_is_null_with_a_finding() -> None:
    row, findings = launched({OWN: CONFIG + "export CONTEXT_PARALLEL=$(pick_one)\n"})
    assert (row["context_parallel"], row["data_parallel"], row["batch_check"]) == (None, None, "not_checkable")
    assert [(finding.kind, finding.source_path, finding.place, finding.found) for finding in findings] == [
        ("launch.unreadable_setting", OWN, "line 10: context_parallel", "CONTEXT_PARALLEL=$(pick_one)")
    ]


def test_a_missing_include_is_reported_and_what_the_name_spells_stands_in() -> None:
    text = "source config_common.sh\nexport MICRO_BATCH_SIZE=1\nexport DGXNNODES=128\nexport DGXNGPU=4\n"
    row, findings = launched({OWN: text})
    layout = ("tensor_parallel", "pipeline_parallel", "context_parallel", "minibatch_per_replica", "data_parallel")
    assert [row[column] for column in layout] == [4, 8, 2, 112, 8]
    assert (row["tensor_parallel_source"], row["batch_check"]) == (OWN, "confirmed")
    assert kinds(findings) == ["launch.missing_include"]


def test_the_layout_in_a_gpt3_name() -> None:
    path = "Acme/benchmarks/gpt3/implementations/x/config_DGXH100_128x4x112x4x16_mbs1_cg.sh"
    row, _ = launched({path: "export DGXNNODES=128\n"}, runs_frame(benchmark="gpt3"))
    assert (row["tensor_parallel"], row["pipeline_parallel"], row["context_parallel"]) == (4, 16, None)
    assert (row["data_parallel"], row["micro_batch"], row["batch_check"]) == (8, 1, "confirmed")


@pytest.mark.parametrize(("nodes", "per_node", "is_matched"), [(40, 4, False), (40, 8, True), (10, 4, False)])
def test_a_name_that_counts_instances_first_states_no_accelerators_of_a_node(
    nodes: int, per_node: int, is_matched: bool
) -> None:
    path = f"{FOLDER}/x/config_DGXA100_10x4x8x1.sh"
    common = f"{FOLDER}/x/config_common.sh"
    text = "source config_common.sh\nexport INSTANCES=10\nexport DGXNNODES=40\n"
    systems = systems_frame(
        number_of_nodes=nodes, accelerators_per_node=per_node, accelerator_count=nodes * per_node, accelerator=None
    )
    row, _ = launched({path: text, common: "export DGXNGPU=8\n"}, systems=systems)
    assert (row["config_path"] == path) is is_matched
    row, _ = launched({path: text}, systems=systems)
    assert row["config_path"] is None


def test_a_name_that_counts_the_nodes_of_the_setting_states_their_accelerators() -> None:
    path = f"{FOLDER}/x/config_GB200_0128x04x112.sh"
    row, _ = launched({path: "export DGXNNODES=128\n"})
    assert row["config_path"] == path


@pytest.mark.parametrize("folder", ["config.bak", "backup", "old_backups"])
def test_a_copy_put_aside_gives_way_to_the_file_itself(folder: str) -> None:
    aside = f"{FOLDER}/a/{folder}/{OWN.rpartition('/')[2]}"
    own = f"{FOLDER}/b/{OWN.rpartition('/')[2]}"
    row, _ = launched({aside: CONFIG.replace("PARALLEL=2", "PARALLEL=1"), own: CONFIG})
    assert (row["config_path"], row["context_parallel"], row["notes"]) == (own, 2, None)
    row, _ = launched({aside: CONFIG})
    assert row["config_path"] == aside


def test_a_result_without_a_described_size_names_no_size_as_expected() -> None:
    _, findings = launched({}, systems=systems_frame(number_of_nodes=None, accelerator_count=None))
    assert [(finding.kind, "None" in (finding.expected or "")) for finding in findings] == [
        ("launch.no_configuration", False)
    ]


@pytest.mark.parametrize("layout", ["tp1pp4ep32cp1_mxfp8_full_cg", "tp1pp4cp1ep32_mxfp8"])
def test_the_degree_of_experts_in_a_name(layout: str) -> None:
    row, _ = launched({f"{FOLDER}/{SYSTEM}/config_GB200_128x4x7x{layout}.sh": "export X=1\n"})
    assert (row["tensor_parallel"], row["pipeline_parallel"], row["context_parallel"]) == (1, 4, 1)
    assert (row["expert_parallel"], row["data_parallel"], row["minibatch_per_replica"]) == (32, 128, 7)
    assert (row["precision"], row["precision_source"]) == ("fp8", "file_name")


PRIMUS = """
export GPUS_PER_NODE=4
export NNODES=128
export PRIMUS_MICRO_BATCH_SIZE=2
export PRIMUS_GLOBAL_BATCH_SIZE=1024
export PRIMUS_TP=1
export PRIMUS_PP=1
export PRIMUS_EP=8
export MLLOG_CONTEXT_PARALLELISM=1
export MLLOG_LOWEST_NUMERICAL_PRECISION_LINEAR='mxfp4'
"""


def test_settings_of_primus() -> None:
    logs = {"global_batch_size": 1024, "gradient_accumulation_steps": 1.0}
    row, findings = launched({f"{FOLDER}/{SYSTEM}/config_x.sh": PRIMUS}, runs_frame(logs))
    assert findings == []
    columns = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel", "data_parallel")
    assert [row[column] for column in columns] == [1, 1, 1, 8, 512]
    assert (row["micro_batch"], row["batch_check"]) == (2, "confirmed")
    assert (row["precision"], row["precision_source"]) == ("fp4", "setting")


def test_nodes_of_primus_tell_configurations_apart() -> None:
    other = PRIMUS.replace("NNODES=128", "NNODES=64").replace("PRIMUS_TP=1", "PRIMUS_TP=2")
    files: dict[str, str | bytes] = {f"{FOLDER}/config_a.sh": other, f"{FOLDER}/config_b.sh": PRIMUS}
    row, _ = launched(files)
    assert (row["config_path"], row["tensor_parallel"]) == (f"{FOLDER}/config_b.sh", 1)


@pytest.mark.parametrize(("batch", "replicas"), [(896 * 2, 16), (896, None)])
def test_no_context_parallelism_is_taken_only_where_the_batch_bears_it_out(batch: int, replicas: int | None) -> None:
    path = f"{FOLDER}/{SYSTEM}/config_box.sh"
    text = "source config_gone.sh\n" + CONFIG.replace("export CONTEXT_PARALLEL=2\n", "")
    row, _ = launched({path: text}, runs_frame({"global_batch_size": batch}))
    assert (row["context_parallel"], row["data_parallel"]) == (None, replicas)


@pytest.mark.parametrize("folder", [f"{BENCHMARK}.4.28", f"{BENCHMARK}_2024-05-01"])
def test_a_benchmark_folder_with_a_date_is_found(folder: str) -> None:
    path = f"Acme/benchmarks/{folder}/implementations/x/config_a.sh"
    assert launched({path: CONFIG})[0]["config_path"] == path


@pytest.mark.parametrize("folder", ["ft-llm", "llm_finetune"])
def test_a_benchmark_folder_under_another_name_is_found(folder: str) -> None:
    path = f"Acme/benchmarks/{folder}/implementations/x/config_a.sh"
    assert launched({path: CONFIG}, runs_frame(benchmark="llama2_70b_lora"))[0]["config_path"] == path


def test_a_script_in_a_benchmark_folder_under_another_name_is_told() -> None:
    script = "Acme/benchmarks/llm_finetune/run_fp8.sh"
    _, findings = launched({script: "python train.py --fp8\n"}, runs_frame(benchmark="llama2_70b_lora"))
    assert [(finding.kind, finding.source_path) for finding in findings] == [("launch.other_script", script)]


def test_the_name_of_an_unpublished_include_gives_the_precision() -> None:
    text = "source $(dirname ${BASH_SOURCE[0]})/config_common_fp4.sh\n" + CONFIG
    row, _ = launched({OWN: text})
    assert (row["precision"], row["precision_source"]) == ("fp4", "file_name")


def test_a_file_name_gives_the_precision_unless_a_setting_denies_it() -> None:
    path = OWN.replace(".sh", "_fp4.sh")
    row, _ = launched({path: CONFIG})
    assert (row["precision"], row["precision_source"]) == ("fp4", "file_name")
    row, _ = launched({path: CONFIG + "export FP4=False\n"})
    assert (row["precision"], row["precision_source"]) == ("fp8", "setting")


def test_fp8_is_assumed_only_where_a_file_is_missing_and_others_state_it() -> None:
    text = "source config_common.sh\n" + CONFIG.replace("export FP8=True\n", "")
    other = "Other/benchmarks/llama31_405b/implementations/x/config_GB200_128x4x112.sh"
    systems = pl.concat([systems_frame(), systems_frame(submitter_folder="Other")])
    moved = {"submitter_folder": "Other", "source_path": "Other/results/x/result_0.txt", "result_id": "other"}
    runs = pl.concat([runs_frame(), runs_frame(moved)])

    def precision(files: dict[str, str]) -> tuple[str, str]:
        frame, _ = parse_launches([published(path, body) for path, body in files.items()], systems, runs)
        return frame.filter(submitter_folder="Acme").select("precision", "precision_source").row(0)

    assert precision({OWN: text, other: CONFIG}) == ("fp8", "assumption")
    assert precision({OWN: text, other: CONFIG.replace("FP8=True", "FP8=False")}) == (None, None)
    assert precision({OWN: text.replace("source config_common.sh\n", ""), other: CONFIG}) == (None, None)


def test_what_the_log_states_wins() -> None:
    logged = {
        "tensor_parallel": 2,
        "pipeline_parallel": 4,
        "context_parallel": 1,
        "micro_batch": 2,
        "precision": "NVFP4",
    }
    row, _ = launched(
        {OWN: CONFIG}, runs_frame(logged | {"global_batch_size": 64 * 2 * 7, "gradient_accumulation_steps": 7.0})
    )
    assert (row["tensor_parallel"], row["pipeline_parallel"], row["context_parallel"]) == (2, 4, 1)
    assert (row["data_parallel"], row["micro_batch"], row["micro_batch_source"]) == (64, 2, "log")
    assert (row["precision"], row["precision_source"], row["batch_check"]) == ("fp4", "log", "confirmed")
    assert row["virtual_pipeline_source"] == OWN


def test_a_batch_that_contradicts_the_configuration() -> None:
    row, findings = launched({OWN: CONFIG}, runs_frame({"gradient_accumulation_steps": 56.0}))
    assert (row["batch_check"], row["minibatch_per_replica"]) == ("contradicted", 112)
    assert [(finding.kind, finding.found) for finding in findings] == [("launch.batch_contradicted", "1 x 8 x 56")]


def test_a_minibatch_that_the_log_contradicts_is_dropped() -> None:
    row, findings = launched({OWN: CONFIG.replace("=112", "=96")})
    assert (row["minibatch_per_replica"], row["tensor_parallel"], row["batch_check"]) == (None, 4, "confirmed")
    assert kinds(findings) == ["launch.minibatch_contradicted"]


def test_a_derived_micro_batch_confirms_nothing() -> None:
    row, _ = launched({OWN: CONFIG.replace("export MICRO_BATCH_SIZE=1\n", "")})
    assert (row["micro_batch"], row["micro_batch_source"], row["batch_check"]) == (1, "derived", "not_checkable")


def test_a_note_that_names_a_file_for_other_nodes_gives_layout_only() -> None:
    row, findings = launched({OWN: CONFIG.replace("=128", "=64"), NOTE: f"source {OWN.rpartition('/')[2]}"})
    assert (row["tensor_parallel"], row["context_parallel"], row["precision"]) == (4, 2, "fp8")
    assert (row["minibatch_per_replica"], row["micro_batch"], row["micro_batch_source"]) == (None, 1, "derived")
    assert [(finding.kind, finding.found) for finding in findings] == [("launch.overridden", "64 x 4")]


def test_runs_that_differ_in_batch_leave_it_null() -> None:
    row, _ = launched({OWN: CONFIG}, runs_frame({}, {"global_batch_size": 448}))
    assert (row["global_batch_size"], row["batch_check"]) == (None, "not_checkable")


def test_another_script_is_reported() -> None:
    path = f"{FOLDER}/x/run_gpt.sh"
    row, findings = launched({path: "TP=8"})
    assert (row["config_path"], row["tensor_parallel"]) == (None, None)
    assert [(finding.kind, finding.found) for finding in findings] == [("launch.other_script", "run_gpt.sh")]
    assert row["source_path"] == f"Acme/results/{SYSTEM}/{BENCHMARK}/result_0.txt"


def test_a_result_without_description_or_configuration_still_has_a_row() -> None:
    row, findings = launched({}, systems=Systems.create_empty())
    assert (row["config_path"], row["accelerator_count"], row["data_parallel"]) == (None, None, None)
    assert kinds(findings) == ["launch.no_configuration"]


def test_a_strong_and_a_weak_result_share_one_row() -> None:
    runs = runs_frame({}, {"scaling_mode": "weak", "result_id": "weak"})
    assert launched({OWN: CONFIG}, runs)[0]["result_id"] == f"{ROUND}/Acme/{SYSTEM}/{BENCHMARK}"


def test_cyclic_includes_end() -> None:
    row, findings = launched(
        {
            OWN: "source config_common.sh\n" + CONFIG,
            OWN.replace(OWN.rpartition("/")[2], "config_common.sh"): f"source {OWN.rpartition('/')[2]}",
        }
    )
    assert (row["tensor_parallel"], kinds(findings)) == (4, ["launch.cyclic_include"])


def test_one_long_line_takes_no_long() -> None:
    start = time.perf_counter()
    launched({OWN: CONFIG + "export X=" + "${A:-" * 200_000, NOTE: "config" * 30_000})
    assert time.perf_counter() - start < 20


@given(
    st.binary(max_size=300) | st.text(max_size=200).map(lambda text: CONFIG + text),
    st.binary(max_size=200) | st.sampled_from([f"source {OWN.rpartition('/')[2]}", "source config_x.sh"]),
)
def test_any_bytes_give_rows_of_the_schema(config: bytes | str, note: bytes | str) -> None:
    _, findings = launched({OWN: config, NOTE: note})
    assert ParseFindings.filter(findings_frame(findings))[1].counts() == {}
