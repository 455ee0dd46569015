"""Builds one thing from the lake of `RACKRECON_DATA`: `python -m tests.bench.building warehouse|report FOLDER`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from pipelines.lake.tables import Lake
from pipelines.lake.warehouse import build_warehouse
from pipelines.publishing.report.writing import write_report
from pipelines.settings import Settings


def main(what: str, folder: Path) -> None:
    """Build it below a folder."""
    settings = Settings.from_environment()
    lake = Lake.at(settings.lake)
    folder.mkdir(parents=True, exist_ok=True)
    if what == "warehouse":
        build_warehouse(lake, folder / "warehouse.duckdb", {}, sql_folder=settings.warehouse_sql)
    else:
        write_report(lake, folder / "report", datetime.now(UTC).date())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
