#!/usr/bin/env python3
"""Crowds of identical and of nearly identical documents through every command and route, and the calls
of Python: prints a table of processor time by size, and marks what grows faster than linear.

    benches/crowds.py WORK [NEARKIN] [--sizes 25000,50000,100000] [--kinds same,near,forms] [--only PART]

`same`: all texts are equal. `near`: one of 200 words differs, at a random place. `forms`: it is a number
that no other text has, so that the guard of `dedup` and `admit` keeps each as a form that is filled in.
Seconds are user and system time of the process. The exponent is that of the growth between two sizes; a row
is marked above 1.35, unless all takes less than 0.3 s. A command stops after 60 s, and larger sizes
of its row are left out. The Python rows need a wheel on PYTHONPATH. C and Node are not run: they call
the same functions of the library, and add the conversion of each answer."""

import argparse
import http.client
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

SEED = 20261129
LIMIT = 60
MARK = 1.35

# Name and arguments of each command, in order. `{i}` is the index that `add` makes, `{l}` the lines.
COMMANDS = [
    ("add", "add {i} --jsonl {l}"),
    ("add, replacing all", "add {i} --jsonl {other}"),
    ("add, replacing all again", "add {i} --jsonl {l}"),
    ("add --ignore-common", "add {t}/common --jsonl {l} --ignore-common 5%"),
    ("stats", "stats {i}"),
    ("verify", "verify {i}"),
    ("list", "list {i}"),
    ("query --text", "query {i} --text @one"),
    ("query --text --limit N", "query {i} --text @one --limit {n}"),
    ("query --text --limit N --json", "query {i} --text @one --limit {n} --json"),
    ("query --key", "query {i} --key a/0"),
    ("query --keys, 100", "query {i} --keys {keys} --json"),
    ("query --exact --limit N", "query {i} --text @one --exact --from {l} --limit {n} --json"),
    ("query --jsonl, all lines", "query {i} --jsonl {l} --limit 10 --json"),
    ("pairs --limit", "pairs {i} --limit 1000"),
    ("pairs --limit --json", "pairs {i} --limit 1000 --json"),
    ("pairs --collapse of equal ones", "pairs {i} --collapse --json"),
    ("pairs --exact --limit", "pairs {i} --exact --from {l} --limit 1000 --json"),
    ("pairs --contained --limit", "pairs {i} --contained 0.8 --limit 1000 --json"),
    ("clusters", "clusters {i}"),
    ("clusters --json", "clusters {i} --json"),
    ("clusters --direct --json", "clusters {i} --direct --json"),
    ("clusters --exact --json", "clusters {i} --exact --from {l} --json"),
    ("report --from", "report {i} --from {l} --out {t}/page.html"),
    ("export", "export {i} --out {t}/e.jsonl"),
    ("import, lines", "import {t}/imported {t}/e.jsonl"),
    ("import, replacing all", "import {t}/imported {i}"),
    ("compact", "compact {i}"),
    ("backup", "backup {i} {t}/backup"),
    ("salvage", "salvage {i} {t}/salvaged"),
    ("rebuild", "rebuild {i} {t}/rebuilt --threshold 0.8"),
    ("remove --if-similar, half", "remove {t}/imported --from {half} --if-similar 0.8"),
    ("remove --if-similar, all but one", "remove {t}/backup --from {rest} --if-similar 0.8"),
    ("remove --prefix", "remove {t}/imported --prefix a/"),
    ("tune", "tune --jsonl {l}"),
    ("tune --known", "tune --jsonl {l} --known {known}"),
    ("admit", "admit {t}/admitted --jsonl {l}"),
    ("admit --estimate", "admit {t}/admitted4 --jsonl {l} --estimate"),
    ("admit --keep newest", "admit {t}/admitted5 --jsonl {l} --keep newest"),
    ("admit --keep longest --exact", "admit {t}/admitted6 --jsonl {l} --keep longest --exact"),
    ("admit --keep all --json", "admit {t}/admitted7 --jsonl {l} --keep all --json"),
    ("admit to a full index", "admit {t}/salvaged --jsonl {other} --json"),
    ("dedup", "dedup {l} --out {t}/d1.jsonl"),
    ("dedup --guard none", "dedup {l} --out {t}/d4.jsonl --guard none"),
    ("dedup --estimate", "dedup {l} --out {t}/d5.jsonl --estimate"),
    ("dedup --exact", "dedup {l} --out {t}/d6.jsonl --exact"),
    ("dedup --keep longest", "dedup {l} --out {t}/d8.jsonl.gz --keep longest"),
    ("dedup --cluster-field", "dedup {l} --out {t}/d10.jsonl --cluster-field c"),
    ("dedup --index", "dedup {other} --out {t}/d11.jsonl --index {i} --keep all"),
    ("dedup --index --exact", "dedup {other} --out {t}/d12.jsonl --index {i} --exact --from {l}"),
    ("dedup --without", "dedup {l} --out {t}/d13.jsonl --without {other} --keep all"),
    ("dedup --cut-passages", "dedup {l} --out {t}/d14.jsonl --cut-passages 50"),
    ("audit --page --list", "audit --all {l} --kept {t}/d4.jsonl --page {t}/a.html --list {t}/a.jsonl"),
    ("audit, half removed", "audit {l} --kept {other} --page {t}/a2.html --list {t}/a2.jsonl --json"),
    ("quotes: add", "add {t}/quotes --jsonl {l} --for quotes"),
    ("quotes: query", "query {t}/quotes --text @one --json"),
    ("quotes: pairs --limit", "pairs {t}/quotes --limit 1000 --json"),
    ("quotes: clusters", "clusters {t}/quotes --json"),
    ("quotes: report", "report {t}/quotes --from {l} --out {t}/page3.html"),
    ("dups", "dups {f} --no-cache"),
    ("dups --json --plan", "dups {f} --no-cache --json --plan {t}/plan"),
    ("dups --estimate --guard none", "dups {f} --no-cache --json --estimate --guard none"),
    ("dups --exact", "dups {f} --no-cache --json --exact"),
    ("dups --against", "dups {g} --against {f} --no-cache --json"),
    ("mirror", "mirror {t}/mirror {f} --json"),
    ("mirror again", "mirror {t}/mirror {f} --json"),
    ("apply --delete", "apply {t}/plan --delete"),
]

# Method, path and body of each request to the server; `@one` is a text, `@batch` a thousand lines.
REQUESTS = [
    ("POST", "/v1/query", {"text": "@one"}),
    ("POST", "/v1/query", {"text": "@one", "limit": 1000}),
    ("POST", "/v1/query", {"key": "a/0", "limit": 10}),
    ("GET", "/v1/pairs?limit=1000", None),
    ("GET", "/v1/clusters", None),
    ("GET", "/report", None),
    ("GET", "/v1/documents?prefix=a/&limit=1000", None),
    ("POST", "/v1/admit", {"key": "new", "text": "@one", "reject": 0.9, "keep": "all"}),
    ("POST", "/v1/batch", "@batch"),
    ("DELETE", "/v1/documents?prefix=a/", None),
]

PYTHON = """
import json, resource, sys, time, nearkin
lines = [json.loads(line) for line in open(sys.argv[1])]
keys, texts = [row["id"] for row in lines], [row["text"] for row in lines]
def row(name, call):
    before = time.process_time()
    answer = call()
    used = time.process_time() - before
    print(name, used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, sep="\\t", flush=True)
    return answer
ix = nearkin.Index(sys.argv[2], nearkin.Params())
row("Python: Index.add", lambda: ix.add(keys, texts))
row("Python: query", lambda: list(ix.query(texts[0], limit=len(keys))))
row("Python: pairs(limit)", lambda: ix.pairs(limit=1000).read_all().rows())
row("Python: clusters", lambda: ix.clusters().read_all().rows())
row("Python: dedup", lambda: nearkin.dedup(texts))
row("Python: dedup, estimate", lambda: nearkin.dedup(texts, estimate=True))
"""


def word(rng):
    """One of 1,000 words without digits."""
    return "".join("abcdefghij"[int(digit)] * 2 for digit in f"{rng.randrange(1000):03}")


def text(rng, words, kind, number):
    """A text of the crowd: 200 words, of which one is another in `near` and `forms`."""
    words = list(words)
    if kind != "same":
        at = rng.randrange(len(words))
        words[at] = str(number) if kind == "forms" else word(rng)
    return " ".join(words)


def make(work, kind, count):
    """The inputs in `work`: lines, others of the same keys, keys, known pairs, and folders of files."""
    rng = random.Random(f"{SEED} {kind}")
    words = [word(rng) for _ in range(200)]
    texts = [text(rng, words, kind, number) for number in range(count)]
    others = [text(rng, words[1:] + ["end"], kind, number) for number in range(count)]
    for name, column in [("lines", texts), ("others", others)]:
        with open(work / f"{name}.jsonl", "w") as file:
            for number, body in enumerate(column):
                key = f"{'ab'[number % 2]}/{number}"
                file.write(json.dumps({"id": key, "n": number, "text": body}) + "\n")
    keys = [f"{'ab'[number % 2]}/{number}" for number in range(count)]
    (work / "half.txt").write_text("".join(f"{key}\n" for key in keys[: count // 2]))
    (work / "rest.txt").write_text("".join(f"{key}\n" for key in keys[1:]))
    (work / "known.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(keys, keys[1:])))
    for folder, column in [("files", texts), ("against", others)]:
        for number, body in enumerate(column):
            path = work / folder / f"{number // 500:03}" / f"{number:06}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body + "\n")
    return texts, keys


def run(command, env):
    """Seconds of processor time and MiB of a command, or an error."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    with open(env["ERRORS"], "w+") as errors:
        child = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=errors, env=env, preexec_fn=limit
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read()
    seconds = used.ru_utime + used.ru_stime
    if child.returncode in (-signal.SIGKILL, -signal.SIGXCPU):
        return None
    if child.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)[:300]}: {child.returncode}\n{said[-2000:]}")
    return seconds, used.ru_maxrss / 1024


def commands(nearkin, work, env, texts, keys, wanted):
    places = {"i": work / "index", "l": work / "lines.jsonl", "other": work / "others.jsonl"}
    places |= {"half": work / "half.txt", "rest": work / "rest.txt"}
    places |= {"known": work / "known.tsv"}
    places |= {"f": work / "files", "g": work / "against", "t": work, "n": len(keys)}
    places["keys"] = ",".join(keys[:100])
    for name, arguments in COMMANDS:
        if wanted(name):
            words = [word.format(**places) for word in arguments.split()]
            words = [texts[0] if word == "@one" else word for word in words]
            yield name, run([nearkin, *words], env)


def of_process(pid):
    """Seconds of processor time and MiB at most of a process that runs."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    status = Path(f"/proc/{pid}/status").read_text()
    ticks = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / ticks, int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def server(nearkin, work, env, texts, wanted):
    command = [nearkin, "serve", str(work / "index"), "--listen", "127.0.0.1:0", "--timeout", "600"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True)
    port = re.search(r":(\d+)", server.stdout.readline().split("//")[-1])[1]
    one = lambda key: {"insert": {"key": key, "text": texts[0]}}
    batch = {"operations": [one(f"batch/{number}") for number in range(1000)]}
    for method, path, body in REQUESTS:
        name = f"{method} {path} {'' if body is None else body}".replace("'@one'", "..").replace("@batch", "of 1,000")
        if not wanted(name):
            continue
        if body is not None:
            body = batch if body == "@batch" else body
            body = json.dumps({key: texts[0] if value == "@one" else value for key, value in body.items()})
        before, _ = of_process(server.pid)
        client = http.client.HTTPConnection("127.0.0.1", int(port), timeout=3600)
        client.request(method, path, body, {"Content-Type": "application/json"})
        answer = client.getresponse()
        said = answer.read()
        if answer.status >= 300:
            sys.exit(f"{name}: {answer.status} {said[:500]}")
        after, memory = of_process(server.pid)
        yield name, (after - before, memory)
    server.terminate()
    server.wait()


def python(work, env, wanted):
    command = [sys.executable, "-c", PYTHON, str(work / "lines.jsonl"), str(work / "python")]
    child = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    for line in child.stdout.splitlines():
        name, seconds, kilobytes = line.split("\t")
        yield name, (float(seconds), int(kilobytes) / 1024)


def measure(nearkin, work, kind, count, wanted):
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    texts, keys = make(work, kind, count)
    env = os.environ | {"XDG_CACHE_HOME": str(work / "cache"), "XDG_DATA_HOME": str(work / "trash")}
    env |= {"TMPDIR": str(work), "ERRORS": str(work / "errors.txt")}
    yield from commands(nearkin, work, env, texts, keys, wanted)
    yield from server(nearkin, work, env, texts, wanted)
    if subprocess.run([sys.executable, "-c", "import nearkin"], env=env, stderr=subprocess.DEVNULL).returncode == 0:
        yield from python(work, env, wanted)
    shutil.rmtree(work)


def line(name, rows, sizes):
    """A line of the table: seconds at each size, exponents, memory."""
    cells = [f"{row[0]:.2f}" if row else f"> {LIMIT}" for row in rows] + [""] * (len(sizes) - len(rows))
    known = [row[0] for row in rows if row]
    times = [math.log(b / a) for a, b in zip(sizes, sizes[1:])]
    powers = [math.log(max(b, 0.01) / max(a, 0.01)) / by for a, b, by in zip(known, known[1:], times)]
    marked = None in rows or (known[-1] >= 0.3 and max(powers, default=0) > MARK)
    memory = max((row[1] for row in rows if row), default=0)
    shown = ", ".join(f"{power:.1f}" for power in powers)
    return f"| {name} | {' | '.join(cells)} | {shown}{' **superlinear**' if marked else ''} | {memory:.0f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("nearkin", nargs="?", default=Path(__file__).parent.parent / "target/release/nearkin")
    parser.add_argument("--sizes", default="25000,50000,100000")
    parser.add_argument("--kinds", default="same,near,forms")
    parser.add_argument("--only", default="", help="only rows that contain this, and `add`")
    asked = parser.parse_args()
    sizes = [int(size) for size in asked.sizes.split(",")]
    for kind in asked.kinds.split(","):
        rows = {}
        for at, size in enumerate(sizes):
            stopped = {name for name, row in rows.items() if None in row}
            if kind != "same":
                stopped.add("pairs --collapse of equal ones")
            wanted = lambda name: name not in stopped and (asked.only in name or name == "add")
            for name, row in measure(str(asked.nearkin), asked.work / "crowd", kind, size, wanted):
                rows.setdefault(name, []).append(row)
                print(kind, size, name, row and f"{row[0]:.2f} s, {row[1]:.0f} MiB", file=sys.stderr, flush=True)
        print(f"\nTexts of the kind `{kind}`, seed {SEED}:\n")
        print(f"| | {' | '.join(f'{size:,}' for size in sizes)} | exponents | MiB |")
        print(f"|---|{'---:|' * len(sizes)}---|---:|")
        for name, row in rows.items():
            print(line(name, row, sizes), flush=True)


main()
