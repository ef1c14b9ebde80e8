"""Real processes die: Python workers in each stage, a driver between its steps, on a full disk."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from corpora import SMALL, corpus, crowds
from test_commits import said, said_of_plain

import nearkin as nk
from nearkin import shards

nks = pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")
pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")

ROWS = [row for row in crowds() if row[1] and row[1].strip(" .")]
OLD, NEW = ROWS[:200], ROWS[150:350]
PARAMS = nk.Params(0.7, shingles="words:3")


def workers():
    """The Python workers of this test's executors, a list for each executor."""
    parents, found = {}, []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{name}/cmdline") as file:
                if "pyspark.daemon" in file.read():
                    found.append(int(name))
        except (OSError, ValueError):
            pass

    def is_ours(pid):
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    # Workers are forked from a daemon, and have its command line.
    daemons = [pid for pid in found if parents.get(pid) not in found and is_ours(pid)]
    return [[pid for pid in found if parents[pid] == daemon] for daemon in daemons]


class Killer(threading.Thread):
    """Kills the workers of one executor in each stage, soon after it began to run."""

    def __init__(self, spark):
        super().__init__()
        self.tracker, self.stages, self.is_over = spark.sparkContext.statusTracker(), set(), False

    def run(self):
        while not self.is_over:
            for stage in self.tracker.getActiveStageIds():
                info = self.tracker.getStageInfo(stage)
                if stage in self.stages or info is None or not info.numActiveTasks:
                    continue
                time.sleep(0.01)
                for pid in next(filter(None, workers()), []):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                    self.stages.add(stage)
            time.sleep(0.005)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.join()


def test_workers_that_die_in_each_stage_change_no_answer(spark, tmp_path):
    rows = corpus("spdx")
    with nk.Index(tmp_path / "ix", PARAMS) as index:
        index.add(*zip(*rows, strict=True))
        pairs = sorted(row[:3] for row in index.pairs().read_all().rows())
    kept = nk.dedup([text for _, text in sorted(rows)], params=PARAMS, annotate=True)
    kept = [key for (key, _), row in zip(sorted(rows), kept, strict=True) if row.kept]
    df = spark.createDataFrame(rows, "id string, text string").repartition(4)
    lake = tmp_path / "lake"
    with Killer(spark) as killer:
        assert sorted(tuple(row) for row in nks.pairs(df, PARAMS, partitions=3).collect()) == pairs
        assert sorted(row["id"] for row in nks.dedup(df, PARAMS).collect()) == kept
        assert nks.build(df, lake, PARAMS, shards=3).inserted == len(rows)
        found = nks.match(df, lake).where("key < match").select("key", "match", "similarity")
        assert sorted(tuple(row) for row in found.collect()) == pairs
    print("workers died in", len(killer.stages), "stages")
    assert len(killer.stages) >= 8


#: A driver in a process of its own. `step` is the call that it does not survive.
DRIVER = """
import json, os, resource, signal, sys
kind, step, lake, speculation, limit = sys.argv[1:6]
if int(limit):
    # Files cannot grow beyond this: a full disk, for Python and for Java.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
import nearkin as nk
from nearkin import spark as nks
from nearkin.spark import _stored
from pyspark.sql import SparkSession

def dying(name, after):
    call = getattr(_stored, name)
    def wrapped(*arguments):
        if not after:
            os.kill(os.getpid(), signal.SIGKILL)
        call(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(_stored, name, wrapped)

if step != "none":
    name, _, when = step.partition(" ")
    dying(name, when == "after")
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.speculation", speculation).config("spark.speculation.multiplier", "1.01")
    .config("spark.speculation.quantile", "0.1").config("spark.speculation.interval", "10ms").getOrCreate()
)
df = spark.createDataFrame([tuple(row) for row in json.load(sys.stdin)], "id string, text string").repartition(6)
params = nk.Params(0.7, shingles="words:1", hashes=64, bands=(16, 4))
if kind == "build":
    print(nks.build(df, lake, params, shards=3, partitions=3).inserted)
else:
    print(nks.append(df, lake, 7, partitions=3).inserted)
"""


def drive(kind, step, lake, rows, speculation="false", limit=0):
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-c", DRIVER, kind, step, str(lake), speculation, str(limit)],
        input=json.dumps(rows),
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )


def with_all(tmp_path, *parts):
    with nk.Index(tmp_path / f"plain-{len(parts)}", SMALL) as plain:
        for part in parts:
            plain.add(*zip(*part, strict=True))
        return said_of_plain(plain)


def test_a_killed_driver_leaves_the_old_index_or_the_new_one(tmp_path):
    lake = tmp_path / "lake"
    old, new = with_all(tmp_path, OLD), with_all(tmp_path, OLD, NEW)
    for step in ("parts_of before", "collected after"):
        assert drive("build", step, lake, OLD).returncode == -signal.SIGKILL
        assert len(nk.Reader(lake)) == 0
    # The same call goes on where the last one died. Here two attempts of a task may run at once.
    done = drive("build", "none", lake, OLD, speculation="true")
    assert done.returncode == 0, done.stderr[-2_000:]
    assert done.stdout.split()[-1] == "200" and said(lake) == old
    assert drive("append", "collected after", lake, NEW).returncode == -signal.SIGKILL
    assert said(lake) == old
    assert drive("append", "commit after", lake, NEW).returncode == -signal.SIGKILL
    assert said(lake) == new
    # The batch comes again, and is known.
    done = drive("append", "none", lake, NEW, speculation="true")
    assert done.returncode == 0 and done.stdout.split()[-1] == "0" and said(lake) == new
    assert shards.Shards(lake).sweep() > 0 and said(lake) == new


def test_a_full_disk_is_an_error_and_changes_nothing(tmp_path):
    lake = tmp_path / "lake"
    assert drive("build", "none", lake, OLD).returncode == 0
    old = said(lake)
    # A segment of 67 documents has more than 20,000 bytes; Spark's own files are smaller.
    done = drive("append", "none", lake, NEW, limit=16_000)
    assert done.returncode == 1 and said(lake) == old
    assert "rror" in done.stderr
    done = drive("append", "none", lake, NEW)
    assert done.returncode == 0 and said(lake) == with_all(tmp_path, OLD, NEW)
