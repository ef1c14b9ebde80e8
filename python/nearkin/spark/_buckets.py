"""Buckets: finds the candidates. Only numbers are exchanged.

A small bucket sends its pairs of numbers: each goes to the home of its smaller number, where
repeated pairs are dropped. A large bucket would send too many pairs: it sends its members, which
come back with their signatures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pyarrow as pa

from .. import Params, shards
from ._homes import Layout, slots_of_numbers
from ._packed import Blobs, blobs, by_slot, packed, records_of

#: A document in a bucket. The tag is a part of the BandKey; the slot depends on another part.
ENTRY = np.dtype([("band", "<u2"), ("tag", "<u4"), ("number", "<i8")])
_NARROW = np.dtype([("band", "u1"), ("tag", "<u4"), ("number", "<i8")])
#: A candidate: b, and the band of the bucket in which it meets a.
PAIR = np.dtype([("a", "<i8"), ("b", "<i8"), ("band", "<u2")])
#: A bucket, or a pair of blocks of one: left and right block, or -1 for a whole bucket.
PART = [("band", "<u2"), ("tag", "<u4"), ("left", "<i4"), ("right", "<i4")]
MEMBER = np.dtype([("number", "<i8"), *PART, ("of_right", "?")])
PAIRS, MEMBERS = 0, 1
#: Maximum number of documents of a bucket that sends pairs. A member costs as much as nine pairs.
SMALL = 16


def entry_of(params: Params) -> Any:
    """How an entry is stored."""
    return _NARROW if params.bands <= 256 else ENTRY


def entries_of(layout: Layout, identities: Any, numbers: Any) -> Blobs:
    """One entry per document and band, by the slot of its bucket."""
    params, slots = layout.params, layout.slots
    signatures = layout.signatures(identities)
    found = pa.table(shards.band_entries(params, signatures, pa.array(numbers)))
    band_keys = found.column("band_key").to_numpy().view(np.uint64)
    records = np.empty(len(band_keys), dtype=entry_of(params))
    records["band"] = found.column("band").to_numpy()
    records["tag"] = band_keys & np.uint64(0xFFFFFFFF)
    records["number"] = found.column("document").to_numpy()
    slot = (band_keys >> np.uint64(32)) % np.uint64(slots)
    return blobs(records, slot.astype(np.int32), slots)


def slots_of_parts(records: Any, slots: int) -> Any:
    mixed = records["tag"].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed += records["band"].astype(np.uint64)
    mixed += records["left"].astype(np.uint64) * np.uint64(31)
    mixed += records["right"].astype(np.uint64) * np.uint64(1_009)
    return ((mixed >> np.uint64(16)) % np.uint64(slots)).astype(np.int32)


def candidate_batches(
    batches: Iterable[Any], params: Params, slots: int, block: int
) -> Iterator[Any]:
    """Messages to homes: the pairs of small buckets, and the members of large ones. A bucket of
    more than ``block`` documents is divided into blocks; a document is repeated for every pair of
    blocks that has its block."""
    for rows in by_slot(batches):
        entries, buckets = _shared(records_of(rows.column("data"), entry_of(params)))
        sizes = np.bincount(buckets) if len(buckets) else np.empty(0, dtype=np.int64)
        small = (sizes <= SMALL)[buckets]
        pairs = _pairs(entries[small], buckets[small])
        yield packed(PAIRS, pairs, slots_of_numbers(pairs["a"], slots), slots)
        members = [_part(entries[~small & (sizes <= block)[buckets]], -1, -1, False)]
        starts = np.cumsum(sizes) - sizes
        for bucket in np.flatnonzero((sizes > SMALL) & (sizes > block)):
            members += _cut(entries[starts[bucket] : starts[bucket] + sizes[bucket]], block)
        together = np.concatenate(members)
        yield packed(MEMBERS, together, slots_of_numbers(together["number"], slots), slots)


def _shared(stored: Any) -> tuple[Any, Any]:
    """The entries of buckets with two or more different numbers, sorted by bucket and number; and
    the index of the bucket of each."""
    bucket = (stored["band"].astype(np.uint64) << np.uint64(32)) | stored["tag"]
    order = np.argsort(bucket)
    bucket = bucket[order]
    same = bucket[1:] == bucket[:-1]
    several = np.append(same, False) | np.append(False, same)
    bucket, entries = bucket[several], stored[order[several]].astype(ENTRY)
    order = np.lexsort((entries["number"], bucket))
    bucket, entries = bucket[order], entries[order]
    same = bucket[1:] == bucket[:-1]
    is_new = np.append(True, ~same | (entries["number"][1:] != entries["number"][:-1]))[: len(bucket)]
    bucket, entries = bucket[is_new], entries[is_new]
    same = bucket[1:] == bucket[:-1]
    several = (np.append(same, False) | np.append(False, same))[: len(bucket)]
    bucket, entries = bucket[several], entries[several]
    first = np.append(True, bucket[1:] != bucket[:-1])[: len(bucket)]
    return entries, np.cumsum(first) - 1


def _pairs(entries: Any, buckets: Any) -> Any:
    """All pairs of each bucket."""
    found = [np.empty(0, dtype=PAIR)]
    for apart in range(1, SMALL):
        here = np.flatnonzero(buckets[apart:] == buckets[:-apart])
        if not len(here):
            break
        pairs = np.empty(len(here), dtype=PAIR)
        pairs["a"], pairs["b"] = entries["number"][here], entries["number"][here + apart]
        pairs["band"] = entries["band"][here]
        found.append(pairs)
    return np.concatenate(found)


def _cut(bucket: Any, block: int) -> Iterator[Any]:
    blocks = -(-len(bucket) // block)
    for left, right in combinations_with_replacement(range(blocks), 2):
        yield _part(bucket[left * block : (left + 1) * block], left, right, False)
        if left != right:
            yield _part(bucket[right * block : (right + 1) * block], left, right, True)


def _part(entries: Any, left: int, right: int, of_right: bool) -> Any:
    records = np.empty(len(entries), dtype=MEMBER)
    for name in ("band", "tag", "number"):
        records[name] = entries[name]
    records["left"], records["right"], records["of_right"] = left, right, of_right
    return records
