"""Near-duplicates of data frames of Spark: the answers of one index, from a cluster.

Spark shuffles, spills and retries; what decides an answer is the engine, in pure functions of Arrow
batches (:mod:`nearkin.shards`). Needs ``pip install "nearkin[spark]"``, on the executors too. See
``docs/guide/CLUSTER.md``.

    from nearkin import spark as nks

    params = nk.Params(threshold=0.8)
    pairs = nks.pairs(df, params, text="text", key="id")
    clusters = nks.clusters(df, params, text="text", key="id")
    kept = nks.dedup(df, params, text="text", key="id", keep="longest")

Keys are strings, bytes or integers; an integer stands for its digits, as in an index, and keys are in
the order of their bytes ("10" before "9"). Documents that have nothing to compare are in no pair and
no cluster. A key that is null, or that two documents have, is an error. What a call computes once is
stored under ``work``, a folder that all machines see, and stays there: the results read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from .. import Params, shards
from . import _clusters, _dedup, _documents, _matches, _pairs, _stored
from ._documents import Columns
from ._stored import Committed

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame

__all__ = [
    "Committed",
    "append",
    "build",
    "clusters",
    "dedup",
    "match",
    "pairs",
    "remove",
    "sketch",
]

#: Documents of a bucket that one task compares with each other; larger buckets are cut.
BLOCK = 16_384
#: Star edges that are united in one task: about 100 bytes of memory each.
ONE_TASK = 5_000_000


def sketch(
    df: DataFrame,
    params: Params,
    *,
    text: str = "text",
    items: str | None = None,
    signature: str = "signature",
    shingle_count: str | None = None,
) -> DataFrame:
    """``df`` with a column ``signature``: the bytes of the signature of each row, or null where
    there is nothing to compare.

    The column ``text`` is compared, or the column ``items`` of arrays. ``shingle_count`` names
    another column to add: how many shingles (items) a row has. The other functions take
    ``signature="signature"`` instead of a text, so that it is made once.
    """
    columns = Columns("", text, items)
    result: DataFrame = _documents.sketched(df, params, columns, signature, shingle_count)
    return result


def pairs(
    df: DataFrame,
    params: Params,
    *,
    threshold: float | None = None,
    text: str = "text",
    key: str = "id",
    items: str | None = None,
    signature: str | None = None,
    work: str | None = None,
    partitions: int | None = None,
    block: int = BLOCK,
) -> DataFrame:
    """All pairs of documents of at least ``threshold`` similarity (default: that of ``params``), as
    rows (a, b, similarity): those of ``Index.pairs``. ``a`` is the lesser key; no order of rows.

    ``signature`` names a column that :func:`sketch` made. ``partitions`` is how many partitions the
    steps have (default: what the session says). Buckets of more than ``block`` documents are cut
    into parts of two blocks.
    """
    least = _least(params, threshold)
    columns = Columns(key, text, items, signature)
    documents = _documents.documents(
        df, params, columns, order=_dedup.order_of("first"), work=work, partitions=partitions
    )
    found = _pairs.pairs_of_signatures(documents, least, block)
    result: DataFrame = _pairs.pairs_of_documents(documents, found)
    return result


def clusters(
    df: DataFrame,
    params: Params,
    *,
    threshold: float | None = None,
    text: str = "text",
    key: str = "id",
    items: str | None = None,
    signature: str | None = None,
    work: str | None = None,
    partitions: int | None = None,
    block: int = BLOCK,
    one_task: int = ONE_TASK,
) -> DataFrame:
    """The documents that pairs link, as rows (key, cluster): those of ``Index.clusters``. The least
    key of a cluster stands for it; documents without a pair have no row.

    Up to ``one_task`` edges are united in one task, more in rounds of large-star and small-star.
    """
    least = _least(params, threshold)
    columns = Columns(key, text, items, signature)
    documents = _documents.documents(
        df, params, columns, order=_dedup.order_of("first"), work=work, partitions=partitions
    )
    found = _pairs.pairs_of_signatures(documents, least, block)
    components = _clusters.components_of(documents, found, one_task)
    result: DataFrame = _clusters.clusters_of(documents, components)
    return result


def dedup(
    df: DataFrame,
    params: Params,
    *,
    threshold: float | None = None,
    keep: Literal["first", "last", "longest"] = "first",
    text: str = "text",
    key: str = "id",
    items: str | None = None,
    signature: str | None = None,
    shingle_count: str | None = None,
    against: str | os.PathLike[str] | None = None,
    work: str | None = None,
    partitions: int | None = None,
    block: int = BLOCK,
    one_task: int = ONE_TASK,
) -> DataFrame:
    """The rows of ``df`` without near-duplicates: those that ``nearkin.dedup`` keeps of the rows in
    the order of their keys.

    In order of preference a row is dropped if one that was kept before it is similar: the least key
    first, or the greatest (``"last"``), or the row with the most shingles (``"longest"``; with
    ``signature`` it needs ``shingle_count``, too). Rows without anything to compare stay.

    ``against`` is a sharded index (:func:`build`): rows that are like a document of it are dropped
    first. It is not changed, and is read at the generation that it has now.

    The bands are those of ``params``, whatever the threshold: give the threshold to ``Params``.
    """
    if keep not in _dedup.ORDERS:
        raise ValueError(f"keep must be 'first', 'last' or 'longest', not {keep!r}")
    if keep == "longest" and signature is not None and shingle_count is None:
        raise ValueError("keep='longest' with signatures: shingle_count= must name their counts")
    least = _least(params, threshold)
    place = None
    if against is not None:
        # One match says enough: as bytes every key can be told.
        place, _ = _matches.place_of(_stored.local(against), params, "bytes")
    columns = Columns(key, text, items, signature, shingle_count)
    documents = _documents.documents(
        df, params, columns, order=_dedup.order_of(keep), work=work, partitions=partitions
    )
    rest, like = documents, None
    if place is not None:
        like = _matches.like_documents(documents, place, least)
        rest = _matches.without(documents, like)
    found = _pairs.pairs_of_signatures(rest, least, block)
    found = _dedup.stored_pairs(rest, found)
    gone = _dedup.dropped_keys(rest, found, keep, one_task)
    if like is not None:
        gone = gone.unionByName(_matches.keys_of(documents, like))
    gone = documents.keys(gone, "key").withColumnRenamed("key", "nearkin_gone")
    condition: Any = df[key] == gone["nearkin_gone"]
    result: DataFrame = df.join(gone, condition, "left_anti")
    return result


def build(
    df: DataFrame,
    path: str | os.PathLike[str],
    params: Params,
    *,
    shards: int = 256,
    text: str = "text",
    key: str = "id",
    items: str | None = None,
    signature: str | None = None,
    shingle_count: str | None = None,
    payload: str | None = None,
    time: str | None = None,
    partitions: int | None = None,
) -> Committed:
    """Makes a sharded index of the rows of ``df`` at ``path``, a folder that the driver and all
    executors see. :class:`nearkin.Reader` and the command line read it.

    Each shard is sealed by one task with its documents in memory; the driver lists all segments in
    one commit. Before it there is an index without documents; a build that failed is begun anew by
    the same call. A key that two rows have is an error. ``payload`` names a column of bytes,
    ``time`` one of timestamps (default: 0, so that the index does not depend on the clock);
    ``signature`` and ``shingle_count`` name columns that :func:`sketch` made.
    """
    folder = _stored.local(path)
    columns = Columns(key, text, items, signature, shingle_count)
    lake = _stored.begun(folder, params, shards)
    job = _stored.new_job()
    parts = _stored.parts_of(df, lake, job, columns, payload, time, partitions)
    return _stored.commit_new(lake, _stored.collected(parts))


def append(
    df: DataFrame,
    path: str | os.PathLike[str],
    batch_id: int | None = None,
    *,
    stream: str = "",
    text: str = "text",
    key: str = "id",
    items: str | None = None,
    signature: str | None = None,
    shingle_count: str | None = None,
    payload: str | None = None,
    time: str | None = None,
    partitions: int | None = None,
) -> Committed:
    """Adds the rows of ``df`` to the sharded index at ``path`` in one commit; documents of the same
    keys are replaced. A key that two rows of ``df`` have is an error.

    With ``batch_id``, also from ``foreachBatch``, it is idempotent: the index notes the last batch
    of each ``stream``, and a batch of that number or a lesser one is passed over. Numbers must
    therefore ascend; a stream that begins anew needs another name.
    """
    lake = shards.Shards(_stored.local(path))
    if _stored.is_noted(lake, stream, batch_id):
        return Committed(0, 0, 0, lake.generation, True)
    columns = Columns(key, text, items, signature, shingle_count)
    job = _stored.new_job()
    parts = _stored.parts_of(df, lake, job, columns, payload, time, partitions)
    return _stored.commit(lake, _stored.collected(parts), stream, batch_id)


def remove(df: DataFrame, path: str | os.PathLike[str], *, key: str = "id") -> int:
    """Removes the documents with the keys of ``df`` from the sharded index at ``path``, in one
    commit; returns how many there were. The driver holds all these keys."""
    lake = shards.Shards(_stored.local(path))
    keys: Any = df.select(_documents.key_column(df, key).alias("key")).distinct()
    return _stored.removed(lake, [row["key"] for row in keys.collect()])


def match(
    df: DataFrame,
    path: str | os.PathLike[str],
    *,
    threshold: float | None = None,
    limit: int | None = None,
    text: str = "text",
    key: str = "id",
    items: str | None = None,
    signature: str | None = None,
) -> DataFrame:
    """The documents of the sharded index at ``path`` that the rows of ``df`` are like, as rows
    (key, match, similarity): for each row the matches of ``Reader.query``, at most ``limit``.

    ``match`` is the key in the index, of the type that ``key`` has. A row without anything to
    compare has no match. The index is read at the generation that it has now, by every task. Nothing
    is shuffled.
    """
    place, params = _matches.place_of(_stored.local(path), None, _documents.keys_of_index(df, key))
    _least(params, threshold)
    columns = Columns(key, text, items, signature)
    rows: Any = _documents.signed(df, params, columns, {})
    found: Any = _matches.matches_of(rows, place, threshold, limit)
    kind = _documents.field(df, key).dataType
    result: DataFrame = found.withColumns({name: found[name].cast(kind) for name in ("key", "match")})
    return result


def _least(params: Params, threshold: float | None) -> float:
    least = params.threshold if threshold is None else threshold
    # Here, and not in a task, an error says what it is about.
    shards.verify(params, [], [], [], least)
    return least
