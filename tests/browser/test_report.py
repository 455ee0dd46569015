"""The report in a browser, read from files as people do: links, filters, keyboard, accessibility, size."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from pipelines.publishing.report.menu import PAGES
from tests.browser.conftest import PATIENCE_MILLISECONDS

pytestmark = pytest.mark.server

FIRST_PAGE_BYTES = 500_000
NAMES = ["index", *(entry.name for entry in PAGES)]
BAD = {"serious", "critical"}


class Reader(Protocol):
    """Someone who reads the report; made in `conftest`."""

    page: Page
    folder: Path
    heard: Any

    def open(self, address: str) -> Page: ...


def count(page: Page) -> int:
    """Return how many rows the table says that it has found."""
    return int(page.locator("#count").inner_text().split(" of ")[0].replace(",", ""))


def found(page: Page, words: str) -> None:
    """Wait until the table says how many rows it has found."""
    page.wait_for_function("words => document.getElementById('count').textContent.startsWith(words)", arg=words)


def first_cells(page: Page, column: int) -> list[str]:
    return page.locator(f"#grid tbody tr td:nth-child({column})").all_inner_texts()


def test_every_link_leads_somewhere(reader: Reader) -> None:
    for name in NAMES:
        page = reader.open(f"{name}.html")
        for address in page.locator("a").evaluate_all("links => links.map(link => link.getAttribute('href'))"):
            path, _, anchor = str(address).partition("#")
            target = (reader.folder / path) if path else reader.folder / f"{name}.html"
            assert target.is_file(), (name, address)
            if "=" in anchor:
                script = (reader.folder / "data" / f"{(path or f'{name}.html').removesuffix('.html')}.js").read_text(
                    "utf-8"
                )
                assert all(column == "row" or f'"name": "{column}"' in script for column in parse_qs(anchor)), address
            elif anchor:
                assert f'id="{anchor}"' in target.read_text("utf-8"), (name, address)


def test_the_first_page_is_small(reader: Reader) -> None:
    reader.open("index.html")
    loaded = {url.removeprefix("file://") for url in reader.heard.requests if url.startswith("file:")}
    assert sum(Path(path).stat().st_size for path in loaded) < FIRST_PAGE_BYTES


def test_filters_search_and_sort_work_together_on_20000_rows(reader: Reader) -> None:
    page = reader.open("results.html")
    assert count(page) == 20_000
    page.get_by_label("Benchmark", exact=True).select_option("bert")
    page.get_by_label("Division").select_option("open")
    found(page, "667 of 20,000")
    page.get_by_label("Search in all columns").fill("system1")
    found(page, "334 of 20,000")
    score = page.get_by_role("button", name="Score", exact=True)
    for direction in ("ascending", "descending"):
        score.click()
        page.locator(f"th[aria-sort={direction}]").wait_for()
        shown = [float(text) for text in first_cells(page, 8) if text != "–"]
        assert len(shown) > 90
        assert shown == sorted(shown, reverse=direction == "descending")
    page.get_by_role("button", name="Clear filters").click()
    found(page, "20,000 of")


def test_of_20000_rows_no_more_than_a_page_is_drawn(reader: Reader) -> None:
    page = reader.open("results.html")
    assert page.locator("#grid tbody tr").count() == 100
    page.evaluate("location.hash = 'page=200'")
    page.wait_for_function("document.getElementById('count').textContent.includes('19,901 to 20,000')")
    assert page.locator("#grid tbody tr").count() == 100
    assert page.get_by_role("button", name="Next").is_disabled()


def test_a_view_can_be_linked(reader: Reader) -> None:
    address = "results.html#benchmark=bert&sort=accelerator_count&desc=1&page=2"
    page = reader.open(address)
    assert page.get_by_label("Benchmark", exact=True).input_value() == "bert"
    assert ", 101 to 200 here" in page.locator("#count").inner_text()
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("Accelerators")
    before = first_cells(page, 1)
    assert first_cells(reader.open(address), 1) == before
    assert count(reader.open("findings.html#severity=error")) == 1


def test_a_row_can_be_linked_and_names_in_it_do_nothing(reader: Reader) -> None:
    key = "training-v5.0/folder+0/system00000/llama31_405b"
    page = reader.open(f"results.html#row={quote(key)}")
    row = page.locator("#row")
    assert key in row.inner_text()
    assert "<img src=x onerror=alert(1)>" in row.inner_text()
    assert row.locator("img").count() == 0
    assert row.get_by_role("link", name="Score").get_attribute("href") == "glossary.html#score"
    row.get_by_role("button", name="Close").click()
    row.wait_for(state="hidden")
    page.get_by_label("Search in all columns").fill("system00001")
    found(page, "1 of")
    page.locator("#grid tbody a").click()
    row.wait_for()
    assert "system00001" in row.inner_text()
    assert "folder%2B1" in page.url
    assert "no such row" in reader.open("results.html#row=nothing").locator("#row").inner_text()


def test_the_csv_is_what_is_shown_and_starts_no_formula(reader: Reader) -> None:
    page = reader.open("results.html#q=system0000")
    assert count(page) == 10
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV of what is shown").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8"))))
    assert download.value.suggested_filename == "rackrecon-results.csv"
    assert [row["system"] for row in rows] == [f"system{number:05}" for number in range(10)]
    assert rows[1]["submitter"] == '\'=HYPERLINK("http://example.invalid","x")'
    assert rows[2]["submitter"] == "'@SUM(A1)"
    assert float(rows[3]["score_minutes"]) == pytest.approx(1.0 + 3 * 7919 % 20_000 / 100)


def test_the_keyboard_is_enough(reader: Reader) -> None:
    page = reader.open("results.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    words = page.locator("main > p .term").count()
    for _ in range(words + 1):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("system00042")
    found(page, "1 of")
    page.locator("#grid tbody a").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id === 'row'")
    page.get_by_role("button", name="Close").press("Enter")
    assert page.evaluate("document.activeElement.id") == "search"


def test_charts_are_drawn_and_their_tables_open(reader: Reader) -> None:
    for name in ("scaling", "prediction", "racks", "nic", "mfu", "claims"):
        page = reader.open(f"{name}.html")
        figures = page.locator("figure")
        assert figures.count() > 0
        for index in range(figures.count()):
            figure = figures.nth(index)
            assert figure.locator(".chart svg path").count() > 3
            figure.locator("summary").click()
            assert figure.locator("details tbody tr").first.is_visible()


def test_rows_are_cards_on_a_phone_and_sort_there_too(browser: Browser, report: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    page = context.new_page()
    page.goto(f"{report.as_uri()}/results.html#q=system0001")
    card = page.locator("#grid tbody tr").first
    assert card.bounding_box()["width"] < 390  # type: ignore[index]
    assert page.locator("#grid tbody td[data-label='Score, minutes']").first.is_visible()
    assert page.get_by_role("cell", name="system00010").is_visible()
    page.get_by_role("button", name="Score", exact=True).click()
    page.locator("th[aria-sort=ascending]", has_text="Score").wait_for()
    context.close()


def test_an_opened_row_says_how_to_see_the_chain_behind_it(reader: Reader) -> None:
    page = reader.open(f"results.html#row={quote('training-v5.0/folder+0/system00000/llama31_405b')}")
    command = page.locator("#row code").inner_text()
    assert command == "rackrecon explain 'training-v5.0/folder+0/system00000/llama31_405b'"
    page.get_by_text("What the columns mean").click()
    assert page.locator("#grid details dl a", has_text="Score").first.get_attribute("href") == "glossary.html#score"


def test_a_link_to_a_table_of_the_dictionary_unfolds_it(reader: Reader) -> None:
    page = reader.open("dictionary.html")
    assert not page.get_by_text("Score on MLCommons' own table").first.is_visible()
    page.get_by_role("link", name="mart.results", exact=True).click()
    page.locator("[id='mart.results'] tbody tr").first.wait_for()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_no_page_is_wider_than_the_screen_or_fails_axe(browser: Browser, report: Path, width: int, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    page = context.new_page()
    for name in NAMES:
        page.goto(f"{report.as_uri()}/{name}.html")
        page.wait_for_load_state("load")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        broken = Axe().run(page).response["violations"]
        told = [(entry["id"], entry["nodes"][0]["html"][:200]) for entry in broken if entry["impact"] in BAD]
        assert told == [], name
    context.close()


def test_the_theme_is_the_readers_choice_and_the_menu_opens(browser: Browser, report: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="light")
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    page = context.new_page()
    page.goto(f"{report.as_uri()}/index.html")
    assert not page.locator("#pages").is_visible()
    page.get_by_role("button", name="Menu").click()
    assert page.get_by_role("link", name="Scaling curves", exact=True).is_visible()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.goto(f"{report.as_uri()}/racks.html")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    context.close()


def test_print_shows_tables_and_no_menu(reader: Reader) -> None:
    page = reader.open("racks.html")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not page.locator("#pages").is_visible()
    assert page.locator("details tbody tr").first.is_visible()
    paper = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    assert paper == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
