"""The documents of an index, which a data frame has: candidates of a query are compared with them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .. import InvalidError, Params, Signatures
from ._alike import Alike
from ._columns import Columns, field, key_column, small_batches
from ._documents import shingled
from ._exact import EVIDENCE, compared
from ._matches import Place, found_in, reader_of
from ._packed import records_of, shingle_counts
from ._work import check_workers, stored


def check_texts(texts: Any, exact: bool, has_index: bool, columns: Columns) -> None:
    """Refuses what cannot be compared, before any task runs."""
    if texts is None:
        if exact:
            raise InvalidError(
                "exact=True compares the documents of the index, but an index holds only signatures:"
                " give texts=, a data frame of their keys and texts"
            )
        return
    if not exact or not has_index:
        raise InvalidError("texts= are the documents of an index, for exact=True: give all three")
    key_column(texts, columns.key)
    field(texts, columns.items or columns.text)


def exact_matches_of(
    df: Any, texts: Any, columns: Columns, place: Place, alike: Alike, limit: int | None
) -> Any:
    """(key, match, evidence): the candidates of the index whose documents hold. A candidate that
    ``texts`` does not have, or that has changed since it was indexed, has no evidence."""
    source = columns.items or columns.text
    is_string = isinstance(field(df, source).dataType, T.StringType)
    check_workers(df.sparkSession)
    _check_once(texts, columns.key)
    key = key_column(df, columns.key).alias("key")
    # Two rows may have the same key. (A row's place among the rows is no name of it: a repeated task
    # may get them in another order.)
    text = F.col(source)
    # By its bytes, whatever its collation.
    named = F.xxhash64(text.cast("binary") if is_string else text).alias("row")
    rows = df.select(named, key, text.alias("source"))
    match = T.StructField("match", T.BinaryType() if place.keys == "bytes" else T.StringType())
    fields = [rows.schema["row"], rows.schema["key"], match]
    schema = T.StructType([*fields, T.StructField("own", T.BinaryType())])
    candidates = rows.mapInArrow(partial(candidate_batches, place=place, alike=alike), schema)
    other_key = key_column(texts, columns.key).cast(match.dataType).alias("match")
    others = texts.select(other_key, F.col(source).alias("source"))
    joined = candidates.join(others, "match", "left")
    evidence = [
        T.StructField(name, T.DoubleType() if name in ("similarity", "contained") else T.LongType())
        for name in EVIDENCE
    ]
    step = partial(verified_batches, place=place, alike=alike)
    found = joined.select("row", "key", "match", "own", "source").mapInArrow(
        step, T.StructType([*fields, *evidence])
    )
    if limit is not None:
        best = Window.partitionBy("row", "key").orderBy(F.col("similarity").desc_nulls_last(), "match")
        # Rows that are equal have equal places.
        found = found.withColumn("place", F.dense_rank().over(best)).where(F.col("place") <= limit)
    return found.select("key", "match", *EVIDENCE)


def _check_once(texts: Any, name: str) -> None:
    """Fails if a key has two rows: without an order, neither is the document of the index."""
    keys = texts.select(key_column(texts, name).alias("key")).where("key is not null")
    bad = [row["key"] for row in keys.groupBy("key").count().where("count > 1").limit(3).collect()]
    if bad:
        shown = ", ".join(repr(bytes(key) if isinstance(key, bytearray) else key) for key in bad)
        raise InvalidError(f"several rows of texts= have the same key ({name!r}: {shown})")


def candidate_batches(batches: Iterable[Any], place: Place, alike: Alike) -> Iterator[Any]:
    """The candidates of each row, with the shingles of the row."""
    params = reader_of(place).params
    for batch in small_batches(batches):
        made, own = shingled(params, batch.column("source"))
        there = np.flatnonzero(pc.is_valid(made).to_numpy(zero_copy_only=False))
        signatures = _signatures(params, made.take(pa.array(there)), own.take(pa.array(there)))
        found = found_in(signatures, place, alike, None)
        at = pa.array(there[found.column("row").to_numpy()])
        columns = [batch.column(name).take(at) for name in ("row", "key")]
        columns += [found.column("key"), own.take(at).cast(pa.binary())]
        yield from pa.table(columns, names=["row", "key", "match", "own"]).to_batches()


def _signatures(params: Params, made: Any, shingles: Any) -> Signatures:
    counts = shingle_counts(shingles).to_pylist()
    data = records_of(pa.chunked_array([made.cast(pa.binary())]), np.uint8)
    return Signatures.from_bytes(params, data.tobytes(), counts)


def verified_batches(batches: Iterable[Any], place: Place, alike: Alike) -> Iterator[Any]:
    reader = reader_of(place)
    for batch in small_batches(batches):
        keys, first = np.unique(batch.column("match").to_numpy(zero_copy_only=False), return_index=True)
        made, shingles = shingled(reader.params, batch.column("source").take(pa.array(first)))
        usual = _are_stored(reader, keys.tolist(), made, shingles)
        which = np.searchsorted(keys, batch.column("match").to_numpy(zero_copy_only=False))
        rows = np.flatnonzero(usual[which])
        other = shingles.take(pa.array(which[rows]))
        own = batch.column("own").take(pa.array(rows))
        told = compared(reader.params, own, other, alike)
        yes = rows[told.column("row").to_numpy()]
        unread = np.flatnonzero(~usual[which])
        at = pa.array(np.concatenate([yes, unread]))
        columns = [batch.column(name).take(at) for name in ("row", "key", "match")]
        for name in EVIDENCE:
            values = told.column(name).combine_chunks()
            columns.append(pa.concat_arrays([values, pa.nulls(len(unread), values.type)]))
        yield pa.RecordBatch.from_arrays(columns, names=["row", "key", "match", *EVIDENCE])


def _are_stored(reader: Any, keys: list[Any], made: Any, shingles: Any) -> Any:
    """Whether each document is the one that was indexed under its key. A stored count of 0 means
    that the count is unknown."""
    counts = shingle_counts(shingles).to_pylist()
    found = np.zeros(len(keys), dtype=bool)
    for at, (key, signature, count) in enumerate(zip(keys, made.to_pylist(), counts)):
        stored_one = None if signature is None else reader.signature(key)
        if stored_one is not None and stored_one.to_bytes() == signature:
            found[at] = stored_one.shingle_count in (0, count)
    return found


def liked_by(matches: Any, path: str) -> Any:
    """The keys of rows that are like a document of the index. Candidates that could not be compared
    are no reason to drop a row; a warning says how many there are."""
    matches = stored(matches.select("key", "similarity"), f"{path}/matches")
    unread = matches.where("similarity is null").count()
    if unread:
        warnings.warn(
            f"{unread} candidates of `against` could not be compared: texts= has no document, or one"
            " that has changed since it was indexed; nothing was dropped for them",
            stacklevel=3,
        )
    return matches.where("similarity is not null").select("key").distinct()
