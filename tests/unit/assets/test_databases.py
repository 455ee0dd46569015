"""Processes that start together on a new data folder find Dagster's databases whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pipelines.assets.databases import make_databases
from pipelines.assets.execution import project_instance
from pipelines.settings import Settings

AT_ONCE = """
import os, sys, traceback
from pipelines.assets.execution import project_instance
from pipelines.settings import Settings

go, start = os.pipe()
children = []
for _ in range(4):
    if not (child := os.fork()):
        os.close(start)
        os.read(go, 1)  # ends for all at once, when the parent closes the other end
        try:
            with project_instance(Settings.from_environment().prepare_dagster_home()) as instance:
                instance.run_storage.set_cursor_values({"cursor": str(os.getpid())})
                assert list(instance.get_runs()) == []
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    children.append(child)
os.close(start)
sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))
"""


def test_processes_that_start_at_once_all_find_them(tmp_path: Path) -> None:
    environment = {**os.environ, "RACKRECON_DATA": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", AT_ONCE], env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_they_are_made_once(tmp_path: Path) -> None:
    home = Settings.from_environment({"RACKRECON_DATA": str(tmp_path)}).prepare_dagster_home()
    make_databases(home)
    with project_instance(home) as instance:
        instance.run_storage.set_cursor_values({"cursor": "kept"})
    before = (home / ".databases-made").stat().st_mtime_ns
    make_databases(home)
    assert (home / ".databases-made").stat().st_mtime_ns == before
    with project_instance(home) as instance:
        assert instance.run_storage.get_cursor_values({"cursor"}) == {"cursor": "kept"}
