"""Columns of a data frame: keys, texts, items and signatures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .. import MismatchError, Params, Signatures, Sketcher
from ._work import check_workers

#: Metadata of a signature column: the id of the parameters with which it was made.
SIGNATURE_ID = "nearkin.signature_id"
#: Size of the documents whose shingles are made at once.
_SOURCE_BYTES = 16 << 20
_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)


class Columns(NamedTuple):
    """The columns of a data frame that are read."""

    key: str
    text: str
    items: str | None = None
    signature: str | None = None
    shingle_count: str | None = None


def field(df: Any, name: str) -> Any:
    """A column of the schema. If it does not exist, the error lists the existing columns."""
    if name not in df.columns:
        raise KeyError(f"no column is named {name!r}; there are {', '.join(map(repr, df.columns))}")
    return df.schema[name]


def sketched(df: Any, params: Params, columns: Columns, signature: str, count: str | None) -> Any:
    """``df`` with a column of signatures, and a column of shingle counts if ``count`` names it."""
    source = columns.items or columns.text
    field(df, source)
    check_workers(df.sparkSession)
    for name in (signature, count):
        if name in df.columns:
            raise ValueError(f"there is a column {name!r} already: give another name")
    made = [T.StructField(signature, T.BinaryType())]
    if count is not None:
        made.append(T.StructField(count, T.LongType()))
    step = partial(
        sketch_batches,
        params=params,
        source=source,
        of_items=columns.items is not None,
        made=[field.name for field in made],
    )
    result = df.mapInArrow(step, T.StructType([*df.schema.fields, *made]))
    return result.withMetadata(signature, {SIGNATURE_ID: f"{params.signature_id:016x}"})


def sketch_batches(
    batches: Iterable[Any], params: Params, source: str, of_items: bool, made: list[str]
) -> Iterator[Any]:
    # Spark gives each task one core.
    sketcher = Sketcher(params, threads=1)
    for batch in batches:
        column = batch.column(source)
        signatures = sketcher.items(column) if of_items else sketcher.texts(column)
        columns = [
            pa.array(signatures).cast(pa.binary()),
            pa.array(signatures.shingle_counts, pa.int64()),
        ][: len(made)]
        names = [*batch.schema.names, *made]
        yield pa.RecordBatch.from_arrays([*batch.columns, *columns], names=names)


def small_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """The batches that have rows. Large ones are cut, because the shingles of a text may take eight
    times as much memory as the text."""
    for batch in batches:
        if batch.num_rows > 1 and batch.nbytes > _SOURCE_BYTES:
            half = batch.num_rows // 2
            yield from small_batches([batch.slice(0, half), batch.slice(half)])
        elif batch.num_rows:
            yield batch


def key_column(df: Any, name: str) -> Any:
    """The keys in the form of an index: text or bytes. An integer becomes its digits."""
    kind = field(df, name).dataType
    if isinstance(kind, T.BinaryType):
        return F.col(name)
    if isinstance(kind, (T.StringType, *_INTEGERS)):
        # Without a collation: keys are compared by their bytes.
        return F.col(name).cast("string")
    raise TypeError(f"the key {name!r} must be string, binary or an integer, not {kind.simpleString()}")


def keys_of_index(df: Any, name: str) -> Literal["str", "bytes"]:
    """The Python type in which an index returns keys of this column's type."""
    return "bytes" if isinstance(field(df, name).dataType, T.BinaryType) else "str"


def signed(df: Any, params: Params, columns: Columns, extra: dict[str, Any]) -> Any:
    """The columns key, those of ``extra``, shingle_count (0 if it is unknown) and signature (null
    if there is nothing to compare)."""
    key = key_column(df, columns.key)
    check_workers(df.sparkSession)
    others = [column.alias(name) for name, column in extra.items()]
    if columns.signature is None:
        source = columns.items or columns.text
        field(df, source)
        narrow = df.select(key.alias("key"), *others, F.col(source).alias("source"))
        read = Columns("key", "source", "source" if columns.items else None)
        made = sketched(narrow, params, read, "signature", "shingle_count")
        return made.select("key", *extra, "shingle_count", "signature")
    check_signatures(df, params, columns.signature)
    count = F.col(columns.shingle_count) if columns.shingle_count else F.lit(0)
    signature = F.col(columns.signature).alias("signature")
    count = count.cast("long").alias("shingle_count")
    return df.select(key.alias("key"), *others, count, signature)


def signatures_of(column: Any, params: Params, counts: list[int] | None = None) -> Signatures:
    """A column of signature bytes as :class:`Signatures`."""
    rows = column.to_pylist()
    zeros = bytes(params.signature_bytes)
    data = b"".join(zeros if row is None else row for row in rows)
    nulls = [at for at, row in enumerate(rows) if row is None]
    return Signatures.from_bytes(params, data, counts, nulls)


def check_signatures(df: Any, params: Params, name: str) -> None:
    made = field(df, name)
    if not isinstance(made.dataType, T.BinaryType):
        raise TypeError(f"{name!r} must be a column of signatures (binary), as sketch() makes it")
    made_with = made.metadata.get(SIGNATURE_ID)
    if made_with is not None and made_with != f"{params.signature_id:016x}":
        raise MismatchError(f"the signatures of {name!r} were made with other parameters")
