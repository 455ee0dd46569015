"""The assets with their checks, and the jobs over them: one round with all that follows, all answers, the hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from pipelines.assets.checks import checks_of_answers
from pipelines.assets.hosts import ask_hosts
from pipelines.assets.mart import MART_ASSETS
from pipelines.assets.publishing import WAREHOUSE_GROUP, warehouse
from pipelines.assets.rounds import ROUND_ASSETS

REFRESH_ROUND = "refresh_round"
REFRESH_ANSWERS = "refresh_answers"
ASK_HOSTS = "ask_hosts_now"

refresh_round = dg.define_asset_job(
    REFRESH_ROUND,
    selection=dg.AssetSelection.all() - dg.AssetSelection.assets(ask_hosts),
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


ask_hosts_now = dg.define_asset_job(
    ASK_HOSTS,
    selection=dg.AssetSelection.assets(ask_hosts),
    description="Asks for the list of rounds and for the watched pages of specifications.",
)


def asset_definitions(resources: Mapping[str, Any]) -> dg.Definitions:
    """Return every asset and check with the jobs over them; `resources` must hold the `workshop`."""
    return dg.Definitions(
        assets=[*ROUND_ASSETS, ask_hosts, *MART_ASSETS, warehouse],
        asset_checks=[checks_of_answers],
        jobs=[refresh_round, refresh_answers, ask_hosts_now],
        resources=resources,
        executor=dg.in_process_executor,
    )
