"""The command: what it offers, how it ends, how fast it starts."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from pipelines import __version__
from pipelines._cli.messages import Exit, UsageError, guarded, writing_into
from pipelines.cli import app
from tests.command import COMMAND
from tests.command import rackrecon as run_command

COMMANDS = {"refresh", "query", "check", "explain", "snapshot", "ui"}


def rackrecon(*arguments: str, data: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, RACKRECON_DATA=str(data), **environment)


def commands() -> Mapping[str, typer.core.TyperCommand]:
    return get_command(app).commands  # type: ignore[attr-defined, no-any-return]


def test_only_commands_that_work_are_offered_and_each_says_what_it_does() -> None:
    assert set(commands()) >= COMMANDS
    for command in commands().values():
        assert command.help
        for parameter in command.params:
            assert parameter.name == "help" or getattr(parameter, "help", None), (command.name, parameter.name)


def test_without_arguments_the_help_is_shown(tmp_path: Path) -> None:
    result = rackrecon(data=tmp_path)
    assert "refresh" in result.stdout + result.stderr
    assert result.returncode == 2


def test_the_version_is_the_package_s_own(tmp_path: Path) -> None:
    result = rackrecon("--version", data=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (Exit.fine, f"rackrecon {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("query", "SELECT 1"), Exit.usage, "`rackrecon refresh` builds it"),
        (("check",), Exit.usage, "nothing was checked yet"),
        (("explain", "H100-SXM5-80GB"), Exit.usage, "nothing to explain yet; `rackrecon refresh`"),
        (("snapshot", "-o", "{data}/x"), Exit.usage, "holds no such round"),
        (("refresh", "--from", "{data}/x.tar.gz", "--round", "training-v1.0"), Exit.usage, "no round training-v1.0"),
        (("query", "SELECT 1", "--format", "xml"), Exit.usage, "xml"),
        (("nonsense",), Exit.usage, "nonsense"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    tmp_path: Path, arguments: tuple[str, ...], code: Exit, message: str
) -> None:
    result = rackrecon(*(argument.format(data=tmp_path) for argument in arguments), data=tmp_path)
    assert result.returncode == code, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_setting_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    result = rackrecon("query", "SELECT 1", data=tmp_path, RACKRECON_LOCK_SECONDS="soon")
    assert result.returncode == Exit.usage
    assert "RACKRECON_LOCK_SECONDS: expected seconds" in result.stderr


def test_nothing_is_left_behind_by_a_question(tmp_path: Path) -> None:
    rackrecon("query", "SELECT 1", data=tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_closes_the_pipe_ends_the_command_quietly() -> None:
    with pytest.raises(SystemExit) as ended, guarded():
        raise UsageError("no")
    assert ended.value.code == Exit.usage


@pytest.mark.parametrize(
    ("command", "code_where_nobody_reads"),
    [
        *((f"lint --rules --format {form}", Exit.fine) for form in ("table", "csv", "parquet")),
        # Help is printed by Typer, to which a reader that is gone is a failure.
        *((command, 1) for command in ("--help", "plan --help", "--version")),
    ],
)
def test_output_that_nobody_reads_or_that_finds_no_room(command: str, code_where_nobody_reads: int) -> None:
    reading, gone = os.pipe()
    os.close(reading)
    full = os.open("/dev/full", os.O_WRONLY)
    ends = []
    for output in (gone, full):
        with subprocess.Popen([*COMMAND, *command.split()], stdout=output, stderr=-1) as process:
            _, complaint = process.communicate(timeout=60)
        ends.append((process.returncode, complaint.decode()))
        os.close(output)
    no_room = "rackrecon: the output cannot be written: No space left on device\n"
    assert ends == [(code_where_nobody_reads, ""), (Exit.usage, no_room)]


def test_a_folder_below_a_file_is_refused_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    folder = file / "below" / "it"
    with pytest.raises(UsageError, match=f"^{folder}: cannot be written: {file} is no folder$"), writing_into(folder):
        folder.mkdir(parents=True)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_command_as_interrupted(how: signal.Signals, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    # What starts the tests may have SIGINT ignored, as a shell does for what it runs in the background.
    of_caller = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as ended, guarded():
            signal.raise_signal(how)
    finally:
        signal.signal(signal.SIGINT, of_caller)
    assert (ended.value.code, capsys.readouterr().err) == (130, "rackrecon: interrupted\n")
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_that_comes_while_something_is_let_go_of_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    """Python prints what is raised in a callback for an object that goes, and goes on as if nothing had been."""

    def let_go_and_wait() -> None:
        weakref.finalize(threading.Event(), signal.raise_signal, signal.SIGTERM)
        time.sleep(60)

    with pytest.raises(SystemExit) as ended, guarded():
        let_go_and_wait()
    assert (ended.value.code, capsys.readouterr().err) == (130, "rackrecon: interrupted\n")


def test_an_error_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), guarded():
        raise ZeroDivisionError


def processor_seconds(*arguments: str, data: Path) -> float:
    """Return the least processor time of a few runs: unlike the clock, it does not depend on what else is running."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        rackrecon(*arguments, data=data)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(times)


def test_help_comes_in_half_a_second(tmp_path: Path) -> None:
    assert processor_seconds("--help", data=tmp_path) < 0.5


def test_a_question_is_answered_in_a_second(tmp_path: Path) -> None:
    from pipelines.lake.tables import Lake  # noqa: PLC0415
    from pipelines.lake.warehouse import build_warehouse  # noqa: PLC0415
    from pipelines.settings import REPOSITORY  # noqa: PLC0415

    lake = Lake.at(str(tmp_path / "lake"))
    build_warehouse(lake, tmp_path / "warehouse.duckdb", {}, sql_folder=REPOSITORY / "sql" / "warehouse")
    assert rackrecon("query", "SELECT 42 AS answer", "-f", "csv", data=tmp_path).stdout == "answer\n42\n"
    assert processor_seconds("query", "SELECT count(*) FROM mart.results", data=tmp_path) < 1.0
    elsewhere = rackrecon("query", "SELECT 42", data=tmp_path, RACKRECON_LAKE=str(tmp_path / "nowhere"))
    assert (elsewhere.returncode, elsewhere.stdout) == (Exit.usage, "")
    assert f"{tmp_path / 'nowhere'}: no such folder; RACKRECON_LAKE must name the lake" in elsewhere.stderr
