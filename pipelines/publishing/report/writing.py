"""Puts the report in place: written beside, then swapped in, so that a reader never meets half of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pipelines.lake.storage import LakeError, scratch_folder
from pipelines.lake.tables import Lake
from pipelines.publishing.report.site import render
from pipelines.publishing.report.tables import AbsentTableError

MARKER = ".rackrecon-report"
"""File by which a folder is known as a report that may be replaced."""


class ReportError(LakeError):
    """The report cannot be written; the message says why."""


@dataclass(frozen=True)
class WrittenReport:
    """What was written."""

    first_page: Path
    page_count: int
    size_bytes: int


def write_report(lake: Lake, folder: Path, today: date) -> WrittenReport:
    """Write the report of a lake in place of the one in `folder`.

    Raises:
        ReportError: the folder holds something else, or the lake holds no results.
    """
    folder = folder.absolute()
    if folder.exists() and not _may_be_replaced(folder):
        raise ReportError(f"{folder}: expected a new or empty folder or a report, found something else; choose another")
    try:
        written = dict(render(lake, today))
    except AbsentTableError as absent:
        raise ReportError(f"{absent} `rackrecon refresh` fills the tables") from None
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder) as draft:
        _fill(draft / "new", written)
        if folder.exists():
            folder.rename(draft / "old")
        (draft / "new").rename(folder)
    pages = sum(name.endswith(".html") for name in written)
    return WrittenReport(folder / "index.html", pages, sum(len(text.encode()) for text in written.values()))


def _fill(folder: Path, written: dict[str, str]) -> None:
    for name, text in written.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (folder / MARKER).write_text("rackrecon report writes this folder anew.\n", "utf-8")


def _may_be_replaced(folder: Path) -> bool:
    return folder.is_dir() and ((folder / MARKER).is_file() or not any(folder.iterdir()))
