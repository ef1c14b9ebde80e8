"""The conditions of searches, in Python, against brute force over the stored documents."""

import asyncio
import datetime as dt
import os
import random
import signal
import threading
import time

import pytest

import nearkin as nk
from conftest import made_text, near_copy

UTC = dt.timezone.utc
#: Similar documents share a band for sure.
PARAMS = nk.Params(0.6, hashes=128, bands=(128, 1), lane_bits=16)
SEARCHES = {
    "query": lambda ix, **how: ix.query(made_text(1), **how),
    "query_key": lambda ix, **how: ix.query_key("a/1", **how),
    "query_keys": lambda ix, **how: ix.query_keys(["a/1"], **how),
    "query_many": lambda ix, **how: ix.query_many([made_text(1)] * 3, **how),
    "pairs": lambda ix, **how: ix.pairs(**how).read_all(),
    "clusters": lambda ix, **how: ix.clusters(**how).read_all(),
    "admit": lambda ix, **how: ix.admit(["a/new"], [made_text(1)], **how),
    "admit by shingles": lambda ix, **how: ix.admit(
        ["a/new"], [made_text(1)], exact=lambda key: None, **how
    ),
}


@pytest.fixture
def small(tmp_path):
    with nk.Index(tmp_path / "small", PARAMS, durability="os") as ix:
        payloads, times = [b"p", b"q", b""], [1, 2, 3]
        ix.add(["a/1", "a/2", "b/3"], [made_text(1)] * 3, payloads=payloads, times=times)
        yield ix


class Stored:
    """The documents of an index, and what a search of them must find."""

    def __init__(self, ix):
        self.documents = [ix[key] for key in ix.keys()]

    def passing(self, rng):
        """Random conditions, and the documents that pass."""
        how, passing = {}, self.documents
        if rng.random() < 0.5:
            prefix = rng.choice(["a/", "b/", "a/1", "", "nobody/"])
            how["prefix"] = rng.choice([prefix, prefix.encode()])
            passing = [d for d in passing if d.key.startswith(prefix)]
        if rng.random() < 0.5:
            ms = rng.randrange(100_000)
            time = dt.datetime.fromtimestamp(0, UTC) + dt.timedelta(milliseconds=ms)
            how["after"] = rng.choice([ms, time])
            passing = [d for d in passing if d.time_ms >= ms]
        if rng.random() < 0.5:
            ms = rng.randrange(100_000, 200_000)
            how["before"] = ms
            passing = [d for d in passing if d.time_ms < ms]
        if rng.random() < 0.5:
            how["filter"] = rng.choice(
                [
                    lambda d: d.payload.endswith(b"1"),
                    lambda d: int(d.key.split("/")[1]) % 3,
                    lambda d: d.time.microsecond < 500_000 and d.time_ms % 2 == 0,
                ]
            )
            passing = [d for d in passing if how["filter"](d)]
        how["deadline"] = rng.choice([None, 60, 0.9e3, dt.timedelta(minutes=1)])
        return how, passing


def nearest(signature, documents, threshold):
    """(similarity, key) of the similar documents, in the order of an answer."""
    scored = [(signature.similarity(d.signature), d.key) for d in documents]
    return sorted((s for s in scored if s[0] >= threshold), key=lambda s: (-s[0], s[1]))


def connected(pairs):
    groups = {}
    for a, b in pairs:
        joined = groups.get(a, {a}) | groups.get(b, {b})
        groups.update(dict.fromkeys(joined, joined))
    return sorted({tuple(sorted(group)) for group in groups.values()})


def check_searches(ix, rng):
    stored = Stored(ix)
    for _ in range(40):
        how, passing = stored.passing(rng)
        threshold, limit = rng.choice([0.6, 0.8, 0.95]), rng.choice([None, 0, 1, 3])
        asked = [rng.choice(stored.documents) for _ in range(5)]
        expected = [nearest(d.signature, passing, threshold) for d in asked]
        for document, near in zip(asked, expected):
            answer = ix.query(document.signature, threshold=threshold, limit=limit, **how)
            assert [(m.similarity, m.key) for m in answer] == near[:limit], how
            assert (answer.found, answer.complete) == (len(near), True), how
            others = [s for s in near if s[1] != document.key]
            found = ix.query_key(document.key, threshold=threshold, **how)
            assert [(m.similarity, m.key) for m in found] == others, how
            found = ix.query_keys([document.key], threshold=threshold, limit=limit, **how)
            assert [(m.similarity, m.key) for m in found] == others[:limit], how
        texts = ix.sketcher.texts([made_text(int(d.payload)) for d in asked])
        found = ix.query_many(texts, threshold=threshold, limit=limit, **how).rows()
        expected = [nearest(texts[row], passing, threshold)[:limit] for row in range(len(asked))]
        assert found == [(row, k, s) for row, near in enumerate(expected) for s, k in near], how
        pairs = {
            (*sorted((a.key, b.key)), a.signature.similarity(b.signature))
            for n, a in enumerate(passing)
            for b in passing[:n]
            if a.signature.similarity(b.signature) >= threshold
        }
        found = list(ix.pairs(threshold, **how).read_all())
        assert set(found) == pairs and len(found) == len(pairs), how
        if limit is not None:
            some = list(ix.pairs(threshold, limit=limit, **how).read_all())
            assert len(some) == min(limit, len(pairs)) and set(some) <= pairs, how
        clusters = {}
        for number, key, size, _ in ix.clusters(threshold, limit=limit, **how).read_all():
            clusters.setdefault((number, size), []).append(key)
        found = [tuple(sorted(keys)) for keys in clusters.values()]
        assert found == connected((a, b) for a, b, _ in pairs)[:limit], how
        assert all(size == len(keys) for (_, size), keys in clusters.items())


def check_admissions(ix, rng):
    for round in range(25):
        stored = Stored(ix)
        how, passing = stored.passing(rng)
        passes = how.get("filter", lambda d: True)
        prefix = how.get("prefix", "")
        prefix = prefix if isinstance(prefix, str) else prefix.decode()
        keys = [f"{prefix or 'a/'}{10_000 + 10 * round + n}" for n in range(4)]
        numbers = [rng.randrange(30) for _ in keys]
        texts = [near_copy(made_text(number)) + f" {round}" for number in numbers]
        payloads = [str(number).encode() for number in numbers]
        times = [rng.randrange(200_000) for _ in keys]
        reject = rng.choice([0.6, 0.8, 0.95])
        after, before = ms(how.get("after", 0)), ms(how.get("before", 2**60))
        told = ix.admit(keys, texts, reject=reject, payloads=payloads, times=times, **how)
        for key, text, (_, decision, of, similarity) in zip(keys, texts, told):
            near = nearest(ix.sketcher.text(text), passing, reject)
            assert decision == ("rejected" if near else "admitted"), how
            assert (key in ix) == (decision == "admitted")
            assert similarity == (near[0][0] if near else None), how
            assert not near or (similarity, of) in near
            if decision == "admitted":
                new = ix[key]
                if after <= new.time_ms < before and new.key.startswith(prefix) and passes(new):
                    passing.append(new)


def ms(time):
    return time if isinstance(time, int) else round(time.timestamp() * 1000)


def test_conditions_equal_brute_force(tmp_path):
    seed = int(os.environ.get("NEARKIN_SEED", random.randrange(2**32)))
    print("NEARKIN_SEED =", seed)
    rng = random.Random(seed)
    with nk.Index(tmp_path / "ix", PARAMS, durability="os") as ix:
        for part in range(2):
            numbers = [rng.randrange(30) for _ in range(50)]
            texts = [rng.choice([str, near_copy])(made_text(n)) for n in numbers]
            keys = [f"{rng.choice('ab')}/{100 * part + n}" for n in range(50)]
            ix.add(
                keys,
                [f"{text} {rng.randrange(3)}" for text in texts],
                payloads=[str(n).encode() for n in numbers],
                times=[rng.randrange(200_000) for _ in keys],
            )
            if part == 0:
                ix.flush()
        ix.remove(rng.sample(sorted(ix.keys()), 5))
        check_searches(ix, rng)
        check_searches(ix.snapshot(), rng)
        check_admissions(ix, rng)
        ix.sync()
        with nk.Reader(tmp_path / "ix") as reader:
            check_searches(reader, rng)


@pytest.mark.parametrize("name", SEARCHES)
def test_an_exception_of_the_filter_reaches_the_caller(small, name):
    def fails(document):
        raise OSError(f"no {document.key}")

    with pytest.raises(OSError, match="no [ab]/"):
        SEARCHES[name](small, filter=fails)
    with pytest.raises(TypeError, match="^argument 'filter': must be a function, not int"):
        SEARCHES[name](small, filter=3)
    assert len(small) == 3 and small.verify().ok

    # It may search the index itself, and write to it.
    def nested(document):
        small.set_payload(document.key, b"seen")
        return document.key in small and len(small.query(made_text(1))) == 3

    SEARCHES[name](small, filter=nested, prefix="a/")
    assert small["a/2"].payload == b"seen"


@pytest.mark.parametrize("name", SEARCHES)
def test_the_deadline_ends_a_search(small, name):
    if name.startswith("query") and name != "query_many":
        assert SEARCHES[name](small, deadline=0).complete is False
    else:
        with pytest.raises(nk.CancelledError):
            SEARCHES[name](small, deadline=0)
    assert len(small) == 3
    with pytest.raises(TypeError, match="deadline must be a timedelta or a number of seconds"):
        SEARCHES[name](small, deadline="1")
    for wrong in (-1, float("nan"), 1e19):
        with pytest.raises(nk.InvalidError, match="deadline"):
            SEARCHES[name](small, deadline=wrong)
    with pytest.raises(nk.InvalidError, match="after must be less than before"):
        SEARCHES[name](small, after=5, before=dt.datetime.fromtimestamp(0.005, UTC))


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="signals of POSIX")
def test_an_interrupt_ends_a_search_with_a_filter(small):
    def slow(document):
        time.sleep(0.001)
        return True

    texts = [made_text(1)] * 50_000
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        while True:
            small.query_many(texts, filter=slow)
    assert time.monotonic() - begin < 3


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="signals of POSIX")
def test_a_signal_ends_a_search_whose_filter_is_a_function_in_c(tmp_path):
    def ring(*_):
        raise InterruptedError("of the handler")

    count, seen = 100_000, []
    with nk.Index(tmp_path / "large", nk.Params(), durability="os") as ix:
        ix.add(range(count), [f"text {number} of many" for number in range(count)])
        before = signal.signal(signal.SIGALRM, ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            with pytest.raises(InterruptedError, match="of the handler"):
                ix.pairs(filter=seen.append)
        finally:
            signal.signal(signal.SIGALRM, before)
    assert len(seen) < count


def test_what_a_filter_sees(small):
    seen = []
    assert small.query(made_text(1), filter=seen.append).found == 0
    seen.sort(key=lambda document: document.key)
    assert [(d.key, d.payload, d.time_ms, d.time) for d in seen] == [
        (d.key, d.payload, d.time_ms, d.time) for d in map(small.get, ["a/1", "a/2", "b/3"])
    ]
    assert repr(seen[0]) == "DocumentView('a/1', payload of 1 bytes)"
    small.flush()
    with nk.Reader(small.path, keys="bytes") as reader:
        assert reader.query(made_text(1), filter=lambda d: d.key == b"b/3").keys == [b"b/3"]


def test_conditions_of_passages_and_of_awaited_searches(tmp_path):
    text = " ".join(made_text(seed) for seed in range(6))
    with nk.PassageIndex(tmp_path / "p", nk.Params(0.5, passages="20:10")) as ix:
        ix.add(["a/1", "a/2", "b/3"], [text] * 3, payloads=[b"p", b"q", b""])
        keys = lambda **how: [hit.key for hit in ix.query(text, **how)]
        assert keys(prefix=b"a/") == ["a/1", "a/2"] and keys(prefix="a/", limit=1) == ["a/1"]
        assert keys(filter=lambda d: d.payload == b"q") == ["a/2"]
        assert keys(after=2**50) == [] and keys(before=2**50, deadline=60) == ["a/1", "a/2", "b/3"]
        assert ix.query(text, deadline=0).complete is False
        with pytest.raises(ZeroDivisionError):
            ix.query(text, filter=lambda d: 1 / 0)
    with nk.Reader(tmp_path / "p") as reader:
        assert [hit.key for hit in reader.query_passages(text, prefix="b/")] == ["b/3"]

    async def awaited():
        async with await nk.aio.Index.open(tmp_path / "aio", PARAMS) as ix:
            await ix.add(["a/1", "b/2"], [made_text(1)] * 2)
            found = await ix.query(made_text(1), prefix="a/", filter=lambda d: True, deadline=9.5)
            with pytest.raises(ZeroDivisionError):
                await ix.clusters(filter=lambda d: 1 / 0)
            return found.keys, len(await ix.pairs(prefix="a/")), len(await ix.pairs())

    assert asyncio.run(awaited()) == (["a/1"], 0, 1)
