"""Deduplication: which documents are dropped, decided component by component."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from .. import Params
from .. import dedup as dedup_rows
from ._clusters import components_of
from ._documents import Documents, signatures_of
from ._groups import whole_groups

#: The sort order of documents for ``keep``, preferred ones first: columns, and if they descend.
ORDERS = {
    "first": [("key", False)],
    "last": [("key", True)],
    "longest": [("shingle_count", True), ("key", False)],
}


def order_of(keep: str) -> list[Any]:
    return [F.col(name).desc() if down else F.col(name).asc() for name, down in ORDERS[keep]]


def dropped_keys(
    documents: Documents, edges: Any, keep: str, threshold: float, one_task: int
) -> Any:
    """The keys of dropped documents. The preferred document of each signature must represent it in
    ``documents``. The copies are dropped in any case: they are duplicates of their representative,
    or of the document for which it is dropped."""
    components = components_of(documents, edges, one_task).withColumnRenamed("node", "document")
    members = documents.representatives.join(components, "document")
    members = documents.spread(members, "component")
    members = members.sortWithinPartitions("component", *order_of(keep))
    step = partial(dropped_batches, params=documents.params, threshold=threshold)
    columns = ["component", "document", "signature"]
    gone = members.select(*columns).mapInArrow(step, "document long")
    of_representatives = documents.representatives.join(gone, "document", "left_semi").select("key")
    return of_representatives.unionByName(documents.copies.select("key"))


def dropped_batches(batches: Iterable[Any], params: Params, threshold: float) -> Iterator[Any]:
    """Decides whole components, preferred documents first. Documents of different components are
    not similar, so several components can be decided at once."""
    for table in whole_groups(batches, ["component"]):
        signatures = signatures_of(table.column("signature"), params)
        kept = dedup_rows(signatures, threshold=threshold, params=params, threads=1)
        is_gone = np.ones(table.num_rows, dtype=bool)
        is_gone[kept] = False
        gone = table.column("document").combine_chunks().filter(pa.array(is_gone))
        yield pa.RecordBatch.from_arrays([gone], names=["document"])
