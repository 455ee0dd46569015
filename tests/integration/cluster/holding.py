"""What a worker loads at its start so that it stops at a known place, and goes on when it is let go.

The places are told by the environment variable `HOLD`: a name of those below, a colon, and the folder in which a file
`held` says that a worker is there, a file `go` lets it go, and a file `over` says what came of it.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

VARIABLE = "HOLD"
HELD_ROUND = "training-v5.1"
"""Of the rounds only this one is held."""


def held_in(folder: Path, work: Callable[..., Any], is_held: Callable[..., bool]) -> Callable[..., Any]:
    @functools.wraps(work)
    def wait_and_work(*arguments: Any, **named: Any) -> Any:
        if not is_held(*arguments):
            return work(*arguments, **named)
        (folder / "held").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
        said = "done"
        try:
            return work(*arguments, **named)
        except BaseException as error:
            said = str(error)
            raise
        finally:
            (folder / ".over").write_text(said, "utf-8")
            (folder / ".over").replace(folder / "over")

    return wait_and_work


def dask_setup(worker: object) -> None:
    place, _, folder = os.environ[VARIABLE].partition(":")
    # imported here: only the place that is held is loaded
    if place == "reading a group of logs":
        from pipelines.refreshing import log_groups  # noqa: PLC0415

        log_groups.read_group = held_in(Path(folder), log_groups.read_group, lambda group: group.round == HELD_ROUND)
    elif place == "publishing a partition":
        from pipelines.lake.tables import Lake  # noqa: PLC0415 - only what is held is loaded

        publish = held_in(
            Path(folder), Lake._publish, lambda lake, entry, manifest, *_: manifest.partition == HELD_ROUND
        )
        Lake._publish = publish  # type: ignore[method-assign]
    else:
        from pipelines.modelling import planning_search  # noqa: PLC0415 - only what is held is loaded

        search = held_in(Path(folder), planning_search._search_share, lambda *share: True)
        planning_search._search_share = search
