"""Names that are script, SQL or formula, through a whole refresh: stored as they are, obeyed by nothing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pipelines._cli.rows import Format, write_rows
from pipelines.lake.queries import query
from pipelines.publishing.chain import chain_of_result
from pipelines.publishing.chain_page import chain_as_html
from pipelines.publishing.release import write_release
from pipelines.publishing.report.site import render
from pipelines.refreshing.flow import Report
from pipelines.refreshing.workshop import Workshop
from tests.integration.conftest import published_files, write_tarball

NAMES = [
    "<script>alert(1)<\u2215script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd|' \u2215C calc'!A0",
    "@SUM(A1)",
    "'; DROP TABLE mart.results; --",
    "\u202egnp.exe",
    "e" + "\u0301" * 20,
    "{{7*7}}${7*7}%s",
]
TAGS_THAT_ACT = {"script", "img", "iframe", "object", "embed", "base", "form"}


class Acting(HTMLParser):
    """What of a page acts: scripts of its own, elements that fetch, attributes that are code."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        is_ours = tag == "script" and (values.get("type") == "application/json" or "src" in values)
        if tag in TAGS_THAT_ACT and not is_ours:
            self.found.append(f"<{tag} {values}>")
        self.found += [f"<{tag} {name}>" for name in values if name.startswith("on")]


def cells(text: str) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(text)) for cell in row]


def is_run_by_a_spreadsheet(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))
    return False


def test_names_are_stored_and_obeyed_by_nothing(
    workshop: Workshop,
    refresh: Callable[..., Report],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files: dict[str, str] = {}
    for name in NAMES:
        for path, text in published_files().items():
            described = text.replace('"Acme"', json.dumps(name)).replace("Acme (39x", f"{json.dumps(name)[1:-1]} (39x")
            files[path.replace("Acme", name).replace("acme_rack", name)] = described
    assert not refresh(write_tarball(tmp_path / "training_results_v5.0.tar.gz", files)).failed

    asked = query(workshop.settings.warehouse, "SELECT DISTINCT submitter_folder AS name FROM mart.results")
    assert sorted(asked["name"]) == sorted(NAMES)
    for name in NAMES:
        found = query(
            workshop.settings.warehouse,
            "SELECT result_id FROM mart.results WHERE submitter_folder = $name",
            {"name": name},
        )
        assert found.height == 1, name

    capsys.readouterr()
    write_rows(query(workshop.settings.warehouse, "FROM mart.findings"), Format.csv)
    write_rows(query(workshop.settings.warehouse, "FROM core.systems"), Format.csv)
    assert [cell for cell in cells(capsys.readouterr().out) if is_run_by_a_spreadsheet(cell)] == []

    for name, text in render(workshop.lake, date(2026, 1, 1)):
        if name.endswith(".html"):
            assert Acting(text).found == [], name
        if name.startswith("data/"):
            assert "\u2028" not in text

    for name in NAMES:
        page = chain_as_html(chain_of_result(workshop.lake, f"training-v5.0/{name}/{name}/llama31_405b"))
        assert Acting(page).found == [], name

    release = write_release(workshop.lake, tmp_path / "releases", workshop.settings.warehouse_sql).folder
    for path in release.rglob("*.csv"):
        assert [cell for cell in cells(path.read_text("utf-8")) if is_run_by_a_spreadsheet(cell)] == [], path.name
