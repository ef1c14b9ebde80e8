"""Queries: compares new documents with a sharded index, which every task opens."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import SparkFiles
from pyspark.sql import types as T

from .. import MismatchError, Params, Reader, Signatures, shards
from .._store import Store, files_of, manifest_path, write_whole
from ._alike import Alike
from ._columns import signatures_of
from ._stored import Lake, opened

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Place(NamedTuple):
    """One generation of an index. All tasks read it, even if there are commits meanwhile."""

    lake: Lake
    generation: int
    #: The id of the index: another one may be built in the same place.
    identity: bytes
    keys: Literal["str", "bytes"] = "str"

    def folder(self) -> Path:
        """The folder of the index on this machine. An object store's is fetched into the folder of
        Spark's own files, once per executor; Spark deletes it with the session."""
        if self.lake.options is None:
            return Path(self.lake.address)
        store = Store(self.lake.address, json.loads(self.lake.options))
        name = hashlib.sha256(repr((self.lake, self.identity)).encode()).hexdigest()[:16]
        # Executors say ".": their working folder.
        folder = Path(SparkFiles.getRootDirectory()).absolute() / f"nearkin-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        data = store.manifest(self.generation)
        with locked(folder / "lock"):
            store.fetch(files_of(shards.Manifest(data)), folder)
            (folder / "segments").mkdir(exist_ok=True)
            write_whole(folder / manifest_path(self.generation), data)
        return folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lets one process at a time in."""
    with path.open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def place_of(
    at: Lake, params: Params | None, keys: Literal["str", "bytes"]
) -> tuple[Place, Params]:
    """The newest generation. Fails if signatures made with ``params`` do not fit the index."""
    lake = opened(at)
    if params is not None and params.signature_id != lake.params.signature_id:
        raise MismatchError(f"{at.address}: the index has signatures of other parameters")
    return Place(at, lake.generation, lake.ticket(0, 0).uuid, keys), lake.params


@lru_cache(maxsize=2)
def reader_of(place: Place) -> Reader[Any]:
    """Opens one generation, once per process: manifests are never changed or removed."""
    folder = place.folder()
    view = Path(tempfile.mkdtemp(prefix="nearkin-view-"))
    try:
        (view / "manifest").mkdir()
        name = manifest_path(place.generation)
        shutil.copyfile(folder / name, view / name)
        os.symlink(folder / "segments", view / "segments")
        # The reader has opened its files when this returns, so the view can be deleted.
        return Reader(view, keys=place.keys, threads=1)
    finally:
        shutil.rmtree(view)


def matches_of(rows: Any, place: Place, alike: Alike, limit: int | None) -> Any:
    """(key, match, similarity), with a containment also (contained), for ``rows`` with key,
    shingle_count and signature. The matches are those of the estimate."""
    values = [T.StructField(name, T.DoubleType()) for name in ["similarity", *alike.estimates]]
    schema = T.StructType([rows.schema["key"], T.StructField("match", _kind(place)), *values])
    step = partial(match_batches, place=place, alike=alike, limit=limit)
    return rows.select("key", "shingle_count", "signature").mapInArrow(step, schema)


def _kind(place: Place) -> Any:
    return T.BinaryType() if place.keys == "bytes" else T.StringType()


def match_batches(
    batches: Iterable[Any], place: Place, alike: Alike, limit: int | None
) -> Iterator[Any]:
    params = reader_of(place).params
    for batch in batches:
        counts = batch.column("shingle_count").to_pylist()
        signatures = signatures_of(batch.column("signature"), params, counts)
        found = found_in(signatures, place, alike, limit)
        keys = batch.column("key").take(found.column("row").combine_chunks())
        names = ["similarity", *alike.estimates]
        columns = [keys, found.column("key"), *(found.column(name) for name in names)]
        yield from pa.table(columns, names=["key", "match", *names]).to_batches()


def is_like(signatures: Any, place: Place, alike: Alike) -> Any:
    """Whether each signature is similar to a document of the index, by the estimate."""
    if not isinstance(signatures, Signatures):
        signatures = signatures_of(signatures, reader_of(place).params)
    found = np.zeros(len(signatures), dtype=bool)
    # One match is enough; with this limit there is one row per document.
    rows = found_in(signatures, place, alike, 1).column("row")
    found[rows.to_numpy()] = True
    return found


def found_in(signatures: Any, place: Place, alike: Alike, limit: int | None) -> Any:
    """(row, key, similarity) of the documents of the index that are similar to rows; if they are
    to be compared exactly, of all candidates."""
    told = reader_of(place).query_many(
        signatures, threshold=alike.threshold, limit=limit, threads=1, **alike.search
    )
    return pa.table(told)
