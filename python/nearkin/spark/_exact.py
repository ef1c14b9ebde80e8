"""Exact comparison: pairs of candidates meet with the shingles of both, and are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from .. import Params, shards
from ._alike import Alike
from ._clusters import at_home, components_at
from ._documents import Documents
from ._homes import Layout, home_of, shingles_of
from ._packed import shingle_counts
from ._work import stored

#: The columns of an exact comparison: `shingles` of the first document, `of_shingles` of the other.
EVIDENCE = ["similarity", "contained", "shingles", "of_shingles", "shared"]
EVIDENCE_TYPES = "similarity double, contained double, shingles long, of_shingles long, shared long"


def compared_pairs(documents: Documents, candidates: Any, alike: Alike) -> Any:
    """The pairs among ``candidates`` (a, b) of ids: lists of keys of equal documents, the evidence,
    and whether both lists are the same. Equal documents are compared once, and each other never."""
    layout, path = documents.layout, documents.path
    keys = f"array<{layout.key_kind}>"
    candidates = stored(candidates.distinct(), f"{path}/candidates")
    nodes = candidates.select(F.col("a").alias("node")).union(candidates.select("b")).distinct()
    nodes = nodes.select("node", F.col("node").alias("component"))

    def step(homes: Any, messages: Any) -> Any:
        return contents_table(homes, messages, layout)

    schema = f"id long, keys {keys}, count long, shingles binary"
    contents = at_home(documents, nodes, step, schema, with_shingles=True)
    contents = stored(contents, f"{path}/contents")
    found = candidates
    for end in "ab":
        side = contents.where("shingles is not null")
        renamed = [F.col(name).alias(f"{end}_{name}") for name in ("keys", "shingles")]
        found = found.join(side.select(F.col("id").alias(end), *renamed), end)
    found = found.select("a_keys", "b_keys", "a_shingles", "b_shingles")
    compare: Any = partial(compared_batches, params=layout.params, alike=alike)
    schema = f"a {keys}, b {keys}, {EVIDENCE_TYPES}, within boolean"
    found = found.mapInArrow(compare, schema)
    equal = contents.where("size(keys) > 1").select(
        F.col("keys").alias("a"),
        F.col("keys").alias("b"),
        *(F.lit(1.0).alias(name) for name in EVIDENCE[:2]),
        *(F.col("count").alias(name) for name in EVIDENCE[2:]),
        F.lit(True).alias("within"),
    )
    return found.unionByName(equal)


def contents_table(homes: Any, messages: Any, layout: Layout) -> Any:
    """The documents that are candidates, or have the same shingles as others: id, keys, count of
    shingles, and the shingles of candidates."""
    home = home_of(homes, layout)
    _, is_in = components_at(home, messages)
    rows = np.flatnonzero(is_in | (np.diff(home.keys.offsets.to_numpy()) > 1))
    shingles = shingles_of(homes, home).take(pa.array(rows))
    counts = shingle_counts(shingles)
    shingles = pc.if_else(pa.array(is_in[rows]), shingles, pa.scalar(None, pa.large_binary()))
    keys = home.keys.take(pa.array(rows)).cast(pa.list_(layout.key_type))
    columns = [pa.array(home.ids[rows]), keys, counts, shingles.cast(pa.binary())]
    return pa.table(columns, names=["id", "keys", "count", "shingles"])


def compared_batches(batches: Iterable[Any], params: Params, alike: Alike) -> Iterator[Any]:
    for batch in batches:
        told = compared(params, batch.column("a_shingles"), batch.column("b_shingles"), alike)
        row = told.column("row").combine_chunks()
        columns = [batch.column(name).take(row) for name in ("a_keys", "b_keys")]
        columns += [told.column(name).combine_chunks() for name in EVIDENCE]
        columns.append(pa.array(np.zeros(len(row), dtype=bool)))
        yield pa.RecordBatch.from_arrays(columns, names=["a", "b", *EVIDENCE, "within"])


def compared(params: Params, shingles: Any, others: Any, alike: Alike) -> Any:
    """The rows that hold, with their evidence."""
    found = shards.compare(params, shingles, others, alike.threshold, contained=alike.contained)
    return pa.table(found)
