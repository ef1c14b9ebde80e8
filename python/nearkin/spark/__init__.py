"""Near-duplicates of Spark data frames: a cluster computes the same answers as a single index.

Spark shuffles, spills and retries. The answers come from Nearkin's engine: pure functions of Arrow
batches (:mod:`nearkin.shards`). Needs ``pip install "nearkin[spark]"``, on the executors, too. See
``docs/guide/CLUSTER.md``.

    from nearkin import spark as nks

    params = nk.Params(threshold=0.8)
    pairs = nks.pairs(df, params, text="text", key="id")
    clusters = nks.clusters(df, params, text="text", key="id")
    kept = nks.dedup(df, params, text="text", key="id", keep="longest")

Keys are strings, bytes or integers. As in an index, an integer is the same key as its digits, and
keys are sorted by their bytes ("10" before "9"). Documents that have nothing to compare are in no
pair and no cluster. A document without a key, and a key that two rows have, are errors, even if
one of the two rows has nothing to compare. Intermediate results are stored under ``work``, a folder
that all machines see. They stay there, because the results of a call read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import functions as F

from .. import InvalidError, Params
from .._nearkin import dedup_params
from . import (
    _clusters,
    _columns,
    _dedup,
    _documents,
    _guard,
    _matches,
    _pairs,
    _stored,
    _texts,
    _work,
)
from ._alike import alike_of
from ._columns import Columns
from ._questions import cleaned, marked
from ._stored import Committed

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

__all__ = [
    "Committed",
    "append",
    "build",
    "clusters",
    "compact",
    "dedup",
    "match",
    "pairs",
    "questions",
    "remove",
    "sketch",
]

#: Maximum number of documents of a bucket that one task compares; larger buckets are divided.
BLOCK = 16_384
#: Maximum number of star edges that one task unites: about 100 bytes of memory each.
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
    """``df`` with an additional column ``signature``: the bytes of each row's signature, or null
    if there is nothing to compare.

    The column ``text`` is compared, or the column ``items`` of arrays. ``shingle_count`` names
    another column to add: the number of shingles (items) of each row. Pass
    ``signature="signature"`` instead of a text to the other functions, so that the signatures are
    computed only once.
    """
    columns = Columns("", text, items)
    result: DataFrame = _columns.sketched(df, params, columns, signature, shingle_count)
    return result


def pairs(
    df: DataFrame,
    params: Params,
    *,
    threshold: float | None = None,
    contained: float | None = None,
    exact: bool = False,
    text: str = "text",
    key: str = "id",
    items: str | None = None,
    signature: str | None = None,
    shingle_count: str | None = None,
    work: str | None = None,
    partitions: int | None = None,
    block: int = BLOCK,
) -> DataFrame:
    """All pairs of documents whose similarity is at least ``threshold`` (default: that of
    ``params``), as rows (a, b, similarity), like ``Index.pairs``. ``a`` is the smaller key. The
    rows are in no particular order.

    With ``contained`` (0 to 1), the larger document of a pair also contains at least this fraction
    of the smaller one; ``threshold`` is then 0 by default, and the rows have a column ``contained``.
    Choose bands that find such pairs: ``Params(threshold=...)`` of a low threshold.

    ``exact=True`` compares all shingles of candidates, down to three standard errors below these
    minima. The rows are (a, b, similarity, contained, shingles, of_shingles, shared): exact values,
    the number of shingles of ``a`` and of ``b``, and of both. Needs texts or items, not signatures.
    Costs 8 bytes a shingle, stored for every document under ``work``, and shuffled for every
    candidate. Documents with the same shingles are compared once.

    ``signature`` names a column made by :func:`sketch`. ``partitions`` is the number of partitions
    of each step (default: that of the session). A bucket of more than ``block`` documents is
    divided into blocks, and each pair of blocks is a part of its own.
    """
    alike = alike_of(params, threshold, contained, exact, signature, shingle_count)
    columns = Columns(key, text, items, signature, shingle_count)
    documents = _documents.documents(
        df, params, columns, work=work, partitions=partitions, alike=alike
    )
    result: DataFrame = _pairs.pairs_of(documents, alike, block)
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
    """The documents that are linked by pairs, as rows (key, cluster), like ``Index.clusters``. The
    smallest key of a cluster represents it. Documents without a pair have no row.

    Up to ``one_task`` edges are united in one task; more are united in rounds of large-star and
    small-star.
    """
    alike = alike_of(params, threshold)
    columns = Columns(key, text, items, signature)
    documents = _documents.documents(
        df, params, columns, work=work, partitions=partitions, alike=alike
    )
    edges = _pairs.edges_of(documents, alike, block)
    components = _clusters.components_of(documents, edges, one_task)
    result: DataFrame = _clusters.clusters_of(documents, components)
    return result


def dedup(
    df: DataFrame,
    params: Params,
    *,
    threshold: float | None = None,
    contained: float | None = None,
    exact: bool = False,
    keep: Literal["first", "last", "longest"] = "first",
    estimate: bool = False,
    guard: Literal["rare", "numbers", "agree", "none"] | None = None,
    text: str = "text",
    key: str = "id",
    items: str | None = None,
    signature: str | None = None,
    shingle_count: str | None = None,
    against: str | os.PathLike[str] | None = None,
    without: Iterable[str | None] | None = None,
    texts: DataFrame | None = None,
    storage_options: dict[str, Any] | None = None,
    work: str | None = None,
    partitions: int | None = None,
    block: int = BLOCK,
    one_task: int = ONE_TASK,
) -> DataFrame:
    """The rows of ``df`` without near-duplicates: the rows that ``nearkin.dedup`` would keep if
    they were sorted by key.

    In order of preference, a row is dropped if a row that was kept before it is similar. ``keep``
    prefers the smallest key (``"first"``), the greatest key (``"last"``), or the row with the most
    shingles (``"longest"``; together with ``signature`` it also needs ``shingle_count``). Rows
    without anything to compare are kept.

    ``against`` is a sharded index (:func:`build`): rows that are similar to one of its documents
    are dropped first. The index is not changed. It is read at its current generation.

    The estimate finds similar rows, and their shingles decide. ``exact=True`` also compares rows whose
    estimate is up to three standard errors lower; ``estimate=True`` compares no shingles. The estimate
    also decides with ``signature``, and on the documents of ``against``. With ``contained`` (0 to 1),
    two rows are similar if the larger one contains at least this fraction of the smaller one;
    ``threshold`` is then 0 by default (with ``signature``, it needs ``shingle_count``). Decisions by
    shingles cost 8 bytes a shingle, stored under ``work``; those of the rows that are linked are
    shuffled once, and those of a component are in the memory of one task.

    Together, ``exact`` and ``against`` need ``texts``, a data frame of the documents of the index
    with the same columns ``key`` and ``text`` (or ``items``). A document that ``texts`` lacks, or
    that has changed since it was indexed, is no reason to drop a row; a warning says how many
    candidates there were.

    ``without`` are test questions: rows whose ``text`` contains one are dropped first, as by
    ``nearkin.dedup``. :func:`questions` says which row contains which question.

    ``guard`` says which rows are kept although they are similar to a kept one, as in
    ``nearkin.dedup``: forms that are filled in anew (``"rare"``, the default), those with other
    numbers, or none (``"none"``). A warning says how many rows were kept for that, unless ``guard`` is
    given. One task judges all rows that were dropped for one with other shingles. The estimate, sets
    and ``contained`` have no guard, nor have rows that are similar to a document of ``against``
    (``nearkin.dedup`` looks at their numbers, with ``exact=True``).

    The bands are chosen for ``threshold`` and ``contained``, as ``nearkin.dedup`` chooses them.
    """
    if keep not in _dedup.ORDERS:
        raise ValueError(f"keep must be 'first', 'last' or 'longest', not {keep!r}")
    if keep == "longest" and signature is not None and shingle_count is None:
        raise ValueError("keep='longest' with signatures: shingle_count= must name their counts")
    if exact and estimate:
        raise InvalidError("exact=True and estimate=True exclude each other: give one of them")
    confirmed = not (exact or estimate or signature)
    alike = alike_of(params, threshold, contained, exact, signature, shingle_count, confirmed)
    columns = Columns(key, text, items, signature, shingle_count)
    is_guarded = _guard.guard_of(guard, params, columns, alike)
    if texts is not None or against is not None:
        _texts.check_texts(texts, exact, against is not None, columns)
    place, liked = None, None
    if against is None and storage_options is not None:
        raise ValueError("storage_options are for the index of against=")
    if against is not None:
        # As bytes, any key can be returned.
        lake = _stored.lake_at(against, storage_options)
        place, _ = _matches.place_of(lake, params, "bytes")
    if without is not None:
        df = cleaned(df, without, params, text)
    are_made = signature is not None or against is not None
    chosen = dedup_params(params, alike.threshold, contained, exact, are_made)
    if place is not None and exact:
        found = _texts.exact_matches_of(df, texts, columns, place, alike, None)
        liked = _texts.liked_by(found, _work.folder(df.sparkSession, work))
    documents = _documents.documents(
        df,
        chosen,
        columns,
        work=work,
        partitions=partitions,
        detailed=True,
        alike=alike,
        against=None if exact else place,
        liked=liked,
    )
    edges = _pairs.edges_of(documents, alike, block)
    gone = _dedup.dropped_rows(documents, edges, keep, alike, one_task, is_guarded)
    if is_guarded:
        gone = _work.stored(gone, f"{documents.path}/dropped")
        kept = _guard.kept_after_all(documents, gone, df, columns, (alike, guard, keep))
        if guard is None:
            _guard.warn_of_apart(kept)
        gone = gone.join(kept, "key", "left_anti")
    gone = gone.select(F.col("key").alias("nearkin_gone"))
    condition: Any = _columns.key_column(df, key) == gone["nearkin_gone"]
    result: DataFrame = df.join(gone, condition, "left_anti")
    return result


def questions(
    df: DataFrame,
    questions: Iterable[str | None],
    params: Params | None = None,
    *,
    text: str = "text",
    share: float = 0.6,
    words: int = 12,
    column: str = "question",
) -> DataFrame:
    """``df`` with a column ``question``: what :meth:`nearkin.Questions.find` says of each row, a struct
    of question (its number), words, shared, longest, word, passage and questions, or null for a row
    that contains none.

    Each task holds all questions in memory (:attr:`nearkin.Questions.nbytes`), which are sent to it
    with its code.
    """
    return marked(df, questions, params, text, share, words, column)


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
    storage_options: dict[str, Any] | None = None,
) -> Committed:
    """Makes a sharded index of the rows of ``df`` at ``path``: a folder that the driver and all
    executors see, or an address of an object store that fsspec knows (``s3://bucket/lake``), with
    ``storage_options`` for its file system. :class:`nearkin.Reader` and the command line can read
    the folder, or the one that :func:`nearkin.shards.fetch` makes. An index of at most a million
    documents needs no more than 4 shards.

    On an object store, every commit of the driver first gets the files of the index that it has not
    got yet, into its temporary folder; the store must have conditional puts
    (:class:`nearkin.shards.RemoteShards`).

    Each shard is sealed by one task, with its documents in memory. The driver lists all segments
    in one commit. Until then, the index has no documents; if the build fails, the same call starts
    it again. A key that two rows have is an error. ``payload`` names a column of bytes, ``time`` a
    column of timestamps (default: 0, so that the index does not depend on the clock).
    ``signature`` and ``shingle_count`` name columns made by :func:`sketch`.
    """
    at = _stored.lake_at(path, storage_options)
    columns = Columns(key, text, items, signature, shingle_count)
    lake = _stored.begun(at, params, shards)
    job = _stored.new_job()
    parts = _stored.parts_of(df, at, lake, job, columns, payload, time, partitions)
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
    storage_options: dict[str, Any] | None = None,
) -> Committed:
    """Adds the rows of ``df`` to the sharded index at ``path`` in one commit. Stored documents with
    the same keys are replaced. A key that two rows of ``df`` have is an error.

    With ``batch_id`` (also the one from ``foreachBatch``), the call is idempotent: the index notes
    the number of the last batch of each ``stream``, and skips a batch with that number or a smaller
    one. Numbers must therefore ascend; a stream that starts again needs another name.
    """
    at = _stored.lake_at(path, storage_options)
    lake = _stored.opened(at)
    if _stored.is_noted(lake, stream, batch_id):
        return Committed(0, 0, 0, lake.generation, True)
    columns = Columns(key, text, items, signature, shingle_count)
    job = _stored.new_job()
    parts = _stored.parts_of(df, at, lake, job, columns, payload, time, partitions)
    return _stored.commit(lake, _stored.collected(parts), stream, batch_id)


def remove(
    df: DataFrame,
    path: str | os.PathLike[str],
    *,
    key: str = "id",
    storage_options: dict[str, Any] | None = None,
) -> int:
    """Removes the documents with the keys of ``df`` from the sharded index at ``path`` in one
    commit. Returns their number. All these keys must fit into the driver's memory."""
    lake = _stored.opened(_stored.lake_at(path, storage_options))
    keys: Any = df.select(_columns.key_column(df, key).alias("key")).distinct()
    return _stored.removed(lake, [row["key"] for row in keys.collect()])


def compact(
    path: str | os.PathLike[str],
    *,
    segments: int = 1,
    sweep: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> int:
    """Merges the files of each shard that has more than ``segments`` segments, or documents that
    were removed. Returns the number of shards that were merged. A query looks into every segment,
    and each append adds one to every shard that it touches.

    Runs on the driver, one shard and one commit after the other; appends may go on meanwhile.
    ``sweep`` then deletes the files that are no longer listed. Ask for it only while no job writes
    to the index and no reader opens an older generation: the files of a job that has not committed
    are not listed either.
    """
    lake = _stored.opened(_stored.lake_at(path, storage_options))
    return _stored.compacted(lake, segments, sweep)


def match(
    df: DataFrame,
    path: str | os.PathLike[str],
    *,
    threshold: float | None = None,
    contained: float | None = None,
    exact: bool = False,
    texts: DataFrame | None = None,
    limit: int | None = None,
    text: str = "text",
    key: str = "id",
    items: str | None = None,
    signature: str | None = None,
    shingle_count: str | None = None,
    storage_options: dict[str, Any] | None = None,
) -> DataFrame:
    """The documents of the sharded index at ``path`` that are similar to rows of ``df``, as rows
    (key, match, similarity): for each row the matches of ``Reader.query``, at most ``limit``.

    ``match`` is the key in the index. It has the type of the column ``key``. A row without anything
    to compare has no match. Every task reads the index at the generation that is current at the
    call. Nothing is shuffled.

    With ``contained`` (0 to 1), the larger of the two documents also contains at least this fraction
    of the smaller one; ``threshold`` is then 0 by default, and the rows have a column ``contained``.

    ``exact=True`` compares all shingles of candidates, down to three standard errors below these
    minima. It needs ``texts``, a data frame of the documents of the index with the same columns
    ``key`` and ``text`` (or ``items``), because an index stores no texts; each key at most once. The
    rows are then (key, match, similarity, contained, shingles, of_shingles, shared): exact values,
    the number of shingles of the row and of the match, and of both. A candidate that ``texts``
    lacks, or that has changed since it was indexed, is a row of nulls behind its key and match.
    Candidates are joined with ``texts``: a shuffle of these texts, and of 8 bytes a shingle of the
    row for each candidate.
    """
    lake = _stored.lake_at(path, storage_options)
    place, params = _matches.place_of(lake, None, _columns.keys_of_index(df, key))
    alike = alike_of(params, threshold, contained, exact, signature, shingle_count)
    columns = Columns(key, text, items, signature, shingle_count)
    if texts is not None or exact:
        _texts.check_texts(texts, exact, True, columns)
    if exact:
        found: Any = _texts.exact_matches_of(df, texts, columns, place, alike, limit)
    else:
        rows: Any = _columns.signed(df, params, columns, {})
        found = _matches.matches_of(rows, place, alike, limit)
    kind = _columns.field(df, key).dataType
    result: DataFrame = found.withColumns({name: found[name].cast(kind) for name in ("key", "match")})
    return result
