"""nearkin.datasketch on disk, the ensemble, scores, and coming over from datasketch."""

import pickle
import random

import pytest

pytest.importorskip("numpy")
theirs = pytest.importorskip("datasketch", minversion="2.0.0")

import nearkin as nk  # noqa: E402
from nearkin import datasketch as ours  # noqa: E402

WORDS = [f"word{number}".encode() for number in range(40)]
SCHEMES = ("affine32", "affine64", "legacy")


def minhashes(chance, count, **kind):
    made = []
    for _ in range(count):
        begin = chance.randrange(30)
        m = theirs.MinHash(**kind)
        m.update_batch(WORDS[begin : begin + chance.randrange(1, 10)])
        made.append(m)
    return made


def at(path, **settings):
    return ours.MinHashLSH(**settings, storage_config={"type": "nearkin", "path": path})


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_lsh_on_disk_answers_as_datasketch_does_and_stays(tmp_path, scheme):
    chance = random.Random(scheme)
    settings = {"num_perm": 32, "params": (8, 3)}
    made = minhashes(chance, 200, num_perm=32, scheme=scheme)
    keys = [*range(70), *(f"k{n}" for n in range(70)), *(b"%d" % n for n in range(60))]
    real, stored = theirs.MinHashLSH(**settings), at(tmp_path / "lsh", **settings)
    assert isinstance(stored, ours.MinHashLSH) and stored.is_empty() and stored.query(made[0]) == []
    for key, m in list(zip(keys, made))[:20]:
        real.insert(key, m)
        stored.insert(key, m)
    with stored.insertion_session(buffer_size=33) as session:
        for key, m in list(zip(keys, made))[20:]:
            real.insert(key, m)
            session.insert(key, m)
    for key in chance.sample(keys, 30):
        real.remove(key)
        stored.remove(key)

    def check(stored):
        found = 0
        for m in made:
            assert set(stored.query(m)) == set(real.query(m))
            scored = stored.query_scored(m)
            found += len(scored)
            assert [s for _, s in scored] == sorted((s for _, s in scored), reverse=True)
            for key, similarity in scored:
                others = [other for k, other in zip(keys, made) if k == key]
                assert similarity == pytest.approx(m.jaccard(others[0]), abs=1e-12)
        assert found > 400
        expected = {k: list(real.keys[k]) for k in real.keys}
        assert {k: stored.keys[k] for k in stored.keys} == expected
        counts = [dict(counts) for counts in real.get_counts()]
        assert [dict(counts) for counts in stored.get_counts()] == counts

    check(stored)
    stored.close()
    with at(tmp_path / "lsh", **settings) as again:
        check(again)
        with pytest.raises(ValueError):
            again.remove("none")
        with pytest.raises(ValueError):
            again.insert(next(iter(again.keys)), made[0])
        other = {"affine32": "affine64"}.get(scheme, "affine32")
        with pytest.raises(ValueError):
            again.insert("other", theirs.MinHash(num_perm=32, scheme=other))
    with pytest.raises(ValueError, match="8 bands of 3"):
        at(tmp_path / "lsh", num_perm=32, params=(4, 8))


def test_a_stored_lsh_refuses_unsupported_settings(tmp_path):
    for bad in (
        {"hashfunc": sum},
        {"num_perm": 8, "params": (2, 2)},
        {"num_perm": 2048, "params": (2, 2)},
    ):
        with pytest.raises(ValueError):
            at(tmp_path / "x", **bad)
    with pytest.raises(ValueError):
        ours.MinHashLSH(storage_config={"type": "nearkin"})
    lsh = at(tmp_path / "x", num_perm=16, params=(4, 4))
    with pytest.raises(TypeError):
        lsh.insert((1, 2), theirs.MinHash(num_perm=16))
    with pytest.raises(TypeError):
        pickle.dumps(lsh)
    assert not (tmp_path / "x").exists()


def test_integers_of_numpy_and_pandas_are_keys_on_disk(tmp_path):
    np = pytest.importorskip("numpy")
    m = theirs.MinHash(num_perm=16)
    m.update(b"a")
    with at(tmp_path / "ints", num_perm=16, params=(4, 3)) as lsh:
        for key in np.arange(3, dtype=np.int32):
            lsh.insert(key, m)
        assert np.int64(2) in lsh and sorted(lsh.query(m)) == [0, 1, 2]
        lsh.remove(np.uint8(1))
        assert sorted(lsh.query(m)) == [0, 2]


def test_indexes_on_disk_are_merged(tmp_path):
    made = minhashes(random.Random(1), 20, num_perm=16)
    one, other = (at(tmp_path / name, num_perm=16, params=(4, 3)) for name in "ab")
    for number, m in enumerate(made):
        (one, other)[number % 2].insert(number, m)
    one.merge(other, check_overlap=True)
    assert set(one.keys) == set(range(20))
    with pytest.raises(ValueError):
        one.merge(other, check_overlap=True)
    with pytest.raises(ValueError):
        one.merge(ours.MinHashLSH(num_perm=16, params=(4, 3)))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_scores_in_memory_are_those_of_the_rows_of_the_bands(scheme):
    made = minhashes(random.Random(3), 60, num_perm=24, scheme=scheme)
    lsh = ours.MinHashLSH(num_perm=24, params=(8, 3))
    for key, m in enumerate(made):
        lsh.insert(key, m)
    for m in made:
        scored = lsh.query_scored(m)
        assert {key for key, _ in scored} == set(lsh.query(m)) and scored[0][1] == 1.0
        for key, similarity in scored:
            assert similarity == pytest.approx(m.jaccard(made[key]), abs=1e-12)
    with pytest.raises(ValueError):
        ours.MinHashLSH(num_perm=24, params=(8, 3), hashfunc=sum).query_scored(made[0])


@pytest.mark.parametrize("kind", ("object", "own", "bytes", "file", "forest"))
def test_an_lsh_comes_over_in_one_call(tmp_path, kind):
    made = minhashes(random.Random(4), 80, num_perm=64, scheme="affine64")
    package = ours if kind == "own" else theirs
    source = package.MinHashLSH(num_perm=64, params=(12, 4))
    if kind == "forest":
        source = theirs.MinHashLSHForest(64, 16)
    for number, m in enumerate(made):
        (source.add if kind == "forest" else source.insert)(f"k{number}", m)
    given = source
    if kind in ("bytes", "file"):
        given = pickle.dumps(source)
    if kind == "file":
        (tmp_path / "lsh.pickle").write_bytes(given)
        given = tmp_path / "lsh.pickle"
    with nk.import_datasketch(given, tmp_path / "ix") as ix:
        assert len(ix) == 80 and ix.params.lane_bits == 64
        assert ix.params.scheme == "external:datasketch-affine64"
        bands, rows = ix.params.bands, ix.params.rows_per_band
        for m in made:
            query = nk.Signature.from_rows(ix.params, m.hashvalues[: bands * rows].tolist())
            found = {match.key for match in ix.query(query, threshold=0)}
            if kind != "forest":
                assert found == set(source.query(m))
            assert len(found) > 0
        assert ix.signature("k7").rows == made[7].hashvalues[: bands * rows].tolist()


@pytest.mark.parametrize("package", [ours, theirs])
def test_of_a_key_inserted_twice_the_newest_comes_over(tmp_path, package):
    old, new = minhashes(random.Random(9), 2, num_perm=64, scheme="affine64")
    lsh = package.MinHashLSH(num_perm=64, params=(12, 4))
    lsh.insert("a", old)
    lsh.insert("a", new, check_duplication=False)
    with nk.import_datasketch(lsh, tmp_path / "ix") as ix:
        assert ix.signature("a").rows == new.hashvalues[:48].tolist()


def test_import_refuses_unsupported_keys(tmp_path):
    m = theirs.MinHash(num_perm=64)
    for keys in ((1, "1"), ((1, 2),), ("a", b"a")):
        lsh = theirs.MinHashLSH(num_perm=64, params=(8, 4))
        for key in keys:
            lsh.insert(key, m)
        with pytest.raises((TypeError, ValueError)):
            nk.import_datasketch(lsh, tmp_path / "x")
    with pytest.raises(ValueError):
        nk.import_datasketch(theirs.MinHashLSH(num_perm=64, params=(8, 4), hashfunc=sum), "x")
    with pytest.raises(ValueError):
        nk.import_datasketch(theirs.MinHashLSH(num_perm=64, params=(8, 4)), tmp_path / "x")
    with pytest.raises(TypeError):
        nk.import_datasketch(m, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_bands_of_an_ensemble_are_those_of_datasketch():
    for threshold in (0.1, 0.3, 0.5, 0.7, 0.9, 1.0):
        for size, m in ((16, 2), (64, 8), (128, 5)):
            for weights in ((0.5, 0.5), (0.2, 0.8)):
                settings = {"threshold": threshold, "num_perm": size, "m": m, "weights": weights}
                one, other = (p.MinHashLSHEnsemble(**settings, num_part=2) for p in (ours, theirs))
                assert one.params.tolist() == other.params.tolist(), settings


@pytest.mark.parametrize("part", range(4))
def test_an_ensemble_equals_datasketch_on_the_same_partitions(part):
    for number in range(15):
        chance = random.Random(part * 1_000 + number)
        few = chance.sample(range(1, 30), chance.randrange(1, 6))
        entries = []
        for key in range(40):
            size = chance.choice(few)
            m = theirs.MinHash(num_perm=32)
            begin = chance.randrange(10)
            m.update_batch(WORDS[begin : begin + size])
            entries.append((key, m, size))
        settings = {"threshold": chance.choice((0.3, 0.6, 0.9)), "num_perm": 32, "m": 4}
        pair = [p.MinHashLSHEnsemble(**settings, num_part=6) for p in (ours, theirs)]
        for ensemble in pair:
            assert ensemble.is_empty()
            ensemble.index(entries)
        assert [list(map(int, filter(None, e.uppers))) for e in pair[:1]] == [sorted(set(
            size for _, _, size in entries))]
        for _, m, size in entries:
            for asked in (size, size + 5, 3 * size):
                found = [set(ensemble.query(m, asked)) for ensemble in pair]
                assert found[0] == found[1], (size, asked)


def test_partitions_have_the_fewest_false_positives():
    from itertools import combinations

    from nearkin.datasketch.lshensemble import _partitions

    def cost(parts, sizes):
        return sum((u - x) / u for low, u in parts for x in sizes if low <= x <= u)

    for number in range(60):
        chance = random.Random(number)
        sizes = [chance.randrange(1, 40) for _ in range(chance.randrange(1, 25))]
        count, distinct = chance.randrange(1, 5), sorted(set(sizes))
        found = _partitions(sizes, count)
        assert len(found) == min(count, len(distinct))
        assert [low for low, _ in found][0] == distinct[0] and found[-1][1] == distinct[-1]
        best = min(
            cost(
                [
                    (distinct[begin], distinct[end - 1])
                    for begin, end in zip((0, *cuts), (*cuts, len(distinct)))
                ],
                sizes,
            )
            for cuts in combinations(range(1, len(distinct)), len(found) - 1)
        )
        assert cost(found, sizes) == pytest.approx(best)


def test_an_ensemble_refuses_what_datasketch_refuses():
    m = theirs.MinHash(num_perm=32)
    for settings in (
        {"threshold": 1.5}, {"num_perm": 1}, {"num_part": 0}, {"m": 1}, {"m": 300},
        {"weights": (0.5, 0.6)}, {"weights": (1, 2, 3)},
    ):  # fmt: skip
        for package in (ours, theirs):
            with pytest.raises(ValueError):
                package.MinHashLSHEnsemble(**settings)
    for package in (ours, theirs):
        ensemble = package.MinHashLSHEnsemble(num_perm=32)
        with pytest.raises(ValueError):
            ensemble.index([])
        ensemble.index([("a", m, 3)])
        assert "a" in ensemble and "b" not in ensemble and not ensemble.is_empty()
        with pytest.raises(ValueError):
            ensemble.index([("b", m, 3)])
        with pytest.raises(ValueError):
            list(ensemble.query(theirs.MinHash(num_perm=16), 3))
        with pytest.raises(ZeroDivisionError):
            list(ensemble.query(m, 0))
