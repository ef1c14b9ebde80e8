"""Copies, repairs, asyncio, errors and progress."""

import sys
import asyncio
import pickle

import pytest

import nearkin as nk
from nearkin import _nearkin
from conftest import made_text

TEXTS = [made_text(n) for n in range(20)]
KEYS = [f"k{n}" for n in range(20)]


def test_backup_import_rebuild_and_salvage(tmp_path, index):
    index.add(KEYS, TEXTS, payloads=[key.encode() for key in KEYS])
    index.backup(tmp_path / "copy")
    assert nk.exists(tmp_path / "copy") and not nk.exists(tmp_path / "nothing")
    with nk.Reader(tmp_path / "copy") as reader:
        assert sorted(reader.keys()) == sorted(KEYS)
        reader.backup(tmp_path / "copy of it")
        assert reader.stats().documents == 20
    with nk.Index(tmp_path / "all", index.params) as other:
        assert other.import_from(index) == nk.Imported(20, 0, 0)
        assert other.import_from(tmp_path / "copy of it") == nk.Imported(0, 0, 20)
        assert other["k3"].payload == b"k3"
    low = nk.Params(threshold=0.3, shingles="words:2", lane_bits=8)
    assert nk.rebuild(tmp_path / "all", tmp_path / "low", low) == 20
    with nk.Reader(tmp_path / "low") as reader:
        assert reader.params == low and reader["k3"].signature == index["k3"].signature
    assert "20" in nk.salvage(tmp_path / "all", tmp_path / "saved")
    assert len(nk.Reader(tmp_path / "saved")) == 20
    with pytest.raises(nk.MismatchError, match="shingles"):
        with nk.Index(tmp_path / "others", nk.Params(shingles="words:1")) as others:
            others.import_from(index)


def test_errors_are_a_small_tree(tmp_path):
    for kind in ("NotFoundError", "LockedError", "BugError", "MissingKeyError"):
        error = getattr(nk, kind)("a message")
        assert isinstance(error, nk.Error) and str(error) == "a message"
        assert str(pickle.loads(pickle.dumps(error))) == "a message"
    with pytest.raises(FileNotFoundError) as caught:
        nk.Index(tmp_path / "nothing")
    assert isinstance(caught.value, nk.NotFoundError) and "nothing" in str(caught.value)
    with pytest.raises(ValueError, match="threshold"):
        nk.Params(threshold=2)
    with pytest.raises(ValueError, match="words:N"):
        nk.Params(shingles="wrods:3")
    with nk.Index(tmp_path / "a", nk.Params()):
        pass
    with pytest.raises(nk.MismatchError, match="hashes"):
        nk.Index(tmp_path / "a", nk.Params(hashes=256))
    with pytest.raises(nk.ExistsError):
        nk.Index.create(tmp_path / "a", nk.Params())
    assert nk.Index.open(tmp_path / "a").params == nk.Params()
    for wrong in ({"durability": "never"}, {"read_mode": "x"}, {"keys": "int"}, {"ttl": -1}):
        with pytest.raises(ValueError):
            nk.Index(tmp_path / "b", nk.Params(), **wrong)


def test_a_panic_becomes_an_exception():
    with pytest.raises(nk.BugError, match="planted; .*report it"):
        _nearkin._panic("planted")


def test_lengths_must_agree(index):
    for keys, texts, more in (
        (KEYS[:1], TEXTS[:2], {}),
        (KEYS[:2], TEXTS[:2], {"payloads": [b""]}),
        (KEYS[:2], TEXTS[:2], {"times": [1]}),
    ):
        with pytest.raises(ValueError, match="documents, but"):
            index.add(keys, texts, **more)
    with pytest.raises(nk.InvalidError, match=r"keys\[1\] is null"):
        index.add(["a", None], TEXTS[:2])
    with pytest.raises(TypeError, match=r"keys\[0\] must be str, bytes or int, not float"):
        index.add([1.5], TEXTS[:1])
    with pytest.raises(ValueError, match="1 to 4096 bytes|1 to 4,096 bytes"):
        index[""] = TEXTS[0]
    with pytest.raises(TypeError, match="a key must be"):
        index[None]
    assert len(index) == 0


def test_progress_is_told_and_can_stop(index):
    told = []
    index.add(KEYS, TEXTS, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (20, 20)
    for call in (
        lambda: index.add(KEYS, TEXTS, progress=lambda done, total: False),
        lambda: index.verify(progress=lambda done, total: False),
        lambda: index.clusters(progress=lambda done, total: False),
    ):
        with pytest.raises(nk.CancelledError):
            call()

    def fail(done, total):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        index.verify(progress=fail)
    with pytest.raises(TypeError, match="progress must be"):
        index.compact(progress="yes")
    assert index.verify().ok


def test_a_line_without_tqdm(index, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    index.add(KEYS, TEXTS, progress="always")
    assert "add: 20 of 20 (100 %)" in capsys.readouterr().err


def test_a_bar_of_tqdm(index, capsys):
    pytest.importorskip("tqdm")
    index.add(KEYS, TEXTS, progress="always")
    assert "add: 100%" in capsys.readouterr().err


def test_where_no_person_looks_a_bar_is_silent(index, capsys):
    index.add(KEYS, TEXTS, progress=True)
    assert capsys.readouterr().err == ""


def test_asyncio(tmp_path, params):
    async def main():
        async with await nk.aio.Index.open(tmp_path / "a", params) as ix:
            await ix.add(KEYS, TEXTS)
            answers = await asyncio.gather(*(ix.query(text) for text in TEXTS))
            assert [answer[0].key for answer in answers] == KEYS
            assert await ix.contains("k1") and await ix.discard("k1")
            assert await ix.get("k1") is None and len(ix) == 19
            assert len(await ix.pairs()) == 0 and (await ix.verify()).ok
            async with await nk.aio.Reader.open(tmp_path / "a") as reader:
                await ix.flush()
                await reader.refresh()
                assert len(await reader.query_many(TEXTS)) == 19
        assert await nk.aio.dedup(["one two three four"] * 2) == ["one two three four"]

    asyncio.run(main())


def test_reprs_say_something(index):
    index.add(KEYS, TEXTS)
    assert "20 documents, words:2" in repr(index) and "change" in repr(index.snapshot())
    assert repr(nk.Params(0.5, "chars:5", seed=99)).startswith("Params(threshold=0.5, shingles='chars")
    assert "99" not in repr(nk.Params(seed=99)), "a seed may be secret"
    assert "shingles" in repr(index["k1"])
    shown = repr(index.query_many(TEXTS)).splitlines()
    assert shown[0] == "Table of 20 rows" and shown[1].split() == ["row", "key", "similarity"]
    assert len(shown) == 13 and shown[-1] == "... and 10 more"


def test_whole_rows_of_signatures_made_elsewhere(tmp_path):
    for bits in (32, 64):
        params = nk.Params(scheme="external:x", hashes=16, bands=(4, 4), lane_bits=bits)
        rows = [2**bits - 1 - n for n in range(16)]
        one = nk.Signature.from_rows(params, rows)
        other = nk.Signature.from_rows(params, [2 * n for n in range(16)])
        assert one.rows == rows and one.union(other).rows == other.rows
        assert one.similarity(other) == 0.0 and pickle.loads(pickle.dumps(one)) == one
        column = nk.Signatures.from_bytes(params, one.to_bytes() + other.to_bytes())
        assert column.to_numpy().dtype.itemsize == bits // 8
        assert column.to_numpy()[0].tolist() == rows
        with nk.Index(tmp_path / str(bits), params) as ix:
            ix.add(["a", "b"], column)
            assert [m.key for m in ix.query(one)] == ["a"]
    with pytest.raises(nk.InvalidError):
        nk.Signature.from_rows(nk.Params(), rows)
    with pytest.raises(nk.InvalidError):
        own = nk.Sketcher(nk.Params(shingles="words:1")).text("a b")
        own.union(own)
