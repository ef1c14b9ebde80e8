"""The classes of the extension module that this package uses, as typed protocols."""

from __future__ import annotations

from typing import Any, Protocol

from .. import _nearkin


class HasherType(Protocol):
    """The permutations of a MinHash. Arrays are passed as little-endian bytes."""

    def update(self, values: bytes, items: list[Any]) -> bytearray: ...
    def update_hashes(self, values: bytes, hashes: bytes) -> bytearray: ...
    def bulk(self, values: bytes, rows: list[list[Any]]) -> bytearray: ...


class TablesType(Protocol):
    """The hash tables of the bands of an LSH."""

    def add(self, key: Any, minhash: Any, length: int, scheme: str | None) -> int | None: ...
    def find(self, minhash: Any, length: int, scheme: str | None) -> list[Any] | None: ...
    def insert(self, key: Any, row: bytes) -> int: ...
    def remove(self, number: int) -> None: ...
    def query(self, row: bytes) -> list[int]: ...
    def bucket(self, band: int, sought: bytes) -> list[int]: ...
    def row(self, number: int) -> bytes: ...
    def key(self, number: int) -> Any: ...


_native: Any = _nearkin


def make_hasher(scheme: str, a: bytes, b: bytes) -> HasherType:
    hasher: HasherType = _native._Hasher(scheme, a, b)
    return hasher


def make_permutations(scheme: str, seed: int, count: int) -> bytes:
    permutations: bytes = _native._Hasher.permutations(scheme, seed, count)
    return permutations


def make_tables(bands: int, rows: int) -> TablesType:
    tables: TablesType = _native._Tables(bands, rows)
    return tables


def sha1_hash32(data: Any) -> int:
    """The first four bytes of the SHA-1 of ``data``, as a little-endian number.

    >>> sha1_hash32(b"a")
    4225891974
    """
    hashed: int = _native._Hasher.sha1(data, 32)
    return hashed


def sha1_hash64(data: Any) -> int:
    """The first eight bytes of the SHA-1 of ``data``, as a little-endian number."""
    hashed: int = _native._Hasher.sha1(data, 64)
    return hashed
