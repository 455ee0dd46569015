"""The asset jobs: one round with all that follows from it, and all answers."""

from __future__ import annotations

import dagster as dg

from pipelines.assets.publishing import WAREHOUSE_GROUP

REFRESH_ROUND = "refresh_round"
REFRESH_ANSWERS = "refresh_answers"

refresh_round = dg.define_asset_job(
    REFRESH_ROUND,
    selection=dg.AssetSelection.all(),
    description="Reads one round again, from where it was last read, then all answers and the warehouse.",
)

refresh_answers = dg.define_asset_job(
    REFRESH_ANSWERS,
    selection=dg.AssetSelection.groups("mart", WAREHOUSE_GROUP),
    description="Scores, reconciles and checks all rounds again and publishes the warehouse.",
)
