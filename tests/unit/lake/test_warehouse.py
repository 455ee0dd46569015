"""The warehouse: the lake's rows with comments and views, swapped in whole, queried without a way out."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pipelines.lake.queries import QueryError, query
from pipelines.lake.storage import LakeError, StorageError
from pipelines.lake.tables import Lake
from pipelines.lake.warehouse import _building, build_warehouse, warehouse_is_fresh
from pipelines.schemas import TABLES, table
from pipelines.settings import Settings

SQL = Settings.from_environment({}).warehouse_sql
MADE: dict[str, Any] = {"inputs": {}, "code_version": "1"}
Sources = Callable[..., pl.DataFrame]


def results(*rows: dict[str, Any]) -> pl.DataFrame:
    """Return rows of `mart.results`, each from the columns that matter."""
    usual = {
        "round": "training-v5.0",
        "submitter_folder": "Acme",
        "system": "one",
        "division": "closed",
        "benchmark": "bert",
        "scaling_mode": "strong",
        "rcp_factor_source": "none",
        "run_count": 3,
        "counted_run_count": 3,
        "accelerator_count": 8,
        "first_result_id": "x",
        "source_path": "x",
    }
    schema = {name: column.dtype for name, column in table("mart.results").schema.columns().items()}
    return pl.DataFrame([usual | row for row in rows], schema=schema)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the place of the warehouse."""
    return tmp_path / "warehouse.duckdb"


def test_an_empty_lake_gives_every_table(lake: Lake, path: Path) -> None:
    build_warehouse(lake, path, {"newest_round": "none"}, sql_folder=SQL)
    found = query(path, "SELECT schema_name || '.' || table_name AS name FROM duckdb_tables() ORDER BY name")
    assert set(found["name"]) == {*TABLES, "main.about", "main.changes"}
    about = dict(query(path, "FROM about").rows())
    assert about["newest_round"] == "none"
    assert about["rows.core.runs"] == "0"
    assert [entry.name for entry in path.parent.iterdir() if entry.is_file()] == ["warehouse.duckdb"]


def test_every_table_and_column_says_what_it_is(lake: Lake, path: Path) -> None:
    build_warehouse(lake, path, {}, sql_folder=SQL)
    silent = query(
        path,
        "SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name IN ('core', 'mart') "
        "AND table_name IN (SELECT table_name FROM duckdb_tables()) AND coalesce(comment, '') = ''",
    )
    assert silent.rows() == []
    assert query(path, "SELECT table_name FROM duckdb_tables() WHERE coalesce(comment, '') = ''").rows() == []
    comment = query(
        path, "SELECT comment FROM duckdb_columns() WHERE table_name = 'results' AND column_name = 'score_minutes'"
    )
    described = table("mart.results").schema.columns()["score_minutes"].description
    assert comment.item() == f"{described} [minutes]"
    assert query(path, "SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL").rows() == []


def test_old_duckdb_opens_the_file(lake: Lake, path: Path) -> None:
    build_warehouse(lake, path, {}, sql_folder=SQL)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS it (READ_ONLY)")
        ((tags,),) = connection.execute("SELECT tags FROM duckdb_databases() WHERE database_name = 'it'").fetchall()
    assert tags["storage_version"].startswith("v1.2")


def test_published_bytes_stay_in_the_lake(lake: Lake, path: Path) -> None:
    row = dict.fromkeys(("round", "commit", "path", "kind", "sha256", "content_path", "source", "retrieved_at"), "x")
    schema = {name: column.dtype for name, column in table("raw.files").schema.columns().items()}
    frame = pl.DataFrame([row | {"size_bytes": 3, "content": b"abc"}], schema=schema)
    lake.write("raw.files", frame, "x", **MADE)
    build_warehouse(lake, path, {}, sql_folder=SQL)
    assert_frame_equal(query(path, "FROM raw.files"), frame.drop("content"))


def test_latest_results_are_of_the_newest_round_of_their_benchmark(lake: Lake, path: Path) -> None:
    rounds = [
        ("training-v4.1", "gpt3"),
        ("training-v5.1", "bert"),
        ("training-v10.0", "bert"),
        ("training-v5.1", "rgat"),
        ("hpc-v3.0", "bert"),
    ]
    rows = [{"result_id": f"{name}/{benchmark}", "round": name, "benchmark": benchmark} for name, benchmark in rounds]
    lake.write("mart.results", results(*rows), **MADE)
    build_warehouse(lake, path, {}, sql_folder=SQL)
    latest = query(path, "SELECT result_id FROM latest ORDER BY result_id")
    assert latest["result_id"].to_list() == [
        "hpc-v3.0/bert",
        "training-v10.0/bert",
        "training-v4.1/gpt3",
        "training-v5.1/rgat",
    ]


def test_macros_compare_and_rank(lake: Lake, path: Path) -> None:
    rows = [
        {"result_id": "a", "score_minutes": 10.0, "accelerator_count": 8},
        {"result_id": "b", "score_minutes": 5.0, "accelerator_count": 16},
        {"result_id": "c", "score_minutes": 1.0, "division": "open"},
        {"result_id": "d", "score_minutes": None},
        {"result_id": "e", "score_minutes": 20.0, "round": "training-v4.1"},
        {"result_id": "f", "score_minutes": 2.0, "benchmark": "rgat"},
    ]
    lake.write("mart.results", results(*rows), **MADE)
    build_warehouse(lake, path, {}, sql_folder=SQL)
    peers = query(path, "SELECT result_id, score_ratio, accelerator_ratio, is_same_round FROM comparable('a')")
    assert peers.rows() == [("b", 0.5, 2.0, True), ("e", 2.0, 1.0, False)]
    best = query(path, "SELECT place, result_id FROM best('bert', $round)", {"round": "training-v5.0"})
    assert best.rows() == [(1, "b"), (2, "a")]
    costs = query(path, "SELECT result_id, accelerator_minutes FROM mart.result_costs ORDER BY result_id LIMIT 2")
    assert costs.rows() == [("a", 80.0), ("b", 80.0)]


def test_rack_minutes_come_from_the_audit(lake: Lake, path: Path) -> None:
    lake.write("mart.results", results({"result_id": "a", "score_minutes": 10.0}), **MADE)
    audit = {
        "round": "training-v5.0",
        "submitter_folder": "Acme",
        "system": "one",
        "rack_product": "X",
        "slots_per_rack": 4,
        "racks_stated": 3,
        "racks_least": 2,
        "verdict": "whole",
        "explanation": "x",
    }
    schema = {name: column.dtype for name, column in table("mart.rack_audit").schema.columns().items()}
    lake.write("mart.rack_audit", pl.DataFrame([audit], schema=schema), **MADE)
    build_warehouse(lake, path, {}, sql_folder=SQL)
    costs = query(path, "SELECT stated_rack_minutes, least_rack_minutes FROM mart.result_costs")
    assert costs.rows() == [(30.0, 20.0)]


def test_a_table_that_is_too_long_is_said_to_be_left_out(lake: Lake, path: Path, sources: Sources) -> None:
    lake.write("core.sources", sources({"round": "a"}, {"round": "b"}), "x", **MADE)
    build_warehouse(lake, path, {}, sql_folder=SQL, max_rows=1)
    assert query(path, "FROM core.sources").is_empty()
    about = dict(query(path, "FROM about").rows())
    assert about["left_out.core.sources"] == "2 rows: more than 1 (RACKRECON_MAX_WAREHOUSE_ROWS)"


def test_fresh_until_the_lake_or_the_views_change(lake: Lake, path: Path, sources: Sources, tmp_path: Path) -> None:
    views = tmp_path / "sql"
    views.mkdir()
    assert not warehouse_is_fresh(lake, path, sql_folder=views)
    build_warehouse(lake, path, {}, sql_folder=views)
    assert warehouse_is_fresh(lake, path, sql_folder=views)
    assert not warehouse_is_fresh(lake, path, sql_folder=views, max_rows=5)
    lake.write("core.sources", sources({}), "x", **MADE)
    assert not warehouse_is_fresh(lake, path, sql_folder=views)
    build_warehouse(lake, path, {}, sql_folder=views)
    (views / "a.sql").write_text("CREATE VIEW v AS SELECT 1 AS one", "utf-8")
    assert not warehouse_is_fresh(lake, path, sql_folder=views)
    path.write_bytes(b"junk")
    assert not warehouse_is_fresh(lake, path, sql_folder=views)


def test_a_view_that_does_not_fit_leaves_the_old_file(lake: Lake, path: Path, tmp_path: Path) -> None:
    build_warehouse(lake, path, {}, sql_folder=SQL)
    before = path.read_bytes()
    (tmp_path / "bad.sql").write_text("CREATE VIEW v AS SELECT nothing FROM nowhere", "utf-8")
    with pytest.raises(LakeError, match="cannot be built: Catalog Error"):
        build_warehouse(lake, path, {}, sql_folder=tmp_path)
    assert path.read_bytes() == before
    assert not list(tmp_path.glob(".warehouse*"))


def test_a_reader_keeps_its_file_through_a_swap(lake: Lake, path: Path, sources: Sources) -> None:
    lake.write("core.sources", sources({}), "x", **MADE)
    build_warehouse(lake, path, {}, sql_folder=SQL)
    with duckdb.connect(str(path), read_only=True) as reader:
        lake.write("core.sources", sources({"round": "a"}, {"round": "b"}), "x", **MADE)
        build_warehouse(lake, path, {}, sql_folder=SQL)
        assert reader.execute("SELECT count(*) FROM core.sources").fetchall() == [(1,)]
    assert query(path, "SELECT count(*) FROM core.sources").item() == 2


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a warehouse that is only read."""
    folder = tmp_path_factory.mktemp("built")
    build_warehouse(Lake.at(str(folder / "lake")), folder / "w.duckdb", {"key": "value"}, sql_folder=SQL)
    return folder / "w.duckdb"


@pytest.mark.parametrize(
    "sql",
    [
        "FROM read_csv('/etc/passwd')",
        "FROM read_text('/etc/passwd')",
        "FROM '/etc/passwd'",
        "FROM glob('/*')",
        "COPY (SELECT 1) TO '/tmp/never-written.csv'",
        "ATTACH '/tmp/never-written.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '1TB'",
        "SET enable_external_access = true",
        "CREATE TABLE core.new AS SELECT 1",
        "DELETE FROM about",
        "DROP VIEW latest",
        "EXPORT DATABASE '/tmp/never-written'",
        "SELECT 1; SELECT 2",
        "",
        "-- nothing",
        "SELEC 1",
        "SELECT * FROM nowhere",
        "SELECT $missing",
        "SELECT INTERVAL 1 DAY",
        "FROM built",
    ],
)
def test_a_query_has_no_way_out(built: Path, sql: str) -> None:
    before = built.read_bytes()
    with pytest.raises(QueryError):
        query(built, sql)
    assert built.read_bytes() == before
    assert not list(Path("/tmp").glob("never-written*"))


def test_a_query_has_limits(built: Path) -> None:
    with pytest.raises(QueryError, match="RACKRECON_MAX_QUERY_SECONDS"):
        query(built, "SELECT count(*) FROM range(1000000000000)", seconds=0.2)
    with pytest.raises(QueryError, match="Out of Memory"):
        query(built, "SELECT range || repeat('x', 1000) AS x FROM range(1000000) ORDER BY x", memory_bytes=50 << 20)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(10000000000) a, range(100000) b",
        "SELECT a.range, sum(b.range) FROM range(1000000) a, range(100000000) b GROUP BY 1 ORDER BY 2",
    ],
)
def test_a_signal_ends_a_statement_at_once(built: Path, sql: str) -> None:
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGTERM])
    timer.start()
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            query(built, sql, seconds=120)
        assert time.monotonic() - start < 60, "it was the time limit that ended it"
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        timer.join()
        signal.signal(signal.SIGTERM, before)


def test_slow_statements_draw_nothing_on_stdout(built: Path, tmp_path: Path) -> None:
    """DuckDB's bar appears after two seconds; that it is off is told without waiting for it."""
    told = query(built, "select current_setting('enable_progress_bar'), current_setting('lock_configuration')")
    assert told.row(0) == (False, True)
    with _building(tmp_path / "draft.duckdb", tmp_path) as connection:
        assert connection.execute("select current_setting('enable_progress_bar')").fetchall() == [(False,)]


def test_sums_of_counts_are_counts(built: Path) -> None:
    frame = query(built, "SELECT sum(range) AS a, max(10::HUGEINT ** 30) AS b, sum(NULL::BIGINT) AS c FROM range(4)")
    assert frame["a"].to_list() == [6]
    assert frame.schema["a"] == pl.Int64
    assert frame["c"].to_list() == [None]


def test_parameters_are_values_and_never_sql(built: Path) -> None:
    text = "x' OR '1' = '1"
    assert query(built, "SELECT $a AS a", {"a": text}).item() == text
    assert query(built, "SELECT ? AS a", [text]).item() == text


def test_there_is_no_warehouse(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="`rackrecon refresh` builds it"):
        query(tmp_path / "none", "SELECT 1")
    (tmp_path / "junk").write_bytes(b"junk" * 5000)
    with pytest.raises(StorageError, match="cannot be opened"):
        query(tmp_path / "junk", "SELECT 1")


odd_text = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    ["\x00", "\u202e", "<script>", "=cmd()", "'; DROP TABLE x; --", "$$", "a\r\nb", "\ufeff", "\U0010ffff", ""]
)


@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(odd_text, odd_text), min_size=1, max_size=30, unique_by=lambda row: row[0]), told=odd_text
)
def test_odd_text_comes_back_unchanged(
    lake: Lake, path: Path, sources: Sources, rows: list[tuple[str, str]], told: str
) -> None:
    frame = sources(*({"round": key, "licence": text} for key, text in rows))
    lake.write("core.sources", frame, "x", **MADE)
    build_warehouse(lake, path, {told: told}, sql_folder=SQL)
    assert_frame_equal(query(path, "FROM core.sources"), frame, check_row_order=False)
    assert query(path, "SELECT value FROM about WHERE key = $key", {"key": told})["value"].to_list() == [told]
