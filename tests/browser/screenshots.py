"""Pictures of every page of a report, to look at after a change: two widths, light and dark.

`python -m tests.browser.screenshots REPORT FOLDER` takes them, and the two that the README shows.
"""

from __future__ import annotations

import shutil
import sys
from itertools import product
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.conftest import FLAGS

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
WIDTHS = (1280, 390)
IN_README: tuple[tuple[str, str, Scheme, int], ...] = (
    ("report-first-page", "index", "light", 1690),
    ("report-scaling-dark", "scaling", "dark", 1040),
)
"""Name of the picture, page, theme and height in pixels."""


def opened(browser: Browser, address: str, width: int, height: int, scheme: Scheme) -> Page:
    """Open a page of the report and wait until its charts are drawn."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(address)
    for index in range(page.locator(".chart").count()):
        page.locator(".chart").nth(index).locator("svg").wait_for()
    return page


def take(report: Path, folder: Path) -> None:
    """Write the pictures of a report into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for path, width, scheme in product(sorted(report.glob("*.html")), WIDTHS, SCHEMES):
            page = opened(browser, path.as_uri(), width, 900, scheme)
            page.screenshot(path=folder / f"{path.stem}-{width}-{scheme}.png", full_page=True)
            page.close()
        for name, stem, scheme, height in IN_README:
            page = opened(browser, (report / f"{stem}.html").as_uri(), WIDTHS[0], height, scheme)
            page.screenshot(path=folder / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
