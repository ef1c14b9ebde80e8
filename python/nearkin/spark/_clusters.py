"""Connected components: computed in one task if the edges fit into memory, otherwise in rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from .. import BugError, shards
from ._documents import Documents
from ._groups import whole_groups
from ._work import stored

_STARS = "node long, component long"
_EDGES = "node long, neighbour long"
#: More rounds than this mean a bug: the expected number is about the logarithm of the nodes.
_ROUNDS_MAX = 100


def components_of(documents: Documents, pairs: Any, one_task: int) -> Any:
    """(node, component) of all numbers in a pair. Any member may represent a component."""
    step = partial(star_batches, together=4_000_000)
    stars = pairs.select("a", "b").mapInArrow(step, _STARS)
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


def clusters_of(documents: Documents, components: Any) -> Any:
    """(key, cluster) of all documents that are not alone. The smallest key represents a cluster."""
    named = documents.rows.join(
        components.withColumnRenamed("node", "document"), "document", "left"
    ).select("key", F.coalesce("component", "document").alias("component"))
    least = named.groupBy("component").agg(
        F.min("key").alias("cluster"), F.count(F.lit(1)).alias("members")
    )
    several = least.where("members > 1").select("component", "cluster")
    return documents.keys(named.join(several, "component").select("key", "cluster"), "key", "cluster")
