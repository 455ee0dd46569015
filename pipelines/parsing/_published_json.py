"""JSON as published: keys that stand twice in one object, halves of surrogate pairs, nesting of any depth.

Reading the bytes of a description belongs here; what its fields mean belongs in `system_descriptions`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pipelines.parsing._mended_json import mended_json

_NESTING = (dict, list)
DEEPEST_NESTING = 50
"""Objects and lists inside one another that are read; descriptions have three."""
_TOO_DEEP = f"nested deeper than {DEEPEST_NESTING}"
_MARKED = {  # that of UTF-32 first: it begins with that of UTF-16
    "\ufeff".encode(encoding): encoding[:6] for encoding in ("UTF-32-LE", "UTF-32-BE", "UTF-16-LE", "UTF-16-BE")
}


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


def decoded(content: bytes) -> tuple[str, str | None]:
    """Return the text of bytes, and what is no UTF-8 about them: bytes in between, or another encoding's mark."""
    for mark, name in _MARKED.items():
        if content.startswith(mark):
            return content.decode(name, errors="replace"), f"{name} with a byte order mark"
    try:
        return content.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        return content.decode("utf-8-sig", errors="replace"), str(error)


def read_json(text: str) -> tuple[Any, tuple[str, ...]]:
    """Return what a JSON text holds, its objects as `JsonObject`, and what had to be mended to read it.

    Raises:
        ValueError: the text is no JSON, mended or not, or nested deeper than `DEEPEST_NESTING`; it says what is wrong
            with the text as it stands.
    """
    try:
        return parse_json(text), ()
    except ValueError as error:
        try:
            mended, mends = mended_json(text)
            return parse_json(mended), mends
        except ValueError:
            raise error from None


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
    waiting = [("", content, 0)] if isinstance(content, _NESTING) else []
    while waiting:
        path, node, depth = waiting.pop()
        yield path, node, depth
        items = node.items() if isinstance(node, dict) else enumerate(node)
        nested = [(f"{path}{key}.", value, depth + 1) for key, value in items if isinstance(value, _NESTING)]
        waiting += reversed(nested)


def as_json(value: Any) -> str:
    """Return a value as JSON text that can be stored."""
    return printable(json.dumps(value, ensure_ascii=False))


def printable(text: str) -> str:
    """Return a text that can be stored as UTF-8: JSON may escape half of a surrogate pair."""
    return text.encode("utf-8", errors="replace").decode("utf-8")
