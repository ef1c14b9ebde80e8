"""Deduplication against brute force, in every shape that rows come in."""

import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from conftest import made_text, near_copy

TEXTS = [made_text(1), made_text(2), near_copy(made_text(1)), "", made_text(2), made_text(3)]
KEPT = [True, True, False, True, False, True]
FRAME = {"id": list("abcdef"), "text": TEXTS}


def test_a_list():
    assert nk.dedup(TEXTS) == [text for text, stays in zip(TEXTS, KEPT) if stays]
    assert nk.dedup(tuple(TEXTS[:2])) == tuple(TEXTS[:2])
    assert nk.dedup([]) == []
    # None is nothing to compare: it stays.
    assert nk.dedup(["one two three four", None, None]) == ["one two three four", None, None]


def test_annotated_rows_of_a_list():
    rows = nk.dedup(TEXTS, annotate=True)
    assert [row.kept for row in rows] == KEPT
    assert [row.value for row in rows] == TEXTS
    assert [row.cluster for row in rows] == [0, 1, 0, 3, 1, 5]
    assert [row.cluster_size for row in rows] == [2, 2, 2, 1, 2, 1]
    assert [row.duplicate_of for row in rows] == [None, None, 0, None, 1, None]
    assert rows[4].similarity == 1.0 and 0.7 <= rows[2].similarity < 1


SHAPES = {
    "pandas": (pd.DataFrame, lambda frame: frame.to_dict("list")),
    "pandas with an index": (
        lambda rows: pd.DataFrame(rows, index=list("uvwxyz")),
        lambda frame: frame.to_dict("list"),
    ),
    "polars": (pl.DataFrame, lambda frame: frame.to_dict(as_series=False)),
    "arrow": (pa.table, lambda table: table.to_pydict()),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_tables_of_every_kind(shape):
    make, rows_of = SHAPES[shape]
    frame = make(FRAME)
    kept = nk.dedup(frame, on="text")
    assert type(kept) is type(frame)
    assert rows_of(kept)["id"] == ["a", "b", "d", "f"]
    marked = nk.dedup(frame, on="text", annotate=True, key="id", prefix="d_")
    assert type(marked) is type(frame)
    columns = rows_of(marked)
    assert columns["id"] == FRAME["id"] and columns["d_kept"] == KEPT
    assert columns["d_duplicate_of"][2] == "a" and columns["d_duplicate_of"][4] == "b"
    assert columns["d_cluster"] == [0, 1, 0, 3, 1, 5]
    # What was given is as it was.
    assert list(rows_of(frame)) == ["id", "text"]
    with pytest.raises(ValueError, match="give a prefix"):
        nk.dedup(nk.dedup(frame, on="text", annotate=True), on="text", annotate=True)
    with pytest.raises(TypeError, match="`on` must name"):
        nk.dedup(frame)


def test_the_types_of_annotations_do_not_depend_on_the_rows(tmp_path):
    """Else parts of a data set do not fit together: those without copies had a column of nulls."""
    unlike = {"id": ["a", "b"], "text": TEXTS[:2]}
    with nk.Index(tmp_path / "a", nk.Params(threshold=0.7)) as ix:
        ix["old"] = TEXTS[2]
        for how in ({}, {"key": "id"}, {"against": ix}):
            for make in (pa.table, pl.DataFrame, pd.DataFrame):
                parts = [
                    nk.dedup(make(rows), on="text", annotate=True, **how)
                    for rows in (FRAME, unlike)
                ]
                if make is pa.table:
                    assert parts[0].schema == parts[1].schema
                    assert pa.types.is_string(parts[1].schema.field("id").type)
                else:
                    types = [dict(zip(part.columns, part.dtypes, strict=True)) for part in parts]
                    assert types[0] == types[1]
    with pytest.raises(TypeError, match="`key` names"):
        nk.dedup(TEXTS, key="id", annotate=True)


def test_columns_of_every_kind():
    assert nk.dedup(pd.Series(TEXTS)).tolist() == nk.dedup(TEXTS)
    assert nk.dedup(pl.Series(TEXTS)).to_list() == nk.dedup(TEXTS)
    assert nk.dedup(pa.array(TEXTS)).to_pylist() == nk.dedup(TEXTS)
    assert nk.dedup(np.array(TEXTS, dtype=object)).tolist() == nk.dedup(TEXTS)
    assert [row.kept for row in nk.dedup(pl.Series(TEXTS), annotate=True)] == KEPT
    with pytest.raises(TypeError, match="names a column"):
        nk.dedup(TEXTS, on="text")
    with pytest.raises(TypeError, match="not int"):
        nk.dedup(5)


def test_hugging_face_data_sets():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict(FRAME)
    assert nk.dedup(data, on="text")["id"][:] == ["a", "b", "d", "f"]
    marked = nk.dedup(data, on="text", annotate=True, key="id")
    assert list(marked["kept"]) == KEPT and marked["duplicate_of"][2] == "a"
    unlike = nk.dedup(data.select([0, 1]), on="text", annotate=True)
    assert unlike.features["duplicate_of"].dtype == "int64"
    # A view of other rows, in another order.
    turned = data.select([5, 4, 1, 0])
    assert nk.dedup(turned, on="text")["id"][:] == ["f", "e", "a"]


def reader_of(texts, size=2):
    batches = pa.table({"id": range(len(texts)), "text": texts}).to_batches(size)
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    return pa.RecordBatchReader.from_batches(schema, iter(batches))


def test_a_reader_is_decided_on_as_it_is_read(tmp_path):
    texts = [made_text(n // 3) for n in range(60)] + [None, ""]
    expected = nk.dedup(pa.table({"text": texts}), on="text")["text"].to_pylist()
    reader = nk.dedup(reader_of(texts), on="text", folder=tmp_path)
    assert isinstance(reader, pa.RecordBatchReader)
    first = reader.read_next_batch()
    assert first["id"].to_pylist() == [0] and len(list(tmp_path.iterdir())) == 1
    rest = reader.read_all()
    assert first["text"].to_pylist() + rest["text"].to_pylist() == expected
    assert list(tmp_path.iterdir()) == []
    # Given up in the middle: the temporary index goes with the reader.
    reader = nk.dedup(reader_of(texts), on="text", folder=tmp_path)
    reader.read_next_batch()
    del reader
    assert list(tmp_path.iterdir()) == []


def test_a_reader_against_an_index(tmp_path):
    with nk.Index(tmp_path / "a", nk.Params(threshold=0.7)) as ix:
        ix["old"] = made_text(1)
        kept = nk.dedup(reader_of(TEXTS), on="text", against=ix).read_all()
    assert kept["id"].to_pylist() == [1, 3, 5]


def test_dedup_of_a_reader_refuses_options_that_need_all_rows():
    for how in ({"keep": "last"}, {"exact": True}, {"annotate": True}, {"key": "id"}):
        with pytest.raises(ValueError, match="read_all"):
            nk.dedup(reader_of(TEXTS), on="text", **how)
    with pytest.raises(TypeError, match="`on` must name"):
        nk.dedup(reader_of(TEXTS))
    with pytest.raises(KeyError, match="'id', 'text'"):
        nk.dedup(reader_of(TEXTS), on="texts")
    with pytest.raises(TypeError, match="texts must be str"):
        nk.dedup(reader_of(TEXTS), on="id").read_all()
    dataset = pytest.importorskip("pyarrow.dataset").dataset(pa.table(FRAME))
    with pytest.raises(TypeError, match="to_reader"):
        nk.dedup(dataset, on="text")
    kept = nk.dedup(dataset.scanner().to_reader(), on="text").read_all()
    assert kept["id"].to_pylist() == ["a", "b", "d", "f"]


def test_which_stays():
    short = made_text(1)
    longer = short + " and one more sentence at the end of it"
    texts = [short, longer, longer, made_text(2)]
    how = {"threshold": 0.6}
    assert nk.dedup(texts, keep="first", **how) == [short, texts[3]]
    assert nk.dedup(texts, keep="longest", **how) == [longer, texts[3]]
    assert [r.kept for r in nk.dedup(texts, keep="last", annotate=True, **how)] == [
        False,
        False,
        True,
        True,
    ]
    with pytest.raises(ValueError, match="keep must be"):
        nk.dedup(texts, keep="best")


def test_against_an_index(tmp_path):
    params = nk.Params(threshold=0.7)
    with nk.Index(tmp_path / "a", params) as ix:
        ix["old"] = made_text(1)
        rows = nk.dedup(TEXTS, against=ix, annotate=True)
        assert [row.kept for row in rows] == [False, True, False, True, False, True]
        assert rows[0].index_key == "old" and rows[0].similarity == 1.0
        assert rows[0].cluster is None and rows[4].index_key is None
        assert len(ix) == 1
        with pytest.raises(nk.MismatchError, match="shingles"):
            nk.dedup(TEXTS, against=ix, params=nk.Params(shingles="words:1"))
    assert nk.dedup(TEXTS, against=tmp_path / "a") == [row.value for row in rows if row.kept]


def shingles(text, size=2):
    words = text.lower().split()
    return {tuple(words[at : at + size]) for at in range(max(1, len(words) - size + 1))}


def jaccard(a, b):
    return len(a & b) / len(a | b)


WORDS = st.sampled_from("abcdefgh")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=12).map(" ".join), max_size=25),
    st.sampled_from([0.5, 0.7, 0.9]),
    st.sampled_from(["first", "last", "longest"]),
)
def test_exact_is_brute_force(texts, threshold, keep):
    sets = [shingles(text) for text in texts]
    order = list(range(len(texts)))
    if keep == "last":
        order.reverse()
    elif keep == "longest":
        order.sort(key=lambda row: -len(sets[row]))
    kept: list[int] = []
    expected = {}
    for row in order:
        alike = [(-jaccard(sets[row], sets[of]), rank, of) for rank, of in enumerate(kept)]
        best = min(alike, default=None)
        if best is not None and -best[0] >= threshold:
            expected[row] = (best[2], -best[0])
        else:
            kept.append(row)
    # Bands of two rows and a low threshold: every candidate is found.
    params = nk.Params(threshold=threshold, shingles="words:2", hashes=1024, recall_target=0.9999)
    how = {"threshold": threshold, "keep": keep, "exact": True, "guard": "none"}
    rows = nk.dedup(texts, params=params, annotate=True, **how)
    found = {at: (r.duplicate_of, r.similarity) for at, r in enumerate(rows) if not r.kept}
    assert {at: of for at, (of, _) in found.items()} == {at: of for at, (of, _) in expected.items()}
    for at, (_, similarity) in expected.items():
        assert abs(found[at][1] - similarity) < 1e-12


def test_the_estimate_decides_by_the_law():
    """Row by row: dropped if a kept one before it is found by a query."""
    chosen = random.Random(5)
    texts = [made_text(chosen.randrange(40), words=12) for _ in range(300)]
    texts = [near_copy(text, n) if n % 3 == 0 else text for n, text in enumerate(texts)]
    params = nk.Params(threshold=0.5, shingles="words:1")
    sketcher = nk.Sketcher(params)
    signatures = sketcher.texts(texts)
    rows_bytes = params.rows_per_band * params.lane_bits // 8
    bands = [(b * rows_bytes, (b + 1) * rows_bytes) for b in range(params.bands)]
    kept = []
    for row, told in enumerate(nk.dedup(texts, params=params, estimate=True, annotate=True)):
        lanes = signatures[row].to_bytes()
        alike = [
            (-signatures[row].similarity(signatures[of]), of)
            for of in kept
            if any(lanes[a:b] == signatures[of].to_bytes()[a:b] for a, b in bands)
        ]
        best = min(alike, default=(0, None))
        if -best[0] >= 0.5 - 1e-9:
            assert (told.kept, told.duplicate_of, told.similarity) == (False, best[1], -best[0])
        else:
            assert told.kept
            kept.append(row)
    assert 30 < len(kept) < 200


def test_exact_needs_the_documents():
    signatures = nk.Sketcher(nk.Params()).texts(TEXTS)
    assert nk.dedup(signatures) == [0, 1, 3, 5]
    with pytest.raises(ValueError, match="needs the documents"):
        nk.dedup(signatures, exact=True)


def test_sets():
    sets = [["a", "b", "c", "d"], ["d", "c", "b", "a"], [b"\xff", b"\xfe"], [b"\xfe", b"\xff"]]
    params = nk.Params(shingles="items")
    for exact in (False, True):
        assert nk.dedup(sets, params=params, exact=exact) == [sets[0], sets[2]]


def contained_texts():
    """A text, the same with as much boilerplate around it, its first half, and another text."""
    text = made_text(1)
    words = text.split()
    boilerplate = " ".join(f"notice{n}" for n in range(len(words) // 2))
    half = " ".join(words[: len(words) // 2])
    return [f"{boilerplate} {text} {boilerplate}", text, made_text(2), half]


@pytest.mark.parametrize("exact", [False, True])
def test_dedup_drops_rows_contained_in_a_kept_row(exact):
    texts = contained_texts()
    params = nk.Params(0.7, hashes=256)
    assert nk.dedup(texts, params=params, exact=exact) == texts
    kept = nk.dedup(texts, contained=0.8, params=params, exact=exact)
    assert texts[1] not in kept and texts[0] in kept and texts[2] in kept
    # A similarity that is asked for, too, counts.
    assert nk.dedup(texts, contained=0.8, threshold=0.9, params=params, exact=exact) == texts
    with pytest.raises(nk.InvalidError, match="containment must be from 0 to 1"):
        nk.dedup(texts, contained=80, params=params, exact=exact)


def test_a_stream_drops_what_is_contained():
    texts = contained_texts()
    reader = pa.table({"text": texts}).to_reader()
    kept = nk.dedup(reader, on="text", contained=0.8).read_all()["text"].to_pylist()
    assert texts[1] not in kept and texts[0] in kept and texts[2] in kept


def test_exact_against_an_index(tmp_path):
    """Only a document that is still the indexed one is a reason to drop a row."""
    params = nk.Params(threshold=0.7, shingles="words:1")
    stored = {f"old{n}": made_text(n) for n in range(3)}
    rows = [made_text(0), near_copy(made_text(1)), made_text(2), made_text(7), None, made_text(7)]
    with nk.Index(tmp_path / "a", params) as ix:
        ix.add(list(stored), list(stored.values()))
        with pytest.raises(ValueError, match="fetch="):
            nk.dedup(rows, against=ix, exact=True)
        with pytest.raises(ValueError, match="all three"):
            nk.dedup(rows, against=ix, fetch=stored.get)
        told = nk.dedup(rows, against=ix, exact=True, fetch=stored.get, annotate=True)
        assert [row.kept for row in told] == [False, False, False, True, True, False]
        assert [row.index_key for row in told[:3]] == ["old0", "old1", "old2"]
        first, second = told[:2]
        assert (first.similarity, first.contained) == (1.0, 1.0)
        assert first.shingles == first.of_shingles == first.shared
        union = second.shingles + second.of_shingles - second.shared
        assert second.similarity == second.shared / union < 1
        # Changed since it was indexed, or gone.
        changed = {"old0": made_text(0), "old1": made_text(1) + " more"}
        with pytest.warns(UserWarning, match="2 candidates"):
            left = nk.dedup(rows, against=ix, exact=True, fetch=changed.get)
        assert left == rows[1:5]

        def broken(key):
            raise KeyError(key)

        with pytest.raises(KeyError, match="old0"):
            nk.dedup(rows, against=ix, exact=True, fetch=broken)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("keep", ["first", "longest"])
def test_rows_with_nothing_to_compare_stay_or_are_left_out(exact, keep):
    texts = ["cat", None, "cat", "", " \n", None, "===>", "===>", "\U0001f44d"]
    how = {"exact": exact, "keep": keep}
    assert nk.dedup(texts, **how) == ["cat", None, "", " \n", None, "===>", "\U0001f44d"]
    assert nk.dedup(texts, drop_blank=True, **how) == ["cat", "===>", "\U0001f44d"]
    rows = nk.dedup(texts, drop_blank=True, annotate=True, **how)
    assert [row.kept for row in rows] == [True, False, False, False, False, False, True, False, True]
    # A group of null rows is as it was.
    assert nk.dedup([None] * 5, **how) == [None] * 5
    if keep == "first" and not exact:
        reader = pa.table({"text": texts}).to_reader(max_chunksize=2)
        left = nk.dedup(reader, on="text", drop_blank=True).read_all()
        assert left["text"].to_pylist() == ["cat", "===>", "\U0001f44d"]


def test_a_low_threshold_chooses_enough_hashes():
    texts = contained_texts()
    for how in ({"threshold": 0.2, "guard": "rare"}, {"contained": 0.5}, {"contained": 0.5, "exact": True}):
        assert texts[2] in nk.dedup(texts, **how)
        assert texts[2] in nk.dedup(texts, params=nk.Params(shingles="words:2"), **how)
        with pytest.raises(nk.InvalidError, match="148 hashes do"):
            nk.dedup(texts, params=nk.Params(hashes=128), **how)


def test_empty_tables_keep_their_columns():
    table = pa.table({"id": [1], "text": ["a b c d"]}).slice(0, 0)
    for empty in (table, table.to_pandas(), pl.from_arrow(table)):
        for annotate in (False, True):
            unique = nk.dedup(empty, on="text", annotate=annotate)
            names = getattr(unique, "column_names", None) or list(unique.columns)
            assert len(unique) == 0 and names[:2] == ["id", "text"], (type(empty), names)
    assert nk.dedup(table.to_pandas()["text"]).tolist() == []


def carried():
    """Columns of every Arrow type that is only carried along, thirty values each."""
    numbers = [None if n % 7 == 3 else n for n in range(30)]

    def column(kind, value):
        return pa.array([None if n is None else value(n) for n in numbers], kind)

    yield column(pa.string_view(), str)
    yield column(pa.binary_view(), lambda n: b"%d" % n)
    yield column(pa.list_view(pa.int32()), lambda n: [n, n])
    yield column(pa.list_(pa.string_view()), lambda n: [str(n)])
    yield column(pa.large_list_view(pa.string()), lambda n: [str(n)])
    yield column(pa.struct([("a", pa.string_view())]), lambda n: {"a": str(n)})
    yield column(pa.map_(pa.string(), pa.int32()), lambda n: [(str(n), n)])
    yield column(pa.dictionary(pa.int8(), pa.string()), str)
    yield column(pa.decimal128(9, 2), int)
    yield column(pa.month_day_nano_interval(), lambda n: (1, 2, n))
    yield pa.nulls(30)
    yield pc.run_end_encode(pa.array([str(n // 4) for n in range(30)]))
    yield pa.RunEndEncodedArray.from_arrays([4, 30], pa.array(["a", "b"], pa.string_view()))


@pytest.mark.parametrize("column", list(carried()), ids=lambda column: str(column.type))
def test_columns_of_every_type_are_carried_along(column):
    texts = [f"the ferry {n // 3} was cancelled on monday" for n in range(30)]
    table = pa.table({"text": texts, "carried": column})
    for unique in (
        nk.dedup(table, on="text", threshold=0.99),
        nk.dedup(table.to_reader(), on="text", threshold=0.99).read_all(),
    ):
        unique.validate(full=True)
        assert unique.schema == table.schema
        assert unique["carried"].to_pylist() == column.to_pylist()[::3]


QUESTION = "In which year was the bridge over the river at the old mill finished?"
CONTAMINATED = [
    "Quiz: in WHICH year was the bridge over the river at the new mill finished? 1904.",
    "The bridge over the river was finished in 1904, as every child in the town knows.",
    "",
    None,
    "The bridge over the river was finished in 1904, as every child in the town knows!",
]


def test_questions_are_found_in_texts():
    questions = nk.Questions([QUESTION, "no", None])
    assert len(questions) == 3 and questions.nbytes > 0
    found = questions.find(CONTAMINATED)
    assert [one is None for one in found] == [False, True, True, True, True]
    one = found[0]
    assert (one.question, one.words, one.shared, one.longest) == (0, 14, 11, 11)
    assert (one.word, one.questions) == (1, 1)
    assert one.passage == "in WHICH year was the bridge over the river at the"
    assert "QuestionFound(question=0, shared=11 of 14" in repr(one)
    assert nk.Questions([QUESTION], share=0.9).find(CONTAMINATED[:1]) == [None]
    assert nk.Questions([QUESTION], share=0.9, words=11).find(CONTAMINATED[:1]) != [None]
    with pytest.raises(nk.InvalidError, match="share"):
        nk.Questions([QUESTION], share=0)
    with pytest.raises(nk.InvalidError, match="at least 3"):
        nk.Questions([QUESTION], words=2)


def test_rows_with_questions_are_dropped():
    assert nk.dedup(CONTAMINATED, without=[QUESTION]) == CONTAMINATED[1:4]
    rows = [{"n": at, "text": text} for at, text in enumerate(CONTAMINATED)]
    kept = nk.dedup(rows, "text", without=nk.Questions([QUESTION]), drop_blank=True)
    assert kept == rows[1:2]
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"text": CONTAMINATED})
    assert nk.dedup(table, "text", without=[QUESTION]).num_rows == 3
    for refused in ({"annotate": True}, {"data": iter(CONTAMINATED)}):
        data = refused.pop("data", CONTAMINATED)
        with pytest.raises(nk.InvalidError, match="Questions"):
            nk.dedup(data, without=[QUESTION], **refused)
