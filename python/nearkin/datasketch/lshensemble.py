"""``MinHashLSHEnsemble``: sets that contain a query, by LSH Ensemble (Zhu et al., VLDB 2016)."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from .lsh import MinHashLSH

#: Ratios of a set's size to a query's size, for each of which bands and rows are chosen.
_RATIOS = np.exp(np.linspace(-5, 5, 10))


@functools.lru_cache(maxsize=64)
def _bands_for_ratios(
    threshold: float, num_perm: int, rows_most: int, false_positive: float, false_negative: float
) -> tuple[tuple[int, int], ...]:
    """For each ratio, the bands and rows that minimise the weighted error in containment."""
    return tuple(
        _bands(ratio, threshold, num_perm, rows_most, false_positive, false_negative)
        for ratio in _RATIOS.tolist()
    )


def _bands(
    ratio: float,
    threshold: float,
    num_perm: int,
    rows_most: int,
    false_positive: float,
    false_negative: float,
) -> tuple[int, int]:
    points, weights = np.polynomial.legendre.leggauss(64)

    def spread(low: float, high: float) -> tuple[Any, Any]:
        """Similarities for containments from ``low`` to ``high``, with integration weights."""
        contained = (points + 1) / 2 * (high - low) + low
        return contained / (1 + ratio - contained), weights * (high - low) / 2

    # A set of fewer items than the query cannot contain more than this ratio of it.
    below, below_weights = spread(0.0, min(threshold, ratio))
    above, above_weights = spread(min(threshold, ratio), min(1.0, ratio))
    best, chosen = float("inf"), (0, 0)
    for bands in range(1, num_perm + 1):
        for rows in range(1, min(rows_most, num_perm // bands) + 1):
            wrong = np.dot(below_weights, 1 - (1 - below**rows) ** bands)
            missed = np.dot(above_weights, (1 - above**rows) ** bands)
            error = float(wrong * false_positive + missed * false_negative)
            if error < best:
                best, chosen = error, (bands, rows)
    return chosen


def _partitions(sizes: list[int], count: int) -> list[tuple[int, int]]:
    """Lower and upper bound of the sizes in each partition, chosen for the fewest false positives.

    A set of size ``x`` in a partition up to ``u`` is a false positive with a probability of about
    ``(u - x) / u``.
    """
    distinct, counts = np.unique(np.asarray(sizes), return_counts=True)
    many = len(distinct)
    if many <= count:
        return [(int(size), int(size)) for size in distinct]
    below = np.concatenate(([0], np.cumsum(counts)))
    sums = np.concatenate(([0], np.cumsum(counts * distinct)))

    def cost(first: Any, last: int) -> Any:
        """Expected false positives of a partition that holds the sizes ``first`` to ``last``."""
        return below[last + 1] - below[first] - (sums[last + 1] - sums[first]) / distinct[last]

    least = np.array([cost(0, last) for last in range(many)])
    begins = []
    for _ in range(count - 1):
        begin = np.zeros(many, dtype=int)
        better = least.copy()
        for last in range(1, many):
            firsts = np.arange(1, last + 1)
            costs = least[firsts - 1] + cost(firsts, last)
            at = int(np.argmin(costs))
            if costs[at] < least[last]:
                begin[last], better[last] = firsts[at], costs[at]
        begins.append(begin)
        least = better
    found, last = [], many - 1
    for begin in reversed([np.zeros(many, dtype=int), *begins]):
        found.append((int(distinct[begin[last]]), int(distinct[last])))
        last = int(begin[last]) - 1
        if last < 0:
            break
    return found[::-1]


class MinHashLSHEnsemble:
    """Finds the keys of sets that contain at least a given fraction of a query set.

    >>> from nearkin.datasketch import MinHash, MinHashLSHEnsemble
    >>> small, large = MinHash.bulk([[b"a", b"b"], [b"a", b"b", b"c", b"d"]], num_perm=64)
    >>> ensemble = MinHashLSHEnsemble(threshold=0.8, num_perm=64, num_part=2)
    >>> ensemble.index([("large", large, 4), ("small", small, 2)])
    >>> sorted(ensemble.query(small, 2))
    ['large', 'small']
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        num_part: int = 16,
        m: int = 8,
        weights: tuple[float, float] = (0.5, 0.5),
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
    ) -> None:
        if not 0.0 <= threshold <= 1.0:
            raise ValueError("threshold must be in [0.0, 1.0]")
        if num_perm < 2:
            raise ValueError("Too few permutation functions")
        if num_part < 1:
            raise ValueError("num_part must be at least 1")
        if not 2 <= m <= num_perm:
            raise ValueError("m must be in the range of [2, num_perm]")
        if any(not 0.0 <= weight <= 1.0 for weight in weights):
            raise ValueError("Weight must be in [0.0, 1.0]")
        if sum(weights) != 1.0:
            raise ValueError("Weights must sum to 1.0")
        kind = (storage_config or {}).get("type", "dict")
        if kind != "dict":
            raise ValueError("MinHashLSHEnsemble is in memory only: leave storage_config out")
        self.threshold, self.h, self.m = threshold, num_perm, m
        self.xqs = _RATIOS.copy()
        self.params = np.array(_bands_for_ratios(threshold, num_perm, m, *weights))
        self.indexes = [
            {
                rows: MinHashLSH(
                    num_perm=num_perm, params=(num_perm // rows, rows), prepickle=prepickle
                )
                for rows in rows_
            }
            for rows_ in [sorted({int(rows) for _, rows in self.params})] * num_part
        ]
        self.lowers: list[int | None] = [None] * num_part
        self.uppers: list[int | None] = [None] * num_part

    def index(self, entries: Iterable[tuple[Hashable, Any, int]]) -> None:
        """Adds all sets, given as key, MinHash and size. May be called only once."""
        if not self.is_empty():
            raise ValueError("Cannot call index again on a non-empty index")
        entries = list(entries)
        if not entries:
            raise ValueError("entries is empty")
        sizes = [size for _, _, size in entries]
        for part, bounds in enumerate(_partitions(sizes, len(self.indexes))):
            self.lowers[part], self.uppers[part] = bounds
        ends = [upper for upper in self.uppers if upper is not None]
        for key, minhash, size in entries:
            for lsh in self.indexes[int(np.searchsorted(ends, size))].values():
                lsh.insert(key, minhash)

    def query(self, minhash: Any, size: int) -> Iterator[Any]:
        """Keys of sets that probably contain the set with this MinHash and size."""
        for part, upper in enumerate(self.uppers):
            if upper is None:
                continue
            place = min(int(np.searchsorted(self.xqs, float(upper) / size)), len(self.xqs) - 1)
            bands, rows = self.params[place].tolist()
            yield from self.indexes[part][rows]._query_bands(minhash, bands)

    def __contains__(self, key: Hashable) -> bool:
        return any(key in lsh for part in self.indexes for lsh in part.values())

    def is_empty(self) -> bool:
        """Whether no sets have been added."""
        return all(lsh.is_empty() for part in self.indexes for lsh in part.values())

    def __repr__(self) -> str:
        return f"<nearkin.datasketch.MinHashLSHEnsemble of {len(self.indexes)} partitions>"
