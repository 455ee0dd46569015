"""What a description says of its part, held against the facts on that part, and where wrong words were copied from.

Whether one memory or one link fits a part is judged in `figures` and `links`; counts in names belong in `name_counts`.
"""

from __future__ import annotations

import polars as pl

from pipelines.reconciling._fact_forms import as_text
from pipelines.reconciling.figures import judge_memory
from pipelines.reconciling.links import judge_links
from pipelines.schemas.audits_mart import DescriptionAudit
from pipelines.schemas.findings import findings_frame

WRONG_MEMORY = ("another_part", "sum_of_node", "host_memory", "too_large", "contradicted")
WRONG_LINK = ("another_generation", "another_part", "contradicted")

_MEMORY, _LINK = "accelerator_memory_text", "accelerator_interconnect_text"
_KNOWN_RATE = "known_link_gigabytes_per_second_per_direction"
_KEYS = ["round", "submitter_folder", "system"]
_MEMORY_WORDS = {
    "another_part": "and another part has just that",
    "sum_of_node": "which all accelerators of a node have together",
    "host_memory": "and the host has just that",
    "too_large": "more than the part can hold",
    "contradicted": "and no way to count explains it",
}


def audit_descriptions(
    systems: pl.DataFrame, facts: pl.DataFrame, subjects: pl.DataFrame, containments: pl.DataFrame
) -> pl.DataFrame:
    """Return `mart.description_audit`.

    Args:
        systems: `core.systems`.
        facts, subjects, containments: as in `facts.reconcile_facts`.
    """
    per_node = pl.col("accelerators_per_node")
    is_sum = pl.col("scale_up_rate_scope") == "aggregate"
    rate = pl.col("scale_up_gigabytes_per_second")
    stated = systems.with_columns(
        subject="accelerator",
        memory_bytes="accelerator_memory_bytes",
        link_text=_LINK,
        link_scope="scale_up_rate_scope",
        link_gigabytes_per_second=pl.when(is_sum & (per_node > 0)).then(rate / per_node).when(~is_sum).then(rate),
    )
    judged = judge_links(judge_memory(stated, facts, subjects, containments), facts, subjects, containments)
    copied = _with_copies(judged)
    audited = copied.with_columns(explanation=_explanation())
    return DescriptionAudit.cast(audited.select(DescriptionAudit.column_names()).sort(_KEYS))


def description_findings(audit: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `mart.findings`, one for each system whose memory or link is not that of its part."""
    memory, link = pl.col("memory_verdict").is_in(WRONG_MEMORY), pl.col("link_verdict").is_in(WRONG_LINK)
    known = pl.concat_str(
        pl.when(memory).then(pl.format("{} GB", _in_gigabytes("known_memory_bytes"))),
        pl.when(link).then(
            pl.concat_str(
                pl.format("NVLink {}", "known_link_generation"),
                pl.format("{} GB/s per direction", as_text(pl.col(_KNOWN_RATE))),
                separator=", ",
                ignore_nulls=True,
            )
        ),
        separator="; ",
        ignore_nulls=True,
    )
    found = pl.concat_str(pl.when(memory).then(_MEMORY), pl.when(link).then(_LINK), separator="; ", ignore_nulls=True)
    what = (
        pl.when(memory & link)
        .then(pl.lit("memory_and_link"))
        .when(memory)
        .then(pl.lit("memory"))
        .otherwise(pl.lit("link"))
    )
    return findings_frame(
        audit.filter(memory | link).with_columns(
            kind=pl.format("description.{}_not_of_part", what),
            severity=pl.lit("warning"),
            subject=pl.concat_str(_KEYS, separator="/"),
            expected=known,
            found=found,
            evidence=pl.col("source_path"),
        )
    )


def _with_copies(judged: pl.DataFrame) -> pl.DataFrame:
    """Name, for a description that is wrong, one of the same round with another part that holds the same words.

    One of the same submitter goes before others; one that says the same of memory and link goes before one that
    shares either.
    """
    memory, link = pl.col("memory_verdict").is_in(WRONG_MEMORY), pl.col("link_verdict").is_in(WRONG_LINK)
    wrong = judged.filter(memory | link).select(
        *_KEYS, "accelerator", _MEMORY, _LINK, wrong_memory=memory, wrong_link=link
    )
    others = judged.filter(~memory & ~link).select(
        "round", other_folder="submitter_folder", other="system", part="accelerator", memory=_MEMORY, link=_LINK
    )
    same_memory = pl.col("wrong_memory") & (pl.col(_MEMORY) == pl.col("memory")).fill_null(False)
    same_link = pl.col("wrong_link") & (pl.col(_LINK) == pl.col("link")).fill_null(False)
    source = (
        wrong.join(others, on="round", how="inner", maintain_order="left_right")
        .filter((pl.col("part") != pl.col("accelerator")) & (same_memory | same_link))
        .sort(
            *_KEYS,
            pl.col("other_folder") != pl.col("submitter_folder"),
            -(same_memory.cast(pl.Int8) + same_link.cast(pl.Int8)),
            "other_folder",
            "other",
        )
        .unique(_KEYS, keep="first", maintain_order=True)
        .select(*_KEYS, same_text_as=pl.format("{}/{}", "other_folder", "other"), same_text_part="part")
    )
    return judged.join(source, on=_KEYS, how="left", maintain_order="left")


def _explanation() -> pl.Expr:
    """Return a sentence on what does not fit the part, and where the words may come from; null where all fits."""
    memory_words = pl.col("memory_verdict").replace_strict(_MEMORY_WORDS, default=None, return_dtype=pl.String)
    other_part = pl.format(" ({})", pl.col("memory_evidence").str.extract(r"^(.+?) \d"))
    is_other_part = (pl.col("memory_verdict") == "another_part") & pl.col("same_text_as").is_null()
    memory = pl.when(memory_words.is_not_null()).then(
        pl.concat_str(
            pl.format(
                "The memory told is {} GB where {} has {} GB, ",
                *(_in_gigabytes("memory_bytes"), "accelerator", _in_gigabytes("known_memory_bytes")),
            ),
            memory_words,
            pl.when(is_other_part).then(other_part),
            pl.lit("."),
            ignore_nulls=True,
        )
    )
    generation = pl.when(pl.col("link_verdict") == "another_generation").then(
        pl.format(
            "The link named is NVLink {}, that of the part is NVLink {}.", "link_generation", "known_link_generation"
        )
    )
    rate = pl.when(pl.col("link_verdict").is_in(["another_part", "contradicted"])).then(
        pl.format(
            "The link is told as {} GB/s; the part has {} GB/s in each direction.",
            as_text(pl.col("link_gigabytes_per_second")),
            as_text(pl.col(_KNOWN_RATE)),
        )
    )
    copied = pl.format("The same words stand in the description of {}, which has {}.", "same_text_as", "same_text_part")
    wrong = pl.col("memory_verdict").is_in(WRONG_MEMORY) | pl.col("link_verdict").is_in(WRONG_LINK)
    sentences = pl.concat_str(memory, generation, rate, copied, separator=" ", ignore_nulls=True)
    return pl.when(wrong).then(sentences)


def _in_gigabytes(column: str) -> pl.Expr:
    return (pl.col(column) / 1e9).round(1)
