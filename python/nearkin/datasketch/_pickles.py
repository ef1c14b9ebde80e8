"""Pickles that datasketch wrote, and pickles that datasketch can read."""

from __future__ import annotations

import io
import pickle
from types import FunctionType
from typing import Any

from .b_bit_minhash import bBitMinHash
from .lshforest import MinHashLSHForest
from .lean_minhash import LeanMinHash
from .lsh import MinHashLSH
from .minhash import MinHash
from ._native import sha1_hash32, sha1_hash64

_OURS: dict[tuple[str, str], Any] = {
    ("datasketch.minhash", "MinHash"): MinHash,
    ("datasketch.lean_minhash", "LeanMinHash"): LeanMinHash,
    ("datasketch.b_bit_minhash", "bBitMinHash"): bBitMinHash,
    ("datasketch.hashfunc", "sha1_hash32"): sha1_hash32,
    ("datasketch.hashfunc", "sha1_hash64"): sha1_hash64,
    ("datasketch.lshforest", "MinHashLSHForest"): MinHashLSHForest,
    ("datasketch.lsh", "MinHashLSH"): MinHashLSH,
}
_THEIRS = {ours: name for name, ours in _OURS.items()}


class _Storage:
    """A dictionary that datasketch wraps in an object of its own."""

    _dict: dict[Any, Any]


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _OURS:
            return _OURS[module, name]
        if module == "datasketch.storage" and name in ("DictListStorage", "DictSetStorage"):
            return _Storage
        return super().find_class(module, name)


_PythonPickler: Any = pickle._Pickler


class _Writer(_PythonPickler):  # type: ignore[misc]
    """The pickler written in Python: the one written in C does not let names be replaced."""

    def save_global(self, obj: Any, name: str | None = None) -> None:
        theirs = _THEIRS.get(obj)
        if theirs is None:
            super().save_global(obj, name)
            return
        if obj is MinHashLSH:
            raise TypeError("datasketch cannot read a MinHashLSH of nearkin: insert the MinHashes")
        self.write(pickle.GLOBAL + "\n".join((*theirs, "")).encode())
        self.memoize(obj)

    dispatch = {**_PythonPickler.dispatch, FunctionType: save_global}


def loads(data: bytes) -> Any:
    """Like ``pickle.loads``, but returns objects of this package in place of datasketch's.

    datasketch need not be installed. A pickle can run code: load only pickles that you trust.
    """
    return _Reader(io.BytesIO(data)).load()


def dumps(obj: Any) -> bytes:
    """A pickle that contains objects of datasketch 2 in place of those of this package.

    >>> from nearkin.datasketch import MinHash
    >>> b"nearkin" in dumps(MinHash(num_perm=4))
    False
    """
    buffer = io.BytesIO()
    _Writer(buffer, protocol=4).dump(obj)
    return buffer.getvalue()
