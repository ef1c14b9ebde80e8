"""All pairs, and edges that connect documents as their pairs do."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyspark.sql import functions as F

from ._buckets import candidate_batches
from ._documents import Documents
from ._meetings import EDGES, How, compared_table, signed_table
from ._packed import PACKED


def edges_of(documents: Documents, threshold: float, block: int) -> Any:
    """Edges (a, b) of ids, which connect documents as their pairs do."""
    return _met(documents, How(documents.layout, threshold, False), block, EDGES)


def pairs_of(documents: Documents, threshold: float, block: int) -> Any:
    """The pairs (a, b, similarity) of keys. Documents with equal signatures are pairs of each other,
    and have the same pairs."""
    kind, how = documents.layout.key_kind, How(documents.layout, threshold, True)
    schema = f"a array<{kind}>, b array<{kind}>, similarity double, within boolean"
    found = _met(documents, how, block, schema)
    # One after the other: Spark makes the rows of crowds as they are read.
    found = found.select(F.explode("a").alias("one"), "b", "similarity", "within")
    found = found.select("one", F.explode("b").alias("other"), "similarity", "within")
    found = found.where("not within or one < other")
    a, b = F.least("one", "other").alias("a"), F.greatest("one", "other").alias("b")
    return documents.keys(found.select(a, b, "similarity"), "a", "b")


def _met(documents: Documents, how: How, block: int, schema: str) -> Any:
    layout = how.layout
    step: Any = partial(candidate_batches, params=layout.params, slots=layout.slots, block=block)
    candidates = documents.exchanged(documents.entries).mapInArrow(step, PACKED)
    signed = documents.met(candidates, _step(signed_table, how=how), PACKED)
    return documents.met(signed, _step(compared_table, how=how), schema)


def _step(function: Any, **arguments: Any) -> Any:
    """A function of two tables. (Spark counts the parameters of a function.)"""

    def step(homes: Any, messages: Any) -> Any:
        return function(homes, messages, **arguments)

    return step
