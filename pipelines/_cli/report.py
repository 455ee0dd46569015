"""`rackrecon report`: the folder of HTML, and where it is."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pipelines._cli.messages import say, writing_into
from pipelines.lake.tables import Lake
from pipelines.publishing.report.writing import write_report
from pipelines.settings import Settings


def report(output: Path | None) -> None:
    """Write the report and print the address of its first page."""
    settings = Settings.from_environment()
    folder = output or settings.report
    with writing_into(folder):
        written = write_report(Lake.at(settings.lake), folder, datetime.now(UTC).date())
    say(
        f"{written.page_count} pages, {written.size_bytes / 1e6:.1f} MB; open the first page in a browser, offline too:"
    )
    print(written.first_page)
