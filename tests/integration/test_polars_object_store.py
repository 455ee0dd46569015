"""Why Polars' own object-store support does not read a lake's partitions: what it does, beside what the lake does.

Where one of these fails for Polars' part, the reason given in docs/architecture.md is gone.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from pipelines.lake import storage_objects
from pipelines.lake.storage import LakeError
from pipelines.lake.storage_bucket import Bucket
from pipelines.lake.tables import Lake
from pipelines.schemas import table
from tests.conftest import S3Server

pytestmark = pytest.mark.server

NAME, ROUND = "core.steps", "training-v5.0"
ROWS = 20_000


def steps() -> pl.DataFrame:
    """Return steps whose seconds are all different, as measured times are."""
    columns = table(NAME).schema.columns()
    usual = {"round": ROUND, "source_path": "p", "source_sha256": "0" * 64, "run_id": "p"}
    frame = pl.DataFrame({"sequence": range(ROWS)}, schema={"sequence": pl.Int64}).with_columns(
        *(pl.lit(value).alias(name) for name, value in usual.items()), step_seconds=1 + (pl.col("sequence") * 7.3) % 11
    )
    return frame.with_columns(pl.lit(None, columns[name].dtype).alias(name) for name in columns if name not in frame)


def test_polars_takes_a_turned_bit_for_a_value_and_the_lake_does_not(
    s3_lake: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_objects, "_AT_ONCE_BYTES", 0)
    lake, bucket = Lake.at(s3_lake), Bucket(s3_lake)
    lake.write(NAME, steps().select(table(NAME).schema.column_names()), ROUND, inputs={}, code_version="1")
    (kept,) = bucket.list("core/steps/.objects")
    whole, version = bucket.get(kept.key).content, kept.version
    true = lake.read(NAME)["step_seconds"]
    taken_by_polars = taken_by_lake = 0
    for place in places_of_seconds(whole):
        turned = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        version = bucket.replace(kept.key, turned, version)
        taken_by_polars += is_taken_for_true(polars_seconds(f"{s3_lake}/{kept.key}", s3_server.endpoint), true)
        taken_by_lake += is_taken_for_true(lake_seconds(lake), true)
    assert (taken_by_lake, taken_by_polars > 10) == (0, True)


def places_of_seconds(whole: bytes) -> range:
    """Return 20 places among the bytes that hold the seconds."""
    group = pq.ParquetFile(io.BytesIO(whole)).metadata.row_group(0)
    (chunk,) = [
        chunk for chunk in map(group.column, range(group.num_columns)) if chunk.path_in_schema == "step_seconds"
    ]
    return range(chunk.data_page_offset + 100, chunk.data_page_offset + 2_100, 100)


def is_taken_for_true(found: pl.Series | None, true: pl.Series) -> bool:
    """Whether something else than the truth was read, and no error."""
    return found is not None and not found.equals(true)


def polars_seconds(address: str, endpoint: str) -> pl.Series | None:
    options = {"endpoint_url": endpoint, "allow_http": "true"}
    rows = pl.scan_parquet(address, storage_options=options, credential_provider=None, glob=False)
    try:
        return rows.select("step_seconds").collect()["step_seconds"]
    except pl.exceptions.PolarsError:
        return None


def lake_seconds(lake: Lake) -> pl.Series | None:
    try:
        return pl.concat(lake.iter_batches(NAME, ROUND, ["step_seconds"]))["step_seconds"]
    except LakeError:
        return None


class Machine(BaseHTTPRequestHandler):
    """The metadata service of a machine with a role and an empty store in one; notes which key asks the store."""

    asked_by: list[str]

    def do_PUT(self) -> None:
        self._answer(200, b"token of the metadata service")

    def do_GET(self) -> None:
        if not self.path.startswith("/latest/"):
            credential = self.headers["Authorization"].partition("Credential=")[2].partition("/")[0]
            self.asked_by.append(credential)
            self._answer(404, b"")
        elif self.path.endswith("/security-credentials/"):
            self._answer(200, b"role")
        else:
            key = {"AccessKeyId": "OFTHEROLE", "SecretAccessKey": "s", "Token": "t", "Code": "Success"}
            times = {"Expiration": "2199-01-01T00:00:00Z", "LastUpdated": "2026-01-01T00:00:00Z"}
            self._answer(200, json.dumps(key | times | {"Type": "AWS-HMAC"}).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""


@contextmanager
def machine() -> Iterator[tuple[str, list[str]]]:
    """Give the address of the metadata service and store, and the list of the keys that asked the store."""
    asked_by = list[str]()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Machine,), {"asked_by": asked_by}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked_by
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


BY_POLARS = """
import os, polars
options = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"], "allow_http": "true"}
polars.scan_parquet("s3://bucket/x", storage_options=options, credential_provider=None, glob=False).collect()
"""
BY_LAKE = """
from pipelines.lake.storage_bucket import Bucket
Bucket("s3://bucket").get("x")
"""


@pytest.mark.parametrize(("reader", "key"), [(BY_POLARS, "OFTHEFILE"), (BY_LAKE, "OFTHEROLE")], ids=["Polars", "lake"])
def test_polars_takes_the_keys_of_a_file_before_those_of_the_role_and_the_lake_does_not(
    tmp_path: Path, reader: str, key: str
) -> None:
    (tmp_path / ".aws").mkdir()
    lines = ["[default]", "aws_access_key_id = OFTHEFILE", "aws_secret_access_key = s", ""]
    (tmp_path / ".aws" / "credentials").write_text("\n".join(lines))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with machine() as (address, asked_by):
        environment = {"HOME": str(tmp_path), "AWS_ENDPOINT_URL": address, "AWS_METADATA_ENDPOINT": address}
        result = subprocess.run(
            [sys.executable, "-c", reader],
            env=kept | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
    assert set(asked_by) == {key}, result.stderr
