"""A lake of an older program: what nothing in the lake can rebuild is carried over, before anything is read.

What is made from other tables is simply stale, and made again.
"""

from __future__ import annotations

from pipelines.lake.manifests import LakeVersionError
from pipelines.lake.storage import LakeError
from pipelines.lake.tables import Lake
from pipelines.schemas import table

ORIGINALS = ("raw.files", "raw.sheets", "core.sources", "core.known_rounds")
"""Tables that come from outside."""


def carry_over(lake: Lake) -> list[str]:
    """Write partitions that have other columns than today again with today's; return their names.

    One that cannot be carried over is left: its source is read anew where it is at hand; else its reader says why not.

    Raises:
        LakeVersionError: a newer program wrote one of them.
    """
    return [
        f"{name}/{partition}"
        for name in ORIGINALS
        for partition in lake.partitions(name)
        if _is_carried(lake, name, partition if table(name).by_round else None)
    ]


def _is_carried(lake: Lake, name: str, partition: str | None) -> bool:
    try:
        return lake.carry_over(name, partition)
    except LakeVersionError:
        raise
    except LakeError:
        return False
