"""What a record of an inference round comes to: totals, parts, the better direction, the twin at the other target.

Nothing is recomputed: inference rounds are taken as their publisher summarises them. How a summary is read belongs in
`parsing.inference_summaries`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.parsing.names import accelerators_in, canonical_benchmark, chips_in
from pipelines.schemas.findings import Finding, findings_frame
from pipelines.schemas.inference import InferenceAnswers, InferenceParts

_TARGET = re.compile(r"(?P<workload>.+)-(?P<target>99(?:\.9)?)")
_TARGETS = (99.0, 99.9)


@dataclass(frozen=True)
class InferenceTables:
    """What the records come to."""

    results: pl.DataFrame
    """Rows of `mart.inference_results`."""
    parts: pl.DataFrame
    """Rows of `mart.inference_accelerators`."""
    findings: pl.DataFrame
    """Rows of `mart.findings`."""


def inference_answers(records: pl.DataFrame) -> InferenceTables:
    """Work out the answers.

    Args:
        records: Rows of `core.inference_results`.
    """
    rows = [_row(record) for record in records.iter_rows(named=True)]
    _link_twins(rows)
    parts: list[dict[str, Any]] = []
    findings: list[Finding] = []
    for row, record in zip(rows, records.iter_rows(named=True), strict=True):
        own = _parts(row, record)
        row["accelerators"] = " + ".join(_told(part) for part in own) or None
        parts += own
        findings += _objections(row, record, own)
    return InferenceTables(
        _frame(rows, InferenceAnswers).sort("inference_id"),
        _frame(parts, InferenceParts)
        .unique(InferenceParts.primary_key(), keep="first")
        .sort(InferenceParts.primary_key()),
        findings_frame(findings) if findings else findings_frame(_no_findings()),
    )


def is_lower_better(unit: str | None) -> bool | None:
    """Say which way a unit is better: less for a latency, more for a rate; None for a unit that is not known."""
    text = (unit or "").lower()
    if "latency" in text:
        return True
    return (
        False
        if re.fullmatch(r"(?:samples|queries|tokens|frames|images)\s?(?:/|per )\s?s(?:ec(?:ond)?)?", text)
        else None
    )


def _row(record: dict[str, Any]) -> dict[str, Any]:
    benchmark = canonical_benchmark(record["benchmark"]) if record["benchmark"] else None
    target = _TARGET.fullmatch(benchmark or "")
    total = _total(record)
    lower = is_lower_better(record["result_unit"])
    rate = record["result"] if lower is False else None
    return {
        **{name: record.get(name) for name in InferenceAnswers.column_names()},
        "inference_id": f"{record['round']}/{record['location']}",
        "submitter": record["submitter_canonical"] or record["submitter"],
        "benchmark": benchmark,
        "workload": target["workload"] if target else benchmark,
        "accuracy_target_percent": float(target["target"]) if target else None,
        "scenario": re.sub(r"[\s_-]", "", record["scenario"] or "").lower() or None,
        "is_lower_better": lower,
        "accelerator_count": total,
        "result_per_accelerator": rate / total if rate is not None and total else None,
        "is_counted_once": True,
    }


def _total(record: dict[str, Any]) -> int | None:
    nodes, per_node = record["number_of_nodes"], record["accelerators_per_node"]
    if nodes is None or per_node is None:
        return record["accelerator_count_stated"] or None
    return nodes * per_node or None


def _link_twins(rows: list[dict[str, Any]]) -> None:
    """Link the records of one platform and scenario at 99 and 99.9 % where there is one of each."""
    groups: dict[tuple[Any, ...], dict[float, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    names = ("round", "submitter", "division", "suite", "platform", "workload", "scenario")
    for row in rows:
        if row["accuracy_target_percent"] in _TARGETS:
            groups[tuple(row[name] for name in names)][row["accuracy_target_percent"]].append(row)
    for group in groups.values():
        lower, higher = group.get(_TARGETS[0], []), group.get(_TARGETS[1], [])
        if len(lower) != 1 or len(higher) != 1:
            continue
        is_same = lower[0]["result"] is not None and lower[0]["result"] == higher[0]["result"]
        lower[0] |= {
            "twin_id": higher[0]["inference_id"],
            "twin_has_same_result": is_same,
            "is_counted_once": not is_same,
        }
        higher[0] |= {"twin_id": lower[0]["inference_id"], "twin_has_same_result": is_same}


def _parts(row: dict[str, Any], record: dict[str, Any]) -> list[dict[str, Any]]:
    named = accelerators_in(record["accelerator_text"])
    total = row["accelerator_count"]
    return [
        {
            "inference_id": row["inference_id"],
            "accelerator_text": re.sub(r"\s?\(x\s?\d{1,6}\)$", "", entry.text, flags=re.IGNORECASE),
            "accelerator": entry.part,
            "accelerator_count": total if len(named) == 1 and entry.count is None else entry.count,
        }
        for entry in named
    ]


def _told(part: dict[str, Any]) -> str:
    name = part["accelerator"] or part["accelerator_text"]
    return name if part["accelerator_count"] is None else f"{part['accelerator_count']} {name}"


def _objections(row: dict[str, Any], record: dict[str, Any], parts: list[dict[str, Any]]) -> Iterable[Finding]:
    total, stated = row["accelerator_count"], record["accelerator_count_stated"]
    common = {"severity": "warning", "subject": row["inference_id"], "round": row["round"]}
    if stated is not None and total is not None and stated != total:
        yield Finding(
            kind="inference.total_against_product",
            explanation="The total of accelerators is not nodes times accelerators per node; the product stands",
            expected=f"{row['number_of_nodes']} x {row['accelerators_per_node']} = {total}",
            found=str(stated),
            **common,
        )
    counts = [part["accelerator_count"] for part in parts]
    if len(parts) > 1 and None not in counts and total is not None and sum(counts) != total:
        yield Finding(
            kind="inference.parts_against_total",
            explanation="The counts of the parts do not add up to the total of accelerators",
            expected=str(total),
            found=" + ".join(map(str, counts)),
            **common,
        )
    fitting = {total, row["accelerators_per_node"]}
    wrong = [
        name
        for name in ("system_name", "platform")
        if (named := _counts_in(record[name], parts)) and not named & fitting
    ]
    if total is not None and len(parts) == 1 and wrong:
        yield Finding(
            kind="inference.count_against_name",
            explanation="A name of the system counts other accelerators than the record; the record stands",
            expected=f"{total} accelerators, {row['accelerators_per_node']} a node",
            found="; ".join(record[name] for name in wrong),
            **common,
        )
    if row["result_unit"] is not None and row["is_lower_better"] is None:
        yield Finding(
            kind="inference.unknown_unit",
            explanation="It is not known which way this unit is better",
            expected="a latency, or samples, queries or tokens per second",
            found=row["result_unit"],
            **common,
        )


def _counts_in(name: str | None, parts: list[dict[str, Any]]) -> set[int]:
    """Return the counts that stand before or after the chip in a system's name: `8x B200`, `B200-SXM-180GBx8`."""
    chips = "|".join(sorted(re.escape(chip) for part in parts for chip in chips_in(part["accelerator_text"])))
    if not chips or name is None:
        return set()
    before = re.findall(rf"(?<![\w.])(\d{{1,5}})\s?x\s?(?:NVIDIA |AMD |Instinct |_)*(?:{chips})", name, re.IGNORECASE)
    before += re.findall(rf"_(\d{{1,5}})x(?:{chips})", name, re.IGNORECASE)
    after = re.findall(rf"(?:{chips})[\w.-]*?(?:GB|_aarch64)?x(\d{{1,5}})(?![\dA-Za-z])", name, re.IGNORECASE)
    return {int(count) for count in (*before, *after)}


def _no_findings() -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys(("kind", "severity", "subject", "explanation"), pl.String))


def _frame(rows: list[dict[str, Any]], schema: Any) -> pl.DataFrame:
    columns = schema.create_empty().schema
    return pl.DataFrame(rows, schema=columns, orient="row").select(columns.names())
