"""Deduplication: which documents are dropped, decided component by component."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from .. import Params
from .._nearkin import decide_in_order
from ._alike import Alike
from ._clusters import at_home, components_at, components_of
from ._columns import signatures_of
from ._documents import Documents
from ._groups import whole_groups
from ._homes import Layout, arrow_of, home_of, shingles_of

ORDER_COLUMNS = ["shingle_count", "key"]

#: The sort order of documents for ``keep``, preferred ones first: columns, and if they descend.
ORDERS = {
    "first": [("key", False)],
    "last": [("key", True)],
    "longest": [("shingle_count", True), ("key", False)],
}


def order_of(keep: str) -> list[Any]:
    return [F.col(name).desc() if down else F.col(name).asc() for name, down in ORDERS[keep]]


def dropped_keys(documents: Documents, edges: Any, keep: str, alike: Alike, one_task: int) -> Any:
    """The keys of dropped documents: those that are like a document of the index, all but the
    preferred one of each identity, and those that a component drops."""
    components = components_of(documents, edges, one_task)
    layout = documents.layout

    def step(homes: Any, messages: Any) -> Any:
        return decided_table(homes, messages, layout, keep)

    schema = f"component long, shingle_count long, key {layout.key_kind}, signature binary"
    if alike.exact:
        schema += ", shingles binary"
    members = at_home(documents, components, step, schema, with_shingles=alike.exact)
    members = documents.spread(members, "component")
    members = members.sortWithinPartitions("component", *order_of(keep))
    last: Any = partial(dropped_batches, params=layout.params, alike=alike)
    return members.mapInArrow(last, f"key {layout.key_kind}")


def decided_table(homes: Any, messages: Any, layout: Layout, keep: str) -> Any:
    """The preferred document of each identity that is in a component, with its signature and perhaps
    its shingles. Then, without these, the documents that are dropped in any case."""
    home = home_of(homes, layout)
    components, is_in = components_at(home, messages)
    counts, is_like = home.documents["count"].astype(np.int64), home.documents["is_like"]
    table = pa.table([home.group_of, counts, home.keys.values], names=["group", *ORDER_COLUMNS])
    by = [(name, "descending" if down else "ascending") for name, down in ORDERS[keep]]
    order = pc.sort_indices(table, sort_keys=[("group", "ascending"), *by]).to_numpy()
    first = np.zeros(len(order), dtype=bool)
    first[order[np.flatnonzero(np.diff(home.group_of, prepend=-1))]] = True
    asked = first & is_in[home.group_of] & ~is_like
    rows = np.flatnonzero(asked | ~first | is_like)
    groups = home.group_of[rows]
    width = layout.params.signature_bytes
    signatures = pc.binary_slice(arrow_of(home.identities[groups]), 0, width).cast(pa.binary())
    signatures = pc.if_else(pa.array(asked[rows]), signatures, pa.scalar(None, pa.binary()))
    columns = [pa.array(components[groups]), pa.array(counts[rows])]
    columns += [home.keys.values.take(pa.array(rows)).cast(layout.key_type), signatures]
    names = ["component", *ORDER_COLUMNS, "signature"]
    if layout.is_exact:
        # Only what is asked for is copied.
        there = pa.array(groups, mask=~asked[rows])
        columns.append(shingles_of(homes, home).take(there).cast(pa.binary()))
        names.append("shingles")
    return pa.table(columns, names=names)


def dropped_batches(batches: Iterable[Any], params: Params, alike: Alike) -> Iterator[Any]:
    """Decides whole components, preferred documents first. Documents of different components are
    not similar, so several components can be decided at once."""
    for table in whole_groups(batches, ["component"]):
        asked = pc.is_valid(table.column("signature")).to_numpy()
        some = table.filter(pa.array(asked))
        counts = some.column("shingle_count").to_pylist()
        signatures = signatures_of(some.column("signature"), params, counts)
        shingles = some.column("shingles") if alike.exact else None
        with tempfile.TemporaryDirectory(prefix="nearkin-") as scratch:
            kept = decide_in_order(
                signatures, params, f"{scratch}/kept", alike.threshold, alike.contained, shingles
            )["kept"]
        is_gone = np.ones(table.num_rows, dtype=bool)
        is_gone[np.flatnonzero(asked)] = ~np.array(kept, dtype=bool)
        gone = table.column("key").combine_chunks().filter(pa.array(is_gone))
        yield pa.RecordBatch.from_arrays([gone], names=["key"])
