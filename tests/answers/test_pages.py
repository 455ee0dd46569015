"""The pages of docs: what is generated is fresh, every command that a page shows runs and prints what it shows."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.main import get_command

from pipelines._cli.reference import pages
from pipelines.cli import app
from pipelines.schemas import TABLES
from pipelines.settings import REPOSITORY, Settings

DOCS = REPOSITORY / "docs"
TESTED_ELSEWHERE = {"submitting.md"}
GENERATED = pages(get_command(app))
PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for path in DOCS.rglob("*.md")
    if "```console" in path.read_text("utf-8") and path.name not in TESTED_ELSEWHERE
)
PAGES.append("../README.md")
MAKE = {"make run": "rackrecon refresh"}
"""What a target of make runs once everything is installed."""


@pytest.mark.parametrize("name", GENERATED)
def test_generated_pages_are_fresh(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == GENERATED[name], "stale: `make docs` writes it again"


def test_every_table_setting_and_command_has_its_place() -> None:
    tables, settings, commands = (
        GENERATED[name] for name in ("reference/tables.md", "reference/settings.md", "cli.md")
    )
    assert [name for name in TABLES if f"## {name}\n" not in tables] == []
    assert [entry.variable for entry in Settings.reference().values() if f"`{entry.variable}`" not in settings] == []
    assert [name for name in shown_commands() if f"## {name}\n" not in commands] == []


def shown_commands() -> list[str]:
    found: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    return [name for name, command in found.items() if not command.hidden]


@pytest.mark.parametrize("name", shown_commands())
def test_each_command_shows_examples_that_it_would_take(name: str) -> None:
    group: Any = get_command(app)
    command = group.commands[name]
    examples = [line.strip() for line in (command.epilog or "").splitlines()[2:]]
    assert examples, "help without an example"
    for example in examples:
        program, called, *arguments = shlex.split(example)
        assert (program, called) == ("rackrecon", name)
        context = command.make_context(name, arguments, parent=group.context_class(group, info_name="rackrecon"))
        assert set(context.params) >= {parameter.name for parameter in command.params if parameter.name != "help"}


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{path.relative_to(DOCS)}: {target}"
        for path in DOCS.rglob("*.md")
        for target in re.findall(r"\]\(([^)#\s]+)\)", path.read_text("utf-8"))
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert broken == []


def test_scheduled_lines_call_the_command() -> None:
    lines = re.findall(r"```cron\n(.*?)```", (DOCS / "how-to/scheduled-refresh.md").read_text("utf-8"), re.DOTALL)
    assert lines
    for line in lines:
        assert re.match(r"(\S+ ){5}cd \S+ && \.venv/bin/rackrecon refresh ", line)


def blocks(page: str) -> Iterator[tuple[str, list[str]]]:
    """Give each command that the page shows with the lines that it says are printed."""
    for block in re.findall(r"```console\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL):
        for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = shown.splitlines()
            while is_open(command):
                command += " " + lines.pop(0)
            yield MAKE.get(command, command), lines


def is_open(command: str) -> bool:
    """Return whether a quotation goes on in the next line."""
    try:
        shlex.split(command)
    except ValueError:
        return True
    return False


def commands_in_sentences() -> list[tuple[str, str]]:
    """Return each page of people's prose with the commands that it names between backticks."""
    pages = [REPOSITORY / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [
        (page.relative_to(REPOSITORY).as_posix(), command)
        for page in pages
        if page.relative_to(DOCS.parent).as_posix() not in GENERATED_PAGES
        for command in re.findall(r"`(?:\w+=\S+ )*(?:\.venv/bin/)?(rackrecon [^`\n]+)`", page.read_text("utf-8"))
    ]


GENERATED_PAGES = {f"docs/{name}" for name in GENERATED}


def test_each_command_that_a_sentence_names_is_one_that_is_taken() -> None:
    group: Any = get_command(app)
    found = commands_in_sentences()
    assert len(found) > 30
    for page, command in found:
        _, called, *arguments = shlex.split(command.replace("...", ""))
        if called.startswith("-"):
            continue
        assert called in group.commands, (page, command)
        context = group.commands[called].make_context(called, arguments, resilient_parsing=True)
        known = {name for parameter in context.command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        options = {argument.partition("=")[0] for argument in arguments if re.match(r"--?[a-z]", argument)}
        assert options <= known | {"--help"}, (page, command)


def repository_module() -> ModuleType:
    """Return the module that writes small results repositories for tests."""
    place = Path(__file__).parents[1] / "integration" / "conftest.py"
    spec = importlib.util.spec_from_file_location("small_repository", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def place(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with what the pages name: data, an archive, its checkout, an article, the command."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "data").symlink_to(filled)
    module = repository_module()
    archive = module.write_tarball(folder / "training_results_v5.0.tar.gz", module.published_files((27.0, 26.9, 27.2)))
    with tarfile.open(archive) as members:
        members.extractall(folder, filter="data")
    next(folder.glob("training_results_v5.0-*")).rename(folder / "training_results_v5.0")
    (folder / "article.md").write_text("The H100 SXM has 80 GB of memory.\n", "utf-8")
    command = folder / "bin" / "rackrecon"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m pipelines "$@"\n', "utf-8")
    command.chmod(0o755)
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_prints_what_it_shows(page: str, place: Path, filled: Path, tmp_path: Path) -> None:
    data = tmp_path if page == "how-to/add-a-round.md" else filled
    environment = {**os.environ, "PATH": f"{place / 'bin'}:{os.environ['PATH']}", "RACKRECON_DATA": str(data)}
    found = list(blocks(page))
    assert found
    for command, lines in found:
        ended = subprocess.run(
            ["bash", "-c", command],
            cwd=place,
            env=environment | {"COLUMNS": "100", "PYTHONPATH": str(REPOSITORY)},
            capture_output=True,
            text=True,
            check=False,
            timeout=250,
        )
        assert ended.returncode in (0, 1 if "score" in command else 0), f"{command}\n{ended.stderr}"
        assert printed_as_shown(ended.stdout.splitlines(), lines), f"{command}\n{ended.stdout[:2000]}"


def printed_as_shown(printed: list[str], shown: list[str]) -> bool:
    """Return whether the lines are those shown; `...` stands for any lines, or for the rest of one."""
    pattern = "".join(
        "(.*\n)*" if line == "..." else ".*".join(re.escape(part) for part in line.split("...")) + "\n"
        for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in printed)) is not None


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a", "b"], ["a"], False),
        (["a", "b"], ["a", "..."], True),
        (["a 1 c"], ["a ... c"], True),
        (["b"], ["a", "..."], False),
    ],
)
def test_what_is_shown_is_compared_line_by_line(printed: list[str], shown: list[str], same: bool) -> None:
    assert printed_as_shown(printed, shown) is same
