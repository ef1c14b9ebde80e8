"""Packs many records into one row: Spark moves blobs instead of one row per record.

A record belongs to a *slot*, a number computed from its content. A row holds the concatenated
records that one batch has for one slot. Records can have lists of keys; the lengths and the bytes
of all keys are two more blobs. A partition has several slots, so that only the records of one slot
must fit into memory, not those of the whole partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

#: Rows of one kind of records with their keys.
PACKED = "slot int, kind int, data binary, sizes binary, keys binary"
_NAMES = ["slot", "kind", "data", "sizes", "keys"]
_TYPES = [pa.int32(), pa.int32(), pa.binary(), pa.binary(), pa.binary()]
SLOTS_PER_PARTITION = 4
_SHINGLE_BYTES = 8


def shingle_counts(shingles: Any) -> Any:
    """The number of shingles of each document, from the bytes of their hashes; null stays null."""
    return pc.cast(pc.divide(pc.binary_length(shingles), _SHINGLE_BYTES), pa.int64())


class Blobs(NamedTuple):
    """The records and keys of each slot that has records."""

    slots: Any
    data: Any
    sizes: Any
    keys: Any


def blobs(records: Any, slots_of: Any, slots: int, keys: Any = None) -> Blobs:
    """Packs ``records`` (a NumPy array) by slot. ``keys`` is an Arrow list of keys per record."""
    # NumPy sorts 16-bit numbers by radix.
    narrow = slots_of.astype(np.uint16) if slots <= 1 << 16 else slots_of
    order = np.argsort(narrow, kind="stable")
    counts = np.bincount(slots_of, minlength=slots)
    there = np.flatnonzero(counts)
    ends = np.concatenate(([0], np.cumsum(counts)[there]))
    ordered = np.ascontiguousarray(records[order])
    data = _cut(ordered, ends * records.dtype.itemsize)
    if keys is None:
        return Blobs(there, data, None, None)
    keys = keys.take(pa.array(order))
    firsts = keys.offsets.to_numpy()
    values = keys.values
    bounds = np.frombuffer(values.buffers()[1], dtype=np.int64)
    bounds = bounds[values.offset : values.offset + len(values) + 1]
    bytes_of = np.frombuffer(values.buffers()[2] or b"", dtype=np.uint8)
    sizes = np.diff(bounds[firsts[0] : firsts[-1] + 1]).astype("<u4")
    at = bounds[firsts[ends]]
    keys_cut = _cut(bytes_of[at[0] : at[-1]], at - at[0])
    return Blobs(there, data, _cut(sizes, (firsts[ends] - firsts[0]) * 4), keys_cut)


def _cut(values: Any, ends: Any) -> Any:
    buffers = [None, pa.py_buffer(ends.astype(np.int64)), pa.py_buffer(np.ascontiguousarray(values))]
    array = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(ends) - 1, buffers)
    return array.cast(pa.binary())


def packed(kind: int, records: Any, slots_of: Any, slots: int, keys: Any = None) -> Any:
    """A batch of rows PACKED."""
    made = blobs(records, slots_of, slots, keys)
    rows = len(made.slots)
    nothing = pa.nulls(rows, pa.binary())
    columns = [
        pa.array(made.slots.astype(np.int32)),
        pa.array(np.full(rows, kind, dtype=np.int32)),
        made.data,
        nothing if made.sizes is None else made.sizes,
        nothing if made.keys is None else made.keys,
    ]
    return pa.RecordBatch.from_arrays(columns, names=_NAMES)


def table_of(batches: list[Any]) -> Any:
    return pa.Table.from_batches(batches, schema=pa.schema(list(zip(_NAMES, _TYPES))))


def records_of(column: Any, dtype: Any) -> Any:
    """The records in a column of blobs."""
    parts = [np.frombuffer(values_of(chunk), dtype=dtype) for chunk in column.chunks if len(chunk)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)


def keys_of(table: Any, counts: Any) -> Any:
    """An Arrow list of keys for each record; ``counts`` are their lengths."""
    sizes = records_of(table.column("sizes"), "<u4").astype(np.int64)
    bytes_of = records_of(table.column("keys"), np.uint8)
    ends = np.concatenate(([0], np.cumsum(sizes)))
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(bytes_of)]
    keys = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(sizes), buffers)
    return lists_of(keys, np.concatenate(([0], np.cumsum(counts))))


def lists_of(keys: Any, ends: Any) -> Any:
    return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), keys)


def by_slot(batches: Iterable[Any]) -> Iterator[Any]:
    """One table per slot, with all its rows. The rows must be sorted by slot."""
    pending: list[Any] = []
    for batch in batches:
        slots = batch.column("slot").to_numpy()
        starts = [*np.flatnonzero(np.diff(slots, prepend=-1)).tolist(), len(slots)]
        for start, end in zip(starts, starts[1:]):
            if pending and pending[0].column("slot")[0].as_py() != slots[start]:
                yield pa.Table.from_batches(pending)
                pending = []
            pending.append(batch.slice(start, end - start))
    if pending:
        yield pa.Table.from_batches(pending)


def values_of(column: Any) -> Any:
    """The concatenated bytes of a binary column. A null has none."""
    _, offsets, data = column.buffers()
    if data is None:
        return b""
    ends = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]
