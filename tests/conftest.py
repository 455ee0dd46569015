"""Shared fixtures: where the real data is."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The time of one example tells how busy a shared machine is, not whether the code is right. The examples are the same
# in every run, so that a change alone decides whether it passes; `pytest --hypothesis-profile=search` looks for others.
UNTIMED = [HealthCheck.too_slow]
settings.register_profile("steady", deadline=None, suppress_health_check=UNTIMED, derandomize=True)
settings.register_profile("search", deadline=None, suppress_health_check=UNTIMED, max_examples=2000)
settings.load_profile("steady")

REPOSITORY = Path(__file__).resolve().parents[1]


def shared_folder() -> Path:
    """Return the folder of real archives and golden figures; it need not exist."""
    return (REPOSITORY / os.environ.get("RACKRECON_SHARED", "../shared")).resolve()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of real data, or skip with the reason."""
    folder = shared_folder()
    if not (folder / "mlperf").is_dir():
        pytest.skip(f"no real data at {folder}: set RACKRECON_SHARED")
    return folder


@dataclass(frozen=True)
class S3Server:
    """A server that runs, and what a process needs to be let in."""

    endpoint: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "AKIALAKEWRITER000000",
            "AWS_SECRET_ACCESS_KEY": "never-to-be-shown-anywhere",
            "NO_PROXY": "127.0.0.1",
        }

    def make_bucket(self, name: str) -> None:
        request = urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            assert answer.status == 200


def start_s3_server(*arguments: str) -> tuple[subprocess.Popen[str], S3Server]:
    """Start a server; whoever starts it ends it."""
    command = [sys.executable, str(REPOSITORY / "tests" / "s3_server.py"), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = process.stdout.readline().strip()
    return process, S3Server(f"http://127.0.0.1:{port}")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """Give an S3-compatible server in a process of its own; for tests marked `server`."""
    process, server = start_s3_server()
    with process:
        try:
            yield server
        finally:
            process.kill()


@pytest.fixture
def s3_lake(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a bucket, point this process and those that it starts to a lake in it, and give the lake's location."""
    bucket = f"lake-{secrets.token_hex(4)}"
    s3_server.make_bucket(bucket)
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    location = f"s3://{bucket}/team/lake"
    monkeypatch.setenv("RACKRECON_LAKE", location)
    return location
