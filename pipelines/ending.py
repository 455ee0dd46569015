"""How a process of ours ends: once what it has to say is said, at once.

An interpreter that takes itself apart makes each other thread end where it next asks for the interpreter's lock. Where
that is in the middle of Arrow's C++ or Polars' Rust, the process aborts with all its work done (CPython issue 87135;
from 3.14 on such threads are left waiting). So it is left whole, and those threads end with the process.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

_BROKEN = 1
_UNSAID = 2


def end_with(work: Callable[[], object]) -> NoReturn:
    """Do the work of this process, then end it.

    The exit code is that of `SystemExit`, as everywhere in Python; 1 after another error, whose traceback is printed;
    2 where the rest of stdout cannot be written. What was registered with `atexit` is called; threads are not waited
    for. SIGINT ends the process without a word where the work does not handle it.

    Args:
        work: What the process is for.
    """
    _open_closed_streams()
    # A shell has SIGINT ignored for what it runs in the background, and that stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = _exit_code(work)
    atexit._run_exitfuncs()
    os._exit(_flushed(code))


def _open_closed_streams() -> None:
    """Give a process that was started without stdout or stderr one that goes nowhere, as others than Python expect."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open as long as we live


def _exit_code(work: Callable[[], object]) -> int:
    try:
        work()
    except SystemExit as error:
        if isinstance(error.code, int) or error.code is None:
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return _BROKEN
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return _BROKEN
    return 0


def _flushed(code: int) -> int:
    """Write what is left to write and return the exit code; a reader that is gone wants no more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        print(f"the output cannot be written: {error.strerror or error}", file=sys.stderr)
        code = code or _UNSAID
    try:
        sys.stderr.flush()
    except OSError:
        code = code or _UNSAID
    return code
