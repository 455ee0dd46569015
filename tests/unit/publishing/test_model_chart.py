from __future__ import annotations

from pathlib import Path

import polars as pl

from pipelines.publishing.model_chart import model_svg

COMMITTED = Path(__file__).resolve().parents[3] / "docs" / "images" / "modelling.svg"
POINT = 'aria-roledescription="point"'


def runs(count: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "result_id": [f"r{place}" for place in range(count)],
            "benchmark": ["llama31_405b", "llama31_8b"] * (count // 2),
            "accelerator": "GB200",
            "accelerator_count": [2**place for place in range(count)],
            "score_minutes": [10.0 + place for place in range(count)],
            "predicted_minutes": [10.5 + place for place in range(count)],
            "residual_percent": [5.0] * count,
        }
    )


def test_every_run_has_a_mark_in_both_halves() -> None:
    assert model_svg(runs(6)).count(POINT) == 2 * 6


def test_the_same_runs_give_the_same_file() -> None:
    assert model_svg(runs(4)) == model_svg(runs(4).reverse())


def test_the_chart_of_the_documentation_holds_runs() -> None:
    assert COMMITTED.read_text("utf-8").count(POINT) >= 2 * 80
