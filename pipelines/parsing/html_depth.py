"""How deep the tags of a page are nested: told from its text, since reading a tree takes time that grows with depth.

What a page says belongs in its readers.
"""

from __future__ import annotations

import re

DEEPEST = 256
"""Most elements inside one another; published pages have some thirty."""

DEEPEST_LISTS = 24
"""Most tables and definition lists inside one another: each reads what stands in it, and so do those around it."""

_TAG = re.compile(r"<(/?)([a-zA-Z][\w:-]*)[^<>]*?(/?)>")
_CLOSED_BY_OTHERS = re.compile(
    r"area|base|br|col|colgroup|dd|dt|embed|hr|img|input|li|link|meta|option|p|param|path|rect|source|"
    r"tbody|td|tfoot|th|thead|tr|track|use|wbr"
)
_LISTS = ("dl", "table")
_NEVER_CLOSES_ITSELF = re.compile(
    r"dl|table|a|article|aside|b|blockquote|div|em|font|footer|form|header|i|main|nav|ol|section|small|span|strong|"
    r"sub|sup|ul"
)


def is_nested_too_deep(text: str) -> bool:
    """Say whether more elements stand inside one another than any page needs."""
    depth = lists = 0
    for is_closing, name, closes_itself in _TAG.findall(text):
        tag = name.lower()
        if _CLOSED_BY_OTHERS.fullmatch(tag) or (closes_itself and not _NEVER_CLOSES_ITSELF.fullmatch(tag)):
            continue
        step = -1 if is_closing else 1
        depth = max(depth + step, 0)
        lists = max(lists + step, 0) if tag in _LISTS else lists
        if depth > DEEPEST or lists > DEEPEST_LISTS:
            return True
    return False
