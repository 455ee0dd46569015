"""Pipe tables of Markdown documents, links and emphasis taken off, cells that state nothing left as they are."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from pipelines.parsing.spec_sheets.printed_table import Document, PrintedTable, notes_in, squared
from pipelines.parsing.spec_sheets.sheet import Reading

_DELIMITER = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*")
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")


def read_markdown(content: bytes, reading: Reading) -> Document:
    """Read the pipe tables of a document, in order; those inside fenced code are code."""
    lines = decoded(content, reading).splitlines()
    tables: list[PrintedTable] = []
    for header, body in _tables(lines):
        cells = [_cells(line) for line in (*header, *body)]
        table = squared(f"table {len(tables) + 1}", cells, len(header))
        if table is not None:
            tables.append(table)
    return Document(tuple(tables), notes_in(_plain(line) for line in lines))


def decoded(content: bytes, reading: Reading) -> str:
    """Return text that should be UTF-8; bytes that are not are replaced, with a finding."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"byte {error.start}"
        reading.report("text.not_utf8", f"{place} is not UTF-8; what is not is replaced.", place=place)
        return content.decode("utf-8-sig", errors="replace")


def _tables(lines: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Give each table's header and the lines of its body; some write a header over several lines."""
    fence: str | None = None
    place = 0
    while place < len(lines):
        line = lines[place]
        mark = _FENCE.match(line)
        if mark:
            fence = None if fence is not None and mark[1].startswith(fence) else fence or mark[1]
        elif fence is None and "|" in line and place + 1 < len(lines) and _is_delimiter(lines[place + 1], line):
            end = place + 2
            while end < len(lines) and "|" in lines[end] and lines[end].strip():
                end += 1
            first = place
            while first and lines[first - 1].count("|") > 1 and len(_cells(lines[first - 1])) == len(_cells(line)):
                first -= 1
            yield lines[first : place + 1], lines[place + 2 : end]
            place = end
            continue
        place += 1


def _is_delimiter(line: str, header: str) -> bool:
    return len(line) < 2000 and _DELIMITER.fullmatch(line) is not None and len(_cells(line)) == len(_cells(header))


def _cells(line: str) -> list[str]:
    text = line.strip()
    text = text[1:] if text.startswith("|") else text
    text = text[:-1] if text.endswith("|") and not text.endswith(r"\|") else text
    return [_plain(cell.replace(r"\|", "|")) for cell in re.split(r"(?<!\\)\|", text)]


def _plain(text: str) -> str:
    """Return a cell without what only dresses it: links, emphasis, code marks, breaks, entities."""
    text = re.sub(r"!?\[([^\[\]]{0,500})\]\([^()\s]{0,1000}\)", r"\1", text)
    text = re.sub(r"<br\s*/?>", " ", text, flags=re.IGNORECASE)
    text = re.sub(r"<sup>\s*(\d)\s*</sup>", lambda match: "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(match[1])], text, flags=re.IGNORECASE)
    text = re.sub(r"<[^<>]{1,200}>", "", text)
    text = re.sub(r"\*\*([^*]{1,500})\*\*|__([^_]{1,500})__|`([^`]{1,500})`", r"\1\2\3", text)
    return " ".join(html.unescape(re.sub(r"\\([\\|*_<>\[\]-])", r"\1", text)).split())
