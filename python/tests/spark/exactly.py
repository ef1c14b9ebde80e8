"""What one machine says of pairs, by the rule of `nearkin.dedup` for two rows."""

from corpora import of_given_bands

import nearkin as nk

EVIDENCE = ["similarity", "contained", "shingles", "of_shingles", "shared"]


def exact_pairs(folder, rows, params, threshold, contained=None):
    """(a, b, evidence) of all pairs, and how many of them the estimate misses. Two rows are one if
    `nearkin.dedup` of these two alone drops the second one. Pairs without a shared band are left out
    at once: `Index.pairs(0)` has all others."""
    params = of_given_bands(params)
    texts = dict(rows)
    with nk.Index(folder, params) as index:
        index.add(list(texts), list(texts.values()))
        sharing = [row[:2] for row in index.pairs(0.0).read_all().rows()]
        estimated = {row[:2] for row in index.pairs(threshold, contained=contained).read_all().rows()}
    told, found = {}, []
    for a, b in sharing:
        both = (texts[a], texts[b])
        if both not in told:
            told[both] = verdict(both, params, threshold, contained)
        if told[both]:
            found.append((a, b, *told[both]))
    return sorted(found), len({row[:2] for row in found} - estimated)


def verdict(both, params, threshold, contained):
    """The evidence for the first of two texts, or None if they are no pair."""
    _, row = nk.dedup(
        list(both), params=params, threshold=threshold, contained=contained, exact=True, guard="none",
        annotate=True,
    )  # fmt: skip
    if row.kept:
        return None
    # The evidence is told of the second row.
    return (row.similarity, row.contained, row.of_shingles, row.shingles, row.shared)
