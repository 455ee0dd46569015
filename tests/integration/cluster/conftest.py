"""A scheduler and workers, and PostgreSQL, each as processes of their own on the loopback address."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from distributed import Client

from tests.command import free_port
from tests.integration.cluster import holding

REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = REPOSITORY / "docs" / "deployment.md"
_START_SECONDS = 240


def shown_command(program: str) -> list[str]:
    """Return the command of that program as docs/deployment.md shows it, for the environment that runs this."""
    (line,) = re.findall(rf"^\.venv/bin/dask {program} .*$", PAGE.read_text("utf-8"), re.MULTILINE)
    return [sys.executable, "-m", "dask", *shlex.split(line)[1:]]


def shown_dagster_yaml() -> str:
    """Return the instance's settings as docs/deployment.md shows them."""
    (text,) = re.findall(r"```yaml title=dagster\.yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return str(text)


@dataclass
class DaskCluster:
    """A scheduler whose workers are started and killed one by one."""

    folder: Path
    address: str = ""
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _scheduler: subprocess.Popen[bytes] | None = None

    def start_scheduler(self) -> None:
        port = str(free_port())
        self.address = f"tcp://127.0.0.1:{port}"
        here = {"10.0.0.1": "127.0.0.1", "8786": port}
        command = [here.get(word, word) for word in shown_command("scheduler")]
        self._scheduler = self._start("scheduler", command, {}, "Scheduler at")

    def kill_scheduler(self) -> None:
        """Kill the scheduler as a machine that loses its power would."""
        assert self._scheduler is not None
        self._scheduler.kill()
        self._scheduler.wait()

    def start_worker(
        self, name: str, environment: Mapping[str, str | None] | None = None, hold_at: str | None = None
    ) -> None:
        """Start a worker; a variable that is None is taken out of its environment.

        Args:
            name: Name.
            environment: Variables beside those of this process.
            hold_at: Place of `holding` where it stops until it is let go.
        """
        here = {"tcp://10.0.0.1:8786": self.address, "8": "1"}
        command = [here.get(word, word) for word in shown_command("worker")]
        # without the nanny, which would start it again, a killed worker is a lost machine
        own = ["--name", name, "--host", "127.0.0.1", "--no-nanny", "--local-directory", str(self.folder / name)]
        if hold_at is not None:
            self.hold()
            own += ["--preload", holding.__file__]
            environment = {**(environment or {}), holding.VARIABLE: f"{hold_at}:{self._hold}"}
        sign = "Starting established connection"
        self.workers[name] = self._start(name, [*command, *own], environment or {}, sign)

    def hold(self) -> None:
        """Let workers stop at their place, also those that were let go."""
        shutil.rmtree(self._hold, ignore_errors=True)
        self._hold.mkdir()

    def wait_until_held(self, command: subprocess.Popen[str] | None = None) -> None:
        """Wait until a worker is at its place, while the command runs, where one sent it there."""
        deadline = time.monotonic() + _START_SECONDS
        while not (self._hold / "held").exists():
            assert command is None or command.poll() is None, command.communicate()
            assert time.monotonic() < deadline, "no worker came there"
            time.sleep(0.01)

    def let_go(self) -> str:
        """Let the worker go on; return what came of the work that was held: `done`, or what the error says."""
        (self._hold / "go").touch()
        deadline = time.monotonic() + _START_SECONDS
        while not (self._hold / "over").exists():
            assert time.monotonic() < deadline, "the worker did not go on"
            time.sleep(0.01)
        return (self._hold / "over").read_text("utf-8")

    def wait_until_given_up(self) -> None:
        """Wait until the scheduler has nothing for its workers to do, whatever these are still about."""
        with Client(self.address, set_as_default=False) as client:
            self._wait_until_none(client.processing)

    def wait_until_idle(self) -> None:
        """Wait until no worker is about a task, be it one that it ends for nobody; results may lie in its memory."""
        with Client(self.address, set_as_default=False) as client:
            self._wait_until_none(
                lambda: client.run(
                    lambda dask_worker: [key for key, task in dask_worker.state.tasks.items() if task.state != "memory"]
                )
            )

    def _wait_until_none(self, tasks: Callable[[], Mapping[str, object]]) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while any(tasks().values()):
            assert time.monotonic() < deadline, tasks()
            time.sleep(0.01)

    @property
    def _hold(self) -> Path:
        return self.folder / "hold"

    def kill_worker(self, name: str) -> None:
        """Kill a worker as a machine that loses its power would."""
        self.workers.pop(name).kill()

    def worker_at(self, address: str) -> str:
        """Return the name of the worker at an address, which its log tells."""
        (name,) = [name for name in self.workers if f" {address}\n" in (self.folder / f"{name}.log").read_text()]
        return name

    def stop(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()

    def _start(
        self, name: str, command: list[str], environment: Mapping[str, str | None], sign: str
    ) -> subprocess.Popen[bytes]:
        environ = {key: value for key, value in {**os.environ, **environment}.items() if value is not None}
        log = self.folder / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environ, cwd=self.folder)
        self._started.append(process)
        deadline = time.monotonic() + _START_SECONDS
        while sign not in log.read_text(errors="replace"):
            assert process.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < deadline, f"{name} did not start: {log.read_text(errors='replace')}"
            time.sleep(0.1)
        return process


@pytest.fixture
def dask_cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    """Give a scheduler without a worker."""
    with running_scheduler(tmp_path / "dask") as cluster:
        yield cluster


@contextmanager
def running_scheduler(folder: Path) -> Iterator[DaskCluster]:
    folder.mkdir()
    cluster = DaskCluster(folder)
    try:
        cluster.start_scheduler()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def postgres_environment() -> Iterator[Mapping[str, str]]:
    """Start PostgreSQL in a folder of its own and give the variables that docs/deployment.md names for it.

    It refuses to run as root, so there it runs as the user that its package makes.
    """
    as_user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    password, port = secrets.token_hex(8), free_port()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="rackrecon-postgres-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        password_file = folder / "password"
        password_file.write_text(password)
        if as_user:
            for path in (folder, password_file):
                shutil.chown(path, "postgres", "postgres")
        options = ["--auth=scram-sha-256", "--username=dagster", f"--pwfile={password_file}", "--no-sync"]
        initdb = [_program("initdb"), "--pgdata", str(folder / "data"), "--encoding=UTF8", "--locale=C", *options]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder, **as_user)  # type: ignore[call-overload]
        serve = [_program("postgres"), "-D", str(folder / "data"), "-p", str(port), "-k", str(folder), "-F"]
        server = stack.enter_context(
            subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, **as_user)
        )
        stack.callback(server.terminate)
        _wait_until_ready(port)
        yield {
            "RACKRECON_POSTGRES_HOST": "127.0.0.1",
            "RACKRECON_POSTGRES_PORT": str(port),
            "RACKRECON_POSTGRES_USER": "dagster",
            "RACKRECON_POSTGRES_PASSWORD": password,
            "RACKRECON_POSTGRES_DATABASE": "postgres",
        }


@pytest.fixture
def postgres(postgres_environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the Dagster instance of the test's data folder in PostgreSQL, by the settings that the docs show."""
    for name, value in postgres_environment.items():
        monkeypatch.setenv(name, value)
    home = tmp_path / "data" / "dagster"
    home.mkdir(parents=True)
    (home / "dagster.yaml").write_text(shown_dagster_yaml(), "utf-8")


def _program(name: str) -> str:
    """Find a program of PostgreSQL's server, which Debian keeps off the path."""
    found = [shutil.which(name), *map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True))]
    first = next(filter(None, found), None)
    assert first is not None, f"no {name}: install Debian's package postgresql, as .ci/run does"
    return first


def _wait_until_ready(port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    command = [_program("pg_isready"), "-h", "127.0.0.1", "-p", str(port)]
    while subprocess.run(command, capture_output=True).returncode != 0:
        assert time.monotonic() < deadline, "PostgreSQL did not start"
        time.sleep(0.2)


def start_command(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start `rackrecon` as a terminal does, where SIGINT is heard."""
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    return subprocess.Popen(
        [sys.executable, "-c", f"{code}from pipelines.__main__ import main; main()", *arguments],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
