"""Nearkin beside datasketch, rensa and text-dedup, as tables of Markdown.

    taskset -c 0 python benches/rivals.py sketch --rows 20000
    taskset -c 0 python benches/rivals.py lsh --rows 100000
    taskset -c 0 python benches/rivals.py dedup --rows 100000

Every contender runs in a process of its own, three times (``--times``), on the same rows; the table
has the median time and the peak memory of the process, less what it had when the work began.
With ``--cpu`` the processor time is counted instead of the time that passed: for a machine that
others use, too.
A contender whose package is not installed is left out, and named.

text-dedup 0.4.0 wants packages that it does not need here:
``pip install --no-deps text-dedup datasets click click-option-group rich xxhash ...``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench import made

Work = Callable[[], Any]
#: Characters between words, for those who split texts in Python.
NOT_WORD = re.compile(r"\W+")
#: Set in the environment of a contender whose processor time is counted.
CPU = "NEARKIN_RIVALS_CPU"
NUM_PERM = 128
THRESHOLD = 0.7


def shingles(text: str) -> list[str]:
    """Three words in a row."""
    words = NOT_WORD.split(text.lower())
    return [" ".join(words[at : at + 3]) for at in range(len(words) - 2)]


def texts_of(folder: Path) -> list[str]:
    import pyarrow.parquet as pq

    return pq.read_table(folder / "texts.parquet")["text"].to_pylist()


def tokens_of(folder: Path) -> list[list[str]]:
    return [text.split() for text in texts_of(folder)]


# Sketching: from texts, and from lists of tokens.


def sketch_nearkin_list(folder: Path) -> Work:
    import nearkin as nk

    texts, sketcher = texts_of(folder), nk.Sketcher(nk.Params(shingles="words:3"), threads=1)
    return lambda: sketcher.texts(texts)


def sketch_nearkin_arrow(folder: Path) -> Work:
    import nearkin as nk
    import pyarrow.parquet as pq

    column = pq.read_table(folder / "texts.parquet")["text"]
    sketcher = nk.Sketcher(nk.Params(shingles="words:3"), threads=1)
    return lambda: sketcher.texts(column)


def sketch_rensa_text(folder: Path) -> Work:
    import rensa

    texts = texts_of(folder)

    def work() -> None:
        for text in texts:
            rensa.RMinHash(num_perm=NUM_PERM, seed=1).update(shingles(text))

    return work


def sketch_datasketch_text(folder: Path) -> Work:
    import datasketch
    import xxhash

    texts = texts_of(folder)

    def work() -> None:
        rows = [[shingle.encode() for shingle in shingles(text)] for text in texts]
        datasketch.MinHash.bulk(rows, num_perm=NUM_PERM, hashfunc=xxhash.xxh32_intdigest)

    return work


def sketch_nearkin_tokens(folder: Path) -> Work:
    import nearkin as nk

    tokens, sketcher = tokens_of(folder), nk.Sketcher(nk.Params(shingles="items"), threads=1)
    return lambda: sketcher.items(tokens)


def sketch_rensa_tokens(folder: Path) -> Work:
    import rensa

    tokens = tokens_of(folder)

    def work() -> None:
        for row in tokens:
            rensa.RMinHash(num_perm=NUM_PERM, seed=1).update(row)

    return work


def sketch_rensa_matrix(folder: Path) -> Work:
    import rensa

    tokens = tokens_of(folder)
    return lambda: rensa.RMinHash.digest_matrix_from_token_sets(tokens, NUM_PERM, 1)


def bulk(folder: Path, package: str) -> Work:
    rows = [[token.encode() for token in row] for row in tokens_of(folder)]
    minhash = __import__(package, fromlist=["MinHash"]).MinHash
    return lambda: minhash.bulk(rows, num_perm=NUM_PERM)


def sketch_ours_bulk(folder: Path) -> Work:
    return bulk(folder, "nearkin.datasketch")


def sketch_datasketch_bulk(folder: Path) -> Work:
    return bulk(folder, "datasketch")


# MinHashLSH in memory: insertion, then queries.


def hash_values(rows: int) -> Any:
    """Rows of random values; every tenth is the one before it with some values changed."""
    import numpy as np

    drawn = np.random.default_rng(1)
    values = drawn.integers(0, 2**32, (rows, NUM_PERM), dtype=np.uint32)
    for row in range(1, rows, 10):
        values[row] = values[row - 1]
        values[row, drawn.integers(0, NUM_PERM, 12)] = 0
    return values


def query_step(rows: int) -> int:
    """Every so many rows is asked about: 20,000 in all."""
    return max(1, rows // 20_000)


def lsh(folder: Path, package: str, query: bool) -> Work:
    rows = int((folder / "rows").read_text())
    module = __import__(package, fromlist=["MinHash"])
    all_values = hash_values(rows)
    made_once = [
        module.MinHash(num_perm=NUM_PERM, hashvalues=values, scheme="affine32")
        for values in all_values
    ]

    def insert() -> Any:
        index = module.MinHashLSH(threshold=THRESHOLD, num_perm=NUM_PERM)
        for number, minhash in enumerate(made_once):
            index.insert(number, minhash)
        return index

    if not query:
        return insert
    index, asked = insert(), made_once[:: query_step(rows)]

    def ask() -> Any:
        return [sorted(index.query(minhash)) for minhash in asked]

    return ask


def lsh_ours_insert(folder: Path) -> Work:
    return lsh(folder, "nearkin.datasketch", False)


def lsh_datasketch_insert(folder: Path) -> Work:
    return lsh(folder, "datasketch", False)


def lsh_ours_query(folder: Path) -> Work:
    return lsh(folder, "nearkin.datasketch", True)


def lsh_datasketch_query(folder: Path) -> Work:
    return lsh(folder, "datasketch", True)


# Deduplication of a file of Parquet, as a script would do it: reading is a part of the work.


def batches_of(file: Any) -> Any:
    """The batches of a file of Parquet, read with little memory: by default pyarrow takes 1 GiB."""
    return file.iter_batches(batch_size=8_192)


def dedup_nearkin(folder: Path) -> Work:
    import nearkin as nk
    import pyarrow as pa
    import pyarrow.parquet as pq

    def work() -> int:
        file = pq.ParquetFile(folder / "texts.parquet", pre_buffer=False)
        reader = pa.RecordBatchReader.from_batches(file.schema_arrow, batches_of(file))
        params = nk.Params(threshold=THRESHOLD, shingles="words:3")
        return sum(len(batch) for batch in nk.dedup(reader, on="text", params=params, threads=1))

    return work


def dedup_nearkin_table(folder: Path) -> Work:
    import nearkin as nk
    import pyarrow.parquet as pq

    def work() -> int:
        table = pq.read_table(folder / "texts.parquet")
        params = nk.Params(threshold=THRESHOLD, shingles="words:3")
        # The others decide by the estimate, too.
        return len(nk.dedup(table, on="text", params=params, estimate=True, threads=1))

    return work


def dedup_rensa(folder: Path) -> Work:
    import pyarrow.parquet as pq
    import rensa

    def work() -> int:
        seen = rensa.RMinHashDeduplicator(THRESHOLD, NUM_PERM, True, 16)
        number = kept = 0
        for batch in batches_of(pq.ParquetFile(folder / "texts.parquet", pre_buffer=False)):
            for text in batch["text"].to_pylist():
                minhash = rensa.RMinHash(num_perm=NUM_PERM, seed=42)
                minhash.update(shingles(text))
                kept += seen.add(str(number), minhash)
                number += 1
        return kept

    return work


def dedup_text_dedup(folder: Path) -> Work:
    import datasets
    from text_dedup.minhash import main

    stored = datasets.Dataset.from_parquet(
        str(folder / "texts.parquet"), cache_dir=str(folder / "cache")
    )
    stored.save_to_disk(str(folder / "stored"))
    asked = [
        "--path", str(folder / "stored"), "--local", "--output", str(folder / "out"),
        "--column", "text", "--ngram", "3", "--min_length", "0", "--num_perm", str(NUM_PERM),
        "--threshold", str(THRESHOLD), "--hash_func", "xxh3", "--hash_bits", "32",
        "--num_proc", "1", "--cache_dir", str(folder / "cache"),
    ]  # fmt: skip

    def work() -> int:
        main.callback and main(asked, standalone_mode=False)
        return len(datasets.load_from_disk(str(folder / "out")))

    return work


#: Stage: (name in the table, package, function); the first is what others are compared with.
CONTENDERS: dict[str, list[tuple[str, str, Callable[[Path], Work]]]] = {
    "sketch": [
        ("nearkin, `list[str]`", "nearkin", sketch_nearkin_list),
        ("nearkin, an Arrow column", "nearkin", sketch_nearkin_arrow),
        ("rensa, from texts", "rensa", sketch_rensa_text),
        ("datasketch, bulk, xxh32, from texts", "datasketch", sketch_datasketch_text),
    ],
    "tokens": [
        ("nearkin, lists of tokens", "nearkin", sketch_nearkin_tokens),
        ("rensa, `update`", "rensa", sketch_rensa_tokens),
        ("rensa, `digest_matrix_from_token_sets`", "rensa", sketch_rensa_matrix),
    ],
    "bulk": [
        ("nearkin.datasketch, bulk, SHA-1", "nearkin", sketch_ours_bulk),
        ("datasketch, bulk, SHA-1", "datasketch", sketch_datasketch_bulk),
    ],
    "insert": [
        ("nearkin.datasketch, insert", "nearkin", lsh_ours_insert),
        ("datasketch, insert", "datasketch", lsh_datasketch_insert),
    ],
    "query": [
        ("nearkin.datasketch, query", "nearkin", lsh_ours_query),
        ("datasketch, query", "datasketch", lsh_datasketch_query),
    ],
    "dedup": [
        ("nearkin, `dedup` of a reader", "nearkin", dedup_nearkin),
        ("nearkin, `dedup` of a table", "nearkin", dedup_nearkin_table),
        ("rensa, `RMinHashDeduplicator`", "rensa", dedup_rensa),
        ("text-dedup, `minhash`", "text_dedup", dedup_text_dedup),
    ],
}
STAGES = {"sketch": ["sketch", "tokens", "bulk"], "lsh": ["insert", "query"], "dedup": ["dedup"]}


def peak_mib() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        # `ru_maxrss` would count what the parent had before this program was started in its place.
        found = re.search(r"VmHWM:\s*(\d+)", status.read_text())
        if found:
            return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Parts:
    """The peaks of what the process has of its own and of pages of files, in MiB, every 20 ms."""

    def __init__(self) -> None:
        self._most = {"RssAnon": 0.0, "RssFile": 0.0}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        status = Path("/proc/self/status")
        while status.exists() and not self._ended.wait(0.02):
            for line in status.read_text().splitlines():
                name, _, value = line.partition(":")
                if name in self._most:
                    self._most[name] = max(self._most[name], int(value.split()[0]) / 1024)

    def end(self) -> list[float]:
        self._ended.set()
        self._thread.join()
        return list(self._most.values())


def digest(told: Any) -> Any:
    """What contenders must agree on, where they can."""
    import hashlib

    if isinstance(told, list):
        return hashlib.sha256(repr(told).encode()).hexdigest()[:16]
    return told if isinstance(told, int) else None


def child(stage: str, number: int, folder: Path) -> None:
    work = CONTENDERS[stage][number][2](folder)
    parts = Parts()
    clock = time.process_time if os.environ.get(CPU) else time.perf_counter
    before, begun = peak_mib(), clock()
    told = work()
    spent = clock() - begun
    extra = [peak_mib() - before, peak_mib(), *parts.end()]
    print("\n" + json.dumps([spent, *extra, digest(told)]))


def run(stage: str, number: int, folder: Path) -> list[Any]:
    arguments = [sys.executable, __file__, "--child", stage, str(number), str(folder)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{CONTENDERS[stage][number][0]}:\n{done.stderr[-3000:]}")
    told: list[Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return told


def table(stage: str, folder: Path, rows: int, times: int) -> None:
    print(f"\n| {stage}, {rows:,} rows | rows a second | time | memory beyond its input, MiB "
          "| peak, MiB | anonymous | of files |\n|---|---:|---:|---:|---:|---:|---:|")  # fmt: skip
    base = None
    answers = {}
    for number, (name, package, _) in enumerate(CONTENDERS[stage]):
        if find_spec(package) is None:
            print(f"{package} is not installed: {name} is left out", file=sys.stderr)
            continue
        runs = [run(stage, number, folder) for _ in range(times)]
        spent = statistics.median(one[0] for one in runs)
        extra, peak, own, files = (
            statistics.median(one[at] for one in runs) for at in (1, 2, 3, 4)
        )
        base = base or spent
        answers[name] = runs[0][-1]
        done = len(range(0, rows, query_step(rows))) if stage == "query" else rows
        print(f"| {name} | {done / spent:,.0f} | {spent / base:.2f} x | {extra:,.0f} | {peak:,.0f} "
              f"| {own:,.0f} | {files:,.0f} |",
              flush=True)  # fmt: skip
    if stage == "query":
        same = len(set(answers.values())) == 1
        print(f"\nThe candidates are {'the same' if same else f'NOT the same: {answers}'}.")
    elif stage == "dedup":
        print("\nRows kept: " + ", ".join(f"{name} {kept:,}" for name, kept in answers.items()))


def write_texts(folder: Path, rows: int) -> None:
    """Texts of 200 words; every tenth is the one before it with two words changed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    chosen = random.Random(2)
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    distinct = made(min(rows, 50_000))
    with pq.ParquetWriter(folder / "texts.parquet", schema) as out:
        for begin in range(0, rows, 50_000):
            texts = distinct[: rows - begin]
            if begin:
                # Other texts of the same words: no two of them have three words in a row in common.
                texts = [" ".join(chosen.sample(text.split(), 200)) for text in texts]
            for at in range(1, len(texts), 10):
                words = texts[at - 1].split()
                for place in (20, 120):
                    words[place] = "changed"
                texts[at] = " ".join(words)
            ids = range(begin, begin + len(texts))
            out.write_table(pa.table({"id": list(ids), "text": texts}, schema))
    (folder / "rows").write_text(str(rows))


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        stage, number, folder = sys.argv[2:]
        return child(stage, int(number), Path(folder))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--cpu", action="store_true")
    asked = parser.parse_args()
    if asked.cpu:
        os.environ[CPU] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if asked.stage == "lsh":
            (place / "rows").write_text(str(asked.rows))
        else:
            write_texts(place, asked.rows)
        for stage in STAGES[asked.stage]:
            table(stage, place, asked.rows, asked.times)


if __name__ == "__main__":
    main()
