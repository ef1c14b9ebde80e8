"""``MinHashLSH`` on disk: a Nearkin index that stores all rows of the MinHashes unchanged."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from .. import _nearkin
from .lsh import MinHashLSHDeletionSession, MinHashLSHInsertionSession, MinHashLSH
from .minhash import scheme_of

#: Prefix of keys in the index that were not ``str``. No UTF-8 text starts with it.
_OTHER = b"\xff"
_SCHEME = "external:datasketch-"


def encoded(key: Hashable) -> bytes:
    """A key as stored in the index: a ``str`` unchanged, ``bytes`` and ``int`` with a prefix."""
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, bytes):
        return _OTHER + b"b" + key
    # Integers of numpy and pandas are those of Python.
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        return _OTHER + b"i" + str(int(key)).encode()
    raise TypeError(f"keys on disk are str, bytes or int, not {type(key).__name__}")


def decoded(key: bytes) -> Any:
    """Inverse of :func:`encoded`."""
    if key[:1] != _OTHER:
        return key.decode()
    return key[2:] if key[1:2] == b"b" else int(key[2:])


class _Numbers(Mapping[Hashable, int]):
    """The keys of an index, in the form that the base class expects."""

    def __init__(self, lsh: StoredMinHashLSH) -> None:
        self.lsh = lsh

    def __getitem__(self, key: Hashable) -> int:
        if key not in self:
            raise KeyError(key)
        return 0

    def __contains__(self, key: object) -> bool:
        index = self.lsh._index
        return index is not None and isinstance(key, Hashable) and encoded(key) in index

    def __iter__(self) -> Iterator[Hashable]:
        index = self.lsh._index
        return iter(()) if index is None else (decoded(key) for key in index.keys())

    def __len__(self) -> int:
        return 0 if self.lsh._index is None else len(self.lsh._index)


class StoredMinHashLSH(MinHashLSH):
    """A :class:`MinHashLSH` stored in a folder: durable, not limited by memory, with similarities.

    Created by ``MinHashLSH(..., storage_config={"type": "nearkin", "path": ...})``; the folder may
    be new, or hold a stored LSH. An insert is durable when it returns. A session writes in batches;
    everything that it inserted is durable when it ends. Keys are ``str``, ``bytes`` or ``int``.
    Inserting a key again with ``check_duplication=False`` replaces the document.

    >>> import pathlib, tempfile
    >>> from nearkin.datasketch import MinHash, MinHashLSH
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "lsh"
    >>> config = {"type": "nearkin", "path": path}
    >>> m = MinHash(num_perm=32)
    >>> m.update(b"a")
    >>> with MinHashLSH(threshold=0.5, num_perm=32, storage_config=config) as lsh:
    ...     lsh.insert("a", m)
    >>> with MinHashLSH(threshold=0.5, num_perm=32, storage_config=config) as lsh:
    ...     lsh.query_scored(m)
    [('a', 1.0)]
    """

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
        config = dict(storage_config or {})
        config.pop("type", None)
        path = config.pop("path", None)
        if path is None or config:
            raise ValueError("storage_config needs 'path', and takes no other key but 'type'")
        if hashfunc is not None:
            raise ValueError("a hash function cannot be stored: leave hashfunc out")
        self._index: _nearkin.Index[bytes] | None = None
        # Keys are stored with their type, so nothing is pickled.
        super().__init__(threshold, num_perm, weights, params, None)
        if not 16 <= num_perm <= 1024:
            raise ValueError("on disk num_perm must be 16 to 1024")
        self._threshold, self._path = threshold, Path(path)
        if _nearkin.exists(self._path):
            self._open()

    def _open(self) -> None:
        index = _nearkin.Index.open(self._path, keys="bytes")
        here, scheme = index.params, index.params.scheme
        bands = (here.hashes, here.bands, here.rows_per_band)
        if not scheme.startswith(_SCHEME) or bands != (self.h, self.b, self.r):
            index.close()
            raise ValueError(
                f"{self._path} has {bands[1]} bands of {bands[2]} of {bands[0]} rows ({scheme}), "
                f"not {self.b} of {self.r} of {self.h} ({_SCHEME}...)"
            )
        self._index, self._scheme = index, scheme.removeprefix(_SCHEME)

    def _reset(self) -> None:
        super()._reset()
        self._numbers: Any = _Numbers(self)
        self._pending: dict[bytes, bytes] = {}

    def _values(self, minhash: Any) -> bytes:
        """The rows in their stored form. The first MinHash creates the index."""
        values = np.asarray(minhash.hashvalues)
        if self._index is None:
            scheme = scheme_of(minhash) or "legacy"
            params = _nearkin.Params(
                min(1.0, max(self._threshold, 0.01)),
                hashes=self.h,
                bands=(self.b, self.r),
                lane_bits=8 * values.dtype.itemsize,
                scheme=_SCHEME + scheme,
            )
            self._index = _nearkin.Index.create(self._path, params, keys="bytes")
            self._scheme = scheme
        width = self._index.params.lane_bits // 8
        return values.astype(f"<u{width}").tobytes()

    def _signature(self, minhash: Any) -> _nearkin.Signature:
        values = self._values(minhash)
        assert self._index is not None
        return _nearkin.Signature.from_bytes(self._index.params, values)

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """Adds a key; raises ``ValueError`` if it exists."""
        self._add(key, minhash, check_duplication)
        self._write()

    def _add(self, key: Hashable, minhash: Any, check_duplication: bool) -> None:
        self._check(minhash)
        stored = encoded(key)
        if check_duplication and (stored in self._pending or key in self._numbers):
            raise ValueError("The given key already exists")
        self._pending[stored] = self._values(minhash)

    def _write(self) -> None:
        """Makes all buffered insertions durable."""
        pending, self._pending = self._pending, {}
        if not pending or self._index is None:
            return
        joined = b"".join(pending.values())
        rows = _nearkin.Signatures.from_bytes(self._index.params, joined)
        self._index.add(list(pending), rows)

    def _query(self, minhash: Any) -> list[Any]:
        return [key for key, _ in self.query_scored(minhash)]

    def query_scored(self, minhash: Any) -> list[tuple[Any, float]]:
        """The keys of :meth:`query` with similarities estimated from all rows, highest first."""
        self._check(minhash)
        if self._index is None:
            return []
        found = self._index.query(self._signature(minhash), threshold=0)
        return [(decoded(match.key), match.similarity) for match in found]

    def remove(self, key: Hashable) -> None:
        """Removes a key; raises ``ValueError`` if it does not exist."""
        if self._index is None or not self._index.discard(encoded(key)):
            raise ValueError("The given key does not exist")

    def _rows_of(self, key: Hashable) -> list[list[Any]]:
        if self._index is None:
            return []
        signature = self._index.signature(encoded(key))
        if signature is None:
            return []
        width = f"u{self._index.params.lane_bits // 8}"
        values = np.frombuffer(signature.to_bytes(), "<" + width).astype(">" + width)
        return [[values[start:end].tobytes() for start, end in self.hashranges]]

    def _bucket(self, band: int, bucket: Any) -> set[Hashable]:
        return {key for key in self._numbers for row in self._rows_of(key) if row[band] == bucket}

    def merge(self, other: Any, check_overlap: bool = False) -> None:
        """Adds the keys of another index on disk with the same bands and rows."""
        if not isinstance(other, StoredMinHashLSH):
            raise ValueError("Only a MinHashLSH on disk has the rows that one on disk needs.")
        if (self.h, self.b, self.r) != (other.h, other.b, other.r):
            raise ValueError("Cannot merge MinHashLSH with different initialization parameters.")
        if self._scheme and other._scheme and self._scheme != other._scheme:
            raise ValueError("Cannot merge MinHashLSH with different permutation schemes.")
        if check_overlap and any(key in self._numbers for key in other._numbers):
            raise ValueError("The keys are overlapping, duplicate key exists.")
        if other._index is None:
            return
        if self._index is None:
            self._index = _nearkin.Index.create(self._path, other._index.params, keys="bytes")
            self._scheme = other._scheme
        self._index.import_from(other._index)

    def insertion_session(self, buffer_size: int = 50_000) -> MinHashLSHInsertionSession:
        """A context manager. Its ``insert`` writes in batches of ``buffer_size``."""
        self.buffer_size = buffer_size
        return _StoredSession(self)

    def deletion_session(self, buffer_size: int = 50_000) -> MinHashLSHDeletionSession:
        """A context manager. Its ``remove`` works like that of the LSH."""
        self.buffer_size = buffer_size
        return MinHashLSHDeletionSession(self)

    def close(self) -> None:
        """Closes the index, so that the next open has nothing to replay."""
        if self._index is not None:
            self._index.close()

    def __getstate__(self) -> Any:
        raise TypeError(
            "a MinHashLSH on disk cannot be pickled: open its folder in the other process"
        )

    def __repr__(self) -> str:
        return f"<nearkin.datasketch.MinHashLSH of {len(self._numbers)} keys in {self._path}>"


class _StoredSession(MinHashLSHInsertionSession):
    lsh: StoredMinHashLSH

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """Like :meth:`MinHashLSH.insert`, but written in a batch, at the latest at the end."""
        self.lsh._add(key, minhash, check_duplication)
        if len(self.lsh._pending) >= self.lsh.buffer_size:
            self.lsh._write()

    def close(self) -> None:
        """Writes the buffered insertions."""
        self.lsh._write()
