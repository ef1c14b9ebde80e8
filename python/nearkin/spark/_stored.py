"""Sharded indexes: tasks seal and place segments, and the driver lists them in one commit."""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Union
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .. import (
    ExistsError,
    InvalidError,
    MismatchError,
    NotFoundError,
    Params,
    UnsettledError,
    shards,
)
from ._columns import Columns, field, signatures_of, signed
from ._groups import groups_of, whole_groups
from ._work import spread

_PARTS = "shard int, sealed binary, empty long, problem string"
#: Maximum number of attempts to commit when other commits come first.
_COMMITS_MAX = 100
#: Number of bits of a job's random number.
_JOB_BITS = 37
_NOTE = "nearkin.spark"

AnyShards = Union[shards.Shards, shards.RemoteShards]


class Committed(NamedTuple):
    """The outcome of :func:`build` or :func:`append`: counts of rows."""

    inserted: int
    replaced: int
    #: Rows without anything to compare: they are not in the index.
    empty: int
    #: The generation of the index that contains the rows.
    generation: int
    #: Whether the batch was already in the index, so that nothing was done.
    is_replay: bool = False


class Lake(NamedTuple):
    """Where a sharded index is: a folder that the driver and all executors see, or an address of an
    object store, with the options of its file system as JSON."""

    address: str
    options: str | None = None

    def open(self) -> AnyShards:
        """The writer of the index. Opening one on an object store gets its manifest alone."""
        if self.options is None:
            return shards.Shards(self.address)
        return shards.RemoteShards(self.address, **json.loads(self.options))

    def create(self, params: Params, count: int) -> AnyShards:
        if self.options is None:
            return shards.Shards.create(self.address, params, count)
        return shards.RemoteShards.create(self.address, params, count, **json.loads(self.options))


def lake_at(path: str | os.PathLike[str], options: dict[str, Any] | None) -> Lake:
    """A path or a ``file:`` address is a folder; any other address is one of an object store."""
    text = os.fspath(path)
    address = urlsplit(text)
    is_remote = "://" in text and address.scheme != "file"
    if options is not None and not is_remote:
        raise ValueError(f"{text}: storage_options are for addresses such as s3://bucket/lake")
    if is_remote:
        return Lake(text, json.dumps(options or {}, sort_keys=True))
    if address.scheme == "file":
        if address.netloc not in ("", "localhost"):
            raise ValueError(f"{text}: give file:///path, of a folder that all machines see")
        text = unquote(address.path)
    return Lake(os.path.abspath(text))


@lru_cache(maxsize=8)
def _kept(at: Lake, thread: int) -> AnyShards:
    return at.open()


def opened(at: Lake) -> AnyShards:
    """The writer of the index on the driver, at the newest generation. That of an object store is
    kept for the next call of the thread, because its copy has the files that were fetched before.
    (Threads do not share one: each must notice the commits of the others.)"""
    if at.options is None:
        return at.open()
    lake = _kept(at, threading.get_ident())
    try:
        lake.refresh()
    except MismatchError:
        # The index was deleted, and built anew.
        _kept.cache_clear()
        lake = _kept(at, threading.get_ident())
    return lake


def named(lake: AnyShards) -> str:
    return lake.address if isinstance(lake, shards.RemoteShards) else os.fspath(lake.path)


def begun(at: Lake, params: Params, count: int) -> AnyShards:
    """A new index without documents, or the one left behind by a build that did not commit."""
    try:
        return at.create(params, count)
    except ExistsError:
        try:
            lake = at.open()
        except NotFoundError:
            lake = None
        if lake is None or (lake.generation, lake.params, lake.shards) != (1, params, count):
            raise
        return lake


def parts_of(
    df: Any,
    at: Lake,
    lake: AnyShards,
    job: int,
    columns: Columns,
    payload: str | None,
    time: str | None,
    partitions: int | None,
) -> Any:
    """One row per shard that has rows: its segment, sealed and in place, if any."""
    extra = {}
    if payload is not None:
        if not isinstance(field(df, payload).dataType, (T.BinaryType, T.StringType)):
            raise TypeError(f"the payload {payload!r} must be binary or string")
        extra["payload"] = F.col(payload).cast("binary")
    if time is not None:
        of_type = field(df, time).dataType
        if not isinstance(of_type, (T.TimestampType, T.LongType)):
            raise TypeError(f"the time {time!r} must be timestamp, or long (milliseconds)")
        of_time = F.col(time)
        extra["time"] = of_time if isinstance(of_type, T.LongType) else F.unix_millis(of_time)
    rows = signed(df, lake.params, columns, extra)
    schema = T.StructType([*rows.schema.fields, T.StructField("shard", T.IntegerType())])
    rows = rows.mapInArrow(partial(shard_batches, count=lake.shards), schema)
    # Without a number, Spark coalesces small partitions: few rows do not need a task per shard.
    rows = spread(rows, partitions, "shard").sortWithinPartitions("shard")
    step = partial(part_batches, at=at, job=job)
    return rows.mapInArrow(step, _PARTS)


def shard_batches(batches: Iterable[Any], count: int) -> Iterator[Any]:
    for batch in batches:
        found = pa.table(shards.shard_of(batch.column("key"), count)).column("shard")
        # A row without anything to compare needs no key: it may have any shard.
        shard = pc.fill_null(found.combine_chunks(), 0).cast(pa.int32())
        names = [*batch.schema.names, "shard"]
        yield pa.RecordBatch.from_arrays([*batch.columns, shard], names=names)


def part_batches(batches: Iterable[Any], at: Lake, job: int) -> Iterator[Any]:
    lake = at.open()
    for table in whole_groups(batches, ["shard"]):
        for group in groups_of(table, ["shard"]):
            shard = group.column("shard")[0].as_py()
            documents = group.filter(pc.is_valid(group.column("signature")))
            sealed, problem = None, _twice(group)
            try:
                if documents.num_rows and problem is None:
                    sealed = sealed_shard(lake, job, shard, documents).to_bytes()
            except InvalidError as error:
                # Returned as data: the driver raises the error, and Spark does not retry the task.
                problem = str(error)
            row = {
                "shard": shard,
                "sealed": sealed,
                "empty": group.num_rows - documents.num_rows,
                "problem": problem,
            }
            types = [pa.int32(), pa.binary(), pa.int64(), pa.string()]
            arrays = [pa.array([value], kind) for value, kind in zip(row.values(), types)]
            yield pa.RecordBatch.from_arrays(arrays, names=list(row))


def _twice(rows: Any) -> str | None:
    """What is wrong if a row that cannot be compared has the key of another row. (Two documents
    with the same key are found when they are sealed.)"""
    if not rows.column("signature").null_count:
        return None
    counts = pc.value_counts(rows.column("key").drop_null())
    several = counts.filter(pc.greater(counts.field("counts"), 1))
    return f"two rows have the key {several[0]['values']}" if len(several) else None


def sealed_shard(lake: AnyShards, job: int, shard: int, documents: Any) -> shards.Sealed:
    """Seals the documents of a shard, and moves the file to its place in the index.

    The name and the bytes of the file depend only on the job, the shard and the documents. A
    repeated or parallel attempt therefore makes the same file, and the first one is kept. Each
    attempt writes to a file of its own, which a sweep removes if the attempt dies.
    """
    names = documents.schema.names
    counts = documents.column("shingle_count").to_pylist()
    attempt = lake.ticket(secrets.randbits(_JOB_BITS), shard).number
    own = Path(lake.path) / "segments" / f"{attempt:010}.seg"
    sealed = shards.seal(
        lake.params,
        documents.column("key"),
        signatures_of(documents.column("signature"), lake.params, counts),
        lake.ticket(job, shard),
        own,
        payloads=documents.column("payload") if "payload" in names else None,
        times=documents.column("time") if "time" in names else None,
        threads=1,
    )
    lake.place(own, sealed)
    return sealed


class Parts(NamedTuple):
    """The results of all tasks of a job."""

    segments: list[tuple[int, shards.Sealed]]
    empty: int


def new_job() -> int:
    return secrets.randbits(_JOB_BITS)


def collected(parts: Any) -> Parts:
    """Collects the rows of :func:`parts_of`: one row of about 100 bytes per shard."""
    segments, empty = [], 0
    for row in parts.collect():
        if row["problem"] is not None:
            raise InvalidError(f"{row['problem']}. Nothing was committed")
        empty += row["empty"]
        if row["sealed"] is not None:
            segments.append((row["shard"], shards.Sealed.from_bytes(bytes(row["sealed"]))))
    return Parts(segments, empty)


def commit_new(lake: AnyShards, parts: Parts) -> Committed:
    """Commits the first documents of an index. ``UnsettledError`` if another commit was first."""
    if not parts.segments:
        return Committed(0, 0, parts.empty, lake.generation)
    done = lake.append(parts.segments, "refuse")
    return Committed(done.inserted, done.replaced, parts.empty, lake.generation)


def commit(lake: AnyShards, parts: Parts, stream: str, batch_id: int | None) -> Committed:
    """Lists the segments. Stored documents with the same keys are replaced. A batch that the index
    has already noted is not listed again."""
    for _ in range(_COMMITS_MAX):
        if is_noted(lake, stream, batch_id):
            return Committed(0, 0, 0, lake.generation, True)
        if not parts.segments:
            return Committed(0, 0, parts.empty, lake.generation)
        note = None if batch_id is None else noted(lake, stream, batch_id)
        try:
            done = lake.append(parts.segments, "replace", note)
        except UnsettledError:
            lake.refresh()
            continue
        return Committed(done.inserted, done.replaced, parts.empty, lake.generation)
    raise UnsettledError(f"{named(lake)}: {_COMMITS_MAX} times another commit was first: try again")


def batches_of(lake: AnyShards) -> dict[str, int]:
    """The number of the last batch of each stream, from the note in the index."""
    if not lake.note:
        return {}
    try:
        found = json.loads(lake.note)[_NOTE]
    except (ValueError, KeyError, TypeError):
        found = None
    if not isinstance(found, dict):
        raise InvalidError(
            f"{named(lake)}: the note of the index is not that of nearkin.spark: append without"
            " batch_id, or let one committer alone keep notes"
        )
    return found


def is_noted(lake: AnyShards, stream: str, batch_id: int | None) -> bool:
    return batch_id is not None and batch_id <= batches_of(lake).get(stream, -1)


def noted(lake: AnyShards, stream: str, batch_id: int) -> bytes:
    batches = {**batches_of(lake), stream: batch_id}
    return json.dumps({_NOTE: batches}, sort_keys=True).encode()


def removed(lake: AnyShards, keys: Any) -> int:
    for _ in range(_COMMITS_MAX):
        try:
            return lake.remove(keys)
        except UnsettledError:
            lake.refresh()
    raise UnsettledError(f"{named(lake)}: {_COMMITS_MAX} times another commit was first: try again")


def compacted(lake: AnyShards, segments: int, sweep: bool) -> int:
    merged = 0
    for shard in range(lake.shards):
        for _ in range(_COMMITS_MAX):
            if shard not in _to_merge(lake, segments):
                break
            try:
                merged += lake.compact(shard)
                break
            except UnsettledError:
                lake.refresh()
        else:
            raise UnsettledError(f"{named(lake)}: other commits were first: try again")
    if sweep:
        lake.sweep()
    return merged


def _to_merge(lake: AnyShards, segments: int) -> set[int]:
    """The shards with more than ``segments`` segments, or with a dead file."""
    name = f"manifest/{lake.generation:010}.manifest"
    manifest = shards.Manifest((Path(lake.path) / name).read_bytes())
    found: set[int] = set()
    counts: dict[int, int] = {}
    for path, _, shard in manifest.files().rows():
        if path.endswith(".dead"):
            found.add(shard)
        counts[shard] = counts.get(shard, 0) + path.endswith(".seg")
    return found | {shard for shard, count in counts.items() if count > segments}
