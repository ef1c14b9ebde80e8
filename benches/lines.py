#!/usr/bin/env python3
"""Makes the input of the measurements of `nearkin add` and `nearkin dedup` at scale: JSON lines of
three corpora, repeated with other keys. In each repetition one word in 8 or, by turns, one in 80 is
replaced. Usage: benches/lines.py CORPORA LINES > big.jsonl, where CORPORA is the folder of
debian_descriptions.jsonl.zst, reuters21578.jsonl.zst and python_docs.jsonl.zst. Needs zstd.

docs/reports/PERFORMANCE.md says what is measured with it.
"""

import json
import random
import subprocess
import sys

NAMES = ["debian_descriptions", "reuters21578", "python_docs"]


def texts(folder):
    for name in NAMES:
        path = f"{folder}/{name}.jsonl.zst"
        lines = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
        for line in lines.splitlines():
            yield json.loads(line)["text"]


def main(folder, count):
    originals = list(texts(folder))
    rng = random.Random(1)
    written = 0
    repetition = 0
    while written < count:
        share = 8 if repetition % 2 else 80
        for text in originals[: count - written]:
            if repetition:
                words = text.split(" ")
                for _ in range(len(words) // share):
                    words[rng.randrange(len(words))] = f"w{rng.randrange(1_000_000)}"
                text = " ".join(words)
            print(json.dumps({"id": f"{repetition}-{written}", "text": text}))
            written += 1
        repetition += 1


main(sys.argv[1], int(sys.argv[2]))
