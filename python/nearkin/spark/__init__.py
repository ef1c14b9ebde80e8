"""Near-duplicates of data frames of Spark: the answers of one index, from a cluster.

Spark shuffles, spills and retries; what decides an answer is the engine, in pure functions of Arrow
batches (:mod:`nearkin.shards`). Needs ``pip install "nearkin[spark]"``, on the executors too. See
``docs/CLUSTER.md``.

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
from . import _clusters, _dedup, _documents, _pairs
from ._documents import Columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["clusters", "dedup", "pairs", "sketch"]

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

    The bands are those of ``params``, whatever the threshold: give the threshold to ``Params``.
    """
    if keep not in _dedup.ORDERS:
        raise ValueError(f"keep must be 'first', 'last' or 'longest', not {keep!r}")
    if keep == "longest" and signature is not None and shingle_count is None:
        raise ValueError("keep='longest' with signatures: shingle_count= must name their counts")
    least = _least(params, threshold)
    columns = Columns(key, text, items, signature, shingle_count)
    documents = _documents.documents(
        df, params, columns, order=_dedup.order_of(keep), work=work, partitions=partitions
    )
    found = _pairs.pairs_of_signatures(documents, least, block)
    found = _dedup.stored_pairs(documents, found)
    gone = _dedup.dropped_keys(documents, found, keep, one_task)
    gone = documents.keys(gone, "key").withColumnRenamed("key", "nearkin_gone")
    condition: Any = df[key] == gone["nearkin_gone"]
    result: DataFrame = df.join(gone, condition, "left_anti")
    return result


def _least(params: Params, threshold: float | None) -> float:
    least = params.threshold if threshold is None else threshold
    # Here, and not in a task, an error says what it is about.
    shards.verify(params, [], [], [], least)
    return least
