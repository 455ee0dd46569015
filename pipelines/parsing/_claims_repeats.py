"""The same claim told again, in a table or a heading: linked to where the document tells it first."""

from __future__ import annotations

import re
from typing import Any


def link_repeats(rows: list[dict[str, Any]]) -> None:
    """Link each claim that is told again, also in a table, to where it was told first.

    A heading only repeats the text.
    """
    first: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        row["repeat_of"] = None
    for row in sorted(rows, key=lambda row: row["block"] == "heading"):
        if row["statement"] != "claim":
            continue
        changes = row["dimension"] == "percent" and re.search(
            rf"\bfrom {re.escape(row['value'])}", row["sentence"].replace("–", "-")
        )
        metric = f"{row['metric']} from" if changes else row["metric"]
        key = (metric, f"{row['low'] * row['unit_factor']:.6g}", f"{row['high'] * row['unit_factor']:.6g}")
        told = next((other for other in first.get(key, []) if _is_same_subject(row, other)), None)
        if told is not None:
            row["repeat_of"] = told["claim"]
        else:
            first.setdefault(key, []).append(row)


def _is_same_subject(row: dict[str, Any], other: dict[str, Any]) -> bool:
    """Say whether two rows can speak of one thing: the same name, or one of them names none itself."""
    if any(row[form] and other[form] and row[form] != other[form] for form in ("direction", "density", "precision")):
        return False
    if (row["direction"] == "one") != (other["direction"] == "one"):
        return False
    if row["subject"] == other["subject"] or "heading" in (row["block"], other["block"]):
        return True
    loose = [one["subject_from"] != "sentence" or one["subject_kind"] in (None, "level") for one in (row, other)]
    return any(loose) and row["is_hypothetical"] == other["is_hypothetical"]
