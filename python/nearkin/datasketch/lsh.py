"""``MinHashLSH`` in memory, with its hash tables in Rust."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from .minhash import scheme_of
from ._native import make_tables
from ._optimal import optimal_params
from ._views import KeysView, TableView

if TYPE_CHECKING:
    from typing_extensions import Self

#: The number of a bucket that contains no document.
_NO_BUCKET = 2**64 - 1


class MinHashLSH:
    """Finds the keys of MinHashes whose similarity is probably above a threshold.

    >>> from nearkin.datasketch import MinHash
    >>> lsh = MinHashLSH(threshold=0.5, num_perm=32)
    >>> m = MinHash(num_perm=32)
    >>> m.update(b"a")
    >>> lsh.insert("a", m)
    >>> "a" in lsh, lsh.query(m)
    (True, ['a'])

    With ``storage_config={"type": "nearkin", "path": ...}`` it is stored on disk: durable, and not
    limited by memory. See :class:`StoredMinHashLSH`.
    """

    def __new__(cls, *given: Any, **named: Any) -> MinHashLSH:
        config = named.get("storage_config") or (given[4] if len(given) > 4 else None) or {}
        if cls is MinHashLSH and config.get("type") == "nearkin":
            from ._stored import StoredMinHashLSH

            cls = StoredMinHashLSH
        return super().__new__(cls)

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        weights: tuple[float, float] = (0.5, 0.5),
        params: tuple[int, int] | None = None,
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
        hashfunc: Callable[[bytes], Any] | None = None,
    ) -> None:
        kind = (storage_config or {}).get("type", "dict")
        if kind != "dict":
            known = "nearkin.datasketch has 'dict' and 'nearkin'"
            raise ValueError(f"Unknown storage type: {kind}: {known}")
        if not 0.0 <= threshold <= 1.0:
            raise ValueError("threshold must be in [0.0, 1.0]")
        if num_perm < 2:
            raise ValueError("Too few permutation functions")
        false_positive, false_negative = weights
        if not all(0.0 <= weight <= 1.0 for weight in weights):
            raise ValueError("Weight must be in [0.0, 1.0]")
        if sum(weights) != 1.0:
            raise ValueError("Weights must sum to 1.0")
        self.h = num_perm
        if params is None:
            self.b, self.r = optimal_params(threshold, num_perm, false_positive, false_negative)
        else:
            self.b, self.r = params
            if self.b * self.r > num_perm:
                raise ValueError(
                    f"The product of b and r in params is {self.b} * {self.r} = {self.b * self.r}"
                    f" -- it must be at most num_perm {num_perm}"
                )
        if self.b < 2:
            raise ValueError("The number of bands are too small (b < 2)")
        self.prepickle, self.hashfunc, self.buffer_size = bool(prepickle), hashfunc, 50_000
        self.hashranges = [(band * self.r, (band + 1) * self.r) for band in range(self.b)]
        self._reset()

    def _reset(self) -> None:
        self._tables = make_tables(self.b, 0 if self.hashfunc is not None else self.r)
        #: The row number of each key; a tuple of numbers if the key has several rows.
        self._numbers: dict[Hashable, int | tuple[int, ...]] = {}
        #: Whether any key has, or had, more than one row.
        self._has_doubles = False
        self._scheme: str | None = None
        #: Values of the caller's hash function: the values by number, and the numbers by value.
        self._interned: tuple[list[Any], dict[Any, int]] = ([], {})
        self._queries: list[Any] = []

    @property
    def keys(self) -> KeysView:
        """A read-only view: the bucket key of each band, by key."""
        return KeysView(self)

    @property
    def hashtables(self) -> list[TableView]:
        """Read-only views of the hash tables: the set of keys, by bucket key."""
        return [TableView(self, band) for band in range(self.b)]

    def _inner(self, key: Any) -> Hashable:
        """The key as it is kept."""
        return pickle.dumps(key) if self.prepickle else key

    def _outer(self, keys: Iterable[Any]) -> list[Any]:
        """Kept keys as the caller gave them."""
        return [pickle.loads(key) for key in keys] if self.prepickle else list(keys)

    def _check(self, minhash: Any) -> None:
        if len(minhash) != self.h:
            raise ValueError(f"Expecting minhash with length {self.h}, got {len(minhash)}")
        scheme = scheme_of(minhash)
        if self._scheme is not None and scheme is not None and scheme != self._scheme:
            raise ValueError(
                f"MinHash scheme {scheme!r} does not match scheme {self._scheme!r} of the MinHash "
                "previously given to this index"
            )

    def _row(self, minhash: Any, add: bool) -> bytes:
        """The concatenated bucket keys of all bands. Those of a caller's function are numbered."""
        row: bytes = minhash.hashvalues[: self.b * self.r].byteswap().tobytes()
        if self.hashfunc is None:
            return row
        numbers, buckets = self._interned[1], [self.hashfunc(part) for part in self._parts(row)]
        if add:
            return b"".join(self._intern(bucket) for bucket in buckets)
        known = [numbers.get(bucket, _NO_BUCKET) for bucket in buckets]
        return b"".join(number.to_bytes(8, "little") for number in known)

    def _each_number(self, key: Hashable) -> tuple[int, ...]:
        numbers = self._numbers.get(key, ())
        return numbers if isinstance(numbers, tuple) else (numbers,)

    def _rows_of(self, key: Hashable) -> list[list[Any]]:
        """The bucket keys of each row of a key."""
        rows = [self._tables.row(number) for number in self._each_number(key)]
        return [[self._bucket_key(part) for part in self._parts(row)] for row in rows]

    def _parts(self, row: bytes) -> list[bytes]:
        width = len(row) // self.b
        return [row[start : start + width] for start in range(0, len(row), width)]

    def _bucket_key(self, part: bytes) -> Any:
        if self.hashfunc is None:
            return part
        return self._interned[0][int.from_bytes(part, "little")]

    def _bucket(self, band: int, bucket: Any) -> set[Hashable]:
        """The keys in a bucket."""
        if self.hashfunc is not None:
            bucket = self._interned[1].get(bucket, _NO_BUCKET).to_bytes(8, "little")
        if not isinstance(bucket, bytes):
            return set()
        return {self._tables.key(number) for number in self._tables.bucket(band, bucket)}

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """Adds a key; raises ``ValueError`` if it exists."""
        key = self._inner(key)
        there = key in self._numbers
        number = None if there else self._tables.add(key, minhash, self.h, self._scheme)
        if number is not None:
            self._numbers[key] = number
        else:
            self._check(minhash)
            if there and check_duplication:
                raise ValueError("The given key already exists")
            self._insert_row(key, self._row(minhash, True))
        if self._scheme is None:
            self._scheme = scheme_of(minhash)

    def query(self, minhash: Any) -> list[Any]:
        """The keys that share a bucket with the MinHash."""
        return self._outer(self._query(minhash))

    def _query(self, minhash: Any) -> list[Any]:
        found = self._tables.find(minhash, self.h, self._scheme)
        if found is None:
            self._check(minhash)
            key_of = self._tables.key
            found = [key_of(number) for number in self._tables.query(self._row(minhash, False))]
        return list(dict.fromkeys(found)) if self._has_doubles else found

    def query_scored(self, minhash: Any) -> list[tuple[Any, float]]:
        """The keys of :meth:`query` with their estimated similarities, the most similar first.

        The estimates use the rows that are stored: in memory, those that the bands cover.

        >>> from nearkin.datasketch import MinHash
        >>> lsh = MinHashLSH(threshold=0.3, num_perm=32)
        >>> m = MinHash(num_perm=32)
        >>> m.update(b"a")
        >>> lsh.insert("a", m)
        >>> lsh.query_scored(m)
        [('a', 1.0)]
        """
        self._check(minhash)
        if self.hashfunc is not None:
            raise ValueError("a hash function of the caller keeps no values to compare")
        row = self._row(minhash, False)
        kind = f"u{len(row) // (self.b * self.r)}"
        values, best = np.frombuffer(row, kind), dict[Any, float]()
        for number in self._tables.query(row):
            key, stored = self._tables.key(number), np.frombuffer(self._tables.row(number), kind)
            # Rows of another scheme have values of another width, so their length differs.
            equal = float(np.mean(values == stored)) if len(stored) == len(values) else 0.0
            best[key] = max(equal, best.get(key, 0.0))
        ordered = sorted(best.items(), key=lambda found: -found[1])
        return list(zip(self._outer(key for key, _ in ordered), (share for _, share in ordered)))

    def _query_bands(self, minhash: Any, bands: int) -> list[Any]:
        """Like :meth:`query`, but uses only the first ``bands`` bands."""
        self._check(minhash)
        parts = self._parts(self._row(minhash, False))[:bands]
        found = {
            number: None
            for band, part in enumerate(parts)
            for number in self._tables.bucket(band, part)
        }
        return self._outer(dict.fromkeys(self._tables.key(number) for number in found))

    def remove(self, key: Hashable) -> None:
        """Removes a key; raises ``ValueError`` if it does not exist."""
        key = self._inner(key)
        if key not in self._numbers:
            raise ValueError("The given key does not exist")
        for number in self._each_number(key):
            self._tables.remove(number)
        del self._numbers[key]

    def __contains__(self, key: Hashable) -> bool:
        return self._inner(key) in self._numbers

    def is_empty(self) -> bool:
        """Whether there are no keys."""
        return not self._numbers

    def merge(self, other: Any, check_overlap: bool = False) -> None:
        """Adds the keys of another LSH with the same bands and rows."""
        if not isinstance(other, MinHashLSH):
            raise ValueError(f"Cannot merge type MinHashLSH and type {type(other).__name__}.")
        if (self.h, self.b, self.r) != (other.h, other.b, other.r):
            raise ValueError("Cannot merge MinHashLSH with different initialization parameters.")
        if self._scheme and other._scheme and self._scheme != other._scheme:
            raise ValueError("Cannot merge MinHashLSH with different permutation schemes.")
        if (self.hashfunc is None) != (other.hashfunc is None):
            raise ValueError("Cannot merge MinHashLSH with and without a hash function.")
        if self.prepickle != other.prepickle:
            raise ValueError("Cannot merge MinHashLSH with and without prepickle.")
        if check_overlap and any(key in self._numbers for key in other._numbers):
            raise ValueError("The keys are overlapping, duplicate key exists.")
        self._scheme = self._scheme or other._scheme
        for key in list(other._numbers):
            for number in other._each_number(key):
                self._insert_row(key, self._translated(other, other._tables.row(number)))

    def _translated(self, other: MinHashLSH, row: bytes) -> bytes:
        """A row of another LSH, with its bucket numbers replaced by those of this LSH."""
        if self.hashfunc is None:
            return row
        return b"".join(self._intern(other._bucket_key(part)) for part in self._parts(row))

    def _insert_row(self, key: Hashable, row: bytes) -> None:
        number = self._tables.insert(key, row)
        if key in self._numbers:
            self._has_doubles = True
            self._numbers[key] = (*self._each_number(key), number)
        else:
            self._numbers[key] = number

    def get_counts(self) -> list[dict[Any, int]]:
        """For each hash table, the number of keys in each bucket."""
        return [table.itemcounts() for table in self.hashtables]

    def get_subset_counts(self, *keys: Hashable) -> list[dict[Any, int]]:
        """Like :meth:`get_counts`, for these keys only."""
        counts: list[dict[Any, int]] = [{} for _ in range(self.b)]
        for key in dict.fromkeys(keys):
            # Like datasketch, counts only the first row of a key.
            for row in self._rows_of(self._inner(key))[:1]:
                for count, bucket in zip(counts, row):
                    count[bucket] = count.get(bucket, 0) + 1
        return counts

    def add_to_query_buffer(self, minhash: Any) -> None:
        """Stores a query for :meth:`collect_query_buffer`."""
        self._check(minhash)
        self._queries.append(minhash)

    def collect_query_buffer(self) -> list[Any]:
        """The keys that every buffered query finds. Empties the buffer."""
        queries, self._queries = self._queries, []
        found = [dict.fromkeys(self._query(minhash)) for minhash in queries]
        first, rest = found[:1], found[1:]
        return self._outer(
            key for keys in first for key in keys if all(key in other for other in rest)
        )

    def insertion_session(self, buffer_size: int = 50_000) -> MinHashLSHInsertionSession:
        """A context manager. Its ``insert`` works like that of the LSH."""
        self.buffer_size = buffer_size
        return MinHashLSHInsertionSession(self)

    def deletion_session(self, buffer_size: int = 50_000) -> MinHashLSHDeletionSession:
        """A context manager. Its ``remove`` works like that of the LSH."""
        self.buffer_size = buffer_size
        return MinHashLSHDeletionSession(self)

    def __getstate__(self) -> Any:
        state = {name: value for name, value in self.__dict__.items() if name[0] != "_"}
        rows = [
            (key, self._tables.row(number))
            for key in self._numbers
            for number in self._each_number(key)
        ]
        return {**state, "_scheme": self._scheme, "_interned": self._interned, "rows": rows}

    def __setstate__(self, state: Any) -> None:
        state = dict(state)
        rows = state.pop("rows", None)
        if rows is None:
            self._take_over(state)
            return
        scheme, interned = state.pop("_scheme"), state.pop("_interned")
        self.__dict__.update(state)
        self._reset()
        self._scheme, self._interned = scheme, interned
        for key, row in rows:
            self._insert_row(key, row)

    def _take_over(self, state: dict[str, Any]) -> None:
        """Takes over the state of an in-memory MinHashLSH of datasketch."""
        self.h, self.b, self.r = state["h"], state["b"], state["r"]
        self.hashfunc, self.hashranges = state["hashfunc"], state["hashranges"]
        self.prepickle = bool(state.get("prepickle"))
        self.buffer_size = state.get("_buffer_size", 50_000)
        self._reset()
        self._scheme = state.get("_minhash_scheme")
        for key, buckets in state["keys"]._dict.items():
            for start in range(0, len(buckets), self.b):
                parts = buckets[start : start + self.b]
                if self.hashfunc is not None:
                    parts = [self._intern(bucket) for bucket in parts]
                self._insert_row(key, b"".join(parts))

    def _intern(self, bucket: Any) -> bytes:
        """The number of a bucket that the caller's hash function returned."""
        values, numbers = self._interned
        number = numbers.setdefault(bucket, len(values))
        if number == len(values):
            values.append(bucket)
        return number.to_bytes(8, "little")

    def _byteswap(self, data: Any) -> bytes:
        """The bucket key of a band. datasketch's pickles refer to this method and the next."""
        swapped: bytes = data.byteswap().tobytes()
        return swapped

    def _hashed_byteswap(self, data: Any) -> Any:
        """The bucket key of a band, from the caller's hash function."""
        return self.hashfunc(self._byteswap(data)) if self.hashfunc else self._byteswap(data)

    def close(self) -> None:
        """Nothing to do in memory; closes what is stored on disk."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<nearkin.datasketch.MinHashLSH of {len(self._numbers)} keys>"


class _Session:
    """Base class of both kinds of session."""

    def __init__(self, lsh: MinHashLSH) -> None:
        self.lsh = lsh

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the session. There is nothing left to do, because every call writes at once."""


class MinHashLSHInsertionSession(_Session):
    """See :meth:`MinHashLSH.insertion_session`."""

    def __enter__(self) -> MinHashLSHInsertionSession:
        return self

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """Like :meth:`MinHashLSH.insert`."""
        self.lsh.insert(key, minhash, check_duplication)


class MinHashLSHDeletionSession(_Session):
    """See :meth:`MinHashLSH.deletion_session`."""

    def __enter__(self) -> MinHashLSHDeletionSession:
        return self

    def remove(self, key: Hashable) -> None:
        """Like :meth:`MinHashLSH.remove`."""
        self.lsh.remove(key)
