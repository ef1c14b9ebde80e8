"""The guard: looks once more at what is dropped, and keeps forms that are filled in anew."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from .. import InvalidError, Params
from .._nearkin import judge_in_order
from ._alike import Alike
from ._columns import Columns, key_column
from ._dedup import order_of
from ._documents import Documents
from ._work import stored

_COUNTS = ["shingle_count", "of_shingles", "shared"]


def guard_of(guard: str | None, params: Params, columns: Columns, alike: Alike) -> bool:
    """Whether dropped rows are judged: not without texts, and not parts of longer ones."""
    why = (
        "signature=" if columns.signature
        else "estimate=True" if not alike.by_shingles
        else "contained=" if alike.contained is not None
        else "items=" if columns.items
        else None
    )  # fmt: skip
    if guard in (None, "none"):
        return guard is None and why is None
    if why is not None:
        raise InvalidError(f"guard= does nothing with {why}: leave it out")
    # An unknown name fails here, and not in a task.
    judge_in_order([], params, alike.threshold, guard, [], ([], [], []))
    return True


def kept_after_all(
    documents: Documents,
    dropped: Any,
    df: Any,
    columns: Columns,
    how: tuple[Alike, str | None, str],
) -> Any:
    """The keys of dropped documents that the guard keeps. ``dropped`` has the evidence of each; ``how``
    is the condition, the guard, and the order of preference.

    One task judges, because a decision depends on the words of all: those that were dropped for a
    document with other shingles, and those they were dropped for. It stores their texts on its disk.
    """
    alike, guard, keep = how
    suspects = dropped.where("of is not null and (shingle_count != shared or of_shingles != shared)")
    originals = suspects.select(F.col("of").alias("key"), F.col("of_shingles").alias("shingle_count"))
    rows = suspects.unionByName(originals.distinct(), allowMissingColumns=True)
    texts = df.select(key_column(df, columns.key).alias("key"), F.col(columns.text).alias("text"))
    rows = rows.join(texts, "key").repartition(1).sortWithinPartitions(*order_of(keep))
    step: Any = partial(
        judged_batches, params=documents.layout.params, threshold=alike.threshold, guard=guard
    )
    kept = rows.mapInArrow(step, f"key {documents.layout.key_kind}, apart string")
    return stored(kept, f"{documents.path}/apart")


def judged_batches(
    batches: Iterable[Any], params: Params, threshold: float, guard: str | None
) -> Iterator[Any]:
    """The documents that the guard keeps. They come in order of preference."""
    with tempfile.TemporaryDirectory(prefix="nearkin-") as scratch:
        path = f"{scratch}/rows.arrow"
        writer: Any = None
        for batch in batches:
            writer = writer or pa.ipc.new_file(path, batch.schema)
            writer.write_batch(batch)
        if writer is None:
            return
        writer.close()
        with pa.memory_map(path) as source:
            yield from _judged(pa.ipc.open_file(source).read_all(), params, threshold, guard)


def _judged(rows: Any, params: Params, threshold: float, guard: str | None) -> Iterator[Any]:
    keys = rows.column("key").combine_chunks()
    of = pc.fill_null(pc.index_in(rows.column("of"), keys), -1).combine_chunks()
    is_dropped = pc.is_valid(rows.column("of"))
    counts = tuple(pc.fill_null(rows.column(name), 0) for name in _COUNTS)
    told = pa.table(judge_in_order(rows.column("text"), params, threshold, guard, of, counts))
    kept = pa.array(np.asarray(told.column("kept")) & np.asarray(is_dropped))
    columns = [keys.filter(kept), told.column("apart").combine_chunks().filter(kept).cast(pa.string())]
    yield pa.RecordBatch.from_arrays(columns, names=["key", "apart"])


def warn_of_apart(kept: Any) -> None:
    """Says how many rows the guard kept."""
    apart = kept.where("apart is not null").count()
    if apart:
        what = "row differs" if apart == 1 else "rows differ"
        warnings.warn(
            f"{apart:,} {what} from a kept one only in numbers or in rare words: kept; guard='none'"
            " drops them, guard='rare' keeps them without this warning",
            stacklevel=3,
        )
