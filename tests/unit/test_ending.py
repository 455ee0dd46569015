"""How a process ends: its code, what is still said, and that no thread of a library makes it end badly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ARROW_IN_A_PYTHON_FILE = """
import io, threading, time
import pyarrow.csv

class Slow(io.BytesIO):
    def read(self, size=-1):
        if threading.current_thread() is not threading.main_thread() and self.tell():
            reading.set()
            time.sleep(0.5)
        return super().read(size)

reading = threading.Event()
rows = pyarrow.csv.open_csv(Slow(b"a,b\\n" + b"1,2\\n" * 1000), pyarrow.csv.ReadOptions(block_size=400))
assert reading.wait(20)
"""

GIVEN_UP = """
import signal, sys
from pipelines.__main__ import main

class Watch:
    def find_spec(self, name, *_):
        if name == "typer":
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Watch())
main()
"""

WAITING = "import threading; threading.Thread(target=threading.Event().wait).start()"


def ended(work: str, before: str = "", stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """Run a process of its own whose work is that code."""
    lines = ["import atexit, signal, sys", "from pipelines.ending import end_with", before]
    lines += ["def work():", textwrap.indent(work, "    "), "end_with(work)"]
    return subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        # Where each piece is written at once there is no rest to write at the end.
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("work", "code", "complaint"),
    [
        ("pass", 0, ""),
        ("raise SystemExit", 0, ""),
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit('no such thing')", 1, "no such thing\n"),
    ],
)
def test_the_code_is_that_of_the_work_and_nothing_is_lost(work: str, code: int, complaint: str) -> None:
    before = "atexit.register(lambda: print('and at the end'))"
    done = ended(f"sys.stdout.write('half a line ')\n{work}", before)
    assert (done.returncode, done.stdout, done.stderr) == (code, "half a line and at the end\n", complaint)


def test_an_error_nobody_expected_is_told_with_its_place() -> None:
    done = ended("1 / 0")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


@pytest.mark.parametrize("work", [ARROW_IN_A_PYTHON_FILE, WAITING])
def test_no_thread_spoils_or_delays_the_end(work: str) -> None:
    """Hold it for a thread of C++ that is about to ask for the interpreter's lock, and for one that never ends."""
    done = ended(f"{work}\nprint('done')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_signal_outside_a_command_ends_the_process_without_a_word() -> None:
    # What starts the tests may have SIGINT ignored, as a shell does for what it runs in the background.
    before = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    done = ended("signal.raise_signal(signal.SIGINT)", before)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    ignored = ended("signal.raise_signal(signal.SIGINT)", "signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert (ignored.returncode, ignored.stderr) == (0, "")


def test_a_command_can_be_given_up_while_it_loads() -> None:
    done = subprocess.run([sys.executable, "-c", GIVEN_UP], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_a_reader_that_is_gone_is_no_fault() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = ended("print('unheard')", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_output_that_cannot_be_written_is_told() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    done = ended("print('unwritten')", stdout=full)
    os.close(full)
    assert (done.returncode, done.stderr) == (2, "the output cannot be written: No space left on device\n")


def test_a_process_without_stdout_works_on() -> None:
    done = ended("print('unheard'); print(sys.stdout.name, file=sys.stderr)", "sys.stdout = None")
    assert (done.returncode, done.stderr) == (0, f"{os.devnull}\n")
