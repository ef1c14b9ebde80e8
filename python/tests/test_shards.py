"""The steps of a cluster, one after the other, against an index of the same documents."""

import random
from collections import defaultdict
from itertools import combinations

import pyarrow as pa
import pytest

import nearkin as nk
from nearkin import shards

PARAMS = nk.Params(0.7, shingles="words:1", hashes=64, bands=(16, 4))


def corpus(count):
    rng = random.Random(3)
    texts = []
    for _ in range(count):
        base = [f"w{rng.randrange(12)}x{word}" for word in range(4)]
        family = rng.randrange(30)
        words = [f"f{family}w{word}" for word in range(30)]
        for _ in range(rng.choice([0, 0, 1, 6])):
            words[rng.randrange(30)] = rng.choice(base)
        texts.append(" ".join(words))
    return texts


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    texts = corpus(250)
    keys = [f"k{at:03}" for at in range(len(texts))]
    index = nk.Index(tmp_path_factory.mktemp("world") / "ix", PARAMS)
    index.add(keys, texts)
    yield keys, nk.Sketcher(PARAMS).texts(texts), index
    index.close()


def candidates(signatures, documents, parts):
    """The rows of the band join of each part, together."""
    rows = []
    for part in range(parts):
        chosen = [at for at in documents if at % parts == part]
        batch = pa.array([signatures[at].to_bytes() for at in chosen], pa.binary())
        entries = shards.band_entries(PARAMS, batch, chosen)
        rows += zip(entries["band"], entries["band_key"], entries["document"], strict=True)
    return rows


@pytest.mark.parametrize("parts", [1, 2, 7])
@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_the_steps_find_the_pairs_and_clusters_of_an_index(world, parts, threshold):
    keys, signatures, index = world
    rows = candidates(signatures, range(len(keys)), parts)
    data = [signatures[row[2]].to_bytes() for row in rows]
    bands, band_keys, documents = zip(*rows, strict=True)
    found = shards.verify_buckets(PARAMS, bands, band_keys, documents, data, threshold)
    pairs = sorted((keys[a], keys[b], s) for a, b, s in zip(found["a"], found["b"], found["similarity"], strict=True))
    expected = sorted(index.pairs(threshold).read_all().rows())
    assert len(expected) > 300
    assert pairs == [row[:3] for row in expected]

    nodes = shards.components([a for a, _, _ in pairs], [b for _, b, _ in pairs])
    members = defaultdict(list)
    for node, component in nodes:
        members[component].append(node)
    clusters = defaultdict(list)
    table = index.clusters(threshold).read_all()
    for cluster, key in zip(table["cluster"], table["key"], strict=True):
        clusters[cluster].append(key)
    assert sorted(map(sorted, members.values())) == sorted(map(sorted, clusters.values()))
    assert all(component == min(keys) for component, keys in members.items())


def test_blocks_of_a_bucket_are_the_bucket(world):
    keys, signatures, _ = world
    rows = [row for row in candidates(signatures, range(len(keys)), 1)]
    buckets = defaultdict(list)
    for band, band_key, document in rows:
        buckets[band, band_key].append(document)
    (band, band_key), bucket = max(buckets.items(), key=lambda item: len(item[1]))
    data = {at: signatures[at].to_bytes() for at in bucket}
    whole = shards.verify_buckets(
        PARAMS, [band] * len(bucket), [band_key] * len(bucket), bucket, [data[at] for at in bucket], 0.5
    ).rows()
    half = len(bucket) // 2
    left, right = bucket[:half], bucket[half:]
    parts = shards.verify_between(
        PARAMS, band, left, [data[at] for at in left], right, [data[at] for at in right], 0.5
    ).rows()
    for part in (left, right):
        columns = [band] * len(part), [band_key] * len(part), part, [data[at] for at in part]
        parts += shards.verify_buckets(PARAMS, *columns, 0.5).rows()
    assert sorted(parts) == sorted(whole) and len(whole) > 10
    both = list(combinations(bucket, 2))
    told = shards.verify(
        PARAMS, [band] * len(both), [data[a] for a, _ in both], [data[b] for _, b in both], 0.5
    )
    chosen = [(min(both[row]), max(both[row]), rows) for row, rows, _ in told]
    assert sorted(chosen) == sorted(row[:3] for row in whole)


def test_rounds_end_with_the_components():
    rng = random.Random(5)
    edges = [(rng.randrange(300), rng.randrange(300)) for _ in range(280)]
    expected = shards.components([a for a, _ in edges], [b for _, b in edges]).rows()

    def by_part(step, edges, parts):
        groups = defaultdict(list)
        for node, neighbour in edges:
            groups[node % parts].append((node, neighbour))
        made = set()
        for group in groups.values():
            made.update(step([a for a, _ in group], [b for _, b in group]).rows())
        return sorted(made)

    now = edges
    for _ in range(30):
        large = by_part(shards.large_star, [*now, *((b, a) for a, b in now)], 3)
        after = by_part(shards.small_star, large, 3)
        if after == now:
            break
        now = after
    assert shards.are_stars([a for a, _ in now], [b for _, b in now])
    assert now == [(a, b) for a, b in expected if a != b]
    assert not shards.are_stars([3, 2], [2, 1])


def test_dropped_is_what_dedup_drops(world):
    keys, signatures, index = world
    pairs = index.pairs(0.7).read_all()
    told = nk.dedup(signatures, params=PARAMS, annotate=True)
    gone = shards.dropped(pairs["a"], pairs["b"])
    assert gone["node"] == [key for key, row in zip(keys, told, strict=True) if not row.kept]
    assert len(gone) > 50 and not set(gone["node"]) & set(gone["kept"])
    assert shards.dropped([1, 3, 4], [2, 2, 3]).rows() == [(2, 1), (4, 3)]


def test_nodes_are_numbers_or_keys():
    assert shards.components([10, 9], [9, 2]).rows() == [(2, 2), (9, 2), (10, 2)]
    assert shards.components(["b", "c"], ["a", "b"]).rows() == [("a", "a"), ("b", "a"), ("c", "a")]
    of_bytes = shards.components([b"\xff"], [b"a"], keys="bytes")
    assert of_bytes.rows() == [(b"a", b"a"), (b"\xff", b"a")]
    as_arrow = pa.table(shards.components(pa.array([1 << 40]), pa.array([7])))
    assert as_arrow.to_pydict() == {"node": [7, 1 << 40], "component": [7, 7]}
    assert shards.components([], []).rows() == []
    with pytest.raises(TypeError, match="both"):
        shards.components([1], ["a"])
    with pytest.raises(nk.InvalidError, match="UTF-8"):
        shards.components([b"\xff"], [b"a"])
    with pytest.raises(ValueError, match="2 rows, but 1 values"):
        shards.components([1, 2], [1])


def test_a_document_without_a_signature_has_no_rows():
    signatures = nk.Sketcher(PARAMS).texts(["a b c", None, ""])
    assert set(shards.band_entries(PARAMS, signatures, [7, 8, 9])["document"]) == {7}
    stored = [signatures[0].to_bytes(), None]
    some = shards.band_entries(PARAMS, stored, [7, 8], bands=(3, 5))
    assert some["band"] == [3, 4]
    with pytest.raises(ValueError, match="signatures.1. is null"):
        shards.verify(PARAMS, [0, 0], stored, stored, 0.5)


def test_the_steps_refuse_invalid_columns():
    one = nk.Sketcher(PARAMS).texts(["a b c"])
    with pytest.raises(ValueError, match="signatures must have one value per row: 2 rows, but 1 values"):
        shards.band_entries(PARAMS, one, [1, 2])
    with pytest.raises(ValueError, match="has 3 bytes, not 64"):
        shards.band_entries(PARAMS, [b"abc"], [1])
    with pytest.raises(nk.InvalidError, match="bands"):
        shards.band_entries(PARAMS, one, [1], bands=(0, 99))
    with pytest.raises(nk.InvalidError, match="no band 16"):
        shards.verify(PARAMS, [16], one, one, 0.5)
    with pytest.raises(nk.InvalidError, match="threshold"):
        shards.verify(PARAMS, [0], one, one, 1.5)
    with pytest.raises(ValueError, match="documents.0. is null"):
        shards.band_entries(PARAMS, one, pa.array([None], pa.int64()))


def test_keys_belong_to_shards():
    table = shards.shard_of(["p1", "p2", None], 7)
    assert table["shard"][2] is None and all(0 <= shard < 7 for shard in table["shard"][:2])
    assert shards.shard_of([b"p1"], 7)["shard"] == table["shard"][:1]


def test_candidates_by_containment_are_those_of_an_index(world):
    keys, signatures, index = world
    rows = candidates(signatures, range(len(keys)), 1)
    given = nk.Signatures.from_bytes(
        PARAMS,
        b"".join(signatures[row[2]].to_bytes() for row in rows),
        [signatures[row[2]].shingle_count for row in rows],
    )
    bands, band_keys, documents = zip(*rows, strict=True)
    found = shards.verify_buckets(PARAMS, bands, band_keys, documents, given, 0.0, contained=0.9)
    expected = sorted(index.pairs(contained=0.9).read_all().rows())
    assert sorted((keys[a], keys[b], *rest) for a, b, _, *rest in found) == expected
    assert 300 < len(expected) < len(index.pairs(0.0).read_all())
    # Edges connect what pairs connect.
    edges = shards.connect_buckets(PARAMS, bands, band_keys, documents, given, 0.0, contained=0.9)
    of_pairs = shards.components(found["a"], found["b"]).rows()
    assert shards.components(edges["a"], edges["b"]).rows() == of_pairs
    # For verification, the search goes below the minima.
    arguments = (PARAMS, bands, band_keys, documents, given, 0.8)
    usual = set(shards.verify_buckets(*arguments).rows())
    wide = set(shards.verify_buckets(*arguments, for_verification=True).rows())
    assert usual < wide and min(row[3] for row in wide) < 0.75
    with pytest.raises(nk.InvalidError, match="counts of shingles"):
        shards.verify_buckets(PARAMS, [0], [0], [0], [bytes(64)], 0.5, contained=0.5)


def test_shingles_are_compared_exactly():
    rng, bag = random.Random(11), nk.Params(0.5, shingles="words:1", bag=True)
    texts = [" ".join(rng.choices("abcdefghijklmnop", k=rng.randrange(1, 30))) for _ in range(300)]
    for params, collect in ((PARAMS, set), (bag, list)):
        made = shards.shingles(params, [*texts, None, "", " "])
        assert made["signature"][:300] == [s.to_bytes() for s in nk.Sketcher(params).texts(texts)]
        assert made["shingles"][300:] == [None] * 3 == made["signature"][300:]
        hashes = made["shingles"][:300]
        assert [len(one) // 8 for one in hashes] == [len(collect(text.split())) for text in texts]
        others = hashes[1:] + hashes[:1]
        all_of = shards.compare(params, hashes, others, 0.0).rows()
        for row, similarity, contained, own, other, shared in all_of:
            a, b = (collect(texts[(row + at) % 300].split()) for at in (0, 1))
            both = sum(min(a.count(x), b.count(x)) for x in set(a)) if collect is list else len(a & b)
            assert (own, other, shared) == (len(a), len(b), both)
            assert similarity == shared / (own + other - shared)
            assert contained == shared / min(own, other)
        assert len(all_of) == 300
        for threshold, least in ((0.5, None), (0.0, 0.8), (0.3, 0.6)):
            some = [row for row in all_of if row[1] >= threshold and row[2] >= (least or 0)]
            assert shards.compare(params, hashes, others, threshold, contained=least).rows() == some
    column = pa.array(hashes, pa.large_binary())
    assert shards.compare(bag, column, column, 1.0).rows()[7][1:3] == (1.0, 1.0)
    for given, message in (
        (([bytes(7)], [b""], 0.5), r"shingles\[0\] has 7 bytes"),
        (([b""], [None], 0.5), r"other_shingles\[0\] is null"),
        (([b""], [], 0.5), "one value per row"),
        (([bytes(8) + b"\1" * 8, b"\1" * 8 + bytes(8)], [b"", b""], 0.5), "ascending"),
        (([], [], 1.5), "threshold must be from 0 to 1"),
    ):
        with pytest.raises(nk.InvalidError, match=message):
            shards.compare(bag, *given)
    with pytest.raises(nk.InvalidError, match="containment must be from 0 to 1"):
        shards.compare(bag, [], [], 0.5, contained=-1.0)
    with pytest.raises(TypeError, match="shingles must be bytes"):
        shards.compare(bag, pa.array([1]), pa.array([2]), 0.5)


def test_a_query_for_verification_goes_below_the_threshold(world):
    _, signatures, index = world
    usual = set(index.query_many(signatures, threshold=0.8).rows())
    wide = set(index.query_many(signatures, threshold=0.8, for_verification=True).rows())
    assert usual < wide and 0.5 < min(row[2] for row in wide) < 0.75
