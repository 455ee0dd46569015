from __future__ import annotations

import json
import re

import polars as pl
import pytest

from pipelines.publishing.notice import TRADEMARK
from pipelines.publishing.run_curves import NothingToPlotError, curves_page

STEPS = pl.DataFrame(
    {
        "run": ["A", "A", "B"],
        "samples": [8.0, 16.0, None],
        "step_seconds": [1.0, None, 2.0],
        "train_loss": [7.5, 7.25, 7.0],
    }
)
EVALS = pl.DataFrame({"run": ["B"], "samples": [16.0], "quality": [5.5]})
HOSTILE = "</script><img src=x onerror=alert(1)>"


def datasets(page: str) -> list[list[dict[str, object]]]:
    """Return the data of the charts, which the page holds as JSON."""
    found = re.search(r'"datasets": (\{.*?\]\})', page, re.DOTALL)
    assert found
    return list(json.loads(found[1]).values())


def test_the_page_holds_the_curves_and_needs_no_network() -> None:
    page = curves_page("Title", {"A": "one", "B": "two"}, STEPS, EVALS)
    assert datasets(page) == [
        [{"run": "A", "samples": 8.0, "step_seconds": 1.0}],
        [{"run": "A", "samples": 8.0, "train_loss": 7.5}, {"run": "A", "samples": 16.0, "train_loss": 7.25}],
        [{"run": "B", "samples": 16.0, "quality": 5.5}],
    ]
    assert not re.search(r"<script[^>]*\ssrc=|<link\s|@import|<iframe", page)
    assert "<dt>A</dt><dd>one</dd><dt>B</dt><dd>two</dd>" in page
    assert TRADEMARK in page


def test_names_are_escaped_and_stand_in_no_script() -> None:
    page = curves_page(HOSTILE, {"A": HOSTILE, "B": "two"}, STEPS, EVALS)
    assert HOSTILE not in page
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") == 3


def test_without_a_curve_there_is_no_page() -> None:
    with pytest.raises(NothingToPlotError, match="neither log"):
        curves_page("Title", {}, STEPS.clear(), EVALS.clear())
    with pytest.raises(NothingToPlotError):
        curves_page("Title", {}, STEPS.filter(pl.col("samples").is_null()), EVALS.clear())
