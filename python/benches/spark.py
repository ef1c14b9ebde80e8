"""What `nearkin.spark` costs, beside Spark's own MinHashLSH.

python benches/spark.py [--rows 100000] [--rival-rows 20000] [--cores 2] [--work FOLDER]
python benches/spark.py --rows 1000000 --rival-rows 0 --steps build,match
python benches/spark.py --rows 100000 --rival-rows 0 --steps pairs-exact,dedup-exact,dedup-estimate

Each call runs in a session of its own. Processor time and memory are those of all processes of the
session, the workers of Python, too (Spark's own figures leave these out), sampled four times a
second; the start of the session is not counted. Memory is the sum of resident sets, so pages that
workers share are counted for each. Shuffle bytes are from Spark's event log, after compression.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

THRESHOLD = 0.8
#: Hash tables of MinHashLSH: as many find 99.9 % of pairs at 0.8.
TABLES = 5
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
#: What texts are drawn from, word after word.
SOURCE = Path(__file__).parents[2] / "tests/data/pydocs.jsonl"
WORDS = 80


def write_texts(rows: int, path: str, files: int) -> None:
    """Texts of 80 words, each drawn from those that follow the word before in real documents, so
    that phrases are as frequent as in a language; every fifth text is a copy of the one before with
    one word changed."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with SOURCE.open() as lines:
        text = " ".join(json.loads(line)["text"] for line in lines)
    names, words = np.unique(text.split(), return_inverse=True)
    order = np.argsort(words[:-1], kind="stable")
    next_word, counts = words[1:][order], np.bincount(words[:-1], minlength=len(names))
    begin = np.cumsum(counts) - counts
    names = pa.array([*names.tolist(), "altered"])
    Path(path).mkdir()
    each = -(-rows // files) // 5 * 5 + 5
    for part, first in enumerate(range(0, rows, each)):
        random = np.random.default_rng(part)
        count = min(each, rows - first)
        drawn = np.empty((count, WORDS), dtype=np.int64)
        drawn[:, 0] = words[random.integers(0, len(words) - 1, count)]
        for at in range(1, WORDS):
            last = drawn[:, at - 1]
            step = (random.random(count) * counts[last]).astype(np.int64)
            drawn[:, at] = np.where(counts[last] > 0, next_word[(begin[last] + step) % len(next_word)], 0)
        copies = np.arange(4, count, 5)
        drawn[copies] = drawn[copies - 1]
        drawn[copies, copies % WORDS] = len(names) - 1
        offsets = pa.array(np.arange(0, count * WORDS + 1, WORDS, dtype=np.int32))
        texts = pc.binary_join(pa.ListArray.from_arrays(offsets, names.take(drawn.ravel())), " ")
        table = pa.table({"id": np.arange(first, first + count), "text": texts})
        pq.write_table(table, f"{path}/part-{part:03}.parquet", compression="zstd")


def session_of(cores: int, folder: str) -> Any:
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    from pyspark.sql import SparkSession

    Path(folder, "log").mkdir()
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.driver.memory", "4g")
    settings = {
        "spark.ui.enabled": "false",
        "spark.speculation": "false",
        "spark.sql.shuffle.partitions": str(4 * cores),
        "spark.local.dir": f"{folder}/local",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": f"file://{folder}/log",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def child(step: str, rows: int, cores: int, folder: str) -> None:
    """One call, in a session of its own; says when it begins and what it found."""
    path = f"{folder}/../texts-{rows}"
    if step == "index":
        one_machine(path, folder)
        return
    from nearkin import Params
    from nearkin import spark as nks

    spark = session_of(cores, folder)
    df = spark.read.parquet(signatures_of(rows, folder) if step == "signatures" else path)
    spark.range(1).count()
    print("begin", flush=True)
    params = Params(THRESHOLD, shingles="words:3")
    if step == "rival":
        found = rival(df)
    elif step == "recipe":
        found = recipe(df)
    elif step == "signatures":
        work = f"file://{folder}/work"
        found = nks.pairs(df, params, signature="signature", work=work).count()
    elif step == "build":
        lake = f"{folder}/../lake-{rows}"
        found = nks.build(df, lake, params, shards=8).inserted
        size = sum(file.stat().st_size for file in Path(lake).rglob("*") if file.is_file())
        print(f"{size / rows:.0f} bytes a row on disk", file=sys.stderr)
    elif step == "match":
        # Of each hundred rows one, a near-copy: it is like itself, and like what it was copied from.
        found = nks.match(df.where("id % 100 = 4"), f"{folder}/../lake-{rows}").count()
    elif step == "sketch":
        found = nks.sketch(df, params).where("signature is not null").count()
    else:
        name, _, how = step.partition("-")
        call = {"pairs": nks.pairs, "clusters": nks.clusters, "dedup": nks.dedup}[name]
        options = {how: True} if how else {}
        result = call(df, params, work=f"file://{folder}/work", **options)
        found = result.count()
    print(f"end {found}", flush=True)
    spark.stop()


def signatures_of(rows: int, folder: str) -> str:
    """A file of signatures without texts; every fifth is a copy of the one before but for 20 rows."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(1)
    drawn = random.integers(0, 256, (rows, 128), dtype=np.uint8)
    copies = np.arange(4, rows, 5)
    drawn[copies] = drawn[copies - 1]
    drawn[copies, :20] = random.integers(0, 256, (len(copies), 20), dtype=np.uint8)
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(128), rows, [None, pa.py_buffer(drawn)])
    table = pa.table({"id": np.arange(rows), "signature": column.cast(pa.binary())})
    path = f"{folder}/signatures.parquet"
    pq.write_table(table, path, row_group_size=rows // 8 + 1, compression="none")
    return path


def one_machine(path: str, folder: str) -> None:
    """The same pairs by an index, without Spark."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import nearkin as nk

    table = pq.read_table(path)
    keys = [str(number) for number in table["id"].to_pylist()]
    print("begin", flush=True)
    with nk.Index(f"{folder}/ix", nk.Params(THRESHOLD, shingles="words:3")) as index:
        index.add(keys, table["text"])
        found = pa.table(index.pairs(THRESHOLD).read_all()).num_rows
    print(f"end {found}", flush=True)


def recipe(df: Any) -> int:
    """What text-dedup's script for Spark does (0.4): MinHash by NumPy, row by row, with its own (9,
    13) bands for 0.8; the least of a bucket linked to the others, not verified; star rounds of
    RDDs. Returns the documents that it would drop."""
    import hashlib
    import re

    import numpy as np

    prime, most, hashes, bands, rows = (1 << 61) - 1, (1 << 32) - 1, 128, 9, 13
    random = np.random.RandomState(42)
    factors = random.randint(1, prime, hashes, dtype=np.uint64)
    terms = random.randint(0, prime, hashes, dtype=np.uint64)

    def entries(row: Any) -> list[Any]:
        words = [word for word in re.split(r"\W", row[1].lower()) if word]
        shingles = {" ".join(words[at : at + 3]) for at in range(max(1, len(words) - 2))}
        digests = [hashlib.sha1(shingle.encode()).digest()[:4] for shingle in shingles]
        hashed = np.array([int.from_bytes(digest, "little") for digest in digests], np.uint64)
        values = ((np.outer(hashed, factors) + terms) % np.uint64(prime)) & np.uint64(most)
        least = values.min(axis=0).astype(np.uint32)
        return [
            ((band, least[band * rows : (band + 1) * rows].byteswap().tobytes()), row[0])
            for band in range(bands)
        ]

    def star(nodes: Any) -> list[Any]:
        least = min(nodes)
        return [(node, least) for node in nodes if node != least]

    def large(group: Any) -> list[Any]:
        neighbours = list(group[1])
        least = min(group[0], *neighbours)
        return [(node, least) for node in (*neighbours, group[0]) if node > group[0]]

    def small(group: Any) -> list[Any]:
        return star([group[0], *group[1]])

    edges = df.rdd.flatMap(entries).groupByKey().flatMap(lambda group: star(list(group[1])))
    edges = edges.distinct().cache()
    while True:
        both = edges.flatMap(lambda edge: [edge, edge[::-1]])
        found = both.groupByKey().flatMap(large).distinct().cache()
        down = found.map(lambda edge: (max(edge), min(edge)))
        edges = down.groupByKey().flatMap(small).distinct().cache()
        if found.subtract(edges).union(edges.subtract(found)).isEmpty():
            return int(edges.count())


def rival(df: Any) -> int:
    """Pairs of MinHashLSH over the same shingles, verified by it exactly."""
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer

    stages = [
        RegexTokenizer(inputCol="text", outputCol="words"),
        NGram(n=3, inputCol="words", outputCol="shingles"),
        HashingTF(inputCol="shingles", outputCol="features", binary=True, numFeatures=1 << 22),
        MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=TABLES, seed=1),
    ]
    model = Pipeline(stages=stages).fit(df)
    hashed = model.transform(df).select("id", "features", "hashes")
    join = model.stages[-1].approxSimilarityJoin(hashed, hashed, 1 - THRESHOLD, "distance")
    return int(join.where("datasetA.id < datasetB.id").count())


def processes(session: int) -> dict[int, tuple[float, int, bool]]:
    """Seconds of processor and resident bytes of the processes of a session, and whether it is
    Java."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
            fields = rest.split()
        except OSError:
            continue
        if int(fields[3]) == session:
            seconds = (int(fields[11]) + int(fields[12])) / TICKS
            resident = int(fields[21]) * PAGE
            found[int(folder.name)] = (seconds, resident, name.endswith("(java"))
    return found


class Sampler(threading.Thread):
    """What a session's processes have used; one that ended keeps its last sample."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self.session = session
        self.seconds: dict[int, float] = {}
        self.java: set[int] = set()
        self.peak = 0
        self.ended = threading.Event()

    def sample(self) -> float:
        now = processes(self.session)
        self.seconds.update({pid: seconds for pid, (seconds, _, _) in now.items()})
        self.java |= {pid for pid, (_, _, is_java) in now.items() if is_java}
        self.peak = max(self.peak, sum(resident for _, resident, _ in now.values()))
        return sum(self.seconds.values())

    def of_java(self) -> float:
        return sum(self.seconds[pid] for pid in self.java)

    def run(self) -> None:
        while not self.ended.wait(0.25):
            self.sample()


class Stage:
    """What the event log says of a stage: sums over its tasks."""

    def __init__(self) -> None:
        self.tasks = self.size = self.rows = 0
        #: Seconds of processor of Java's task threads, and of waiting, mostly for Python.
        self.java = self.run = 0.0


def stages(folder: str) -> dict[int, Stage]:
    found: dict[int, Stage] = {}
    for file in Path(folder, "log").rglob("*"):
        for line in file.open() if file.is_file() else ():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                stage, told = found.setdefault(event["Stage ID"], Stage()), event["Task Metrics"]
                written = told["Shuffle Write Metrics"]
                stage.tasks += 1
                stage.size += written["Shuffle Bytes Written"]
                stage.rows += written["Shuffle Records Written"]
                stage.java += told["Executor CPU Time"] / 1e9
                stage.run += told["Executor Run Time"] / 1e3
    return found


def measure(step: str, rows: int, cores: int, folder: str) -> None:
    own = tempfile.mkdtemp(prefix=f"{step}-", dir=folder)
    command = [sys.executable, __file__, "--child", step, "--rows", str(rows)]
    command += ["--cores", str(cores), "--work", own]
    begun = spent = java = 0.0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        sampler = Sampler(process.pid)
        sampler.start()
        for line in process.stdout or ():
            if line.startswith("begin"):
                begun, spent, java = time.perf_counter(), sampler.sample(), sampler.of_java()
            if line.startswith("end"):
                wall, used = time.perf_counter() - begun, sampler.sample() - spent
                java = sampler.of_java() - java
                found = line.split()[1]
        sampler.ended.set()
    if process.returncode:
        raise SystemExit(f"{step} of {rows:,} rows failed with status {process.returncode}")
    of_stages = stages(own)
    size, count = (sum(getattr(one, name) for one in of_stages.values()) for name in ("size", "rows"))
    print(
        f"| {step} | {rows:,} | {found} | {wall:.1f} | {used:.1f} | {1e6 * used / rows:.0f} |"
        f" {size / rows:.0f} | {count / rows:.1f} | {sampler.peak / 2**20:,.0f} |",
        flush=True,
    )
    # The rest of Java is its compiler, the planner, and the collector of garbage.
    tasks = sum(one.java for one in of_stages.values())
    print(f"  Python {used - java:.1f} s, tasks in Java {tasks:.1f} s, the rest of Java {java - tasks:.1f} s")
    for number, one in sorted(of_stages.items()):
        print(
            f"  stage {number}: {one.tasks} tasks, Java {one.java:.2f} s, run {one.run:.1f} s,"
            f" {one.size / rows:.0f} bytes a row shuffled",
            flush=True,
        )
    shutil.rmtree(own)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rival-rows", type=int, default=20_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--work", default=None)
    parser.add_argument("--steps", default="sketch,pairs,clusters,dedup")
    parser.add_argument("--child", default=None)
    asked = parser.parse_args()
    if asked.child:
        child(asked.child, asked.rows, asked.cores, asked.work)
        return
    folder = tempfile.mkdtemp(prefix="nearkin-bench-", dir=asked.work)
    print("| step | rows | found | wall s | cpu s | cpu us/row | shuffle B/row | shuffled rows/row | MiB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    steps = [(step, asked.rows) for step in asked.steps.split(",")]
    steps += [(step, asked.rival_rows) for step in ("pairs", "rival", "recipe") if asked.rival_rows]
    for rows in dict.fromkeys(rows for _, rows in steps):
        if not Path(folder, f"texts-{rows}").exists():
            write_texts(rows, f"{folder}/texts-{rows}", 4 * asked.cores)
    for step, rows in steps:
        measure(step, rows, asked.cores, folder)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
