"""Grid tables and list tables of reStructuredText documents; cells of several lines keep their lines.

Roles and references are left as their text; directives other than list-table are none of ours.
"""

from __future__ import annotations

import re

from pipelines.parsing.spec_sheets.markdown_tables import decoded
from pipelines.parsing.spec_sheets.printed_table import Document, PrintedTable, notes_in, squared
from pipelines.parsing.spec_sheets.sheet import Reading

_BORDER = re.compile(r"\+(?:-+\+)+|\+(?:=+\+)+|\+(?:[-=]+\+)+")
_LIST_TABLE = re.compile(r"(?P<indent>\s*)\.\.\s+list-table::(?P<caption>.*)")
_OPTION = re.compile(r"\s*:(?P<name>[\w-]+):\s*(?P<value>.*)")
_ITEM = re.compile(r"(?P<indent>\s*)\*\s+-(?:\s(?P<text>.*))?")
_CELL = re.compile(r"(?P<indent>\s*)-(?:\s(?P<text>.*))?")


def read_rst(content: bytes, reading: Reading) -> Document:
    """Read the grid tables and list tables of a document, in the order in which they stand."""
    lines = [line.rstrip() for line in decoded(content, reading).expandtabs(8).splitlines()]
    tables: list[PrintedTable] = []
    place = 0
    while place < len(lines):
        head = _LIST_TABLE.fullmatch(lines[place])
        if head:
            end = _block_end(lines, place + 1, len(head["indent"]))
            table = _list_table(lines[place + 1 : end], f"table {len(tables) + 1}", head["caption"].strip())
        elif _BORDER.fullmatch(lines[place].strip()):
            end = place
            while end < len(lines) and lines[end].strip().startswith(("+", "|")):
                end += 1
            table = _grid_table([line.strip() for line in lines[place:end]], f"table {len(tables) + 1}")
        else:
            place += 1
            continue
        if table is not None:
            tables.append(table)
        place = max(end, place + 1)
    return Document(tuple(tables), notes_in(_plain(line) for line in lines))


def _block_end(lines: list[str], start: int, indent: int) -> int:
    """Return the line after the last one that is indented deeper than the directive."""
    end = start
    while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent):
        end += 1
    return end


def _list_table(lines: list[str], place: str, caption: str) -> PrintedTable | None:
    header_count = 0
    rows: list[list[list[str]]] = []
    cell: list[str] | None = None
    cell_indent = 0
    for line in lines:
        option = _OPTION.fullmatch(line)
        item, part = _ITEM.fullmatch(line), _CELL.fullmatch(line)
        if option and not rows:
            if option["name"] == "header-rows" and re.fullmatch(r"\d{1,3}", option["value"].strip()):
                header_count = int(option["value"])
        elif item and (not rows or len(item["indent"]) < cell_indent):
            cell = [item["text"] or ""]
            cell_indent = line.index("-", len(item["indent"]))
            rows.append([cell])
        elif part and rows and len(part["indent"]) == cell_indent:
            cell = [part["text"] or ""]
            rows[-1].append(cell)
        elif cell is not None:
            cell.append(line)
    texts = [[_joined(cell) for cell in row] for row in rows]
    return squared(place, texts, header_count, _plain(caption))


def _grid_table(lines: list[str], place: str) -> PrintedTable | None:
    """Return a grid table: cells between `|`, rows between borders; a border of `=` ends the header."""
    rows: list[list[str]] = []
    header_count = 0
    gathered: list[str] = []
    for line in lines:
        if not line.startswith("+"):
            gathered.append(line)
            continue
        if gathered:
            rows.append(_grid_row(gathered, _columns(lines[0])))
            gathered = []
        if "=" in line and not header_count:
            header_count = len(rows)
    return squared(place, rows, header_count)


def _columns(border: str) -> list[int]:
    return [place for place, character in enumerate(border) if character == "+"]


def _grid_row(lines: list[str], columns: list[int]) -> list[str]:
    """Return a row's cells; one that spans several columns stands in each of them."""
    cells: list[str] = []
    start = 0
    for end in range(1, len(columns)):
        is_border = all(len(line) <= columns[end] or line[columns[end]] == "|" for line in lines)
        if is_border or end == len(columns) - 1:
            text = _joined([line[columns[start] + 1 : columns[end]] for line in lines])
            cells += [text] * (end - start)
            start = end
    return cells


def _joined(lines: list[str]) -> str:
    """Return a cell's text: items of a list on lines of their own, wrapped lines joined."""
    texts: list[str] = []
    for line in (_plain(line) for line in lines):
        item = re.fullmatch(r"[*-]\s+(.*)", line)
        if item:
            texts.append(item[1])
        elif line and texts and not texts[-1].endswith(":"):
            texts[-1] = f"{texts[-1]} {line}"
        elif line:
            texts.append(line)
    return "\n".join(texts)


def _plain(text: str) -> str:
    text = re.sub(r":[\w:-]{1,40}:`([^`<>]{1,300}?)\s*(?:<[^<>`]{0,300}>)?`", r"\1", text)
    text = re.sub(r"`([^`<>]{1,300}?)\s*<[^<>`]{0,300}>`__?|``([^`]{1,300})``|\*\*([^*]{1,300})\*\*", r"\1\2\3", text)
    return " ".join(re.sub(r"\\(.)", r"\1", text).split())
