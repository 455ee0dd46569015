"""Every spelling under which submitters, benchmarks and accelerators are published, with the one name of each.

Which spelling means what belongs in `parsing.names` and the tables beside it.
"""

from __future__ import annotations

import polars as pl

from pipelines.parsing.names import (
    accelerators_in,
    canonical_benchmark,
    canonical_submitter,
    is_known_submitter,
    listed_spellings,
)
from pipelines.parsing.quantities import is_absent
from pipelines.schemas.audits_mart import Names
from pipelines.schemas.findings import findings_frame


def list_names(systems: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Return `mart.names`.

    Args:
        systems: `core.systems`.
        runs: `core.runs`.
    """
    texts = pl.concat(
        [
            _listed(),
            _texts(systems, "submitter", "submitter_folder", "folder"),
            _texts(systems, "submitter", "submitter", "description"),
            _texts(systems, "accelerator", "accelerator_text", "description"),
            _texts(runs.unique("result_id", maintain_order=True), "benchmark", "benchmark", "folder"),
            _texts(runs.unique(["result_id", "submission_benchmark"]), "benchmark", "submission_benchmark", "log"),
        ]
    )
    nameless = [text for text in texts["published"].unique().to_list() if is_absent(text)]
    published = (
        texts.filter(~pl.col("published").is_in(nameless))
        .group_by("kind", "published")
        .agg(
            published_in=pl.col("place").unique().sort().str.join(", "),
            occurrence_count=pl.col("count").max(),
            rounds=pl.col("rounds").explode().drop_nulls().unique().sort().str.join(", "),
        )
        .sort("kind", "published")
    )
    named = [_named(kind, text) for kind, text in published.select("kind", "published").iter_rows()]
    names = pl.DataFrame(named, schema={"canonical": pl.String, "basis": pl.String}, orient="row")
    return Names.cast(pl.concat([published, names], how="horizontal").select(Names.column_names()))


def name_list_findings(names: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `mart.findings`: submitters that the registry does not list, each once.

    An accelerator that is not known is told by the parser, description by description.
    """
    new = names.filter((pl.col("kind") == "submitter") & (pl.col("basis") == "as_written"))
    return findings_frame(
        new.unique("canonical", maintain_order=True).with_columns(
            kind=pl.lit("names.new_submitter"),
            severity=pl.lit("info"),
            subject=pl.col("canonical"),
            explanation=pl.format(
                "{} is not in the registry of submitters, so other spellings of it are not joined.", "canonical"
            ),
            expected=pl.lit("an organisation of parsing/submitter_names.toml"),
            found=pl.col("published"),
            evidence=pl.format("mart.names: {}", "rounds"),
        )
    )


def _listed() -> pl.DataFrame:
    """Return the spellings of the registry; what it lists has been published in some round, if not in one of these."""
    spellings = [(kind, spelling) for kind, spelling, _ in listed_spellings()]
    frame = pl.DataFrame(spellings, schema={"kind": pl.String, "published": pl.String}, orient="row")
    return frame.unique(maintain_order=True).with_columns(
        place=pl.lit("registry"), count=pl.lit(0, dtype=pl.Int64), rounds=pl.lit(None, dtype=pl.List(pl.String))
    )


def _texts(frame: pl.DataFrame, kind: str, column: str, place: str) -> pl.DataFrame:
    return (
        frame.filter(pl.col(column).str.strip_chars() != "")
        .group_by(published=column)
        .agg(count=pl.len().cast(pl.Int64), rounds=pl.col("round").unique())
        .select(kind=pl.lit(kind), published="published", place=pl.lit(place), count="count", rounds="rounds")
    )


def _named(kind: str, text: str) -> tuple[str | None, str]:
    """Return the one name of a text and what it rests on."""
    if kind == "benchmark":
        name = canonical_benchmark(text)
        return name, "as_written" if name == text else "listed"
    if kind == "submitter":
        name = canonical_submitter(text)
        if all(is_known_submitter(piece) for piece in name.split(" + ")):
            return name, "joint" if " + " in name else "listed"
        return name, "as_written"
    parts = [entry.part for entry in accelerators_in(text)]
    if parts and all(parts):
        return " + ".join(part for part in parts if part), "listed"
    return None, "unknown"
