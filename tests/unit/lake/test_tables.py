"""The lake: partitions replaced whole, streamed in any order, told fresh by manifests, refused when too new."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pipelines.lake import partitions, ranged_file, storage_bucket, storage_objects
from pipelines.lake.gate import ColumnsError
from pipelines.lake.manifests import SCHEMA_VERSION, LakeVersionError
from pipelines.lake.storage import LakeError, StorageError
from pipelines.lake.storage_bucket import Bucket
from pipelines.lake.tables import Lake, MissingPartitionError
from tests.conftest import start_s3_server

ROUND = "training-v5.0"
MADE = {"inputs": {"a": "1"}, "code_version": "1"}
Sources = Callable[..., pl.DataFrame]
Steps = Callable[..., pl.DataFrame]


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.server)])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """Give an empty lake in a folder, and one in a bucket."""
    location = str(tmp_path / "lake") if request.param == "folder" else request.getfixturevalue("s3_lake")
    return Lake.at(location, clock=lambda: datetime(2026, 6, 1, 12, tzinfo=UTC))


def objects(lake: Lake, name: str = "core/sources") -> dict[str, bytes]:
    """Return every object of a table."""
    return {
        key: lake.storage.read(key) for folder in (name, f"{name}__quarantine") for key in lake.storage.list(folder)
    }


def files(lake_folder: Path) -> dict[str, bytes]:
    """Return every file of a folder, hidden ones too."""
    return {str(path.relative_to(lake_folder)): path.read_bytes() for path in lake_folder.rglob("*") if path.is_file()}


def test_a_written_partition_is_read_back(lake: Lake, sources: Sources) -> None:
    manifest = lake.write("core.sources", sources({}), ROUND, **MADE)
    assert (manifest.rows, manifest.quarantined_rows, manifest.duplicate_rows) == (1, 0, 0)
    assert_frame_equal(lake.read("core.sources"), sources({}))
    assert lake.partitions("core.sources") == [ROUND]
    assert lake.rounds() == [ROUND]
    assert lake.manifest("core.sources", ROUND) == manifest


def test_an_empty_lake_has_tables_without_rows(lake: Lake) -> None:
    assert lake.read("core.steps").shape == (0, 14)
    assert lake.read("mart.results", []).is_empty()
    assert lake.partitions("core.steps") == []
    assert lake.manifest("core.steps", ROUND) is None


def test_a_partition_is_replaced_whole(lake: Lake, sources: Sources) -> None:
    lake.write("core.sources", sources({"round": "a"}, {"round": "b"}), ROUND, **MADE)
    lake.write("core.sources", sources({"round": "c"}), ROUND, **MADE)
    assert lake.read("core.sources")["round"].to_list() == ["c"]


def test_partitions_are_chosen_by_name(lake: Lake, sources: Sources) -> None:
    for name in ("a", "b", "c"):
        lake.write("core.sources", sources({"round": name}), name, **MADE)
    assert lake.read("core.sources", ["c", "a", "a"])["round"].to_list() == ["c", "a"]
    with pytest.raises(MissingPartitionError, match=r"no partition 'd' in .*; there are: a, b, c"):
        lake.read("core.sources", ["d"])


def test_a_table_of_one_partition(lake: Lake) -> None:
    empty = lake.read("mart.rack_audit")
    lake.write("mart.rack_audit", empty, **MADE)
    assert lake.partitions("mart.rack_audit") == ["all"]
    written = lake.manifest("mart.rack_audit")
    assert written is not None
    assert lake.write("mart.rack_audit", empty, "all", **MADE) == lake.manifest("mart.rack_audit", "all") == written
    assert lake.manifests(["mart.rack_audit", "mart.names"]) == {"mart.rack_audit": written}
    with pytest.raises(LakeError, match="has a single partition, found"):
        lake.write("mart.rack_audit", empty, ROUND, **MADE)


def test_quarantine_holds_what_the_gate_refused_and_goes_with_the_reason(lake: Lake, sources: Sources) -> None:
    manifest = lake.write("core.sources", sources({"round": "a"}, {"round": "b", "file_count": -1}), ROUND, **MADE)
    assert (manifest.rows, manifest.quarantined_rows) == (1, 1)
    quarantine = lake.read_quarantine("core.sources", ROUND)
    assert quarantine.select("rule", "column").rows() == [("min", "file_count")]
    assert json.loads(quarantine["row"][0])["round"] == "b"
    again = lake.write("core.sources", sources({"round": "a"}), ROUND, **MADE)
    assert again.quarantine_sha256 is None
    assert lake.read_quarantine("core.sources", ROUND).is_empty()
    assert lake.storage.list("core/sources__quarantine") == []


def test_the_same_rows_in_any_order_give_the_same_bytes(lake: Lake, sources: Sources) -> None:
    rows = [{"round": name, "file_count": index} for index, name in enumerate("hgfedcba")]
    first = lake.write("core.sources", sources(*rows), ROUND, **MADE)
    second = lake.write("core.sources", sources(*reversed(rows), *rows), ROUND, **MADE)
    assert first.sha256 == second.sha256
    assert second.duplicate_rows == 8


@pytest.mark.parametrize(
    "partition", ["..", ".", "../../etc", "a/b", "a b", "é\u202e", "%2e", ".hidden", "a\nb", "all"]
)
def test_partition_names_are_no_keys(lake: Lake, sources: Sources, partition: str) -> None:
    lake.write("core.sources", sources({}), partition, **MADE)
    assert lake.partitions("core.sources") == [partition]
    assert lake.read("core.sources", [partition]).height == 1
    lake.delete("core.sources", partition)
    assert lake.partitions("core.sources") == []


@pytest.mark.parametrize("partition", ["..", "../../etc", "a/b", "%2e", ".hidden"])
def test_partition_names_are_no_paths(sources: Sources, partition: str, tmp_path: Path) -> None:
    lake = Lake.at(str(tmp_path / "lake"))
    lake.write("core.sources", sources({}), partition, **MADE)
    inside = tmp_path / "lake" / "core" / "sources"
    assert {path.suffix for path in inside.iterdir()} == {".parquet", ".json", ".lock"}
    assert set(files(tmp_path)) == {f"lake/core/sources/{name}" for name in files(inside)}


@pytest.mark.parametrize("partition", [None, "", "x" * 300])
def test_partition_names_that_cannot_be(lake: Lake, sources: Sources, partition: str | None) -> None:
    with pytest.raises(LakeError, match="expected a partition of 1 to 200 characters"):
        lake.write("core.sources", sources({}), partition, **MADE)


def test_table_names_are_no_paths(lake: Lake, sources: Sources) -> None:
    with pytest.raises(KeyError, match=r"no table '\.\./x'"):
        lake.write("../x", sources({}), ROUND, **MADE)


def test_freshness_is_decided_from_the_manifest(lake: Lake, sources: Sources) -> None:
    assert not lake.is_fresh("core.sources", ROUND, **MADE)
    lake.write("core.sources", sources({}), ROUND, **MADE)
    assert lake.is_fresh("core.sources", ROUND, **MADE)
    assert not lake.is_fresh("core.sources", ROUND, inputs={"a": "2"}, code_version="1")
    assert not lake.is_fresh("core.sources", ROUND, inputs={}, code_version="1")
    assert not lake.is_fresh("core.sources", ROUND, inputs={"a": "1"}, code_version="2")


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff", b"[1"])
def test_a_damaged_manifest_means_not_fresh(lake: Lake, sources: Sources, damage: bytes) -> None:
    lake.write("core.sources", sources({}), ROUND, **MADE)
    lake.storage.write(f"core/sources/{ROUND}.json", damage)
    assert not lake.is_fresh("core.sources", ROUND, **MADE)
    assert lake.read("core.sources").height == 1


def test_a_truncated_partition_is_not_fresh_and_is_named(lake: Lake, sources: Sources) -> None:
    lake.write("core.sources", sources({}), ROUND, **MADE)
    key = f"core/sources/{ROUND}.parquet"
    lake.storage.write(key, lake.storage.read(key)[:-10])
    assert not lake.is_fresh("core.sources", ROUND, **MADE)
    with pytest.raises(LakeError, match=f"{ROUND}.parquet: not a whole Parquet file"):
        lake.read("core.sources")
    lake.write("core.sources", sources({}), ROUND, **MADE)
    assert lake.read("core.sources").height == 1


def put_unnoticed(lake: Lake, key: str, content: bytes) -> None:
    """Put other bytes in place of the only ones that a folder of the lake ever held, as a failing disk would."""
    place = lake.storage.url(key)
    if not place.startswith("s3://"):
        Path(place).write_bytes(content)
        return
    location, folder = place.removesuffix(f"/{key}"), key.rpartition("/")[0]
    bucket = Bucket(location)
    (kept,) = bucket.list(f"{folder}/.objects")
    bucket.replace(kept.key, content, kept.version)


def test_a_partition_cut_off_in_place_is_named(lake: Lake, sources: Sources) -> None:
    lake.write("core.sources", sources({}), ROUND, **MADE)
    key = f"core/sources/{ROUND}.parquet"
    put_unnoticed(lake, key, lake.storage.read(key)[:-10])
    with pytest.raises(LakeError, match=f"{lake.storage.url(key)}: .*remove .*a refresh makes it again"):
        lake.read("core.sources")


def test_a_name_that_turned_in_the_footer_is_found(lake: Lake, sources: Sources) -> None:
    lake.write("core.sources", sources({}), ROUND, **MADE)
    key = f"core/sources/{ROUND}.parquet"
    put_unnoticed(lake, key, lake.storage.read(key).replace(b"licence", b"\xecicence"))
    with pytest.raises(LakeError, match=f"{lake.storage.url(key)}: .*remove .*a refresh makes it again"):
        lake.read("core.sources")


def test_a_lake_of_a_newer_program_is_refused_both_ways(lake: Lake, sources: Sources) -> None:
    lake.write("core.sources", sources({}), ROUND, **MADE)
    key = f"core/sources/{ROUND}.json"
    lake.storage.write(key, lake.storage.read(key).replace(b'"schema_version": 1', b'"schema_version": 99'))
    before = objects(lake)
    message = f"{ROUND}.json: written with schema version 99; this program reads up to {SCHEMA_VERSION}: update it"
    with pytest.raises(LakeVersionError, match=message):
        lake.read("core.sources")
    with pytest.raises(LakeVersionError, match=message):
        lake.write("core.sources", sources({}), ROUND, **MADE)
    assert objects(lake) == before


def test_a_partition_of_an_older_program_is_rebuilt(lake: Lake, sources: Sources) -> None:
    lake.write("core.sources", sources({}), ROUND, **MADE)
    older = io.BytesIO()
    sources({}).drop("licence").write_parquet(older)
    lake.storage.write(f"core/sources/{ROUND}.parquet", older.getvalue())
    with pytest.raises(ColumnsError, match="a refresh rebuilds it"):
        lake.read("core.sources")
    lake.write("core.sources", sources({}), ROUND, **MADE)
    assert lake.read("core.sources").height == 1


def test_a_missing_column_leaves_the_lake_as_it_was(lake: Lake, sources: Sources) -> None:
    lake.write("core.sources", sources({}), ROUND, **MADE)
    before = objects(lake)
    with pytest.raises(ColumnsError, match="missing: commit"):
        lake.write("core.sources", sources({}).drop("commit"), ROUND, **MADE)
    assert objects(lake) == before


def test_an_error_while_streaming_leaves_the_lake_as_it_was(lake: Lake, sources: Sources) -> None:
    lake.write("core.sources", sources({}), ROUND, **MADE)
    before = objects(lake)
    with pytest.raises(ZeroDivisionError), lake.writer("core.sources", ROUND, **MADE) as pending:
        pending.append(sources({"round": "other", "file_count": 1 // 0}))
    assert objects(lake) == before
    assert lake.read("core.sources")["round"].to_list() == [ROUND]
    with pytest.raises(LakeError, match="still being written"):
        _ = pending.manifest


@pytest.mark.parametrize("order", [range(9), range(8, -1, -1), [4, 1, 7, 0, 8, 3, 5, 2, 6]])
def test_batches_in_any_order_give_one_sorted_partition(
    lake: Lake, steps: Steps, monkeypatch: pytest.MonkeyPatch, order: list[int]
) -> None:
    monkeypatch.setattr(partitions, "BATCH_BYTES", 2_000)
    with lake.writer("core.steps", ROUND, **MADE) as pending:
        for index in order:
            pending.append(steps(f"p{index}", 100))
    whole = pl.concat([steps(f"p{index}", 100) for index in range(9)])
    assert pending.manifest.rows == 900
    assert_frame_equal(lake.read("core.steps"), whole)
    batches = list(lake.iter_batches("core.steps", ROUND, ["source_path", "sequence"]))
    assert len(batches) >= 3
    assert_frame_equal(pl.concat(batches), whole.select("source_path", "sequence"))


def test_keys_that_come_back_in_a_later_batch(lake: Lake, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "BATCH_BYTES", 1)
    with lake.writer("core.steps", ROUND, **MADE) as pending:
        pending.append(steps("a", 3))
        pending.append(steps("b", 3))
        pending.append(steps("a", 2))
        pending.append(steps("b", 2, seconds=2.0))
    manifest = pending.manifest
    assert (manifest.rows, manifest.duplicate_rows, manifest.quarantined_rows) == (4, 2, 4)
    kept = lake.read("core.steps").select("source_path", "sequence").rows()
    assert kept == [("a", 0), ("a", 1), ("a", 2), ("b", 2)]
    assert set(lake.read_quarantine("core.steps", ROUND)["rule"]) == {"primary_key"}


def write_steps(lake: Lake, steps: Steps, seconds: float, partition: str = ROUND) -> None:
    with lake.writer("core.steps", partition, **MADE) as pending:
        for index in range(5):
            pending.append(steps(f"p{index}", 50, seconds=seconds))


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every partition of several row groups, too long to be fetched from a store at once."""
    monkeypatch.setattr(partitions, "BATCH_BYTES", 2_000)
    monkeypatch.setattr(storage_objects, "_AT_ONCE_BYTES", 1)
    monkeypatch.setattr(ranged_file, "BUFFER_BYTES", 64)


@pytest.mark.usefixtures("small_batches")
def test_a_bit_that_turned_in_a_page_is_found_and_the_partition_is_named(lake: Lake, steps: Steps) -> None:
    write_steps(lake, steps, 1.0)
    key = f"core/steps/{ROUND}.parquet"
    whole, rows = lake.storage.read(key), lake.read("core.steps")
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    unseen, found = list[int](), list[str]()
    for place in range(4, footer, 97):
        put_unnoticed(lake, key, whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        try:
            unseen += [place] if not lake.read("core.steps").equals(rows) else []
        except LakeError as error:
            found.append(str(error))
    assert unseen == []
    assert len(found) > 10
    assert [told for told in found if not told.startswith(f"{lake.storage.url(key)}: not a whole Parquet file")] == []


@pytest.mark.server
@pytest.mark.usefixtures("small_batches")
def test_a_store_that_goes_while_a_partition_is_read_is_named(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_bucket, "_RETRIES", 1)
    process, server = start_s3_server()
    with process:
        try:
            server.make_bucket("gone")
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
            lake = Lake.at("s3://gone/lake")
            write_steps(lake, steps, 1.0)
            batches = lake.iter_batches("core.steps", ROUND)
            assert next(batches).height > 0
        finally:
            process.kill()
    message = rf"s3://gone/lake/core/steps/\.objects/.*: {server.endpoint} cannot be reached, or broke off: .*try again"
    with pytest.raises(StorageError, match=message):
        list(batches)


@pytest.mark.usefixtures("small_batches")
def test_what_is_being_read_stays_as_it_was(lake: Lake, steps: Steps) -> None:
    write_steps(lake, steps, 1.0)
    batches = lake.iter_batches("core.steps", ROUND)
    found = [next(batches)]
    write_steps(lake, steps, 2.0)
    found += batches
    assert len(found) > 1
    assert sum(batch.height for batch in found) == 250
    assert set(pl.concat(found)["step_seconds"]) == {1.0}
    assert set(lake.read("core.steps")["step_seconds"]) == {2.0}


@pytest.mark.usefixtures("small_batches")
def test_a_read_is_of_one_state_while_its_partition_is_replaced(lake: Lake, steps: Steps) -> None:
    write_steps(lake, steps, 0.0)
    is_over = threading.Event()

    def replace() -> None:
        version = 0.0
        while not is_over.is_set():
            version += 1.0
            write_steps(lake, steps, version)

    writer = threading.Thread(target=replace)
    writer.start()
    seen: set[float] = set()
    try:
        while len(seen) < 4:
            state = lake.read("core.steps", [ROUND])
            assert state.height == 250
            assert state["step_seconds"].n_unique() == 1
            seen.add(state["step_seconds"][0])
    finally:
        is_over.set()
        writer.join()


def test_unknown_partitions_cannot_be_iterated(lake: Lake) -> None:
    with pytest.raises(MissingPartitionError, match="there are: none"):
        next(lake.iter_batches("core.steps", ROUND))


odd_text = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(
    ["\x00", "\u202e", "e\u0301", "<script>", "=cmd()", "'; DROP TABLE x; --", "a\r\nb", "\ufeff", "NaN", ""]
)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(odd_text, odd_text, st.integers(0, 2**63 - 1)), max_size=8, unique_by=lambda row: row[0])
)
def test_odd_text_comes_back_unchanged(lake: Lake, sources: Sources, rows: list[tuple[str, str, int]]) -> None:
    frame = sources(*({"round": key, "licence": text, "size_bytes": size} for key, text, size in rows))
    lake.write("core.sources", frame, ROUND, **MADE)
    assert_frame_equal(lake.read("core.sources"), frame.sort("round"))
