"""nearkin.datasketch against datasketch itself, with random seeds, schemes and sizes."""

import copy
import pickle
import random
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
theirs = pytest.importorskip("datasketch", minversion="2.0.0")

from nearkin import datasketch as ours  # noqa: E402

SCHEMES = ("affine32", "affine64", "legacy")
BOTH = (ours, theirs)


def made_items(chance, most=30):
    words = [chance.randbytes(chance.choice((0, 1, 5, 70, 200))) for _ in range(20)]
    return [chance.choice(words) for _ in range(chance.randrange(most))]


def made_kind(chance):
    seed = chance.choice((0, 1, 42, 2**32 - 1, chance.randrange(2**32)))
    return {
        "num_perm": chance.choice((1, 2, 7, 16, 128, 256, 700)),
        "seed": seed,
        "scheme": chance.choice((*SCHEMES, None)),
    }


def outcome(call):
    """What a call returns, or the class of its exception."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001
        return type(error)


def same(a, b):
    """Whether two MinHashes have the same state, types included."""
    assert (a.scheme, a.seed, len(a)) == (b.scheme, b.seed, len(b))
    assert a.hashvalues.dtype == b.hashvalues.dtype
    assert a.hashvalues.tobytes() == b.hashvalues.tobytes()


@pytest.mark.parametrize("part", range(10))
def test_hash_values_and_permutations_are_the_same(part):
    for number in range(30):
        chance = random.Random(part * 1000 + number)
        kind, items = made_kind(chance), made_items(chance)
        a, b = (package.MinHash(**kind) for package in BOTH)
        assert a.permutations.dtype == b.permutations.dtype
        assert a.permutations.tobytes() == b.permutations.tobytes()
        for m in (a, b):
            m.update_batch(items)
            for item in items[:2]:
                m.update(item + b"x")
        same(a, b)
        assert (a.count(), a.is_empty()) == (b.count(), b.is_empty())
        a, b = (package.MinHash.bulk([items, [], items[:3]], **kind) for package in BOTH)
        for one, other in zip(a, b, strict=True):
            same(one, other)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_hash_function_of_the_caller_is_used(scheme):
    width = 64 if scheme == "affine64" else 32

    def hashed(item):
        return hash((item, "salt")) % 2**width

    items = [random.Random(3).randrange(10**9) for _ in range(50)]
    a, b = (package.MinHash(64, 9, hashfunc=hashed, scheme=scheme) for package in BOTH)
    for m in (a, b):
        m.update_batch(items)
        m.update("text")
    same(a, b)
    rows = [items[:5], [], items[5:]]
    for one, other in zip(
        ours.MinHash.bulk(rows, num_perm=64, hashfunc=hashed, scheme=scheme),
        theirs.MinHash.generator(rows, num_perm=64, hashfunc=hashed, scheme=scheme),
        strict=True,
    ):
        same(one, other)


def test_hash_functions_are_those_of_datasketch():
    for data in (b"", b"a", bytearray(b"b"), memoryview(b"abc" * 50), np.int64(7)):
        assert ours.sha1_hash32(data) == theirs.sha1_hash32(data)
        assert ours.sha1_hash64(data) == theirs.hashfunc.sha1_hash64(data)


WRONG = [
    lambda p, m: p.MinHash(num_perm=0),
    lambda p, m: p.MinHash(num_perm=-1),
    lambda p, m: p.MinHash(num_perm=2.5),
    lambda p, m: p.MinHash(num_perm=1 << 33),
    lambda p, m: p.MinHash(seed=-1),
    lambda p, m: p.MinHash(seed=2**32),
    lambda p, m: p.MinHash(seed=1.5),
    lambda p, m: p.MinHash(scheme="other"),
    lambda p, m: p.MinHash(hashvalues=[1, 2]),
    lambda p, m: p.MinHash(hashvalues=[1, 2**32], scheme="affine32"),
    lambda p, m: p.MinHash(hashvalues=[1, -1], scheme="affine32"),
    lambda p, m: p.MinHash(permutations=m.permutations),
    lambda p, m: p.MinHash(num_perm=5, permutations=m.permutations, scheme="affine32"),
    lambda p, m: p.MinHash(num_perm=2, permutations=([1, 2], [3, 4]), scheme="affine32"),
    lambda p, m: p.MinHash(hashfunc=5),
    lambda p, m: p.MinHash(gpu_mode="always").update_batch([b"a"]),
    lambda p, m: p.MinHash(hashfunc=lambda _: 2**32).update(1),
    lambda p, m: p.MinHash(hashfunc=lambda _: -1).update(1),
    lambda p, m: p.MinHash(hashfunc=lambda _: "x").update(1),
    lambda p, m: p.MinHash(hashfunc=lambda _: 2**64, scheme="affine64").update_batch([1]),
    lambda p, m: p.MinHash.bulk(5),
    lambda p, m: p.MinHash.union(m),
    lambda p, m: p.MinHash.union(m, p.MinHash(seed=2)),
    lambda p, m: p.MinHash.union(m, p.MinHash(scheme="legacy")),
    lambda p, m: m.update("text"),
    lambda p, m: m.update_batch([b"a", "text"]),
    lambda p, m: m.merge(p.MinHash(seed=2)),
    lambda p, m: m.merge(p.MinHash(num_perm=2)),
    lambda p, m: m.jaccard(p.MinHash(scheme="legacy")),
    lambda p, m: m.jaccard(5),
    lambda p, m: hash(m),
    lambda p, m: p.LeanMinHash(),
    lambda p, m: p.LeanMinHash(seed=1),
    lambda p, m: p.LeanMinHash(seed=1, hashvalues=[1]),
    lambda p, m: p.LeanMinHash(m).update(b"a"),
    lambda p, m: p.LeanMinHash(m).update_batch([b"a"]),
    lambda p, m: p.LeanMinHash(m).permutations,
    lambda p, m: p.LeanMinHash(m).serialize(bytearray(3)),
    lambda p, m: p.LeanMinHash.deserialize(b"abc"),
    lambda p, m: p.LeanMinHash.deserialize(b"\1" + bytes(7) + b"\4\0\0\0"),
    lambda p, m: p.MinHash.union(p.LeanMinHash(m), m),
]


@pytest.mark.parametrize("wrong", range(len(WRONG)))
def test_the_same_calls_are_refused_with_the_same_exceptions(wrong):
    a, b = (outcome(lambda: WRONG[wrong](package, package.MinHash())) for package in BOTH)
    assert a == b and isinstance(a, type)


def test_objects_of_both_packages_mix():
    chance = random.Random(5)
    a, b = ours.MinHash(64), theirs.MinHash(64)
    for m in (a, b):
        m.update_batch([b"a", b"b"])
    other = theirs.MinHash(64)
    other.update_batch(made_items(chance))
    assert a.jaccard(b) == b.jaccard(a) == 1.0 and a == b
    assert a.jaccard(other) == b.jaccard(other)
    same(ours.MinHash.union(a, other), theirs.MinHash.union(b, other))
    same(ours.LeanMinHash(b), theirs.LeanMinHash(a))
    a.merge(other)
    b.merge(other)
    same(a, b)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("byteorder", "@=<>!")
def test_serialised_forms_are_read_both_ways(scheme, byteorder):
    for size in (1, 3, 64):
        leans = []
        for package in BOTH:
            m = package.MinHash(size, seed=77, scheme=scheme)
            m.update_batch([b"a", b"b"])
            leans.append(package.LeanMinHash(m))
        buffers = [bytearray(lean.bytesize(byteorder)) for lean in leans]
        for lean, buffer in zip(leans, buffers, strict=True):
            lean.serialize(buffer, byteorder)
        assert buffers[0] == buffers[1]
        same(ours.LeanMinHash.deserialize(buffers[1], byteorder), leans[1])
        same(theirs.LeanMinHash.deserialize(buffers[0], byteorder), leans[0])
        assert leans[0].__getstate__() == leans[1].__getstate__()


def test_pickles_and_copies_keep_everything():
    for scheme in SCHEMES:
        m = ours.MinHash(32, seed=6, scheme=scheme)
        m.update(b"a")
        lean = ours.LeanMinHash(m)
        for made in (pickle.loads(pickle.dumps(m)), m.copy(), copy.copy(m), copy.deepcopy(m)):
            assert made == m
            made.update(b"b")
            assert made != m and made.jaccard(m) < 1.0
        assert pickle.loads(pickle.dumps(lean)) == lean == lean.copy()
        assert hash(pickle.loads(pickle.dumps(lean))) == hash(lean)
        m.clear()
        assert m.is_empty() and not lean.is_empty()


def test_the_state_of_a_pickle_is_that_of_datasketch():
    m = theirs.MinHash(32, seed=6)
    m.update(b"a")
    mine = ours.MinHash.__new__(ours.MinHash)
    mine.__setstate__(m.__getstate__())
    same(mine, m)
    for one in (m, mine):
        one.update(b"b")
    same(mine, m)
    back = theirs.MinHash.__new__(theirs.MinHash)
    back.__setstate__(mine.__getstate__())
    same(back, mine)
    before_2 = {name: value for name, value in m.__getstate__().items() if name != "scheme"}
    mine.__setstate__({**before_2, "permutations": m.permutations.astype("u8")})
    assert mine.scheme == "legacy"


def test_the_package_is_typed(tmp_path):
    pytest.importorskip("mypy")
    # A copy: in site-packages other packages would seem to shadow the standard library's.
    shutil.copytree(Path(ours.__file__).parents[1], tmp_path / "nearkin")
    files = [str(file) for file in (tmp_path / "nearkin" / "datasketch").glob("*.py")]
    options = ["--strict", "--ignore-missing-imports"]
    command = [sys.executable, "-m", "mypy", *options, *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert "Success" in done.stdout, done.stdout


def test_a_union_keeps_the_hash_function():
    def made(package, numbers):
        m = package.MinHash(num_perm=32, hashfunc=zlib.crc32)
        m.update_batch([b"%d" % number for number in numbers])
        return m

    values = []
    for package in (ours, theirs):
        union = package.MinHash.union(made(package, range(50)), made(package, range(50, 100)))
        union.update_batch([b"%d" % number for number in range(100, 200)])
        copied = pickle.loads(pickle.dumps(union))
        copied.update(b"200")
        assert union.jaccard(made(package, range(200))) == 1.0
        values.append((union.hashvalues.tolist(), copied.hashvalues.tolist()))
    assert values[0] == values[1]
