"""Random programs of calls on nearkin.datasketch and on datasketch: the same answers."""

import gc
import os
import pickle
import random

import pytest

np = pytest.importorskip("numpy")
theirs = pytest.importorskip("datasketch", minversion="2.0.0")

from nearkin import datasketch as ours  # noqa: E402

BOTH = (ours, theirs)
#: Of each of 25 parts. ``NEARKIN_PROGRAMS=10000`` runs that many in all.
PROGRAMS = int(os.environ.get("NEARKIN_PROGRAMS", "1000")) // 25
WORDS = [f"word{number}".encode() for number in range(12)]


def outcome(call):
    """What a call returns, or the class of its exception."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001
        return type(error)


def agree(call, *given):
    """The outcome of a call on both sides, that must be the same."""
    a, b = (outcome(lambda: call(*(pair[side] for pair in given))) for side in (0, 1))
    assert a == b, (call, a, b)
    return a


def made_minhashes(chance, count, kind):
    """Pairs of MinHashes: ours or theirs at random on our side, theirs on the other."""
    pairs = []
    for _ in range(count):
        words = chance.sample(WORDS, chance.randrange(1, 6))
        real = theirs.MinHash(**kind)
        real.update_batch(words)
        mine = chance.choice(BOTH).MinHash(**kind)
        mine.update_batch(words)
        if chance.random() < 0.3:
            mine, real = ours.LeanMinHash(mine), theirs.LeanMinHash(real)
        pairs.append((mine, real))
    return pairs


def looks(lsh):
    """All that can be seen of an LSH."""
    return (
        lsh.is_empty(),
        lsh.b,
        lsh.r,
        {key: list(lsh.keys[key]) for key in lsh.keys},
        [{bucket: set(table[bucket]) for bucket in table} for table in lsh.hashtables],
        [dict(counts) for counts in lsh.get_counts()],
    )


def union_of(minhashes):
    return type(minhashes[0]).union(*minhashes)


def step(chance, pair, other, minhashes, settings):
    """One random call on both sides."""
    key, m = (chance.choice("abcdefgh"),) * 2, chance.choice(minhashes)
    kind = chance.randrange(13)
    if kind < 4:
        agree(lambda lsh, key, m: lsh.insert(key, m), pair, key, m)
    elif kind == 4:
        agree(lambda lsh, key: lsh.remove(key), pair, key)
    elif kind == 5:
        agree(lambda lsh, key: key in lsh, pair, key)
    elif kind == 6:
        keys = (chance.sample("abcdefgh", 3),) * 2
        agree(lambda lsh, keys: [dict(c) for c in lsh.get_subset_counts(*keys)], pair, keys)
    elif kind == 7:
        for _ in range(chance.randrange(3)):
            agree(lambda lsh, m: lsh.add_to_query_buffer(m), pair, chance.choice(minhashes))
        agree(lambda lsh: set(lsh.collect_query_buffer()), pair)
    elif kind == 8:

        def session(lsh, key, m):
            with lsh.insertion_session() as inserting:
                inserting.insert(key, m)
            with lsh.deletion_session() as deleting:
                deleting.remove(key)

        agree(session, pair, key, m)
    elif kind == 9:
        number = (chance.randrange(5),) * 2
        agree(lambda lsh, number, m: lsh.insert(number, m), other, number, m)
    elif kind == 10:
        agree(lambda lsh, other: lsh.merge(other, check_overlap=True), pair, other)
    elif kind == 11:
        some = [chance.choice(minhashes) for _ in range(chance.randrange(2, 4))]
        united = tuple(outcome(lambda: union_of([m[side] for m in some])) for side in (0, 1))
        assert isinstance(united[0], type) == isinstance(united[1], type), united
        if not isinstance(united[0], type):
            assert np.array_equal(united[0].hashvalues, united[1].hashvalues)
            agree(lambda lsh, key, m: lsh.insert(key, m), pair, key, united)
    elif "hashfunc" not in settings:
        # What is unpickled goes on as what was pickled.
        again = tuple(pickle.loads(pickle.dumps(m)) for m in m)
        agree(lambda lsh, m: sorted(map(str, lsh.query(m))), pair, again)
        pair[0].__setstate__(pickle.loads(pickle.dumps(pair[0])).__getstate__())
    agree(lambda lsh, m: sorted(map(str, lsh.query(m))), pair, chance.choice(minhashes))


@pytest.mark.parametrize("part", range(25))
def test_random_programs_of_an_lsh_agree(part):
    for number in range(PROGRAMS):
        chance = random.Random(part * 10_000 + number)
        size = chance.choice((4, 16, 33, 64))
        settings = {"num_perm": size, "threshold": chance.choice((0.1, 0.4, 0.6))}
        if size < 33 or chance.random() < 0.5:
            settings["params"] = chance.choice(((2, 2), (4, 1), (2, 1)))
        if chance.random() < 0.2:
            settings["hashfunc"] = lambda data: sum(data) % 97
        settings["prepickle"] = chance.choice((None, False, True))
        kind = {
            "num_perm": size,
            "seed": chance.randrange(2**32),
            "scheme": chance.choice(("affine32", "affine64", "legacy")),
        }
        minhashes = made_minhashes(chance, 8, kind)
        wrong = chance.choice(({"num_perm": 5}, {"scheme": "legacy"}))
        minhashes += made_minhashes(chance, 1, {**kind, **wrong})
        pair = tuple(package.MinHashLSH(**settings) for package in BOTH)
        other = tuple(package.MinHashLSH(**settings) for package in BOTH)
        for _ in range(chance.randrange(5, 40)):
            step(chance, pair, other, minhashes, settings)
        agree(looks, pair)
        if "hashfunc" not in settings:
            assert looks(pickle.loads(pickle.dumps(pair[0]))) == looks(pair[0])


SETTINGS = [
    {"threshold": 1.5},
    {"threshold": -0.1},
    {"threshold": 0},
    {"threshold": 1},
    {"threshold": 0.01},
    {"threshold": 0.99, "num_perm": 16},
    {"num_perm": 1},
    {"num_perm": 2},
    {"num_perm": 2.5},
    {"weights": (0.5, 0.6)},
    {"weights": (-0.5, 1.5)},
    {"weights": (0.2, 0.8)},
    {"weights": (1.0, 0.0)},
    {"weights": (0.0, 1.0)},
    {"weights": (1,)},
    {"params": (3, 50)},
    {"params": (4, 32)},
    {"params": (1, 128)},
    {"params": (0, 4)},
    {"params": (2,)},
    {"storage_config": {"type": "other"}},
]


def test_a_key_that_is_pickled_need_not_be_hashable():
    for package in BOTH:
        lsh = package.MinHashLSH(num_perm=16, params=(4, 4), prepickle=True)
        m = package.MinHash(num_perm=16)
        m.update(b"a")
        for key in ([1, "a"], 1, True, "1"):
            lsh.insert(key, m)
        assert sorted(map(repr, lsh.query(m))) == ["'1'", "1", "True", "[1, 'a']"]
        lsh.remove([1, "a"])
        assert [1, "a"] not in lsh and 1 in lsh and True in lsh


def test_submodules_have_the_names_of_datasketch_s():
    import importlib

    names = {
        "minhash": ["MinHash"],
        "lean_minhash": ["LeanMinHash"],
        "lsh": ["MinHashLSH", "MinHashLSHInsertionSession", "MinHashLSHDeletionSession"],
        "lshforest": ["MinHashLSHForest"],
        "lshensemble": ["MinHashLSHEnsemble"],
        "b_bit_minhash": ["bBitMinHash"],
        "hashfunc": ["sha1_hash32", "sha1_hash64"],
    }
    for module, classes in names.items():
        ours_too = importlib.import_module(f"nearkin.datasketch.{module}")
        real = importlib.import_module(f"datasketch.{module}")
        for name in classes:
            assert hasattr(ours_too, name) and hasattr(real, name)


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_settings_give_the_same_bands_or_exceptions(number):
    def made(package):
        lsh = package.MinHashLSH(**SETTINGS[number])
        return lsh.b, lsh.r, lsh.h

    agree(made, BOTH)


def test_thresholds_give_the_same_bands():
    for size in (4, 16, 64, 128, 200):
        for threshold in (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9):
            for weights in ((0.5, 0.5), (0.1, 0.9), (0.7, 0.3)):

                def made(package, size=size, threshold=threshold, weights=weights):
                    lsh = package.MinHashLSH(threshold, size, weights)
                    return lsh.b, lsh.r

                agree(made, BOTH)


def test_a_key_inserted_twice_is_found_once_and_removed_whole():
    lsh = ours.MinHashLSH(num_perm=16, params=(4, 4))
    a, b = ours.MinHash.bulk([[b"a"], [b"b"]], num_perm=16)
    lsh.insert("k", a)
    lsh.insert("k", b, check_duplication=False)
    assert lsh.query(a) == lsh.query(b) == ["k"]
    assert len(lsh.keys["k"]) == 8
    lsh.remove("k")
    assert lsh.query(a) == lsh.query(b) == [] and lsh.is_empty()
    assert all(len(table) == 0 for table in lsh.hashtables)


def test_tables_that_grow_and_shrink_agree():
    chance, random_values = random.Random(4), np.random.default_rng(4)
    pair = tuple(package.MinHashLSH(num_perm=8, params=(4, 2)) for package in BOTH)
    # Of two values with 40 each: full buckets, and many of them.
    rows = random_values.integers(0, 40, (6_000, 8))
    rows[::3] = rows[0]
    minhashes = [
        tuple(package.MinHash(hashvalues=row, scheme="affine32") for package in BOTH)
        for row in rows
    ]
    there = []
    for key, both in enumerate(minhashes):
        for lsh, minhash in zip(pair, both, strict=True):
            lsh.insert(key, minhash)
        there.append(key)
        if key > 2_000 and chance.random() < 0.8:
            gone = there.pop(chance.randrange(len(there)))
            for lsh in pair:
                lsh.remove(gone)
        if key % 50 == 0:
            found = [sorted(lsh.query(m)) for lsh, m in zip(pair, both, strict=True)]
            assert found[0] == found[1] and len(set(found[0])) == len(found[0])
    for key in there:
        for lsh in pair:
            lsh.remove(key)
    assert pair[0].is_empty() and all(len(table) == 0 for table in pair[0].hashtables)
    assert all(pair[0].query(ours_) == [] for ours_, _ in minhashes[:100])


class Key:
    """A key whose end asks the LSH that it was in."""

    def __init__(self, lsh, minhash, asked):
        self.lsh, self.minhash, self.asked = lsh, minhash, asked

    def __del__(self):
        self.asked.append(self.lsh.query(self.minhash))


def test_keys_are_given_back():
    asked = []
    (m,) = ours.MinHash.bulk([[b"a"]], num_perm=16)
    lsh = ours.MinHashLSH(num_perm=16, params=(4, 4))
    lsh.insert(Key(lsh, m, asked), m)
    lsh.insert("b", m)
    (key,) = (key for key in lsh.keys if key != "b")
    assert len(lsh.query(m)) == 2
    lsh.remove(key)
    del key
    assert asked == [["b"]]
    # In a ring with the LSH, which only the garbage collector finds.
    lsh.insert(Key(lsh, m, asked), m)
    del lsh
    gc.collect()
    assert len(asked) == 2


@pytest.mark.parametrize("wrong", ({"num_perm": 8}, {"num_perm": 16, "scheme": "affine64"}))
def test_minhashes_that_do_not_fit_are_refused(wrong):
    for package in BOTH:
        lsh = package.MinHashLSH(num_perm=16, params=(4, 4))
        lsh.insert("a", package.MinHash(num_perm=16))
        for act in (lsh.query, lambda m, lsh=lsh: lsh.insert("b", m)):
            with pytest.raises(ValueError):
                act(package.MinHash(**wrong))
            with pytest.raises((AttributeError, TypeError)):
                act(5)
        assert "b" not in lsh and lsh.query(package.MinHash(num_perm=16)) == ["a"]


@pytest.mark.parametrize("part", range(10))
def test_random_forests_agree(part):
    for number in range(20):
        chance = random.Random(part * 10_000 + number)
        size, trees = chance.choice(((8, 2), (16, 4), (33, 8), (64, 1)))
        kind = {"num_perm": size, "seed": number}
        minhashes = made_minhashes(chance, 10, kind)
        pair = tuple(package.MinHashLSHForest(size, trees) for package in BOTH)
        for _ in range(chance.randrange(1, 25)):
            key = (chance.choice("abcdefgh"),) * 2
            agree(lambda f, key, m: f.add(key, m), pair, key, chance.choice(minhashes))
            agree(lambda f, key: list(f.get_minhash_hashvalues(key)), pair, key)
            agree(lambda f, key: key in f, pair, key)
            if chance.random() < 0.4:
                agree(lambda f: f.index(), pair)
            agree(lambda f: f.is_empty(), pair)
            m, many = chance.choice(minhashes), (chance.choice((0, 1, 2, 20)),) * 2
            # Which of equally near keys come first is not said, but how many do.
            agree(lambda f, m, k: len(f.query(m, k)), pair, m, many)
            agree(lambda f, m: sorted(f.query(m, 100)), pair, m)


@pytest.mark.parametrize("scheme", ("affine32", "affine64", "legacy"))
def test_b_bit_minhashes_agree(scheme):
    chance = random.Random(8)
    for b in (0, 1, 2, 3, 5, 8, 16, 20, 32, 33, -1):
        for size in (1, 5, 16, 100):
            kind = {"num_perm": size, "seed": 4, "scheme": scheme}
            one, other = made_minhashes(chance, 2, kind)

            def made(package, m, b=b):
                return package.bBitMinHash(m, b).__getstate__()

            state = agree(made, BOTH, one)
            if isinstance(state, type):
                continue
            back = ours.bBitMinHash.__new__(ours.bBitMinHash)
            back.__setstate__(state)
            assert back == ours.bBitMinHash(one[0], b) and back.bytesize() == len(state)
            for r in ((0.0, 0.0), (0.1, 0.3), (0.5, 0.0)):

                def jaccard(package, m, n, b=b, r=r):
                    first, second = package.bBitMinHash(m, b, r[0]), package.bBitMinHash(n, b, r[1])
                    return first.jaccard(second)

                a, c = (outcome(lambda: jaccard(BOTH[s], one[s], other[s])) for s in (0, 1))
                assert a == c if isinstance(c, type) else a == pytest.approx(c, abs=1e-12)


def test_pickles_of_both_packages_are_read():
    chance = random.Random(2)
    for scheme in ("affine32", "affine64", "legacy"):
        kind = {"num_perm": 16, "seed": 5, "scheme": scheme}
        m = theirs.MinHash(**kind)
        m.update_batch(WORDS[:3])
        for made in (m, theirs.LeanMinHash(m), theirs.bBitMinHash(m, 3)):
            read = ours.loads(pickle.dumps(made))
            assert type(read) is getattr(ours, type(made).__name__)
            assert read == made
            assert pickle.loads(ours.dumps(read)) == made
        for hashfunc in (None, sum):
            lsh = theirs.MinHashLSH(num_perm=16, params=(4, 2), hashfunc=hashfunc)
            forest = theirs.MinHashLSHForest(16, 4)
            for key, (_, one) in zip("abcdef", made_minhashes(chance, 6, kind), strict=True):
                lsh.insert(key, one)
                forest.add(key, one)
            forest.index()
            read = ours.loads(pickle.dumps(lsh))
            assert isinstance(read, ours.MinHashLSH) and looks(read) == looks(lsh)
            assert sorted(read.query(one)) == sorted(lsh.query(one))
            read_forest = ours.loads(pickle.dumps(forest))
            assert sorted(read_forest.query(one, 9)) == sorted(forest.query(one, 9))
            back = pickle.loads(ours.dumps(read_forest))
            assert type(back) is theirs.MinHashLSHForest
            assert sorted(back.query(one, 9)) == sorted(forest.query(one, 9))
            with pytest.raises(TypeError):
                ours.dumps(read)
