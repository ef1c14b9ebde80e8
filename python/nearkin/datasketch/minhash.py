"""``MinHash``: the hash values of datasketch, computed in Rust."""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Generator, Iterable
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from ._native import HasherType, make_hasher, make_permutations, sha1_hash32, sha1_hash64

Array = np.ndarray[Any, np.dtype[Any]]
Self = TypeVar("Self", bound="MinHash")

SCHEMES = ("affine32", "affine64", "legacy")
_TYPES: dict[str, Any] = {
    "affine32": np.dtype("<u4"),
    "affine64": np.dtype("<u8"),
    "legacy": np.dtype("<u8"),
}
_MOST = {"affine32": 2**32 - 1, "affine64": 2**64 - 1, "legacy": 2**32 - 1}
#: Number of rows that `bulk` passes to Rust at a time.
_BULK_ROWS = 1024


@functools.lru_cache(maxsize=64)
def _seeded(scheme: str, seed: int, count: int) -> tuple[Array, HasherType]:
    """The permutations for a seed, with their hasher. Shared, and therefore read-only."""
    drawn = np.frombuffer(make_permutations(scheme, seed, count), _TYPES[scheme])
    both = drawn.reshape(2, count)
    return both, make_hasher(scheme, both[0].tobytes(), both[1].tobytes())


def scheme_of(minhash: Any) -> str | None:
    """The scheme of a MinHash of this package or of datasketch; before datasketch 2.0, ``None``."""
    return getattr(minhash, "scheme", None)


def check_same(one: Any, other: Any, act: str) -> None:
    """Raises ``ValueError`` unless two MinHashes can be compared."""
    if scheme_of(other) != one.scheme:
        raise ValueError(f"Cannot {act} MinHash with different permutation schemes")
    if other.seed != one.seed:
        raise ValueError(f"Cannot {act} MinHash with different seeds")
    if len(one) != len(other):
        raise ValueError(f"Cannot {act} MinHash with different numbers of permutation functions")


def to_values(values: Any, scheme: str, what: str) -> Array:
    """A copy of ``values`` in the scheme's type. ``ValueError`` if a value is out of range."""
    try:
        return np.array(values, dtype=_TYPES[scheme])
    except OverflowError as error:
        raise ValueError(f"{what} out of range for scheme {scheme!r}: {error}") from error


def check_scheme(scheme: str | None, given: bool, what: str) -> str:
    """The scheme to use. It must be named if values were given."""
    if scheme is None:
        if given:
            raise ValueError(
                f"scheme must be specified explicitly when initializing from existing {what}: "
                "pass the scheme of their MinHash ('legacy' for datasketch before 2.0.0)"
            )
        return "affine32"
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of affine32, affine64, legacy, got {scheme!r}")
    return scheme


class MinHash:
    """A MinHash with the hash values of ``datasketch.MinHash``, bit for bit.

    >>> m = MinHash(num_perm=64)
    >>> m.update_batch([b"a", b"b"])
    >>> m.jaccard(m)
    1.0
    """

    seed: Any
    num_perm: int
    scheme: str
    hashfunc: Callable[[Any], Any]
    hashvalues: Array

    def __init__(
        self,
        num_perm: int = 128,
        seed: Any = 1,
        gpu_mode: str = "disable",
        hashfunc: Callable[[Any], Any] | None = None,
        hashobj: object | None = None,
        hashvalues: Any = None,
        permutations: Any = None,
        scheme: str | None = None,
    ) -> None:
        given = hashvalues is not None or permutations is not None
        self.scheme = check_scheme(scheme, given, "hash values or permutations")
        if hashvalues is not None:
            num_perm = len(hashvalues)
        if num_perm <= 0:
            raise ValueError("num_perm must be positive")
        if num_perm > 2**32:
            raise ValueError("Cannot have more than 2**32 permutation functions")
        if hashfunc is not None and not callable(hashfunc):
            raise ValueError("The hashfunc must be a callable.")
        if hashobj is not None:
            warnings.warn("hashobj is ignored: use hashfunc", DeprecationWarning, stacklevel=2)
        default = sha1_hash64 if self.scheme == "affine64" else sha1_hash32
        self.seed, self.num_perm = seed, operator.index(num_perm)
        self.hashfunc = default if hashfunc is None else hashfunc
        self._gpu_mode = gpu_mode
        if hashvalues is None:
            self.hashvalues = self._first_values()
        else:
            self.hashvalues = to_values(hashvalues, self.scheme, "hash values")
        if permutations is None:
            self._draw()
        else:
            self.permutations = permutations
            if self._permutations.shape[1] != len(self):
                raise ValueError("Numbers of hash values and permutations mismatch")

    def _first_values(self) -> Array:
        return np.full(self.num_perm, _MOST[self.scheme], _TYPES[self.scheme])

    def _draw(self) -> None:
        """Sets the permutations that the seed determines."""
        if self.seed is None:
            seed = int(np.random.default_rng().integers(2**32))
        else:
            seed = operator.index(self.seed)
        if not 0 <= seed < 2**32:
            raise ValueError("Seed must be between 0 and 2**32 - 1")
        self._permutations, self._hasher = _seeded(self.scheme, seed, self.num_perm)

    @property
    def permutations(self) -> Array:
        """The multipliers in the first row, the addends in the second."""
        return self._permutations

    @permutations.setter
    def permutations(self, permutations: Any) -> None:
        both = permutations
        if both is not self.__dict__.get("_permutations"):
            both = to_values(permutations, self.scheme, "permutations")
        if both.ndim != 2 or both.shape[0] != 2:
            raise ValueError("permutations must be two rows: multipliers and addends")
        if self.scheme != "legacy" and not np.all(both[0] & 1):
            raise ValueError(f"all multipliers must be odd for scheme {self.scheme!r}")
        self._permutations = both
        self._hasher = make_hasher(self.scheme, both[0].tobytes(), both[1].tobytes())

    def _set(self, made: bytearray) -> None:
        self.hashvalues = np.frombuffer(made, _TYPES[self.scheme])

    def _in_rust(self) -> bool:
        """Whether the hash function is the scheme's default, which Rust can compute."""
        if self.hashfunc is sha1_hash32:
            return self.scheme != "affine64"
        return self.hashfunc is sha1_hash64 and self.scheme == "affine64"

    def _hashes(self, items: Iterable[Any]) -> bytes:
        """The hashes of items, computed by the caller's function."""
        hashed = [self.hashfunc(item) for item in items]
        what = "the hash function's values"
        return to_values(hashed, self.scheme, what).tobytes()

    def update(self, b: Any) -> None:
        """Adds one item."""
        self.update_batch([b])

    def update_batch(self, b: Iterable[Any]) -> None:
        """Adds items."""
        if self._gpu_mode == "always":
            raise RuntimeError("nearkin does not use a GPU: leave gpu_mode out")
        values = self.hashvalues.tobytes()
        if self._in_rust():
            self._set(self._hasher.update(values, b if type(b) is list else list(b)))
        else:
            self._set(self._hasher.update_hashes(values, self._hashes(b)))

    def jaccard(self, other: MinHash) -> float:
        """The estimated Jaccard similarity."""
        check_same(self, other, "compute Jaccard given")
        return float(np.count_nonzero(self.hashvalues == other.hashvalues) / len(self))

    def count(self) -> float:
        """The estimated number of distinct items."""
        parts = self.hashvalues / np.float64(_MOST[self.scheme])
        return np.float64(len(self)) / np.sum(parts) - 1.0

    def merge(self, other: MinHash) -> None:
        """Turns this MinHash into that of the union with ``other``."""
        check_same(self, other, "merge")
        self.hashvalues = np.minimum(self.hashvalues, other.hashvalues)

    def digest(self) -> Array:
        """A copy of the hash values."""
        return self.hashvalues.copy()

    def is_empty(self) -> bool:
        """Whether no items have been added."""
        return not np.any(self.hashvalues != _MOST[self.scheme])

    def clear(self) -> None:
        """Removes all items."""
        self.hashvalues = np.full(len(self), _MOST[self.scheme], _TYPES[self.scheme])

    def copy(self: Self) -> Self:
        """A MinHash with the same state."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.hashvalues = self.digest()
        return made

    def __copy__(self: Self) -> Self:
        return self.copy()

    def __len__(self) -> int:
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        # Compares the class by its name, so that an object of datasketch can be equal, too.
        return (
            type(self).__name__ == type(other).__name__
            and scheme_of(other) == self.scheme
            and getattr(other, "seed", None) == self.seed
            and np.array_equal(self.hashvalues, getattr(other, "hashvalues", []))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<nearkin.datasketch.MinHash of {len(self)} {self.scheme} hash values>"

    @classmethod
    def union(cls, *mhs: MinHash) -> MinHash:
        """The MinHash of the union of two or more MinHashes."""
        if len(mhs) < 2:
            raise ValueError("Cannot union less than 2 MinHash")
        first = mhs[0]
        kind = (len(first), first.seed, scheme_of(first))
        if any((len(other), other.seed, scheme_of(other)) != kind for other in mhs[1:]):
            raise ValueError(
                "The unioning MinHash must have the same seed, number of permutation functions "
                "and scheme"
            )
        return cls(
            num_perm=len(first),
            seed=first.seed,
            hashfunc=first.hashfunc,
            hashvalues=np.minimum.reduce([other.hashvalues for other in mhs]),
            permutations=first.permutations,
            scheme=first.scheme,
        )

    @classmethod
    def bulk(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> list[Any]:
        """One MinHash per row of items. With the default hash function, it uses all processors.

        >>> [m.is_empty() for m in MinHash.bulk([[b"a"], []], num_perm=16)]
        [False, True]
        """
        first = cls(**minhash_kwargs)
        if not first._in_rust():
            return list(cls._each(first, b))
        made: list[Any] = []
        rows = iter(b)
        values = first.hashvalues.tobytes()
        while part := [list(row) for row in islice(rows, _BULK_ROWS)]:
            flat = np.frombuffer(first._hasher.bulk(values, part), first.hashvalues.dtype)
            for row in flat.reshape(len(part), -1):
                one = cls.__new__(cls)
                one.__dict__.update(first.__dict__)
                # A copy: otherwise one MinHash would keep the memory of all the others alive.
                one.hashvalues = row.copy()
                made.append(one)
        return made

    @classmethod
    def generator(
        cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any
    ) -> Generator[Any, None, None]:
        """Like :meth:`bulk`, but one row at a time: nothing is read ahead."""
        yield from cls._each(cls(**minhash_kwargs), b)

    @staticmethod
    def _each(first: MinHash, b: Iterable[Iterable[Any]]) -> Generator[MinHash, None, None]:
        for items in b:
            one = first.copy()
            one.update_batch(items)
            yield one

    def __getstate__(self) -> Any:
        return {
            "scheme": self.scheme,
            "seed": self.seed,
            "num_perm": self.num_perm,
            "hashfunc": self.hashfunc,
            "hashvalues": self.hashvalues,
            "permutations": self.permutations,
            "_gpu_mode": self._gpu_mode,
            "_a_gpu": None,
            "_b_gpu": None,
        }

    def __setstate__(self, state: Any) -> None:
        state = dict(state)
        # datasketch before 2.0 did not store a scheme.
        self.scheme = check_scheme(state.pop("scheme", "legacy"), False, "")
        permutations = state.pop("permutations")
        for gpu in ("_a_gpu", "_b_gpu"):
            state.pop(gpu, None)
        self.__dict__.update({"_gpu_mode": "disable", **state})
        self.hashvalues = to_values(self.hashvalues, self.scheme, "hash values")
        self.num_perm = len(self)
        self.permutations = permutations
