"""Expressions of polars: ``pl.col("text").nearkin``, after ``import nearkin.polars``.

>>> import nearkin as nk, nearkin.polars, polars as pl
>>> frame = pl.DataFrame({"text": ["a recipe for rye bread", "the ferry is late", "A recipe for rye bread!"]})
>>> text = pl.col("text").nearkin
>>> frame.filter(~text.copies(0.8))["text"].to_list()
['a recipe for rye bread', 'the ferry is late']
>>> with nk.Index.temporary(nk.Params(0.5)) as index:
...     added = index.add(["monday"], ["the ferry is late"])
...     frame.select(text.similar(index))["text"].to_list()[1]
[{'key': 'monday', 'similarity': 1.0}]

Rows with nothing to compare (null, blank) have no signature, no match and no copy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from ._alike import clusters
from ._dedup import dedup
from ._nearkin import Params, Readable, Reader, Sketcher

__all__ = ["Nearkin"]


@pl.api.register_expr_namespace("nearkin")
class Nearkin:
    """The expressions of a column of texts."""

    def __init__(self, texts: pl.Expr) -> None:
        self._texts = texts

    def sketch(self, params: Params | None = None) -> pl.Expr:
        """The signature of each text as ``Binary``: :meth:`nearkin.Signatures.from_bytes` reads them."""
        sketcher = Sketcher(Params() if params is None else params)

        def sketched(texts: pl.Series) -> pl.Series:
            return pl.Series(texts.name, sketcher.texts(texts)).cast(pl.Binary)

        return self._texts.map_batches(sketched, return_dtype=pl.Binary, is_elementwise=True)

    def similar(self, index: Readable[Any] | str | Path, **conditions: Any) -> pl.Expr:
        """The documents of an index that are similar to each text, most similar first: a list of
        ``{key, similarity}``, with ``contained`` if that is a condition, and ``payload`` with
        ``payloads=True``; empty if there is none.

        ``index`` is an open index, a snapshot or a path. ``conditions`` are those of a search:
        ``threshold``, ``limit``, ``contained``, ``prefix`` and the others. Wrong ones are an error here.
        """
        stored = Reader(index) if isinstance(index, (str, Path)) else index
        # The columns of an answer: its keys are bytes if the index was opened so.
        fields: dict[str, Any] = dict(stored.query_many([], **conditions).to_polars().drop("row").schema)
        kind = pl.List(pl.Struct(fields))

        def found(texts: pl.Series) -> pl.Series:
            matches: list[list[dict[str, Any]]] = [[] for _ in texts]
            columns = stored.query_many(texts, **conditions).to_dict()
            values = zip(*(columns[name] for name in fields))
            for row, match in zip(columns["row"], values):
                matches[row].append(dict(zip(fields, match)))
            return pl.Series(texts.name, matches, dtype=kind)

        return self._texts.map_batches(found, return_dtype=kind, is_elementwise=True)

    def copies(self, threshold: float | None = None, **options: Any) -> pl.Expr:
        """Whether each text is a copy of another row, as ``Boolean``: the rows that
        :func:`nearkin.dedup` drops. ``frame.filter(~pl.col("text").nearkin.copies())`` keeps the others.

        ``options`` are those of ``dedup``, such as ``keep``, ``guard``, ``against`` and ``params``. The
        column is needed whole: a lazy frame holds it in memory here.
        """
        if options.get("drop_blank"):
            raise ValueError("copies() marks rows and drops none: filter blank texts by polars")

        def marked(texts: pl.Series) -> pl.Series:
            rows = dedup(texts.to_list(), annotate=True, threshold=threshold, **options)
            return pl.Series(texts.name, [not row.kept for row in rows], dtype=pl.Boolean)

        return self._texts.map_batches(marked, return_dtype=pl.Boolean)

    def cluster(self, threshold: float = 0.7, params: Params | None = None) -> pl.Expr:
        """The cluster of each text as ``UInt32``, to group by: the number of its first row. A text that
        is similar to no other one is a cluster of its own. The column is needed whole."""

        def numbered(texts: pl.Series) -> pl.Series:
            first = list(range(len(texts)))
            members = clusters(texts, threshold, params=params).to_dict()
            rows_of: dict[int, list[int]] = {}
            for name, row in zip(members["cluster"], members["key"]):
                rows_of.setdefault(name, []).append(row)
            for rows in rows_of.values():
                least = min(rows)
                for row in rows:
                    first[row] = least
            return pl.Series(texts.name, first, dtype=pl.UInt32)

        return self._texts.map_batches(numbered, return_dtype=pl.UInt32)
