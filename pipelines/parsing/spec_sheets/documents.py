"""Published JSON and YAML documents as plain dictionaries, lists and text; what is broken becomes a finding.

Which key holds which figure belongs in the reader of the source.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from pipelines.parsing.spec_sheets.cells import as_printed, is_missing, number, report_no_number
from pipelines.parsing.spec_sheets.sheet import UNSTATED, Fact, Form, Reading

MOST_NESTING = 100
"""Brackets within brackets that a YAML document may have: the time to parse it grows with their square."""


@dataclass(frozen=True, slots=True)
class Field:
    """What one field of a document states: a quantity, the factor to its unit, and the form that its name tells."""

    path: str
    quantity: str
    factor: float = 1.0
    printed_unit: str | None = None
    form: Form = UNSTATED


def read_json(content: bytes, reading: Reading) -> dict[str, Any]:
    """Return the object that a JSON document is; empty, with a finding, where it is none."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for key in _repeated([key for key, _ in pairs]):
            _report_repeated(key, reading)
        return dict(pairs)

    try:
        document = json.loads(content, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        return _unreadable("json", error, reading)
    return _mapping(document, reading)


def read_yaml(content: bytes, reading: Reading) -> dict[str, Any]:
    """Return the mapping that a YAML document is, every scalar as text; empty, with a finding, where it is none.

    Aliases are refused: a few lines of them can stand for gigabytes.
    """

    if _deepest(content) > MOST_NESTING:
        reading.report("yaml.too_deep", "The document is nested too deep to be read.", severity="error")
        return {}
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(content, Loader=yaml.BaseLoader)):
            reading.report("yaml.alias", "The document uses aliases, which are not read.", severity="error")
            return {}
        document = _built(yaml.compose(content, Loader=yaml.BaseLoader), reading)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return _unreadable("yaml", error, reading)
    return _mapping(document, reading)


def at(document: Any, path: str) -> Any:
    """Return what stands at a dotted path, list places as numbers; None where nothing does."""
    for step in path.split("."):
        if isinstance(document, dict):
            document = document.get(step)
        elif isinstance(document, list) and step.isdigit() and int(step) < len(document):
            document = document[int(step)]
        else:
            return None
    return document


def leaves(document: Any) -> list[str]:
    """Return the dotted path of every value that is neither a mapping nor a list of mappings."""
    found = []
    left = [("", document)]
    while left:
        path, value = left.pop()
        branches = _branches(value)
        if branches is None:
            found.append(path)
            continue
        left.extend((f"{path}.{name}" if path else name, branch) for name, branch in reversed(branches))
    return found


def fact_at(document: Any, field: Field, subject: str, reading: Reading) -> Fact | None:
    """Return the fact at a field; None where nothing stands there, with a finding where it is no number."""
    printed = at(document, field.path)
    if is_missing(printed):
        return None
    value = number(printed)
    if value is None:
        report_no_number(reading, field.path, str(printed))
        return None
    return Fact(
        subject=subject,
        quantity=field.quantity,
        printed=as_printed(printed) if isinstance(printed, float) else str(printed),
        locator=field.path,
        value=value * field.factor,
        printed_unit=field.printed_unit,
        form=field.form,
    )


def report_unread_fields(document: Any, read: Iterable[str], reading: Reading) -> None:
    """Add one finding that names the fields which hold no figure that is carried."""
    known = set(read)
    unread = [path for path in leaves(document) if path not in known]
    if unread:
        reading.report(
            "field.not_carried",
            f"{len(unread)} fields hold nothing that the registry has a metric for; they stay in the raw sheet.",
            severity="info",
            found=", ".join(unread),
        )


def _deepest(content: bytes) -> int:
    """Return how deep brackets stand within brackets, those inside quotes counted too."""
    depth = deepest = 0
    for bracket in re.finditer(rb"[\[\]{}]", content):
        depth = depth + 1 if bracket.group() in b"[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def _built(node: Any, reading: Reading) -> Any:
    """Return what a YAML node holds, scalars as the text that they are."""
    if isinstance(node, yaml.SequenceNode):
        return [_built(item, reading) for item in node.value]
    if not isinstance(node, yaml.MappingNode):
        return None if node is None else node.value
    for key in _repeated([str(name.value) for name, _ in node.value]):
        _report_repeated(key, reading)
    return {str(name.value): _built(item, reading) for name, item in node.value}


def _branches(value: Any) -> list[tuple[str, Any]] | None:
    if isinstance(value, dict):
        return [(str(key), branch) for key, branch in value.items()]
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return [(str(place), item) for place, item in enumerate(value)]
    return None


def _repeated(keys: list[str]) -> list[str]:
    return sorted(key for key, times in Counter(keys).items() if times > 1)


def _report_repeated(key: str, reading: Reading) -> None:
    reading.report("key.repeated", f"The key {key} occurs more than once; the last is read.", place=key, found=key)


def _unreadable(form: str, error: Exception, reading: Reading) -> dict[str, Any]:
    reading.report(
        f"{form}.unreadable",
        f"The file is not a {form.upper()} document.",
        severity="error",
        expected=f"a {form.upper()} document",
        found=f"{type(error).__name__}: {error}",
    )
    return {}


def _mapping(document: Any, reading: Reading) -> dict[str, Any]:
    if isinstance(document, dict):
        return document
    reading.report(
        "document.not_a_mapping",
        "The document is not a mapping of names to values.",
        severity="error",
        expected="a mapping",
        found=type(document).__name__,
    )
    return {}
