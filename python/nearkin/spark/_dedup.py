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


def dropped_rows(
    documents: Documents, edges: Any, keep: str, alike: Alike, one_task: int, guarded: bool
) -> Any:
    """The keys of dropped documents: those that are like a document of the index, all but the
    preferred one of each identity, and those that a component drops. With ``guarded`` also the
    evidence of a component: the kept document ``of``, and the counts of shingles."""
    components = components_of(documents, edges, one_task)
    layout = documents.layout

    def step(homes: Any, messages: Any) -> Any:
        return decided_table(homes, messages, layout, keep, guarded)

    kind = layout.key_kind
    schema = f"component long, shingle_count long, key {kind}, signature binary"
    if layout.is_exact:
        schema += ", identity long, shingles binary"
    members = at_home(documents, components, step, schema, with_shingles=layout.is_exact)
    members = documents.spread(members, "component")
    members = members.sortWithinPartitions("component", *order_of(keep))
    last: Any = partial(dropped_batches, params=layout.params, alike=alike, guarded=guarded)
    evidence = f", shingle_count long, of {kind}, of_shingles long, shared long" if guarded else ""
    return members.mapInArrow(last, f"key {kind}{evidence}")


def decided_table(homes: Any, messages: Any, layout: Layout, keep: str, guarded: bool = False) -> Any:
    """The preferred document of each identity that is in a component, with its signature and perhaps
    its shingles. Then, without these, the documents that are dropped in any case. With ``guarded``,
    the others of such an identity have their signature, too: each is decided on."""
    home = home_of(homes, layout)
    components, is_in = components_at(home, messages)
    counts, is_like = home.documents["count"].astype(np.int64), home.documents["is_like"]
    table = pa.table([home.group_of, counts, home.keys.values], names=["group", *ORDER_COLUMNS])
    by = [(name, "descending" if down else "ascending") for name, down in ORDERS[keep]]
    order = pc.sort_indices(table, sort_keys=[("group", "ascending"), *by]).to_numpy()
    first = np.zeros(len(order), dtype=bool)
    first[order[np.flatnonzero(np.diff(home.group_of, prepend=-1))]] = True
    asked = is_in[home.group_of] & ~is_like
    shown = first & asked
    asked = asked if guarded else shown
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
        there = pa.array(groups, mask=~shown[rows])
        columns += [pa.array(home.ids[groups]), shingles_of(homes, home).take(there).cast(pa.binary())]
        names += ["identity", "shingles"]
    return pa.table(columns, names=names)


def dropped_batches(
    batches: Iterable[Any], params: Params, alike: Alike, guarded: bool = False
) -> Iterator[Any]:
    """Decides whole components, preferred documents first. Documents of different components are
    not similar, so several components can be decided at once."""
    for table in whole_groups(batches, ["component"]):
        asked = pc.is_valid(table.column("signature")).to_numpy()
        some = table.filter(pa.array(asked)).combine_chunks()
        counts = some.column("shingle_count").to_pylist()
        signatures = signatures_of(some.column("signature"), params, counts)
        shingles = _distinct_shingles(some) if alike.by_shingles else None
        with tempfile.TemporaryDirectory(prefix="nearkin-") as scratch:
            decided = decide_in_order(
                signatures, params, f"{scratch}/kept", alike.threshold, alike.contained, alike.exact,
                shingles,
            )  # fmt: skip
        is_gone = np.ones(table.num_rows, dtype=bool)
        is_gone[np.flatnonzero(asked)] = ~np.array(decided["kept"], dtype=bool)
        gone = table.column("key").combine_chunks().filter(pa.array(is_gone))
        if not guarded:
            yield pa.RecordBatch.from_arrays([gone], names=["key"])
            continue
        is_sure = is_gone & ~asked
        sure = table.select(["key", "shingle_count"]).filter(pa.array(is_sure))
        told = [sure, _evidence(some, pa.table(decided))]
        yield from pa.concat_tables(told, promote_options="default").to_batches()


def _distinct_shingles(some: Any) -> tuple[Any, Any]:
    """The shingles of each identity, and the place of each document's among them."""
    shown = some.filter(pc.is_valid(some.column("shingles")))
    identities = shown.column("identity").to_numpy()
    order = np.argsort(identities)
    places = np.searchsorted(identities, some.column("identity").to_numpy(), sorter=order)
    return shown.column("shingles"), pa.array(order[places])


def _evidence(some: Any, decided: Any) -> Any:
    """The documents that were dropped for another one, with the counts that say why."""
    decided = decided.select(["duplicate_of", "of_shingles", "shared"])
    is_dropped = pc.is_valid(decided.column("duplicate_of"))
    of = some.column("key").take(decided.column("duplicate_of").filter(is_dropped))
    gone = some.select(["key", "shingle_count"]).filter(is_dropped).append_column("of", of)
    for name in ("of_shingles", "shared"):
        gone = gone.append_column(name, decided.column(name).filter(is_dropped))
    return gone
