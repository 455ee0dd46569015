"""Assembles the Dagster code location. No logic: assets, checks and jobs are in `assets`, their work elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from pipelines.assets.automation import JOBS, SCHEDULES
from pipelines.assets.checks import checks_of_answers
from pipelines.assets.mart import MART_ASSETS
from pipelines.assets.publishing import warehouse
from pipelines.assets.rounds import ROUND_ASSETS
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings


def build_definitions(settings: Settings, resources: Mapping[str, Any] | None = None) -> dg.Definitions:
    """Return the code location for these settings.

    Args:
        settings: Where everything is.
        resources: Resources to use in place of the standard ones.
    """
    return dg.Definitions(
        assets=[*ROUND_ASSETS, *MART_ASSETS, warehouse],
        asset_checks=[checks_of_answers],
        jobs=JOBS,
        schedules=SCHEDULES,
        resources={"workshop": Workshop(settings), **(resources or {})},
        executor=dg.in_process_executor,
    )


defs = build_definitions(Settings.from_environment())
