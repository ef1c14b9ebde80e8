#!/usr/bin/env python3
"""Prints the targets of docs/reports/BENCHMARKS.md with what the results in a folder say:

    benches/rivals/python/targets.py [FOLDER]      default: benches/rivals/results

A figure is the median of the runs; a ratio is that of two medians. What has no result, and how many targets are held,
goes to stderr."""

import statistics
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "results")
FOUND, FIRST = {}, {}
for name in ("tables", "ours", "large", "memory", "text"):
    path = FOLDER / f"{name}.tsv"
    for line in path.read_text().splitlines() if path.exists() else []:
        if not line.startswith("#"):
            stage, engine, _, size, measure, _, values = line.split("\t")
            runs = [float(value) for value in values.split()]
            FOUND[stage, engine, int(size), measure] = statistics.median(runs)
            FIRST[stage, engine, int(size), measure] = runs[0]

TREES = ("lmdb", "sqlite", "redb")
MILLION = 1_000_000


def table(measure, engine="nearkin", size=MILLION):
    return FOUND["tables", engine, size, measure]


def text(measure, engine="nearkin"):
    return FOUND["text", engine, 100_000, measure]


def sketch(engine, size=5_000, measure="sketch, words:3"):
    return FOUND["sketch", engine, size, measure]


def ours(measure):
    return FOUND["ours", "nearkin", MILLION, measure]


def large(measure):
    return FOUND["large", "nearkin", 10 * MILLION, measure]


def best(measure, engines):
    return max(table(measure, engine) for engine in engines)


def cost(size):
    return 1 / table("insert, batches of 1,000", size=size)


INSERT, BULK = "insert, batches of 1,000", "insert, batches of 100,000"
DURABLE, NEAR = "text to searchable and durable", "near-duplicate p50, sketching included"
SHINGLE = "sketch, words:3, per shingle"
REMOVED = "1,000 removals and the first query"
OPENED = "reopen to first answer, warm"

#: The group, what is measured, the target (at least or at most), its unit, and how it is computed.
TARGETS = [
    (0, "text to durable, against Lance", ">=", 10, "x", lambda: text(DURABLE) / text(DURABLE, "lance")),
    (0, "text to durable, against sketchir", ">=", 25, "x", lambda: text(DURABLE) / text(DURABLE, "sketchir")),
    (0, "query p50, against sketchir", ">=", 20, "x", lambda: text(NEAR, "sketchir") / text(NEAR)),
    (0, "query p50, against Lance", ">=", 100, "x", lambda: text(NEAR, "lance") / text(NEAR)),
    (0, "reopen, against Lance", ">=", 5, "x", lambda: text(OPENED, "lance") / text(OPENED)),
    (
        0,
        "1,000 removals and a query, against sketchir and Lance",
        ">=",
        20,
        "x",
        lambda: min(text(REMOVED, "sketchir"), text(REMOVED, "lance")) / text(REMOVED),
    ),
    (0, "check, then add", ">=", 100_000, "documents/s", lambda: text("check, then add")),
    (1, "sketching, against gaoya", ">=", 15, "x", lambda: sketch("nearkin", 20_000) / sketch("gaoya", 20_000)),
    (1, "sketching, against rensa", ">=", 30, "x", lambda: sketch("nearkin", 20_000) / sketch("rensa")),
    (1, "sketching, against rensa, ASCII by a table", ">=", 30, "x", lambda: sketch("nearkin", 20_000) / sketch("rensa, by a table")),
    (1, "sketching, against datasketch's update_batch", ">=", 200, "x", lambda: sketch("nearkin", 20_000) / sketch("datasketch, update_batch")),
    (
        1,
        "sketching, against datasketch at its best",
        ">=",
        200,
        "x",
        lambda: sketch("nearkin", 20_000) / sketch("datasketch, bulk, xxh32, by a table"),
    ),
    (
        1,
        "cost per shingle, against splitting and hashing alone",
        "<=",
        2,
        "x",
        lambda: sketch("nearkin", 20_000, SHINGLE) / sketch("split and hash", 20_000, SHINGLE),
    ),
    (2, "insert at 1,000,000, against fjall", ">=", 18, "x", lambda: table(INSERT) / table(INSERT, "fjall")),
    (
        2,
        "insert at 1,000,000, against the best tree, its batches of 10,000",
        ">=",
        12,
        "x",
        lambda: table(INSERT) / best("insert, batches of 10,000", TREES),
    ),
    (2, "insert at 1,000,000, against the best tree, its batches of 100,000", ">=", 12, "x", lambda: table(INSERT) / best(BULK, TREES)),
    (
        2,
        "insert at 1,000,000, against the best of the others, all in batches of 100,000",
        ">=",
        12,
        "x",
        lambda: table(BULK) / best(BULK, (*TREES, "fjall")),
    ),
    (2, "insert at 1,000,000, against gaoya", ">=", 1.5, "x", lambda: table(INSERT) / table(INSERT, "gaoya")),
    (
        2,
        "single inserts: syncs of the disk alone / inserts",
        "<=",
        1.2,
        "x",
        lambda: ours("syncs of 256 appended bytes") / ours("single inserts, one thread"),
    ),
    (2, "8 threads of single inserts, against one", ">=", 4, "x", lambda: ours("single inserts, 8 threads") / ours("single inserts, one thread")),
    (3, "hit p50 at 1,000,000", "<=", 2, "us", lambda: table("hit p50")),
    (3, "hit p50, against gaoya", ">=", 2.5, "x", lambda: table("hit p50", "gaoya") / table("hit p50")),
    (3, "miss p50 at 1,000,000", "<=", 0.5, "us", lambda: table("miss p50")),
    (3, "miss p50, against gaoya", ">=", 1.5, "x", lambda: table("miss p50", "gaoya") / table("miss p50")),
    (
        3,
        "hit p50, against SQLite and LMDB",
        ">=",
        15,
        "x",
        lambda: min(table("hit p50", "sqlite"), table("hit p50", "lmdb")) / table("hit p50"),
    ),
    (3, "hit p99 / p50", "<=", 5, "x", lambda: table("hit p99") / table("hit p50")),
    (3, "miss p99 / p50", "<=", 5, "x", lambda: table("miss p99") / table("miss p50")),
    (3, "queries on two threads, against one", ">=", 1.8, "x", lambda: table("queries on two threads") / table("queries on one thread")),
    (3, "hit p50 at 10,000,000", "<=", 4, "us", lambda: large("hit p50")),
    (4, "miss p50 at 1,000,000, cold cache", "<=", 350, "us", lambda: table("miss p50, cold cache")),
    (5, "disk at 1,000,000, less the key", "<=", 256, "bytes/document", lambda: table("disk") - 8),
    (5, "written by the load / final size, at 10,000,000", "<=", 4, "x", lambda: large("written by the load / final size")),
    (6, "most anonymous memory at 10,000,000", "<=", 256, "MiB", lambda: large("most anonymous memory")),
    (7, "reopen at 1,000,000, warm", "<=", 1, "ms", lambda: table(OPENED)),
    (7, "reopen after a kill, full memtable", "<=", 500, "ms", lambda: ours("reopen after a kill, full memtable")),
    (7, "reopen at 10,000,000, warm", "<=", 1, "ms", lambda: large(OPENED)),
    (8, "removals, batches of 1,000", ">=", 300_000, "documents/s", lambda: ours("removals, batches of 1,000")),
    (8, "hit p50 with a fifth dead, against none", "<=", 1.3, "x", lambda: ours("hit p50 with a fifth dead, against none")),
    (8, "disk after removing a fifth and compacting", "<=", 82, "%", lambda: ours("disk after removing a fifth and compacting")),
    (9, "pairs at 0.7", "<=", 3, "s", lambda: ours("pairs at 0.7")),
    (9, "pairs: anonymous memory of the process, first run", "<=", 256, "MiB", lambda: FIRST["ours", "nearkin", MILLION, "memory of the process with pairs"]),
    (9, "clusters at 0.7", "<=", 3, "s", lambda: ours("clusters at 0.7")),
    (9, "clusters: anonymous memory, first run", "<=", 256, "MiB", lambda: FIRST["ours", "nearkin", MILLION, "memory of the process with clusters"]),
    (10, "hit p99 while a writer runs, against idle", "<=", 5, "x", lambda: ours("hit p99 while a writer runs") / ours("hit p99, idle")),
    (10, "longest wait of the writer", "<=", 500, "ms", lambda: ours("longest wait of the writer")),
    (
        11,
        "insert cost at 10,000,000, against the least of fewer",
        "<=",
        2,
        "x",
        lambda: 1 / large(INSERT) / min(cost(size) for size in (10_000, 100_000, MILLION)),
    ),
    (11, "hit p50 at 10,000,000, against 10,000", "<=", 4, "x", lambda: large("hit p50") / table("hit p50", size=10_000)),
]


def shown(value, unit):
    digits = f"{value:,.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")
    return f"{digits} {unit}"


held = []
for group, what, sense, target, unit, compute in TARGETS:
    try:
        value = compute()
    except KeyError as missing:
        print(f"no result for {what}: {missing}", file=sys.stderr)
        continue
    held.append(value >= target if sense == ">=" else value <= target)
    verdict = "held" if held[-1] else "**not held**"
    print(f"| {group} | {what} | {sense} {shown(target, unit)} | {shown(value, unit)} | {verdict} |")
print(f"{sum(held)} of {len(TARGETS)} held", file=sys.stderr)
