"""All pairs: the band join finds pairs of signatures, which are then extended to all documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from .. import BugError, Params, Signature, shards
from ._documents import Documents
from ._groups import groups_of
from ._packed import PACKED, by_slot, exchanged, packed, together, unpacked, values_of

_BUCKET = ["band", "band_key"]
_PART = [*_BUCKET, "left", "right"]
_PAIRS = "a long, b long, similarity double"
#: A document in a bucket. A candidate also has its part: left and right block, or -1 for a whole
#: bucket.
_ENTRY = [("band", "<u2"), ("band_key", "<i8"), ("document", "<i8")]
_CANDIDATE = [*_ENTRY, ("left", "<i4"), ("right", "<i4"), ("of_right", "?")]
_OF_SIGNATURES, _OF_CANDIDATES = 0, 1


def pairs_of_signatures(documents: Documents, threshold: float, block: int) -> Any:
    """The pairs (a, b, similarity) among the representatives, as document numbers."""
    step: Any = partial(pair_batches, params=documents.params, threshold=threshold)
    return _buckets(documents, block).mapInArrow(step, _PAIRS)


def edges_of_signatures(documents: Documents, threshold: float, block: int) -> Any:
    """Edges (a, b) that connect the representatives as their pairs do, without all pairs."""
    step: Any = partial(edge_batches, params=documents.params, threshold=threshold)
    return _buckets(documents, block).mapInArrow(step, "a long, b long")


def _buckets(documents: Documents, block: int) -> Any:
    """Packed rows of the buckets of two and more documents, with signatures."""
    params, slots = documents.params, documents.slots
    one_each = documents.representatives.select("document", "signature")
    entries = one_each.mapInArrow(partial(entry_batches, params=params, slots=slots), PACKED)
    step: Any = partial(candidate_batches, block=block, slots=slots)
    candidates = exchanged(documents, entries).mapInArrow(step, PACKED)
    step = partial(signature_batches, params=params, slots=slots)
    rows = candidates.unionByName(one_each.mapInArrow(step, PACKED))
    step = partial(signed_batches, params=params, slots=slots)
    return exchanged(documents, exchanged(documents, rows).mapInArrow(step, PACKED))


def _record_with_signature(fields: list[Any], params: Params) -> Any:
    return np.dtype([*fields, ("signature", f"V{params.signature_bytes}")])


def _slots_of_parts(records: Any, slots: int) -> Any:
    """The slot of each record's part. A BandKey is a hash, so any of its bits can be used."""
    mixed = np.ascontiguousarray(records["band_key"]).view(np.uint64)
    mixed = (mixed >> np.uint64(16)) + records["band"].astype(np.uint64)
    if "left" in records.dtype.names:
        mixed += records["left"].astype(np.uint64) * np.uint64(31)
        mixed += records["right"].astype(np.uint64) * np.uint64(1_009)
    return (mixed % np.uint64(slots)).astype(np.int32)


def _slots_of_documents(numbers: Any, slots: int) -> Any:
    """The slot of each document. Numbers count from 0 in each partition; bits 40 up are its id."""
    return ((numbers + (numbers >> 40)) % slots).astype(np.int32)


def entry_batches(batches: Iterable[Any], params: Params, slots: int) -> Iterator[Any]:
    for table in together(batches):
        columns = (table.column("signature"), table.column("document"))
        entries = pa.table(shards.band_entries(params, *columns))
        records = np.empty(entries.num_rows, dtype=_ENTRY)
        for name in records.dtype.names:
            records[name] = entries.column(name).to_numpy()
        yield from packed(records, _slots_of_parts(records, slots))


def signature_batches(batches: Iterable[Any], params: Params, slots: int) -> Iterator[Any]:
    dtype = _record_with_signature([("document", "<i8")], params)
    for table in together(batches):
        records = np.empty(table.num_rows, dtype=dtype)
        numbers = records["document"] = table.column("document").to_numpy()
        parts = [values_of(chunk) for chunk in table.column("signature").chunks]
        records["signature"] = np.frombuffer(b"".join(parts), dtype=dtype["signature"])
        yield from packed(records, _slots_of_documents(numbers, slots), _OF_SIGNATURES)


def candidate_batches(batches: Iterable[Any], block: int, slots: int) -> Iterator[Any]:
    """The documents of buckets with two or more documents. A bucket of more than ``block``
    documents is divided into blocks; a document is repeated for every pair that has its block."""
    for rows in by_slot(batches):
        entries = _shared(unpacked(rows, 0, _ENTRY))
        first = np.ones(len(entries), dtype=bool)
        if len(entries):
            differ = [entries[name][1:] != entries[name][:-1] for name in _BUCKET]
            first[1:] = differ[0] | differ[1]
        starts = np.flatnonzero(first)
        sizes = np.diff(starts, append=len(entries))
        each = np.repeat(sizes, sizes)
        pieces = [_part(entries[(each > 1) & (each <= block)], -1, -1, False)]
        for bucket in np.flatnonzero(sizes > block):
            begin = starts[bucket]
            pieces += _cut(entries[begin : begin + sizes[bucket]], block)
        for piece in pieces:
            slot = _slots_of_documents(piece["document"], slots)
            yield from packed(piece, slot, _OF_CANDIDATES)


def _shared(entries: Any) -> Any:
    """The entries of buckets that may have two or more documents, sorted by bucket and document."""
    band_keys = np.ascontiguousarray(entries["band_key"])
    order = np.argsort(band_keys)
    band_keys = band_keys[order]
    same = band_keys[1:] == band_keys[:-1]
    # Two bands can have the same BandKey with one document each: the caller checks this.
    several = np.append(same, False) | np.append(False, same)
    entries = entries[order[several]]
    return entries[np.lexsort([entries[name] for name in ("document", "band", "band_key")])]


def _cut(bucket: Any, block: int) -> Iterator[Any]:
    blocks = -(-len(bucket) // block)
    for left, right in combinations_with_replacement(range(blocks), 2):
        yield _part(bucket[left * block : (left + 1) * block], left, right, False)
        if left != right:
            yield _part(bucket[right * block : (right + 1) * block], left, right, True)


def _part(entries: Any, left: int, right: int, of_right: bool) -> Any:
    records = np.empty(len(entries), dtype=_CANDIDATE)
    for name in entries.dtype.names:
        records[name] = entries[name]
    records["left"], records["right"], records["of_right"] = left, right, of_right
    return records


def signed_batches(batches: Iterable[Any], params: Params, slots: int) -> Iterator[Any]:
    """Joins candidates with their signatures."""
    of_signatures = _record_with_signature([("document", "<i8")], params)
    of_signed = _record_with_signature(_CANDIDATE, params)
    for rows in by_slot(batches):
        candidates = unpacked(rows, _OF_CANDIDATES, _CANDIDATE)
        signatures = unpacked(rows, _OF_SIGNATURES, of_signatures)
        numbers = np.ascontiguousarray(signatures["document"])
        order = np.argsort(numbers)
        places = np.searchsorted(numbers, candidates["document"], sorter=order)
        places = order[np.minimum(places, len(order) - 1)] if len(order) else places
        if len(candidates) and not np.array_equal(numbers[places], candidates["document"]):
            raise BugError("a document in a bucket has no signature: please report this")
        records = np.empty(len(candidates), dtype=of_signed)
        for name in candidates.dtype.names:
            records[name] = candidates[name]
        records["signature"] = signatures["signature"][places]
        yield from packed(records, _slots_of_parts(records, slots))


def _table_of(records: Any) -> Any:
    """A table of the records, sorted by bucket, part and document."""
    by = ("document", "of_right", "right", "left", "band_key", "band")
    records = records[np.lexsort([records[name] for name in by])]
    columns = {name: pa.array(np.ascontiguousarray(records[name])) for name in reversed(by)}
    columns["band"] = columns["band"].cast(pa.int64())
    width = records.dtype["signature"].itemsize
    ends = np.arange(0, width * len(records) + 1, width, dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(records["signature"]))]
    columns["signature"] = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(records), buffers)
    return pa.table(columns)


def pair_batches(batches: Iterable[Any], params: Params, threshold: float) -> Iterator[Any]:
    dtype = _record_with_signature(_CANDIDATE, params)
    for rows in by_slot(batches):
        table = _table_of(unpacked(rows, 0, dtype))
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


def edge_batches(batches: Iterable[Any], params: Params, threshold: float) -> Iterator[Any]:
    dtype = _record_with_signature(_CANDIDATE, params)
    columns = [*_BUCKET, "document", "signature"]
    for rows in by_slot(batches):
        table = _table_of(unpacked(rows, 0, dtype))
        is_whole = pc.less(table.column("left"), 0)
        # The two blocks of a part are connected like one bucket.
        parts = [table.filter(is_whole), *groups_of(table.filter(pc.invert(is_whole)), _PART)]
        for part in parts:
            if part.num_rows:
                inputs = [part.column(name) for name in columns]
                found = shards.connect_buckets(params, *inputs, threshold)
                yield from pa.table(found).to_batches()


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
    """The pairs (a, b, similarity) of keys. Copies are paired with each other, and with all
    documents that their representative is paired with. Each signature must be represented by its
    document with the smallest key."""
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
    """The similarity of two documents with the same signature."""
    one = Signature.from_bytes(params, bytes(params.signature_bytes), 1)
    return one.similarity(one)
