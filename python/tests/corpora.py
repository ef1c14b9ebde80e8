"""Corpora that tests of clusters share."""

import json
import os
import random
from pathlib import Path

import nearkin as nk

DATA = Path(os.environ.get("NEARKIN_PAGES", Path(__file__).parents[2])) / "tests" / "data"
WORDS = nk.Params(0.7, shingles="words:3")
SMALL = nk.Params(0.7, shingles="words:1", hashes=64, bands=(16, 4))


def of_given_bands(params):
    """The same parameters, with bands that are never chosen anew."""
    given = nk.Params(
        params.threshold,
        params.shingles,
        hashes=params.hashes,
        bands=(params.bands, params.rows_per_band),
        lane_bits=params.lane_bits,
        bag=params.bag,
    )
    assert given == params
    return given


def corpus(name):
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [(row["id"], row["text"]) for row in map(json.loads, lines)]


def crowds():
    """Families of near copies, crowds of equal texts, a hot bucket, rows without a text."""
    rng = random.Random(3)
    rows = []
    for at in range(700):
        family = rng.randrange(40)
        words = [f"f{family}w{word}" for word in range(30)]
        for _ in range(rng.choice([0, 0, 1, 3, 6])):
            words[rng.randrange(30)] = f"x{rng.randrange(90)}"
        rows.append((f"k{at * 37 % 1009:04}", " ".join(words)))
    rows += [(f"copy{at:03}", "all the same words of one crowd") for at in range(60)]
    rows += [("null", None), ("empty", ""), ("space", " . ")]
    rng.shuffle(rows)
    return rows


CORPORA = {
    "spdx": (corpus("spdx"), WORDS, 0.7),
    "pydocs": (corpus("pydocs"), WORDS, 0.8),
    "crowds": (crowds(), SMALL, 0.6),
}
