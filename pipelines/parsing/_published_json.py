"""JSON as published: keys that stand twice in one object, halves of surrogate pairs, nesting of any depth.

Reading the bytes of a description belongs here; what its fields mean belongs in `system_descriptions`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

DEEPEST_NESTING = 50
"""Objects and lists inside one another that are read; descriptions have three."""
_TOO_DEEP = f"nested deeper than {DEEPEST_NESTING}"


class JsonObject(dict[str, Any]):
    """A JSON object that remembers every value of a key that stood in it more than once."""

    repeated: dict[str, list[Any]]

    @classmethod
    def of(cls, pairs: list[tuple[str, Any]]) -> JsonObject:
        made = cls(pairs)
        made.repeated = {}
        if len(made) < len(pairs):
            values: dict[str, list[Any]] = {}
            for key, value in pairs:
                values.setdefault(key, []).append(value)
            made.repeated = {key: every for key, every in values.items() if len(every) > 1}
        return made


def parse_json(text: str) -> Any:
    """Return what a JSON text holds, its objects as `JsonObject`.

    Raises:
        ValueError: the text is no JSON, or nested deeper than `DEEPEST_NESTING`.
    """
    try:
        content = json.loads(text, object_pairs_hook=JsonObject.of)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    if any(depth > DEEPEST_NESTING for _, _, depth in _nodes(content)):
        raise ValueError(_TOO_DEEP)
    return content


def repeated_keys(content: Any) -> Iterator[tuple[str, list[Any]]]:
    """Give the path of every repeated key and all its values, in order."""
    for path, node, _ in _nodes(content):
        if isinstance(node, JsonObject):
            yield from ((f"{path}{key}", values) for key, values in node.repeated.items())


def _nodes(content: Any) -> Iterator[tuple[str, Any, int]]:
    """Give every object and list in order, each with the path that its keys begin with and its depth."""
    waiting = [("", content, 0)]
    while waiting:
        path, node, depth = waiting.pop()
        if not isinstance(node, (dict, list)):
            continue
        yield path, node, depth
        items = list(node.items() if isinstance(node, dict) else enumerate(node))
        waiting += [(f"{path}{key}.", value, depth + 1) for key, value in reversed(items)]


def as_json(value: Any) -> str:
    """Return a value as JSON text that can be stored."""
    return printable(json.dumps(value, ensure_ascii=False))


def printable(text: str) -> str:
    """Return a text that can be stored as UTF-8: JSON may escape half of a surrogate pair."""
    return text.encode("utf-8", errors="replace").decode("utf-8")
