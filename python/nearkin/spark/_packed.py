"""Packs many records into one row: Spark moves blobs instead of one row per record.

A record belongs to a *slot*, a number computed from its content. A row is (slot, kind, data): the
concatenated records of one kind that one batch has for one slot. A partition has several slots, so
that only the records of one slot must fit into memory, not those of the whole partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ._groups import groups_of, whole_groups

PACKED = "slot int, kind int, data binary"
SLOTS_PER_PARTITION = 4
#: Number of rows that are packed at once. More rows make longer blobs.
ROWS = 50_000


def together(batches: Iterable[Any]) -> Iterator[Any]:
    """The rows of ``batches`` as tables of about ``ROWS`` rows."""
    pending: list[Any] = []
    for batch in batches:
        if batch.num_rows:
            pending.append(batch)
        if sum(batch.num_rows for batch in pending) >= ROWS:
            yield pa.Table.from_batches(pending).combine_chunks()
            pending = []
    if pending:
        yield pa.Table.from_batches(pending).combine_chunks()


def packed(records: Any, slots: Any, kind: int = 0) -> Iterator[Any]:
    """Packs ``records`` (a NumPy array) into rows; ``slots`` has the slot of each record."""
    if not len(records):
        return
    order = np.argsort(slots, kind="stable")
    slots, records = slots[order], records[order]
    starts = np.flatnonzero(np.concatenate(([True], slots[1:] != slots[:-1])))
    ends = np.append(starts, len(records)) * records.dtype.itemsize
    data = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(starts), [None, pa.py_buffer(ends.astype(np.int64)), pa.py_buffer(records)]
    )
    columns = [
        pa.array(slots[starts].astype(np.int32)),
        pa.array(np.full(len(starts), kind, dtype=np.int32)),
        data.cast(pa.binary()),
    ]
    yield pa.RecordBatch.from_arrays(columns, names=["slot", "kind", "data"])


def exchanged(documents: Any, rows: Any) -> Any:
    """Repartitions packed rows: all rows of a slot in one partition, sorted by slot and kind."""
    return documents.spread(rows, "slot").sortWithinPartitions("slot", "kind")


def by_slot(batches: Iterable[Any]) -> Iterator[Any]:
    """One table per slot, with all its rows."""
    for table in whole_groups(batches, ["slot"]):
        yield from groups_of(table, ["slot"])


def unpacked(rows: Any, kind: int, dtype: Any) -> Any:
    """The records of one kind. ``rows`` are those of one slot, sorted by kind."""
    kinds = rows.column("kind").to_numpy()
    begin, end = np.searchsorted(kinds, [kind, kind + 1])
    data = rows.column("data").slice(int(begin), int(end - begin))
    parts = [np.frombuffer(values_of(chunk), dtype=dtype) for chunk in data.chunks if len(chunk)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)


def values_of(column: Any) -> Any:
    """The concatenated bytes of a binary column."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]
