"""All pairs, and edges that connect documents as their pairs do."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyspark.sql import functions as F

from ._alike import Alike
from ._buckets import candidate_batches
from ._documents import Documents
from ._exact import EVIDENCE, compared_pairs
from ._meetings import EDGES, How, compared_table, signed_table
from ._packed import PACKED


def edges_of(documents: Documents, alike: Alike, block: int) -> Any:
    """Edges (a, b) of ids, which connect documents as their pairs do, or if they are to be compared
    exactly, as their candidates do."""
    return _met(documents, How(documents.layout, alike, "edges"), block, EDGES)


def pairs_of(documents: Documents, alike: Alike, block: int) -> Any:
    """The pairs (a, b, similarity, other values) of keys. Documents of the same identity are pairs of
    each other, and have the same pairs."""
    if alike.exact:
        candidates = _met(documents, How(documents.layout, alike, "ids"), block, EDGES)
        return _exploded(documents, compared_pairs(documents, candidates, alike), EVIDENCE)
    kind, values = documents.layout.key_kind, ["similarity", *alike.estimates]
    types = ", ".join(f"{name} double" for name in values)
    schema = f"a array<{kind}>, b array<{kind}>, {types}, within boolean"
    found = _met(documents, How(documents.layout, alike, "keys"), block, schema)
    return _exploded(documents, found, values)


def _exploded(documents: Documents, found: Any, values: list[str]) -> Any:
    """A row for each pair of keys; the smaller key comes first."""
    # One after the other: Spark makes the rows of crowds as they are read.
    found = found.select(F.explode("a").alias("one"), "b", *values, "within")
    found = found.select("one", F.explode("b").alias("other"), *values, "within")
    found = found.where("not within or one < other")
    a, b = F.least("one", "other").alias("a"), F.greatest("one", "other").alias("b")
    turned = {"shingles": "of_shingles", "of_shingles": "shingles"}
    is_turned = F.col("other") < F.col("one")
    told = [
        F.when(is_turned, F.col(turned[name])).otherwise(F.col(name)).alias(name)
        if name in turned
        else F.col(name)
        for name in values
    ]
    return documents.keys(found.select(a, b, *told), "a", "b")


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
