"""What Spark finds is what one index finds, to the bit, for any number of partitions."""

import pytest
from corpora import CORPORA

import nearkin as nk

nks = pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")


@pytest.fixture(scope="module", params=CORPORA)
def world(request, spark, tmp_path_factory):
    rows, params, threshold = CORPORA[request.param]
    with nk.Index(tmp_path_factory.mktemp("one") / "ix", params) as index:
        index.add([key for key, _ in rows], [text for _, text in rows])
        pairs = sorted(row[:3] for row in index.pairs(threshold).read_all().rows())
        table = index.clusters(threshold).read_all()
    members = {}
    for cluster, key in zip(table["cluster"], table["key"], strict=True):
        members.setdefault(cluster, []).append(key)
    clusters = sorted((key, min(keys)) for keys in members.values() for key in keys)
    assert len(pairs) > 50 and len(members) > 5
    df = spark.createDataFrame(rows, "id string, text string")
    return rows, df, params, threshold, pairs, clusters


def rows_of(df):
    return sorted(tuple(row) for row in df.collect())


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_pairs_are_those_of_an_index(world, partitions):
    _, df, params, threshold, pairs, _ = world
    df = df.repartition(partitions)
    # Blocks so small that hot buckets are cut.
    block = 16_384 if partitions == 2 else 5
    found = nks.pairs(df, params, threshold=threshold, partitions=partitions, block=block)
    assert found.columns == ["a", "b", "similarity"]
    assert rows_of(found) == pairs


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_clusters_are_those_of_an_index(world, partitions):
    _, df, params, threshold, _, clusters = world
    # With 7 partitions by rounds, else in one task.
    one_task = 10 if partitions == 7 else nks.ONE_TASK
    df = df.repartition(partitions)
    found = nks.clusters(
        df, params, threshold=threshold, partitions=partitions, one_task=one_task
    )
    assert found.columns == ["key", "cluster"]
    assert rows_of(found) == clusters


@pytest.mark.parametrize(("keep", "partitions"), [("first", 1), ("last", 2), ("longest", 7)])
def test_dedup_by_the_estimate_keeps_what_dedup_keeps(world, keep, partitions):
    rows, df, params, _, _, _ = world
    rows = sorted(rows)
    texts = [text for _, text in rows]
    told = nk.dedup(texts, params=params, keep=keep, estimate=True, annotate=True)
    expected = [row for row, of in zip(rows, told, strict=True) if of.kept]
    assert len(expected) < len(rows)
    how = {"keep": keep, "estimate": True, "partitions": partitions}
    found = nks.dedup(df.repartition(partitions), params, **how)
    assert found.schema == df.schema
    assert sorted(tuple(row) for row in found.collect()) == expected
