"""Summaries of inference rounds (`summary_results.json`, `summary.json`) to rows of `core.inference_results`.

The forms that were published are told apart by the names of their fields, never by a file's name or round. What a
record comes to (totals, which way is better, twins) belongs in `scoring.inference`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.parsing._published_json import as_json, decoded, printable, read_json, repeated_keys
from pipelines.parsing.counts import whole_number
from pipelines.parsing.layout import classify
from pipelines.parsing.names import accelerators_in, availability_category, canonical_submitter
from pipelines.parsing.published import ParseFinding, PublishedFile, findings_frame
from pipelines.parsing.quantities import is_absent, plain
from pipelines.schemas.inference import InferenceRecords

_SINCE_5_1 = {
    "ID": "published_id",
    "Submitter": "submitter",
    "Availability": "availability_text",
    "Category": "division",
    "Suite": "suite",
    "System": "system_name",
    "Platform": "platform",
    "UsedModel": "model",
    "Model": "benchmark",
    "Scenario": "scenario",
    "Performance_Result": "result",
    "Performance_Units": "result_unit",
    "Accuracy": "accuracy_text",
    "Nodes": "number_of_nodes",
    "a#": "accelerators_per_node",
    "Accelerator": "accelerator_text",
    "Processor": "host_processor_text",
    "host_processors_per_node": "host_processors_per_node",
    "host_processor_core_count": "host_processor_core_count_text",
    "Software": "software",
    "operating_system": "operating_system",
    "Notes": "notes",
    "weight_data_types": "weight_data_types_text",
    "compliance": "compliance_text",
    "errors": "error_count",
    "inferred": "is_inferred",
    "has_power": "has_power",
    "Location": "location",
    "version": "version_text",
}
_SINCE_6_1 = {
    "PrivateID": "published_id",
    "Organization": "submitter",
    "Availability": "availability_text",
    "Division": "division",
    "SystemType": "suite",
    "SystemName": "system_name",
    "Platform": "platform",
    "Model": "model",
    "MlperfModel": "benchmark",
    "Scenario": "scenario",
    "Result": "result",
    "Units": "result_unit",
    "Accuracy": "accuracy_text",
    "number_of_nodes": "number_of_nodes",
    "accelerators_per_node": "accelerators_per_node",
    "total_accelerators": "accelerator_count_stated",
    "accelerator_model_name": "accelerator_text",
    "host_processor_model_name": "host_processor_text",
    "host_processors_per_node": "host_processors_per_node",
    "host_processor_core_count": "host_processor_core_count_text",
    "framework": "software",
    "operating_system": "operating_system",
    "notes": "notes",
    "weight_data_types": "weight_data_types_text",
    "compliance": "compliance_text",
    "errors": "error_count",
    "inferred": "is_inferred",
    "has_power": "has_power",
    "design_power_watts": "design_power_watts",
    "Location": "location",
    "version": "version_text",
}
FORMS = {"v5.1": _SINCE_5_1, "v6.1": _SINCE_6_1}
"""Published field to column, by the round that each form is known from."""

_POWER = {"Power_Result": "power", "Power_Units": "power_unit"}
"""Fields of the records that have power, in either form."""

_COUNTS = (
    "number_of_nodes",
    "accelerators_per_node",
    "accelerator_count_stated",
    "host_processors_per_node",
    "error_count",
)
_NUMBERS = ("result", "power", "design_power_watts")
_FLAGS = ("is_inferred", "has_power")
_NEEDED = ("submitter", "benchmark", "scenario", "result", "result_unit")
"""Without these columns a form is not recognised."""


def parse_inference_summaries(files: Iterable[PublishedFile]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read inference summaries.

    Args:
        files: Published files; those that are no summary are passed over.

    Returns:
        A frame of `core.inference_results`, sorted by its key, and a frame of `core.parse_findings`. A field that is
        not known is kept in `other_fields`; one that is missing is a finding.
    """
    rows: list[dict[str, Any]] = []
    findings: list[ParseFinding] = []
    for file in sorted(files, key=lambda one: (one.round, one.path)):
        placed = classify(file.path)
        if placed is None or placed.kind != "inference_summary":
            continue
        summary = _Summary(file)
        rows += summary.rows()
        findings += summary.findings
    frame = pl.DataFrame(rows, schema=InferenceRecords.create_empty().schema, orient="row")
    return frame.sort(InferenceRecords.primary_key()), findings_frame(findings)


@dataclass(frozen=True)
class _Record:
    """One record and where it stands: its place in the list, or its key."""

    place: str
    fields: Mapping[str, Any]


class _Summary:
    """One summary while it is read."""

    def __init__(self, file: PublishedFile) -> None:
        self.findings: list[ParseFinding] = []
        self._file = file
        self._locations: Counter[str] = Counter()

    def report(self, kind: str, explanation: str, place: str = "", **more: Any) -> None:
        more = {name: value and printable(value) for name, value in more.items()}
        finding = ParseFinding(
            self._file.round,
            self._file.path,
            kind,
            explanation,
            place=printable(place),
            source_sha256=self._file.sha256,
            **more,
        )
        self.findings.append(finding)

    def rows(self) -> list[dict[str, Any]]:
        records = list(self._records())
        if not records:
            return []
        form = _form_of(records)
        if form is None:
            names = sorted({name for record in records for name in record.fields})
            self.report(
                "inference.unknown_form",
                "The records have none of the forms that are known, so none is read",
                severity="error",
                expected="the fields of " + " or of ".join(FORMS),
                found=", ".join(names),
            )
            return []
        self._report_fields(records, FORMS[form])
        rows = [self._row(record, form) for record in records]
        self._report_unknown_accelerators(rows)
        return rows

    def _records(self) -> Iterator[_Record]:
        """Give the records of a list, or of a dictionary in which each has a key."""
        text, no_utf8 = decoded(self._file.content)
        if no_utf8:
            explanation = "The file is no UTF-8; bytes that cannot be decoded are read as U+FFFD"
            self.report("inference.not_utf8", explanation, expected="UTF-8", found=no_utf8)
        try:
            content, mends = read_json(text)
        except ValueError as error:
            self._report_unreadable("a JSON list or object of records", str(error))
            return
        if mends:
            explanation = "The summary is no JSON as it stands; it is read with what is wrong mended"
            self.report("inference.mended_json", explanation, expected="JSON", found="; ".join(mends))
        for path, values in repeated_keys(content):
            self.report(
                "inference.duplicate_key",
                "The key stands more than once in one object; its last value wins",
                path,
                expected="one value",
                found=", then ".join(as_json(value) for value in values),
            )
        if not isinstance(content, list | dict):
            self._report_unreadable("a JSON list or object of records", type(content).__name__)
            return
        places = content.items() if isinstance(content, dict) else enumerate(content)
        for place, fields in places:
            if isinstance(fields, dict):
                yield _Record(str(place), fields)
            else:
                self.report(
                    "inference.no_record",
                    "What stands here is no record, so it has no row",
                    f"record {place}",
                    severity="error",
                    expected="an object of fields",
                    found=as_json(fields),
                )

    def _report_unreadable(self, expected: str, found: str) -> None:
        explanation = "The summary cannot be read, so the round has no inference results"
        self.report("inference.unreadable", explanation, severity="error", expected=expected, found=found)

    def _report_fields(self, records: list[_Record], form: Mapping[str, str]) -> None:
        """Tell once a field which records lack it, and once which fields are not known."""
        seen = Counter(name for record in records for name in record.fields)
        for name in form:
            if seen[name] < len(records):
                first = next(record.place for record in records if name not in record.fields)
                self.report(
                    "inference.missing_field",
                    f"{len(records) - seen[name]} of {len(records)} records have no field {name}",
                    name,
                    expected=name,
                    found=f"none in record {first}",
                )
        unknown = [name for name in seen if name not in form and name not in _POWER]
        if unknown:
            self.report(
                "inference.unknown_field",
                f"{len(unknown)} fields have no column of their own; they are kept in other_fields",
                severity="info",
                found=", ".join(unknown),
            )

    def _report_unknown_accelerators(self, rows: list[dict[str, Any]]) -> None:
        """Tell once which accelerators are not known by their text."""
        unknown = Counter(
            entry.text for row in rows for entry in accelerators_in(row["accelerator_text"]) if entry.part is None
        )
        for text, count in sorted(unknown.items()):
            self.report(
                "inference.unknown_accelerator",
                f"{count} records name an accelerator that is not known by this text, so it has no canonical part",
                f"accelerator: {text}",
                found=text,
            )

    def _row(self, record: _Record, form: str) -> dict[str, Any]:
        known = {**FORMS[form], **_POWER}
        values = {column: record.fields.get(name) for name, column in known.items()}
        row: dict[str, Any] = {column: _text(value) for column, value in values.items()}
        row |= {column: self._count(record, column, values.get(column)) for column in _COUNTS}
        row |= {column: self._number(record, column, values.get(column)) for column in _NUMBERS}
        row |= {column: self._flag(record, column, values.get(column)) for column in _FLAGS}
        named = accelerators_in(row["accelerator_text"])
        row.pop("version_text")
        return row | {
            "round": self._file.round,
            "location": self._location(record, row.get("location")),
            "record": record.place,
            "form": form,
            "submitter_canonical": canonical_submitter(row["submitter"]) if row["submitter"] else None,
            "availability": availability_category(row["availability_text"]),
            "division": row["division"].lower() if row["division"] else None,
            "suite": row["suite"].lower() if row["suite"] else None,
            "accelerator": named[0].part if len(named) == 1 else None,
            "accelerators_per_node_text": _text(values.get("accelerators_per_node")),
            "other_fields": as_json({name: value for name, value in record.fields.items() if name not in known}),
            "source_path": self._file.path,
            "source_sha256": self._file.sha256,
        }

    def _location(self, record: _Record, text: str | None) -> str:
        """Return what names the record in its round: the folder of its logs, or its place where it has none."""
        location = (text or "").removeprefix("./").rstrip("/")
        if not location:
            location = f"record {record.place}"
            self.report("inference.no_location", "The record names no folder", location, expected="Location")
        self._locations[location] += 1
        if self._locations[location] == 1:
            return location
        self.report(
            "inference.location_twice",
            "Two records name the same folder; the later one is told by its place",
            f"record {record.place}",
            found=location,
        )
        return f"{location} (record {record.place})"

    def _count(self, record: _Record, column: str, value: Any) -> int | None:
        if value is None or is_absent(value):
            return None
        count = None if isinstance(value, bool) else whole_number(value, column)
        if count is not None:
            return count
        self._report_value(record, column, "a whole number", value)
        return None

    def _number(self, record: _Record, column: str, value: Any) -> float | None:
        if value is None or is_absent(value):
            if column == "result":
                self._report_value(record, column, "a number", value)
            return None
        try:
            number = float("nan") if isinstance(value, bool | list | dict) else float(value)
        except (ValueError, OverflowError):
            number = float("nan")
        if math.isfinite(number) and number >= 0:
            return number
        self._report_value(record, column, "a number that is not negative", value)
        return None

    def _flag(self, record: _Record, column: str, value: Any) -> bool | None:
        if value is None or is_absent(value):
            return None
        flags = {"0": False, "1": True, "false": False, "true": True}
        flag = flags.get(plain(value).lower())
        if flag is None:
            self._report_value(record, column, "0 or 1, false or true", value)
        return flag

    def _report_value(self, record: _Record, column: str, expected: str, value: Any) -> None:
        place = f"record {record.place}, {column}"
        self.report(
            "inference.unreadable_value", "The value cannot be read", place, expected=expected, found=as_json(value)
        )


def _form_of(records: list[_Record]) -> str | None:
    """Return the form whose fields the records have most of, if it has those without which nothing can be told."""
    seen = Counter(name for record in records for name in record.fields)
    scores = {form: sum(seen[name] for name in fields) for form, fields in FORMS.items()}
    best = max(scores, key=lambda form: scores[form])
    columns = {FORMS[best][name] for name in seen if name in FORMS[best]}
    return best if columns.issuperset(_NEEDED) else None


def _text(value: Any) -> str | None:
    written = value if isinstance(value, str) else "" if value is None else as_json(value)
    return printable(written) if written.strip() else None
