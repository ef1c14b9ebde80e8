"""The same column in every shape gives the same signatures; wrong ones a clear error."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import nearkin as nk
from conftest import made_text

TEXTS = [made_text(1), made_text(2), "Zürich liegt am See, sagt man; 東京 nicht " * 3, made_text(3)]
PARAMS = nk.Params(shingles="words:2")
SHAPES = {
    "tuple": tuple,
    "generator": lambda texts: (text for text in texts),
    "numpy objects": lambda texts: np.array(texts, dtype=object),
    "numpy text": np.array,
    "pandas": pd.Series,
    "pandas objects": lambda texts: pd.Series(texts, dtype=object),
    "pandas index": lambda texts: pd.Index(texts),
    "pandas categories": lambda texts: pd.Series(texts, dtype="category"),
    "polars": pl.Series,
    "polars categories": lambda texts: pl.Series(texts, dtype=pl.Categorical),
    "arrow": pa.array,
    "large": lambda texts: pa.array(texts, pa.large_string()),
    "views": lambda texts: pa.array(texts, pa.string_view()),
    "dictionary": lambda texts: pa.array(texts).dictionary_encode(),
    "chunks": lambda texts: pa.chunked_array([texts[:1], [], texts[1:]]),
    "slice": lambda texts: pa.array(["none", *texts, "of these"]).slice(1, len(texts)),
    "sliced views": lambda texts: pa.array(["none", *texts], pa.string_view()).slice(1),
}


@pytest.fixture(scope="module")
def expected():
    return nk.Sketcher(PARAMS).texts(TEXTS)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_column_is_read(shape, expected):
    for threads in (1, 2):
        assert nk.Sketcher(PARAMS, threads=threads).texts(SHAPES[shape](TEXTS)) == expected


@pytest.mark.parametrize("row", range(len(TEXTS)))
def test_a_column_has_the_signatures_of_its_texts(row, expected):
    assert nk.Sketcher(PARAMS).text(TEXTS[row]) == expected[row]


@pytest.mark.parametrize(
    "column",
    [
        [TEXTS[0], None, "", TEXTS[1]],
        [TEXTS[0], float("nan"), "\u200b", TEXTS[1]],
        [TEXTS[0], pd.NA, "", TEXTS[1]],
        pd.Series([TEXTS[0], None, "", TEXTS[1]]),
        pl.Series([TEXTS[0], None, "", TEXTS[1]]),
        pa.array([TEXTS[0], None, "", TEXTS[1]]),
        pa.array([TEXTS[0], None, "", TEXTS[1]], pa.string_view()),
        pa.array([TEXTS[0], None, "", TEXTS[1]]).dictionary_encode(),
        pa.array(["", TEXTS[0], None, "", TEXTS[1]]).slice(1),
    ],
    ids=lambda column: type(column).__name__,
)
def test_null_and_blank_texts_have_null_signatures(column):
    signatures = nk.Sketcher(PARAMS).texts(column)
    assert signatures.nulls == [1, 2] and len(signatures) == 4
    assert signatures[1] is None and signatures[3] == nk.Sketcher(PARAMS).text(TEXTS[1])
    assert pickle.loads(pickle.dumps(signatures)) == signatures
    assert pa.array(signatures).null_count == 2


def test_a_column_of_nothing():
    for empty in ([], pa.array([], pa.string()), pa.array([None, None]), pd.Series([], dtype=object)):
        signatures = nk.Sketcher(PARAMS).texts(empty)
        assert signatures.nulls == list(range(len(empty)))
        assert signatures.to_numpy().shape == (len(empty), 128)


SETS = [["a", "b", "c"], ["1", "2", "30000000000"], ["x"]]
SET_SHAPES = {
    "tuples": lambda sets: [tuple(one) for one in sets],
    "sets": lambda sets: [set(one) for one in sets],
    "bytes": lambda sets: [[item.encode() for item in one] for one in sets],
    "numpy rows": lambda sets: [np.array(one, dtype=object) for one in sets],
    "arrow": pa.array,
    "large": lambda sets: pa.array(sets, pa.large_list(pa.large_string())),
    "slice": lambda sets: pa.array([["no"], *sets]).slice(1),
    "polars": pl.Series,
    "pandas": pd.Series,
}


@pytest.mark.parametrize("shape", SET_SHAPES)
def test_every_shape_of_sets_is_read(shape):
    sketcher = nk.Sketcher(nk.Params(shingles="items"))
    expected = sketcher.items(SETS)
    assert sketcher.items(SET_SHAPES[shape](SETS)) == expected
    assert expected[0] == sketcher.set({"c", "b", "a"})


def test_an_integer_is_its_digits():
    sketcher = nk.Sketcher(nk.Params(shingles="items"))
    expected = sketcher.items([["1", "2", "-3", "18446744073709551616"]])
    assert sketcher.items([[1, 2, -3, 2**64]]) == expected
    smaller = sketcher.items([["1", "2", "-3"]])
    assert sketcher.items([np.array([1, 2, -3])]) == smaller
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64()):
        assert sketcher.items(pa.array([[1, 2, -3]], pa.list_(kind))) == smaller


def test_bytes_that_are_no_text_are_items():
    sketcher = nk.Sketcher(nk.Params(shingles="items"))
    one, other = sketcher.items([[b"\xff\xfe", b"\x00"], [b"\xff\xfe", b"\x01"]])
    assert one != other and 0 < one.similarity(other) < 1


WRONG = [
    (lambda s: s.texts("one text"), TypeError, "not one str"),
    (lambda s: s.texts({"a": 1}), TypeError, "not one dict"),
    (lambda s: s.texts(5), TypeError, "not int"),
    (lambda s: s.texts(["a", 5]), TypeError, r"texts\[1\] must be str, not int"),
    (lambda s: s.texts([b"a"]), TypeError, r"texts\[0\] must be str, not bytes"),
    (lambda s: s.texts(pa.array([1, 2])), TypeError, "texts must be str"),
    (lambda s: s.texts(pa.array([1.5])), TypeError, "float"),
    (lambda s: s.texts(pa.table({"a": ["x"]})), TypeError, "one of its columns"),
    (lambda s: s.texts(np.zeros((2, 2), dtype=object)), ValueError, "one dimension"),
    (lambda s: s.texts(pa.array([b"\xff"]).cast(pa.string(), safe=False)), ValueError, "UTF-8"),
    (lambda s: s.items([["a"]]), nk.InvalidError, "items need shingles of items"),
    (lambda s: s.set(["a"]), nk.InvalidError, "items need shingles of items"),
    (lambda s: s.text(" \n"), nk.EmptyError, "the text is blank"),
    (lambda s: s.text(None), TypeError, "None"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_columns_are_refused(number):
    call, kind, message = WRONG[number]
    with pytest.raises(kind, match=message):
        call(nk.Sketcher(PARAMS))


WRONG_SETS = [
    (["ab"], TypeError, r"items\[0\] must be a set or list of items, not one str"),
    ([["a"], 5], TypeError, "not iterable"),
    ([["a", 1.5]], TypeError, "not float"),
    ([["a", True]], TypeError, "not bool"),
    ([["a", None]], TypeError, "not NoneType"),
    (pa.array(["a"]), TypeError, "lists"),
    (pa.array([[1.5]]), TypeError, "float"),
]


@pytest.mark.parametrize("number", range(len(WRONG_SETS)))
def test_wrong_sets_are_refused(number):
    column, kind, message = WRONG_SETS[number]
    with pytest.raises(kind, match=message):
        nk.Sketcher(nk.Params(shingles="items")).items(column)


def test_signatures_leave_without_a_copy(expected):
    lanes = expected.to_numpy()
    assert lanes.shape == (4, 128) and lanes.dtype == np.uint8 and not lanes.flags.writeable
    assert lanes.tobytes() == expected.to_bytes()
    address = lanes.__array_interface__["data"][0]
    assert address == expected.__array_interface__["data"][0]
    column = pa.array(expected)
    assert column.type == pa.binary(128)
    assert column.buffers()[1].address == address
    assert column[2].as_py() == expected[2].to_bytes()
    # The arrays keep the memory alive.
    del expected
    assert lanes[0, 0] == column[0].as_py()[0]


def test_signatures_come_back_from_bytes(expected):
    again = nk.Signatures.from_bytes(PARAMS, expected.to_bytes(), expected.shingle_counts)
    assert again == expected
    assert again[1:3] == expected[1:3] and again[::-1][0] == expected[3] and again[-1] == expected[3]
    with pytest.raises(ValueError, match="no multiple"):
        nk.Signatures.from_bytes(PARAMS, b"abc")
    with pytest.raises(IndexError):
        again[4]


def test_similarity_row_by_row(expected):
    assert expected.similarity(expected) == [1.0] * 4
    assert expected.similarity(expected[0])[0] == 1.0
    shorter = expected[:2]
    with pytest.raises(ValueError, match="4 signatures, but 2"):
        expected.similarity(shorter)
    other = nk.Sketcher(nk.Params(shingles="words:1")).texts(TEXTS)
    with pytest.raises(nk.MismatchError, match="shingles"):
        expected.similarity(other)
    with_null = nk.Sketcher(PARAMS).texts([None, TEXTS[0]])
    assert np.isnan(with_null.similarity(expected[0])[0])


def test_sixteen_bit_lanes():
    p = nk.Params(shingles="words:2", lane_bits=16)
    signatures = nk.Sketcher(p).texts(TEXTS)
    assert signatures.to_numpy().dtype == np.dtype("<u2")
    assert signatures.similarity(signatures[0])[0] == 1.0


def test_arrow_types_that_are_not_read_are_named():
    texts = ["one two three four", None]
    ends = pa.RunEndEncodedArray.from_arrays([1, 2], pa.array(texts))
    of_items = nk.Sketcher(nk.Params(shingles="items"))
    encoded = pa.list_(pa.dictionary(pa.int32(), pa.string()))
    columns = {
        "run-end encoded": ends,
        "fixed-size list": pa.array([["a", "b"]], pa.list_(pa.string(), 2)),
        "list view": pa.array([["a", "b"]], pa.list_view(pa.string())),
        "list of dictionary": pa.array([["a", "b"]], encoded),
        "time": pa.array([1], pa.timestamp("ms")),
        "decimal": pa.array([1], pa.decimal128(5)),
    }
    for name, column in columns.items():
        for read in (nk.Sketcher(nk.Params()).texts, of_items.items):
            with pytest.raises(TypeError, match=f"Arrow type {name} is not read: cast it first"):
                read(column)
