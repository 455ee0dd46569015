"""Tables and definition lists of HTML pages, with spans filled in and superscripts kept as marks.

Nothing is fetched or executed; text of scripts and styles is none of the page's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from pipelines.parsing.html_depth import is_nested_too_deep
from pipelines.parsing.spec_sheets.printed_table import Document, PrintedTable, notes_in, squared
from pipelines.parsing.spec_sheets.sheet import Reading

_MOST_SPAN = 1000
_SUPERSCRIPTS = str.maketrans("123456789", "¹²³⁴⁵⁶⁷⁸⁹")
_NOT_TEXT = ("script", "style", "template", "noscript", "svg")


def read_html(content: bytes, reading: Reading) -> Document:
    """Read the tables and definition lists of a page, in the order in which they stand."""
    text = _decoded(content, reading)
    if is_nested_too_deep(text):
        reading.report("text.nested_too_deep", "The page nests more elements than any page needs; it is not read.")
        return Document((), {})
    page = LexborHTMLParser(text)
    page.strip_tags(list(_NOT_TEXT))
    for mark in page.css("sup"):
        text = mark.text(strip=True)
        if re.fullmatch(r"[0-9,\s]{1,8}|[*†‡§]{1,3}", text):
            mark.replace_with(re.sub(r"[,\s0]", "", text).translate(_SUPERSCRIPTS))
    for line_break in page.css("br"):
        line_break.replace_with("\n")
    tables: list[PrintedTable] = []
    for node in page.css("table, dl"):
        place = f"table {len(tables) + 1}"
        table = _table(node, place) if node.tag == "table" else _definitions(node, place)
        if table is not None:
            tables.append(table)
    return Document(tuple(tables), notes_in(_lines(page)))


def _decoded(content: bytes, reading: Reading) -> str:
    declared = re.search(rb"charset=[\"']?([\w-]{1,40})", content[:2048], re.IGNORECASE)
    encoding = declared[1].decode("ascii") if declared else "utf-8"
    try:
        return content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        reading.report("text.not_decoded", f"The page is not in {encoding}; bytes that are not UTF-8 are replaced.")
        return content.decode("utf-8", errors="replace")


def _table(node: LexborNode, place: str) -> PrintedTable | None:
    rows: list[list[str]] = []
    hanging: dict[int, tuple[str, int]] = {}  # column to the text that spans down into it, and how many rows more
    header_count, is_header = 0, True
    for row in _own_rows(node):
        cells, hanging = _spread(row, hanging)
        rows.append(cells)
        is_header = is_header and _heads(row)
        header_count += is_header
    caption = node.css_first("caption")
    return squared(place, rows, header_count, _text(caption) if caption else "")


def _own_rows(node: LexborNode) -> Iterator[LexborNode]:
    """Give the rows of a table, not those of a table inside it."""
    for row in node.css("tr"):
        above = row.parent
        while above is not None and above.tag != "table":
            above = above.parent
        if above is not None and above.mem_id == node.mem_id:
            yield row


def _heads(row: LexborNode) -> bool:
    above = row.parent
    if above is not None and above.tag == "thead":
        return True
    cells = [cell for cell in row.iter() if cell.tag in ("td", "th")]
    return bool(cells) and all(cell.tag == "th" for cell in cells)


def _spread(row: LexborNode, hanging: dict[int, tuple[str, int]]) -> tuple[list[str], dict[int, tuple[str, int]]]:
    """Return a row's cells with spans filled in, and what spans on into the next row."""
    cells: list[str] = []
    below: dict[int, tuple[str, int]] = {}

    def take_hanging() -> None:
        while len(cells) in hanging:
            text, more = hanging[len(cells)]
            if more > 1:
                below[len(cells)] = (text, more - 1)
            cells.append(text)

    for cell in row.iter():
        if cell.tag not in ("td", "th"):
            continue
        take_hanging()
        text, down = _text(cell), _span(cell, "rowspan")
        for _ in range(_span(cell, "colspan")):
            if down > 1:
                below[len(cells)] = (text, down - 1)
            cells.append(text)
    take_hanging()
    return cells, below


def _span(cell: LexborNode, name: str) -> int:
    text = (cell.attributes.get(name) or "1").strip()
    return min(max(int(text), 1), _MOST_SPAN) if re.fullmatch(r"\d{1,6}", text) else 1


def _definitions(node: LexborNode, place: str) -> PrintedTable | None:
    """Return a definition list as a table of two columns without a header."""
    rows: list[list[str]] = []
    for entry in node.css("dt, dd"):
        if entry.tag == "dt":
            rows.append([_text(entry), ""])
        elif rows:
            rows[-1][1] = f"{rows[-1][1]}\n{_text(entry)}".strip()
    return squared(place, rows, 0)


def _text(node: LexborNode) -> str:
    lines = (" ".join(line.split()) for line in node.text(deep=True, separator="").split("\n"))
    return "\n".join(line for line in lines if line)


def _lines(page: LexborHTMLParser) -> Iterator[str]:
    """Give the paragraphs, list items and small print of a page, where notes stand."""
    for node in page.css("p, li, small, figcaption, caption, tfoot td, div, span"):
        text = _text(node)
        if 0 < len(text) <= 2000:
            yield from text.split("\n")
