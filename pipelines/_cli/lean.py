"""What the commands for people who submit leave unloaded, so that they answer in under a second."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_sqlalchemy() -> Iterator[None]:
    """Import nothing of SQLAlchemy inside: Dataframely loads it where it is there, which takes longer than Polars.

    No schema here is turned into SQL, and without it Dataframely does all else.
    """
    if "sqlalchemy" in sys.modules:
        yield
        return
    sys.modules["sqlalchemy"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["sqlalchemy"]
