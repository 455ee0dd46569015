"""Fuzzes one target in this process: `python -m tests.bench.fuzz.one TARGET [LIBFUZZER OPTION...] [FILE]`."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["pipelines"], enable_loader_override=False):
    from tests.bench.fuzz.targets import TARGETS


def main() -> None:
    """Hand over to libFuzzer, which ends the process."""
    target = TARGETS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
