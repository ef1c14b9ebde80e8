#!/usr/bin/env python3
"""Compares `nearkin dedup --cut-passages N` with two exact programs that share no code with it.

    benches/substrings.py NEARKIN ROWS.jsonl N [--bytes 100]

1. By words: which words lie in a run of N words that stood before. Says how many of their bytes were cut, and
   how many bytes were cut that do not lie in such a run (0 is right).
2. By bytes, as google-research/deduplicate-text-datasets defines repeated substrings: which bytes lie in a
   substring of --bytes bytes that stood before, within rows. Says which share of them was cut.

Both sort the hashes of all windows. Needs numpy, and some 40 bytes of memory for each byte of ROWS.
"""

import argparse
import json
import re
import resource
import subprocess
import tempfile
import unicodedata
from pathlib import Path

import numpy as np

WORD = re.compile(r"[^\W_]+")
BASE = np.uint64(0x9E3779B97F4A7C15)


def stood_before(values, run, documents):
    """Which values lie in a run that stood before. `documents`: the document of each value."""
    count = len(values) - run + 1
    inside = np.zeros(len(values), bool)
    if count <= 0:
        return inside
    hashes = np.zeros(count, np.uint64)
    for at in range(run):
        hashes *= BASE
        hashes += values[at : at + count]
    hashes ^= hashes >> np.uint64(32)
    whole = np.flatnonzero(documents[:count] == documents[run - 1 :])
    hashes = hashes[whole]
    order = np.argsort(hashes, kind="stable")
    same = hashes[order[1:]] == hashes[order[:-1]]
    again = whole[order[1:][same]]
    begins = np.zeros(len(values) + 1, np.int32)
    np.add.at(begins, again, 1)
    np.subtract.at(begins, again + run, 1)
    return np.cumsum(begins[:-1]) > 0


def normal(word):
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()


def mixed(numbers):
    numbers = numbers.astype(np.uint64) + np.uint64(1)
    numbers *= np.uint64(0xBF58476D1CE4E5B9)
    numbers ^= numbers >> np.uint64(29)
    return numbers * np.uint64(0x94D049BB133111EB)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nearkin")
    parser.add_argument("rows")
    parser.add_argument("words", type=int)
    parser.add_argument("--bytes", type=int, default=100)
    given = parser.parse_args()
    texts = [json.loads(line)["text"] for line in open(given.rows, encoding="utf-8")]
    encoded = [text.encode() for text in texts]
    begins = np.cumsum([0] + [len(text) for text in encoded])
    total = int(begins[-1])
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.jsonl"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [given.nearkin, "dedup", given.rows, "--out", out, "--cut-passages", str(given.words)]
        subprocess.run(command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{total:,} bytes of text; {seconds:.1f} s of processor time, {seconds * 1e9 / total:.0f} s per GB;",
              f"at most {after.ru_maxrss >> 10} MiB resident")
        cut = np.zeros(total, bool)
        for line in open(str(out) + ".dropped.jsonl", encoding="utf-8"):
            entry = json.loads(line)
            begin = int(begins[entry["line"] - 1]) + entry["at_byte"]
            cut[begin : begin + len(entry["cut"].encode())] = True
    numbers, values, documents, places = {}, [], [], []
    for document, text in enumerate(texts):
        base, is_ascii, last, at = int(begins[document]), text.isascii(), 0, 0
        for word in WORD.finditer(text):
            values.append(numbers.setdefault(normal(word[0]), len(numbers)))
            documents.append(document)
            start = word.start() if is_ascii else at + len(text[last : word.start()].encode())
            last, at = word.start(), start
            places.append((base + start, base + start + len(word[0].encode())))
    inside = stood_before(mixed(np.array(values)), given.words, np.array(documents, np.int32))
    expected = np.zeros(total, bool)
    is_word = np.zeros(total, bool)
    for (begin, end), is_repeated in zip(places, inside):
        is_word[begin:end] = True
        expected[begin:end] = is_repeated
    found = int((expected & cut).sum())
    wrong = int((cut & is_word & ~expected).sum())
    print(f"by words: {int(expected.sum()):,} bytes of words stood before; cut: {found:,}",
          f"({100 * found / max(1, int(expected.sum())):.2f} %), wrongly cut: {wrong:,}")
    letters = mixed(np.frombuffer(b"".join(encoded), np.uint8))
    documents = np.repeat(np.arange(len(texts), dtype=np.int32), np.diff(begins))
    repeated = stood_before(letters, given.bytes, documents)
    both = int((repeated & cut).sum())
    print(f"by bytes: {int(repeated.sum()):,} bytes lie in a substring of {given.bytes} bytes that stood before",
          f"({100 * repeated.mean():.1f} %); cut: {both:,} ({100 * both / max(1, int(repeated.sum())):.1f} %);",
          f"cut in all: {int(cut.sum()):,} ({100 * cut.mean():.1f} %)")


if __name__ == "__main__":
    main()
