"""Queries: compares new documents with a sharded index, which every task opens."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from .. import MismatchError, Params, Reader, shards
from ._columns import signatures_of


class Place(NamedTuple):
    """One generation of an index. All tasks read it, even if there are commits meanwhile."""

    folder: str
    generation: int
    keys: Literal["str", "bytes"] = "str"


def place_of(folder: str, params: Params | None, keys: Literal["str", "bytes"]) -> tuple[Place, Params]:
    """The newest generation. Fails if signatures made with ``params`` do not fit the index."""
    lake = shards.Shards(folder)
    if params is not None and params.signature_id != lake.params.signature_id:
        raise MismatchError(f"{folder}: the index has signatures of other parameters")
    return Place(folder, lake.generation, keys), lake.params


@lru_cache(maxsize=2)
def reader_of(place: Place) -> Reader:
    """Opens one generation, once per process: manifests are never changed or removed."""
    view = Path(tempfile.mkdtemp(prefix="nearkin-view-"))
    try:
        (view / "manifest").mkdir()
        name = f"manifest/{place.generation:010}.manifest"
        shutil.copyfile(Path(place.folder) / name, view / name)
        os.symlink(Path(place.folder) / "segments", view / "segments")
        # The reader has opened its files when this returns, so the view can be deleted.
        return Reader(view, keys=place.keys, threads=1)
    finally:
        shutil.rmtree(view)


def matches_of(rows: Any, place: Place, threshold: float | None, limit: int | None) -> Any:
    """(key, match, similarity) for ``rows`` with key, shingle_count and signature."""
    kind = T.BinaryType() if place.keys == "bytes" else T.StringType()
    schema = T.StructType(
        [
            rows.schema["key"],
            T.StructField("match", kind),
            T.StructField("similarity", T.DoubleType()),
        ]
    )
    step = partial(match_batches, place=place, threshold=threshold, limit=limit)
    return rows.select("key", "signature").mapInArrow(step, schema)


def match_batches(
    batches: Iterable[Any], place: Place, threshold: float | None, limit: int | None
) -> Iterator[Any]:
    for batch in batches:
        found = _found(batch.column("signature"), place, threshold, limit)
        keys = batch.column("key").take(found.column("row").combine_chunks())
        columns = [keys, found.column("key"), found.column("similarity")]
        yield from pa.table(columns, names=["key", "match", "similarity"]).to_batches()


def is_like(signatures: Any, place: Place, threshold: float) -> Any:
    """Whether each signature is similar to a document of the index."""
    found = np.zeros(len(signatures), dtype=bool)
    # One match is enough; with this limit there is one row per document.
    rows = _found(signatures, place, threshold, 1).column("row")
    found[rows.to_numpy()] = True
    return found


def _found(column: Any, place: Place, threshold: float | None, limit: int | None) -> Any:
    reader = reader_of(place)
    signatures = signatures_of(column, reader.params)
    return pa.table(reader.query_many(signatures, threshold=threshold, limit=limit, threads=1))
