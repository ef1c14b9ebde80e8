"""What Spark builds is an index like any other, and `match` says what its queries say."""

import json
import os
import shutil
import subprocess
import warnings

import pytest
from corpora import CORPORA

import nearkin as nk
from nearkin import shards as nk_shards

nks = pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")
WITH_PARTITIONS = {"partitions": 2}


def frame(spark, rows):
    return spark.createDataFrame(rows, "id string, text string").repartition(3)


def rows_of(df):
    return sorted(tuple(row) for row in df.collect())


def all_of(readable, threshold):
    """All that an index says."""
    documents = sorted((key, readable[key].signature.to_bytes()) for key in readable)
    pairs = sorted(row[:3] for row in readable.pairs(threshold).read_all().rows())
    members = {}
    for cluster, key, *_ in readable.clusters(threshold).read_all().rows():
        members.setdefault(cluster, []).append(key)
    return documents, pairs, sorted(map(sorted, members.values()))


def queried(readable, rows, threshold):
    """(key, match, similarity), a query a row."""
    found = []
    for key, text in rows:
        try:
            answer = readable.query(text, threshold=threshold) if text else []
        except nk.EmptyError:
            answer = []
        found += [(key, match.key, match.similarity) for match in answer]
    return sorted(found)


@pytest.mark.parametrize("shards", [1, 2, 7])
@pytest.mark.parametrize("name", CORPORA)
def test_the_index_is_that_of_one_machine(spark, tmp_path, name, shards):
    rows, params, threshold = CORPORA[name]
    rows = [(key, text) for key, text in rows]
    first, new = rows[: len(rows) * 3 // 4], rows[len(rows) * 2 // 3 :]
    # Later versions: the keys of the first third, with the texts of the second.
    changed = [(old[0], other[1]) for old, other in zip(rows[:40], rows[200:], strict=False)]
    new = [*new, *changed]
    gone = [key for key, _ in rows[20:60]] + ["never there"]
    asked = rows[::3]
    path = tmp_path / "lake"
    df = frame(spark, asked)

    with nk.Index(tmp_path / "one", params) as plain:

        def check(what):
            with nk.Reader(path) as reader:
                assert all_of(reader, threshold) == all_of(plain, threshold), what
                assert reader.verify().ok and len(reader) == len(plain)
            found = nks.match(df, path, threshold=threshold)
            assert found.columns == ["key", "match", "similarity"]
            expected = queried(plain, asked, threshold)
            assert rows_of(found) == expected and len(expected) > 100, what

        added = plain.add(*zip(*first, strict=True))
        done = nks.build(frame(spark, first), path.as_uri(), params, shards=shards, **WITH_PARTITIONS)
        assert done == (added.inserted, 0, len(added.empty), 2, False)
        check("built")
        added = plain.add(*zip(*new, strict=True))
        done = nks.append(frame(spark, new), path, **WITH_PARTITIONS)
        assert (done.inserted, done.empty) == (added.inserted, len(added.empty))
        assert done.replaced == added.replaced + added.unchanged > 40
        check("appended")
        df_keys = spark.createDataFrame([(key,) for key in gone], "id string")
        assert nks.remove(df_keys, path) == plain.remove(gone) == 40
        check("removed")
        lake = nk_shards.Shards(path)
        assert all(lake.compact(shard) for shard in range(shards))
        lake.sweep()
        check("compacted")
        assert len(list((path / "segments").iterdir())) == shards
        with nk.Index(tmp_path / "imported", params) as imported:
            assert imported.import_from(path).inserted == len(plain)
            assert all_of(imported, threshold) == all_of(plain, threshold)
        command_line(path, plain, threshold)


def command_line(path, plain, threshold):
    binary = os.environ.get("NEARKIN_BINARY") or shutil.which("nearkin")
    if binary is None:
        warnings.warn("SKIPPED: the command line is not tested (NEARKIN_BINARY names it)", stacklevel=2)
        return

    def said(*words):
        done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    assert said("stats", path, "--json")[0]["documents"] == len(plain)
    pairs = said("pairs", path, "--threshold", threshold, "--json")
    expected = sorted(row[:2] for row in plain.pairs(threshold).read_all().rows())
    assert sorted((pair["a"], pair["b"]) for pair in pairs) == expected


@pytest.mark.parametrize("keep", ["first", "last", "longest"])
def test_dedup_against_an_index_is_that_of_one_process(spark, tmp_path, keep):
    rows, params, _ = CORPORA["crowds"]
    stored, new = rows[::4], [row for at, row in enumerate(rows) if at % 4]
    nks.build(frame(spark, stored), tmp_path / "lake", params, shards=3, **WITH_PARTITIONS)
    new = sorted(new)
    texts = [text for _, text in new]
    told = nk.dedup(texts, params=params, keep=keep, against=tmp_path / "lake", annotate=True)
    expected = [row for row, of in zip(new, told, strict=True) if of.kept]
    alone = nk.dedup(texts, params=params, keep=keep, guard="rare")
    assert len(expected) < len(alone) < len(new)
    df = frame(spark, new)
    found = nks.dedup(df, params, keep=keep, against=tmp_path / "lake", partitions=2)
    assert found.schema == df.schema
    assert rows_of(found) == expected


@pytest.mark.parametrize(
    ("kind", "keys"), [("long", [10, 9, -1]), ("binary", [b"\xff", b"a", b"\x80"])]
)
def test_keys_payloads_times_and_signatures_arrive(spark, tmp_path, kind, keys):
    params = nk.Params(0.7, shingles="words:1")
    rows = [(keys[0], "a b c", b"x", 5), (keys[1], "a b c", None, None), (keys[2], "d e f", b"z", 7)]
    df = spark.createDataFrame(rows, f"id {kind}, text string, p binary, t long")
    made = nks.sketch(df, params, shingle_count="n")
    nks.build(
        made, tmp_path / "lake", params, shards=2, signature="signature", shingle_count="n",
        payload="p", time="t",
    )
    reader = nk.Reader(tmp_path / "lake", keys="bytes" if kind == "binary" else "str")
    found = {key: (reader[key].payload, reader[key].time_ms) for key in reader}
    name = str if kind == "long" else bytes
    expected = [(b"x", 5), (b"", 0), (b"z", 7)]
    assert found == dict(zip(map(name, keys), expected, strict=True))
    assert {reader[key].signature.shingle_count for key in reader} == {3}
    matches = nks.match(made, tmp_path / "lake", signature="signature", limit=1)
    assert matches.schema["match"].dataType == df.schema["id"].dataType
    least = min(keys[:2], key=lambda key: str(key).encode() if kind == "long" else key)
    assert rows_of(matches) == sorted([(keys[0], least, 1.0), (keys[1], least, 1.0), (keys[2], keys[2], 1.0)])


def test_build_and_append_refuse_invalid_rows(spark, tmp_path):
    params = nk.Params(0.7, shingles="words:1")
    twice = spark.createDataFrame([("a", "x y"), ("b", "x"), ("a", "z")], "id string, text string")
    lake = tmp_path / "lake"
    with pytest.raises(nk.InvalidError, match="two documents have the key a.*Nothing was committed"):
        nks.build(twice, lake, params, shards=1)
    null = spark.createDataFrame([("a", "x y"), (None, "x"), (None, None)], "id string, text string")
    with pytest.raises(nk.InvalidError, match="is null"):
        nks.build(null, lake, params, shards=1)
    with pytest.raises(nk.ExistsError):
        nks.build(twice, lake, params, shards=2)
    once = spark.createDataFrame([("a", "x y"), (None, None)], "id string, text string")
    # The one that failed is begun anew.
    assert nks.build(once, lake, params, shards=1) == (1, 0, 1, 2, False)
    with pytest.raises(nk.ExistsError):
        nks.build(once, lake, params, shards=1)
    with pytest.raises(nk.InvalidError, match="two documents have the key a"):
        nks.append(twice, lake)
    with pytest.raises(nk.NotFoundError):
        nks.append(once, tmp_path / "none")
    with pytest.raises(nk.MismatchError, match="other parameters"):
        nks.dedup(once, nk.Params(shingles="words:2"), against=lake)
    with pytest.raises(ValueError, match="threshold"):
        nks.match(once, lake, threshold=1.5)
    with pytest.raises(ValueError, match="storage_options are for addresses"):
        nks.build(once, lake, params, storage_options={"key": "k"})
    with pytest.raises(ValueError, match="for the index of against="):
        nks.dedup(once, params, storage_options={"key": "k"})
    with pytest.raises(ValueError, match="of a folder that all machines see"):
        nks.build(once, "file://server/lake", params)
    with pytest.raises(TypeError, match="must be timestamp"):
        nks.append(once, lake, time="text")
