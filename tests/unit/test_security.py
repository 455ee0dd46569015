"""What the package never does: run text as code, unpickle, start a shell, listen beyond this machine, show a secret."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines._cli.ui import HOST
from pipelines.settings import Secret, Settings, is_loopback

REPOSITORY = Path(__file__).resolve().parents[2]
MODULES = sorted((REPOSITORY / "pipelines").rglob("*.py"))

FORBIDDEN_NAMES = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
FORBIDDEN_MODULES = {
    "pickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "code",
    "codeop",
    "pty",
    "commands",
    "telnetlib",
}
FORBIDDEN_CALLS = {
    "os.system",
    "os.popen",
    "os.execv",
    "os.execvp",
    "os.spawnl",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "tempfile.mktemp",
    "yaml.unsafe_load",
    "yaml.full_load",
    "yaml.load_all",
}
SAFE_YAML_LOADERS = {"yaml.BaseLoader", "yaml.SafeLoader", "yaml.CBaseLoader", "yaml.CSafeLoader"}
READ_AS_PICKLE = {"read_pickle", "to_pickle", "load_pickle"}


def problems(source: str) -> Iterator[str]:
    """Give what a module does that none may."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from (f"imports {name}" for name in names if name.partition(".")[0] in FORBIDDEN_MODULES)
        elif isinstance(node, ast.Call):
            yield from problems_of_call(node)


def problems_of_call(call: ast.Call) -> Iterator[str]:
    name, keywords = ast.unparse(call.func), {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if name in FORBIDDEN_NAMES | FORBIDDEN_CALLS or name.rpartition(".")[2] in READ_AS_PICKLE:
        yield f"calls {name}"
    if keywords.get("shell", "False") != "False":
        yield f"{name} with shell={keywords['shell']}"
    if keywords.get("allow_pickle", "False") != "False":
        yield f"{name} with allow_pickle"
    if name in ("yaml.load", "yaml.parse", "yaml.compose") and keywords.get("Loader") not in SAFE_YAML_LOADERS:
        yield f"{name} without a safe loader"
    if keywords.get("verify") == "False":
        yield f"{name} without checking certificates"
    if keywords.get("autoescape") == "False" or (name.endswith("Environment") and keywords.get("autoescape") != "True"):
        yield f"{name} without escaping"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_no_module_runs_text_or_reads_objects(path: Path) -> None:
    assert list(problems(path.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "source",
    [
        "eval('1')",
        "exec(x)",
        "__import__(x)",
        "import pickle",
        "from pickle import loads",
        "import os\nos.system(x)",
        "subprocess.run(x, shell=True)",
        "subprocess.run(x, shell=wanted)",
        "yaml.load(x)",
        "yaml.load(x, Loader=yaml.Loader)",
        "yaml.unsafe_load(x)",
        "np.load(x, allow_pickle=True)",
        "pd.read_pickle(x)",
        "httpx.Client(verify=False)",
        "jinja2.Environment(loader=x)",
    ],
)
def test_each_of_these_is_seen(source: str) -> None:
    assert list(problems(source))


def test_what_looks_alike_is_left_alone() -> None:
    assert (
        list(problems("re.compile(x)\ncolumn.list.eval(x)\nsubprocess.run([a])\nyaml.parse(x, Loader=yaml.BaseLoader)"))
        == []
    )


def test_the_linter_looks_for_the_rest() -> None:
    lint = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]["lint"]
    assert "S" in lint["select"]
    assert {rule for rule in lint["ignore"] if rule.startswith("S")} == {"S101", "S603", "S607"}
    of_package = {rule for place, rules in lint["per-file-ignores"].items() if "pipelines" in place for rule in rules}
    assert not {rule for rule in of_package if re.match(r"S\d*$", rule)}


ALLOWED_REMARKS = {"S608", "S311"}
"""SQL put together from names of our own, and a random wait."""


def test_no_module_silences_the_linter_on_security() -> None:
    found = {
        (str(path.relative_to(REPOSITORY)), rule)
        for path in MODULES
        for rule in re.findall(r"\bS\d{3}\b", " ".join(re.findall(r"# noqa:[^\n]*", path.read_text("utf-8"))))
        if rule not in ALLOWED_REMARKS
    }
    assert found == set()


def test_the_ui_listens_on_this_machine_alone() -> None:
    assert is_loopback(HOST)
    bound = re.compile(r"0\.0\.0\.0|\"::\"|'::'")
    assert [str(path) for path in MODULES if bound.search(path.read_text("utf-8"))] == []


def test_secrets_come_from_the_environment_and_are_never_shown() -> None:
    secrets = {name: rule.variable for name, rule in Settings.reference().items() if "TOKEN" in rule.variable}
    assert secrets
    settings = Settings.from_environment(dict.fromkeys(secrets.values(), "very-secret"))
    for name in secrets:
        assert isinstance(getattr(settings, name), Secret)
    assert "very-secret" not in repr(settings)
    assert "very-secret" not in str(settings)
