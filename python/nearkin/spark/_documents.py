"""Documents: sketches the rows of a data frame, and stores what the later steps read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .. import InvalidError, Params, Sketcher, shards
from ._alike import Alike
from ._buckets import entries_of
from ._columns import Columns, check_signatures, field, key_column, small_batches
from ._homes import FINGERPRINT_BYTES, KeyKind, Layout, distinct, numbers_of, slots_of_numbers
from ._matches import Place, is_like
from ._packed import (
    SLOTS_PER_PARTITION,
    blobs,
    by_slot,
    lists_of,
    records_of,
    shingle_counts,
    values_of,
)
from ._work import check_workers, folder, spread, stored

#: What is stored: for each batch and slot the hashes of keys, the documents of homes, and the
#: entries of buckets; for exact comparison also the shingles of documents. ``keyless`` counts
#: documents without a key.
_NAMES = ["slot", "keyless", "key_hashes", "data", "sizes", "keys", "entries", "shingle_sizes", "shingles"]
_STORED = ", ".join(["slot int", "keyless long", *(f"{name} binary" for name in _NAMES[2:])])
#: Number of documents that are packed at once; more if there are many slots, for longer blobs.
_ROWS, _ROWS_MAX = 50_000, 500_000
#: Size of the shingles that are packed at once.
_SHINGLE_BYTES = 128 << 20
#: Maximum number of repeated keys of a slot that are told to the driver.
_REPEATED_MAX = 1_000


class Documents(NamedTuple):
    """Stored documents, and what the later steps need to know."""

    stored: Any
    layout: Layout
    #: The type of the keys in the data frame.
    key_type: Any
    path: str
    partitions: int | None

    def _homes(self, with_shingles: bool) -> Any:
        """The documents by home slot."""
        more = ["shingle_sizes", "shingles"] if with_shingles else []
        rows = self.stored.select("slot", "data", "sizes", "keys", *more)
        return self._spread(rows.where("data is not null"))

    @property
    def entries(self) -> Any:
        return self.stored.select("slot", F.col("entries").alias("data")).where("entries is not null")

    def met(self, messages: Any, step: Any, schema: Any, with_shingles: bool = False) -> Any:
        """Applies ``step`` to the documents and the messages of each home slot."""
        homes = self._homes(with_shingles).groupBy("slot")
        return homes.cogroup(self._spread(messages).groupBy("slot")).applyInArrow(step, schema)

    def exchanged(self, rows: Any) -> Any:
        """All rows of a slot in one partition, one slot after the other."""
        return spread(rows, self.partitions, "slot").sortWithinPartitions("slot")

    def _spread(self, rows: Any) -> Any:
        return spread(rows, self.partitions, "slot") if self.partitions else rows

    def spread(self, rows: Any, *columns: str) -> Any:
        return spread(rows, self.partitions, *columns)

    def keys(self, df: Any, *columns: str) -> Any:
        """``df`` with these key columns converted to the type of the caller's keys."""
        return df.withColumns({name: F.col(name).cast(self.key_type) for name in columns})


def documents(
    df: Any,
    params: Params,
    columns: Columns,
    *,
    work: str | None,
    partitions: int | None,
    detailed: bool = False,
    alike: Alike,
    against: Place | None = None,
    liked: Any = None,
) -> Documents:
    """Sketches the rows, and stores them and their bucket entries. Fails if a document has no key,
    or two rows have the same key, even if one of them cannot be compared. Documents that are like
    one of the index ``against``, or have a key of ``liked``, are marked."""
    conf = df.sparkSession.conf
    slots = SLOTS_PER_PARTITION * (partitions or int(conf.get("spark.sql.shuffle.partitions")))
    key_type = field(df, columns.key).dataType
    key_kind: KeyKind = "binary" if isinstance(key_type, T.BinaryType) else "string"
    is_counted = alike.contained is not None
    layout = Layout(params, slots, key_kind, detailed, is_counted, alike.by_shingles)
    key = key_column(df, columns.key)
    check_workers(df.sparkSession)
    narrow = [key.alias("key"), _hash_of(key).alias("key_hash")]
    if columns.signature is None:
        source = columns.items or columns.text
        field(df, source)
    else:
        source = columns.signature
        check_signatures(df, params, source)
        if columns.shingle_count:
            narrow.append(F.col(columns.shingle_count).cast("long").alias("shingle_count"))
    narrow.append(F.col(source).alias("source"))
    kind = "signatures" if columns.signature else "items" if columns.items else "texts"
    like = None if against is None else (against, alike)
    step = partial(stored_batches, layout=layout, kind=kind, against=like)
    path = folder(df.sparkSession, work)
    rows = df.select(*narrow)
    if liked is not None:
        marked = liked.withColumn("is_like", F.lit(True))
        rows = rows.join(marked, "key", "left").fillna(False, "is_like")
    rows = stored(rows.mapInArrow(step, _STORED), f"{path}/documents")
    made = Documents(rows, layout, key_type, path, partitions)
    _check_keys(df, made, columns.key)
    return made


def _hash_of(key: Any) -> Any:
    return F.xxhash64(key.cast("binary"))


class _Pending:
    """Documents that are packed together."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.hashes: list[Any] = []
        self.documents: list[Any] = []
        self.keys: list[Any] = []
        self.shingles: list[Any] = []
        self.rows = self.keyless = self.shingle_bytes = 0

    def packed(self) -> Any:
        slots = self.layout.slots
        hashes, documents = np.concatenate(self.hashes), np.concatenate(self.documents)
        keys = pa.concat_arrays(self.keys).cast(pa.large_binary())
        lists = lists_of(keys, np.arange(len(keys) + 1))
        identities = np.ascontiguousarray(documents["identity"])
        numbers = numbers_of(identities)
        homes = slots_of_numbers(numbers, slots)
        home = blobs(documents, homes, slots, lists)
        is_new = ~documents["is_like"] if self.layout.detailed else np.ones(len(keys), dtype=bool)
        # Equal documents have equal entries.
        rows = np.flatnonzero(is_new)
        rows = rows[distinct(identities[rows], numbers[rows])]
        entries = entries_of(self.layout, identities[rows], numbers[rows])
        shingles = None
        if self.layout.is_exact:
            is_first = np.zeros(len(keys), dtype=bool)
            is_first[distinct(identities, numbers)] = True
            values = pa.concat_arrays([*self.shingles, pa.array([], pa.large_binary())])
            values = pc.if_else(pa.array(is_first), values, pa.scalar(b"", pa.large_binary()))
            lists = lists_of(values, np.arange(len(keys) + 1))
            shingles = blobs(homes, homes, slots, lists)
        of_keys = blobs(hashes, (hashes.view(np.uint64) % np.uint64(slots)).astype(np.int32), slots)
        at = np.arange(slots, dtype=np.int32)
        made = [(of_keys.slots, of_keys.data)]
        made += [(home.slots, column) for column in (home.data, home.sizes, home.keys)]
        made.append((entries.slots, entries.data))
        if shingles is not None:
            made += [(shingles.slots, column) for column in (shingles.sizes, shingles.keys)]
        columns = [pa.array(at), pa.array(np.where(at == 0, self.keyless, 0))]
        columns += [_of_slots(there, column, slots) for there, column in made]
        columns += [pa.nulls(slots, pa.binary())] * (len(_NAMES) - len(columns))
        return pa.RecordBatch.from_arrays(columns, names=_NAMES)


def _of_slots(there: Any, column: Any, slots: int) -> Any:
    """A value or null for every slot, from the values of those that are there."""
    at = np.full(slots, -1, dtype=np.int64)
    at[there] = np.arange(len(there))
    return column.take(pa.array(at, mask=at < 0))


def stored_batches(
    batches: Iterable[Any], layout: Layout, kind: str, against: tuple[Place, Alike] | None
) -> Iterator[Any]:
    # Spark gives each task one core.
    sketcher = Sketcher(layout.params, threads=1)
    pending = _Pending(layout)
    together = min(max(_ROWS, 64 * layout.slots), _ROWS_MAX)
    for batch in small_batches(batches) if layout.is_exact else batches:
        if not batch.num_rows:
            continue
        signatures, valid, counts, shingles = _signed(batch, sketcher, layout, kind)
        keys = batch.column("key")
        has_key = pc.is_valid(keys).to_numpy(zero_copy_only=False)
        pending.keyless += int((valid & ~has_key).sum())
        pending.hashes.append(batch.column("key_hash").filter(pc.is_valid(keys)).to_numpy())
        chosen = valid & has_key
        documents = np.empty(int(chosen.sum()), dtype=layout.home)
        fingerprints = None
        if shingles is not None:
            shingles = shingles.filter(pa.array(chosen))
            fingerprints = _fingerprints(shingles)
            pending.shingles.append(shingles)
            pending.shingle_bytes += shingles.nbytes
        documents["identity"] = layout.identities(signatures[chosen], counts[chosen], fingerprints)
        if layout.detailed:
            documents["count"] = np.minimum(counts[chosen], 2**32 - 1)
            documents["is_like"] = _is_like(batch.filter(pa.array(chosen)), documents, layout, against)
        pending.documents.append(documents)
        pending.keys.append(keys.filter(pa.array(chosen)))
        pending.rows += batch.num_rows
        if pending.rows >= together or pending.shingle_bytes >= _SHINGLE_BYTES:
            yield pending.packed()
            pending = _Pending(layout)
    if pending.rows:
        yield pending.packed()


def _is_like(
    batch: Any, documents: Any, layout: Layout, against: tuple[Place, Alike] | None
) -> Any:
    """Whether each document is like one of the index."""
    if "is_like" in batch.schema.names:
        return batch.column("is_like").to_numpy(zero_copy_only=False)
    if against is None or not len(documents):
        return np.zeros(len(documents), dtype=bool)
    return is_like(layout.signatures(documents["identity"]), *against)


def _fingerprints(shingles: Any) -> Any:
    hashes = (blake2b(one.as_buffer(), digest_size=FINGERPRINT_BYTES).digest() for one in shingles)
    return np.frombuffer(b"".join(hashes), dtype=f"V{FINGERPRINT_BYTES}")


def _signed(batch: Any, sketcher: Sketcher, layout: Layout, kind: str) -> tuple[Any, ...]:
    """The signatures as records, which rows have one, the shingle counts, and for exact comparison
    the shingles."""
    params, column = layout.params, batch.column("source")
    dtype = f"V{params.signature_bytes}"
    if kind == "signatures":
        valid = pc.is_valid(column).to_numpy(zero_copy_only=False)
        sizes = pc.unique(pc.binary_length(column.drop_null())).to_pylist()
        if sizes not in ([], [params.signature_bytes]):
            raise InvalidError(f"a signature has {sizes} bytes, not {params.signature_bytes}")
        signatures = np.zeros(len(column), dtype=dtype)
        signatures[valid] = np.frombuffer(values_of(column.drop_null()), dtype=dtype)
        counts = np.zeros(len(column), dtype=np.int64)
        if "shingle_count" in batch.schema.names:
            counts = pc.fill_null(batch.column("shingle_count"), 0).to_numpy()
        return signatures, valid, counts, None
    if layout.is_exact:
        made, shingles = shingled(params, column)
        valid = pc.is_valid(made).to_numpy(zero_copy_only=False)
        signatures = np.zeros(len(column), dtype=dtype)
        signatures[valid] = np.frombuffer(values_of(made.drop_null().cast(pa.binary())), dtype=dtype)
        counts = pc.fill_null(shingle_counts(shingles), 0).to_numpy()
        return signatures, valid, counts.astype(np.int64), shingles
    made = sketcher.items(column) if kind == "items" else sketcher.texts(column)
    valid = np.ones(len(column), dtype=bool)
    valid[made.nulls] = False
    signatures = np.ascontiguousarray(np.asarray(made)).view(dtype).reshape(-1)
    return signatures, valid, np.asarray(made.shingle_counts, dtype=np.int64), None


def shingled(params: Params, column: Any) -> tuple[Any, Any]:
    """The signatures and the shingles of documents, null where there is nothing to compare."""
    told = pa.table(shards.shingles(params, column))
    nothing = pa.array([], pa.large_binary())
    made, shingles = (
        pa.concat_arrays([nothing, *told.column(name).cast(pa.large_binary()).chunks])
        for name in ("signature", "shingles")
    )
    return made, shingles


def _check_keys(df: Any, made: Documents, name: str) -> None:
    """Fails if a document has no key, or a key has two rows: without an order, neither row is the
    last one."""
    hashes = made.stored.select("slot", "keyless", F.col("key_hashes").alias("data"))
    found = made.exchanged(hashes).mapInArrow(repeated_batches, "keyless long, key_hash long").collect()
    if any(row["keyless"] for row in found):
        raise InvalidError(f"a document has no key: {name!r} is null")
    repeated = [row["key_hash"] for row in found if row["key_hash"] is not None]
    if not repeated:
        return
    # Different keys can have the same hash: count the keys themselves.
    key = key_column(df, name)
    rows = df.select(key.alias("key")).where(_hash_of(key).isin(repeated[:_REPEATED_MAX]))
    counted = rows.groupBy("key").count().where("count > 1").limit(3)
    bad = [row["key"] for row in counted.collect()]
    if bad:
        shown = ", ".join(repr(bytes(key) if isinstance(key, bytearray) else key) for key in bad)
        raise InvalidError(
            f"several rows have the same key ({name!r}: {shown}): keep one row per key, the same one"
            f" whenever the rows are computed, for instance by groupBy({name!r}) and max_by"
        )


def repeated_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """The hashes that several keys have, and how many documents have no key."""
    for rows in by_slot(batches):
        keyless = pc.sum(rows.column("keyless")).as_py()
        hashes = np.sort(records_of(rows.column("data"), "<i8"))
        repeated = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])[:_REPEATED_MAX]
        if keyless or len(repeated):
            counts = [keyless] + [0] * len(repeated)
            columns = [pa.array(counts, pa.int64()), pa.array([None, *repeated.tolist()], pa.int64())]
            yield pa.RecordBatch.from_arrays(columns, names=["keyless", "key_hash"])
