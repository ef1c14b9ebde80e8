"""Every container that people keep rows in: dedup decides the same rows, and returns its kind."""

import collections
import decimal
import itertools
import os
import pickle
import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import nearkin as nk
from conftest import made_text, near_copy

TEXTS = [made_text(1), made_text(2), near_copy(made_text(1)), "", made_text(2), made_text(3)]
KEPT = [0, 1, 3, 5]
ROWS = [{"id": row, "text": text, "meta": {"text": text}} for row, text in enumerate(TEXTS)]
KEPT_TEXTS = [TEXTS[row] for row in KEPT]
COLUMNS = {
    "a generator": lambda: (text for text in TEXTS),
    "an iterator": lambda: iter(TEXTS),
    "a map": lambda: map(str, TEXTS),
    "a deque": lambda: collections.deque(TEXTS),
    "values of a dict": lambda: dict(enumerate(TEXTS)).values(),
    "an index of pandas": lambda: pd.Index(TEXTS),
    "categories of pandas": lambda: pd.Series(TEXTS, dtype="category"),
    "categories of polars": lambda: pl.Series(TEXTS, dtype=pl.Categorical),
    "numpy": lambda: np.array(TEXTS),
    "a tuple": lambda: tuple(TEXTS),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_every_kind(name, tmp_path):
    make = COLUMNS[name]
    assert list(nk.dedup(make())) == KEPT_TEXTS
    params = nk.Params()
    ours = nk.Sketcher(params).texts(make())
    assert ours.to_bytes() == nk.Sketcher(params).texts(TEXTS).to_bytes()
    with nk.Index(tmp_path / "x", params) as index:
        index.add([str(row) for row in range(6)], make())
        assert sorted(index.keys()) == ["0", "1", "2", "4", "5"]


def test_the_kind_of_a_column_is_the_result_s():
    for make in (COLUMNS["a deque"], COLUMNS["an index of pandas"], COLUMNS["a tuple"]):
        assert type(nk.dedup(make())) is type(make())


class Frame(pd.DataFrame):
    """As geopandas has it."""

    @property
    def _constructor(self):
        return Frame


TABLES = {
    "pandas": lambda: pd.DataFrame(ROWS),
    "a subclass of pandas": lambda: Frame(ROWS),
    "polars": lambda: pl.DataFrame(ROWS),
    "a lazy frame": lambda: pl.LazyFrame(ROWS),
    "arrow": lambda: pa.Table.from_pylist(ROWS),
    "a batch of arrow": lambda: pa.RecordBatch.from_pylist(ROWS),
    "dicts": lambda: list(ROWS),
    "a generator of dicts": lambda: iter(ROWS),
    "a reader": lambda: pa.Table.from_pylist(ROWS).to_reader(max_chunksize=2),
}


def ids_of(result):
    if isinstance(result, pl.LazyFrame):
        result = result.collect()
    if hasattr(result, "read_all"):
        result = result.read_all()
    if isinstance(result, (pl.DataFrame, pd.DataFrame)):
        return list(result["id"])
    rows = result.to_pylist() if hasattr(result, "to_pylist") else result
    return [row["id"] for row in rows]


@pytest.mark.parametrize("on", ["text", "meta.text", ["text"], ["text", "meta.text"]])
@pytest.mark.parametrize("name", TABLES)
def test_tables_of_every_kind(name, on):
    make = TABLES[name]
    kept = nk.dedup(make(), on=on)
    assert ids_of(kept) == KEPT
    if "generator" not in name:
        assert type(kept) is type(make())


def test_the_texts_of_several_columns_are_one_text():
    rows = [
        {"title": "one two", "body": "three four five"},
        {"title": None, "body": "one two three four five"},
        {"title": "one two three", "body": "another body altogether here"},
        {"title": None, "body": None},
        {"title": None, "body": None},
    ]
    for table in (rows, pd.DataFrame(rows), pl.DataFrame(rows), pa.Table.from_pylist(rows)):
        kept = nk.dedup(table, on=["title", "body"], annotate=True)
        kept = kept if isinstance(kept, list) else pa.table(kept).to_pylist()
        assert [row["kept"] for row in kept] == [True, False, True, True, True]
    with pytest.raises(TypeError, match="'n' must hold texts, not int"):
        nk.dedup([{"a": "x", "n": 3}], on=["a", "n"])


def test_annotated_dicts_have_the_new_fields():
    rows = nk.dedup(ROWS, on="text", annotate=True, key="id", prefix="d_")
    assert [row["d_kept"] for row in rows] == [True, True, False, True, False, True]
    assert [row["d_duplicate_of"] for row in rows] == [None, None, 0, None, 1, None]
    assert set(ROWS[0]) == {"id", "text", "meta"}
    with pytest.raises(nk.InvalidError, match="'kept' already"):
        nk.dedup([{"id": 1, "text": "x", "kept": 2}, {"id": 3, "text": "y"}], on="text", annotate=True)


@pytest.mark.parametrize("on", ["texts", "meta.texts", "text.more", ["text", "texts"]])
@pytest.mark.parametrize("name", TABLES)
def test_a_column_that_is_not_there_is_named(name, on):
    with pytest.raises(KeyError, match="no column, or more than one, is named"):
        ids_of(nk.dedup(TABLES[name](), on=on))


def test_labels_of_pandas_may_be_numbers_and_tuples():
    frame = pd.DataFrame({0: TEXTS, ("a", "b"): TEXTS, 2: range(6)})
    for on in (0, ("a", "b"), [0, ("a", "b")]):
        assert list(nk.dedup(frame, on=on)[2]) == KEPT
    marked = nk.dedup(frame, on=0, key=2, annotate=True)
    assert list(marked["duplicate_of"]) == [None, None, 0, None, 1, None]
    with pytest.raises(TypeError, match="must be the name of a column or a list"):
        nk.dedup(frame, on=7)


def test_nulls_of_every_kind_are_left_out_of_texts_put_together():
    for null in (None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT"), decimal.Decimal("NaN")):
        rows = [{"a": TEXTS[0], "b": null}, {"a": null, "b": TEXTS[0]}, {"a": null, "b": null}]
        kept = nk.dedup(rows, on=["a", "b"], annotate=True)
        assert [row["kept"] for row in kept] == [True, False, True]
    frame = pd.DataFrame({"a": pd.array([TEXTS[0], None, TEXTS[0]], "string"), "b": [TEXTS[1]] * 3})
    assert len(nk.dedup(frame, on=["a", "b"])) == 2
    with pytest.raises(TypeError, match="'b' must hold texts, not ndarray"):
        nk.dedup([{"a": "x", "b": np.array([1, 2])}], on=["a", "b"])


def made_rows(chance):
    """Rows with copies, near-copies, blanks, nulls and odd characters, in two columns."""
    texts = [made_text(chance.randrange(8)) for _ in range(30)]
    texts = [near_copy(text) if chance.random() < 0.3 else text for text in texts]
    odd = [None, "", " \n", "\u0130stanbul \U0001f600 one two three", "nul \0 in a text of words"]
    texts = [chance.choice(odd) if chance.random() < 0.2 else text for text in texts]
    return [
        {"id": row, "text": text, "meta": {"text": chance.choice([None, "the same end of it"])}}
        for row, text in enumerate(texts)
    ]


@pytest.mark.parametrize("seed", range(int(os.environ.get("NEARKIN_PROGRAMS", "200")) // 20))
def test_made_tables_of_every_kind_are_decided_as_their_lists(seed):
    rows = made_rows(random.Random(seed))
    for on in ("text", "meta.text", ["text", "meta.text"]):
        texts = [text_of(row, on) for row in rows]
        marked = nk.dedup(texts, annotate=True)
        ids = [row["id"] for row, told in zip(rows, marked) if told.kept]
        tables = {
            "pandas": pd.DataFrame(rows),
            "strings of pandas": pd.DataFrame(rows).astype({"text": "string"}),
            "polars": pl.DataFrame(rows),
            "lazy": pl.LazyFrame(rows),
            "arrow": pa.Table.from_pylist(rows),
            "reader": pa.Table.from_pylist(rows).to_reader(max_chunksize=7),
            "dicts": rows,
            "iterator": iter(rows),
        }
        for kind, table in tables.items():
            assert ids_of(nk.dedup(table, on=on)) == ids, f"seed {seed}, {kind}, on={on}"


def text_of(row, on):
    """The text that is compared, by the rule as the page has it."""
    fields = {"text": row["text"], "meta.text": row["meta"]["text"]}
    if isinstance(on, str):
        return fields[on]
    there = [fields[name] for name in on if fields[name] is not None]
    return "\n".join(there) if there else None


def test_a_stream_is_not_read_ahead():
    read = 0

    def rows():
        nonlocal read
        for row in itertools.count():
            read += 1
            yield f"text {row} of a stream {row * 7} that never ends {row * 11}"

    kept = nk.dedup(rows())
    assert read == 0
    assert len(list(itertools.islice(kept, 2_500))) == 2_500
    assert read <= 4_000
    kept.close()
    with pytest.raises(nk.InvalidError, match="of a stream"):
        nk.dedup(iter(TEXTS), annotate=True)


def test_lone_surrogates_compare_as_replacement_characters(tmp_path):
    sketcher = nk.Sketcher(nk.Params())
    broken, mended = "one two \ud800 three four", "one two \ufffd three four"
    assert sketcher.text(broken) == sketcher.text(mended)
    assert sketcher.texts([broken]).to_bytes() == sketcher.texts([mended]).to_bytes()
    # Two halves in a row are one character, as for `json`.
    assert sketcher.text("one \ud83d\ude00 two") == sketcher.text("one \U0001f600 two")
    sets = nk.Sketcher(nk.Params(shingles="items"))
    assert sets.items([["a\ud800"]]).to_bytes() == sets.items([["a\ufffd"]]).to_bytes()
    rows = nk.dedup([broken, "five six seven eight", mended])
    assert rows == [broken, "five six seven eight"]
    # Keys are never changed.
    with nk.Index(tmp_path / "x", nk.Params()) as index:
        for write in (lambda: index.insert("k\ud800", "a b c d"), lambda: index.add(["k\ud800"], ["a"])):
            with pytest.raises(nk.InvalidError, match="UTF-8"):
                write()
        assert len(index) == 0


def test_values_unequal_to_themselves_are_null():
    nulls = [
        None,
        float("nan"),
        np.float32("nan"),
        pd.NaT,
        pd.NA,
        np.datetime64("NaT"),
        decimal.Decimal("NaN"),
        pa.scalar(None, pa.string()),
    ]
    assert len(nk.dedup(nulls)) == len(nulls)
    assert nk.dedup(nulls, drop_blank=True) == []
    with pytest.raises(TypeError, match=r"texts\[0\] must be str, not Decimal"):
        nk.dedup([decimal.Decimal("sNaN")])


def test_scalars_of_other_libraries_are_keys(tmp_path):
    keys = [
        (np.int64(3), "3"),
        (np.uint8(200), "200"),
        (np.str_("a"), "a"),
        (pd.Series([5])[0], "5"),
        (pl.Series([6])[0], "6"),
        (pa.scalar(7), "7"),
        (pa.scalar("s"), "s"),
    ]
    with nk.Index(tmp_path / "x", nk.Params()) as index:
        for key, text in keys:
            assert index.insert(key, "one two three four")
            assert key in index and index.get(key).key == text
            assert not index.insert(text, "one two three four")
            assert index.add([key], ["one two three four"]).unchanged == 1
            assert index.query_key(key).found == len(index) - 1
        assert len(index) == len(keys)
        assert index.remove([key for key, _ in keys]) == len(keys)
        for key in (True, np.bool_(True), 3.0, np.float64(3), pd.Timestamp("2020"), bytearray(b"x")):
            with pytest.raises(TypeError, match="must be str, bytes or int, not"):
                index.insert(key, "one two three four")
            with pytest.raises(TypeError, match="must be str, bytes or int, not"):
                index.add([key], ["one two three four"])


def test_numbers_out_of_range_are_errors_of_nearkin(tmp_path):
    with nk.Index(tmp_path / "x", nk.Params()) as index:
        for call in (
            lambda: index.query("a b c d", limit=-1),
            lambda: index.query_many(["a b c d"], limit=-1),
            lambda: index.query("a b c d", max_candidates=-1),
            lambda: index.query_many(["a b c d"], threads=0),
            lambda: index.add(["k"], ["a b c d"], threads=0),
            lambda: nk.Sketcher(nk.Params(), threads=-1),
            lambda: nk.dedup(["a"], threads=0),
            lambda: nk.Index.create(tmp_path / "i", nk.Params(), memtable_bytes=-1),
        ):
            with pytest.raises(nk.InvalidError, match="or more"):
                call()
        assert index.query("a b c d", limit=np.int64(0)).found == 0
    assert not (tmp_path / "i").exists()


def test_a_tenant_admits_within_its_prefix(tmp_path):
    with nk.Index(tmp_path / "x", nk.Params(0.7)) as index:
        index.add(["north/1"], [TEXTS[0]])
        texts = {"north/1": TEXTS[0], "south/1": TEXTS[0], "south/2": TEXTS[0]}
        for exact in (None, texts.get):
            index.remove_prefix("south/")
            table = index.admit(
                ["south/1", "south/2"], [TEXTS[0]] * 2, keep="first", prefix="south/", exact=exact
            )
            assert table["decision"] == ["admitted", "rejected"]
            assert table["of_key"] == [None, "south/1"]
        with pytest.raises(nk.InvalidError, match="does not begin with the prefix"):
            index.admit(["north/1"], [TEXTS[1]], keep="newest", prefix="south/")
        assert index.query(TEXTS[0]).keys == ["north/1", "south/1"]


def test_a_reader_sees_what_was_synced(tmp_path):
    with nk.Index.create(tmp_path / "i", nk.Params()) as index:
        reader = nk.Reader(tmp_path / "i")
        for row in range(20):
            index.add([str(row)], [made_text(row)])
            index.sync()
            reader.refresh()
            assert len(reader) == row + 1 and str(row) in reader


datasets = pytest.importorskip("datasets")


def test_splits_are_decided_together():
    parts = {"train": ROWS[:3], "test": ROWS[3:]}
    splits = datasets.DatasetDict({n: datasets.Dataset.from_list(r) for n, r in parts.items()})
    kept = nk.dedup(splits, on="text")
    assert {name: kept[name]["id"][:] for name in kept} == {"train": [0, 1], "test": [3, 5]}
    marked = nk.dedup(splits, on="meta.text", annotate=True)
    assert [len(marked[name]) for name in ("train", "test")] == [3, 3]
    assert marked["test"]["duplicate_of"][:] == [None, 1, None]


def test_a_streamed_data_set_decides_anew_in_each_pass(tmp_path):
    stream = datasets.Dataset.from_list(ROWS).to_iterable_dataset(num_shards=2)
    with nk.Index.create(tmp_path / "i", nk.Params()) as index:
        index.add(["k"], [TEXTS[5]])
        index.sync()
        for against, ids in ((None, KEPT), (index, [0, 1, 3])):
            kept = nk.dedup(stream, on="text", against=against)
            assert isinstance(kept, datasets.IterableDataset)
            for _ in range(2):
                assert [row["id"] for row in kept] == ids
            assert [row["id"] for row in pickle.loads(pickle.dumps(kept))] == ids
            assert kept.features == stream.features


def test_a_relation_of_duckdb_becomes_a_table():
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        relation = connection.from_arrow(pa.Table.from_pylist(ROWS))
        assert ids_of(nk.dedup(relation, on="text")) == KEPT
        texts = nk.Sketcher(nk.Params()).texts(relation.project("text"))
        assert texts.to_bytes() == nk.Sketcher(nk.Params()).texts(TEXTS).to_bytes()


def test_a_fetched_document_is_read_like_a_column_of_one(tmp_path):
    broken, mended = "one two \ud800 three four", "one two \ufffd three four"
    with nk.Index(tmp_path / "x", nk.Params()) as index:
        index.insert("first", broken)
        for returned in (broken, np.str_(mended), pa.scalar(mended)):
            told = index.admit(["second"], [mended], exact=lambda key, it=returned: it)
            assert told["decision"] == ["rejected"], returned
        for nothing in (None, pd.NA, float("nan"), "  "):
            told = index.admit(["third"], [mended], exact=lambda key, it=nothing: it)
            assert told["unverified"] == [1], nothing
            index.remove(["third"])
