"""A lake on an S3-compatible server: the same tables as in a folder, refreshes that race or die, faults in words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec
import obstore
import pytest
from polars.testing import assert_frame_equal

from pipelines.assets.execution import InProcessRunner, project_instance
from pipelines.definitions import build_definitions
from pipelines.lake.queries import query
from pipelines.lake.storage_bucket import Bucket, ChangedError
from pipelines.lake.tables import Lake
from pipelines.lake.warehouse_copy import current_warehouse
from pipelines.publishing.differences import LakeState, differences
from pipelines.refreshing import flow
from pipelines.refreshing.flow import ANSWERS, Report
from pipelines.refreshing.workshop import Workshop
from pipelines.schemas import TABLES
from pipelines.settings import Settings
from pipelines.snapshot import Snapshot
from tests.command import COMMAND, rackrecon
from tests.conftest import S3Server, start_s3_server

pytestmark = pytest.mark.server

SECRETS = ("AKIALAKEWRITER000000", "never-to-be-shown-anywhere", "session-token-of-the-lake")

Tarball = Callable[..., Path]
ROUND = "training-v5.0"
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def refreshed(settings: Settings, *paths: Path) -> tuple[Workshop, Report]:
    """Refresh the lake of the settings in this process, without what the package's own snapshot holds."""
    workshop = Workshop(settings, lambda: MOMENT)
    workshop.snapshot = Snapshot(settings.data / "no-snapshot")
    definitions = build_definitions(settings, {"workshop": workshop})
    with project_instance(settings.prepare_dagster_home()) as instance, workshop.refreshing():
        report = flow.refresh(workshop, paths, (), InProcessRunner(definitions, instance), lambda message: None)
    return workshop, report


def states(report: Report) -> dict[str, str]:
    return {part.name: part.state for part in report.parts}


def contents(lake: Lake) -> dict[str, bytes]:
    """Return every partition, its rows and its quarantine, as bytes."""
    return {
        key: lake.storage.read(key)
        for entry in TABLES.values()
        for folder in (f"{entry.layer}/{entry.short_name}", f"{entry.layer}/{entry.short_name}__quarantine")
        for key in lake.storage.list(folder)
        if key.endswith(".parquet")
    }


@pytest.fixture(scope="module")
def folder_for_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("object-store")


@pytest.fixture
def in_folder(folder_for_all: Path, settings: Settings, tarball: Tarball, suites_here: None) -> Lake:
    """Give what the tarball comes to in a folder; made once."""
    lake = folder_for_all / "lake"
    if not lake.is_dir():
        refreshed(replace(settings, data=folder_for_all, lake=str(lake)), tarball())
    return Lake.at(str(lake))


@pytest.mark.timeout(900)
def test_the_same_lake_as_in_a_folder_and_a_warehouse_for_all(
    s3_lake: str, settings: Settings, in_folder: Lake, tarball: Tarball, tmp_path: Path
) -> None:
    path, elsewhere = tarball(), tmp_path / "another machine" / "warehouse.duckdb"
    assert not current_warehouse(s3_lake, elsewhere).exists()

    in_bucket, report = refreshed(settings, path)
    assert states(report) == {ROUND: "refreshed", ANSWERS: "refreshed"}
    expected = contents(in_folder)
    assert {"raw/files", "core/runs", "mart/results"} <= {key.rpartition("/")[0] for key in expected}
    assert contents(in_bucket.lake) == expected
    for name, partition in partitions(in_folder):
        made, kept = in_folder.manifest(name, partition), in_bucket.lake.manifest(name, partition)
        assert made is not None
        assert kept is not None
        assert (made.sha256, made.quarantine_sha256, made.rows) == (kept.sha256, kept.quarantine_sha256, kept.rows)
    assert differences(LakeState(in_folder), LakeState(in_bucket.lake)).is_empty()

    _, again = refreshed(settings, path)
    assert again.is_unchanged
    first = scores(current_warehouse(s3_lake, elsewhere))
    assert first == scores(settings.warehouse) == [pytest.approx(27.0 * 1.01)]
    copy = elsewhere.resolve()
    assert copy.name == settings.warehouse.resolve().name
    assert current_warehouse(s3_lake, elsewhere).resolve() == copy

    with copy.open("rb") as held:
        _, changed = refreshed(settings, tarball(minutes=(20.0, 21.0, 22.0)))
        assert states(changed) == {ROUND: "refreshed", ANSWERS: "refreshed"}
        assert scores(current_warehouse(s3_lake, elsewhere)) == [pytest.approx(21.0 * 1.01)]
        assert held.read(12)[8:] == b"DUCK"
    assert elsewhere.resolve() != copy
    changes = query(settings.warehouse, "SELECT count(*) AS n FROM changes WHERE table_name = 'mart.results'")
    assert changes["n"][0] > 0
    assert kept_with_secrets(s3_lake, settings.data) == []


def partitions(lake: Lake) -> Iterator[tuple[str, str]]:
    for name in TABLES:
        for partition in lake.partitions(name):
            yield name, partition


def scores(warehouse: Path) -> list[float]:
    return query(warehouse, "SELECT score_minutes FROM mart.results")["score_minutes"].to_list()


def kept_with_secrets(location: str, data: Path) -> list[str]:
    """Return the objects of the bucket, and the files of the data folder, Dagster's too, that hold a credential."""
    store = Bucket(location)._store
    kept = {
        meta["path"]: bytes(obstore.get(store, meta["path"]).bytes())
        for listed in obstore.list(store)
        for meta in listed
    }
    kept |= {str(path): path.read_bytes() for path in data.rglob("*") if path.is_file()}
    assert any(key.startswith("core/runs/.objects/") for key in kept)
    assert any(key.endswith(".db") for key in kept)
    return [key for key, content in kept.items() if any(secret.encode() in content for secret in SECRETS)]


def start_refresh(data: Path, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "refresh", "--from", str(path), "--round", ROUND],
        env={**os.environ, "RACKRECON_DATA": str(data)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.timeout(900)
def test_a_machine_waits_for_another_and_takes_over_where_it_is_killed(
    s3_lake: str, in_folder: Lake, tarball: Tarball, tmp_path: Path
) -> None:
    path, bucket = tarball(), Bucket(s3_lake)
    first = start_refresh(tmp_path / "first", path)
    wait_until(lambda: bucket.version("inputs/training-v5.0.json") is not None)
    second = start_refresh(tmp_path / "second", path)
    wait_until(lambda: bucket.version(f"core/runs/{ROUND}.json") is not None)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    cut_leases_short(bucket, first.pid)

    lake = Lake.at(s3_lake)
    for name in TABLES:
        lake.read(name)
    _, told = second.communicate(timeout=800)
    assert second.returncode == 0, told
    assert f"waiting for another refresh to end: process {first.pid}" in told
    assert f"{ANSWERS}: refreshed" in told
    expected, found = contents(in_folder), contents(lake)
    assert found.keys() == expected.keys()
    told_apart_by_when = {f"raw/files/{ROUND}.parquet", f"core/sources/{ROUND}.parquet"}
    assert {key for key in expected if expected[key] != found[key]} == told_apart_by_when
    for name in ("raw.files", "core.sources"):
        assert_frame_equal(lake.read(name).drop("retrieved_at"), in_folder.read(name).drop("retrieved_at"))
    assert scores(current_warehouse(s3_lake, tmp_path / "warehouse.duckdb")) == [pytest.approx(27.0 * 1.01)]


def cut_leases_short(bucket: Bucket, dead: int) -> None:
    """Let the locks that a killed process left be over in a second, which else outlive it by their whole lease."""
    for listed in bucket.list(".locks"):
        if listed.key == ".locks/conditions":
            continue
        while True:
            lock = bucket.get(listed.key)
            record = msgspec.json.decode(lock.content)
            if (record["holder"] or {}).get("pid") != dead:
                break
            # What the process asked for last may be answered after its death.
            with suppress(ChangedError):
                bucket.replace(listed.key, msgspec.json.encode(record | {"lease_seconds": 1.0}), lock.version)
                break


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 400
    while not condition():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.05)


WRITER = """
import sys
import polars as pl
from pipelines.lake.tables import Lake
from pipelines.schemas import table

lake, first = Lake.at(sys.argv[1]), int(sys.argv[2])
schema = {name: column.dtype for name, column in table("core.sources").schema.columns().items()}
usual = dict.fromkeys(schema) | {"source": "s", "commit": "c", "retrieved_at": "2026-06-01T12:00:00+00:00"}

def row(name, version, files):
    return usual | {"round": name, "size_bytes": version, "file_count": files}

for version in range(first, 1_000_000, 2):
    rows = [row(f"r{index}", version, 1) for index in range(50)] + [row("bad", version, -1)] * (version % 3 > 0)
    frame = pl.DataFrame(rows, schema=schema)
    lake.write("core.sources", frame, "training-v5.0", inputs={"v": str(version)}, code_version="1")
    print(version, flush=True)
"""


@contextmanager
def writer(location: str, first: int) -> Iterator[subprocess.Popen[str]]:
    """Run a process that writes one version of a partition after the other, until it is killed."""
    arguments = [sys.executable, "-c", WRITER, location, str(first)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def versions_of(process: subprocess.Popen[str], count: int) -> list[int]:
    assert process.stdout is not None
    return [int(process.stdout.readline()) for _ in range(count)]


def version_in(lake: Lake) -> int:
    return int(lake.read("core.sources")["size_bytes"][0])


def check_whole(lake: Lake) -> None:
    """Assert that rows are of one version, and that manifest, rows and quarantine go together where all are there."""
    rows = lake.read("core.sources")
    assert (rows.height, rows["size_bytes"].n_unique()) == (50, 1)
    manifest = lake.manifest("core.sources", ROUND)
    if manifest is not None:
        version = rows["size_bytes"][0]
        assert manifest.inputs == {"v": str(version)}
        assert manifest.sha256 == sha256(lake.storage.read(f"core/sources/{ROUND}.parquet")).hexdigest()
        quarantine = lake.read_quarantine("core.sources", ROUND)
        assert quarantine.height == (version % 3 > 0)
        assert all(f'"size_bytes":{version}' in row for row in quarantine["row"])


@pytest.mark.timeout(900)
def test_two_writers_of_one_partition_never_mix_and_may_be_killed(s3_lake: str) -> None:
    lake, bucket = Lake.at(s3_lake), Bucket(s3_lake)
    for _ in range(2):
        with writer(s3_lake, 0) as even, writer(s3_lake, 1) as odd:
            for process in (even, odd, even, odd):
                assert versions_of(process, 2)
                assert lake.read("core.sources")["size_bytes"].n_unique() == 1
            even.kill()
            even.wait()
            cut_leases_short(bucket, even.pid)
            left = version_in(lake)
            # The other goes on once the lock of the dead one is over.
            wait_until(lambda left=left: version_in(lake) not in (left, left + 1))
            odd.kill()
            odd.wait()
            cut_leases_short(bucket, odd.pid)
        check_whole(lake)


@pytest.fixture(scope="module")
def strict_server() -> Iterator[S3Server]:
    """Give a server that lets nobody in whom it does not know."""
    process, server = start_s3_server("strict")
    with process:
        try:
            yield server
        finally:
            process.kill()


FAULTS: Mapping[str, tuple[dict[str, str], str]] = {
    "no such bucket": (
        {"RACKRECON_LAKE": "s3://no-such-bucket/lake"},
        "s3://no-such-bucket/lake: there is no bucket 'no-such-bucket' at {endpoint}: create it, or correct "
        "RACKRECON_LAKE or AWS_ENDPOINT_URL",
    ),
    "wrong credentials": (
        {"AWS_ENDPOINT_URL": "{strict}", "AWS_SESSION_TOKEN": SECRETS[2]},
        "{strict} refuses the credentials (InvalidAccessKeyId): correct AWS_ACCESS_KEY_ID",
    ),
    "nobody answers": (
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
        "http://127.0.0.1:9 cannot be reached, or broke off: correct AWS_ENDPOINT_URL, or try again later",
    ),
    "no TLS": (
        {"AWS_ENDPOINT_URL": "http://storage.example.org"},
        "AWS_ENDPOINT_URL: expected an address that starts with https:// (http:// on this machine), "
        "found 'http://storage.example.org'",
    ),
    "credentials in the endpoint": (
        {"AWS_ENDPOINT_URL_S3": f"https://{SECRETS[0]}:{SECRETS[1]}@storage.example.org"},
        "AWS_ENDPOINT_URL_S3: expected an address without a user's name or password",
    ),
    "credentials in the location": (
        {"RACKRECON_LAKE": f"s3://{SECRETS[0]}:{SECRETS[1]}@bucket/lake"},
        "RACKRECON_LAKE: expected a folder, or a bucket and prefix as s3://bucket/prefix, found \"one with a user's",
    ),
}


@pytest.mark.parametrize(
    ("fault", "command"),
    [*((fault, ("query", "FROM about")) for fault in FAULTS), ("nobody answers", ("check",)), ("no TLS", ("refresh",))],
)
def test_a_fault_ends_with_2_and_what_to_change(
    s3_lake: str,
    s3_server: S3Server,
    strict_server: S3Server,
    settings: Settings,
    fault: str,
    command: tuple[str, ...],
) -> None:
    environment, message = FAULTS[fault]
    names = {"endpoint": s3_server.endpoint, "strict": strict_server.endpoint}
    result = rackrecon(*command, **{name: value.format(**names) for name, value in environment.items()})
    assert result.returncode == 2, result.stderr
    assert message.format(**names) in result.stderr
    assert "Traceback" not in result.stderr
    assert not [secret for secret in SECRETS if secret in result.stdout + result.stderr]
