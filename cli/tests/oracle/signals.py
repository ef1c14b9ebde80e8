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

nearkin = sys.argv[1]
size, moments = (int(word) if word else None for word in (sys.argv[2:4] + ["", ""])[:2])
size, moments, words = size or 100_000, moments or 20, sys.argv[4:]
AT_MOST = 1.0
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
        path.write_text(text(n))
    for name in ["a", "b", "c"]:
        with open(top / "big" / name if (top / "big").mkdir(exist_ok=True) is None else "", "wb") as file:
            block = random.Random(1).randbytes(1 << 20)
            for at in range(BIG >> 20):
                file.write(block[:-8] + at.to_bytes(8))
    here.mkdir()
    link("lines.jsonl", "docs", "big")
    run("add i --jsonl lines.jsonl")
    run("add j --jsonl lines.jsonl --shingles words:2")
    run("export i --out e.jsonl")
    run("dups big --exact --plan big.plan")
    run("dups docs --exact --plan docs.plan")
    for name in ["i", "j", "e.jsonl", "big.plan", "docs.plan"]:
        (here / name).rename(top / name)
    with open(next((top / "i").glob("*.seg*"), top / "e.jsonl"), "rb") as file:
        print("a segment of", os.fstat(file.fileno()).st_size, "bytes")


def link(*names):
    for name in names:
        if not (here / name).exists():
            (here / name).symlink_to(top / name)


def fresh(copies):
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    link("lines.jsonl", "keys", "e.jsonl", "docs.plan", "big.plan")
    for name in ["i", "j", "docs", "big"]:
        if name in copies:
            subprocess.run(["cp", "-a", "--reflink=auto", top / name, here / name], check=True)
        else:
            link(name)


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
    ("export i --out n.jsonl.zst", "", nothing),
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
    print(f"| `{line}` | {whole:.1f} s | {longest * 1000:.0f} ms at {when} | {states} |", flush=True)
    for one in wrong:
        print("  WRONG:", one)
    return longest


try:
    prepare()
    print("| command | whole | longest wait | statuses |\n|---|---:|---:|---|")
    for line, copies, result in COMMANDS:
        if not words or any(word in line for word in words):
            measured(line, copies, result)
finally:
    shutil.rmtree(top)
