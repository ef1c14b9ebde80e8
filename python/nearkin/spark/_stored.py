"""Sharded indexes: tasks seal and place segments, and the driver lists them in one commit."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .. import ExistsError, InvalidError, NotFoundError, Params, UnsettledError, shards
from ._columns import Columns, field, signatures_of, signed
from ._groups import groups_of, whole_groups
from ._work import spread

_PARTS = "shard int, sealed binary, empty long, problem string"
#: Maximum number of attempts to commit when other commits come first.
_COMMITS_MAX = 100
#: Number of bits of a job's random number.
_JOB_BITS = 37
_NOTE = "nearkin.spark"


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


def local(path: str | os.PathLike[str]) -> str:
    """The folder for a path or a ``file:`` address."""
    text = os.fspath(path)
    address = urlsplit(text)
    if address.scheme == "file" and address.netloc in ("", "localhost"):
        text = unquote(address.path)
    elif "://" in text:
        raise ValueError(
            f"{text}: give a path, or file:///path, of a folder that the driver and all executors can"
            " access; object stores are not supported"
        )
    return os.path.abspath(text)


def begun(folder: str, params: Params, count: int) -> shards.Shards:
    """A new index without documents, or the one left behind by a build that did not commit."""
    try:
        return shards.Shards.create(folder, params, count)
    except ExistsError:
        try:
            lake = shards.Shards(folder)
        except NotFoundError:
            lake = None
        if lake is None or (lake.generation, lake.params, lake.shards) != (1, params, count):
            raise
        return lake


def parts_of(
    df: Any,
    lake: shards.Shards,
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
    step = partial(part_batches, folder=os.fspath(lake.path), job=job)
    return rows.mapInArrow(step, _PARTS)


def shard_batches(batches: Iterable[Any], count: int) -> Iterator[Any]:
    for batch in batches:
        found = pa.table(shards.shard_of(batch.column("key"), count)).column("shard")
        # A row without anything to compare needs no key: it may have any shard.
        shard = pc.fill_null(found.combine_chunks(), 0).cast(pa.int32())
        names = [*batch.schema.names, "shard"]
        yield pa.RecordBatch.from_arrays([*batch.columns, shard], names=names)


def part_batches(batches: Iterable[Any], folder: str, job: int) -> Iterator[Any]:
    lake = shards.Shards(folder)
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


def sealed_shard(lake: shards.Shards, job: int, shard: int, documents: Any) -> shards.Sealed:
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


def commit_new(lake: shards.Shards, parts: Parts) -> Committed:
    """Commits the first documents of an index. ``UnsettledError`` if another commit was first."""
    if not parts.segments:
        return Committed(0, 0, parts.empty, lake.generation)
    done = lake.append(parts.segments, "refuse")
    return Committed(done.inserted, done.replaced, parts.empty, lake.generation)


def commit(lake: shards.Shards, parts: Parts, stream: str, batch_id: int | None) -> Committed:
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
    raise UnsettledError(f"{lake.path}: {_COMMITS_MAX} times another commit was first: try again")


def batches_of(lake: shards.Shards) -> dict[str, int]:
    """The number of the last batch of each stream, from the note in the index."""
    if not lake.note:
        return {}
    try:
        found = json.loads(lake.note)[_NOTE]
    except (ValueError, KeyError, TypeError):
        found = None
    if not isinstance(found, dict):
        raise InvalidError(
            f"{lake.path}: the note of the index is not that of nearkin.spark: append without"
            " batch_id, or let one committer alone keep notes"
        )
    return found


def is_noted(lake: shards.Shards, stream: str, batch_id: int | None) -> bool:
    return batch_id is not None and batch_id <= batches_of(lake).get(stream, -1)


def noted(lake: shards.Shards, stream: str, batch_id: int) -> bytes:
    batches = {**batches_of(lake), stream: batch_id}
    return json.dumps({_NOTE: batches}, sort_keys=True).encode()


def removed(lake: shards.Shards, keys: Any) -> int:
    for _ in range(_COMMITS_MAX):
        try:
            return lake.remove(keys)
        except UnsettledError:
            lake.refresh()
    raise UnsettledError(f"{lake.path}: {_COMMITS_MAX} times another commit was first: try again")


def compacted(lake: shards.Shards, segments: int, sweep: bool) -> int:
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
            raise UnsettledError(f"{lake.path}: other commits were first: try again")
    if sweep:
        lake.sweep()
    return merged


def _to_merge(lake: shards.Shards, segments: int) -> set[int]:
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
