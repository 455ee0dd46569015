"""What a person should look at in the facts: parts without any, disagreements without a reason.

How facts are resolved and explained belongs in `facts`; a disagreement that is explained is no finding. What is wrong
with a sheet by its own light is told by its reader.
"""

from __future__ import annotations

import polars as pl

from pipelines.reconciling._fact_forms import with_unit
from pipelines.reconciling.facts import UNEXPLAINED
from pipelines.schemas.findings import findings_frame

SOURCES_NAMED = 3
"""Sources that a finding names; the rest stand in the table."""


def part_findings(systems: pl.DataFrame, accelerators: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `mart.findings`: parts that systems are built of and no source tells anything about.

    Args:
        systems: `core.systems`.
        accelerators: `mart.accelerators`.
    """
    used = systems.group_by("accelerator").agg(system_count=pl.len(), rounds=pl.col("round").unique().sort())
    nothing = accelerators.filter(pl.col("fact_count") == 0).join(used, on="accelerator", how="inner")
    many = pl.when(pl.col("system_count") == 1).then(pl.lit("system uses")).otherwise(pl.lit("systems use"))
    return findings_frame(
        nothing.with_columns(
            kind=pl.lit("facts.none"),
            severity=pl.lit("info"),
            subject="accelerator",
            explanation=pl.format(
                "{} {} {}, which is known by name only, so nothing can be held against its rates or memory.",
                *("system_count", many, "accelerator"),
            ),
            expected=pl.lit("a source that states its figures"),
            evidence=pl.format("core.systems: {}", pl.col("rounds").list.join(", ")),
        )
    )


def conflict_findings(conflicts: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `mart.findings`, one for each part and metric on which sources differ and nothing explains why.

    Args:
        conflicts: `mart.fact_conflicts`.
    """
    told = pl.format("{} by {}", with_unit(pl.col("value"), pl.col("unit")), "source")
    grouped = (
        conflicts.filter(pl.col("explained_by") == UNEXPLAINED)
        .sort("subject", "metric", "source", "locator")
        .group_by("subject", "metric", maintain_order=True)
        .agg(
            pl.col("resolved_value", "resolved_source", "unit").first(),
            least=pl.col("ratio").min(),
            most=pl.col("ratio").max(),
            found=told.unique(maintain_order=True).head(SOURCES_NAMED).str.join("; "),
        )
    )
    ratio = pl.col("least").round_sig_figs(3).cast(pl.String)
    span = pl.format("{} to {}", ratio, pl.col("most").round_sig_figs(3))
    factor = pl.when(pl.col("least") == pl.col("most")).then(ratio).otherwise(span)
    return findings_frame(
        grouped.with_columns(
            kind=pl.lit("facts.unexplained"),
            severity=pl.lit("info"),
            subject=pl.concat_str("subject", "metric", separator="/"),
            explanation=pl.format(
                "Sources differ by a factor of {} on {} of {}, and no known reading (sparse, both directions, die, "
                "unit, another part) gives the other figure.",
                *(factor, "metric", "subject"),
            ),
            expected=pl.format("{} by {}", with_unit(pl.col("resolved_value"), pl.col("unit")), "resolved_source"),
            evidence=pl.lit("mart.fact_conflicts"),
        )
    )
