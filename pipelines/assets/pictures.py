"""Plots in the metadata of a table, for the tables that have one."""

from __future__ import annotations

import base64
from typing import Any

import dagster as dg

from pipelines.lake.tables import Lake


def plots(lake: Lake, name: str) -> dict[str, Any]:
    """Return the plots of a table as metadata, empty for a table without any."""
    if name != "mart.reconciled_runs":
        return {}
    # imported here: charts take a second to load, which no other run of the assets should wait for
    # Imported here: Altair takes most of a second, and most commands draw nothing.
    from pipelines.publishing.report.pictures import predicted_against_reported_png  # noqa: PLC0415

    picture = predicted_against_reported_png(lake.read(name))
    if picture is None:
        return {}
    content = base64.b64encode(picture).decode()
    shown = f"![Predicted against reported score, in minutes](data:image/png;base64,{content})"
    return {"predicted_against_reported": dg.MetadataValue.md(shown)}
