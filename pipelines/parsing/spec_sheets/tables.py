"""Specifications printed as tables, in whatever document: which axis names the parts, what each cell states.

The forms of documents are read in `html_tables`, `markdown_tables`, `rst_tables` and `pdf_tables`. What a page says
twice is two facts with two places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pipelines.parsing.spec_sheets import suspicions
from pipelines.parsing.spec_sheets.cells import is_missing
from pipelines.parsing.spec_sheets.figures import Figure, figures_in, fits, memory_type_in
from pipelines.parsing.spec_sheets.grid import read_csv
from pipelines.parsing.spec_sheets.html_tables import read_html
from pipelines.parsing.spec_sheets.labels import Label, form_of, is_form_alone, read_label
from pipelines.parsing.spec_sheets.markdown_tables import read_markdown
from pipelines.parsing.spec_sheets.pdf_tables import read_pdf
from pipelines.parsing.spec_sheets.printed_table import Document, PrintedTable, squared, without_marks
from pipelines.parsing.spec_sheets.rst_tables import read_rst
from pipelines.parsing.spec_sheets.sheet import Fact, Form, Reading, Sheet
from pipelines.schemas.spec_metrics import QUANTITIES

_SUPPORTED = frozenset({"v", "yes", "✓", "✔", "supported"})
_NONE = frozenset({"x", "no", "✗", "✘", "n/a", "-", "not applicable", "not supported", "none"})
_NO_SUBJECT = frozenset(
    {"improvement factor", "improvement", "notes", "note", "comments", "unit", "units", "delta", "ratio"}
)
_NAMES_PARTS = re.compile(r"(?:gpu|accelerator|chip|device|part)s?", re.IGNORECASE)
_GENERIC = re.compile(r"values?|specifications?|specs?|details?|description|.*\bvalues?", re.IGNORECASE)
_PRECISE_ROW = re.compile(
    r"(?P<number>[\d,.]+)\s+(?P<label>(?:mx|nv)?(?:fp|bf|tf|int)\d+\S*(?:\s+\w+)?)\s+(?P<unit>[TP]FL?OPS?|TOPS)",
    re.IGNORECASE,
)


def reader_of(read_document: Callable[[bytes, Reading], Document]) -> Callable[[Sheet], Reading]:
    """Return the reader of specifications for one form of document."""

    def read(sheet: Sheet) -> Reading:
        reading = Reading()
        document = read_document(sheet.content, reading)
        if not document.tables and not reading.findings:
            reading.report("document.no_table", "The document holds no table.", severity="error", expected="a table")
        for table in document.tables:
            _Tabled(sheet, document, table, reading).read()
        _object_to_memory(reading)
        return reading

    return read


def _read_csv_document(content: bytes, reading: Reading) -> Document:
    grid = read_csv(content, reading, label="")
    rows = [grid.header, *(tuple(row.cells.values()) for row in grid.rows)]
    table = squared("table 1", rows, 1)
    return Document((table,) if table else ())


TABLE_READERS = {
    "html_tables": reader_of(read_html),
    "markdown_tables": reader_of(read_markdown),
    "rst_tables": reader_of(read_rst),
    "pdf_tables": reader_of(read_pdf),
    "csv_table": reader_of(_read_csv_document),
}
"""The reader of each form of document."""


class _Tabled:
    """One table while it is read."""

    def __init__(self, sheet: Sheet, document: Document, table: PrintedTable, reading: Reading) -> None:
        self._sheet = sheet
        self._document = document
        self._table = table
        self._reading = reading
        self._headings = table.headings() or ("",) * len(table.rows[0])
        self._marked: list[str] = []

    def read(self) -> None:
        """Read the table along the axis that has more labels; say so where neither has any."""
        body = self._table.body()
        across = sum(read_label(heading) is not None for heading in self._headings[1:])
        down = sum(read_label(row[0]) is not None for row in body)
        if max(across, down) == 0:
            self._reading.report(
                "table.not_carried",
                f"{self._table.place} holds nothing that the registry has a metric for; it stays in the raw sheet.",
                place=self._table.place,
                severity="info",
                found="; ".join(" | ".join(row) for row in self._table.rows[:2]),
            )
            return
        if across > down:
            self._read_parts_in_rows(body)
        else:
            self._read_parts_in_columns(body)
        if self._marked:
            self._reading.report(
                "cell.mark_for_figure",
                f"{len(self._marked)} cells of {self._table.place} say only whether a part has something.",
                place=self._table.place,
                severity="info",
                expected="figures",
                found="; ".join(self._marked),
            )

    def _read_parts_in_rows(self, body: Sequence[tuple[str, ...]]) -> None:
        unit = _unit_in(self._headings[0])
        is_of_memory = any(re.search(r"\bmemory\b|\bhbm", heading, re.IGNORECASE) for heading in self._headings)
        labels = [
            read_label(heading) or (read_label(f"memory {heading}") if is_of_memory else None)
            for heading in self._headings
        ]
        naming = next((at for at, heading in enumerate(self._headings) if _NAMES_PARTS.fullmatch(heading)), 0)
        for row in body:
            for subject in self._subjects(row[naming]):
                for at, (heading, label, cell) in enumerate(zip(self._headings, labels, row, strict=True)):
                    if label is not None and (at not in (0, naming) or "accelerator_count" in label.quantities):
                        place = f"{self._table.place}, row {without_marks(row[0])}, column {without_marks(heading)}"
                        own = replace(label, unit=label.unit or unit)
                        self._read_cell(subject, own, cell, place, (row[naming], heading))

    def _read_parts_in_columns(self, body: Sequence[tuple[str, ...]]) -> None:
        unit = _unit_in(self._headings[0] if self._headings else "")
        columns = [(place, *self._column(heading)) for place, heading in enumerate(self._headings) if place]
        section = ""
        for row in body:
            if len(row) > 2 and len(set(row)) == 1:
                section = row[0]
                continue
            label = read_label(row[0]) or (read_label(f"{section} {row[0]}") if section else None)
            own_unit = _unit_in(row[0]) or next((row[place] for place, name, _ in columns if name == "unit"), None)
            for place, subject, form in columns:
                if subject is None or subject == "unit":
                    continue
                where = f"{self._table.place}, row {without_marks(row[0])}"
                if len(columns) > 1:
                    where += f", column {without_marks(self._headings[place])}"
                texts = (row[0], self._headings[place], section)
                if label is not None:
                    own = replace(label, unit=label.unit or own_unit or unit, form=_merged(label.form, form))
                    self._read_cell(subject, own, row[place], where, texts)
                else:
                    self._read_phrases(subject, row[place], where)

    def _column(self, heading: str) -> tuple[str | None, Form]:
        """Return the part that a column is of and the form that its heading adds; None for a column of no part."""
        parts = heading.split(" / ")
        named = [part for part in parts if not is_form_alone(part)]
        form = form_of(" ".join(part for part in parts if is_form_alone(part)))
        text = " / ".join(named)
        if without_marks(text).lower() in ("unit", "units"):
            return "unit", form
        return self._subject(text), form

    def _subjects(self, text: str) -> list[str]:
        """Return the parts that a cell lists, commas between; one of them with a `*` stands for none in particular."""
        parts = [text] if text in self._sheet.names else text.split(", ")
        return [part for one in parts if "*" not in one and (part := self._subject(one))]

    def _subject(self, text: str) -> str | None:
        """Return the name to look up: what the catalogue says of this text, the page's one subject, or the text."""
        bare = " ".join(without_marks(text).split())
        if bare in self._sheet.names or "*" in self._sheet.names:
            return self._sheet.names.get(bare, self._sheet.names.get("*")) or None
        if bare.lower() in _NO_SUBJECT:
            return None
        if (not bare or _GENERIC.fullmatch(bare)) and self._sheet.subject:
            return self._sheet.subject
        return bare or None

    def _read_cell(self, subject: str, label: Label, cell: str, place: str, texts: Sequence[str]) -> None:
        """Add the facts of a cell whose label is understood."""
        words = without_marks(cell).lower()
        if words in _SUPPORTED or words in _NONE or is_missing(words.strip("?")):
            if words in _SUPPORTED:
                self._marked.append(place)
            return
        notes = form_of(self._document.notes_of(cell, *texts))
        label = replace(label, form=_merged(label.form, form_of(cell), notes))
        if any(QUANTITIES[quantity].family == "words" for quantity in label.quantities):
            self._add_words(subject, label.quantities[0], without_marks(cell), place)
            return
        if "memory_bytes" in label.quantities and (kind := memory_type_in(cell)):
            self._add_words(subject, "memory_type", kind, place)
        figures = [figure for figure in figures_in(cell, label.unit) if _is_of_this(figure, label)]
        for quantity_set in _by_kind(label):
            own = [one for one in figures if fits(one, quantity_set)]
            self._add_figures(
                subject, quantity_set, label, own, f"{cell} {self._document.notes_of(cell, *texts)}", place
            )
        if not any(fits(figure, label.quantities) for figure in figures):
            self._report_unread(cell, label, figures, place)

    def _add_figures(
        self, subject: str, quantities: Sequence[str], label: Label, figures: Sequence[Figure], told: str, place: str
    ) -> None:
        forms = _forms(label, figures, told)
        if forms is None:
            self._reading.report(
                "cell.several_figures",
                f"{place} holds several figures, and nothing says which is which; none is taken.",
                place=place,
                expected="one figure, or words that tell them apart",
                found=told,
            )
            return
        for figure, form in zip(figures, forms, strict=True):
            for quantity in quantities:
                value = figure.value_in(quantity)
                if value is not None:
                    self._add(subject, quantity, figure, form, value, place)

    def _add(self, subject: str, quantity: str, figure: Figure, form: Form, value: float, place: str) -> None:
        is_rate = QUANTITIES[quantity].family == "compute"
        form = replace(
            form,
            density=form.density if is_rate else None,
            engine=form.engine if is_rate else None,
            direction=form.direction if QUANTITIES[quantity].family == "scale_up" else None,
            scope=None if QUANTITIES[quantity].family == "count" else form.scope,
            prefix="binary" if figure.is_binary else None,
        )
        told = f"{place} ({form.density})" if form.density and self._is_taken(subject, quantity, place) else place
        note = "The source says up to." if re.search(r"\bup to\s*$", figure.before, re.IGNORECASE) else None
        self._reading.facts.append(
            Fact(
                subject=subject,
                quantity=quantity,
                printed=figure.printed,
                locator=told,
                value=value,
                printed_unit=figure.unit,
                form=form,
                defect=self._defect(subject, quantity, value, place),
                note=note,
            )
        )

    def _is_taken(self, subject: str, quantity: str, place: str) -> bool:
        return any(
            fact.subject == subject and fact.quantity == quantity and fact.locator == place
            for fact in self._reading.facts
        )

    def _defect(self, subject: str, quantity: str, value: float, place: str) -> str | None:
        if quantity == "memory_bytes":
            return suspicions.capacity_against_name(subject, value / 1e9, place, self._reading)
        return None

    def _add_words(self, subject: str, quantity: str, words: str, place: str) -> None:
        fact = Fact(subject=subject, quantity=quantity, printed=words, locator=place, words=words)
        if words and fact not in self._reading.facts:
            self._reading.facts.append(fact)

    def _read_phrases(self, subject: str, cell: str, place: str) -> None:
        """Read a cell that lists rates in words, such as `667 BF16/FP16/TF32 TFLOPS`, a line each."""
        for line in cell.split("\n"):
            found = _PRECISE_ROW.match(line.strip())
            label = read_label(found["label"]) if found else None
            if found and label is not None:
                own = replace(label, unit=found["unit"], form=_merged(label.form, form_of(line)))
                self._read_cell(subject, own, found["number"], f"{place}, {found['label']}", (line,))

    def _report_unread(self, cell: str, label: Label, figures: Sequence[Figure], place: str) -> None:
        kind, expected = "cell.not_a_figure", "a figure with its unit"
        if figures and all(figure.unit is None for figure in figures):
            kind, expected = "cell.no_unit", "a unit in the cell, its label or the table's corner"
        elif figures:
            kind, expected = "cell.other_unit", f"a figure in a unit of {', '.join(label.quantities)}"
        explanation = f"{place} cannot be read as {' or '.join(label.quantities)}."
        self._reading.report(kind, explanation, place=place, severity="info", expected=expected, found=cell)


def _unit_in(text: str) -> str | None:
    """Return the unit that a corner or a label names, such as `Accelerator \\ TFLOPS`."""
    found = re.search(
        r"(?:\\|/|\()\s*([TPG]FL?OPS?(?:/s)?|TOPS|[GT]i?B(?:/s|ps)?|Gbps|Gb/s|W)\s*\)?\s*$", text, re.IGNORECASE
    )
    return found[1] if found else None


def _merged(*forms: Form) -> Form:
    """Return what the forms state together; of two that differ the first stands."""

    def first(name: str) -> object:
        return next((value for form in forms if (value := getattr(form, name)) is not None), None)

    announced = any(form.basis == "announced" for form in forms)
    return Form(
        # `first` looks a field of `Form` up by its name, so its type is lost on the way.
        density=first("density"),  # type: ignore[arg-type]
        engine=first("engine"),  # type: ignore[arg-type]
        direction=first("direction"),  # type: ignore[arg-type]
        scope=first("scope"),  # type: ignore[arg-type]
        basis="announced" if announced else "published",
    )


def _by_kind(label: Label) -> Iterator[tuple[str, ...]]:
    """Give the quantities of a label in sets that one figure can state: rates together, memory and bandwidth apart."""
    families = dict.fromkeys(QUANTITIES[quantity].family for quantity in label.quantities)
    for family in families:
        yield tuple(quantity for quantity in label.quantities if QUANTITIES[quantity].family == family)


def _is_of_this(figure: Figure, label: Label) -> bool:
    """Say whether a figure of an interconnect's cell is the scale-up's and not the host bus's."""
    if "scale_up_gigabytes_per_second" not in label.quantities:
        return True
    return re.search(r"\bpcie?\b|\bhost\b|\bethernet\b", figure.before, re.IGNORECASE) is None


def _forms(label: Label, figures: Sequence[Figure], told: str) -> list[Form] | None:
    """Return the form of each figure of one kind; None where there are several and nothing tells them apart."""
    own = [_merged(form_of(figure.after), form_of(figure.before)) for figure in figures]
    if len(figures) < 2 or len({(form.density, form.direction) for form in own}) == len(figures):
        return [_merged(form, label.form) for form in own]
    order = re.search(r"\b(sparse|dense)\b\s*(?:\||/|,|and)\s*\b(sparse|dense)\b", told, re.IGNORECASE)
    is_rate = all(QUANTITIES[quantity].family == "compute" for quantity in label.quantities)
    if order and is_rate and len(figures) == 2 and order[1].lower() != order[2].lower():
        # The pattern matches the words of the literal only.
        return [replace(label.form, density=word.lower()) for word in order.groups()]  # type: ignore[arg-type]
    return None


def _object_to_memory(reading: Reading) -> None:
    """Hold each part's memory bandwidth against its memory."""
    sizes = {fact.subject: fact.value for fact in reading.facts if fact.quantity == "memory_bytes" and fact.value}
    for place, fact in enumerate(reading.facts):
        size = sizes.get(fact.subject)
        if fact.quantity == "memory_bandwidth_gigabytes_per_second" and size and fact.value is not None:
            defect = suspicions.memory_read_too_often(fact.value * 1e9, size, fact.locator, reading)
            if defect:
                reading.facts[place] = replace(fact, defect=defect)
