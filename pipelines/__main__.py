"""The command as a process. Nothing is imported before it is settled how that ends."""

from __future__ import annotations

from typing import NoReturn

from pipelines.ending import end_with


def main() -> NoReturn:
    """Run the command and end the process."""
    end_with(_command)


def _command() -> None:
    from pipelines._cli.messages import printing  # noqa: PLC0415 - Ctrl-C meanwhile shows no traceback
    from pipelines.cli import app  # noqa: PLC0415 - likewise

    # What commands print they guard themselves; help is printed before one begins.
    with printing():
        app(prog_name="rackrecon")


if __name__ == "__main__":
    main()
