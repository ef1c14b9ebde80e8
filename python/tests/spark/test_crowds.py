"""Crowds: thousands of equal and of nearly equal documents."""

import pytest

import nearkin as nk

nks = pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")
PARAMS = nk.Params(0.7, shingles="words:3")
STORY = [f"word{at}" for at in range(120)]


def crowd(equal, near, others):
    """Equal documents, documents that differ from these in one word each, and unrelated ones."""
    rows = [(f"e{at:05}", " ".join(STORY)) for at in range(equal)]
    for at in range(near):
        words = [*STORY]
        words[at % len(words)] = f"own{at}"
        rows.append((f"n{at:05}", " ".join(words)))
    for at in range(others):
        rows.append((f"o{at:05}", " ".join(f"other{at // 2}x{word}" for word in range(30 + at % 2))))
    return rows


@pytest.fixture(scope="module")
def world(spark):
    rows = crowd(5_000, 5_000, 10_000)
    df = spark.createDataFrame(rows, "id string, text string").repartition(4, "id")
    return rows, nks.sketch(df, PARAMS, shingle_count="n").drop("text").localCheckpoint()


def test_clusters_of_a_crowd_do_not_need_its_pairs(world, tmp_path):
    rows, made = world
    with nk.Index(tmp_path / "ix", PARAMS) as index:
        index.add([key for key, _ in rows], [text for _, text in rows])
        table = index.clusters().read_all()
    members = {}
    for cluster, key in zip(table["cluster"], table["key"], strict=True):
        members.setdefault(cluster, []).append(key)
    expected = sorted((key, min(keys)) for keys in members.values() for key in keys)
    assert max(map(len, members.values())) == 10_000 and len(members) > 4_000
    found = nks.clusters(made, PARAMS, signature="signature", partitions=4)
    assert sorted(tuple(row) for row in found.collect()) == expected
    # Index.clusters numbers the clusters in the order of their smallest keys.
    least = sorted({cluster for _, cluster in expected})
    assert [min(members[number]) for number in sorted(members)] == least


def test_dedup_of_a_crowd_does_not_need_its_pairs(world):
    rows, made = world
    keep = "longest"
    rows = sorted(rows)
    told = nk.dedup([text for _, text in rows], params=PARAMS, keep=keep, estimate=True, annotate=True)
    expected = [key for (key, _), of in zip(rows, told, strict=True) if of.kept]
    assert len(expected) < 6_000
    found = nks.dedup(
        made, PARAMS, keep=keep, signature="signature", shingle_count="n", partitions=4
    )
    assert sorted(row["id"] for row in found.collect()) == expected
