"""Arrow arrays whose producer lies: each lie is an error that names the column and the row."""

import ctypes
import struct

import pyarrow as pa
import pytest

import nearkin as nk

TEXT = b"one two three four five six seven eight"
WORDS = nk.Params(shingles="words:2")
ITEMS = nk.Params(shingles="items")


class Struct(ctypes.Structure):
    """``ArrowArray`` of the C data interface."""


Struct._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Struct))),
    ("dictionary", ctypes.POINTER(Struct)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class Schema(ctypes.Structure):
    """``ArrowSchema``; only its size matters."""

    _fields_ = [("words", ctypes.c_int64 * 9)]


@ctypes.CFUNCTYPE(None, ctypes.POINTER(Struct))
def release(array):
    """Releases nothing: pyarrow's own callback would follow the lies."""
    array.contents.release = None


class Liar:
    """A column whose C struct is changed by ``lie`` before it is passed on."""

    def __init__(self, column, lie=lambda array: None):
        self.column, self.lie = column, lie

    def __arrow_c_array__(self, requested_schema=None):
        self.array, self.schema = Struct(), Schema()
        addresses = (ctypes.addressof(self.array), ctypes.addressof(self.schema))
        self.column._export_to_c(*addresses)
        self.array.release = ctypes.cast(release, ctypes.c_void_p)
        self.lie(self.array)
        return capsule(addresses[1], b"arrow_schema"), capsule(addresses[0], b"arrow_array")


def capsule(address, name):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, name, None)


def overwritten(kind, rows, written, *rest, **more):
    """An array whose second buffer gets its bytes after pyarrow has checked the array."""
    memory = bytearray(len(written))
    column = pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(memory), *rest], **more)
    memory[:] = written
    return column


def offsets(kind, numbers, form="i"):
    """Text, bytes or lists with these offsets."""
    packed = struct.pack(f"={len(numbers)}{form}", *numbers)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        items = pa.array(["a", "b", "c"], kind.value_type)
        return overwritten(kind, len(numbers) - 1, packed, children=[items])
    return overwritten(kind, len(numbers) - 1, packed, pa.py_buffer(TEXT))


def views(kind, *rows):
    """A column of views, each a length, a buffer's number and an offset."""
    packed = b"".join(struct.pack("=i4sii", length, TEXT[:4], *rest) for length, *rest in rows)
    return overwritten(kind, len(rows), packed, pa.py_buffer(TEXT))


def indexes(*numbers, kind=None):
    values = pa.array(["one two three", "four five six"])
    return pa.DictionaryArray.from_arrays(pa.array(numbers, kind or pa.int32()), values, safe=False)


def changed(column, **fields):
    def lie(array):
        for name, value in fields.items():
            setattr(array, name, value)

    return Liar(column, lie)


def missing(column, number):
    """A column with a null pointer in place of a buffer."""

    def lie(array):
        array.buffers[number] = None

    return Liar(column, lie)


def inside(column, part, **fields):
    """A column with changed fields in its child or its dictionary."""

    def lie(array):
        inner = array.dictionary if part == "dictionary" else array.children[0]
        for name, value in fields.items():
            setattr(inner.contents, name, value)

    return Liar(column, lie)


def longer(column, number):
    """A column of views whose buffer of lengths says this of the first data buffer."""

    def lie(array):
        lengths = ctypes.cast(array.buffers[array.n_buffers - 1], ctypes.POINTER(ctypes.c_int64))
        lengths[0] = number

    return Liar(column, lie)


GOOD = pa.array(["one two three", None, "four five six"])
VIEW = pa.array([TEXT.decode(), "four five six"], pa.string_view())
LISTS = pa.array([["a"], ["b", "c"]])
FIXED = pa.array([b"0123456789", b"9876543210"], pa.binary(10))

# In a column of text: the row that is named, and what is said of it.
TEXTS = {
    "offset beyond the last one": (offsets(pa.string(), [0, 2_000_000_000, 33]), "[1]", "offset"),
    "wide offset beyond": (offsets(pa.large_string(), [0, 2**40, 33], "q"), "[1]", "offset"),
    "falling offsets": (offsets(pa.string(), [0, 20, 10, 33]), "[1]", "begins at offset 20, ends at 10"),
    "negative offset": (offsets(pa.string(), [-8, 7, 33]), "[0]", "begins at offset -8"),
    "wide negative offset": (offsets(pa.large_string(), [-(2**62), 7], "q"), "[0]", "offset"),
    "negative last offset": (offsets(pa.string(), [0, 7, -1]), "[1]", "ends at -1"),
    "view beyond its buffer": (views(pa.string_view(), [20, 0, 0], [20, 0, 2**31 - 1]), "[1]", "view"),
    "view ends beyond": (views(pa.string_view(), [39, 0, 0], [39, 0, 1]), "[1]", "view"),
    "negative view offset": (views(pa.string_view(), [20, 0, -1]), "[0]", "view"),
    "negative view length": (views(pa.string_view(), [-20, 0, 0]), "[0]", "view"),
    "view of no buffer": (views(pa.string_view(), [20, 1, 0]), "[0]", "view"),
    "view of a negative buffer": (views(pa.string_view(), [20, -1, 0]), "[0]", "view"),
    "negative buffer length": (longer(VIEW, -1), "[0..]", "buffer length is -1"),
    "index beyond the dictionary": (indexes(0, 2), "[1]", "index is 2, but the dictionary has 2"),
    "negative index": (indexes(0, 1, -1), "[2]", "index is -1"),
    "wide index": (indexes(2**63, kind=pa.uint64()), "[0]", "index is 9223372036854775808"),
    "no dictionary": (changed(indexes(0), dictionary=None), "[0..]", "dictionary is missing"),
    "released dictionary": (inside(indexes(0), "dictionary", release=None), "[0..]", "is missing"),
    "shorter dictionary": (inside(indexes(0, 1), "dictionary", length=1), "[1]", "has 1 values"),
    "negative dictionary": (inside(indexes(0), "dictionary", length=-1), "[0..]", "length is -1"),
    "negative length": (changed(GOOD, length=-1), "[0..]", "length is -1"),
    "length beyond memory": (changed(GOOD, length=2**62), "[0..]", "more than memory"),
    "length that overflows": (changed(GOOD, length=2**63 - 1, offset=2**63 - 1), "[0..]", "memory"),
    "fixed beyond memory": (changed(FIXED, length=2**60), "[0..]", "more than memory"),
    "negative array offset": (changed(GOOD, offset=-1), "[0..]", "offset is -1"),
    "too few buffers": (changed(GOOD, n_buffers=2), "[0..]", "has 2 buffers"),
    "no buffers": (changed(GOOD, n_buffers=0), "[0..]", "has 0 buffers"),
    "negative buffers": (changed(VIEW, n_buffers=-1), "[0..]", "has -1 buffers"),
    "no pointers": (changed(GOOD, buffers=None), "[0..]", "missing"),
    "child of text": (changed(GOOD, n_children=1), "[0..]", "has 1 child arrays"),
    "nulls counted wrong": (changed(GOOD, null_count=2), "[0..]", "null count is 2, but 1 rows"),
    "nulls not counted": (changed(GOOD, null_count=0), "[0..]", "null count is 0, but 1 rows"),
    "negative nulls": (changed(GOOD, null_count=-2), "[0..]", "null count is -2"),
    "nulls without a bitmap": (missing(GOOD, 0), "[0..]", "null count is 1, but 0 rows"),
    "missing offsets": (missing(GOOD, 1), "[0..]", "values are missing"),
    "missing data": (missing(GOOD, 2), "[0..]", "data is missing"),
    "missing views": (missing(VIEW, 1), "[0..]", "values are missing"),
    "missing view data": (missing(VIEW, 2), "[0..]", "data is missing"),
    "missing view lengths": (missing(VIEW, 3), "[0..]", "data is missing"),
}

# In a column of sets.
SETS = {
    "list beyond its items": (offsets(pa.list_(pa.string()), [0, 1, 1_000_000]), "[1]", "there are 3"),
    "wide list beyond": (offsets(pa.large_list(pa.string()), [0, 4], "q"), "[0]", "ends at item 4"),
    "falling list": (offsets(pa.list_(pa.string()), [0, 3, 1]), "[1]", "begins at offset 3"),
    "negative list": (offsets(pa.list_(pa.string()), [-1, 1]), "[0]", "offset -1"),
    "list without items": (changed(LISTS, n_children=0), "[0..]", "has 0 child arrays"),
    "list of two children": (changed(LISTS, n_children=2), "[0..]", "has 2 child arrays"),
    "no children": (changed(LISTS, children=None), "[0..]", "a pointer is missing"),
    "released items": (inside(LISTS, "items", release=None), "[0..]", "items are missing"),
    "fewer items": (inside(LISTS, "items", length=2), "[1]", "ends at item 3, but there are 2"),
    "negative items": (inside(LISTS, "items", length=-1), "[0..]", "in its items: its length"),
    "items beyond memory": (inside(LISTS, "items", offset=2**62), "[0..]", "more than memory"),
    "falling item": (
        pa.ListArray.from_arrays([0, 1, 3], offsets(pa.string(), [0, 3, 9, 5])),
        "[1]",
        "in its items: it begins at offset 9, ends at 5",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_lie_about_text_is_told(name):
    column, row, what = TEXTS[name]
    with pytest.raises(ValueError) as told:
        nk.Sketcher(WORDS).texts(column)
    assert str(told.value).startswith(f"texts{row}: the Arrow array is invalid: ")
    assert what in str(told.value)


@pytest.mark.parametrize("name", SETS)
def test_a_lie_about_sets_is_told(name):
    column, row, what = SETS[name]
    with pytest.raises(ValueError) as told:
        nk.Sketcher(ITEMS).items(column)
    assert str(told.value).startswith(f"items{row}: the Arrow array is invalid: ")
    assert what in str(told.value)


def test_a_lie_in_a_later_array_names_its_row():
    column = pa.chunked_array([pa.array(["one two three"] * 5), offsets(pa.string(), [0, 30, 20])])
    with pytest.raises(ValueError, match=r"^texts\[6\]: .* begins at offset 30, ends at 20"):
        nk.Sketcher(WORDS).texts(column)


@pytest.mark.parametrize(
    ("column", "row"),
    [
        (offsets(pa.binary(), [0, 2_000_000_000, 33]), "[1]"),
        (views(pa.binary_view(), [20, 0, 0], [4_000, 0, 0]), "[1]"),
        (missing(FIXED, 1), "[0..]"),
    ],
    ids=["offset", "view", "missing"],
)
def test_foreign_memory_is_no_payload_and_no_key(tmp_path, column, row):
    texts = ["one two three four", "five six seven eight"]
    with nk.Index(tmp_path / "index", WORDS, keys="bytes") as index:
        with pytest.raises(ValueError) as told:
            index.add(["a", "b"], texts, payloads=column)
        assert str(told.value).startswith(f"payloads{row}: ")
        with pytest.raises(ValueError) as told:
            index.add(column, texts)
        assert str(told.value).startswith(f"keys{row}: ")
        assert len(index) == 0


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.uint64()])
def test_honest_integers_are_keys(tmp_path, kind):
    column = pa.array([9, 7, 8], kind)
    with nk.Index(tmp_path / "index", WORDS) as index:
        index.add(Liar(column.slice(1)), ["one two three four", "five six seven eight"])
        assert sorted(index) == ["7", "8"]


HONEST = {
    "nulls uncounted": changed(GOOD, null_count=-1),
    "as it is": Liar(GOOD),
    "empty slice": Liar(GOOD.slice(3)),
    "slice": Liar(GOOD.slice(1)),
    "null views that lead nowhere": Liar(
        pa.Array.from_buffers(
            pa.string_view(), 1, [pa.py_buffer(b"\0"), pa.py_buffer(b"\xff" * 16)], null_count=1
        )
    ),
    "null index that leads nowhere": Liar(
        pa.DictionaryArray.from_buffers(
            pa.dictionary(pa.int8(), pa.string()),
            1,
            [pa.py_buffer(b"\0"), pa.py_buffer(b"\x7f")],
            pa.array(["one two three"]),
            null_count=1,
        )
    ),
    "empty text without data": missing(pa.array(["", ""]), 2),
    "no rows and no buffers": missing(pa.array([], pa.string()), 1),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_column_is_read(name):
    column = HONEST[name]
    values = column.column.to_pylist()
    assert nk.Sketcher(WORDS).texts(column) == nk.Sketcher(WORDS).texts(values)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([[["a"]]]), "list of lists"),
        (pa.DictionaryArray.from_arrays([0], LISTS), "dictionary of lists or dictionaries"),
        (pa.DictionaryArray.from_arrays([0], indexes(0)), "dictionary of lists or dictionaries"),
    ],
    ids=["list", "dictionary of lists", "dictionary of dictionaries"],
)
def test_types_in_types_are_refused(column, kind):
    for read in (nk.Sketcher(WORDS).texts, nk.Sketcher(ITEMS).items):
        with pytest.raises(TypeError, match=f"Arrow type {kind} is not read: cast it first"):
            read(column)
