"""How fast the package is on this machine: one thread, medians of three.

python benches/bench.py [--rows 100000] [--cpu]

With --cpu it counts the processor time of this process instead of the time that passed: for a
machine that others use, too. What the disk takes is then left out.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nearkin as nk

WORDS_EACH = 200
CLOCK = [time.perf_counter]
PARAMS = nk.Params(threshold=0.7, shingles="words:3")


def made(rows: int) -> list[str]:
    """English-like texts: 200 words, common ones often."""
    chosen = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(chosen.choices(letters, k=chosen.randint(2, 9))) for _ in range(20_000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    return [" ".join(chosen.choices(words, weights, k=WORDS_EACH)) for _ in range(rows)]


def median(work: Callable[[], Any], times: int = 3) -> float:
    """Seconds."""
    spent = []
    for _ in range(times):
        begun = CLOCK[0]()
        work()
        spent.append(CLOCK[0]() - begun)
    return statistics.median(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--cpu", action="store_true")
    asked_for = parser.parse_args()
    rows = asked_for.rows
    if asked_for.cpu:
        CLOCK[0] = time.process_time
    texts = made(rows)
    tokens = [text.split() for text in texts]
    sketcher = nk.Sketcher(PARAMS, threads=1)
    items = nk.Sketcher(nk.Params(shingles="items"), threads=1)

    def tell(name: str, seconds: float) -> None:
        print(f"{name:42} {rows / seconds:12,.0f} a second", flush=True)

    tell("sketch, one text a call", median(lambda: [sketcher.text(text) for text in texts]))
    tell("sketch, list[str]", median(lambda: sketcher.texts(texts)))
    tell("sketch, lists of tokens as items", median(lambda: items.items(tokens)))
    if find_spec("pyarrow"):
        import pyarrow as pa

        column = pa.array(texts)
        tell("sketch, an Arrow column", median(lambda: sketcher.texts(column)))
    else:
        column = texts

    with tempfile.TemporaryDirectory() as folder:
        number = iter(range(100))
        keys = [f"{row:08}" for row in range(rows)]

        def add() -> None:
            with nk.Index(Path(folder) / str(next(number)), PARAMS, threads=1) as fresh:
                fresh.add(keys, column)

        tell("add, durable, closed at the end", median(add))
        with nk.Index(Path(folder) / "0") as ix:
            asked = texts[:2_000]
            signatures = [sketcher.text(text) for text in asked]
            by_text = median(lambda: [ix.query(text) for text in asked]) / len(asked)
            by_signature = median(lambda: [ix.query(one) for one in signatures]) / len(asked)
            many = median(lambda: ix.query_many(asked, threads=1)) / len(asked)
            print(f"query from text                            {by_text * 1e6:12.2f} us")
            print(f"query from a signature                     {by_signature * 1e6:12.2f} us")
            print(f"query_many, each                           {many * 1e6:12.2f} us")
        how = {"params": PARAMS, "threads": 1}
        tell("dedup by the estimate", median(lambda: nk.dedup(texts, estimate=True, **how)))
        tell("dedup, list[str]", median(lambda: nk.dedup(texts, guard="rare", **how)))


if __name__ == "__main__":
    main()
