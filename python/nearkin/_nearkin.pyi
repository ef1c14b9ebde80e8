"""Types of the extension module."""

import datetime
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypedDict, overload

from typing_extensions import TypeVar, Unpack

from ._types import Added, Imported, Stats, Verification

__version__: str

_T = TypeVar("_T")
# What keys are shown as: of indexes opened with keys="bytes", bytes.
_K = TypeVar("_K", bound=str | bytes, default=str)
_Key: TypeAlias = str | bytes | int
_Item: TypeAlias = str | bytes | int
_Set: TypeAlias = Iterable[_Item]
_Time: TypeAlias = datetime.datetime | int
_Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Keep: TypeAlias = Literal["first", "newest", "longest", "all"]
_Progress: TypeAlias = bool | Literal["always"] | Callable[[int, int], object] | None
_Durability: TypeAlias = Literal["sync", "os"] | float | datetime.timedelta

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class _Listed(Protocol):
    """Columns of numpy and of pandas."""

    @property
    def dtype(self) -> Any: ...
    def tolist(self) -> Any: ...

# Any iterable of rows will do, too: it is made a list.
_Column: TypeAlias = Iterable[Any] | _ArrowStream | _ArrowArray | _Listed
_Document: TypeAlias = str | Signature | _Set
_Documents: TypeAlias = _Column | Signatures

class _AdmissionConditions(TypedDict, total=False):
    contained: float | None
    max_candidates: int | None
    prefix: _Key | None
    after: _Time | None
    before: _Time | None
    deadline: float | datetime.timedelta | None
    filter: Callable[[DocumentView[Any]], object] | None

class _PairConditions(_AdmissionConditions, total=False):
    limit: int | None
    for_verification: bool | None

class _Conditions(_PairConditions, total=False):
    threshold: float | None

class _OpenOptions(TypedDict, total=False):
    durability: _Durability | None
    read_mode: Literal["mmap", "pread"] | None
    memory_bytes: int | None
    memtable_bytes: int | None
    threads: int | None

class _IndexOptions(_OpenOptions, total=False):
    ttl: float | datetime.timedelta | None
    shared: bool | None
    lock_wait: float | datetime.timedelta | None

def learn_common(
    texts: Iterable[str | None],
    share: float,
    params: Params | None = None,
    *,
    threads: int | None = None,
) -> str | None:
    """Learns the shingles that at least this share of the texts has (and at least ten texts), for
    ``Params(common=...)``: notices, licences, menus. Returns the list as text, ``None`` if there are no
    such shingles. Equal texts count once; the order of the texts does not matter. Blank texts and
    ``None`` are passed over. Parameters: those that the list is for (default: ``Params()``)."""

class Params:
    """The parameters of an index: they determine which signature a text gets, and which documents are
    candidates of each other. Fixed when an index is created. Immutable, comparable, picklable."""
    def __new__(
        cls,
        threshold: float = 0.7,
        shingles: str | None = None,
        *,
        hashes: int | None = None,
        bands: tuple[int, int] | None = None,
        recall_target: float = 0.95,
        lane_bits: int | None = None,
        stop_words: Iterable[str] | None = None,
        common: str | bytes | Iterable[int] | None = None,
        passages: str | None = None,
        bag: bool = False,
        normalise: str | None = None,
        keep_case: bool = False,
        keep_space: bool = False,
        no_nfc: bool = False,
        scheme: str | None = None,
        seed: int = 0,
    ) -> Params: ...
    @staticmethod
    def preset(
        name: Literal["documents", "archive", "training", "short", "records", "code", "quotes"],
    ) -> Params:
        """The settings for a purpose: "documents", "archive" (scans), "training", "short", "records",
        "code" or "quotes". They were measured by how well they find edited copies: docs/guide/TUNING.md
        has the table."""
    @staticmethod
    def from_json(text: str) -> Params:
        """Parses parameters that :meth:`to_json` wrote."""
    def to_json(self) -> str:
        """All parameters as one line of JSON."""
    @property
    def threshold(self) -> float:
        """The similarity for which the bands were chosen; also the default threshold of a query."""
    @property
    def shingles(self) -> str:
        """The kind of pieces by which texts are compared: ``words:3``, ``chars:5``, ``items`` ..."""
    @property
    def hashes(self) -> int:
        """Number of rows of a signature."""
    @property
    def bands(self) -> int:
        """Number of bands."""
    @property
    def rows_per_band(self) -> int:
        """Number of rows per band."""
    @property
    def recall_target(self) -> float:
        """The minimum probability that a pair at the threshold is a candidate."""
    @property
    def lane_bits(self) -> int:
        """Number of bits that are stored per row: 8 or 16. With ``scheme="external:NAME"`` also 32 or 64,
        which store rows unchanged."""
    @property
    def stop_words(self) -> list[str]:
        """The words that are left out of the comparison."""
    @property
    def common(self) -> list[int]:
        """The hashes of the common shingles, which are left out of the comparison: see
        :func:`learn_common`."""
    @property
    def passages(self) -> str | None:
        """How texts are cut into passages (``window:stride`` in words); ``None`` if they are not."""
    @property
    def bag(self) -> bool:
        """Whether a repeated shingle counts each time it occurs (a multiset), and not only once (a
        set)."""
    @property
    def normalise(self) -> str:
        """How the characters of a text are normalised: ``none``, ``lower``, ``nfc``, ``case``, or
        ``fold`` with its options, such as ``fold,diacritics``."""
    @property
    def keep_case(self) -> bool:
        """Whether upper-case letters are kept."""
    @property
    def keep_space(self) -> bool:
        """Whether white space is kept as it is."""
    @property
    def no_nfc(self) -> bool:
        """Whether Unicode's normalisation form C is skipped."""
    @property
    def scheme(self) -> str:
        """How shingles become rows: ``fast``, ``textbook`` or ``external:NAME``."""
    @property
    def seed(self) -> int:
        """The seed of every hash."""
    @property
    def signature_bytes(self) -> int:
        """Size of a signature in bytes."""
    @property
    def signature_id(self) -> int:
        """The id of everything that a signature depends on: signatures with equal ids are comparable."""
    @property
    def warnings(self) -> list[str]:
        """Costs of these parameters that a caller may not expect; empty if there are none."""
    def candidate_probability(self, similarity: float) -> float:
        """The probability that a pair of this true similarity shares a band."""
    def expected_recall(self, similarity: float, threshold: float) -> float:
        """The probability that a query at ``threshold`` returns a pair of this true similarity."""
    def standard_error(self, similarity: float) -> float:
        """The standard error of an estimate near this similarity."""
    def differences(self, other: Params) -> list[str]:
        """How ``other`` differs: one phrase per difference."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Signature:
    """The MinHash signature of one document."""
    @staticmethod
    def from_bytes(params: Params, data: bytes, shingle_count: int = 0) -> Signature:
        """The signature with these bytes: see :meth:`to_bytes`."""
    @staticmethod
    def from_rows(params: Params, rows: Iterable[int], shingle_count: int = 0) -> Signature:
        """The signature with these rows, for rows computed by another program: the parameters have
        ``scheme="external:NAME"``."""
    @property
    def rows(self) -> list[int]:
        """The rows as numbers: whole values if ``lane_bits`` is 32 or 64, otherwise the stored 8 or 16
        bits."""
    def union(self, other: Signature) -> Signature:
        """The signature of the union of two sets: the minimum of each row. ``InvalidError`` unless rows
        are stored whole (``lane_bits`` of 32 or 64)."""
    def to_bytes(self) -> bytes:
        """The rows as stored."""
    def __bytes__(self) -> bytes: ...
    @property
    def params(self) -> Params:
        """The parameters of the signature."""
    @property
    def shingle_count(self) -> int:
        """Number of distinct shingles of the document."""
    def similarity(self, other: Signature) -> float:
        """Estimated Jaccard similarity to ``other``."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Signatures:
    """The signatures of a column of documents, in one block of memory. A row is null if its document was
    null or had nothing to compare."""
    @staticmethod
    def from_bytes(
        params: Params,
        data: bytes,
        counts: list[int] | None = None,
        nulls: list[int] | None = None,
    ) -> Signatures:
        """Creates signatures from their concatenated bytes, as returned by :meth:`to_bytes`. ``counts``
        are the shingle counts (default: all 0); ``nulls`` are the positions of null rows."""
    def to_bytes(self) -> bytes:
        """The stored bytes of all rows, concatenated; null rows are zeros."""
    @property
    def params(self) -> Params:
        """The parameters of the signatures."""
    @property
    def shingle_counts(self) -> list[int]:
        """Number of distinct shingles of each document; 0 for a null row."""
    @property
    def nulls(self) -> list[int]:
        """Numbers of the null rows."""
    def is_null(self, row: int) -> bool:
        """Whether this row is null: its document was null or had nothing to compare."""
    def similarity(self, other: Signatures | Signature) -> list[float]:
        """Estimated Jaccard similarities to ``other``, row by row. ``other`` has the same number of rows,
        or one row. NaN for null rows."""
    def to_numpy(self) -> Any:
        """A read-only numpy array of the lanes (rows x hashes), without a copy."""
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int) -> Signature | None: ...
    @overload
    def __getitem__(self, at: slice) -> Signatures: ...
    def __iter__(self) -> Iterator[Signature | None]: ...
    def __eq__(self, other: object) -> bool: ...

class Sketcher:
    """Makes signatures: pure, thread-safe, picklable. ``threads`` is the number of threads that sketch a
    column (default: one per processor)."""
    def __new__(cls, params: Params, *, threads: int | None = None) -> Sketcher: ...
    @property
    def params(self) -> Params:
        """The parameters."""
    def text(self, text: str) -> Signature:
        """The signature of one text. ``EmptyError`` if it is blank."""
    def set(self, items: _Set) -> Signature:
        """The signature of one set of ``str``, ``bytes`` or ``int``. 1 and "1" are the same item."""
    def texts(
        self, texts: _Column, *, progress: _Progress = None, threads: int | None = None
    ) -> Signatures:
        """The signatures of a column of texts: list, tuple, Arrow, pandas, polars or numpy."""
    def items(
        self, items: _Column, *, progress: _Progress = None, threads: int | None = None
    ) -> Signatures:
        """The signatures of a column of sets: lists of ``str``, ``bytes`` or ``int``, or Arrow lists."""

class Match(Generic[_K]):
    """A document similar to the query."""
    @property
    def key(self) -> _K:
        """The document's key."""
    @property
    def similarity(self) -> float:
        """Estimated Jaccard similarity."""
    @property
    def standard_error(self) -> float:
        """Standard error of the estimate."""
    @property
    def contained(self) -> float | None:
        """Estimated fraction of the smaller document that the larger one contains; ``None`` unless the
        query asked for containment."""
    @property
    def equal_rows(self) -> int:
        """Number of equal rows of the two signatures; matches are ordered by it."""
    @property
    def payload(self) -> bytes:
        """The payload: the caller's own bytes."""
    @property
    def time(self) -> datetime.datetime:
        """Time of insertion or last replacement, in UTC."""
    @property
    def time_ms(self) -> int:
        """The time in milliseconds since 1970."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Answer(Generic[_K]):
    """The matches of a query, a sequence: most similar first; matches with equal similarity are sorted by
    key."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int) -> Match[_K]: ...
    @overload
    def __getitem__(self, at: slice) -> list[Match[_K]]: ...
    def __iter__(self) -> Iterator[Match[_K]]: ...
    @property
    def keys(self) -> list[_K]:
        """The keys of the matches."""
    def to_pandas(self) -> Any:
        """The matches as a pandas data frame: key, similarity, contained (if it was asked for), time and
        payload."""
    @property
    def found(self) -> int:
        """Number of documents at or above the threshold. The limit does not reduce it."""
    @property
    def threshold(self) -> float:
        """The threshold of the query; by default, that of the index."""
    @property
    def complete(self) -> bool:
        """Whether every candidate was compared: see the conditions of :class:`Readable`."""
    @property
    def change(self) -> int:
        """Number of the last change that the answer reflects."""

class Document(Generic[_K]):
    """A stored document."""
    @property
    def key(self) -> _K:
        """The document's key."""
    @property
    def payload(self) -> bytes:
        """The payload: the caller's own bytes."""
    @property
    def time(self) -> datetime.datetime:
        """Time of insertion or last replacement, in UTC."""
    @property
    def time_ms(self) -> int:
        """The time in milliseconds since 1970."""
    @property
    def signature(self) -> Signature:
        """The document's signature. (The text is not stored.)"""
    def __eq__(self, other: object) -> bool: ...

class DocumentView(Generic[_K]):
    """A stored document as a filter of a search sees it."""
    @property
    def key(self) -> _K:
        """The document's key."""
    @property
    def payload(self) -> bytes:
        """The payload: the caller's own bytes."""
    @property
    def time(self) -> datetime.datetime:
        """Time of insertion or last replacement, in UTC."""
    @property
    def time_ms(self) -> int:
        """The time in milliseconds since 1970."""

class Table:
    """Columns of equal length, in memory. Any library that supports the Arrow PyCapsule interface
    (pyarrow, polars, pandas, DuckDB) reads them without a copy; none of these libraries is required."""
    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> list[Any]: ...
    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...
    def to_dict(self) -> dict[str, list[Any]]:
        """All columns as lists."""
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as tuples."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def to_arrow(self) -> Any:
        """Converts the table to a ``pyarrow.Table``."""
    def to_pandas(self) -> Any:
        """Converts the table to a ``pandas.DataFrame``."""
    def to_polars(self) -> Any:
        """Converts the table to a ``polars.DataFrame``."""

class Stream:
    """Record batches, computed while they are read. They can be read only once. Iterate over a stream, or
    pass it to a library that supports the Arrow PyCapsule interface."""
    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
    def __iter__(self) -> Stream: ...
    def __next__(self) -> Table: ...
    def read_all(self, *, progress: _Progress = None) -> Table:
        """All remaining rows, in memory. ``progress`` is told the number of rows; the total is not
        known."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def to_arrow(self) -> Any:
        """Converts the remaining rows to a ``pyarrow.Table``."""
    def to_pandas(self) -> Any:
        """Converts the remaining rows to a ``pandas.DataFrame``."""
    def to_polars(self) -> Any:
        """Converts the remaining rows to a ``polars.DataFrame``."""

class KeyIterator(Generic[_K]):
    """An iterator over keys. A separate thread walks the snapshot, slightly ahead of the iterator."""
    def __iter__(self) -> KeyIterator[_K]: ...
    def __next__(self) -> _K: ...

class Readable(Generic[_K]):
    """Read-only methods of :class:`Index`, :class:`Reader` and :class:`Snapshot`."""
    @property
    def path(self) -> Any:
        """The folder of the index."""
    @property
    def params(self) -> Params:
        """The parameters of the index."""
    @property
    def sketcher(self) -> Sketcher:
        """A sketcher with the parameters of this index."""
    @property
    def change(self) -> int:
        """Number of the last visible change."""
    def snapshot(self) -> Snapshot[_K]:
        """A frozen view: later writes do not change its answers. Cheap to take."""
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __contains__(self, key: _Key) -> bool: ...
    @overload
    def get(self, key: _Key) -> Document[_K] | None:
        """The document with this key, or ``default``."""
    @overload
    def get(self, key: _Key, default: _T) -> Document[_K] | _T: ...
    def __getitem__(self, key: _Key) -> Document[_K]: ...
    def signature(self, key: _Key) -> Signature | None:
        """The signature of the document with this key, or ``None``."""
    def keys(self, prefix: _Key | None = None) -> KeyIterator[_K]:
        """Iterates over the keys that start with ``prefix``, in no particular order, in a snapshot of the
        index. Scans all keys."""
    def __iter__(self) -> KeyIterator[_K]: ...
    def query(self, document: _Document, **conditions: Unpack[_Conditions]) -> Answer[_K]:
        """The documents similar to a text (or to a set of items, or a :class:`Signature`), most similar
        first. ``conditions``: see :class:`Readable`, for all searches."""
    def query_key(self, key: _Key, **conditions: Unpack[_Conditions]) -> Answer[_K]:
        """The documents similar to the stored document with this key, without that document."""
    def query_keys(self, keys: list[Any], **conditions: Unpack[_Conditions]) -> Answer[_K]:
        """The documents similar to any of the stored documents with these keys, without those documents.
        A match has the highest of its similarities to them."""
    def query_many(
        self,
        documents: _Documents,
        *,
        payloads: bool = False,
        progress: _Progress = None,
        threads: int | None = None,
        **conditions: Unpack[_Conditions],
    ) -> Table:
        """The documents similar to each document of a column. Returns a :class:`Table` with one row per
        match: the number of the document, the key and the similarity. ``contained`` adds a column with
        the containment, ``payloads`` one with the payload. With ``filter``, the search uses one
        thread."""
    def query_passages(self, text: str, **conditions: Unpack[_Conditions]) -> PassageAnswer:
        """In a passage index: the texts that contain parts of this text. See
        :meth:`PassageIndex.query`."""
    def pairs(
        self, threshold: float | None = None, **conditions: Unpack[_PairConditions]
    ) -> Stream:
        """All pairs of similar documents that pass the conditions. Returns a :class:`Stream` with the
        columns a, b and similarity, and contained if ``contained`` is given. The ``deadline`` includes
        the time until the stream is read."""
    def clusters(
        self,
        threshold: float | None = None,
        *,
        progress: _Progress = None,
        **conditions: Unpack[_PairConditions],
    ) -> Stream:
        """The clusters of documents linked by pairs of similar documents that pass the conditions. The
        ``limit`` keeps the clusters with the smallest keys. Returns a :class:`Stream` with one row per
        member: cluster, key, size of the cluster, time."""

class Snapshot(Readable[_K]):
    """A frozen view of an index: later writes do not change its answers."""

class Reader(Readable[_K]):
    """An index opened for reading only. This works whether or not a writer has the index open, from other
    processes, and on read-only media. A reader shows one state until :meth:`refresh`. A reader can be
    pickled, and used after a fork: the unpickled reader, or the one in the forked child, opens the index
    again."""
    @overload
    def __new__(
        cls,
        path: _Path,
        *,
        read_mode: Literal["mmap", "pread"] = "mmap",
        keys: Literal["bytes"],
        threads: int | None = None,
    ) -> Reader[bytes]: ...
    @overload
    def __new__(
        cls,
        path: _Path,
        *,
        read_mode: Literal["mmap", "pread"] = "mmap",
        keys: Literal["str"] = "str",
        threads: int | None = None,
    ) -> Reader: ...
    def refresh(self) -> bool:
        """Moves on to the current state. Returns whether that state is newer than the one shown
        before."""
    def backup(self, path: _Path) -> None:
        """Copies the index, in the state that this reader shows, to a new folder."""
    def stats(self) -> Stats:
        """The state of the index in numbers."""
    def verify(self, *, progress: _Progress = None) -> Verification:
        """Checks all files, and lists all damage."""
    def close(self) -> None:
        """Releases the files."""
    def __enter__(self) -> Reader[_K]: ...
    def __exit__(self, *exception: object) -> None: ...

class Index(Readable[_K]):
    """An index opened for reading and writing: a mapping from keys to signatures, on disk. Any number of
    threads may use it; other processes read it with :class:`Reader`."""
    @overload
    def __new__(
        cls,
        path: _Path,
        params: Params | None = None,
        *,
        keys: Literal["bytes"],
        **options: Unpack[_IndexOptions],
    ) -> Index[bytes]: ...
    @overload
    def __new__(
        cls,
        path: _Path,
        params: Params | None = None,
        *,
        keys: Literal["str"] = "str",
        **options: Unpack[_IndexOptions],
    ) -> Index: ...
    @overload
    @staticmethod
    def open(
        path: _Path, *, keys: Literal["bytes"], **options: Unpack[_IndexOptions]
    ) -> Index[bytes]:
        """Opens an existing index."""
    @overload
    @staticmethod
    def open(
        path: _Path, *, keys: Literal["str"] = "str", **options: Unpack[_IndexOptions]
    ) -> Index: ...
    @overload
    @staticmethod
    def create(
        path: _Path, params: Params, *, keys: Literal["bytes"], **options: Unpack[_IndexOptions]
    ) -> Index[bytes]:
        """Creates a new index."""
    @overload
    @staticmethod
    def create(
        path: _Path, params: Params, *, keys: Literal["str"] = "str", **options: Unpack[_IndexOptions]
    ) -> Index: ...
    @overload
    @staticmethod
    def temporary(
        params: Params, *, keys: Literal["bytes"], **options: Unpack[_IndexOptions]
    ) -> Index[bytes]:
        """Makes an index in memory, which leaves nothing behind."""
    @overload
    @staticmethod
    def temporary(
        params: Params, *, keys: Literal["str"] = "str", **options: Unpack[_IndexOptions]
    ) -> Index: ...
    def add(
        self,
        keys: _Column,
        documents: _Documents,
        *,
        payloads: _Column | None = None,
        times: _Column | _Time | None = None,
        progress: _Progress = None,
        threads: int | None = None,
    ) -> Added:
        """Adds a column of documents with a column of keys. A stored document with one of these keys is
        replaced."""
    def insert(
        self,
        key: _Key,
        document: _Document,
        *,
        payload: bytes | None = None,
        time: _Time | None = None,
    ) -> bool:
        """Inserts or replaces one document. Returns ``True`` if something was written. Without a payload,
        the stored one is kept; ``b""`` clears it."""
    def set_payload(self, key: _Key, payload: bytes) -> bool:
        """Sets the payload of the document with this key and changes nothing else. Returns whether the
        document exists."""
    def __setitem__(self, key: _Key, document: _Document) -> None: ...
    def __delitem__(self, key: _Key) -> None: ...
    def discard(self, key: _Key) -> bool:
        """Removes the document with this key. Returns whether it existed."""
    def remove(self, keys: _Column) -> int:
        """Removes the documents with these keys, in batches. Returns the number of removed documents."""
    def remove_prefix(self, prefix: _Key) -> int:
        """Removes every document whose key starts with ``prefix``. Returns the number of removed
        documents. An empty prefix is refused: :meth:`clear` removes all."""
    def clear(self) -> int:
        """Removes every document. Returns the number of removed documents."""
    def remove_before(self, time: _Time) -> int:
        """Removes every document whose time is before ``time``. Returns the number of removed
        documents."""
    def admit(
        self,
        keys: _Column,
        documents: _Documents,
        *,
        reject: float | None = None,
        relate: float | None = None,
        keep: _Keep = "first",
        exact: Callable[[Any], Any] | None = None,
        payloads: _Column | None = None,
        times: _Column | _Time | None = None,
        progress: _Progress = None,
        threads: int | None = None,
        **conditions: Unpack[_AdmissionConditions],
    ) -> Table:
        """Inserts each document unless it is too similar to a stored one or to an earlier one in the
        column. The search and the decision are one atomic step."""
    def import_from(self, other: _Path | Readable[Any], *, progress: _Progress = None) -> Imported:
        """Copies every document of another index (a path, or an open index) with its signature. The
        parameters must be equal, except for bands and threshold."""
    def adopt(
        self, paths: list[Any], how: Literal["refuse", "replace"] = "refuse"
    ) -> Imported:
        """Takes files made by :func:`nearkin.shards.seal` into the index, all in one commit. Nothing is
        sketched. ``how`` says what happens if a key is already live or occurs in two files: ``"refuse"``
        raises ``ExistsError``, ``"replace"`` keeps the last version. The files themselves are not
        removed."""
    def compact(self, *, progress: _Progress = None) -> None:
        """Merges everything into one segment without dead documents. Reads and writes continue
        meanwhile."""
    def verify(self, *, progress: _Progress = None) -> Verification:
        """Checks everything: all checksums, and all tables against the signatures."""
    def backup(self, path: _Path) -> None:
        """Makes a copy of the index in a new folder, while reads and writes continue."""
    def flush(self) -> None:
        """Writes the documents that are in memory to a segment now."""
    def refresh(self) -> bool:
        """Sees what other processes have written through handles with shared=True. Returns whether there
        was anything new."""
    def refresh_until(self, change: int, wait: float | datetime.timedelta) -> bool:
        """Refreshes until the change of this number is visible, for at most ``wait`` (seconds or a
        timedelta). Returns whether it is."""
    def sync(self) -> int:
        """Makes all earlier writes durable. Returns the number of the last durable change. A Reader that
        is refreshed afterwards sees them; without it, after about a second."""
    def stats(self) -> Stats:
        """The state of the index in numbers."""
    @property
    def closed(self) -> bool:
        """Whether the index is closed."""
    def close(self) -> None:
        """Closes the index, so that the next open has nothing to replay. Waits for running calls of other
        threads. Does nothing if the index is already closed."""
    def __enter__(self) -> Index[_K]: ...
    def __exit__(self, *exception: object) -> None: ...

def exists(path: _Path) -> bool:
    """Whether there is an index in this folder."""
def similarity(a: str | _Set, b: str | _Set, params: Params | None = None) -> float:
    """The exact Jaccard similarity of two texts, by their shingles (``params`` says which), or of two
    sets of items."""
def rebuild(
    source: _Path | Readable[Any], path: _Path, params: Params, *, progress: _Progress = None
) -> int:
    """Makes a new index at ``path`` from the signatures of another one, with other bands or another
    threshold. Returns the number of documents. The texts are not needed."""
def salvage(path: _Path, out: _Path, params: Params | None = None) -> str:
    """Copies everything readable from a damaged index to a new index at ``out``. Returns a description of
    the losses. The damaged index is not changed."""

class Questions:
    """Finds test questions in training data. ``questions`` are texts, and numbered from 0."""
    def __new__(
        cls,
        questions: Iterable[str | None],
        *,
        share: float = 0.6,
        words: int = 12,
        params: Params | None = None,
    ) -> Questions: ...
    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int:
        """Memory of the questions, in bytes."""
    def find(
        self, texts: Iterable[str | None], *, threads: int | None = None
    ) -> list[QuestionFound | None]:
        """The question that each text contains: a list of :class:`QuestionFound`, and ``None`` for a text
        that contains none. Of several, the one with most words shared; of several such the shortest, then
        the first."""

class QuestionFound:
    """A question that a text contains."""
    @property
    def question(self) -> int:
        """The number of the question."""
    @property
    def words(self) -> int:
        """Number of words of the question."""
    @property
    def shared(self) -> int:
        """Number of its words that the passage has, in runs of three words and more."""
    @property
    def longest(self) -> int:
        """Number of words of the longest run that question and text have in common."""
    @property
    def word(self) -> int:
        """Number of words of the text before the passage."""
    @property
    def passage(self) -> str:
        """The passage of the text."""
    @property
    def questions(self) -> int:
        """Number of questions that the text contains."""

class PassageIndex:
    """Texts with keys, found by their quotations. A text is cut into passages (see
    :attr:`Params.passages`). A query finds the texts that contain parts of it, with the places and
    lengths of these parts."""
    def __new__(
        cls,
        path: _Path,
        params: Params | None = None,
        *,
        keys: str = "str",
        **options: Unpack[_OpenOptions],
    ) -> PassageIndex: ...
    @property
    def path(self) -> Any:
        """The folder of the index."""
    @property
    def params(self) -> Params:
        """The parameters of the index."""
    def insert(self, key: _Key, text: str, *, payload: bytes | None = None) -> bool:
        """Inserts a text with all its passages, or replaces the one with this key, as one change. Returns
        ``True`` if something was written. Without a payload, the stored one is kept; ``b""`` clears
        it."""
    def set_payload(self, key: _Key, payload: bytes) -> bool:
        """Sets the payload of the text with this key and leaves its passages unchanged. Returns whether
        the text exists."""
    def __setitem__(self, key: _Key, text: str) -> None: ...
    def add(
        self,
        keys: _Column,
        texts: _Column,
        *,
        payloads: _Column | None = None,
        progress: _Progress = None,
        threads: int | None = None,
    ) -> Added:
        """Adds a column of texts with a column of keys, in batches. Where ``payloads`` is null or
        missing, a stored payload is kept."""
    def __delitem__(self, key: _Key) -> None: ...
    def discard(self, key: _Key) -> bool:
        """Removes the text with this key. Returns whether it existed."""
    def __contains__(self, key: _Key) -> bool: ...
    def count(self) -> int:
        """Number of texts. Reads every passage."""
    def query(self, text: str, **conditions: Unpack[_Conditions]) -> PassageAnswer:
        """The texts that contain parts of this one. A passage counts if its similarity is at least
        ``threshold`` (default: that of the index). ``limit``, ``prefix``, ``after``, ``before`` and
        ``filter`` are about texts. All ``conditions``: see :class:`Readable`."""
    def pairs(self, **conditions: Unpack[_Conditions]) -> list[PassagePair]:
        """All pairs of texts that share a run of words, those of the longest run first. Only for an index
        of fingerprints (``Params.preset("quotes")``). ``prefix``, ``after``, ``before``, ``filter``,
        ``contained`` (the larger of both shares), ``limit`` and ``deadline`` apply: see
        :class:`Readable`. Holds the words of all texts in memory, about 10 bytes a word."""
    def clusters(self, **conditions: Unpack[_Conditions]) -> list[list[Any]]:
        """Groups of texts, each a list of keys, that pairs connect whose longest run stands out; with
        ``contained``, all pairs that reach it. Otherwise like :meth:`pairs`."""
    def compact(self, *, progress: _Progress = None) -> None:
        """Merges everything into one segment without dead documents."""
    def backup(self, path: _Path) -> None:
        """Copies the index to a new folder."""
    def verify(self, *, progress: _Progress = None) -> Verification:
        """Checks all files, and lists all damage."""
    def stats(self) -> Stats:
        """The state of the index in numbers. Each passage counts as a document."""
    def close(self) -> None:
        """Closes the index. Waits for the calls of other threads."""
    def __enter__(self) -> PassageIndex: ...
    def __exit__(self, *exception: object) -> None: ...

class PassageAnswer:
    """The texts that contain parts of the query, a sequence: largest share first."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int) -> Contained: ...
    @overload
    def __getitem__(self, at: slice) -> list[Contained]: ...
    def __iter__(self) -> Iterator[Contained]: ...
    @property
    def found(self) -> int:
        """Number of texts that contain any part of the query. The limit does not reduce it."""
    @property
    def words(self) -> int:
        """Number of words of the query."""
    @property
    def complete(self) -> bool:
        """Whether every candidate was compared: see the conditions of :class:`Readable`."""
    @property
    def change(self) -> int:
        """Number of the last change that the answer reflects."""

class Contained:
    """A stored text that contains passages of the query."""
    @property
    def key(self) -> Any:
        """The text's key."""
    @property
    def payload(self) -> bytes:
        """The payload: the caller's own bytes."""
    @property
    def share(self) -> float:
        """Fraction of the query found in this text: matching words divided by all words."""
    @property
    def stored_share(self) -> float | None:
        """Fraction of the stored text found in the query; ``None`` for windows."""
    @property
    def passages(self) -> list[PassageMatch]:
        """The matching passages, in the order of the stored text."""

class PassageMatch:
    """A passage of the query found in a stored text: a run of words."""
    @property
    def query(self) -> tuple[int, int]:
        """Place in the query: the passage is ``text[a:b]``."""
    @property
    def stored_bytes(self) -> tuple[int, int]:
        """Place in the stored text, as UTF-8 byte offsets. With windows they are approximate, because the
        text is not stored; with fingerprints they are those of the words."""
    @property
    def words(self) -> int:
        """Number of matching words of the query in this passage."""
    @property
    def query_words(self) -> tuple[int, int] | None:
        """Place in the query in words, begin and end; ``None`` for windows."""
    @property
    def stored_words(self) -> tuple[int, int] | None:
        """Place in the stored text in words, begin and end; ``None`` for windows."""
    @property
    def longest(self) -> int | None:
        """Number of words of the longest run without a gap; ``None`` for windows."""
    @property
    def similarity(self) -> float:
        """The highest estimated Jaccard similarity between a window of the query and a window of this
        passage. With fingerprints: matching words divided by those of the longer of both places."""

class PassagePair:
    """Two texts of an index of fingerprints that share a run of words."""
    @property
    def a(self) -> Any:
        """The key of the one text: the smaller one as bytes."""
    @property
    def b(self) -> Any:
        """The key of the other text."""
    @property
    def share_of_a(self) -> float:
        """Fraction of the words of ``a`` that are in ``b``."""
    @property
    def share_of_b(self) -> float:
        """Fraction of the words of ``b`` that are in ``a``."""
    @property
    def words(self) -> int:
        """Number of words of ``a`` that are in ``b``."""
    @property
    def longest(self) -> int:
        """Number of words of the longest run of equal words."""
    @property
    def stands_out(self) -> bool:
        """Whether the longest run stands out in this collection: it has at least 12 words, and twice as
        many as those of nearly all other pairs."""
    @property
    def complete(self) -> bool:
        """Whether both texts were compared to their ends. If not, they may share more."""

def decide_rows(documents: Any, how: Any, folder: str) -> tuple[Table, int]:
    """Decides the rows of a column; called by `nearkin.dedup`. Returns a table, and the number of rows
    that the guard kept."""
def audit_rows(
    removed: Any,
    kept: Any,
    params: Params,
    threshold: float | None,
    guard: str | None,
    threads: int | None,
    folder: str,
) -> tuple[Table, tuple[int, int, list[tuple[float, int]], int, int, int | None, int | None, int, int]]:
    """Judges removed rows; called by `nearkin.audit`. Returns a table, and the counts."""
def dedup_params(
    params: Params, threshold: float, contained: float | None, exact: bool, are_made: bool
) -> Params:
    """The parameters by which rows are deduplicated under this condition: see `of_kept`."""

def decide_in_order(signatures: Signatures, params: Params, *how: Any) -> Table:
    """Decides documents in order of preference, with parameters as they are: by the estimate, or if there
    are `shingles`, by these; `exact` also compares candidates from below the threshold. `shingles` are
    those of the distinct documents, and the number of its distinct document for each one. Called by
    `nearkin.spark` for whole components."""

def judge_in_order(texts: Any, params: Params, threshold: float, guard: str | None, *how: Any) -> Table:
    """Judges documents that were dropped, and keeps those that `guard` protects. Rows are in order of
    preference: those that were dropped for one with other shingles, and those they were dropped for. `of`
    is the row that a row was dropped for, -1 for one that is kept; `counts` are the shingles of the two,
    and those that both have. Called by `nearkin.spark`."""

def _is_null(object: Any) -> bool: ...
def _table_of(fields: Any, columns: Any) -> Table: ...
def _similarity_text(similarity: float, exact: bool) -> str: ...
def _advice() -> list[tuple[str, str]]: ...

class _Sieve:
    def __init__(self, how: Any, folder: str) -> None: ...
    def admit(self, documents: Any) -> bytes: ...
    def close(self) -> None: ...
