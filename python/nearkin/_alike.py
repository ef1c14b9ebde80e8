"""Pairs and clusters of a column, without an index on disk."""

from __future__ import annotations

from typing import Any

from ._nearkin import Index, Params, Table, _table_of


def pairs(
    documents: Any,
    threshold: float = 0.7,
    *,
    keys: Any = None,
    params: Params | None = None,
    **conditions: Any,
) -> Table:
    """Pairs of similar documents of a column: a list, a Series, Arrow ...

    ``a`` and ``b`` are row numbers, or ``keys`` if these are given. Conditions are those of
    :meth:`Readable.pairs`. Takes memory for the signatures: about 400 bytes a row.

    >>> import nearkin as nk
    >>> nk.pairs(["the ferry was late on monday", "a recipe", "The ferry was late on Monday!"])["b"]
    [2]
    """
    index = _index_of(documents, threshold, keys, params)
    table = index.pairs(threshold, **conditions).read_all()
    return table if keys is not None else _numbered(table, ["a", "b"])


def clusters(
    documents: Any,
    threshold: float = 0.7,
    *,
    keys: Any = None,
    params: Params | None = None,
    **conditions: Any,
) -> Table:
    """Groups of similar documents of a column, as :func:`pairs`: one row per member."""
    index = _index_of(documents, threshold, keys, params)
    table = index.clusters(threshold, **conditions).read_all()
    return table if keys is not None else _numbered(table, ["key"])


def _index_of(documents: Any, threshold: float, keys: Any, params: Params | None) -> Index:
    if not hasattr(documents, "__len__"):
        documents = list(documents)
    index = Index.temporary(Params(threshold) if params is None else params)
    index.add(range(len(documents)) if keys is None else keys, documents)
    return index


def _numbered(table: Table, names: list[str]) -> Table:
    """The table with these columns as integers, the least first in each row."""
    columns = table.to_dict()
    rows = zip(*(map(int, columns[name]) for name in names))
    sorted_rows = [sorted(row) for row in rows]
    for place, name in enumerate(names):
        columns[name] = [row[place] for row in sorted_rows]
    reduced: Any = table.__reduce__()
    fields = [(name, "l" if name in names else kind, null) for name, kind, null in reduced[1][0]]
    return _table_of(fields, list(columns.values()))
