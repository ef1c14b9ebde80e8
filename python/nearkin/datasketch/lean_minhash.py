"""``LeanMinHash``: hash values, seed and scheme, and their serialised form."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from .minhash import MinHash, check_scheme, scheme_of, to_values

CODES = {"affine32": 1, "affine64": 2}
SCHEMES_BY_CODE = {code: scheme for scheme, code in CODES.items()}


class LeanMinHash(MinHash):
    """A MinHash without permutations: small and hashable, but it cannot be updated.

    >>> m = MinHash(num_perm=16)
    >>> m.update(b"a")
    >>> lean = LeanMinHash(m)
    >>> buffer = bytearray(lean.bytesize())
    >>> lean.serialize(buffer)
    >>> LeanMinHash.deserialize(buffer) == lean
    True
    """

    def __init__(
        self,
        minhash: Any = None,
        seed: Any = None,
        hashvalues: Any = None,
        scheme: str | None = None,
    ) -> None:
        if minhash is not None:
            found = scheme_of(minhash) or "legacy"
            if scheme is not None and scheme != found:
                raise ValueError(f"scheme {scheme!r} is not that of the MinHash, {found!r}")
            self._fill(minhash.seed, minhash.hashvalues, found)
        elif seed is None or hashvalues is None:
            raise ValueError(
                "Init parameters cannot be None: set either minhash or both of hash values and seed"
            )
        else:
            self._fill(seed, hashvalues, check_scheme(scheme, True, "hash values"))

    def _fill(self, seed: Any, hashvalues: Any, scheme: str) -> None:
        self.seed, self.scheme = seed, scheme
        self.hashvalues = to_values(hashvalues, scheme, "hash values")

    @property  # type: ignore[misc]
    def permutations(self) -> Any:
        """Raises ``AttributeError``: a LeanMinHash has no permutations."""
        raise AttributeError("a LeanMinHash has no permutations")

    def update(self, b: Any) -> None:
        """Always raises ``TypeError``."""
        raise TypeError("Cannot update a LeanMinHash")

    def update_batch(self, b: Iterable[Any]) -> None:
        """Always raises ``AttributeError``, like datasketch."""
        raise AttributeError("a LeanMinHash has no hashfunc: it cannot be updated")

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((self.scheme, self.seed, tuple(self.hashvalues.tolist())))

    def __repr__(self) -> str:
        return f"<nearkin.datasketch.LeanMinHash of {len(self)} {self.scheme} hash values>"

    @classmethod
    def union(cls, *mhs: MinHash) -> MinHash:
        """The LeanMinHash of the union of two or more MinHashes."""
        if len(mhs) < 2:
            raise ValueError("Cannot union less than 2 MinHash")
        made = cls(mhs[0])
        for other in mhs[1:]:
            made.merge(other)
        return made

    @classmethod
    def bulk(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> list[Any]:
        """One LeanMinHash per row of items."""
        return [cls(made) for made in MinHash.bulk(b, **minhash_kwargs)]

    def _form(self, byteorder: str) -> str:
        """The format of the values for ``struct``."""
        return f"{byteorder}{len(self)}{'Q' if self.scheme == 'affine64' else 'I'}"

    def _header(self, byteorder: str) -> tuple[str, tuple[int, ...]]:
        if self.scheme == "legacy":
            return f"{byteorder}qi", (len(self),)
        return f"{byteorder}qib", (-len(self), CODES[self.scheme])

    def bytesize(self, byteorder: str = "@") -> int:
        """The size of the serialised form in bytes."""
        return offset_of(byteorder, self.scheme) + struct.calcsize(self._form(byteorder))

    def serialize(self, buf: Any, byteorder: str = "@") -> None:
        """Writes the MinHash into a buffer."""
        if len(buf) < self.bytesize(byteorder):
            raise ValueError("The buffer does not have enough space for holding this MinHash.")
        form, rest = self._header(byteorder)
        struct.pack_into(form, buf, 0, self.seed, *rest)
        offset = offset_of(byteorder, self.scheme)
        struct.pack_into(self._form(byteorder), buf, offset, *self.hashvalues.tolist())

    @classmethod
    def deserialize(cls, buf: Any, byteorder: str = "@") -> LeanMinHash:
        """Reads a LeanMinHash from a buffer."""
        seed, count = struct.unpack_from(f"{byteorder}qi", buf, 0)
        scheme = "legacy"
        if count < 0:
            code = struct.unpack_from(f"{byteorder}b", buf, 12)[0]
            if code not in SCHEMES_BY_CODE:
                raise ValueError(f"unknown scheme code {code}: the buffer holds no LeanMinHash")
            scheme = SCHEMES_BY_CODE[code]
        kind = "Q" if scheme == "affine64" else "I"
        form = f"{byteorder}{abs(count)}{kind}"
        values = struct.unpack_from(form, buf, offset_of(byteorder, scheme))
        made = cls.__new__(cls)
        made._fill(seed, np.array(values, dtype=np.uint64), scheme)
        return made

    def __getstate__(self) -> Any:
        buf = bytearray(self.bytesize())
        self.serialize(buf)
        return buf

    def __setstate__(self, state: Any) -> None:
        read = type(self).deserialize(state)
        self._fill(read.seed, read.hashvalues, read.scheme)


def offset_of(byteorder: str, scheme: str) -> int:
    """The offset of the values. In native byte order, they follow padding for their alignment."""
    if scheme == "legacy":
        return struct.calcsize(f"{byteorder}qi")
    kind = "Q" if scheme == "affine64" else "I"
    if byteorder == "@":
        return struct.calcsize(f"@qib0{kind}")
    return struct.calcsize(f"{byteorder}qib")
