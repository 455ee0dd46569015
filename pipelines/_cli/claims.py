"""`rackrecon claims`: what a document claims, each figure with its verdict, what it rests on and how to say it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipelines._cli.lean import without_sqlalchemy
from pipelines._cli.messages import Exit, UsageError, say
from pipelines._cli.rows import Format, visible, write_rows

with without_sqlalchemy():
    import polars as pl

    from pipelines.lake.tables import Lake
    from pipelines.parsing.claims import Media, extract_claims
    from pipelines.publishing.age import age_line
    from pipelines.reconciling.claims import CHECKED_AGAINST, SCORED, Inputs, check_claims
    from pipelines.settings import Settings
    from pipelines.sources.documents import Document, read_document
    from pipelines.sources.registry import registry_frames

STDIN = "-"
_NAME_OF_STDIN = "stdin"
_WIDEST_VERDICT = len("not_checkable")
_BELOW = " " * (_WIDEST_VERDICT + 4)


def check_claims_of(place: str, media: Media | None, form: Format) -> int:
    """Print every claim of the document at `place` with its verdict and return the exit code."""
    lake = Lake.at(Settings.from_environment().lake)
    inputs = _inputs(lake)
    document = _read(place, media)
    say(_age(lake))
    extraction = extract_claims(document.text, document.media)
    claims = check_claims(extraction.claims, inputs)
    notes = list(dict.fromkeys(claims["footnote"].drop_nulls()))
    if form is Format.table:
        print("\n".join(_lines(claims, notes, "block" if document.media == "html" else "line")))
        sys.stdout.flush()
    else:
        write_rows(claims, form)
        for note in notes:
            say(f"footnote: {note}")
    for row in extraction.unread.iter_rows(named=True):
        say(_unread(row))
    if document.is_guessed:
        say(f"not UTF-8 and no encoding stated: read as {document.encoding}")
    say(_summary(claims, extraction.unread.height))
    say(SCORED.sentence())
    return int(Exit.fine)


def _inputs(lake: Lake) -> Inputs:
    """Return what claims are checked against: the tables of the last refresh, and what contains what."""
    if not lake.partitions("mart.results"):
        raise UsageError("nothing to check claims against yet; `rackrecon refresh` makes it")
    containments = registry_frames()["registry.containments"]
    return {"registry.containments": containments, **{name: lake.read(name) for name in CHECKED_AGAINST}}


def _read(place: str, media: Media | None) -> Document:
    with ExitStack() as stack:
        if place == STDIN:
            return read_document(_NAME_OF_STDIN, sys.stdin.buffer, media)
        if not Path(place).exists():
            raise UsageError(f"{place}: no such file; - reads from stdin")
        if Path(place).is_dir():
            raise UsageError(f"{place}: a folder; name one document")
        try:
            stream = stack.enter_context(Path(place).open("rb"))
        except OSError as error:
            raise UsageError(f"{place}: cannot be opened: {error.strerror}") from error
        return read_document(place, stream, media)


def _age(lake: Lake) -> str:
    read_at = dict(lake.read("core.sources").select("round", "retrieved_at").iter_rows())
    return age_line(read_at, datetime.now(UTC).date(), lake.read("core.known_rounds")["round"])


def _lines(claims: pl.DataFrame, notes: list[str], place: str) -> Iterator[str]:
    """Give each sentence with the verdicts on its figures below it, then the footnotes that they refer to."""
    sentence: tuple[int, str] | None = None
    for row in claims.iter_rows(named=True):
        if (row["line"], row["sentence"]) != sentence:
            sentence = row["line"], row["sentence"]
            yield f"{place} {row['line']}  {_on_one_line(row['sentence'])}"
        yield from _verdict(row, notes)
        yield ""
    for number, note in enumerate(notes, 1):
        yield f"[{number}] {_on_one_line(note)}"


def _verdict(row: dict[str, Any], notes: list[str]) -> Iterator[str]:
    told = f"{_on_one_line(row['value'])} {_on_one_line(row['unit'] or '')}".rstrip()
    about = ", ".join(_on_one_line(row[name]) for name in ("subject", "metric", "scope") if row[name])
    yield f"  {row['verdict']:<{_WIDEST_VERDICT}}  claim {row['claim']}: {told} ({about})"
    if row["repeat_of"] is not None:
        yield f"{_BELOW}told before: claim {row['repeat_of']}"
        return
    yield f"{_BELOW}{_on_one_line(row['explanation'])}"
    for name, text in (("rests on", row["evidence"]), ("say", row["rewording"])):
        if text:
            yield f"{_BELOW}{name}: {_on_one_line(text)}"
    if row["footnote"]:
        yield f"{_BELOW}footnote [{notes.index(row['footnote']) + 1}]"


def _unread(row: dict[str, Any]) -> str:
    place = f"line {row['line']}: " if row["line"] is not None else ""
    figure = f"{row['text']}: " if row["text"] else ""
    sentence = f": {row['sentence']}" if row["sentence"] else ""
    return _on_one_line(f"not read: {place}{figure}{row['reason']}{sentence}")


def _summary(claims: pl.DataFrame, unread: int) -> str:
    first = claims.filter(pl.col("repeat_of").is_null())
    counts = dict(first.group_by("verdict").len().sort("len", "verdict", descending=[True, False]).iter_rows())
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "no claim"
    repeats = claims.height - first.height
    return f"{told}; {repeats} told again; {unread} not read"


def _on_one_line(text: str) -> str:
    return visible(" ".join(text.split()))
