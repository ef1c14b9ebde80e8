"""All pairs: the band join, and the answer for all documents of a pair of signatures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from .. import Params, Signature, shards
from ._documents import Documents
from ._groups import begins, groups_of, whole_groups

_BUCKET = ["band", "band_key"]
_PART = [*_BUCKET, "left", "right"]
_ENTRIES = "band long, band_key long, document long"
_CANDIDATES = "band long, band_key long, left int, right int, of_right boolean, document long"
_PAIRS = "a long, b long, similarity double"


def pairs_of_signatures(documents: Documents, threshold: float, block: int) -> Any:
    """The pairs (a, b, similarity) among the numbers of the representatives."""
    params = documents.params
    one_each = documents.representatives.select("document", "signature")
    entries = one_each.mapInArrow(partial(entry_batches, params=params), _ENTRIES)
    buckets = documents.spread(entries, *_BUCKET).sortWithinPartitions(*_BUCKET, "document")
    candidates = buckets.mapInArrow(partial(candidate_batches, block=block), _CANDIDATES)
    signed = candidates.join(one_each, "document")
    parts = documents.spread(signed, *_PART).sortWithinPartitions(*_PART, "of_right", "document")
    step = partial(pair_batches, params=params, threshold=threshold)
    return parts.mapInArrow(step, _PAIRS)


def entry_batches(batches: Iterable[Any], params: Params) -> Iterator[Any]:
    for batch in batches:
        entries = shards.band_entries(params, batch.column("signature"), batch.column("document"))
        yield from pa.table(entries).to_batches()


def candidate_batches(batches: Iterable[Any], block: int) -> Iterator[Any]:
    """The documents of buckets of two and more. A bucket of more than ``block`` documents is cut:
    its documents are repeated for every pair of blocks that theirs is one of."""
    for table in whole_groups(batches, _BUCKET):
        starts = np.flatnonzero(begins(table, _BUCKET))
        sizes = np.diff(starts, append=table.num_rows)
        each = np.repeat(sizes, sizes)
        whole = table.filter(pa.array((each > 1) & (each <= block)))
        yield from _part(whole, -1, -1, False)
        for bucket in np.flatnonzero(sizes > block):
            yield from _cut(table.slice(int(starts[bucket]), int(sizes[bucket])), block)


def _cut(bucket: Any, block: int) -> Iterator[Any]:
    blocks = -(-bucket.num_rows // block)
    for left, right in combinations_with_replacement(range(blocks), 2):
        yield from _part(bucket.slice(left * block, block), left, right, False)
        if left != right:
            yield from _part(bucket.slice(right * block, block), left, right, True)


def _part(table: Any, left: int, right: int, of_right: bool) -> Iterator[Any]:
    rows = table.num_rows
    columns = [
        table.column("band"),
        table.column("band_key"),
        pa.array(np.full(rows, left, dtype=np.int32)),
        pa.array(np.full(rows, right, dtype=np.int32)),
        pa.array(np.full(rows, of_right)),
        table.column("document"),
    ]
    yield from pa.Table.from_arrays(columns, names=[*_PART, "of_right", "document"]).to_batches()


def pair_batches(batches: Iterable[Any], params: Params, threshold: float) -> Iterator[Any]:
    for table in whole_groups(batches, _PART):
        is_whole = pc.less(table.column("left"), 0)
        yield from _verified(table.filter(is_whole), params, threshold)
        for part in groups_of(table.filter(pc.invert(is_whole)), _PART):
            if part.column("left")[0] == part.column("right")[0]:
                yield from _verified(part, params, threshold)
                continue
            of_right = part.column("of_right")
            left, right = part.filter(pc.invert(of_right)), part.filter(of_right)
            found = shards.verify_between(
                params,
                part.column("band")[0].as_py(),
                left.column("document"),
                left.column("signature"),
                right.column("document"),
                right.column("signature"),
                threshold,
            )
            yield from _batches_of(found)


def _verified(table: Any, params: Params, threshold: float) -> Iterator[Any]:
    if table.num_rows:
        bands, band_keys, documents, signatures = (
            table.column(name) for name in (*_BUCKET, "document", "signature")
        )
        found = shards.verify_buckets(params, bands, band_keys, documents, signatures, threshold)
        yield from _batches_of(found)


def _batches_of(found: Any) -> Iterator[Any]:
    yield from pa.table(found).select(["a", "b", "similarity"]).to_batches()


def pairs_of_documents(documents: Documents, pairs: Any) -> Any:
    """The pairs (a, b, similarity) of keys: copies are pairs of each other, and of whatever their
    representative is a pair of. ``documents`` are represented by their least keys."""
    members = documents.rows.select("document", "key")

    def named(document: str, key: str) -> Any:
        return members.select(F.col("document").alias(document), F.col("key").alias(key))

    across = pairs.join(named("a", "one"), "a").join(named("b", "other"), "b")
    across = across.select(
        F.least("one", "other").alias("a"), F.greatest("one", "other").alias("b"), "similarity"
    )
    greater = documents.copies.select("document", F.col("key").alias("b"))
    within = greater.join(named("document", "a"), "document").where("a < b")
    within = within.select("a", "b", F.lit(_of_equal(documents.params)).alias("similarity"))
    return documents.keys(across.unionByName(within), "a", "b")


def _of_equal(params: Params) -> float:
    """The similarity of two documents of one signature."""
    one = Signature.from_bytes(params, bytes(params.signature_bytes), 1)
    return one.similarity(one)
