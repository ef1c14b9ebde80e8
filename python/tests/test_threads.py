"""Eight threads in one index."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import nearkin as nk
from conftest import made_text


def test_eight_threads_write_and_ask(tmp_path, params):
    with nk.Index(tmp_path / "a", params, durability="os") as ix:

        def work(number):
            texts = [made_text(number * 1_000 + at) for at in range(100)]
            keys = [f"{number}/{at}" for at in range(100)]
            for begin in range(0, 100, 10):
                ix.add(keys[begin : begin + 10], texts[begin : begin + 10])
                found = ix.query_many(texts[: begin + 10], threads=2)
                assert found["key"] == keys[: begin + 10]
                assert len(list(ix.keys(f"{number}/"))) == begin + 10
            for key in keys[::2]:
                del ix[key]
            return keys[1::2]

        with ThreadPoolExecutor(8) as pool:
            left = [key for keys in pool.map(work, range(8)) for key in keys]
        assert sorted(ix.keys()) == sorted(left) and len(ix) == 400
        assert ix.verify().ok


def test_closing_waits_for_others(tmp_path, params):
    ix = nk.Index(tmp_path / "a", params, durability="os")
    texts = [made_text(number) for number in range(2_000)]
    begun, told = threading.Event(), []

    def write():
        begun.set()
        try:
            for at in range(1_000):
                ix.add([f"{at}"], [texts[at]])
                told.append(at)
        except nk.ClosedError:
            pass

    thread = threading.Thread(target=write)
    thread.start()
    begun.wait()
    ix.close()
    thread.join()
    with nk.Index(tmp_path / "a") as again:
        assert len(again) == len(told)
        assert again.stats().changes_replayed == 0


def test_a_closed_index_says_so(tmp_path, params):
    ix = nk.Index(tmp_path / "a", params)
    ix.close()
    ix.close()
    assert ix.closed and "closed" in repr(ix)
    for call in (
        lambda: len(ix),
        lambda: ix.query("one two three"),
        lambda: ix.add(["a"], ["one two three"]),
        lambda: "a" in ix,
        ix.stats,
        ix.compact,
        ix.keys,
    ):
        with pytest.raises(nk.ClosedError):
            call()


def test_a_reader_is_refreshed_while_others_ask(tmp_path, params):
    with nk.Index(tmp_path / "a", params) as ix, nk.Reader(tmp_path / "a") as reader:
        stop = threading.Event()

        def ask():
            last = 0
            while not stop.is_set():
                count = len(reader)
                assert count >= last
                last = count
                reader.query(made_text(0))
                reader.refresh()

        with ThreadPoolExecutor(4) as pool:
            asking = [pool.submit(ask) for _ in range(4)]
            for at in range(50):
                ix[at] = made_text(at)
            stop.set()
            for one in asking:
                one.result()
        ix.sync()
        ix.flush()
        reader.refresh()
        assert len(reader) == 50 and reader.verify().ok


def test_a_reader_that_is_closed_during_a_refresh_stays_closed(tmp_path, params):
    with nk.Index(tmp_path / "a", params) as ix:
        ix.add(["k"], [made_text(1)])
    for _ in range(20):
        reader = nk.Reader(tmp_path / "a")

        def refresh(reader=reader):
            with pytest.raises(nk.ClosedError):
                for _ in range(1_000_000):
                    reader.refresh()

        thread = threading.Thread(target=refresh)
        thread.start()
        time.sleep(0.002)
        reader.close()
        thread.join(5)
        assert not thread.is_alive()
