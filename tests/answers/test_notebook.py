"""The notebook opens the warehouse and draws its two charts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from pipelines.lake.queries import query
from pipelines.settings import REPOSITORY

DRAW = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("notebook", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
_, defined = module.app.run()
charts = {name: defined[name].to_dict() for name in ("scaling_chart", "predicted_chart")}
print(json.dumps({"charts": charts, "note": defined["note"]}))
"""


def test_the_notebook_draws_what_the_warehouse_holds(filled: Path) -> None:
    notebook = REPOSITORY / "docs" / "notebooks" / "warehouse.py"
    drawn = subprocess.run(
        [sys.executable, "-c", DRAW, str(notebook)],
        env={**os.environ, "RACKRECON_DATA": str(filled)},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert drawn.returncode == 0, drawn.stderr
    told = json.loads(drawn.stdout)
    points = {name: len(next(iter(chart["datasets"].values()))) for name, chart in told["charts"].items()}
    counts = query(
        filled / "warehouse.duckdb",
        "SELECT (SELECT count(score_minutes) FROM mart.results WHERE benchmark = 'llama31_405b' "
        "AND division = 'closed') AS scaling_chart, "
        "(SELECT count(predicted_minutes) FROM mart.reconciled_runs) AS predicted_chart",
    )
    assert points == counts.row(0, named=True)
    assert "trademark of MLCommons" in told["note"]
