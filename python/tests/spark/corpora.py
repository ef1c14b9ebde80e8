"""Corpora that tests with Spark share."""

import json
import os
import random
from pathlib import Path

import nearkin as nk

DATA = Path(os.environ.get("NEARKIN_PAGES", Path(__file__).parents[3])) / "tests" / "data"
WORDS = nk.Params(0.7, shingles="words:3")
SMALL = nk.Params(0.7, shingles="words:1", hashes=64, bands=(16, 4))


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
