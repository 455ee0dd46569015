"""`rackrecon release`: the lake as a versioned folder to hand out."""

from __future__ import annotations

from pathlib import Path

from pipelines._cli.messages import say, writing_into
from pipelines.publishing.release import write_release
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings


def release_lake(output: Path | None, version: str | None) -> None:
    """Write the release, print its folder, say what it is; nobody refreshes meanwhile."""
    workshop = Workshop(Settings.from_environment())
    home = output or workshop.settings.data / "releases"
    with workshop.exclusive(), writing_into(home):
        written = write_release(workshop.lake, home, workshop.settings.warehouse_sql, version=version)
    print(written.folder)
    say(f"release {written.version}" + ("" if written.is_new else ": there already, of this very lake"))
