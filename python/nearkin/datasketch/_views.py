"""Read-only views of an LSH: its hash tables, and the bucket keys of each document."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .lsh import MinHashLSH


class KeysView(Mapping[Hashable, "list[Any]"]):
    """The bucket keys of all bands, by document key. A missing key gives ``[]``."""

    def __init__(self, lsh: MinHashLSH) -> None:
        self.lsh = lsh

    def __getitem__(self, key: Hashable) -> list[Any]:
        return [name for row in self.lsh._rows_of(key) for name in row]

    def __contains__(self, key: object) -> bool:
        return key in self.lsh._numbers

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.lsh._numbers)

    def __len__(self) -> int:
        return len(self.lsh._numbers)

    def has_key(self, key: Hashable) -> bool:
        """Whether the key is there."""
        return key in self

    def size(self) -> int:
        """The number of keys."""
        return len(self)

    def itemcounts(self) -> dict[Hashable, int]:
        """The number of bucket keys, by document key."""
        return {key: len(self[key]) for key in self}


class TableView(Mapping[Any, "set[Hashable]"]):
    """One hash table: document keys, by bucket key. A missing bucket gives ``set()``."""

    def __init__(self, lsh: MinHashLSH, band: int) -> None:
        self.lsh, self._band = lsh, band

    def __getitem__(self, bucket: Any) -> set[Hashable]:
        return self.lsh._bucket(self._band, bucket)

    def __contains__(self, bucket: object) -> bool:
        return bool(self[bucket])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.itemcounts())

    def __len__(self) -> int:
        return len(self.itemcounts())

    def has_key(self, bucket: Any) -> bool:
        """Whether the bucket contains a document."""
        return bucket in self

    def size(self) -> int:
        """The number of buckets."""
        return len(self)

    def itemcounts(self) -> dict[Any, int]:
        """The number of documents, by bucket key."""
        kept: dict[Any, set[Hashable]] = {}
        for key in self.lsh._numbers:
            for row in self.lsh._rows_of(key):
                kept.setdefault(row[self._band], set()).add(key)
        return {bucket: len(keys) for bucket, keys in kept.items()}
