"""Documents: turns the rows of a data frame into one document per signature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .. import InvalidError, MismatchError, Params, Signatures, Sketcher
from ._groups import begins
from ._packed import SLOTS_PER_PARTITION
from ._work import folder, spread, stored

#: Metadata of a signature column: the id of the parameters with which it was made.
SIGNATURE_ID = "nearkin.signature_id"
_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)


class Columns(NamedTuple):
    """The columns of a data frame that are read."""

    key: str
    text: str
    items: str | None = None
    signature: str | None = None
    shingle_count: str | None = None


class Documents(NamedTuple):
    """Stored documents, and what the later steps need to know."""

    #: key, shingle_count, document (its number), signature (null for the copies of a document).
    rows: Any
    params: Params
    #: The type of the keys in the data frame.
    key_type: Any
    path: str
    partitions: int | None

    @property
    def slots(self) -> int:
        """The number of slots for packed records."""
        conf = self.rows.sparkSession.conf
        partitions = self.partitions or int(conf.get("spark.sql.shuffle.partitions"))
        return SLOTS_PER_PARTITION * partitions

    @property
    def representatives(self) -> Any:
        """One document per signature."""
        return self.rows.where(F.col("signature").isNotNull())

    @property
    def copies(self) -> Any:
        """The documents that have the same signature as another one, which represents them."""
        return self.rows.where(F.col("signature").isNull())

    def keys(self, df: Any, *columns: str) -> Any:
        """``df`` with these key columns converted to the type of the caller's keys."""
        cast = {name: F.col(name).cast(self.key_type) for name in columns}
        return df.withColumns(cast)

    def spread(self, df: Any, *columns: str) -> Any:
        return spread(df, self.partitions, *columns)


def field(df: Any, name: str) -> Any:
    """A column of the schema. If it does not exist, the error lists the existing columns."""
    if name not in df.columns:
        raise KeyError(f"no column is named {name!r}; there are {', '.join(map(repr, df.columns))}")
    return df.schema[name]


def sketched(df: Any, params: Params, columns: Columns, signature: str, count: str | None) -> Any:
    """``df`` with a column of signatures, and a column of shingle counts if ``count`` names it."""
    source = columns.items or columns.text
    field(df, source)
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
    others = [column.alias(name) for name, column in extra.items()]
    if columns.signature is None:
        source = columns.items or columns.text
        field(df, source)
        narrow = df.select(key.alias("key"), *others, F.col(source).alias("source"))
        read = Columns("key", "source", "source" if columns.items else None)
        made = sketched(narrow, params, read, "signature", "shingle_count")
        return made.select("key", *extra, "shingle_count", "signature")
    _check_signatures(df, params, columns.signature)
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


def documents(
    df: Any,
    params: Params,
    columns: Columns,
    *,
    order: list[Any],
    work: str | None,
    partitions: int | None,
) -> Documents:
    """Stores one row per document that can be compared. Of the documents with the same signature,
    the first one in ``order`` represents the others. Fails if two rows have the same key, even if
    one of them cannot be compared."""
    key_type = field(df, columns.key).dataType
    # Rows without a signature are spread, too.
    place = F.coalesce("signature", F.col("key").cast("binary"))
    rows = signed(df, params, columns, {}).withColumn("place", place)
    sorted_rows = spread(rows, partitions, "place").sortWithinPartitions("signature", *order)
    sorted_rows = sorted_rows.drop("place")
    kind = rows.schema["key"].dataType
    schema = T.StructType(
        [
            T.StructField("key", kind),
            T.StructField("shingle_count", T.LongType()),
            T.StructField("signature", T.BinaryType()),
            T.StructField("document", T.LongType()),
        ]
    )
    path = folder(df.sparkSession, work)
    rows = stored(sorted_rows.mapInArrow(number_batches, schema), f"{path}/documents")
    _check_keys(rows, columns.key)
    rows = rows.where(F.col("document").isNotNull())
    return Documents(rows, params, key_type, path, partitions)


def number_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """Numbers the distinct signatures, anew in each partition; copies get a null signature. Rows
    without a signature come first; they get no number.

    Any unique numbers will do: answers do not depend on them.
    """
    context = TaskContext.get()
    number = ((context.partitionId() if context else 0) << 40) - 1
    names = ["key", "shingle_count", "signature", "document"]
    last = None
    for batch in batches:
        blank = batch.column("signature").null_count
        if blank:
            columns = [column.slice(0, blank) for column in batch.columns]
            columns.append(pa.nulls(blank, pa.int64()))
            yield pa.RecordBatch.from_arrays(columns, names=names)
            batch = batch.slice(blank)
        if not batch.num_rows:
            continue
        signature = batch.column("signature")
        first = begins(batch, ["signature"])
        first[0] = signature[0].as_py() != last
        numbers = np.cumsum(first, dtype=np.int64) + number
        number, last = int(numbers[-1]), signature[-1].as_py()
        of_first = pc.if_else(pa.array(first), signature, pa.scalar(None, signature.type))
        columns = [batch.column("key"), batch.column("shingle_count"), of_first, pa.array(numbers)]
        yield pa.RecordBatch.from_arrays(columns, names=names)


def _check_signatures(df: Any, params: Params, name: str) -> None:
    made = field(df, name)
    if not isinstance(made.dataType, T.BinaryType):
        raise TypeError(f"{name!r} must be a column of signatures (binary), as sketch() makes it")
    made_with = made.metadata.get(SIGNATURE_ID)
    if made_with is not None and made_with != f"{params.signature_id:016x}":
        raise MismatchError(f"the signatures of {name!r} were made with other parameters")


def _check_keys(rows: Any, name: str) -> None:
    """Fails if a document has no key, or a key has two rows: without an order, neither row is the
    last one. A row that cannot be compared needs no key."""
    counted = rows.groupBy("key").agg(
        F.count(F.lit(1)).alias("rows"), F.count("document").alias("documents")
    )
    counted = counted.where("case when key is null then documents > 0 else rows > 1 end")
    bad = [row["key"] for row in counted.limit(3).collect()]
    if None in bad:
        raise InvalidError(f"a document has no key: {name!r} is null")
    if bad:
        shown = ", ".join(repr(bytes(key) if isinstance(key, bytearray) else key) for key in bad)
        raise InvalidError(
            f"several documents have the same key ({name!r}: {shown}): keep one row per key, for"
            f" instance by dropDuplicates([{name!r}])"
        )
