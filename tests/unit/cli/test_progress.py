"""What is being done and how long it still takes: plain lines in a pipe, a line that counts down on a terminal."""

from __future__ import annotations

import sys

import pytest

from pipelines._cli import terminal
from pipelines._cli.messages import progress
from pipelines._cli.terminal import ProgressLine
from pipelines.refreshing.estimates import Standing


def test_a_pipe_gets_plain_lines_and_an_estimate_once(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as tell:
        tell.stand(Standing(1, 2, 12.3))
        tell("training-v5.0: reading the embedded snapshot")
        tell("\x1b[31mstatus 500; trying again")
    assert capsys.readouterr().err.splitlines() == [
        "training-v5.0: reading the embedded snapshot (1 of 2, about 12 s left)",
        "\\x1b[31mstatus 500; trying again",
    ]


def test_a_terminal_counts_down(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [100.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: seconds[0])
    line = ProgressLine()
    line.update("[bold]reading", Standing(2, 3, 20.0))
    assert "[bold]reading" in (told := shown(line))
    assert "2 of 3, about 20 s left" in told
    line = ProgressLine()
    line.update("reading", Standing(2, 3, 20.0))
    seconds[0] += 15
    line.update("trying again", None)
    assert "trying again" in (told := shown(line))
    assert "2 of 3, about 5 s left" in told


def test_an_estimate_that_was_too_short_ends_at_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [100.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: seconds[0])
    line = ProgressLine()
    line.update("reading", Standing(1, 1, 3.0))
    seconds[0] += 60
    assert "1 of 1, about 1 s left" in shown(line)


def shown(line: ProgressLine) -> str:
    with line.console.capture() as captured:
        line.console.print(line._progress.get_renderable())
    return captured.get()


def test_the_line_is_taken_off_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress() as tell:
        tell("reading")
        assert tell._line is not None
        assert tell._line._progress.live.is_started
    assert not tell._line._progress.live.is_started
