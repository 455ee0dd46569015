"""A document as blocks: headings, paragraphs, list items, table cells, lines of code.

What a block says belongs in the modules that read it; here text is only cut up, and each block knows its place.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from selectolax.lexbor import LexborHTMLParser, LexborNode

from pipelines.parsing.html_depth import is_nested_too_deep

Media = Literal["text", "markdown", "html"]
Kind = Literal["heading", "paragraph", "item", "cell", "code"]

LONGEST_DOCUMENT = 2_000_000
"""Characters of a document that are read; the rest is reported as not read."""


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a document that is read on its own."""

    kind: Kind
    text: str
    line: int
    """Line of the document, from 1; of HTML the order of the block."""
    headings: tuple[str, ...] = ()
    """Headings above it, the nearest last."""
    shown: str = ""
    """What a reader sees, where `text` was put together: the whole row of a table cell."""


def read_blocks(text: str, media: Media) -> list[Block]:
    """Cut a document into blocks.

    Args:
        text: The document, at most `LONGEST_DOCUMENT` characters of which are read.
        media: `text` (pipe tables and code are recognised in it too), `markdown` or `html`.

    Returns:
        Blocks in reading order, none of them empty.
    """
    text = text[:LONGEST_DOCUMENT]
    blocks = _html_blocks(text) if media == "html" else _line_blocks(text, media)
    return [block for block in blocks if block.text.strip()]


_FENCE = re.compile(r"^\s*(```|~~~)")
_PIPE_ROW = re.compile(r"^\s*\|(.+)\|\s*$")
_RULE_ROW = re.compile(r"^[\s|:+-]+$")
_MARK = re.compile(r"^\s*(?:[-*•–◦]|\d{1,2}[.)])\s+")
_MARKDOWN_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_STRONG_CODE = re.compile(
    r":=|\{\s*$|^\s*[})\]]+[;,]?\s*$|^\s*//|^\s*#include|\);?\s*$(?<=;)|==|->\s*\{|^\s*(?:package|import|func|def|class|const|var|"
    r"struct|return)\b[^.]*[({\"=:]|^\s*(?:package|import) \w+\s*$|^\s*[\w.]+ {2,}[\w.]+(?: *//.*)?$|^\s*\{\".*\},?\s*$"
)
_WEAK_CODE = re.compile(r"^(?:\t| {4,})|[;{}]\s*$|^\s*\w+\s*=\s*\S")
_TERMINAL = re.compile(r"[.!?:;…”\"')\]]\s*$")


def _line_blocks(text: str, media: Media) -> Iterator[Block]:
    lines = text.splitlines()
    is_code = _code_lines(lines)
    headings: list[str] = []
    lead = ""
    number = 0
    while number < len(lines):
        line = lines[number]
        place = number + 1
        if _FENCE.match(line) or not line.strip():
            number += 1
        elif is_code[number]:
            yield Block("code", line, place, tuple(headings[-2:]))
            number += 1
        elif _PIPE_ROW.match(line):
            rows, number = _pipe_table(lines, number)
            yield from _table_blocks(rows, tuple(headings[-2:]))
        elif (found := _MARKDOWN_HEADING.match(line)) is not None:
            headings = [*headings[-3:], _plain_markdown(found[2])]
            yield Block("heading", headings[-1], place, tuple(headings[-3:-1]))
            number += 1
        else:
            joined, number = _joined(lines, number, is_code)
            block = _prose_block(joined, place, tuple(headings[-2:]), media)
            if block.kind == "heading":
                headings = [*headings[-3:], block.text]
            elif block.kind == "item" and lead:
                block = replace(block, headings=(*block.headings[-1:], lead))
            lead = lead if block.kind == "item" else (block.text if block.text.endswith(":") else "")
            yield block


def _prose_block(joined: str, place: int, headings: tuple[str, ...], media: Media) -> Block:
    mark = _MARK.match(joined)
    body = joined[mark.end() :] if mark else joined
    body = _plain_markdown(body) if media == "markdown" else body
    if mark:
        return Block("item", body, place, headings)
    is_heading = len(body) <= 90 and not _TERMINAL.search(body) and ":" not in body
    return Block("heading" if is_heading else "paragraph", body, place, headings)


def _joined(lines: list[str], number: int, is_code: list[bool]) -> tuple[str, int]:
    """Return a paragraph that was wrapped over lines as one text, and the number of the line after it."""
    parts = [lines[number].strip()]
    number += 1
    while number < len(lines) and _continues(parts[-1], lines[number]) and not is_code[number]:
        parts.append(lines[number].strip())
        number += 1
    return " ".join(parts), number


def _continues(line: str, following: str) -> bool:
    text = following.strip()
    if not text or _MARK.match(following) or _PIPE_ROW.match(following) or text[0] in "#>`|":
        return False
    return len(line) >= 60 and not re.search(r"[.!?:]\s*$", line) and (text[0].islower() or text[0] in "(0123456789~")


def _code_lines(lines: list[str]) -> list[bool]:
    """Say of each line whether it is code: fenced, or of the look of code and beside other such lines."""
    strong = [bool(_STRONG_CODE.search(line)) and not _PIPE_ROW.match(line) for line in lines]
    result = [False] * len(lines)
    fenced = False
    for number, line in enumerate(lines):
        if _FENCE.match(line):
            fenced = not fenced
        result[number] = fenced
    known = [number for number, is_strong in enumerate(strong) if is_strong and not result[number]]
    for first, last in _runs(known, gap=6):
        if len([number for number in known if first <= number <= last]) >= 3:
            for number in range(first, last + 1):
                result[number] = strong[number] or bool(_WEAK_CODE.search(lines[number])) or not lines[number].strip()
    return result


def _runs(numbers: list[int], *, gap: int) -> Iterator[tuple[int, int]]:
    start = 0
    for index in range(1, len(numbers) + 1):
        if index == len(numbers) or numbers[index] - numbers[index - 1] > gap:
            yield numbers[start], numbers[index - 1]
            start = index


def _plain_markdown(text: str) -> str:
    # Bounded, and no bracket inside brackets: a document of nothing but brackets is read in linear time.
    text = re.sub(r"!\[[^\[\]]*\]\([^)]{0,500}\)", "", text)
    text = re.sub(r"\[([^\[\]]*)\]\([^)]{0,500}\)", r"\1", text)
    text = re.sub(r"\[\^?\d{1,3}\]", "", text)
    text = re.sub(r"<[^<>]{1,200}>", "", text)
    text = re.sub(r"(\*\*|__|`)", "", text)
    return html.unescape(re.sub(r"(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)", "", text))


@dataclass(frozen=True, slots=True)
class _Row:
    cells: tuple[str, ...]
    line: int
    is_header: bool = False


def _pipe_table(lines: list[str], number: int) -> tuple[list[_Row], int]:
    rows: list[_Row] = []
    while number < len(lines) and (found := _PIPE_ROW.match(lines[number])):
        if _RULE_ROW.match(lines[number]):
            rows = [replace(row, is_header=True) for row in rows]
        else:
            cells = tuple(_plain_markdown(cell).strip() for cell in found[1].split("|"))
            rows.append(_Row(cells, number + 1))
        number += 1
    return rows, number


def _table_blocks(rows: list[_Row], headings: tuple[str, ...]) -> Iterator[Block]:
    """Give each cell with a figure as a text of its own: header, label of the row, and the cell."""
    header: tuple[str, ...] = ()
    for row in rows:
        holds_figures = any(re.search(r"(?<![A-Za-z\d.-])\d", cell) for cell in row.cells[1:])
        if row.is_header and not (holds_figures and re.search("[a-z]", row.cells[0], re.IGNORECASE) and not header):
            header = row.cells
            continue
        label = row.cells[0]
        shown = "| " + " | ".join(row.cells) + " |"
        for index, cell in enumerate(row.cells):
            title = header[index] if index < len(header) else ""
            if index == 0:
                if re.search(r"\d", cell):
                    yield Block("heading", cell, row.line, headings, shown)
                continue
            if re.search(r"\d", cell):
                text = f"{label}: {cell}"
                yield Block("cell", text, row.line, (*headings, *((title,) if title else ())), shown)


_SKIPPED = frozenset(
    {
        "script",
        "style",
        "noscript",
        "nav",
        "footer",
        "aside",
        "svg",
        "form",
        "button",
        "head",
        "template",
        "iframe",
        "select",
    }
)
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BREAKS = frozenset(
    {
        "p",
        "div",
        "section",
        "article",
        "main",
        "ul",
        "ol",
        "dl",
        "dd",
        "blockquote",
        "figure",
        "figcaption",
        "header",
        "body",
        "html",
    }
)


@dataclass(slots=True)
class _Page:
    """What has been read of a page so far."""

    blocks: list[Block] = field(default_factory=list)
    headings: tuple[str, ...] = ()
    text: list[str] = field(default_factory=list)
    term: str = ""

    def flush(self, kind: Kind = "paragraph") -> None:
        """End the block that is being read."""
        text = re.sub(r"\[\d{1,3}\]", "", " ".join("".join(self.text).split()))
        self.text.clear()
        if not text:
            return
        self.blocks.append(Block(kind, text, len(self.blocks) + 1, self.headings[-2:]))
        if kind == "heading":
            self.headings = (*self.headings[-2:], text)


def _html_blocks(text: str) -> list[Block]:
    if is_nested_too_deep(text):
        text = re.sub(r"<[^<>]{0,1000}>", " ", text)
    page = _Page()
    body = LexborHTMLParser(text).body
    if body is not None:
        _read_children(body, page)
        page.flush()
    return page.blocks


def _read_children(node: LexborNode, page: _Page) -> None:
    """Read a tree without recursion, since a hostile page can nest deeper than the stack."""
    stack: list[tuple[LexborNode, bool]] = [(child, False) for child in reversed(_children(node))]
    while stack:
        child, is_leaving = stack.pop()
        tag = child.tag or ""
        if is_leaving:
            _leave(tag, page)
        elif tag == "-text":
            page.text.append(child.text_content or "")
        elif tag == "table":
            page.flush()
            page.blocks += _html_table(child, page)
        elif tag == "pre":
            page.flush()
            page.blocks += [
                Block("code", line, len(page.blocks) + 1, page.headings[-2:]) for line in _text(child).splitlines()
            ]
        elif tag == "sup":
            page.text.append(_superscript(child, page))
        elif tag not in _SKIPPED and not tag.startswith("-"):
            _enter(tag, page)
            stack.append((child, True))
            stack.extend((grandchild, False) for grandchild in reversed(_children(child)))


def _enter(tag: str, page: _Page) -> None:
    if tag in _BREAKS or tag in _HEADINGS or tag in {"li", "dt"} or tag == "br":
        page.flush()


def _leave(tag: str, page: _Page) -> None:
    if tag in _HEADINGS:
        page.flush("heading")
    elif tag == "li":
        page.flush("item")
    elif tag == "dt":
        page.term = " ".join("".join(page.text).split())
        page.text.clear()
    elif tag == "dd":
        page.text.insert(0, f"{page.term}: " if page.term else "")
        page.flush("item")
    elif tag in _BREAKS:
        page.flush()


def _superscript(node: LexborNode, page: _Page) -> str:
    """Return an exponent as `^15`; a footnote mark gives nothing."""
    digits = _text(node).strip()
    before = "".join(page.text[-2:]).rstrip()
    is_power = re.fullmatch(r"[-−+]?\d{1,3}", digits) and re.search(r"[×x*]\s*10$|(?<!\d)10$|[ms]$", before)
    return f"^{digits}" if is_power else ""


def _html_table(table: LexborNode, page: _Page) -> list[Block]:
    rows: list[_Row] = []
    for row in table.css("tr"):
        cells: list[str] = []
        for cell in row.css("th, td"):
            span = cell.attributes.get("colspan") or "1"
            width = min(int(span), 50) if re.fullmatch(r"[0-9]{1,6}", span) else 1
            for note in cell.css("sup"):
                note.decompose()
            cells += [" ".join(_text(cell).split())] * width
        if cells:
            is_header = not row.css("td")
            rows.append(_Row(tuple(cells), len(page.blocks) + len(rows) + 1, is_header))
    return list(_table_blocks(rows, page.headings[-2:]))


def _children(node: LexborNode) -> list[LexborNode]:
    return list(node.iter(include_text=True))


def _text(node: LexborNode) -> str:
    return node.text(deep=True) or ""
