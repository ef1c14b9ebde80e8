"""The recipe for DuckDB: its SQL says what the package says."""

import pytest

import nearkin as nk

duckdb = pytest.importorskip("duckdb", reason="no duckdb (pip install duckdb)")


@pytest.fixture
def con(world):
    con = duckdb.connect()
    con.execute("CREATE TABLE texts (id VARCHAR, text VARCHAR)")
    con.executemany("INSERT INTO texts VALUES (?, ?)", world.rows)
    return con


def test_a_function_of_sql_names_the_most_similar_document(world, con, tmp_path):
    import duckdb_sql as recipe

    with nk.Index(tmp_path / "ix", world.params) as index:
        # Half of the documents are stored, the others are asked for.
        stored = sorted(world.rows)[::2]
        index.add([key for key, _ in stored], [text for _, text in stored])
        recipe.register(con, index)
        told = dict(con.sql("SELECT id, similar_to(text) FROM texts").fetchall())
        found = 0
        for key, text in world.rows:
            matches = index.query(text, limit=1) if text and text.strip() else []
            found += bool(len(matches))
            assert told[key] == (matches[0].key if len(matches) else None), key
    assert 0 < found < len(told)


def test_relations_without_copies_and_of_pairs(world, con):
    import duckdb_sql as recipe

    query = "SELECT id, text FROM texts ORDER BY id"
    kept = recipe.without_copies(con, query, on="text", guard="none").order("id").fetchall()
    rows = con.sql(query).fetchall()
    texts = [text for _, text in rows]
    told = nk.dedup(texts, annotate=True, guard="none")
    assert kept == [row for row, of in zip(rows, told, strict=True) if of.kept]
    found = recipe.pairs(con, query, 0.7)
    assert found.columns == ["a", "b", "similarity"]
    ids = [key for key, _ in rows]
    expected = sorted(tuple(row[:2]) for row in nk.pairs(texts, threshold=0.7, keys=ids).rows())
    assert sorted(found.project("a, b").fetchall()) == expected and len(expected) > 50
