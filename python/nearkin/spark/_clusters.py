"""Connected components: computed in one task if the edges fit into memory, otherwise in rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F

from .. import BugError, shards
from ._documents import Documents
from ._groups import whole_groups
from ._homes import Home, Layout, home_of, slots_of_numbers
from ._packed import PACKED, packed, records_of
from ._work import stored

_OF_COMPONENT = np.dtype([("node", "<i8"), ("component", "<i8")])

_STARS = "node long, component long"
_EDGES = "node long, neighbour long"
#: More rounds than this mean a bug: the expected number is about the logarithm of the nodes.
_ROUNDS_MAX = 100


def components_of(documents: Documents, edges: Any, one_task: int) -> Any:
    """(node, component) of all ids in an edge. Any member may represent a component."""
    step = partial(star_batches, together=4_000_000)
    stars = edges.mapInArrow(step, _STARS)
    stars = stored(stars, f"{documents.path}/stars")
    if stars.count() <= one_task:
        edges = stars.select(F.col("node").alias("a"), F.col("component").alias("b"))
        return edges.repartition(1).mapInArrow(partial(star_batches, together=one_task), _STARS)
    return _rounds(documents, stars.withColumnRenamed("component", "neighbour"))


def star_batches(batches: Iterable[Any], together: int) -> Iterator[Any]:
    """The star edges of a partition. At most about ``together`` edges are in memory at a time."""
    pending: list[Any] = []
    rows = 0
    for batch in batches:
        pending.append(batch)
        rows += batch.num_rows
        if rows > together:
            stars = _stars(pending).rename_columns(["a", "b"])
            pending = stars.to_batches()
            rows = stars.num_rows
            # The stars themselves may have almost as many edges.
            together = max(together, 2 * rows)
    if pending:
        yield from _stars(pending).to_batches()


def _stars(batches: list[Any]) -> Any:
    edges = pa.Table.from_batches(batches)
    return pa.table(shards.components(edges.column("a"), edges.column("b")))


def _rounds(documents: Documents, edges: Any) -> Any:
    """Repeats large-star and small-star until the edges are stars. Each round writes new files."""
    for number in range(_ROUNDS_MAX):
        if _are_stars(edges):
            centres = edges.select(F.col("neighbour").alias("node"), F.col("neighbour"))
            both = edges.select("node", "neighbour").unionByName(centres).distinct()
            return both.withColumnRenamed("neighbour", "component")
        back = edges.select(F.col("neighbour").alias("node"), F.col("node").alias("neighbour"))
        large = _by_node(documents, edges.unionByName(back), large_batches)
        small = _by_node(documents, large, small_batches)
        edges = stored(small.distinct(), f"{documents.path}/round-{number}")
    raise BugError(f"components are not found after {_ROUNDS_MAX} rounds: please report this")


def _by_node(documents: Documents, edges: Any, step: Callable[..., Iterator[Any]]) -> Any:
    """The edges that ``step`` makes of all edges of a node. A repeated task cuts the sorted rows at the
    same places, so that it makes each edge as often."""
    spread = documents.spread(edges.select("node", "neighbour"), "node")
    return spread.sortWithinPartitions("node").mapInArrow(step, _EDGES)


def large_batches(batches: Iterable[Any]) -> Iterator[Any]:
    for table in whole_groups(batches, ["node"]):
        found = shards.large_star(table.column("node"), table.column("neighbour"))
        yield from pa.table(found).to_batches()


def small_batches(batches: Iterable[Any]) -> Iterator[Any]:
    for table in whole_groups(batches, ["node"]):
        found = shards.small_star(table.column("node"), table.column("neighbour"))
        yield from pa.table(found).to_batches()


def _are_stars(edges: Any) -> bool:
    """Like ``shards.are_stars``, for edges that do not fit into one task: every node has one edge,
    to a smaller node that has no edge itself. Edges from a node to itself (a centre) are ignored.
    """
    edges = edges.where("node != neighbour")
    if not edges.where("node < neighbour").isEmpty():
        return False
    if not edges.groupBy("node").agg(F.countDistinct("neighbour").alias("n")).where("n > 1").isEmpty():
        return False
    centres = edges.select(F.col("neighbour").alias("node"))
    return bool(edges.join(centres, "node", "left_semi").isEmpty())


def component_batches(batches: Iterable[Any], slots: int) -> Iterator[Any]:
    """Messages to the homes of nodes: their components."""
    for batch in batches:
        records = np.empty(batch.num_rows, dtype=_OF_COMPONENT)
        for name in ("node", "component"):
            records[name] = batch.column(name).to_numpy()
        yield packed(0, records, slots_of_numbers(records["node"], slots), slots)


def at_home(
    documents: Documents, components: Any, step: Any, schema: str, with_shingles: bool = False
) -> Any:
    """Applies ``step`` to the documents and components of each home slot."""
    send: Any = partial(component_batches, slots=documents.layout.slots)
    # Sorted, so that a repeated task packs the same messages: a node has one component.
    messages = components.sortWithinPartitions("node").mapInArrow(send, PACKED)
    return documents.met(messages, step, schema, with_shingles)


def components_at(home: Home, messages: Any) -> tuple[Any, Any]:
    """For each signature its component (or its own id), and whether it is in a component."""
    components, is_in = home.ids.copy(), np.zeros(len(home.ids), dtype=bool)
    told = records_of(messages.column("data"), _OF_COMPONENT)
    at = np.searchsorted(home.ids, told["node"])
    components[at], is_in[at] = told["component"], True
    return components, is_in


def clusters_of(documents: Documents, components: Any) -> Any:
    """(key, cluster) of all documents that are not alone. The smallest key represents a cluster."""
    layout = documents.layout

    def step(homes: Any, messages: Any) -> Any:
        return named_table(homes, messages, layout)

    named = at_home(documents, components, step, f"component long, key {layout.key_kind}")
    least = F.min("key").over(Window.partitionBy("component"))
    return documents.keys(named.select("key", least.alias("cluster")), "key", "cluster")


def named_table(homes: Any, messages: Any, layout: Layout) -> Any:
    """(component, key) of documents in components, and of documents with equal signatures."""
    home = home_of(homes, layout)
    components, is_in = components_at(home, messages)
    sizes = np.diff(home.keys.offsets.to_numpy())
    shown = (is_in | (sizes > 1))[home.group_of]
    keys = home.keys.values.filter(pa.array(shown)).cast(layout.key_type)
    return pa.table([pa.array(components[home.group_of[shown]]), keys], names=["component", "key"])
