"""The Dagster UI in a browser: lineage, the failing rows of a check, a round that is run again, one that fails."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pipelines.refreshing.round_inputs import RoundInput, remember
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings
from tests.command import COMMAND, free_port, ui_answers
from tests.integration.conftest import published_files, write_tarball

pytestmark = [pytest.mark.server, pytest.mark.timeout(900)]

SECONDS = 180
SMALL, REAL = "training-v5.0", "training-v5.1"
"""A round that is read from a small tarball, and one of the embedded snapshot."""


@dataclass(frozen=True)
class Served:
    """The UI on a data folder of its own."""

    address: str
    tarball: Path


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Serve the UI, and refresh its data folder while it starts."""
    environment = {**os.environ, "RACKRECON_DATA": str(tmp_path / "data")}
    settings = Settings.from_environment(environment)
    settings.prepare_dagster_home()
    tarball = write_tarball(tmp_path / "training_results_v5.0.tar.gz", published_files(), "training_results_v5.0")
    remember(Workshop(settings).lake, RoundInput(round=SMALL, path=str(tarball)))
    port = free_port()
    ui = [*COMMAND, "ui", "--port", str(port)]
    with subprocess.Popen(ui, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            # in a process of its own: the browser's event loop runs in this one
            refresh = subprocess.run(
                [*COMMAND, "refresh"], env=environment, capture_output=True, text=True, check=False
            )
            assert refresh.returncode == 0, refresh.stderr
            deadline = time.monotonic() + SECONDS
            while not ui_answers(port):
                assert time.monotonic() < deadline, "the UI does not come up"
                time.sleep(0.2)
            yield Served(f"http://127.0.0.1:{port}", tarball)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(SECONDS)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Give a page that waits as long as a busy machine needs."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.set_default_timeout(SECONDS * 1000)
    expect.set_options(timeout=SECONDS * 1000)
    yield context.new_page()
    context.close()
    expect.set_options(timeout=5000)


def seen(page: Page, *texts: str) -> None:
    """Wait until each text is on the page as it is written here."""
    for text in texts:
        expect(page.get_by_text(text, exact=True).locator("visible=true").first).to_be_visible()


def test_people_find_their_way(served: Served, page: Page, subtests: pytest.Subtests) -> None:
    """One test, so that the server and its data are made once however tests are spread over processes."""
    steps: tuple[Callable[[Served, Page], None], ...] = (
        lineage_opens_by_layer_and_by_asset,
        an_asset_tells_what_it_is,
        metadata_show_where_columns_come_from_and_a_picture,
        a_check_shows_its_failing_rows,
        rounds_jobs_schedule_and_sensor_say_what_they_do,
        one_round_is_run_again_and_one_that_fails_says_why,
    )
    for step in steps:
        with subtests.test(step.__name__):
            step(served, page)


def lineage_opens_by_layer_and_by_asset(served: Served, page: Page) -> None:
    page.goto(f"{served.address}/asset-groups")
    seen(page, "raw", "core", "mart", "warehouse")
    page.goto(f"{served.address}/assets/mart/rack_audit?view=lineage")
    seen(page, "Nearest Neighbors", "rack_audit", "systems", "findings")


def an_asset_tells_what_it_is(served: Served, page: Page) -> None:
    page.goto(f"{served.address}/assets/mart/results")
    seen(page, "mart", "reconciling", "Parquet", "Polars", "Row count", "Freshness policy")
    seen(page, "score_minutes", "unit: minutes", "primary key", "Result files in the benchmark's folder")
    expect(page.get_by_text("on day 8 of the month, only in May, July, October, and December")).to_be_visible()


def metadata_show_where_columns_come_from_and_a_picture(served: Served, page: Page) -> None:
    page.goto(f"{served.address}/assets/mart/results?view=events")
    seen(page, "core.scaling_factors.rcp_factor, mart.runs.raw_minutes")
    page.goto(f"{served.address}/assets/mart/reconciled_runs?view=events")
    page.get_by_text("[Show Markdown]").click()
    picture = page.get_by_role("img", name="Predicted against reported score, in minutes")
    expect(picture).to_be_visible()
    page.wait_for_function("image => image.complete", arg=picture.element_handle())
    assert picture.evaluate("image => image.naturalWidth") > 500


def a_check_shows_its_failing_rows(served: Served, page: Page) -> None:
    page.goto(f"{served.address}/assets/mart/rack_audit?view=checks&checkDetail=whole_racks")
    seen(page, "whole_racks", "The accelerators fill whole racks, or less than one.", "Failed")
    seen(page, "acme_rack", "remainder_by_slots", "rows_in_words")


def rounds_jobs_schedule_and_sensor_say_what_they_do(served: Served, page: Page) -> None:
    page.goto(f"{served.address}/assets/core/runs?view=partitions")
    seen(page, SMALL, REAL)
    page.goto(f"{served.address}/jobs")
    seen(page, "refresh_round", "refresh_answers", "refresh_all", "refresh_live", "ask_hosts_now")
    page.goto(f"{served.address}/locations/rackrecon/jobs/refresh_round")
    seen(page, "Reads one round again, from where it was last read, then all answers and the warehouse.")
    page.goto(f"{served.address}/locations/rackrecon/jobs/refresh_round/runs")
    seen(page, "Success", f"partition: {SMALL}", f"partition: {REAL}")
    page.goto(f"{served.address}/automation")
    seen(page, "changed_commits", "refresh_live_every_monday", "Scheduled At 06:00 AM UTC, only on Monday")
    page.goto(f"{served.address}/locations/rackrecon/sensors/changed_commits")
    seen(page, "Asks at which commit each round stands; starts a live refresh where the lake holds another one.")


def one_round_is_run_again_and_one_that_fails_says_why(served: Served, page: Page) -> None:
    run_again(served, page, "core/runs")
    seen(page, "Success", "read_round", f"partition: {SMALL}")

    served.tarball.write_bytes(b"this is no archive")
    run_again(served, page, "raw/files")
    seen(page, "Failure", "take_in_round")
    reason = f"{served.tarball}: expected a whole tarball, found an end before its closing block"
    expect(page.get_by_text(reason).first).to_be_visible()


def run_again(served: Served, page: Page, asset: str) -> None:
    """Materialize one asset of one round by hand and open the page of the run that does it."""
    page.goto(f"{served.address}/assets/{asset}?view=partitions&partition={SMALL}")
    page.get_by_role("button", name="Materialize").first.click()
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("button", name="Launch 1 run").click()
    page.get_by_text("Launched run").last.wait_for()
    page.get_by_text("View", exact=True).last.click()
    page.wait_for_url("**/runs/*")
