"""The checks of `mart` in Dagster: what `mart.checks` holds, shown on the asset that each check is about."""

import json
import re
from collections.abc import Iterator
from typing import Any

import dagster as dg

from pipelines.assets.tables import asset_key
from pipelines.quality.consistency import OWN_CHECKS
from pipelines.quality.suites import CHECKS
from pipelines.refreshing.workshop import Workshop
from pipelines.schemas.core import SEVERITIES

NOTHING_BLOCKS = "nothing_blocks_publishing"
FINDINGS_BY_SEVERITY = "findings_by_severity"

_LONGEST_CELL = 60

_CHECKED = {(check.table, check.name): check.meaning for check in CHECKS} | {
    (own.table, own.name): own.meaning for own in OWN_CHECKS
}
_ON_FINDINGS = dg.AssetCheckKey(asset_key("mart.findings"), NOTHING_BLOCKS)
_SEVERITY = {"error": dg.AssetCheckSeverity.ERROR, "warning": dg.AssetCheckSeverity.WARN}


def _specs() -> list[dg.AssetCheckSpec]:
    of_tables = [
        dg.AssetCheckSpec(
            name,
            asset=asset_key(table),
            description=f"{meaning[0].upper()}{meaning[1:]}.",
            additional_deps=[asset_key("mart.checks")],
        )
        for (table, name), meaning in _CHECKED.items()
    ]
    findings = [
        dg.AssetCheckSpec(
            NOTHING_BLOCKS,
            asset=asset_key("mart.findings"),
            description="No check of severity ERROR failed and none broke; else the warehouse stays as it was.",
            blocking=True,
            additional_deps=[asset_key("mart.checks")],
        ),
        dg.AssetCheckSpec(
            FINDINGS_BY_SEVERITY,
            asset=asset_key("mart.findings"),
            description="No finding of severity error. Findings are about what others published and block nothing.",
        ),
    ]
    return of_tables + findings


@dg.multi_asset_check(specs=_specs(), name="checks_of_answers", can_subset=True)
def checks_of_answers(
    context: dg.AssetCheckExecutionContext, workshop: dg.ResourceParam[Workshop]
) -> Iterator[dg.AssetCheckResult]:
    """Show the outcomes of the last run of the suites on the tables that they are about.

    Where `core` tables of a round run alone there are no outcomes yet: they come with the answers.
    """
    if _ON_FINDINGS not in context.selected_asset_check_keys:
        return
    outcomes = workshop.lake.read("mart.checks").to_dicts()
    known = [outcome for outcome in outcomes if (outcome["table"], outcome["name"]) in _CHECKED]
    yield from (_result(outcome) for outcome in known)
    yield _nothing_blocks(outcomes)
    yield _findings_by_severity(workshop)


def _result(outcome: dict[str, Any]) -> dg.AssetCheckResult:
    metadata: dict[str, Any] = {
        "status": outcome["status"],
        "rows_checked": outcome["checked_count"] or 0,
        "rows_failed": outcome["failed_count"] or 0,
    }
    if outcome["rows"]:
        metadata |= _rows_metadata(json.loads(outcome["rows"]))
    is_error = outcome["status"] == "errored"
    return dg.AssetCheckResult(
        asset_key=asset_key(outcome["table"]),
        check_name=outcome["name"],
        passed=outcome["status"] == "passed",
        severity=dg.AssetCheckSeverity.ERROR if is_error else _SEVERITY[outcome["severity"]],
        description=outcome["explanation"],
        metadata=metadata,
    )


def _nothing_blocks(outcomes: list[dict[str, Any]]) -> dg.AssetCheckResult:
    blocking = [f"{outcome['table']}: {outcome['name']}" for outcome in outcomes if outcome["is_blocking"]]
    return dg.AssetCheckResult(
        asset_key=asset_key("mart.findings"),
        check_name=NOTHING_BLOCKS,
        passed=not blocking,
        severity=dg.AssetCheckSeverity.ERROR,
        description="; ".join(blocking) or "Nothing blocks.",
        metadata={"blocking": dg.MetadataValue.json(blocking)},
    )


def _findings_by_severity(workshop: Workshop) -> dg.AssetCheckResult:
    counts = dict(workshop.lake.read("mart.findings").group_by("severity").len().sort("severity").iter_rows())
    return dg.AssetCheckResult(
        asset_key=asset_key("mart.findings"),
        check_name=FINDINGS_BY_SEVERITY,
        passed=not counts.get("error"),
        severity=dg.AssetCheckSeverity.WARN,
        metadata={severity: counts.get(severity, 0) for severity in SEVERITIES},
    )


def _rows_metadata(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return rows as a table of their short columns; sentences, which a cell would squeeze, stand beside it."""
    long = {name for name in rows[0] if any(len(str(row[name])) > _LONGEST_CELL for row in rows)}
    short = [name for name in rows[0] if name not in long]
    if not short:
        return {"rows": dg.MetadataValue.json(rows)}
    metadata: dict[str, Any] = {"rows": _rows_table(rows, short)}
    if long:
        lines = [_in_words(number, row, short, long) for number, row in enumerate(rows, start=1)]
        metadata["rows_in_words"] = dg.MetadataValue.md("\n".join(lines))
    return metadata


def _in_words(number: int, row: dict[str, Any], short: list[str], long: set[str]) -> str:
    named = ", ".join(_quoted(row[name]) for name in short if isinstance(row[name], str))
    said = "; ".join(_quoted(row[name]) for name in row if name in long)
    return f"{number}. {named}: {said}"


def _quoted(value: Any) -> str:
    """Return published text so that Markdown shows it and obeys nothing in it."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&-])", r"\\\1", " ".join(str(value).split()))


def _rows_table(rows: list[dict[str, Any]], names: list[str]) -> dg.TableMetadataValue:
    """Return rows as a table of text and numbers, the only values that Dagster shows."""
    return dg.MetadataValue.table(
        [dg.TableRecord({name: _plain(row[name]) for name in names}) for row in rows],
        schema=dg.TableSchema([dg.TableColumn(name, _kind([row[name] for row in rows])) for name in names]),
    )


def _plain(value: Any) -> str | float | int | bool:
    return value if isinstance(value, str | float | int | bool) else ""


def _kind(values: list[Any]) -> str:
    kinds = {type(value).__name__ for value in values if value is not None}
    return kinds.pop() if len(kinds) == 1 else "string"
