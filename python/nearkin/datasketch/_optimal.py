"""Bands and rows for a threshold: those with the smallest weighted error."""

from __future__ import annotations

import functools

import numpy as np


@functools.lru_cache(maxsize=64)
def optimal_params(
    threshold: float, num_perm: int, false_positive: float, false_negative: float
) -> tuple[int, int]:
    """Bands and rows that minimise the weighted areas of false positives and negatives."""
    points, weights = np.polynomial.legendre.leggauss(64)
    low = (points + 1) / 2 * threshold
    high = threshold + (points + 1) / 2 * (1 - threshold)
    best, chosen = float("inf"), (0, 0)
    for bands in range(1, num_perm + 1):
        for rows in range(1, num_perm // bands + 1):
            wrong = np.dot(weights, 1 - (1 - low**rows) ** bands) * threshold / 2
            # Written as 1 - P(found) to round like datasketch: the best error may be a tie at zero.
            missed = np.dot(weights, 1 - (1 - (1 - high**rows) ** bands)) * (1 - threshold) / 2
            error = float(wrong * false_positive + missed * false_negative)
            if error < best:
                best, chosen = error, (bands, rows)
    return chosen
