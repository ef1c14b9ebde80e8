"""Exact comparison and containment on a cluster say what one machine says."""

import random

import pytest
from corpora import CORPORA, SMALL, WORDS, of_given_bands
from exactly import EVIDENCE, exact_pairs, verdict

import nearkin as nk

nks = pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")
CONTAINED = 0.8
SEED = 20_261
LOW = nk.Params(0.4, shingles="words:2")
BAG = nk.Params(0.4, shingles="words:2", bag=True)


def made(seed):
    """Parts of texts, texts with a frame, crowds of copies that differ in what `words` do not see,
    one huge text twice, and rows without a text."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    rows = []
    frame = [f"frame{at}" for at in range(20)]
    for story in range(90):
        words = [f"s{story}w{rng.randrange(200)}" for _ in range(rng.randrange(20, 200))]
        for _ in range(rng.randrange(1, 5)):
            some = [*words]
            for _ in range(rng.randrange(len(some) // 7)):
                some[rng.randrange(len(some))] = f"x{rng.randrange(500)}"
            begin = rng.choice([0, 0, len(some) // 2, len(some) // 5])
            rows.append([*(frame if rng.random() < 0.3 else []), *some[begin:]])
    rows = [" ".join(words) for words in rows]
    rows += [f"the copies of one crowd, which have many words{'!' * at}" for at in range(50)]
    huge = " ".join(f"h{rng.randrange(10**9)}" for _ in range(120_000))
    rows += [huge, huge + " end", None, "", " . ", "one"]
    keys = rng.sample(range(10**6), len(rows))
    return [(f"k{key:06}", text) for key, text in zip(keys, rows, strict=True)]


WORLDS = {
    **CORPORA,
    "made": (made(SEED), LOW, 0.5),
    "bag": (made(SEED + 1), BAG, 0.5),
}
#: The worlds of `pairs`: all pairs of `crowds` are too many for the reference.
PAIRS = ["spdx", "pydocs", "made", "bag"]


def frame(spark, rows, partitions=3):
    return spark.createDataFrame(rows, "id string, text string").repartition(partitions)


def rows_of(df):
    # Some texts are null.
    return sorted((tuple(row) for row in df.collect()), key=str)


@pytest.mark.parametrize(("partitions", "contained"), [(1, None), (3, CONTAINED), (8, None)])
@pytest.mark.parametrize("name", PAIRS)
def test_exact_pairs_are_those_of_one_machine(spark, tmp_path, name, partitions, contained):
    rows, params, threshold = WORLDS[name]
    params, threshold = of_given_bands(params), None if contained else threshold
    expected, missed = exact_pairs(tmp_path / "ix", rows, params, threshold, contained)
    # Buckets so small that some are cut.
    found = nks.pairs(
        frame(spark, rows, partitions),
        params,
        threshold=threshold,
        contained=contained,
        exact=True,
        partitions=partitions,
        block=5 if partitions == 3 else nks.BLOCK,
    )
    assert found.columns == ["a", "b", *EVIDENCE]
    assert rows_of(found) == sorted(expected, key=str) and len(expected) > 100
    print(f"{name}: {len(expected)} pairs of {len(rows)} rows; the estimate misses {missed}")
    assert missed


@pytest.mark.parametrize("name", ["spdx", "made", "bag", "crowds"])
def test_pairs_by_estimated_containment_are_those_of_an_index(spark, tmp_path, name):
    rows, params, _ = WORLDS[name]
    with nk.Index(tmp_path / "ix", params) as index:
        index.add([key for key, _ in rows], [text for _, text in rows])
        expected = sorted(index.pairs(contained=CONTAINED).read_all().rows())
    df = frame(spark, rows)
    found = nks.pairs(df, params, contained=CONTAINED, block=5, partitions=3)
    assert found.columns == ["a", "b", "similarity", "contained"]
    assert rows_of(found) == sorted(expected, key=str) and len(expected) > 100
    if name == "made":
        # Other signatures with the same counts, and the same signatures with other counts.
        df = nks.sketch(df, params, shingle_count="n").drop("text")
        given = {"signature": "signature", "shingle_count": "n"}
        found = nks.pairs(df, params, contained=CONTAINED, **given)
        assert rows_of(found) == sorted(expected, key=str)


@pytest.mark.parametrize(
    ("keep", "partitions", "how"),
    [
        ("first", 1, {"exact": True}),
        ("last", 3, {"exact": True, "contained": CONTAINED}),
        ("longest", 8, {"exact": True, "threshold": 0.5}),
        ("longest", 3, {"contained": CONTAINED, "threshold": 0.3}),
    ],
)
@pytest.mark.parametrize("name", WORLDS)
def test_dedup_keeps_what_dedup_keeps(spark, name, keep, partitions, how):
    rows, params, _ = WORLDS[name]
    # Of given bands, none may be chosen anew.
    params = of_given_bands(params) if partitions == 1 else params
    rows = sorted(rows)
    texts = [text for _, text in rows]
    how = {**how, "guard": "none"}
    told = nk.dedup(texts, params=params, keep=keep, annotate=True, **how)
    expected = [row for row, of in zip(rows, told, strict=True) if of.kept]
    assert len(expected) < len(rows) - 30
    df = frame(spark, rows, partitions)
    found = nks.dedup(df, params, keep=keep, partitions=partitions, block=7, **how)
    assert found.schema == df.schema
    assert rows_of(found) == sorted(expected, key=str)


def test_equal_documents_of_a_crowd_are_compared_once(spark, tmp_path):
    """4,000 copies, 400 near-copies, and one whose signature alone is the same."""
    params = of_given_bands(WORDS)
    story = [f"word{at}" for at in range(400)]
    rows = [(f"e{at:05}", " ".join(story)) for at in range(4_000)]
    for at in range(400):
        rows.append((f"n{at:05}", " ".join([*story[:at], f"own{at}", *story[at + 1 :]])))
    sketcher = nk.Sketcher(params)
    own = sketcher.text(" ".join(story)).to_bytes()
    near = [key for key, text in rows[4_000:] if sketcher.text(text).to_bytes() == own]
    print(f"{len(near)} near-copies have the signature of the crowd")
    assert near
    texts = [text for _, text in rows]
    told = nk.dedup(
        texts, params=params, threshold=0.995, exact=True, guard="none", annotate=True
    )
    expected = [key for (key, _), of in zip(rows, told, strict=True) if of.kept]
    assert len(expected) > 300
    df = frame(spark, rows, 4)
    how = {"threshold": 0.995, "exact": True, "partitions": 4}
    kept = nks.dedup(df, params, guard="none", **how)
    assert sorted(row["id"] for row in kept.collect()) == expected
    # By the estimate, near-copies are dropped.
    assert nks.dedup(df, params, threshold=0.995, estimate=True, partitions=4).count() < len(expected)
    few = nks.pairs(df.where("id >= 'e03990'"), params, **how)
    assert few.count() == 45 and {row["similarity"] for row in few.collect()} == {1.0}


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory):
    rows, params, threshold = WORLDS["made"]
    params = of_given_bands(params)
    stored, new = rows[::2], [(f"new {key}", text) for key, text in rows[1::2]]
    path = tmp_path_factory.mktemp("exact") / "lake"
    nks.build(frame(spark, stored), path, params, shards=3, partitions=2)
    return path, params, threshold, stored, new


def queried(reader, text, **how):
    try:
        return reader.query(text, **how)
    except nk.EmptyError:
        return reader.query("nothing is like this", threshold=1.0)


def exact_matches(path, stored, new, params, threshold, contained=None):
    """(key, match, evidence), the best first."""
    texts, found = dict(stored), []
    with nk.Reader(path) as reader:
        for key, text in new:
            of_row = []
            for match in queried(reader, text, threshold=0.0).keys if text else []:
                told = verdict((text, texts[match]), params, threshold, contained)
                of_row += [(key, match, *told)] if told else []
            found.append(sorted(of_row, key=lambda row: (-row[2], row[1])))
    return found


@pytest.mark.parametrize(("limit", "contained"), [(None, CONTAINED), (1, None)])
def test_exact_matches_are_those_of_one_machine(spark, lake, limit, contained):
    path, params, threshold, stored, new = lake
    threshold = None if contained else threshold
    best = exact_matches(path, stored, new, params, threshold, contained)
    expected = sorted(row for rows in best for row in rows[:limit])
    how = {"threshold": threshold, "contained": contained, "limit": limit, "exact": True}
    found = nks.match(frame(spark, new), path, texts=frame(spark, stored), **how)
    assert found.columns == ["key", "match", *EVIDENCE]
    assert rows_of(found) == sorted(expected, key=str) and len(expected) > 40
    if limit:
        assert len(expected) < sum(map(len, best))


def test_a_limit_holds_for_each_row(spark, lake):
    """Also for rows that are equal, and for those that have one key and other texts."""
    path, params, threshold, stored, new = lake
    new = [row for row in new if row[1]]
    asked = [*new, *new[:20], *((new[0][0], text) for _, text in new[20:60])]
    best = exact_matches(path, stored, asked, params, threshold, None)
    expected = sorted(row for rows in best for row in rows[:1])
    how = {"threshold": threshold, "limit": 1, "exact": True}
    found = nks.match(frame(spark, asked), path, texts=frame(spark, stored), **how)
    assert rows_of(found) == sorted(expected, key=str)
    assert sum(row[0] == new[0][0] for row in expected) > 2


def test_matches_by_estimated_containment(spark, lake):
    path, _, _, _, new = lake
    expected = []
    with nk.Reader(path) as reader:
        for key, text in new:
            answer = queried(reader, text, contained=CONTAINED) if text else []
            expected += [(key, one.key, one.similarity, one.contained) for one in answer]
    found = nks.match(frame(spark, new), path, contained=CONTAINED)
    assert found.columns == ["key", "match", "similarity", "contained"]
    assert rows_of(found) == sorted(expected, key=str) and len(expected) > 40


def test_texts_that_changed_or_are_missing_are_told(spark, lake):
    path, params, threshold, stored, new = lake
    stored = [row for row in stored if row[1]]
    changed = [(key, f"{text} more" if at % 3 == 0 else text) for at, (key, text) in enumerate(stored)]
    changed = [row for at, row in enumerate(changed) if at % 3 != 1]
    usual = {key for at, (key, _) in enumerate(stored) if at % 3 == 2}
    texts, asked = frame(spark, changed), frame(spark, new)
    found = nks.match(asked, path, texts=texts, threshold=threshold, exact=True).collect()
    best = exact_matches(path, stored, new, params, threshold)
    expected = sorted(row for rows in best for row in rows if row[1] in usual)
    assert sorted(tuple(row) for row in found if row["shared"] is not None) == expected
    unread = {row["match"] for row in found if row["shared"] is None}
    assert unread and not unread & usual
    rows = sorted(new)
    with pytest.warns(UserWarning, match="fetch has no document"):
        kept = nk.dedup(
            [text for _, text in rows], params=params, threshold=threshold, exact=True, annotate=True,
            guard="none", against=str(path), fetch=dict(changed).get,
        )  # fmt: skip
    expected = [row for row, of in zip(rows, kept, strict=True) if of.kept]
    with pytest.warns(UserWarning, match="could not be compared: texts= has no document"):
        given = {"against": path, "texts": texts, "guard": "none"}
        found = nks.dedup(asked, params, threshold=threshold, exact=True, **given)
    assert rows_of(found) == sorted(expected, key=str)
    assert any(of.index_key for of in kept) and any(of.duplicate_of is not None for of in kept)


@pytest.mark.parametrize("contained", [None, CONTAINED])
def test_dedup_against_an_index_compares_its_texts(spark, lake, contained):
    path, params, threshold, stored, new = lake
    how = {"threshold": None if contained else threshold, "contained": contained, "params": params}
    rows = sorted(new)
    texts = [text for _, text in rows]
    for exact in (True, False):
        given = {"against": str(path), "fetch": dict(stored).get} if exact else {"against": str(path)}
        given |= {"exact": exact, "estimate": not exact, "guard": "none"}
        told = nk.dedup(texts, annotate=True, **given, **how)
        expected = [row for row, of in zip(rows, told, strict=True) if of.kept]
        given = {"texts": frame(spark, stored)} if exact else {"estimate": True}
        given |= {"exact": exact, "guard": "none"}
        found = nks.dedup(frame(spark, new), against=path, **given, **how)
        assert rows_of(found) == sorted(expected, key=str)
        assert sum(bool(of.index_key) for of in told) > 10


@pytest.mark.parametrize(
    ("kind", "keys"), [("long", [10, 9, 8]), ("binary", [b"\xff", b"a", b"\x80"])]
)
def test_keys_of_every_type_keep_it(spark, tmp_path, kind, keys):
    # One text is a part of the other; the longer one has the smaller key once and the greater once.
    sets = [["a", "b", "c", "d"], ["a", "b", "c"], None]
    params = nk.Params(0.5, shingles="items", hashes=64, bands=(32, 2))
    df = spark.createDataFrame(list(zip(keys, sets, strict=True)), f"id {kind}, bag array<string>")
    found = nks.pairs(df, params, items="bag", exact=True)
    assert found.schema["a"].dataType == df.schema["id"].dataType
    a, b = sorted(keys[:2], key=lambda key: str(key).encode() if kind != "binary" else key)
    counts = (4, 3) if a == keys[0] else (3, 4)
    assert rows_of(found) == [(a, b, 0.75, 1.0, *counts, 3)]
    kept = nks.dedup(df, params, items="bag", exact=True, contained=0.9, keep="longest").collect()
    assert sorted(row["id"] for row in kept) == sorted([keys[0], keys[2]])
    nks.build(df, tmp_path / "lake", params, items="bag", shards=2)
    new = spark.createDataFrame([(keys[0], sets[0])], df.schema)
    found = nks.match(new, tmp_path / "lake", items="bag", texts=df, exact=True)
    assert found.schema["match"].dataType == df.schema["id"].dataType
    key, own = keys[0], len(sets[0])
    expected = [(key, one, *((1.0, 1.0, own, own, own) if one == key else (0.75, 1.0, own, 7 - own, 3)))
                for one in keys[:2]]  # fmt: skip
    assert rows_of(found) == sorted(expected, key=str)


def test_exact_refuses_signatures_before_any_task(spark, lake, tmp_path):
    path, params, _, stored, _ = lake
    df = frame(spark, stored)
    # A task that runs would fail: the check of the executors is what a call does first.
    made_before = df.withColumnRenamed("text", "signature").selectExpr("id", "cast(signature as binary) signature")
    group = "exact comparison is refused"
    spark.sparkContext.setJobGroup(group, group)
    refused = [
        (lambda: nks.pairs(made_before, params, signature="signature", exact=True), "not their signatures"),
        (lambda: nks.dedup(made_before, params, signature="signature", exact=True), "not their signatures"),
        (lambda: nks.match(made_before, path, signature="signature", exact=True, texts=df), "signatures"),
        (lambda: nks.pairs(made_before, params, signature="signature", contained=0.5), "shingle_count="),
        (lambda: nks.match(df, path, exact=True), "give texts="),
        (lambda: nks.match(df, path, texts=df), "for exact=True"),
        (lambda: nks.dedup(df, params, exact=True, against=path), "give texts="),
        (lambda: nks.dedup(df, params, exact=True, texts=df), "give all three"),
        (lambda: nks.pairs(df, params, contained=1.5), "containment must be from 0 to 1"),
        (lambda: nks.pairs(df, params, threshold=-0.1, exact=True), "threshold must be from 0 to 1"),
        (lambda: nks.pairs(df, nk.Params(scheme="external:x", lane_bits=64), exact=True), "made elsewhere"),
    ]
    for call, message in refused:
        with pytest.raises(nk.InvalidError, match=message) as raised:
            call()
        assert len(str(raised.value).splitlines()) == 1
    with pytest.raises(KeyError, match="no column is named 'text'"):
        nks.match(df, path, exact=True, texts=made_before)
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup(group)
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    twice = df.union(df.limit(1))
    with pytest.raises(nk.InvalidError, match="several rows of texts= have the same key"):
        nks.match(df, path, exact=True, texts=twice)
