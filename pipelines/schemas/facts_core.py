"""The `core` tables of published specifications: facts as printed, and what their readers objected to.

Nothing here is resolved: two sources that disagree stay two facts. Which one is believed belongs in `facts_mart`.
"""

from __future__ import annotations

import dataframely as dy
import polars as pl

from pipelines.schemas.columns import key, number, text
from pipelines.schemas.core import SEVERITIES
from pipelines.schemas.spec_metrics import (
    BASES,
    CAPACITY_BASES,
    CONFIDENCES,
    DENSITIES,
    DIRECTIONS,
    ENGINES,
    PREFIXES,
    PUBLISHER_KINDS,
    SCOPES,
    SUBJECT_KINDS,
)

_SOURCE = "Source by its short name, such as nvidia-h100-page"
_ADDRESS = "Address of the source"


class SpecFacts(dy.Schema):
    """One figure of a specification as one source prints it; one row per subject, metric, source and locator.

    A figure stands as printed, in the unit of its quantity. What decides its meaning (dense or sparse, one direction
    or both, die or package, raw or usable) is in the qualifiers; null means that the source does not say.
    """

    subject = key("Canonical name of the part or platform; the text as printed where it names none that is known")
    metric = key("Quantity in the form that the source states, such as bf16_dense_teraflops")
    source = key(_SOURCE)
    locator = key("Where in the source: table, row, column or key path")
    subject_kind = text("What the subject is", nullable=False, one_of=SUBJECT_KINDS)
    subject_text = text("Subject as the source names it", nullable=False)
    quantity = text("What is measured whatever its form, such as bf16_teraflops", nullable=False)
    value = number("The figure in `unit`, in the form stated; null for a range and for words")
    value_low = number("Low end where the source gives a range")
    value_high = number("High end where the source gives a range")
    words = text("The value where it is not a number, such as HBM3e")
    unit = text("Unit of the figure")
    printed = text("Text as printed", nullable=False)
    printed_unit = text("Unit as printed or as the column or field names it")
    density = text("dense, or with structured sparsity", one_of=DENSITIES)
    engine = text("Matrix (tensor) or vector engine", one_of=ENGINES)
    direction = text("Bandwidth of one direction or of both together", one_of=DIRECTIONS)
    scope = text("What the figure is of, where it is not the subject as a whole", one_of=SCOPES)
    capacity_basis = text("Memory that software can use, or raw memory that is fitted", one_of=CAPACITY_BASES)
    prefix = text("Whether the printed unit counts in powers of ten or of two", one_of=PREFIXES)
    variant = text("Configuration that the figure holds for, where it is not the usual one")
    basis = text("How the source comes by the figure", nullable=False, one_of=BASES)
    publisher = text("Who publishes the source", nullable=False)
    publisher_kind = text("vendor of the subject, or third party", nullable=False, one_of=PUBLISHER_KINDS)
    confidence = text("Our trust in the figure as read: high, medium, low", nullable=False, one_of=CONFIDENCES)
    source_address = text(_ADDRESS, nullable=False)
    cited_address = text("Address that the source itself cites for the figure")
    read_via = text("Where the figure was read, where that is not the source itself")
    retrieved_at = text("When the bytes were read, ISO 8601 in UTC; null for the embedded registry")
    licence = text("Licence under which the publisher offers the content")
    defect = text("Kind of the finding about this very figure; a figure with one is never resolved to")
    note = text("What a reader must know to use the figure")
    source_sha256 = text("SHA-256 of the bytes, in hexadecimal")

    @dy.rule()
    def has_a_value(cls) -> pl.Expr:  # noqa: N805 - dataframely passes the schema
        """A fact states a number, a range or words."""
        return pl.any_horizontal(pl.col("value", "value_low", "value_high", "words").is_not_null())

    @dy.rule()
    def range_is_ordered(cls) -> pl.Expr:  # noqa: N805 - dataframely passes the schema
        """The low end of a range does not exceed its high end."""
        return (pl.col("value_low") <= pl.col("value_high")) | pl.col("value_low").is_null()


class SheetFindings(dy.Schema):
    """Something in a published specification that its reader could not read or objects to; one row per finding."""

    source = key(_SOURCE)
    path = key("File of the source; empty where the source is one file")
    kind = key("What was found, as a dotted slug such as capacity.bytes_in_gib_field")
    place = key("Row, column or key path; empty for the whole file")
    severity = text("error, warning or info", nullable=False, one_of=SEVERITIES)
    expected = text("What the reader expected")
    found = text("What stands there, at most 200 characters")
    explanation = text("One sentence that a person understands", nullable=False)
    source_address = text(_ADDRESS, nullable=False)
    source_sha256 = text("SHA-256 of the bytes, in hexadecimal")
