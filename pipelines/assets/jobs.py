"""The assets with their checks, and the two jobs over them: one round with all that follows, and all answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from pipelines.assets.checks import checks_of_answers
from pipelines.assets.mart import MART_ASSETS
from pipelines.assets.publishing import WAREHOUSE_GROUP, warehouse
from pipelines.assets.rounds import ROUND_ASSETS

REFRESH_ROUND = "refresh_round"
REFRESH_ANSWERS = "refresh_answers"

refresh_round = dg.define_asset_job(
    REFRESH_ROUND,
    selection=dg.AssetSelection.all(),
    description="Reads one round again, from where it was last read, then all answers and the warehouse.",
)

refresh_answers = dg.define_asset_job(
    REFRESH_ANSWERS,
    selection=(
        dg.AssetSelection.assets(*MART_ASSETS)
        | dg.AssetSelection.groups(WAREHOUSE_GROUP)
        | dg.AssetSelection.checks(checks_of_answers)
    ),
    description="Scores, reconciles and checks all rounds again and publishes the warehouse.",
)


def asset_definitions(resources: Mapping[str, Any]) -> dg.Definitions:
    """Return every asset and check with the jobs over them; `resources` must hold the `workshop`."""
    return dg.Definitions(
        assets=[*ROUND_ASSETS, *MART_ASSETS, warehouse],
        asset_checks=[checks_of_answers],
        jobs=[refresh_round, refresh_answers],
        resources=resources,
        executor=dg.in_process_executor,
    )
