"""docs/deployment.md: what it shows is what the command, the settings, make and the locks take.

Its Dagster settings and Dask commands are run by tests/integration/cluster.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import yaml
from typer.main import get_command

from pipelines.cli import app
from pipelines.settings import REPOSITORY, Settings

PAGE = (REPOSITORY / "docs" / "deployment.md").read_text("utf-8")
REFRESHES = re.findall(
    r"^(?:ExecStart=|0 6 \* \* 1 )?(?:\w+=\S+ )*(?:nice )?\S*/bin/(rackrecon .*)$", PAGE, re.MULTILINE
)


def block(title: str) -> str:
    (text,) = re.findall(rf"```\w+ title={re.escape(title)}\n(.*?)```", PAGE, re.DOTALL)
    return str(text)


def test_there_are_three_ways_to_refresh() -> None:
    assert len(REFRESHES) == 3, "systemd, cron, the cluster"


@pytest.mark.parametrize("line", REFRESHES)
def test_every_refresh_is_one_that_the_command_takes(line: str) -> None:
    _, name, *arguments = shlex.split(line)
    group: Any = get_command(app)
    context = group.commands[name].make_context(name, arguments, parent=group.context_class(group, info_name="x"))
    assert context.params["live"] is True


def test_variables_are_settings_or_those_that_dagster_is_given() -> None:
    given = set(re.findall(r"env: (\w+)", block("dagster.yaml")))
    assert len(given) == 5
    settings = {entry.variable for entry in Settings.reference().values()}
    assert set(re.findall(r"RACKRECON_[A-Z_]+", PAGE)) <= settings | given


def test_dagster_is_given_no_secret_and_keeps_what_the_project_sets() -> None:
    shown = yaml.safe_load(block("dagster.yaml"))
    database = shown.pop("storage")["postgres"]["postgres_db"]
    assert database.pop("scheme") == "postgresql+psycopg2"
    assert all(set(value) == {"env"} for value in database.values())
    assert shown == yaml.safe_load((REPOSITORY / "dagster_home" / "dagster.yaml").read_text("utf-8"))


def test_make_cluster_installs_what_is_locked() -> None:
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    assert re.search(r"^cluster: ", makefile, re.MULTILINE)
    lock = (REPOSITORY / "requirements-cluster.lock").read_text("utf-8")
    pinned = dict(re.findall(r"^([\w-]+)(?:\[.*\])?==(\S+)", lock, re.MULTILINE))
    assert {"dagster-dask", "dagster-postgres", "distributed", "psycopg2-binary", "polars"} <= set(pinned)


def test_the_values_of_the_chart_name_the_code_location() -> None:
    (deployment,) = yaml.safe_load(block("values.yaml"))["dagster-user-deployments"]["deployments"]
    workspace = yaml.safe_load((REPOSITORY / "workspace.yaml").read_text("utf-8"))
    (location,) = workspace["load_from"]
    assert deployment["dagsterApiGrpcArgs"] == ["-m", location["python_module"]["module_name"]]
