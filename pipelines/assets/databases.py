"""The databases of the Dagster instance: made by one process at a time, before anyone uses them.

Dagster looks whether a table is there and then makes it, so that of two processes that start together on a new data
folder, as the UI and a refresh do, one would fail.
"""

from __future__ import annotations

from pathlib import Path

from pipelines.lake.locks import exclusive_lock

_LONGEST_WAIT_SECONDS = 300.0


def make_databases(home: Path) -> None:
    """Make what the instance of a folder keeps its records in, where it was not made yet.

    Raises:
        LockedError: another process is at it for longer than it can take.
        StorageError: the folder cannot be written.
    """
    made = home / ".databases-made"
    if made.exists():
        return
    with exclusive_lock(home / ".databases.lock", _LONGEST_WAIT_SECONDS):
        if not made.exists():
            # Only the first command on a data folder needs it; the UI starts Dagster in a process of its own.
            from dagster import DagsterInstance  # noqa: PLC0415 - loaded where they are made only
            from dagster._core.instance.ref import InstanceRef  # noqa: PLC0415 - as above

            from pipelines.assets.records import swift_records  # noqa: PLC0415 - as above

            with swift_records(), DagsterInstance.from_ref(InstanceRef.from_dir(str(home))):
                made.touch()
