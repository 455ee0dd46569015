"""Which fields a system description has and on which line each stands.

What the fields mean belongs in `system_descriptions`.
"""

from __future__ import annotations

import json
import re

from pipelines.parsing._published_json import decoded, read_json


def description_fields(content: bytes) -> dict[str, int] | None:
    """Return the line, from 1, of each field of the outermost object; None where the content is no JSON object."""
    text, _ = decoded(content)
    try:
        described, _ = read_json(text)
    except ValueError:
        return None
    if not isinstance(described, dict):
        return None
    return {name: _line(text, name) for name in described}


def _line(text: str, name: str) -> int:
    """Return where the name stands first as a key; 1 where it is written with escapes."""
    found = re.search(rf"{re.escape(json.dumps(name, ensure_ascii=False))}\s*:", text)
    return text.count("\n", 0, found.start()) + 1 if found else 1
