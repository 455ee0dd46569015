"""Messages to people, on stderr: what happens, what went wrong and what to do. Stdout stays free for data."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pipelines._cli.interruptions import interruptible
from pipelines._cli.rows import visible

if TYPE_CHECKING:
    from pipelines._cli.terminal import ProgressLine
    from pipelines.refreshing.estimates import Standing

_INTERRUPTED = 130
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
_SOURCE_ERRORS = {"SourceError", "SnapshotError"}
_USAGE_ERRORS = {"ConfigurationError", "LakeError", "UsageError", "RefreshError", "ClusterError"}
_USAGE_ERRORS |= {"NothingToEmbedError", "NoSuchResultError", "NoSuchQuestionError"}


class UsageError(Exception):
    """What was asked for cannot be done; the message says what to do."""


class Exit(IntEnum):
    """How a command ends."""

    fine = 0
    check_failed = 1
    usage = 2
    source = 3


def say(message: str) -> None:
    """Print one plain line to stderr."""
    print(visible(message), file=sys.stderr, flush=True)


def stop(message: str, code: Exit) -> NoReturn:
    """Say what went wrong and end the command."""
    say(f"rackrecon: {message}")
    raise SystemExit(int(code))


class Progress:
    """A line that is rewritten on a terminal, and plain lines elsewhere."""

    def __init__(self) -> None:
        self._line: ProgressLine | None = None
        self._standing: Standing | None = None
        if sys.stderr.isatty():
            from pipelines._cli.terminal import ProgressLine

            self._line = ProgressLine()
            self._line.start()

    def __call__(self, message: str) -> None:
        """Say what is being done."""
        standing, self._standing = self._standing, None
        if self._line is not None:
            self._line.update(visible(message), standing)
        else:
            say(f"{message} ({standing})" if standing else message)

    def stand(self, standing: Standing) -> None:
        """Tell with the next message how far it is and about how long it still takes."""
        self._standing = standing

    def stop(self) -> None:
        """Take the line off the terminal."""
        if self._line is not None:
            self._line.stop()


@contextmanager
def progress() -> Iterator[Progress]:
    """Give a progress line and take it off the terminal at the end."""
    shown = Progress()
    try:
        yield shown
    finally:
        shown.stop()


@contextmanager
def printing() -> Iterator[None]:
    """End the command in peace where nobody reads what it prints, with one line where there is no room for it."""
    try:
        yield
    except BrokenPipeError:
        _forget_stdout()
        raise SystemExit(int(Exit.fine)) from None
    except OSError as error:
        # What the lake or a source cannot read or write is told by an error of ours, which names the place.
        if error.errno not in _NO_ROOM:
            raise
        _forget_stdout()
        stop(f"the output cannot be written: {os.strerror(error.errno)}", Exit.usage)


@contextmanager
def guarded() -> Iterator[None]:
    """Turn an expected error into one line and an exit code; anything else keeps its traceback."""
    try:
        with printing(), interruptible():
            yield
    except KeyboardInterrupt:
        say("rackrecon: interrupted")
        raise SystemExit(_INTERRUPTED) from None
    except Exception as error:  # those of ours are told by their names, see `_exit_code`; others are raised again
        code = _exit_code(error)
        if code is None:
            raise
        stop(str(error), code)


@contextmanager
def writing_into(folder: Path) -> Iterator[None]:
    """Name the folder where the system refuses to write into it; the lake's own refusals name their place.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        yield
    except OSError as error:
        above = next((path for path in folder.absolute().parents if path.exists() and not path.is_dir()), None)
        if above is not None:
            raise UsageError(f"{folder}: cannot be written: {above} is no folder") from error
        why = os.strerror(error.errno) if error.errno else str(error)
        raise UsageError(f"{folder}: cannot be written: {why}") from error


def _exit_code(error: Exception) -> Exit | None:
    """Return how the command ends for an error of ours, told by its class without importing what it comes from."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & _SOURCE_ERRORS:
        return Exit.source
    return Exit.usage if names & _USAGE_ERRORS else None


def _forget_stdout() -> None:
    """Leave nothing to be flushed at exit into a pipe that nobody reads."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
