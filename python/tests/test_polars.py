"""The expressions of polars say what the package says of the same column."""

import polars as pl
import pytest
from corpora import CORPORA

import nearkin as nk
import nearkin.polars  # noqa: F401

TEXTS = [
    "the ferry to the islands was cancelled on monday",
    "a recipe for bread with rye flour and honey",
    None,
    "The ferry to the islands was cancelled on Monday!",
    " ",
    "the ferry to the islands was cancelled on tuesday",
]
TEXT = pl.col("text").nearkin


@pytest.fixture(scope="module")
def frame():
    return pl.DataFrame({"text": TEXTS})


@pytest.fixture(scope="module")
def corpus():
    rows, params, _ = next(iter(CORPORA.values()))
    return [text for _, text in rows] + [None, " "], params


@pytest.mark.parametrize("lazy", [False, True])
def test_signatures_are_those_of_a_sketcher(corpus, lazy):
    texts, params = corpus
    frame = pl.DataFrame({"text": texts})
    if lazy:
        frame = frame.lazy()
    told = frame.select(TEXT.sketch(params))
    told = (told.collect() if lazy else told)["text"]
    made = nk.Sketcher(params).texts(texts)
    bytes_of_row = len(made.to_bytes()) // len(texts)
    assert told.dtype == pl.Binary and told.null_count() == len(made.nulls)
    assert b"".join(row or bytes(bytes_of_row) for row in told) == made.to_bytes()


def test_similar_documents_are_those_of_a_query_for_each_row(corpus, tmp_path):
    texts, params = corpus
    with nk.Index(tmp_path / "ix", params) as index:
        index.add(list(map(str, range(len(texts)))), texts)
        for how in ({"limit": 3}, {"threshold": 0.5}, {"contained": 0.8}):
            told = pl.DataFrame({"text": texts}).select(TEXT.similar(index, **how))["text"].to_list()
            for text, matches in zip(texts, told, strict=True):
                found = index.query(text, **how) if text and text.strip() else []
                names = ("key", "similarity", "contained") if "contained" in how else ("key", "similarity")
                assert matches == [{name: getattr(match, name) for name in names} for match in found]
    # A path stands for its index.
    frame = pl.LazyFrame({"text": texts})
    assert frame.select(TEXT.similar(tmp_path / "ix", **how)).collect()["text"].to_list() == told


def test_copies_are_what_dedup_drops(frame, corpus):
    assert frame.select(TEXT.copies(0.9))["text"].to_list() == [False, False, False, True, False, False]
    texts, params = corpus
    rows = pl.DataFrame({"text": texts})
    for how in ({"guard": "none"}, {"keep": "last", "guard": "none"}, {"params": params, "guard": "none"}):
        kept = rows.lazy().filter(~TEXT.copies(**how)).collect()["text"].to_list()
        assert kept == nk.dedup(texts, **how)
        assert len(kept) < len(texts)
    with pytest.raises(ValueError, match="drops none"):
        TEXT.copies(drop_blank=True)


def test_clusters_have_the_number_of_their_first_row(frame, corpus):
    assert frame.select(TEXT.cluster(0.9))["text"].to_list() == [0, 1, 2, 0, 4, 5]
    texts, params = corpus
    told = pl.DataFrame({"text": texts}).select(TEXT.cluster(0.7, params))["text"].to_list()
    parts = {}
    for row, first in enumerate(told):
        parts.setdefault(first, []).append(row)
    assert all(min(rows) == first for first, rows in parts.items())
    # Union-find over all pairs.
    parent = list(range(len(texts)))

    def root(row):
        return row if parent[row] == row else root(parent[row])

    for a, b, *_ in nk.pairs(texts, 0.7, params=params).rows():
        parent[root(max(a, b))] = root(min(a, b))
    expected = {}
    for row in range(len(texts)):
        expected.setdefault(root(row), []).append(row)
    assert sorted(parts.values()) == sorted(expected.values())
    assert len(parts) < len(texts)


def test_groups_are_judged_each_for_itself():
    frame = pl.DataFrame({"site": ["a", "a", "b"], "text": [TEXTS[0], TEXTS[3], TEXTS[0]]})
    told = frame.with_columns(TEXT.copies(0.9).over("site").alias("copy"))["copy"].to_list()
    assert told == [False, True, False]


def test_keys_that_are_bytes_stay_bytes(frame, tmp_path):
    with nk.Index(tmp_path / "ix", nk.Params(0.5), keys="bytes") as index:
        index.add([b"\xff"], [TEXTS[0]])
        told = frame.select(TEXT.similar(index))["text"].to_list()
    assert told[0] == [{"key": b"\xff", "similarity": 1.0}] and told[1] == []


@pytest.mark.parametrize(("keys", "key"), [("str", "a"), ("bytes", b"\xff")])
def test_the_type_of_keys_is_that_of_the_handle(frame, tmp_path, keys, key):
    with nk.Index(tmp_path / "ix", nk.Params(0.5), keys=keys) as index:
        similar = TEXT.similar(index)  # the index is still empty
        index.add([key], [TEXTS[0]])
        told = frame.select(similar)["text"]
    fields = {"key": pl.String if keys == "str" else pl.Binary, "similarity": pl.Float64}
    assert told.dtype == pl.List(pl.Struct(fields))
    assert told.to_list()[0] == [{"key": key, "similarity": 1.0}]


def test_payloads_are_given_if_they_are_asked_for(frame, tmp_path):
    with nk.Index(tmp_path / "ix", nk.Params(0.5)) as index:
        index.add(["a"], [TEXTS[0]], payloads=[b"\x00\xff"])
        told = frame.lazy().select(TEXT.similar(index, payloads=True, contained=0.8)).collect()["text"].to_list()
        assert told[0] == [{"key": "a", "similarity": 1.0, "contained": 1.0, "payload": b"\x00\xff"}]
        with pytest.raises(nk.InvalidError, match="threshold"):
            TEXT.similar(index, threshold=3)


def test_a_column_without_rows_or_without_texts(tmp_path):
    none = pl.DataFrame({"text": []}, schema={"text": pl.String})
    nk.Index(tmp_path / "ix", nk.Params(0.5)).close()
    for told in (TEXT.sketch(), TEXT.copies(), TEXT.cluster(), TEXT.similar(tmp_path / "ix")):
        assert none.select(told).height == 0
    with pytest.raises(Exception, match="(?i)text|str"):
        pl.DataFrame({"text": [1, 2]}).select(TEXT.sketch())
