"""Who imports whom: the import contracts, what each pure room may import, what a command loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "pipelines"

HEAVY = {"polars", "dataframely", "duckdb", "dagster", "great_expectations", "pandas", "pyarrow", "numpy", "rich.table"}

STANDARD_FOR_PURE_ROOMS = {
    "__future__",
    "array",
    "bisect",
    "collections",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "enum",
    "fnmatch",
    "fractions",
    "functools",
    "hashlib",
    "html",
    "importlib",
    "io",
    "itertools",
    "json",
    "math",
    "operator",
    "posixpath",
    "re",
    "reprlib",
    "statistics",
    "string",
    "struct",
    "threading",
    "tomllib",
    "types",
    "typing",
    "unicodedata",
    "zlib",
}
"""What neither touches the world nor asks the clock; the calls of `datetime` that do are tested below."""

ALLOWED = {
    "modelling": {"polars", "numpy"},
    "scoring": {"polars", "numpy"},
    "reconciling": {"polars", "numpy"},
    "parsing": {"polars", "numpy", "pyarrow", "msgspec", "selectolax", "pdfplumber", "lxml", "yaml"},
}

BUILT_IN_WORLD = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint"}
WORLD_METHODS = {"now", "utcnow", "today", "fromtimestamp", "write_text", "write_bytes"}
WORLD_METHODS |= {"read_parquet", "scan_parquet", "write_parquet", "sink_parquet", "write_database", "read_database"}


def touches_the_world(call: ast.Call) -> bool:
    """Whether a call opens, prints, runs text as code, writes or asks the clock."""
    if isinstance(call.func, ast.Name):
        return call.func.id in BUILT_IN_WORLD
    return ast.unparse(call.func).rpartition(".")[2] in WORLD_METHODS


def modules(room: str) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((PACKAGE / room).rglob("*.py")):
        yield path, ast.parse(path.read_text("utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = {alias.name for alias in node.names}
            # A pure path is text; package data is found with importlib.resources.
            if not (node.module == "pathlib" and names <= {"PurePath", "PurePosixPath"}):
                yield node.module or ""


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_pure_rooms_import_only_what_they_may(room: str) -> None:
    allowed = ALLOWED[room] | STANDARD_FOR_PURE_ROOMS
    found = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path, tree in modules(room)
        for name in imported(tree)
        if name.partition(".")[0] not in allowed | {"pipelines", "dataframely"}
    }
    assert found == set()


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_pure_rooms_neither_open_files_nor_ask_the_clock(room: str) -> None:
    calls = {
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node.func)}"
        for path, tree in modules(room)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and touches_the_world(node)
    }
    assert calls == set()


@pytest.mark.parametrize(
    ("source", "touches"),
    [
        ("open('x')", True),
        ("datetime.now(UTC)", True),
        ("pl.read_parquet(x)", True),
        ("files('pipelines').joinpath('x').read_text()", False),
        ("self.open(x)", False),
        ("column.list.eval(x)", False),
    ],
)
def test_what_touches_the_world_is_seen(source: str, touches: bool) -> None:
    (call,) = [node.value for node in ast.parse(source).body if isinstance(node, ast.Expr)]
    assert isinstance(call, ast.Call)
    assert touches_the_world(call) == touches


def test_every_import_is_seen() -> None:
    tree = ast.parse("import socket\ndef f():\n    from urllib.request import urlopen")
    assert list(imported(tree)) == ["socket", "urllib.request"]


def test_import_contracts_hold() -> None:
    script = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=PACKAGE.parent, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_great_expectations_is_imported_inside_functions_only() -> None:
    for path, tree in modules("quality"):
        at_the_top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        names = list(imported(ast.Module(body=at_the_top, type_ignores=[])))
        assert not [name for name in names if name.startswith("great_expectations")], path


def test_only_one_module_may_open_connections() -> None:
    found = {
        str(path.relative_to(PACKAGE))
        for path, tree in modules(".")
        for name in imported(tree)
        if name.partition(".")[0] in {"httpx", "requests", "aiohttp", "urllib3", "hishel"}
    }
    assert found <= {"sources/http.py"}


def test_every_module_says_what_belongs_in_it() -> None:
    for path, tree in modules("."):
        assert (ast.get_docstring(tree) or "").strip().endswith((".", "?")), path


def loaded_by(statement: str) -> set[str]:
    script = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules), file=sys.__stdout__)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_the_command_loads_nothing_heavy() -> None:
    assert loaded_by("import pipelines.cli") & HEAVY == set()


def test_help_loads_nothing_heavy() -> None:
    statement = "from pipelines.cli import app\napp(['--help'], standalone_mode=False)"
    assert loaded_by(statement) & HEAVY <= {"rich.table"}


def test_a_query_needs_neither_dagster_nor_schemas() -> None:
    loaded = loaded_by("import pipelines._cli.query")
    assert loaded & {"dagster", "great_expectations", "dataframely", "pandas"} == set()


def test_a_refresh_without_work_needs_no_dagster() -> None:
    loaded = loaded_by("import pipelines._cli.refresh")
    assert loaded & {"dagster", "great_expectations", "pandas"} == set()


def test_a_lake_in_a_folder_loads_no_client_of_object_stores() -> None:
    statement = (
        "import pipelines._cli.query, pipelines._cli.refresh\n"
        "from pipelines.lake.storage import open_storage\nopen_storage('/nowhere')"
    )
    assert "obstore" not in loaded_by(statement)
    assert "obstore" in loaded_by("from pipelines.lake.storage import open_storage\nopen_storage('s3://bucket')")


def test_the_pure_rooms_load_no_engine() -> None:
    loaded = loaded_by("import pipelines.refreshing.stations, pipelines.parsing.result_logs")
    assert loaded & {"dagster", "great_expectations"} == set()
