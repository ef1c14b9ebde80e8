"""datasketch, rensa and Lance's MinHash index on the texts that `rivals text` wrote.

One thread where the library can be told so; same texts, words:3, 17 bands of 5. Results go to a
table of the same shape as those of the Rust side.
"""

import argparse
import os
import platform
import re
import shutil
import sys
import time
from pathlib import Path

# Before Lance is loaded: its pools read these once.
os.environ.setdefault("LANCE_CPU_THREADS", "1")
os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("LANCE_LOG", "error")

BANDS, BAND_ROWS, ROWS = 17, 5, 128
# The rows of the LSH index of rensa and of Lance: every row must be in a band.
ROWS_IN_BANDS = BANDS * BAND_ROWS
THRESHOLD = 90 / 128
SLOW_TEXTS = 5_000
QUERIES = 200


class Results:
    """The figures of one run: lines of a table as the Rust side writes it."""

    def __init__(self):
        self.rows = []

    def note(self, *row):
        """A row is stage, engine, durability, documents, measure, unit and value."""
        self.rows.append(row)

    def write(self, path, versions):
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [("# command", "python"), ("# python", platform.python_version())]
        lines += [(f"# {name}", version) for name, version in versions]
        for *fields, unit, value in self.rows:
            lines.append((*map(str, fields), unit, f"{value:.6g}"))
            stage, engine, _, documents, measure = fields
            print(f"{stage:<8} {engine:<12} {documents:>9} {measure:<46} {value:>14.4g} {unit}")
        path.write_text("".join("\t".join(line) + "\n" for line in lines))


def clock(work):
    start = time.perf_counter()
    done = work()
    return time.perf_counter() - start, done


def peak_mib():
    """The most memory of this process so far. (What getrusage says may be its parent's.)"""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024


def quantile_us(seconds, share):
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e6


WORD = re.compile(rb"[a-z0-9]+")


def shingles(text):
    """words:3, as bytes, lower case, by a regular expression."""
    return windows(WORD.findall(text.lower().encode()))


# Of each byte of ASCII itself in lower case, or a blank where no word goes on.
LETTERS = bytes(
    ord(chr(byte).lower()) if byte < 128 and chr(byte).isalnum() else ord(" ")
    for byte in range(256)
)


def shingles_by_table(text):
    """The same of ASCII: the fastest plain Python that we found."""
    return windows(text.encode().translate(LETTERS).split())


def windows(words):
    if len(words) < 3:
        return [b" ".join(words)]
    return list(map(b" ".join, zip(words, words[1:], words[2:])))


def sketching(results, texts):
    """Text to signature. Splitting into shingles in Python is part of it: that is what a user
    does; rensa from shingles ready made stands in a row of its own. datasketch is asked in the
    ways that it has: shingle by shingle as its first example does, text by text with its own hash
    (SHA-1), all texts at once, and that with the fastest hash that goes with it, its best."""
    import xxhash
    from datasketch import MinHash
    from rensa import RMinHash

    few = texts[:SLOW_TEXTS]

    def by_shingles():
        for text in few:
            sketch = MinHash(num_perm=ROWS)
            for shingle in shingles(text):
                sketch.update(shingle)

    def by_texts():
        for text in few:
            MinHash(num_perm=ROWS).update_batch(shingles(text))

    def in_bulk(shingles, **hashed):
        for _ in MinHash.generator((shingles(text) for text in few), num_perm=ROWS, **hashed):
            pass

    def of_rensa(shingles):
        for text in few:
            sketch = RMinHash(num_perm=ROWS, seed=42)
            sketch.update(shingles(text))
            sketch.digest()

    ready = [shingles(text) for text in few]
    if ready != [shingles_by_table(text) for text in few]:
        sys.exit("the two ways to make shingles differ")

    def of_rensa_ready():
        for one in RMinHash.from_token_sets(ready, num_perm=ROWS, seed=42):
            one.digest()

    engines = [
        ("datasketch, update", by_shingles),
        ("datasketch, update_batch", by_texts),
        ("datasketch, bulk", lambda: in_bulk(shingles)),
        ("datasketch, bulk, xxh32", lambda: in_bulk(shingles, hashfunc=xxhash.xxh32_intdigest)),
        ("datasketch, bulk, xxh32, by a table",
         lambda: in_bulk(shingles_by_table, hashfunc=xxhash.xxh32_intdigest)),
        ("rensa", lambda: of_rensa(shingles)),
        ("rensa, by a table", lambda: of_rensa(shingles_by_table)),
        ("rensa, shingles ready", of_rensa_ready),
    ]
    for name, work in engines:
        seconds, _ = clock(work)
        results.note("sketch", name, "nothing stored", len(few), "sketch, words:3",
                     "documents/s", len(few) / seconds)


def in_memory(results, texts, hits):
    """The LSH of both, sketching included. Their answers are candidates, not verified."""
    import xxhash
    from datasketch import MinHash, MinHashLSH
    from rensa import RMinHash, RMinHashLSH

    few = texts[:SLOW_TEXTS]
    durability = "none (memory), not verified"

    def measure(name, sketch, insert, query):
        def load():
            for number, text in enumerate(few):
                insert(number, sketch(text))

        seconds, _ = clock(load)
        results.note("text", name, durability, len(few), "text to searchable and durable",
                     "documents/s", len(few) / seconds)
        taken = [clock(lambda: query(sketch(text)))[0] for _, text in hits]
        results.note("text", name, durability, len(few),
                     "near-duplicate p50, sketching included", "us", quantile_us(taken, 0.5))

    # Its best for one text: the permutations are made once, and the hash is the fastest.
    first = MinHash(num_perm=ROWS, hashfunc=xxhash.xxh32_intdigest)

    def of_datasketch(text):
        sketch = MinHash(num_perm=ROWS, hashfunc=first.hashfunc,
                         permutations=first.permutations, scheme=first.scheme)
        sketch.update_batch(shingles(text))
        return sketch

    lsh = MinHashLSH(num_perm=ROWS, params=(BANDS, BAND_ROWS))
    measure("datasketch", of_datasketch, lambda n, s: lsh.insert(n, s, check_duplication=False),
            lsh.query)

    def of_rensa(text):
        sketch = RMinHash(num_perm=ROWS_IN_BANDS, seed=42)
        sketch.update(shingles(text))
        return sketch

    rensa = RMinHashLSH(threshold=THRESHOLD, num_perm=ROWS_IN_BANDS, num_bands=BANDS)
    measure("rensa", of_rensa, rensa.insert, rensa.query)


def folder_bytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def lance(results, texts, hits, misses, work):
    """Lance syncs nothing: what it has written is in the hands of the operating system."""
    import lance as db
    import pyarrow as pa
    from lance.query import MinHashQuery

    folder = work / "lance"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = str(folder / "texts.lance")
    count = len(texts)

    def note(measure, unit, value):
        results.note("text", "lance", "none (never syncs)", count, measure, unit, value)

    def table(first, part):
        return pa.table({"id": pa.array(range(first, first + len(part)), pa.int64()),
                         "text": pa.array(part)})

    def load():
        data = db.write_dataset(table(0, texts), path)
        data.create_scalar_index("text", "MINHASHLSH", num_hashes=ROWS_IN_BANDS, num_bands=BANDS,
                                 shingle_size=3)
        return data

    seconds, data = clock(load)
    note("text to searchable and durable", "documents/s", count / seconds)
    note("memory of the process with the load", "MiB", peak_mib())
    note("disk", "bytes/document", folder_bytes(folder) / count)
    index = folder / "texts.lance" / "_indices"
    note("disk, index alone", "bytes/document", folder_bytes(index) / count)

    def query(data, text):
        found = data.to_table(nearest=MinHashQuery(text, "text"), limit=10, columns=["id", "_distance"])
        least = 1 - THRESHOLD
        pairs = zip(found["id"].to_pylist(), found["_distance"].to_pylist())
        return [number for number, distance in pairs if distance <= least + 1e-9]

    del data

    def reopen():
        data = db.dataset(path)
        query(data, hits[0][1])
        return data

    seconds, data = clock(reopen)
    note("reopen to first answer, warm", "ms", seconds * 1e3)
    taken, recalled = [], 0
    for of, text in hits:
        seconds, found = clock(lambda: query(data, text))
        taken.append(seconds)
        recalled += of in found
    note("near-duplicate p50, sketching included", "us", quantile_us(taken, 0.5))
    note("near-duplicate p99, sketching included", "us", quantile_us(taken, 0.99))
    note("near-duplicates that find their document", "%", recalled / len(hits) * 100)
    taken = [clock(lambda: query(data, text))[0] for text in misses]
    note("fresh p50, sketching included", "us", quantile_us(taken, 0.5))

    def remove():
        data.delete(f"id < {min(1_000, count // 2)}")
        query(data, hits[1][1])

    seconds, _ = clock(remove)
    note("1,000 removals and the first query", "ms", seconds * 1e3)

    checked = min(200, count)
    seconds, _ = clock(lambda: check_then_add(db, table, texts[:checked], folder, query))
    note("check, then add", "documents/s", checked / seconds)
    shutil.rmtree(folder)


def check_then_add(db, table, texts, folder, query):
    """One by one from empty: a document that is not indexed yet is signed for every query."""
    path = str(folder / "checked.lance")
    data = db.write_dataset(table(0, texts[:1]), path)
    data.create_scalar_index("text", "MINHASHLSH", num_hashes=ROWS_IN_BANDS, num_bands=BANDS,
                             shingle_size=3)
    for number, text in enumerate(texts[1:], start=1):
        if not query(data, text):
            data = db.write_dataset(table(number, [text]), path, mode="append")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    def lines(name):
        return (options.texts / name).read_text().splitlines()

    texts = lines("documents.txt")
    hits = [(int(of), text) for of, text in (line.split("\t", 1) for line in lines("hits.txt"))]
    hits, misses = hits[:QUERIES], lines("misses.txt")[:QUERIES]
    fewer = [hit for hit in hits if hit[0] < SLOW_TEXTS] or hits[:20]
    results = Results()
    stages = [
        ("sketching", lambda: sketching(results, texts)),
        ("in memory", lambda: in_memory(results, texts, fewer)),
        ("lance", lambda: lance(results, texts, hits, misses, options.work)),
    ]
    for name, work in stages:
        try:
            work()
        except ImportError as missing:
            print(f"skipped: {name}: {missing}", file=sys.stderr)
    from importlib.metadata import PackageNotFoundError, version

    versions = []
    for package in ["datasketch", "xxhash", "rensa", "pylance", "pyarrow", "numpy"]:
        try:
            versions.append([package, version(package)])
        except PackageNotFoundError:
            versions.append([package, "not installed"])
    results.write(options.out, versions)


if __name__ == "__main__":
    main()
