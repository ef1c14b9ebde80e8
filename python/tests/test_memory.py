"""No leaks: references and resident memory over many calls."""

import gc
import os
import sys

import pyarrow as pa
import pytest

import nearkin as nk
from conftest import made_text


def resident() -> int:
    with open("/proc/self/statm") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_references_are_given_back(index):
    text, key = made_text(1), "a key of no other test"
    texts, keys = [text] * 50, [f"k{n}" for n in range(50)]
    arrow = pa.array(texts)
    sketcher, params = index.sketcher, index.params

    def work():
        sketcher.texts(texts)
        sketcher.texts(arrow)
        index.add(keys, texts)
        index[key] = text
        index.query(text)
        list(index.query_many(texts))
        index.query_many(texts).to_arrow()
        index.pairs().read_all()
        list(index.keys())
        nk.dedup(texts)
        with pytest.raises(TypeError):
            sketcher.texts([text, 1])
        with pytest.raises(nk.MissingKeyError):
            index["nobody"]

    work()
    held = (text, key, texts, keys, arrow, params, index)
    before = [sys.getrefcount(one) for one in held]
    for _ in range(20):
        work()
    gc.collect()
    assert [sys.getrefcount(one) for one in held] == before


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_a_million_calls_leave_nothing_behind(tmp_path, params):
    with nk.Index(tmp_path / "a", params, durability="os") as ix:
        texts = [made_text(n) for n in range(100)]
        ix.add([f"{n}" for n in range(100)], texts)
        signature = ix.sketcher.text(texts[0])
        short = "one two three"

        def work(calls):
            for _ in range(calls // 10):
                ix.query(signature)
                ix.query(short)
                ix.get("5")
                "7" in ix
                len(ix)
                signature.similarity(signature)
                ix.params
                ix.snapshot()
                ix.sketcher.text(short)
                repr(ix)
            for _ in range(calls // 2_000):
                ix.query_many(texts).to_arrow()
                ix.sketcher.texts(texts).to_numpy()
                list(ix.keys())

        work(100_000)
        gc.collect()
        before = resident()
        work(1_000_000)
        gc.collect()
        grown = resident() - before
        assert grown < 8 << 20, f"{grown:,} bytes more"
