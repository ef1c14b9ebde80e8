"""Deduplication: which documents are dropped, decided component by component."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from .. import shards
from ._clusters import components_of
from ._documents import Documents
from ._groups import whole_groups
from ._work import stored

#: The sort order of documents for ``keep``, preferred ones first: columns, and if they descend.
ORDERS = {
    "first": [("key", False)],
    "last": [("key", True)],
    "longest": [("shingle_count", True), ("key", False)],
}


def order_of(keep: str) -> list[Any]:
    return [F.col(name).desc() if down else F.col(name).asc() for name, down in ORDERS[keep]]


def stored_pairs(documents: Documents, pairs: Any) -> Any:
    """Stores the pairs in files: they are read twice, for the components and for the decisions."""
    return stored(pairs, f"{documents.path}/pairs")


def dropped_keys(documents: Documents, pairs: Any, keep: str, one_task: int) -> Any:
    """The keys of dropped documents. The preferred document of each signature must represent it in
    ``documents``. The copies are dropped in any case: they are duplicates of their representative,
    or of the document for which it is dropped."""
    components = components_of(documents, pairs, one_task)
    edges = pairs.select("a", "b").join(components.withColumnRenamed("node", "a"), "a")
    for end in ("a", "b"):
        names = [F.col("document").alias(end), F.col("key").alias(f"{end}_key")]
        names.append(F.col("shingle_count").alias(f"{end}_shingle_count"))
        edges = edges.join(documents.representatives.select(*names), end)
    edges = documents.spread(edges, "component").sortWithinPartitions("component", "a", "b")
    gone = edges.mapInArrow(partial(dropped_batches, order=ORDERS[keep]), "document long")
    of_representatives = documents.representatives.join(gone, "document", "left_semi").select("key")
    return of_representatives.unionByName(documents.copies.select("key"))


def dropped_batches(batches: Iterable[Any], order: list[tuple[str, bool]]) -> Iterator[Any]:
    columns = ["key", "shingle_count"]
    for table in whole_groups(batches, ["component"]):
        ends = [
            table.select([end, *(f"{end}_{name}" for name in columns)]).rename_columns(
                ["document", *columns]
            )
            for end in ("a", "b")
        ]
        nodes = pa.concat_tables(ends).group_by(["document", *columns]).aggregate([])
        by = [(name, "descending" if down else "ascending") for name, down in order]
        ranked = nodes.sort_by(by).column("document").combine_chunks()
        ranks = [
            pc.index_in(table.column(end), value_set=ranked).cast(pa.int64()) for end in ("a", "b")
        ]
        found = pa.table(shards.dropped(*ranks))
        gone = ranked.take(found.column("node").combine_chunks())
        yield pa.RecordBatch.from_arrays([gone], names=["document"])
