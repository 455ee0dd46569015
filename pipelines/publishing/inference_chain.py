"""What an inference result rests on, as a tree: the record as published, its system, its twin, where it was read."""

from __future__ import annotations

from typing import Any

from pipelines.lake.tables import Lake
from pipelines.publishing.chain import Link


def chain_of_record(lake: Lake, inference_id: str) -> Link | None:
    """Return what an inference result rests on, None where there is no such record."""
    found = lake.read("mart.inference_results").filter(inference_id=inference_id)
    if found.is_empty():
        return None
    result = found.row(0, named=True)
    record = lake.read("core.inference_results", [result["round"]]).filter(location=result["location"])
    published = record.row(0, named=True)
    root = Link(inference_id)
    _add_result(root, result)
    _add_system(root, result, published)
    _add_source(root, lake, published)
    return root


def _add_result(root: Link, result: dict[str, Any]) -> None:
    better = {True: "lower is better", False: "higher is better", None: "which way is better is not known"}
    link = root.add(
        f"{result['result']:.12g} {result['result_unit']} as published, {result['benchmark']}, "
        f"{result['scenario']} scenario; {better[result['is_lower_better']]}",
        result,
    )
    if result["result_per_accelerator"] is not None:
        link.add(
            f"{result['result_per_accelerator']:.6g} for each of {result['accelerator_count']} accelerators, derived"
        )
    if result["is_inferred"]:
        link.add("marked as inferred by its publisher, who does not explain it")
    if result["twin_id"] is not None:
        same = "the very same figure: one measurement" if result["twin_has_same_result"] else "another figure"
        link.add(f"under the other accuracy target, {same}: {result['twin_id']}")
    if result["power"] is not None:
        link.add(f"{result['power']:.6g} {result['power_unit']} measured, as published")


def _add_system(root: Link, result: dict[str, Any], published: dict[str, Any]) -> None:
    link = root.add(
        f"system {published['system_name']} of {result['submitter']}, {result['division']} division, "
        f"{result['suite']} suite, {result['availability']}"
    )
    per_node = published["accelerators_per_node_text"] or "none"
    link.add(
        f"{result['accelerator_count'] or 0} accelerators: {published['number_of_nodes']} nodes x {per_node} "
        f"of {published['accelerator_text'] or 'none named'}"
    )


def _add_source(root: Link, lake: Lake, published: dict[str, Any]) -> None:
    link = root.add(f"record {published['record']} of {published['source_path']}", published)
    link.add(f"sha256 {published['source_sha256']}")
    for source in lake.read("core.sources", [published["round"]]).iter_rows(named=True):
        read = root.add(
            f"read {source['retrieved_at']} from {source['source']} at {source['commit']}, "
            f"licence {source['licence'] or 'not stated'}",
            source,
        )
        read.add(f"published result ID: {published['published_id'] or 'none published'}")
