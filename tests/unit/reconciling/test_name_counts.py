"""What a number in a name counts, told by the figure that it equals."""

from __future__ import annotations

import polars as pl
import pytest

from pipelines.reconciling.name_counts import audit_names, name_findings
from pipelines.schemas import core, facts_mart
from pipelines.schemas.audits_mart import NameCounts

PARTS = pl.DataFrame(
    {
        "accelerator": ["GB200 (per GPU)", "TPU v5p", "TPU v5e", "H100-SXM5-80GB"],
        "die_count": [2, 1, 1, 1],
        "tensorcore_count": [None, 2, 1, None],
    },
    schema_overrides={"die_count": pl.Int64, "tensorcore_count": pl.Int64},
)


def audited(
    folder: str, nodes: int | None, per_node: int | None, name: str | None = None, **other: object
) -> pl.DataFrame:
    system = {
        "round": "training-v9.0",
        "submitter_folder": "Someone",
        "system": folder,
        "system_name": name,
        "number_of_nodes": nodes,
        "accelerators_per_node": per_node,
        "accelerator_count": None if nodes is None or per_node is None else nodes * per_node,
        "accelerator_text": "NVIDIA GB200",
        "accelerator": "GB200 (per GPU)",
        **other,
    }
    systems = pl.DataFrame([system], schema=core.Systems.create_empty().schema)
    return NameCounts.validate(audit_names(systems, PARTS))


def verdicts(frame: pl.DataFrame) -> list[tuple[str, str]]:
    return list(frame.sort("stated_in", "position").select("words", "verdict").iter_rows())


def test_counts_that_agree() -> None:
    assert verdicts(audited("x_ngpu2496", 624, 4)) == [("ngpu2496", "agrees")]
    assert verdicts(audited("8xH200_n128", 128, 8, accelerator_text="NVIDIA H200", accelerator=None)) == [
        ("8xH200", "agrees"),
        ("n128", "agrees"),
    ]
    assert verdicts(audited("16xMI325X_8xMI300X", 3, 8, accelerator_text="MI325X, MI300X", accelerator=None)) == [
        ("16xMI325X", "agrees"),
        ("8xMI300X", "agrees"),
    ]
    assert verdicts(audited("1-node-4x-BMG-Pro", 1, 4, accelerator_text="Arc Pro", accelerator=None)) == [
        ("1-node", "agrees"),
        ("4x-BMG", "agrees"),
    ]


@pytest.mark.parametrize(
    ("folder", "nodes", "per_node", "part", "text", "verdict"),
    [
        ("tpu-v5p-12288", 1536, 4, "TPU v5p", "TPU-v5p", "counts_cores"),
        ("tpu-v5p-6144", 1536, 4, "TPU v5p", "TPU-v5p", "agrees"),
        ("tpu-v5p-5000", 1536, 4, "TPU v5p", "TPU-v5p", "contradicted"),
        ("v5litepod-256", 64, 4, "TPU v5e", "TPU-v5e", "agrees"),
        ("3072xBM.GPU.H100.8", 384, 8, "H100-SXM5-80GB", "NVIDIA H100-SXM5-80GB", "counts_accelerators"),
        ("384xBM.GPU.H100.8", 384, 8, "H100-SXM5-80GB", "NVIDIA H100-SXM5-80GB", "agrees"),
        ("9xBM.GPU.H100.8", 8, 8, "H100-SXM5-80GB", "NVIDIA H100-SXM5-80GB", "contradicted"),
        ("rack_144xGB200", 18, 4, "GB200 (per GPU)", "NVIDIA GB200", "counts_dies"),
        ("lab_18xGB200", 18, 4, "GB200 (per GPU)", "NVIDIA GB200", "counts_nodes"),
        ("lab_4xGB200", 18, 4, "GB200 (per GPU)", "NVIDIA GB200", "counts_one_node"),
        ("lab_ngpu72", None, 4, "GB200 (per GPU)", "NVIDIA GB200", "not_checkable"),
        ("lab_x8", 1, 0, None, "N/A", "not_checkable"),
    ],
)
def test_what_the_first_number_counts(
    folder: str, nodes: int | None, per_node: int, part: str | None, text: str, verdict: str
) -> None:
    frame = audited(folder, nodes, per_node, accelerator=part, accelerator_text=text)
    assert frame.sort("position")["verdict"][0] == verdict


def test_racks_in_the_place_of_machines() -> None:
    stated = audited("8xKinabalux18x4GB200", 144, 4, racks_stated=8, slots_per_rack=72)
    assert verdicts(stated) == [("8xKinabalu", "counts_racks"), ("x18x4", "agrees")]
    counted = audited("8xKinabalux18x4GB200", 144, 4, slots_per_rack=72)
    assert verdicts(counted) == verdicts(stated)


def test_a_name_that_says_another_machine_or_node_than_the_folder() -> None:
    other = audited("9xXE9712x4GB200", 9, 4, "9xXE9680Lx4GB200")
    assert ("9xXE9680L", "another_machine") in verdicts(other)
    assert "XE9712" in other.filter(verdict="another_machine")["explanation"][0]
    same = audited("9xXE-9712x4GB200", 9, 4, "9xXE9712x4GB200")
    assert {verdict for _, verdict in verdicts(same)} == {"agrees"}
    node = audited("18xBM.GPU.GB200.4", 18, 4, "BM.GPU.GB200.8")
    assert ("GPU.GB200.8", "contradicted") in verdicts(node)


def test_findings_are_told_once_a_system_and_kind() -> None:
    frame = audited("lab_4xGB200", 18, 4, "Lab 4x GB200")
    (finding,) = name_findings(frame).to_dicts()
    assert finding["finding_id"] == "names.counts_one_node:training-v9.0/Someone/lab_4xGB200"
    assert (finding["severity"], finding["expected"]) == ("info", "72")
    assert finding["found"] == "4xGB200 (folder); 4x GB200 (system_name)"
    assert name_findings(audited("x_ngpu72", 18, 4)).is_empty()


def test_no_systems() -> None:
    empty = audit_names(core.Systems.create_empty(), facts_mart.Accelerators.create_empty())
    assert empty.schema == NameCounts.create_empty().schema
    assert name_findings(empty).is_empty()
