"""What `nearkin.spark` costs, beside Spark's own MinHashLSH.

python benches/spark.py [--rows 100000] [--rival-rows 20000] [--cores 2] [--work FOLDER]

Each call runs in a session of its own. Processor time and memory are those of all processes of the
session, the workers of Python, too (Spark's own figures leave these out), sampled four times a
second; the start of the session is not counted. Memory is the sum of resident sets, so pages that
workers share are counted for each. Shuffle bytes are from Spark's event log, after compression.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
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
#: Of 20,000 words: common ones often, as in a language.
WEIGHTS = list(itertools.accumulate(1 / (rank + 10) for rank in range(20_000)))


def text_of(row: int) -> str:
    """80 words; every fifth row is a copy of the row before with one word changed."""
    chosen = random.Random(row - 1 if row % 5 == 4 else row)
    words = [f"w{word}" for word in chosen.choices(range(20_000), cum_weights=WEIGHTS, k=80)]
    if row % 5 == 4:
        words[row % 80] = "altered"
    return " ".join(words)


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
    from nearkin import Params
    from nearkin import spark as nks

    spark = session_of(cores, folder)
    path = f"{folder}/../texts-{rows}"
    if step == "texts":
        numbers = spark.range(0, rows, 1, 4 * cores).rdd.map(lambda row: (row[0], text_of(row[0])))
        numbers.toDF("id long, text string").write.parquet(path)
        return
    df = spark.read.parquet(path)
    spark.range(1).count()
    print("begin", flush=True)
    params = Params(THRESHOLD, shingles="words:3")
    if step == "rival":
        found = rival(df)
    elif step == "sketch":
        found = nks.sketch(df, params).where("signature is not null").count()
    else:
        call = {"pairs": nks.pairs, "clusters": nks.clusters, "dedup": nks.dedup}[step]
        result = call(df, params, work=f"file://{folder}/work")
        found = result.count()
    print(f"end {found}", flush=True)
    spark.stop()


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


def processes(session: int) -> dict[int, tuple[float, int]]:
    """Seconds of processor and resident bytes of the processes of a session."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            seconds = (int(fields[11]) + int(fields[12])) / TICKS
            found[int(folder.name)] = (seconds, int(fields[21]) * PAGE)
    return found


class Sampler(threading.Thread):
    """What a session's processes have used; one that ended keeps its last sample."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self.session = session
        self.seconds: dict[int, float] = {}
        self.peak = 0
        self.ended = threading.Event()

    def sample(self) -> float:
        now = processes(self.session)
        self.seconds.update({pid: seconds for pid, (seconds, _) in now.items()})
        self.peak = max(self.peak, sum(resident for _, resident in now.values()))
        return sum(self.seconds.values())

    def run(self) -> None:
        while not self.ended.wait(0.25):
            self.sample()


def shuffled(folder: str) -> tuple[int, int]:
    """Bytes and rows that tasks wrote for others."""
    size = rows = 0
    for file in Path(folder, "log").rglob("*"):
        for line in file.open() if file.is_file() else ():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                written = event["Task Metrics"]["Shuffle Write Metrics"]
                size += written["Shuffle Bytes Written"]
                rows += written["Shuffle Records Written"]
    return size, rows


def measure(step: str, rows: int, cores: int, folder: str) -> None:
    own = tempfile.mkdtemp(prefix=f"{step}-", dir=folder)
    command = [sys.executable, __file__, "--child", step, "--rows", str(rows)]
    command += ["--cores", str(cores), "--work", own]
    begun = spent = 0.0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        sampler = Sampler(process.pid)
        sampler.start()
        for line in process.stdout or ():
            if line.startswith("begin"):
                begun, spent = time.perf_counter(), sampler.sample()
            if line.startswith("end"):
                wall, used = time.perf_counter() - begun, sampler.sample() - spent
                found = line.split()[1]
        sampler.ended.set()
    if process.returncode:
        raise SystemExit(f"{step} of {rows:,} rows failed with status {process.returncode}")
    if step != "texts":
        size, count = shuffled(own)
        print(
            f"| {step} | {rows:,} | {found} | {wall:.1f} | {used:.1f} | {1e6 * used / rows:.0f} |"
            f" {size / rows:.0f} | {count / rows:.1f} | {sampler.peak / 2**20:,.0f} |",
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
    steps += [(step, asked.rival_rows) for step in ("pairs", "rival") if asked.rival_rows]
    for rows in dict.fromkeys(rows for _, rows in steps):
        measure("texts", rows, asked.cores, folder)
    for step, rows in steps:
        measure(step, rows, asked.cores, folder)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
