"""One rule behind every door: Python keeps the rows that the shell and the library keep.

``tests/data/dedup.tsv`` has 18 settings for each of four corpora, with the number of rows kept and
a checksum of their keys. A test of the tool (``cli/tests/cli/dedup/doors.rs``) computes them by the
library and from the shell, and compares exact decisions with brute force.
"""

import json
import os
from pathlib import Path

import pytest

import nearkin as nk

PAGES = Path(os.environ.get("NEARKIN_PAGES", Path(__file__).parents[2]))
DATA = PAGES / "tests" / "data"


def settings():
    lines = (DATA / "dedup.tsv").read_text().splitlines()[1:]
    return [tuple(line.split("\t")) for line in lines]


def rows_of(corpus):
    lines = (DATA / f"{corpus}.jsonl").read_text().split("\n")
    return [json.loads(line) for line in lines if line]


def checksum(keys):
    value = 0xCBF29CE484222325
    for byte in "".join(f"{key}\n" for key in keys).encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


@pytest.mark.parametrize("line", settings(), ids="-".join)
def test_python_keeps_the_same_rows(line):
    corpus, decided, guard, condition, least, keep, shingles, pairs, count, expected = line
    rows = rows_of(corpus)
    texts = [row["text"] for row in rows]
    how = {condition: float(least), "keep": keep}
    if decided != "confirmed":
        how[decided] = True
    # The default is not named.
    if guard != "rare":
        how["guard"] = guard
    every = {"hashes": 256, "bands": (256, 1), "lane_bits": 16} if pairs == "all" else {}
    params = nk.Params(shingles=shingles, **every)
    told = nk.dedup(texts, params=params, annotate=True, **how)
    kept = [row["id"] for row, one in zip(rows, told) if one.kept]
    assert (str(len(kept)), checksum(kept)) == (count, expected)
    for one in told:
        assert guard != "none" or one.apart is None
        if (one.kept and one.apart is None) or decided == "estimate":
            assert one.shared is None
            continue
        union = one.shingles + one.of_shingles - one.shared
        assert one.similarity == pytest.approx(one.shared / union)
        assert one.contained == pytest.approx(one.shared / min(one.shingles, one.of_shingles))


def test_a_stream_keeps_the_same_rows():
    pa = pytest.importorskip("pyarrow")
    for corpus, decided, _, condition, least, keep, shingles, _, count, expected in settings():
        if decided != "estimate" or keep != "first":
            continue
        table = pa.Table.from_pylist(rows_of(corpus))
        reader = nk.dedup(
            table.to_reader(max_chunksize=70),
            on="text",
            params=nk.Params(shingles=shingles),
            **{condition: float(least)},
        )
        kept = reader.read_all()["id"].to_pylist()
        assert (str(len(kept)), checksum(kept)) == (count, expected)
