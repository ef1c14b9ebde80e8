"""Sharded indexes: tasks seal and place segments, the driver lists them in one commit."""

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
from ._documents import Columns, field, signatures_of, signed
from ._groups import groups_of, whole_groups
from ._work import spread

_PARTS = "shard int, sealed binary, empty long, problem string"
#: Commits that are tried while others are first.
_COMMITS_MAX = 100
#: Bits of the random number of a job.
_JOB_BITS = 37
_NOTE = "nearkin.spark"


class Committed(NamedTuple):
    """What became of the rows of :func:`build` and :func:`append`."""

    inserted: int
    replaced: int
    #: Rows without anything to compare: they are not in the index.
    empty: int
    #: The generation of the index that has them.
    generation: int
    #: The batch was in the index already: nothing was done.
    is_replay: bool = False


def local(path: str | os.PathLike[str]) -> str:
    """The folder that a path or a ``file:`` address names."""
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
    """A new index without documents, or one that a build left behind which did not commit."""
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
    """A row per shard that has documents: its segment, sealed and in its place."""
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
    rows = spread(rows, partitions or lake.shards, "shard").sortWithinPartitions("shard")
    step = partial(part_batches, folder=os.fspath(lake.path), job=job)
    return rows.mapInArrow(step, _PARTS)


def shard_batches(batches: Iterable[Any], count: int) -> Iterator[Any]:
    for batch in batches:
        found = pa.table(shards.shard_of(batch.column("key"), count)).column("shard")
        # A row that cannot be compared needs no key.
        shard = pc.fill_null(found.combine_chunks(), 0).cast(pa.int32())
        names = [*batch.schema.names, "shard"]
        yield pa.RecordBatch.from_arrays([*batch.columns, shard], names=names)


def part_batches(batches: Iterable[Any], folder: str, job: int) -> Iterator[Any]:
    lake = shards.Shards(folder)
    for table in whole_groups(batches, ["shard"]):
        for group in groups_of(table, ["shard"]):
            shard = group.column("shard")[0].as_py()
            documents = group.filter(pc.is_valid(group.column("signature")))
            sealed, problem = None, None
            try:
                if documents.num_rows:
                    sealed = sealed_shard(lake, job, shard, documents).to_bytes()
            except InvalidError as error:
                # The driver says it, and no attempt is repeated for it.
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


def sealed_shard(lake: shards.Shards, job: int, shard: int, documents: Any) -> shards.Sealed:
    """Seals the documents of a shard, and puts the file in its place.

    The name and the bytes of the file depend on the job, the shard and the documents only: what a
    repeated or a second attempt makes is the same file, and the first one stays. Each attempt
    writes under a name of its own, which a sweep removes if the attempt dies.
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
    """What the tasks of a job made."""

    segments: list[tuple[int, shards.Sealed]]
    empty: int


def new_job() -> int:
    return secrets.randbits(_JOB_BITS)


def collected(parts: Any) -> Parts:
    """The rows of :func:`parts_of`: one of about 100 bytes per shard."""
    segments, empty = [], 0
    for row in parts.collect():
        if row["problem"] is not None:
            raise InvalidError(f"{row['problem']}. Nothing was committed")
        empty += row["empty"]
        if row["sealed"] is not None:
            segments.append((row["shard"], shards.Sealed.from_bytes(bytes(row["sealed"]))))
    return Parts(segments, empty)


def commit_new(lake: shards.Shards, parts: Parts) -> Committed:
    """The first documents of an index. An ``UnsettledError`` if somebody else was first."""
    if not parts.segments:
        return Committed(0, 0, parts.empty, lake.generation)
    done = lake.append(parts.segments, "refuse")
    return Committed(done.inserted, done.replaced, parts.empty, lake.generation)


def commit(lake: shards.Shards, parts: Parts, stream: str, batch_id: int | None) -> Committed:
    """Lists the segments; documents of the same keys are replaced. A batch that is noted already is
    not listed again."""
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
    """The last batch of each stream, from the note of the index."""
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
