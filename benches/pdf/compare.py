"""Readers of PDF beside pdftotext, on a list of files; prints a table, and what each gave to a TSV.

Usage: compare.py PDFS.TXT RESULTS.TSV NAME=COMMAND... ; a command gets the file as its last argument,
or in place of {}, and prints the text. Agreement: Jaccard similarity of the sets of three words in
sequence, of texts in lower case, with those of `pdftotext FILE -`. Files that pdftotext finds
fewer than 20 words in are left out. Each reader may take 20 s of processor time.
"""

import re
import resource
import shlex
import subprocess
import sys
import tempfile

WORD = re.compile(r"\w+")
SECONDS = 20


def run(command, path):
    """The text, how it ended, processor time in s, peak of resident memory in MiB."""
    words = [path if word == "{}" else word for word in shlex.split(command)]
    words = words if path in words else [*words, path]
    with tempfile.NamedTemporaryFile() as usage:
        # From a small process: the peak of a child begins with what its parent had.
        timed = ["time", "-q", "-o", usage.name, "-f", "%x %U %S %M", *words]
        ran = subprocess.run(
            timed, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1)))
        _, user, system, kib = usage.read().split()[-4:]
    end = {0: "read", 101: "panic", 134: "abort", 139: "crash", 152: "time"}
    end = end.get(ran.returncode % 256, "error")
    text = ran.stdout.decode("utf-8", "replace")
    return text, end, float(user) + float(system), int(kib) / 1024


def shingles(text):
    words = WORD.findall(text.lower())
    return set(zip(words, words[1:], words[2:])), len(words)


def main():
    paths = open(sys.argv[1], encoding="utf-8").read().splitlines()
    readers = [("pdftotext", "pdftotext {} -")]
    readers += [tuple(reader.split("=", 1)) for reader in sys.argv[3:]]
    found = {name: [] for name, _ in readers}
    with open(sys.argv[2], "w", encoding="utf-8") as results:
        for path in paths:
            truth = None
            for name, command in readers:
                text, end, seconds, mib = run(command, path)
                set_of, words = shingles(text)
                if truth is None:
                    if words < 20:
                        print(f"no text: {path}", file=sys.stderr)
                        break
                    truth = set_of
                agreement = len(truth & set_of) / max(1, len(truth | set_of))
                found[name].append((agreement if end == "read" else 0.0, end, seconds, mib))
                print(path, name, end, f"{agreement:.3f}", f"{seconds:.2f}", f"{mib:.0f}",
                      sep="\t", file=results, flush=True)
    print("| reader | median | mean | below .8 | below .5 | not read | s | slowest, s | MiB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, rows in found.items():
        agreements = sorted(row[0] for row in rows)
        ends = [row[1] for row in rows if row[1] != "read"]
        kinds = ", ".join(f"{ends.count(kind)} {kind}" for kind in sorted(set(ends))) or "0"
        print(f"| {name} | {agreements[len(agreements) // 2]:.3f} "
              f"| {sum(agreements) / len(agreements):.3f} "
              f"| {sum(a < .8 for a in agreements)} | {sum(a < .5 for a in agreements)} | {kinds} "
              f"| {sum(row[2] for row in rows):.1f} | {max(row[2] for row in rows):.1f} "
              f"| {max(row[3] for row in rows):.0f} |")
    print(f"{len(found['pdftotext'])} files")


main()
