"""The lake: each table a folder, each partition one Parquet file, replaced whole, with a manifest beside it.

What a table's rows are belongs in the layers that compute them; where objects are kept belongs in `storage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from urllib.parse import quote, unquote

import polars as pl
import pyarrow as pa

from pipelines.lake.gate import QUARANTINE_SCHEMA, ColumnsError
from pipelines.lake.manifests import SCHEMA_VERSION, Manifest, columns_sha256, decode_manifest, encode_manifest
from pipelines.lake.partitions import PartitionWriter
from pipelines.lake.row_groups import RowGroups
from pipelines.lake.storage import Draft, LakeError, MissingObjectError, Storage, open_storage
from pipelines.schemas import TABLES, Table, table

_ONLY_PARTITION = "all"
_LONGEST_NAME = 200


class MissingPartitionError(LakeError):
    """A partition that was asked for is not in the lake."""


class PendingPartition:
    """A partition being written; it replaces the one in the lake when its context ends without an error."""

    def __init__(self, writer: PartitionWriter, inputs: Mapping[str, str]) -> None:
        self.inputs = inputs
        """What the rows are made from; may be told until the context ends, as of a stream that is read meanwhile."""
        self._writer = writer
        self._manifest: Manifest | None = None

    def append(self, frame: pl.DataFrame) -> None:
        """Take rows: a frame with the table's columns.

        Raises:
            ColumnsError: a column is missing, unknown or of another type.
        """
        self._writer.append(frame)

    @property
    def manifest(self) -> Manifest:
        """Return what was written; known once the context has ended."""
        if self._manifest is None:
            raise LakeError("the partition is still being written: its manifest is known when the context has ended")
        return self._manifest


class Lake:
    """Tables of the registry under a storage. Table and partition names are never used as paths."""

    def __init__(
        self,
        storage: Storage,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        before_publishing: Callable[[], None] = lambda: None,
    ) -> None:
        self.storage = storage
        self._clock = clock
        self._before_publishing = before_publishing
        """Called when nobody else can publish in the partition's folder; what it raises leaves the partition."""

    @classmethod
    def at(cls, location: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Lake:
        """Return the lake at `location`, as in the setting RACKRECON_LAKE; it need not exist yet."""
        return cls(open_storage(location), clock)

    def write(
        self,
        name: str,
        frame: pl.DataFrame,
        partition: str | None = None,
        *,
        inputs: Mapping[str, str],
        code_version: str,
    ) -> Manifest:
        """Replace a partition by the rows of `frame` that keep the schema's rules, the rest going to quarantine.

        Args:
            name: Full name of the table, such as `core.runs`.
            frame: Rows in any order; exact duplicates are collapsed.
            partition: Round of a table that is split by round; null or `all` for one that is not.
            inputs: What the rows were made from, each with its SHA-256.
            code_version: What the rows were made by.

        Raises:
            ColumnsError: a column is missing, unknown or of another type.
            StorageError: the partition cannot be written; the one in the lake stays.
        """
        with self.writer(name, partition, inputs=inputs, code_version=code_version) as pending:
            pending.append(frame)
        return pending.manifest

    @contextmanager
    def writer(
        self, name: str, partition: str | None = None, *, inputs: Mapping[str, str], code_version: str
    ) -> Iterator[PendingPartition]:
        """Give a writer that takes a partition's rows in frames and holds few of them; arguments as for `write`."""
        entry, key = table(name), _key(table(name), partition)
        self.manifest(name, partition)
        self.storage.sweep(_folder(entry))
        self.storage.sweep(_quarantine_folder(entry))
        with ExitStack() as stack:
            rows = stack.enter_context(self.storage.draft(key))
            quarantine_key = _quarantine_key(entry, partition)
            writer = PartitionWriter(entry, rows, lambda: stack.enter_context(self.storage.draft(quarantine_key)))
            stack.callback(writer.abandon)
            pending = PendingPartition(writer, inputs)
            yield pending
            rows = writer.finish(lambda: stack.enter_context(self.storage.draft(key)))
            manifest = Manifest(
                schema_version=SCHEMA_VERSION,
                table=name,
                partition=partition if entry.by_round else None,
                columns_sha256=columns_sha256(entry.schema),
                code_version=code_version,
                inputs=dict(sorted(pending.inputs.items())),
                rows=writer.rows,
                quarantined_rows=writer.quarantined_rows,
                duplicate_rows=writer.duplicate_rows,
                size_bytes=rows.size_bytes,
                sha256=rows.sha256,
                quarantine_sha256=writer.quarantine.sha256 if writer.quarantine else None,
                written_at=self._clock().isoformat(timespec="seconds"),
            )
            self._publish(entry, manifest, rows, writer.quarantine)
            pending._manifest = manifest

    def _publish(self, entry: Table, manifest: Manifest, rows: Draft, quarantine: Draft | None) -> None:
        """Put the three objects of a partition in place.

        The manifest goes first and comes last, so that a writer killed in between leaves a partition that is
        readable and counts as not fresh.
        """
        manifest_key = _manifest_key(entry, manifest.partition)
        with self.storage.exclusive(_folder(entry), _quarantine_folder(entry)):
            self._before_publishing()
            self.storage.delete(manifest_key)
            if quarantine:
                quarantine.publish()
            else:
                self.storage.delete(_quarantine_key(entry, manifest.partition))
            rows.publish()
            self.storage.write(manifest_key, encode_manifest(manifest))

    def carry_over(self, name: str, partition: str | None = None) -> None:
        """Write a partition of an older program again with today's columns, unless it has them.

        A column that is new is null, one that is gone is left out. For tables that nothing in the lake can rebuild.

        Raises:
            MissingPartitionError: the partition is not in the lake.
            LakeVersionError: a newer program wrote it.
            ColumnsError: a column is new that may not be null.
        """
        entry, manifest = table(name), self.manifest(name, partition)
        names = entry.schema.column_names()
        with self._open(entry, partition) as groups:
            there = groups.schema.names
            if there == names:
                return
            columns = entry.schema.columns()
            lacking = [column for column in names if column not in there and not columns[column].nullable]
            if lacking:
                raise self._other_columns(entry, partition, f"without {', '.join(lacking)}")
            made, code = (manifest.inputs, manifest.code_version) if manifest else ({}, "")
            with self.writer(name, partition, inputs=made, code_version=code) as pending:
                for frame in groups.iter_groups([name for name in names if name in there]):
                    pending.append(pl.concat([entry.schema.create_empty(), frame], how="diagonal"))

    def manifest(self, name: str, partition: str | None = None) -> Manifest | None:
        """Return a partition's manifest, null where there is none or it is damaged.

        Raises:
            LakeVersionError: a newer program wrote the partition.
        """
        key = _manifest_key(table(name), partition)
        try:
            return decode_manifest(self.storage.read(key), self.storage.url(key))
        except MissingObjectError:
            return None

    def manifests(self, names: Iterable[str], partition: str | None = None) -> dict[str, Manifest]:
        """Return the manifests that there are of one partition of several tables, by table.

        Raises:
            LakeVersionError: a newer program wrote one of them.
        """
        found = {name: self.manifest(name, partition) for name in names}
        return {name: manifest for name, manifest in found.items() if manifest is not None}

    def is_fresh(
        self, name: str, partition: str | None = None, *, inputs: Mapping[str, str], code_version: str
    ) -> bool:
        """Return whether writing the partition again from these inputs with this code would change nothing."""
        entry, manifest = table(name), self.manifest(name, partition)
        return (
            manifest is not None
            and manifest.says_fresh(entry, inputs, code_version)
            and self.storage.size(_key(entry, partition)) == manifest.size_bytes
        )

    def partitions(self, name: str) -> list[str]:
        """Return the partitions of a table that is split by round, sorted; of another, `all` where it exists."""
        keys = self.storage.list(_folder(table(name)))
        files = [key.rpartition("/")[2] for key in keys]
        return sorted(unquote(file.removesuffix(".parquet")) for file in files if file.endswith(".parquet"))

    def read(self, name: str, partitions: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the rows of the given partitions, in their order, or of all of them.

        Raises:
            MissingPartitionError: a partition asked for is not in the lake.
            LakeVersionError: a newer program wrote one of them.
            ColumnsError: an older program wrote one of them with other columns.
        """
        chosen = self.partitions(name) if partitions is None else dict.fromkeys(partitions)
        frames: list[pl.DataFrame] = [table(name).schema.create_empty()]
        for partition in chosen:
            with self.open_partition(name, partition) as groups:
                frames.append(groups.read())
        return pl.concat(frames)

    def read_as_written(self, name: str, partition: str | None = None) -> pl.DataFrame:
        """Return a partition with the columns that it was written with, its bytes left out; for comparing states.

        Raises:
            MissingPartitionError: the partition is not in the lake.
            LakeVersionError: a newer program wrote it.
        """
        entry = table(name)
        self.manifest(name, partition)
        try:
            with self.storage.open(_key(entry, partition)) as file:
                groups = RowGroups(file)
                is_bytes = (pa.types.is_binary, pa.types.is_large_binary)
                plain = [entry.name for entry in groups.schema if not any(test(entry.type) for test in is_bytes)]
                return groups.read(plain)
        except MissingObjectError:
            raise self._missing(entry, partition) from None
        except pa.ArrowException as error:
            raise LakeError(f"{self.storage.url(_key(entry, partition))}: not a whole Parquet file: {error}") from error

    def iter_batches(
        self, name: str, partition: str | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pl.DataFrame]:
        """Give a partition's rows in their order, a row group at a time, in bounded memory.

        Raises:
            MissingPartitionError: the partition is not in the lake.
        """
        with self.open_partition(name, partition) as groups:
            yield from groups.iter_groups(columns)

    @contextmanager
    def open_partition(self, name: str, partition: str | None = None) -> Iterator[RowGroups]:
        """Open a partition for reading row group by row group; it stays as it is while it is open.

        Raises:
            MissingPartitionError: the partition is not in the lake.
            LakeVersionError: a newer program wrote it.
            ColumnsError: an older program wrote it with other columns.
            LakeError: the file is damaged.
        """
        entry = table(name)
        self.manifest(name, partition)
        with self._open(entry, partition) as groups:
            if groups.schema.names != entry.schema.column_names():
                raise self._other_columns(entry, partition, f"with other columns than {name} has now")
            yield groups

    @contextmanager
    def _open(self, entry: Table, partition: str | None) -> Iterator[RowGroups]:
        key = _key(entry, partition)
        with ExitStack() as stack:
            try:
                file = stack.enter_context(self.storage.open(key))
            except MissingObjectError:
                raise self._missing(entry, partition) from None
            try:
                yield RowGroups(file)
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                if getattr(error, "errno", None) is not None:
                    raise
                raise self._damaged(entry, partition, error) from error

    def _damaged(self, entry: Table, partition: str | None, error: Exception) -> LakeError:
        place = self.storage.url(_key(entry, partition))
        return LakeError(f"{place}: not a whole Parquet file: {error}; remove it, and a refresh makes it again")

    def _other_columns(self, entry: Table, partition: str | None, how: str) -> ColumnsError:
        rebuilds = "a refresh rebuilds it"
        if entry.layer == "raw":
            rebuilds = f"remove it, and a refresh with --{'from PATH' if entry.by_round else 'live'} reads it anew"
        return ColumnsError(f"{self.storage.url(_key(entry, partition))}: written {how}; {rebuilds}")

    def read_quarantine(self, name: str, partition: str | None = None) -> pl.DataFrame:
        """Return the rows that broke a rule: `rule`, `column` (null for a rule on the row), `row` as JSON text."""
        key = _quarantine_key(table(name), partition)
        try:
            with self.storage.open(key) as file:
                return RowGroups(file).read()
        except MissingObjectError:
            return pl.DataFrame(schema=QUARANTINE_SCHEMA)

    def delete(self, name: str, partition: str | None = None) -> None:
        """Remove a partition, its quarantine and its manifest."""
        entry = table(name)
        with self.storage.exclusive(_folder(entry), _quarantine_folder(entry)):
            self.storage.delete(_manifest_key(entry, partition))
            self.storage.delete(_quarantine_key(entry, partition))
            self.storage.delete(_key(entry, partition))

    def rounds(self) -> list[str]:
        """Return the rounds of which any table holds a partition, sorted."""
        return sorted({name for entry in TABLES.values() if entry.by_round for name in self.partitions(entry.name)})

    def _missing(self, entry: Table, partition: str | None) -> MissingPartitionError:
        there = ", ".join(self.partitions(entry.name)) or "none"
        place = self.storage.url(_folder(entry))
        return MissingPartitionError(
            f"{entry.name}: no partition {partition or _ONLY_PARTITION!r} in {place}; there are: {there}"
        )


def _folder(entry: Table) -> str:
    return f"{entry.layer}/{entry.short_name}"


def _quarantine_folder(entry: Table) -> str:
    return f"{entry.layer}/{entry.short_name}__quarantine"


def _key(entry: Table, partition: str | None) -> str:
    return f"{_folder(entry)}/{_file_stem(entry, partition)}.parquet"


def _quarantine_key(entry: Table, partition: str | None) -> str:
    return f"{_quarantine_folder(entry)}/{_file_stem(entry, partition)}.parquet"


def _manifest_key(entry: Table, partition: str | None) -> str:
    return f"{_folder(entry)}/{_file_stem(entry, partition)}.json"


def _file_stem(entry: Table, partition: str | None) -> str:
    """Return the partition's name in a form that is safe in a path and an address."""
    if not entry.by_round:
        if partition not in (None, _ONLY_PARTITION):
            raise LakeError(f"{entry.name}: has a single partition, found {partition!r}")
        return _ONLY_PARTITION
    encoded = quote(partition or "", safe="")
    if not encoded or len(encoded) > _LONGEST_NAME:
        raise LakeError(f"{entry.name}: expected a partition of 1 to {_LONGEST_NAME} characters, found {partition!r}")
    return f"%2E{encoded[1:]}" if encoded.startswith(".") else encoded
