"""Assembles the Dagster code location. No logic: assets, checks and jobs are in `assets`, their work elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from pipelines.assets.automation import automation_definitions
from pipelines.assets.jobs import asset_definitions
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings


def build_definitions(settings: Settings, resources: Mapping[str, Any] | None = None) -> dg.Definitions:
    """Return the code location for these settings.

    Args:
        settings: Where everything is.
        resources: Resources to use in place of the standard ones.
    """
    standard = {"workshop": Workshop(settings)}
    return dg.Definitions.merge(asset_definitions({**standard, **(resources or {})}), automation_definitions())


defs = build_definitions(Settings.from_environment())
