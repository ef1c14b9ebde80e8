"""Documents: from the rows of a data frame to one document per signature."""

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

#: The metadata of a column of signatures: which parameters they were made with.
SIGNATURE_ID = "nearkin.signature_id"
_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)


class Columns(NamedTuple):
    """Which columns of a data frame are read."""

    key: str
    text: str
    items: str | None = None
    signature: str | None = None
    shingle_count: str | None = None


class Documents(NamedTuple):
    """Documents as they were stored, with what later steps need."""

    #: key, shingle_count, document (its number), signature: null for the copies of a document.
    rows: Any
    params: Params
    #: The type of the keys in the data frame.
    key_type: Any
    path: str
    partitions: int | None

    @property
    def slots(self) -> int:
        """How many slots packed records have."""
        conf = self.rows.sparkSession.conf
        partitions = self.partitions or int(conf.get("spark.sql.shuffle.partitions"))
        return SLOTS_PER_PARTITION * partitions

    @property
    def representatives(self) -> Any:
        """One document of each signature."""
        return self.rows.where(F.col("signature").isNotNull())

    @property
    def copies(self) -> Any:
        """Documents with the signature of another one, which represents them."""
        return self.rows.where(F.col("signature").isNull())

    def keys(self, df: Any, *columns: str) -> Any:
        """``df`` with its columns of keys in the type that the caller's keys have."""
        cast = {name: F.col(name).cast(self.key_type) for name in columns}
        return df.withColumns(cast)

    def spread(self, df: Any, *columns: str) -> Any:
        return spread(df, self.partitions, *columns)


def field(df: Any, name: str) -> Any:
    """A column of the schema; an error that names those there are."""
    if name not in df.columns:
        raise KeyError(f"no column is named {name!r}; there are {', '.join(map(repr, df.columns))}")
    return df.schema[name]


def sketched(df: Any, params: Params, columns: Columns, signature: str, count: str | None) -> Any:
    """``df`` with a column of signatures, and one of shingle counts where it is named."""
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
    # A task has one core.
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
    """The keys as an index has them: text or bytes; an integer stands for its digits."""
    kind = field(df, name).dataType
    if isinstance(kind, (T.StringType, T.BinaryType)):
        return F.col(name)
    if isinstance(kind, _INTEGERS):
        return F.col(name).cast("string")
    raise TypeError(f"the key {name!r} must be string, binary or an integer, not {kind.simpleString()}")


def keys_of_index(df: Any, name: str) -> Literal["str", "bytes"]:
    """How keys of the type of this column are read from an index."""
    return "bytes" if isinstance(field(df, name).dataType, T.BinaryType) else "str"


def signed(df: Any, params: Params, columns: Columns, extra: dict[str, Any]) -> Any:
    """The columns key, those of ``extra``, shingle_count (0 where it is not known) and signature:
    null where there is nothing to compare."""
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
    """A column of the bytes of signatures as the engine has them."""
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
    """Stores a row per document that can be compared; the first one in ``order`` of each
    signature represents the others."""
    key_type = field(df, columns.key).dataType
    rows = signed(df, params, columns, {}).where(F.col("signature").isNotNull())
    sorted_rows = spread(rows, partitions, "signature").sortWithinPartitions("signature", *order)
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
    return Documents(rows, params, key_type, path, partitions)


def number_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """Numbers signatures from the first one of the partition on; copies get a null signature.

    Any unique numbers will do: no answer depends on them.
    """
    context = TaskContext.get()
    number = ((context.partitionId() if context else 0) << 40) - 1
    last = None
    for batch in batches:
        if not batch.num_rows:
            continue
        signature = batch.column("signature")
        first = begins(batch, ["signature"])
        first[0] = signature[0].as_py() != last
        numbers = np.cumsum(first, dtype=np.int64) + number
        number, last = int(numbers[-1]), signature[-1].as_py()
        of_first = pc.if_else(pa.array(first), signature, pa.scalar(None, signature.type))
        columns = [batch.column("key"), batch.column("shingle_count"), of_first, pa.array(numbers)]
        names = ["key", "shingle_count", "signature", "document"]
        yield pa.RecordBatch.from_arrays(columns, names=names)


def _check_signatures(df: Any, params: Params, name: str) -> None:
    made = field(df, name)
    if not isinstance(made.dataType, T.BinaryType):
        raise TypeError(f"{name!r} must be a column of signatures (binary), as sketch() makes it")
    made_with = made.metadata.get(SIGNATURE_ID)
    if made_with is not None and made_with != f"{params.signature_id:016x}":
        raise MismatchError(f"the signatures of {name!r} were made with other parameters")


def _check_keys(rows: Any, name: str) -> None:
    """An error if a key is null, or has two rows: a data frame has no order, so none is the last."""
    counted = rows.groupBy("key").count().where("key is null or count > 1")
    bad = [row["key"] for row in counted.limit(3).collect()]
    if None in bad:
        raise InvalidError(f"a document has no key: {name!r} is null")
    if bad:
        shown = ", ".join(repr(bytes(key) if isinstance(key, bytearray) else key) for key in bad)
        raise InvalidError(
            f"several documents have the same key ({name!r}: {shown}): keep one row per key, for"
            f" instance by dropDuplicates([{name!r}])"
        )
