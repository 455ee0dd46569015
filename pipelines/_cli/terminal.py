"""The progress line of a terminal: what is being done, how far it is, about how long it still takes.

Imported only where there is a terminal: rich's progress takes a while to load.
"""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.progress_bar import ProgressBar
from rich.table import Column
from rich.text import Text

from pipelines.refreshing.estimates import Standing

_BAR_WIDTH = 20


class ProgressLine:
    """One line on stderr that is rewritten until it is stopped."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            _Bar(),
            _Left(),
            console=self.console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, standing=None, since=0.0, start_seconds=time.monotonic())

    def start(self) -> None:
        """Put the line on the terminal."""
        self._progress.start()

    def stop(self) -> None:
        """Take it off."""
        self._progress.stop()

    def update(self, message: str, standing: Standing | None) -> None:
        """Say what is being done; without a standing the last one counts on."""
        if standing is None:
            self._progress.update(self._task, description=message)
        else:
            self._progress.update(self._task, description=message, standing=standing, since=time.monotonic())


class _Bar(ProgressColumn):
    def render(self, task: Task) -> ProgressBar | Text:
        """Draw the share of the time that is over."""
        if task.fields["standing"] is None:
            return Text("")
        elapsed = time.monotonic() - task.fields["start_seconds"]
        return ProgressBar(total=elapsed + _seconds_left(task), completed=elapsed, width=_BAR_WIDTH)


class _Left(ProgressColumn):
    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        """Say which part it is and count down."""
        standing = task.fields["standing"]
        if standing is None:
            return Text("")
        return Text(str(Standing(standing.number, standing.total, _seconds_left(task))))


def _seconds_left(task: Task) -> float:
    standing: Standing = task.fields["standing"]
    since: float = task.fields["since"]
    return max(1.0, standing.seconds_left - (time.monotonic() - since))
