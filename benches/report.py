#!/usr/bin/env python3
"""Prints 1,000,000 lines of JSON: documents of 30 to 120 words, of which about 410,000 are copies
or near-copies of another, one crowd of 20,000 copies and one of 5,000 that all differ. Then:

    python3 benches/report.py > million.jsonl
    nearkin add million.nearkin --jsonl million.jsonl
    /usr/bin/time -v nearkin report million.nearkin --from million.jsonl --out million.html
"""

import json
import random

DOCUMENTS, CROWD, COPIES = 1_000_000, 5_000, 20_000
chance = random.Random(1)
WORDS = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9)))
         for _ in range(50_000)]


def text():
    return chance.choices(WORDS, k=chance.randint(30, 120))


def changed(words):
    words = list(words)
    words[chance.randrange(len(words))] = chance.choice(WORDS)
    return words


def documents():
    copy, crowd = text(), chance.choices(WORDS, k=120)
    yield from (copy for _ in range(COPIES))
    yield from (changed(crowd) for _ in range(CROWD))
    rest = DOCUMENTS - COPIES - CROWD
    while rest > 0:
        # Six in ten stand alone; the others in groups of up to twelve, the small ones most.
        first, more = text(), 0
        if chance.random() < 0.1:
            more = min(1 + int(chance.expovariate(0.2)), 11)
        for at in range(min(1 + more, rest)):
            yield first if at == 0 or chance.random() < 0.3 else changed(first)
        rest -= 1 + more


for number, words in enumerate(documents()):
    print(json.dumps({"id": f"folder{number % 40}/document-{number:07}", "text": " ".join(words)}))
