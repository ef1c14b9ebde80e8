"""Spark Connect: a client without a SparkContext, and a server in another process."""

import json
import os
import subprocess
import sys

import pytest
from corpora import CORPORA

import nearkin as nk

pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")
pytest.importorskip("grpc", reason="no Spark Connect (pip install 'pyspark[connect]')")
# The session of the other tests is in this process: a client of Connect needs its own.
CLIENT = """
import json, sys
import nearkin as nk
from nearkin import spark as nks
from pyspark.sql import SparkSession

rows, lake = json.load(sys.stdin)
spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", 2).getOrCreate()
params = nk.Params(0.7, shingles="words:1", hashes=64, bands=(16, 4))
df = spark.createDataFrame([tuple(row) for row in rows], "id string, text string")
told = {
    "pairs": sorted(map(list, nks.pairs(df, params, threshold=0.6).collect())),
    "clusters": sorted(map(list, nks.clusters(df, params, threshold=0.6).collect())),
    "kept": sorted(row["id"] for row in nks.dedup(df, params).collect()),
    "inserted": nks.build(df, lake, params, shards=2).inserted,
    "matches": nks.match(df.limit(50), lake, threshold=0.6).count(),
}
try:
    spark.sparkContext
except Exception as error:
    told["context"] = type(error).__name__
print(json.dumps(told))
"""


def test_connect_finds_what_an_index_finds(tmp_path):
    rows, params, threshold = CORPORA["crowds"]
    rows = rows[:250]
    with nk.Index(tmp_path / "ix", params) as index:
        index.add([key for key, _ in rows], [text for _, text in rows])
        pairs = sorted(list(row[:3]) for row in index.pairs(threshold).read_all().rows())
        table, count = index.clusters(threshold).read_all(), len(index)
    members = {}
    for cluster, key in zip(table["cluster"], table["key"], strict=True):
        members.setdefault(cluster, []).append(key)
    rows_sorted = sorted(rows)
    kept = nk.dedup([text for _, text in rows_sorted], params=params, annotate=True)
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", CLIENT],
        input=json.dumps([rows, str(tmp_path / "lake")]),
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["context"], "the client has a SparkContext: this was not Connect"
    assert told["pairs"] == pairs and len(pairs) > 500
    assert told["clusters"] == sorted([key, min(keys)] for keys in members.values() for key in keys)
    assert told["kept"] == [key for (key, _), of in zip(rows_sorted, kept, strict=True) if of.kept]
    assert told["inserted"] == count and told["matches"] > 50
