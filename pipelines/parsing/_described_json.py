"""The JSON of a system description: its fields by the names of the form, and what of it is no sound JSON.

Which names the form has, and what their values mean, belongs in `system_descriptions`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from pipelines.parsing._published_json import JsonObject, as_json, decoded, read_json, repeated_keys
from pipelines.parsing.description_fields import meant_fields


class Report(Protocol):
    """Notes a finding about the file."""

    def __call__(self, kind: str, explanation: str, place: str = "", **more: Any) -> None: ...


def read_fields(content: bytes, known: Collection[str], report: Report) -> dict[str, Any] | None:
    """Return the fields of a description, None where it is no JSON object.

    Args:
        content: The file.
        known: Names of the form; a field of another name that can only mean one of them gets that name.
        report: Takes what is wrong with the file.
    """
    text, no_utf8 = decoded(content)
    if no_utf8:
        report(
            "system.not_utf8",
            "The file is no UTF-8; bytes that cannot be decoded are read as U+FFFD",
            expected="UTF-8",
            found=no_utf8,
        )
    try:
        described, mends = read_json(text)
    except ValueError as error:
        report(
            "system.broken_json",
            "The description does not parse as JSON, so the system has no row",
            severity="error",
            expected="a JSON object",
            found=str(error),
        )
        return None
    if mends:
        report(
            "system.mended_json",
            "The description is no JSON as it stands; it is read with what is wrong mended",
            expected="a JSON object",
            found="; ".join(mends),
        )
    if not isinstance(described, JsonObject):
        report(
            "system.no_object",
            "The description is no JSON object, so the system has no row",
            severity="error",
            expected="a JSON object",
            found=type(described).__name__,
        )
        return None
    for path, values in repeated_keys(described):
        report(
            "system.duplicate_key",
            "The key stands more than once in one object; its last value wins",
            path,
            expected="one value",
            found=", then ".join(as_json(value) for value in values),
        )
    return _by_known_names(described, known, report)


def _by_known_names(described: dict[str, Any], known: Collection[str], report: Report) -> dict[str, Any]:
    meant = meant_fields(described, known)
    for name, field in meant.items():
        report(
            "system.field_misspelled",
            "No field has this name; its value is read as that of the field that is meant",
            name,
            expected=field,
            found=as_json(described[name]),
        )
    return {meant.get(name, name): value for name, value in described.items()}
