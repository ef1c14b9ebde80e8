"""Sends SIGINT and SIGTERM at many moments of every command, and prints how long each takes to end.

    signals.py NEARKIN [SIZE [MOMENTS [WORDS...]]]

SIZE is the number of documents. With WORDS, only commands that have one of them. Every end is looked
at: the status, that nothing is lost, and, where the same command is to continue, that it does. Needs
some GiB of disk in $TMPDIR.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

nearkin = os.path.abspath(sys.argv[1])
size, moments, *words = [*sys.argv[2:], *["100000", "20"][len(sys.argv) - 2 :]]
size, moments = int(size), int(moments)
AT_MOST = 1.0  # seconds
top = Path(tempfile.mkdtemp())
here = top / "now"
rng = random.Random(7)
VOCABULARY = [f"w{n:x}" for n in range(40_000)]
BIG = 1 << 30


def run(line, wait=True, **options):
    """A command in the folder of this moment; signals reach it as they do from a terminal."""
    deaf = [signal.SIGINT, signal.SIGTERM]
    environment = dict(os.environ, XDG_CACHE_HOME=str(here / "cache"), XDG_DATA_HOME=str(here / "data"))
    child = subprocess.Popen(
        [nearkin, *line.split()],
        cwd=here,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=options.get("stdout", subprocess.DEVNULL),
        stderr=subprocess.PIPE,
        preexec_fn=lambda: [signal.signal(one, signal.SIG_DFL) for one in deaf],
        text=True,
    )
    if not wait:
        return child
    out, error = child.communicate()
    assert child.returncode in options.get("ends", [0]), f"{line}: {child.returncode}\n{error}"
    return out


def text(seed):
    one = random.Random(seed // 3)
    return " ".join(one.choices(VOCABULARY, k=60)) + f" {seed}"


def prepare():
    (top / "lines.jsonl").write_text("".join(f'{{"id":"k{n}","text":"{text(n)}"}}\n' for n in range(size)))
    (top / "keys").write_text("".join(f"k{n}\n" for n in range(0, size, 2)))
    for n in range(size // 5):
        path = top / f"docs/{n % 97}/{n}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(n if n % 4 else 0))
    (top / "big").mkdir()
    block = rng.randbytes(1 << 20)
    for name in ["a", "b", "c"]:
        with open(top / "big" / name, "wb") as file:
            for at in range(BIG >> 20):
                file.write(at.to_bytes(8, "big") + block)
    here.mkdir()
    link("lines.jsonl", "docs", "big")
    run("add i --jsonl lines.jsonl")
    run("export i --out e.jsonl")
    for name in ["i", "e.jsonl"]:
        (here / name).rename(top / name)


def link(*names):
    for name in names:
        if not (here / name).exists():
            (here / name).symlink_to(top / name)


def fresh(copies):
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    link("lines.jsonl", "keys", "e.jsonl")
    for name in ["i", "docs", "big"]:
        if name in copies:
            subprocess.run(["cp", "-a", "--reflink=auto", top / name, here / name], check=True)
        else:
            link(name)
    if "plan" in copies:  # a plan is of the files as they are now
        run(f"dups {copies[0]} --exact --plan plan")
    if "undo" in copies:
        run("apply plan")


def content(index):
    """Keys and signatures of all documents."""
    if not (here / index).exists():
        return None
    lines = run(f"export {index} --out -", stdout=subprocess.PIPE).splitlines()[1:]
    return sorted(line.split('"time"')[0] for line in lines)


def index(name):
    return lambda: content(name)


def file(name):
    return lambda: (here / name).read_bytes() if (here / name).exists() else None


def tree(name):
    """What files there are, and how many names of one."""

    def names():
        files = (path for path in (here / name).rglob("*") if path.is_file())
        return sorted((str(path), path.stat().st_nlink) for path in files)

    return names


def nothing():
    return None


# Command; what it changes, which is copied; what is equal after the same command has run to its end.
COMMANDS = [
    ("add n --jsonl lines.jsonl", "", index("n")),
    ("add n docs", "", index("n")),
    ("mirror n docs", "", index("n")),
    ("admit n --jsonl lines.jsonl", "", index("n")),
    ("dedup lines.jsonl --out o.jsonl", "", file("o.jsonl")),
    ("dups docs", "", nothing),
    ("dups docs --exact --plan p", "", nothing),
    ("dups big --exact", "", nothing),
    ("apply plan", "docs plan", tree("docs")),
    ("apply plan --delete", "docs plan", tree("docs")),
    ("apply plan --link --remove-empty", "docs plan", tree("docs")),
    ("apply plan --undo", "docs plan undo", tree("docs")),
    ("apply plan --delete", "big plan", tree("big")),
    ("query i --jsonl lines.jsonl", "", nothing),
    ("query i docs", "", nothing),
    ("list i --limit 1000000", "", nothing),
    ("pairs i", "", nothing),
    ("pairs i --sort", "", nothing),
    ("clusters i", "", nothing),
    ("clusters i --sort size", "", nothing),
    ("report i --out r.html", "", nothing),
    ("remove i --from keys", "i", index("i")),
    ("remove i --prefix k1", "i", index("i")),
    ("remove i --before 2099-01-01", "i", index("i")),
    ("stats i", "", nothing),
    ("verify i", "", nothing),
    ("compact i", "i", index("i")),
    ("backup i n", "", nothing),
    ("salvage i n", "", nothing),
    ("export i --out n.jsonl", "", nothing),
    ("export i --out n.parquet", "", nothing),
    ("import n i", "", index("n")),
    ("import n e.jsonl", "", index("n")),
    ("rebuild i n --threshold 0.9", "", nothing),
    ("tune --jsonl lines.jsonl", "", nothing),
    ("tune docs", "", nothing),
]


def ended(child):
    began = time.monotonic()
    error = child.communicate()[1]
    return time.monotonic() - began, child.returncode, error


def until_stopped(line):
    """A command that runs until it is stopped, and then ends well."""
    fresh([])
    waits, statuses = [], set()
    for moment in range(moments):
        child = run(line, wait=False)
        time.sleep(1 + moment / 10)
        child.send_signal([signal.SIGINT, signal.SIGTERM][moment % 2])
        wait, status, _ = ended(child)
        waits.append(wait)
        statuses.add(status)
    print(f"| `{line}` | | {max(waits) * 1000:.0f} ms | {statuses} |", flush=True)
    return max(waits)


def measured(line, copies, result):
    fresh(copies.split())
    began = time.monotonic()
    run(line, ends=[0, 1])
    whole = time.monotonic() - began
    expected = result()
    waits, statuses, wrong = [], {}, []
    for moment in range(moments):
        fresh(copies.split())
        child = run(line, wait=False)
        time.sleep(whole * (moment + 0.3) / moments)
        child.send_signal([signal.SIGINT, signal.SIGTERM][moment % 2])
        wait, status, error = ended(child)
        statuses[status] = statuses.get(status, 0) + 1
        if status == 0:
            continue
        waits.append((wait, moment))
        if "panicked" in error or "error" in error and "interrupted" not in error:
            wrong.append(error)
        if moment % 4 == 1 and result is not nothing:
            again = run(line, ends=[0, 1])
            if result() != expected:
                wrong.append(f"moment {moment}: another result")
    longest, when = max(waits, default=(0, 0))
    states = ", ".join(f"{n} x {status}" for status, n in sorted(statuses.items()))
    print(f"| `{line}` {copies} | {whole:.1f} s | {longest * 1000:.0f} ms at {when} | {states} |", flush=True)
    for one in wrong:
        print("  WRONG:", one)
    return longest


try:
    prepare()
    print("| command | whole | longest wait | statuses |\n|---|---:|---:|---|")
    for line, copies, result in COMMANDS:
        if not words or any(word in line for word in words):
            assert measured(line, copies, result) <= AT_MOST or moments < 20, line
    for line in ["serve i --listen 127.0.0.1:0", "mirror n docs --watch"]:
        if not words or any(word in line for word in words):
            assert until_stopped(line) <= AT_MOST or moments < 20, line
finally:
    shutil.rmtree(top)
