"""Numeric claims in an article: which figure is told of what, in which sentence.

Extraction is a grammar of quantities, an alias registry and scope words; it is deterministic. Whether a claim is true
is decided in `reconciling.claims`, never here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import polars as pl

from pipelines.parsing._claims_blocks import LONGEST_DOCUMENT, Block, Media, read_blocks
from pipelines.parsing._claims_exactness import Quantity
from pipelines.parsing._claims_focus import Surroundings, is_aside, rank_in_focus, subject_of
from pipelines.parsing._claims_metrics import Meaning, meaning_of
from pipelines.parsing._claims_patterns import code_figures, inherited_from_before, no_claims, special_quantities
from pipelines.parsing._claims_quantities import find_quantities
from pipelines.parsing._claims_repeats import link_repeats
from pipelines.parsing._claims_roles import (
    baseline_of,
    baselines_of,
    counted_names,
    is_exercise,
    is_hypothetical,
    is_premise,
    is_typical,
    is_universal,
    parts_of,
    quoted_out,
    workload_of,
)
from pipelines.parsing._claims_sentences import Sentence, read_sentences
from pipelines.parsing._claims_subjects import (
    Mention,
    find_mentions,
    kind_of,
    members_of,
    names_benchmark_suite,
    siblings_of,
)
from pipelines.parsing._claims_together import figures_beside, is_condition
from pipelines.parsing._claims_units import CANONICAL, named_unit

__all__ = [
    "CANONICAL",
    "CLAIM_COLUMNS",
    "LONGEST_DOCUMENT",
    "Extraction",
    "Media",
    "extract_claims",
    "kind_of",
    "members_of",
    "named_unit",
    "siblings_of",
]

MOST_QUOTED_WORDS = 15
"""Words of a document that a claim may quote."""

SENTENCES_AROUND = 30
"""Sentences of a paragraph before and after one in which its subject is looked for."""

CLAIM_COLUMNS: dict[str, Any] = {
    "claim": pl.Int64,
    "line": pl.Int64,
    "block": pl.String,
    "sentence_number": pl.Int64,
    "sentence": pl.String,
    "quote": pl.String,
    "subject": pl.String,
    "subject_kind": pl.String,
    "subject_from": pl.String,
    "metric": pl.String,
    "is_metric_explicit": pl.Boolean,
    "low": pl.Float64,
    "high": pl.Float64,
    "value": pl.String,
    "unit": pl.String,
    "unit_factor": pl.Float64,
    "dimension": pl.String,
    "half_unit": pl.Float64,
    "comparator": pl.String,
    "is_approximate": pl.Boolean,
    "is_vague": pl.Boolean,
    "scope": pl.String,
    "direction": pl.String,
    "density": pl.String,
    "precision": pl.String,
    "baseline": pl.String,
    "is_hypothetical": pl.Boolean,
    "is_typical": pl.Boolean,
    "is_universal": pl.Boolean,
    "beside": pl.String,
    "workload": pl.String,
    "parts": pl.List(pl.String),
    "mentions": pl.List(pl.String),
    "context": pl.List(pl.String),
    "statement": pl.String,
    "reason": pl.String,
    "repeat_of": pl.Int64,
}
"""Columns of the frame of claims.

`low` and `high` are in `unit`; times `unit_factor` they are in the canonical unit of `dimension`. `comparator` is
equal, more, less, maximum or reaches. `beside` holds the other figures of the sentence as a JSON object from metric
to what `figures_beside` says of them, `mentions` the names in the sentence, `context` those around it, nearest
first. `statement` is `claim` or `not_a_claim` with its `reason`.
"""

UNREAD_COLUMNS: dict[str, Any] = {"line": pl.Int64, "sentence": pl.String, "text": pl.String, "reason": pl.String}


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a document claims, and what of it could not be read."""

    claims: pl.DataFrame
    """One row per figure, `CLAIM_COLUMNS`."""
    unread: pl.DataFrame
    """One row per figure without a meaning: `line`, `sentence`, `text`, `reason`."""


@dataclass(slots=True)
class _Reader:
    """What has been read so far."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    unread: list[dict[str, Any]] = field(default_factory=list)
    sentence_number: int = 0
    before: list[Quantity] = field(default_factory=list)
    """Figures of the sentence before, in the same block."""
    focus: list[Mention] = field(default_factory=list)
    """Names that earlier sentences spoke of, the latest last."""
    document: tuple[Mention, ...] = ()
    """Products and parts of the whole document, the most frequent first."""


def extract_claims(text: str, media: Media = "text") -> Extraction:
    """Read the numeric claims of a document.

    Args:
        text: The document; at most `LONGEST_DOCUMENT` characters are read.
        media: `text`, `markdown` or `html`.

    Returns:
        Claims in reading order and the figures that could not be read. No text raises.
    """
    reader = _Reader()
    heading_lines: set[tuple[int, str]] = set()
    blocks = read_blocks(text, media)
    reader.document = _most_named(blocks)
    for block in blocks:
        if block.kind == "code":
            _read_code(reader, block)
            continue
        key = (block.line, block.text)
        if key not in heading_lines:
            heading_lines.add(key)
            _read_block(reader, block)
    if len(text) > LONGEST_DOCUMENT:
        reader.unread.append(
            {"line": None, "sentence": "", "text": "", "reason": f"only {LONGEST_DOCUMENT:,} characters are read"}
        )
    link_repeats(reader.rows)
    claims = pl.DataFrame(reader.rows, schema=CLAIM_COLUMNS, orient="row")
    return Extraction(claims, pl.DataFrame(reader.unread, schema=UNREAD_COLUMNS, orient="row"))


def _read_block(reader: _Reader, block: Block) -> None:
    reader.before = []
    headings = tuple(mention for heading in reversed(block.headings) for mention in find_mentions(heading))
    sentences = [(sentence, find_mentions(sentence.text)) for sentence in read_sentences(block.text)]
    spoken_of = [[m for m in names if not is_aside(sentence.text, m)] for sentence, names in sentences]
    for number, (sentence, mentions) in enumerate(sentences):
        reader.sentence_number += 1
        near_before = spoken_of[max(0, number - SENTENCES_AROUND) : number]
        near_after = spoken_of[number + 1 : number + 1 + SENTENCES_AROUND]
        around = Surroundings(
            before=tuple(m for names in reversed(near_before) for m in sorted(names, key=rank_in_focus)),
            after=tuple(m for names in near_after for m in names),
            headings=headings,
            earlier=tuple(reversed(reader.focus)),
            document=reader.document,
        )
        _read_sentence(reader, block, sentence, mentions, around)
    ranked = (m for names in spoken_of for m in sorted(names, key=rank_in_focus, reverse=True))
    reader.focus = [*reader.focus, *ranked][-60:]


def _most_named(blocks: list[Block]) -> tuple[Mention, ...]:
    found = [m for block in blocks if block.kind != "code" for m in find_mentions(block.text)]
    products = [m for m in found if m.kind in ("platform", "platform_family", "accelerator", "accelerator_family")]
    counts = Counter(m.name for m in products)
    first = {m.name: m for m in reversed(products)}
    ranked = sorted(counts, key=lambda name: (not first[name].kind.startswith("platform"), -counts[name]))
    return tuple(first[name] for name in ranked[:6])


def _read_sentence(
    reader: _Reader, block: Block, sentence: Sentence, mentions: list[Mention], around: Surroundings
) -> None:
    text = sentence.text
    quantities, bare = find_quantities(text, mentions)
    special = special_quantities(
        text, mentions, bare, block.headings[-1] if block.kind == "cell" and block.headings else ""
    ) + inherited_from_before(text, bare, reader.before)
    apart = no_claims(text)
    quantities = _without_overlap([*special, *quantities], [item.quantity for item in apart])
    meanings = _meanings(text, quantities, block, mentions)
    counted = counted_names(mentions, quantities) | baselines_of(text, quantities, mentions)
    for quantity, meaning in zip(quantities, meanings, strict=True):
        if quoted_out(text, quantity) or is_premise(text, quantity, meaning, quantities, meanings):
            continue
        row = _row(reader, block, sentence, quantity, meaning)
        subject, source = subject_of(text, quantity, meaning, mentions, counted, around)
        row |= _about(text, quantity, mentions, around, subject, source)
        row["beside"] = json.dumps(figures_beside(text, quantity, quantities, meanings), sort_keys=True)
        row |= {"workload": workload_of(quantity, mentions), "parts": parts_of(text, quantity, quantities, mentions)}
        reason = is_exercise(block.headings, meaning, subject) or is_condition(text, quantity, quantities)
        row |= {"statement": "not_a_claim" if reason else "claim", "reason": reason}
        reader.rows.append(row)
    for item in apart:
        row = _row(reader, block, sentence, item.quantity, Meaning(item.quantity.metric))
        reader.rows.append(row | {"statement": "not_a_claim", "reason": item.reason})
    _list_unread(reader, block, sentence, bare, quantities)
    reader.before = quantities or reader.before


def _without_overlap(quantities: Iterable[Quantity], apart: list[Quantity]) -> list[Quantity]:
    kept: list[Quantity] = []
    for quantity in quantities:
        if not any(quantity.start < other.end and other.start < quantity.end for other in (*kept, *apart)):
            kept.append(quantity)
    return sorted(kept, key=lambda quantity: quantity.start)


def _meanings(text: str, quantities: list[Quantity], block: Block, mentions: list[Mention]) -> list[Meaning]:
    label = " ".join(block.headings[-1:])
    meanings = [meaning_of(text, quantity, quantities, label) for quantity in quantities]
    trains = any(mention.kind == "model" for mention in mentions) or names_benchmark_suite(text)
    return [
        replace(meaning, metric="time_to_train") if trains and meaning.metric == "duration" else meaning
        for meaning in meanings
    ]


def _row(reader: _Reader, block: Block, sentence: Sentence, quantity: Quantity, meaning: Meaning) -> dict[str, Any]:
    shown = block.shown or sentence.written
    quote = block.shown if block.shown else _quote(sentence, quantity)
    return {
        "claim": len(reader.rows) + 1,
        "line": block.line,
        "block": block.kind,
        "sentence_number": reader.sentence_number,
        "sentence": shown,
        "quote": " ".join(quote.split()[:MOST_QUOTED_WORDS]),
        "metric": meaning.metric,
        "is_metric_explicit": meaning.is_explicit,
        "low": quantity.low,
        "high": quantity.high,
        "value": _value_text(quantity),
        "unit": quantity.unit.symbol,
        "unit_factor": quantity.unit.factor,
        "dimension": quantity.unit.dimension,
        "half_unit": quantity.half_unit,
        "comparator": quantity.comparator,
        "is_approximate": quantity.is_approximate,
        "is_vague": quantity.form == "vague",
        "scope": meaning.scope,
        "direction": meaning.direction,
        "density": meaning.density,
        "precision": meaning.precision,
        "beside": "{}",
        "workload": None,
        "parts": [],
        "mentions": [],
        "context": [],
    }


def _value_text(quantity: Quantity) -> str:
    if quantity.unit.dimension == "date":
        return date.fromordinal(int(quantity.low)).isoformat()
    low, high = (f"{value:.10g}" for value in (quantity.low, quantity.high))
    return low if low == high else f"{low}-{high}"


def _quote(sentence: Sentence, quantity: Quantity) -> str:
    """Return at most `MOST_QUOTED_WORDS` words around a figure, as written."""
    words = list(re.finditer(r"\S+", sentence.text))
    inside = [index for index, word in enumerate(words) if word.start() < quantity.end and word.end() > quantity.start]
    first, last = (inside[0], inside[-1]) if inside else (0, 0)
    room = max(0, MOST_QUOTED_WORDS - (last - first + 1))
    first = max(0, first - (room + 1) // 2)
    last = min(len(words) - 1, first + MOST_QUOTED_WORDS - 1)
    return sentence.quote(words[first].start(), words[last].end()) if words else ""


def _about(
    text: str, quantity: Quantity, mentions: list[Mention], around: Surroundings, subject: Mention | None, source: str
) -> dict[str, Any]:
    names = list(dict.fromkeys(mention.name for mention in mentions))
    return {
        "subject": subject.name if subject else None,
        "subject_kind": subject.kind if subject else None,
        "subject_from": source,
        "baseline": baseline.name if (baseline := baseline_of(text, quantity, mentions)) else None,
        "is_hypothetical": is_hypothetical(text, quantity),
        "is_typical": is_typical(text, quantity),
        "is_universal": is_universal(text, quantity),
        "mentions": names,
        "context": [name for name in around.names() if name not in names][:20],
    }


def _list_unread(
    reader: _Reader, block: Block, sentence: Sentence, bare: list[tuple[int, int]], quantities: list[Quantity]
) -> None:
    for start, end in bare:
        if not any(quantity.start <= start < quantity.end for quantity in quantities):
            reader.unread.append(
                {
                    "line": block.line,
                    "sentence": sentence.written,
                    "text": sentence.text[start:end],
                    "reason": "no unit or counted thing beside it",
                }
            )


def _read_code(reader: _Reader, block: Block) -> None:
    reader.sentence_number += 1
    sentence = Sentence(block.text, block.text, tuple(range(len(block.text))))
    figures = code_figures(block.text)
    for figure in figures:
        meaning = Meaning(
            figure.quantity.metric,
            scope=figure.level or "accelerator",
            precision=_precision_of(figure.note),
            density=_density_of(figure.note),
        )
        row = _row(reader, block, sentence, figure.quantity, meaning)
        row["quote"] = " ".join(block.text[figure.quantity.start : figure.quantity.end].split()[:MOST_QUOTED_WORDS])
        subject = figure.subject
        row |= {
            "subject": subject.name if subject else figure.level,
            "subject_kind": subject.kind if subject else ("level" if figure.level else None),
            "subject_from": "sentence",
            "mentions": [mention.name for mention in find_mentions(figure.note)],
            "is_hypothetical": False,
            "is_typical": False,
            "is_universal": False,
            "context": list(dict.fromkeys(mention.name for mention in reversed(reader.focus)))[:20],
            "statement": "not_a_claim" if figure.reason else "claim",
            "reason": figure.reason,
        }
        reader.rows.append(row)
    if not figures and re.search(r"\d{2,}", block.text):
        reader.unread.append(
            {
                "line": block.line,
                "sentence": block.text.strip(),
                "text": "",
                "reason": "line of code: inputs of a program are not claims",
            }
        )


def _precision_of(note: str) -> str | None:
    found = re.search(r"\b(FP4|FP8|BF16|FP16|TF32|FP32|FP64|INT8)\b", note, re.I)
    return found[1].upper() if found else None


def _density_of(note: str) -> str | None:
    found = re.search(r"\b(dense|sparse)\b", note, re.I)
    return found[1].lower() if found else None
