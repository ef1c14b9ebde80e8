"""``MinHashLSHForest``: finds the most similar keys by their longest common prefixes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable
from typing import Any

import numpy as np

from .minhash import scheme_of


class MinHashLSHForest:
    """Finds approximately the ``k`` most similar keys.

    >>> from nearkin.datasketch import MinHash
    >>> forest = MinHashLSHForest(num_perm=16, l=4)
    >>> m = MinHash(num_perm=16)
    >>> m.update(b"a")
    >>> forest.add("a", m)
    >>> forest.index()
    >>> forest.query(m, 1)
    ['a']
    """

    def __init__(self, num_perm: int = 128, l: int = 8) -> None:  # noqa: E741
        if num_perm <= 0 or l <= 0:
            raise ValueError("num_perm and l must be positive")
        if l > num_perm:
            raise ValueError("l cannot be greater than num_perm")
        self.l, self.k = l, num_perm // l
        self.hashranges = [(tree * self.k, (tree + 1) * self.k) for tree in range(l)]
        self.keys: dict[Hashable, list[bytes]] = {}
        self.hashtables: list[dict[bytes, list[Hashable]]] = [{} for _ in range(l)]
        self.sorted_hashtables: list[list[bytes]] = [[] for _ in range(l)]
        self._minhash_scheme: str | None = None

    def _rows(self, minhash: Any) -> list[bytes]:
        """The path in each tree: big-endian values, so that bytes sort like the values."""
        if len(minhash) < self.k * self.l:
            raise ValueError("The num_perm of MinHash out of range")
        scheme = scheme_of(minhash)
        if None not in (scheme, self._minhash_scheme) and scheme != self._minhash_scheme:
            raise ValueError(
                f"MinHash scheme {scheme!r} does not match scheme {self._minhash_scheme!r} of the "
                "forest"
            )
        values = minhash.hashvalues
        return [values[start:end].byteswap().tobytes() for start, end in self.hashranges]

    def add(self, key: Hashable, minhash: Any) -> None:
        """Adds a key. Queries find it only after a call of :meth:`index`."""
        rows = self._rows(minhash)
        if key in self.keys:
            raise ValueError("The given key has already been added")
        self.keys[key] = rows
        self._minhash_scheme = scheme_of(minhash) or self._minhash_scheme
        for table, row in zip(self.hashtables, rows):
            table.setdefault(row, []).append(key)

    def index(self) -> None:
        """Makes all added keys findable."""
        self.sorted_hashtables = [sorted(table) for table in self.hashtables]

    def query(self, minhash: Any, k: int) -> list[Any]:
        """At most ``k`` keys: those with the longest common prefixes."""
        if k <= 0:
            raise ValueError("k must be positive")
        rows = self._rows(minhash)
        found: dict[Hashable, None] = {}
        width = len(rows[0]) // self.k
        for length in range(self.k * width, 0, -width):
            for tree, row in enumerate(rows):
                prefix, paths = row[:length], self.sorted_hashtables[tree]
                for place in range(bisect_left(paths, prefix), len(paths)):
                    if not paths[place].startswith(prefix):
                        break
                    for key in self.hashtables[tree][paths[place]]:
                        found[key] = None
                        if len(found) >= k:
                            return list(found)
        return list(found)

    def get_minhash_hashvalues(self, key: Hashable) -> Any:
        """The hash values of a key."""
        rows = self.keys.get(key)
        if rows is None:
            raise KeyError(f"The provided key does not exist in the LSHForest: {key}")
        joined = b"".join(rows)
        width = len(joined) // (self.k * self.l)
        return np.frombuffer(joined, f"<u{width}").byteswap()

    def is_empty(self) -> bool:
        """Whether no key can be found."""
        return not any(self.sorted_hashtables)

    def __contains__(self, key: Hashable) -> bool:
        return key in self.keys
