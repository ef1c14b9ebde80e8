"""Nearkin in DuckDB: a function for SQL, and relations without copies. Columns travel by Arrow.

    register(con, nk.Reader("papers.nearkin"))
    con.sql("SELECT id, similar_to(body) AS like FROM deliveries WHERE similar_to(body) IS NOT NULL")
"""

import pyarrow as pa

import nearkin as nk


def register(con, index, name="similar_to", threshold=None):
    """Adds a function: the key of the stored document that is most similar to a text, or NULL."""

    def similar_to(texts):
        found = pa.table(index.query_many(texts, limit=1, threshold=threshold))
        keys = [None] * len(texts)
        for row, key in zip(found["row"].to_pylist(), found["key"].to_pylist(), strict=True):
            keys[row] = key
        return pa.array(keys, pa.string())

    # Nulls are answered, too; and the index may change, so equal calls are not folded into one.
    con.create_function(
        name, similar_to, ["VARCHAR"], "VARCHAR", type="arrow", null_handling="special", side_effects=True
    )


def without_copies(con, query, on, **options):
    """The rows of a query without near-copies, as a relation. ``options`` are those of ``nk.dedup``."""
    return con.from_arrow(nk.dedup(con.sql(query), on=on, **options))


def pairs(con, query, threshold=0.7):
    """The similar rows of a query of two columns, key and text: a relation of a, b, similarity."""
    rows = con.sql(query).to_arrow_table()
    found = nk.pairs(rows.column(1), threshold=threshold, keys=rows.column(0))
    return con.from_arrow(pa.table(found))
