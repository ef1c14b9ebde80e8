"""The examples of CLUSTER.md run, find something, and leave few files."""

import os
import re
from pathlib import Path

import pytest

import nearkin as nk

nks = pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")
ROOT = Path(os.environ.get("NEARKIN_PAGES", Path(__file__).parents[3]))
PAGE = ROOT / "docs/guide/CLUSTER.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_first_examples_run_and_find_something(spark, tmp_path, capsys):
    first, second = (
        block.replace("/tmp/lake", f"{tmp_path}/first").replace("/lake/ix", f"{tmp_path}/ix")
        for block in BLOCKS[:2]
    )
    names = {}
    exec(first, names)
    shown = capsys.readouterr().out
    assert re.search(r"\| *m1\| *m2\| *0\.9", shown) and re.search(r"\| *n1\| *m[12]\|", shown)
    names["gone"] = spark.createDataFrame([("m3",)], "id string")
    *calls, query = re.split(r"\n(?=nk\.Reader)", second)
    exec("\n".join(calls), names)
    assert eval(query, names).keys[:2] == ["m1", "m2"]
    assert len(nk.Reader(tmp_path / "ix")) == 3
    # Few rows need few tasks, and after `compact` there is at most one segment per shard.
    assert len(list((tmp_path / "ix" / "segments").iterdir())) <= 3


def test_the_examples_of_exact_comparison_run_and_find_something(spark, tmp_path, capsys):
    [block] = (block for block in BLOCKS if "exact=True" in block)
    exec(block.replace("/tmp/parts", f"{tmp_path}/parts"), {"nk": nk, "nks": nks, "spark": spark})
    estimated, pairs, kept, found = capsys.readouterr().out.split("\n\n")[:4]
    assert re.search(r"\| *p1\| *p2\|", estimated)
    assert re.search(r"\| *p1\| *p2\| *0.68\d*\| *1.0\| *17\| *25\| *17\|", pairs)
    assert re.findall(r"\| *(p\d)\|", kept) == ["p2", "p3"] and "| p2|   p1|" in found


def test_compact_merges_what_appends_left(spark, tmp_path):
    params = nk.Params(0.7, shingles="words:1")
    path = tmp_path / "lake"
    rows = [(f"k{at}", f"one two three four five x{at % 7}") for at in range(40)]

    def frame(rows):
        return spark.createDataFrame(rows, "id string, text string").coalesce(1)

    nks.build(frame(rows[:10]), path, params, shards=2)
    for at in (10, 20, 30):
        nks.append(frame(rows[at - 5 : at + 10]), path)

    def said():
        reader = nk.Reader(path)
        assert reader.verify().ok
        return sorted(reader), sorted(row[:3] for row in reader.pairs(0.6).read_all().rows())

    before = said()
    # Four segments in each shard; after replacements three of them have dead files.
    assert len(list((path / "segments").glob("*.seg"))) == 8
    assert nks.compact(path, segments=8) == 2, "there are dead documents"
    assert said() == before and len(before[0]) == 40
    nks.append(frame(rows[:4]), path)
    assert nks.compact(path, sweep=True) == 2
    assert nks.compact(path) == 0
    assert len(list((path / "segments").iterdir())) == 2
    assert said() == before
