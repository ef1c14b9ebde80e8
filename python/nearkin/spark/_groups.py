"""Splits sorted batches of rows into groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def begins(table: Any, names: list[str]) -> Any:
    """For each row, whether it differs from the previous row in one of the columns."""
    first = np.zeros(table.num_rows, dtype=bool)
    first[:1] = True
    for name in names:
        column = table.column(name)
        differs = pc.not_equal(column.slice(1), column.slice(0, max(len(column) - 1, 0)))
        first[1:] |= differs.to_numpy(zero_copy_only=False)
    return first


def whole_groups(batches: Iterable[Any], names: list[str]) -> Iterator[Any]:
    """The rows of ``batches`` as tables; all rows of a group are in the same table.

    ``batches`` must be sorted by the columns ``names``. Holds the largest group and one batch.
    """
    pending: list[Any] = []
    last: list[Any] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        starts = np.flatnonzero(begins(batch, names))
        if pending and last == _values(batch, 0, names):
            # The first group of the batch continues the pending one; the others begin here.
            starts = starts[1:]
        if len(starts):
            pending.append(batch.slice(0, int(starts[-1])))
            if any(piece.num_rows for piece in pending):
                yield pa.Table.from_batches(pending).combine_chunks()
            pending = [batch.slice(int(starts[-1]))]
        else:
            pending.append(batch)
        last = _values(batch, batch.num_rows - 1, names)
    if pending:
        yield pa.Table.from_batches(pending).combine_chunks()


def groups_of(table: Any, names: list[str]) -> Iterator[Any]:
    """Splits a sorted table into one table per group."""
    starts = [*np.flatnonzero(begins(table, names)).tolist(), table.num_rows]
    for start, end in zip(starts, starts[1:]):
        yield table.slice(start, end - start)


def _values(batch: Any, row: int, names: list[str]) -> list[Any]:
    return [batch.column(name)[row].as_py() for name in names]
