"""``bBitMinHash``: the lowest bits of hash values."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from .lean_minhash import CODES, SCHEMES_BY_CODE
from .minhash import scheme_of

#: Values are packed into blocks of 64 bits.
_BLOCK = 64


class bBitMinHash:  # noqa: N801 - the name of datasketch
    """A MinHash that keeps the lowest ``b`` bits of each hash value.

    >>> from nearkin.datasketch import MinHash
    >>> m = MinHash(num_perm=16)
    >>> m.update(b"a")
    >>> bBitMinHash(m, b=2).jaccard(bBitMinHash(m, b=2))
    1.0
    """

    __slots__ = ("b", "hashvalues", "r", "scheme", "seed")

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, minhash: Any, b: int = 1, r: float = 0.0) -> None:
        b, r = int(b), float(r)
        if not 0 <= b <= 32:
            raise ValueError("b must be an integer in [0, 32]")
        if not 0.0 <= r <= 1.0:
            raise ValueError("r must be a float in [0.0, 1.0]")
        self.seed, self.b, self.r = minhash.seed, b, r
        self.scheme: str = scheme_of(minhash) or "legacy"
        kept = np.asarray(minhash.hashvalues).astype(np.uint64) & np.uint64((1 << b) - 1)
        self.hashvalues = kept.astype(np.uint32)

    def __eq__(self, other: object) -> bool:
        fields = ("scheme", "seed", "b", "r")
        return (
            type(self).__name__ == type(other).__name__
            and all(getattr(self, name) == getattr(other, name, None) for name in fields)
            and np.array_equal(self.hashvalues, getattr(other, "hashvalues", []))
        )

    def jaccard(self, other: Any) -> float:
        """The estimated Jaccard similarity (Li and König, 2010)."""
        if scheme_of(other) != self.scheme:
            raise ValueError(
                "Cannot compare two b-bit MinHashes with different permutation schemes"
            )
        if self.b != other.b:
            raise ValueError("Cannot compare two b-bit MinHashes with different b values")
        if self.seed != other.seed or len(self.hashvalues) != len(other.hashvalues):
            raise ValueError(
                "Cannot compare two b-bit MinHashes with different set of permutations"
            )
        equal = np.count_nonzero(self.hashvalues == other.hashvalues)
        agree = float(equal) / len(self.hashvalues)
        mine, others = self._chance(self.r), self._chance(other.r)
        first, second = mine, others
        if self.r + other.r > 0:
            share = self.r / (self.r + other.r)
            first = mine * (1 - share) + others * share
            second = mine * share + others * (1 - share)
        return (agree - first) / (1 - second)

    def _chance(self, r: float) -> float:
        """Probability that the bits of different values are equal."""
        if r == 0.0:
            return 0.5**self.b
        # The paper has 2 ** b where datasketch has 2 * b: kept, so that the estimates agree.
        return float(r * (1 - r) ** (2**self.b - 1) / (1 - (1 - r) ** (2 * self.b)))

    def _header(self) -> str:
        return "<qBdi" if self.scheme == "legacy" else "<qBdib"

    def _slot(self) -> int:
        """Bits stored per value: a power of two."""
        if self.b <= 1:
            # For values of no bits, datasketch stores four bits each.
            return 1 if self.b else 4
        return 1 << (self.b - 1).bit_length()

    def bytesize(self) -> int:
        """The size of the pickled state in bytes."""
        blocks = -(-len(self.hashvalues) * self._slot() // _BLOCK)
        return struct.calcsize(self._header()) + blocks * 8

    def __getstate__(self) -> Any:
        count, slot = len(self.hashvalues), self._slot()
        header = [self.seed, self.b, self.r, count]
        if self.scheme != "legacy":
            header[-1:] = [-count, CODES[self.scheme]]
        blocks = []
        values = self.hashvalues.tolist()
        each = _BLOCK // slot
        for start in range(0, count, each):
            block = 0
            # The first value gets the highest bits.
            for place, value in enumerate(values[start : start + each], 1):
                block |= value << (_BLOCK - slot * place)
            blocks.append(block)
        return bytearray(struct.pack(f"{self._header()}{len(blocks)}Q", *header, *blocks))

    def __setstate__(self, state: Any) -> None:
        self.seed, self.b, self.r, count = struct.unpack_from("<qBdi", state, 0)
        self.scheme = "legacy"
        if count < 0:
            code = struct.unpack_from("<b", state, struct.calcsize("<qBdi"))[0]
            self.scheme = SCHEMES_BY_CODE[code]
        count, slot = abs(count), self._slot()
        each, mask = _BLOCK // slot, (1 << slot) - 1
        form = f"<{-(-count // each)}Q"
        blocks = struct.unpack_from(form, state, struct.calcsize(self._header()))
        values: list[int] = []
        for block in blocks:
            held = min(each, count - len(values))
            values.extend((block >> (_BLOCK - slot * place)) & mask for place in range(1, held + 1))
        self.hashvalues = np.array(values, dtype=np.uint32)
