#!/usr/bin/env python3
"""Runs deduplication programs of others on the corpora of `benches/edits`, and writes the tables of
docs/reports/REMOVALS.md: what each program removes wrongly, and what it leaves.

    NEARKIN_DATA=FOLDER benches/removals/run.py WORK [SEED]

Each program is installed by pip in a virtual environment below WORK, at the version below, and runs
with its default settings. `cargo bench --bench edits -- removals` makes the corpora, and judges by
brute force which documents are left. A program that cannot be installed or run is named with its error
in WORK/PROGRAM.error, and its rule is re-made in Rust instead, as that of NeMo Curator is (which needs
GPUs)."""

import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

# What pip installs, the first one being the program itself.
PROGRAMS = {
    "text-dedup": ["text-dedup==0.4.0"],
    "datatrove": ["datatrove[io,processing]==0.10.1", "spacy==3.8.18"],
    "rensa": ["rensa==0.5.0"],
    "datasketch": ["datasketch==2.0.0"],
}


def text_dedup(corpus, work):
    """The command line of the program, with its defaults."""
    from datasets import load_from_disk
    import pickle

    command = [sys.executable, "-m", "text_dedup.minhash", "--path", "json", "--data_files", str(corpus)]
    command += ["--split", "train", "--column", "text", "--output", str(work / "out"), "--debug"]
    subprocess.run([*command, "--cache_dir", str(work / "cache"), "--num_proc", "1"], check=True)
    with open(work / "out" / "uf.pkl", "rb") as file:
        united = pickle.load(file)
    clusters = {one: united.find(one) for one in list(united.parent)}
    return load_from_disk(str(work / "out"))["id"], clusters


def datatrove(corpus, work):
    """The four steps of its example, with the default configuration."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import minhash
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    (work / "in").mkdir()
    os.symlink(corpus, work / "in" / "corpus.jsonl")
    folder = lambda name: str(work / name)
    reader = JsonlReader(folder("in"))
    config = minhash.MinhashConfig()
    steps = [
        ([reader, minhash.MinhashDedupSignature(folder("signatures"), config)], 1),
        ([minhash.MinhashDedupBuckets(folder("signatures"), folder("buckets"), config=config)], config.num_buckets),
        ([minhash.MinhashDedupCluster(folder("buckets"), folder("clusters"), config, save_cluster_id=True)], 1),
        ([JsonlReader(folder("in")), minhash.MinhashDedupFilter(
            folder("clusters"),
            exclusion_writer=JsonlWriter(folder("removed"), compression=None),
            load_cluster_ids=True,
        ), JsonlWriter(folder("kept"), compression=None)], 1),
    ]
    for number, (step, tasks) in enumerate(steps):
        logs = folder(f"logs{number}")
        LocalPipelineExecutor(step, tasks=tasks, workers=1, logging_dir=logs).run()
    rows = {name: rows_of(work / name) for name in ["kept", "removed"]}
    clusters = {}
    for row in rows["kept"] + rows["removed"]:
        cluster = row["metadata"].get("minhash_cluster_id", -1)
        if cluster >= 0:
            clusters[int(row["id"])] = cluster
    return [row["id"] for row in rows["kept"]], clusters


def rensa(corpus, work):
    """The deduplicator of its readme: `RMinHashDeduplicator`, words between white space."""
    from rensa import RMinHash, RMinHashDeduplicator

    kept = RMinHashDeduplicator(threshold=0.8, num_perm=128, use_lsh=True, num_bands=8)
    ids = []
    for row in lines(corpus):
        signature = RMinHash(num_perm=128, seed=42)
        signature.update(row["text"].split())
        if kept.add(str(row["id"]), signature):
            ids.append(row["id"])
    return ids, None


def datasketch(corpus, work):
    """`MinHashLSH` as its documentation uses it: a document goes if the index has a candidate."""
    from datasketch import MinHash, MinHashLSH

    kept, ids = MinHashLSH(threshold=0.5, num_perm=128), []
    for row in lines(corpus):
        signature = MinHash(num_perm=128, seed=SEED)
        signature.update_batch([word.encode() for word in row["text"].split()])
        if not kept.query(signature):
            kept.insert(row["id"], signature)
            ids.append(row["id"])
    return ids, None


def lines(path):
    with open(path, encoding="utf-8") as file:
        yield from map(json.loads, file)


def rows_of(folder):
    return [row for path in sorted(folder.glob("*.jsonl")) for row in lines(path)]


def run_program(name, corpus, out):
    """Runs within the environment of a program. Writes a line for each document: the number of the
    document that is kept for it, or -1 if it is removed and the program does not say for which."""
    import tempfile

    with tempfile.TemporaryDirectory() as work:
        kept, clusters = globals()[name.replace("-", "_")](Path(corpus).resolve(), Path(work))
    kept = {int(one) for one in kept}
    of = {clusters[one]: one for one in kept if one in clusters} if clusters else {}
    with open(out, "w", encoding="utf-8") as file:
        for row in lines(corpus):
            number = int(row["id"])
            cluster = clusters.get(number) if clusters else None
            file.write(f"{number if number in kept else of.get(cluster, -1)}\n")


def installed(name, packages, work):
    """The Python that has a program; None if it cannot be installed."""
    folder = work / f"venv-{name}"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    return python if ended.returncode == 0 else failed(name, ended.stderr, work)


def failed(name, error, work):
    last = error.strip().splitlines()[-1:] or ["no message"]
    (work / f"{name}.error").write_text(last[0] + "\n")
    print(f"{name}: {last[0]}", file=sys.stderr)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    begun = time.time()
    work = Path(sys.argv[1]).resolve()
    work.mkdir(parents=True, exist_ok=True)
    seed = sys.argv[2:3] or ["41"]
    cargo = ["cargo", "bench", "--quiet", "--bench", "edits", "--", "removals", *seed]
    env = {**os.environ, "NEARKIN_REMOVALS": str(work)}
    subprocess.run([*cargo, "corpora"], env=env, check=True)
    corpora = sorted(work.glob("*.jsonl"), key=lambda path: int(path.stem))
    for name, packages in PROGRAMS.items():
        for old in [work / f"{name}.error", work / f"{name}.version"]:
            old.unlink(missing_ok=True)
        python = installed(name, packages, work)
        if python is None:
            continue
        start = time.time()
        for corpus in corpora:
            command = [python, __file__, "--program", name, corpus, corpus.with_suffix(f".{name}"), *seed]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            if ended.returncode != 0:
                failed(name, ended.stderr, work)
                break
        else:
            (work / f"{name}.version").write_text(packages[0].split("==")[1] + "\n")
            print(f"{name}: {len(corpora)} corpora, {time.time() - start:.0f} s")
    subprocess.run(cargo, env=env, check=True)
    print(f"{time.time() - begun:.0f} s in all")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--program"]:
        SEED = int(sys.argv[5])
        run_program(*sys.argv[2:5])
    else:
        main()
