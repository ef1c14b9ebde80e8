"""Keys, nulls and columns, and what is refused."""

import datetime

import pyarrow as pa
import pytest

import nearkin as nk

nks = pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")
PARAMS = nk.Params(0.7, shingles="words:1", hashes=64, bands=(16, 4))
TEXTS = ["one two three four five six", "one two three four five six", None, "a b c d", ""]


def rows_of(df):
    return sorted(tuple(row) for row in df.collect())


def test_a_sketch_is_the_column_that_the_sketcher_makes(spark):
    day = datetime.date(2026, 1, 2)
    rows = [(at, text, {"x": [at]}, day) for at, text in enumerate(TEXTS)]
    df = spark.createDataFrame(rows, "id int, text string, m map<string, array<int>>, d date")
    made = nks.sketch(df, PARAMS, shingle_count="n").orderBy("id").collect()
    expected = nk.Sketcher(PARAMS).texts(TEXTS)
    assert [row["signature"] for row in made] == [s and s.to_bytes() for s in expected]
    assert [row["n"] for row in made if row["signature"]] == [6, 6, 4]
    assert [tuple(row)[:4] for row in made] == rows
    of_items = spark.createDataFrame([(["a", "b"],), (None,), ([],)], "bag array<string>")
    params = nk.Params(shingles="items")
    made = nks.sketch(of_items, params, items="bag", signature="s").collect()
    one = nk.Sketcher(params).items([["a", "b"]])
    assert [row["s"] for row in made] == [one[0].to_bytes(), None, None]


@pytest.mark.parametrize(
    ("kind", "keys"),
    [("long", [10, 9, 8, 7, -1]), ("int", [10, 9, 8, 7, 1]), ("binary", [b"\xff", b"a", b"b", b"c", b"\x80"])],
)
def test_keys_of_every_type_keep_it(spark, kind, keys):
    df = spark.createDataFrame(list(zip(keys, TEXTS, strict=True)), f"id {kind}, text string")
    # The order is that of bytes, of an integer that of its digits.
    least, greatest = sorted(keys[:2], key=lambda key: str(key).encode() if kind != "binary" else key)
    found = nks.pairs(df, PARAMS)
    assert found.schema["a"].dataType == df.schema["id"].dataType
    assert rows_of(found) == [(least, greatest, 1.0)]
    assert rows_of(nks.clusters(df, PARAMS)) == sorted([(least, least), (greatest, least)])
    kept = [row["id"] for row in nks.dedup(df, PARAMS).collect()]
    assert sorted(kept) == sorted(set(keys) - {greatest})


def test_signatures_made_before_give_the_same(spark):
    rows = [(f"k{at}", text) for at, text in enumerate(TEXTS)]
    df = spark.createDataFrame(rows, "id string, text string")
    made = nks.sketch(df, PARAMS, shingle_count="n").drop("text")
    assert rows_of(nks.pairs(made, PARAMS, signature="signature")) == [("k0", "k1", 1.0)]
    kept = nks.dedup(made, PARAMS, keep="longest", signature="signature", shingle_count="n")
    assert sorted(row["id"] for row in kept.collect()) == ["k0", "k2", "k3", "k4"]
    with pytest.raises(nk.MismatchError, match="other parameters"):
        nks.pairs(made, nk.Params(shingles="words:2"), signature="signature")
    with pytest.raises(ValueError, match="shingle_count"):
        nks.dedup(made, PARAMS, keep="longest", signature="signature")


def test_keys_must_be_there_once(spark):
    text = "one two three"
    twice = spark.createDataFrame([("a", text), ("b", text), ("a", "other")], "id string, text string")
    with pytest.raises(nk.InvalidError, match="same key.*'a'"):
        nks.pairs(twice, PARAMS)
    null = spark.createDataFrame([("a", text), (None, "other")], "id string, text string")
    with pytest.raises(nk.InvalidError, match="'id' is null"):
        nks.clusters(null, PARAMS)
    # A row that cannot be compared needs no key.
    no_text = spark.createDataFrame([("a", text), (None, None)], "id string, text string")
    assert rows_of(nks.pairs(no_text, PARAMS)) == []


def test_a_key_is_found_twice_even_if_a_row_cannot_be_compared(spark, tmp_path):
    """`dedup` dropped the row without a text together with the copy that has the same key."""
    text = "one two three four"
    for blank in (None, ""):
        rows = [("a", text), ("b", text), ("b", blank)]
        df = spark.createDataFrame(rows, "id string, text string")
        for call in (nks.dedup, nks.pairs, nks.clusters):
            with pytest.raises(nk.InvalidError, match="same key.*'b'"):
                call(df, PARAMS)
    with pytest.raises(nk.InvalidError, match="two rows have the key b.*Nothing was committed"):
        nks.build(df, tmp_path / "lake", PARAMS, shards=2)
    # Rows without a key are no documents; none is dropped.
    rows = [("a", text), ("b", text), ("c", None), (None, None), (None, "")]
    df = spark.createDataFrame(rows, "id string, text string")
    kept = [tuple(row) for row in nks.dedup(df, PARAMS).collect()]
    assert sorted(kept, key=str) == sorted([row for row in rows if row[0] != "b"], key=str)


def test_keys_of_a_collation_are_compared_by_their_bytes(spark):
    """'A' and 'a' were the same key, and the smaller of 'B' and 'a' was 'a'."""
    rows = [("a", "one two three four"), ("B", "one two three four"), ("A", "x y z")]
    df = spark.createDataFrame(rows, "id string, text string")
    df = df.selectExpr("id collate UTF8_LCASE as id", "text")
    assert rows_of(nks.pairs(df, PARAMS)) == [("B", "a", 1.0)]
    assert rows_of(nks.clusters(df, PARAMS)) == [("B", "B"), ("a", "B")]
    assert sorted(row["id"] for row in nks.dedup(df, PARAMS).collect()) == ["A", "B"]


def test_the_functions_refuse_invalid_arguments(spark):
    df = spark.createDataFrame([("a", "t", 0.5)], "id string, text string, x double")
    with pytest.raises(KeyError, match="'body'; there are 'id', 'text', 'x'"):
        nks.pairs(df, PARAMS, text="body")
    with pytest.raises(TypeError, match="not double"):
        nks.pairs(df, PARAMS, key="x")
    with pytest.raises(ValueError, match="already"):
        nks.sketch(df, PARAMS, signature="x")
    with pytest.raises(ValueError, match="keep must be"):
        nks.dedup(df, PARAMS, keep="best")
    with pytest.raises(TypeError, match="signatures"):
        nks.pairs(df, PARAMS, signature="text")
    with pytest.raises(ValueError, match="threshold"):
        nks.pairs(df, PARAMS, threshold=1.5)


def test_executors_with_another_python_fail_the_first_call(spark, monkeypatch, tmp_path):
    from nearkin.spark import _work

    df = spark.createDataFrame([("a", "one two three")], "id string, text string")
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    monkeypatch.setattr(_work, "_checked", set())
    for call in (nks.pairs, nks.sketch):
        with pytest.raises(RuntimeError, match="PYSPARK_PYTHON before the session") as raised:
            call(df, PARAMS)
        assert len(str(raised.value).splitlines()) == 1


def test_groups_stay_whole_however_batches_are_cut():
    from nearkin.spark._groups import groups_of, whole_groups

    values = [1, 1, 2, 3, 3, 3, 3, 3, 4, 5, 5]
    table = pa.table({"g": values, "row": list(range(len(values)))})
    for size in range(1, 12):
        batches = [pa.record_batch({"g": pa.array([], pa.int64()), "row": pa.array([], pa.int64())})]
        batches += table.to_batches(max_chunksize=size)
        pieces = list(whole_groups(batches, ["g"]))
        assert pa.concat_tables(pieces).to_pydict() == table.to_pydict()
        groups = [set(piece.column("g").to_pylist()) for piece in pieces]
        assert sum(map(len, groups)) == 5, "a group is in two pieces"
        assert [len(g) for piece in pieces for g in groups_of(piece, ["g"])] == [2, 1, 5, 1, 2]
