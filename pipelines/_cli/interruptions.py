"""Ctrl-C and SIGTERM: a command that is told to end ends by an exception, and none of them is lost.

What is said and which code the command ends with belongs in `messages`.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_INTERRUPTIONS = {"KeyboardInterrupt", "DagsterExecutionInterruptedError"}
_AGAIN_SECONDS = 0.01


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end a command by an exception, so that it lets go of what others wait for."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _raised_again(), _raised(signal.SIGTERM), _raised(signal.SIGINT):
        yield


@contextmanager
def _raised(number: signal.Signals) -> Iterator[None]:
    # SIGINT may be ignored, as a shell has it for what it runs in the background; whoever sends SIGTERM means it.
    if number is signal.SIGINT and signal.getsignal(number) is not signal.SIG_DFL:
        yield
        return
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@contextmanager
def _raised_again() -> Iterator[None]:
    """Raise an interruption once more, a moment later, where it came while something was let go of.

    SQLAlchemy, by which Dagster keeps its records, has a callback for every connection that goes; what is raised in
    such a callback the interpreter prints and forgets.
    """
    told = sys.unraisablehook

    def notice(forgotten: UnraisableHookArgs) -> None:
        if forgotten.exc_type.__name__ in _INTERRUPTIONS:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
        else:
            told(forgotten)

    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGTERM))
    sys.unraisablehook = notice
    try:
        yield
    finally:
        sys.unraisablehook = told
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
