"""Holds an index of fingerprints to its promise, by brute force that shares no code with it.

Promised: of two texts that share a run of 8 equal words, each is found by the other, with the length
of the longest run; queries also find texts of 4 to 7 words in whole. 1,000 texts are made from JSON lines with
`id` and `text`, among them texts with copied runs of known lengths.

    python tests/oracle/quotations.py TOOL LINES.jsonl [SEED]
"""

import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile

RUN = 8
TEXTS = 1_000


def words_of(text):
    return re.findall(r"[a-z]+", text.lower())


def longest_run(ours, theirs):
    """The longest run of equal words, by dynamic programming."""
    best, before = 0, {}
    places = collections.defaultdict(list)
    for at, word in enumerate(theirs):
        places[word].append(at)
    for word in ours:
        now = {}
        for at in places.get(word, ()):
            now[at] = before.get(at - 1, 0) + 1
            best = max(best, now[at])
        before = now
    return best


def make(lines, rng):
    pool = []
    with open(lines, encoding="utf-8") as file:
        for line in file:
            words = words_of(json.loads(line)["text"])
            if len(words) >= 60:
                pool.append(words[:300])
            if len(pool) == TEXTS:
                break
    texts = {f"t{n}": words for n, words in enumerate(pool)}
    # Short texts, parts of the others: found in whole.
    for n in range(100):
        source = pool[rng.randrange(len(pool))]
        length = rng.randrange(4, 12)
        begin = rng.randrange(len(source) - length)
        texts[f"short{n}"] = source[begin : begin + length]
    queries = {}
    for n in range(600):
        length = RUN + n % 20 if n % 3 else rng.randrange(2, RUN)
        source = pool[rng.randrange(len(pool))]
        begin = rng.randrange(max(1, len(source) - length))
        host = pool[rng.randrange(len(pool))]
        cut = rng.randrange(len(host))
        # Made-up words beside the run, so that it has its length.
        part = ["qqq", *source[begin : begin + length], "zzz"]
        queries[f"q{n}"] = [f"x{word}" for word in host[:cut]] + part + [f"y{word}" for word in host[cut:]]
    return texts, queries


def main():
    tool, lines = map(os.path.abspath, sys.argv[1:3])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    print(f"seed {seed}")
    texts, queries = make(lines, random.Random(seed))
    with tempfile.TemporaryDirectory() as folder:
        def write(name, documents):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                for key, words in documents.items():
                    file.write(json.dumps({"id": key, "text": " ".join(words)}) + "\n")
            return path

        def run(*arguments):
            return subprocess.run([tool, *arguments], check=True, stdout=subprocess.PIPE).stdout

        index = os.path.join(folder, "index")
        run("add", index, "--jsonl", write("texts.jsonl", texts), "--for", "quotes", "--quiet")
        asked = {**queries, **{f"own {key}": words for key, words in list(texts.items())[:200]}}
        answers = run("query", index, "--jsonl", write("queries.jsonl", asked), "--json", "--quiet",
                      "--limit", "100000")
        pairs = [json.loads(line) for line in run("pairs", index, "--json", "--quiet").splitlines()]
    found = collections.defaultdict(dict)
    for line in answers.splitlines():
        answer = json.loads(line)
        longest = max(passage["longest"] for passage in answer["passages"])
        found[answer["query"]][answer["key"]] = longest
    grams = collections.defaultdict(set)
    for key, words in texts.items():
        least = min(RUN, len(words))
        for at in range(len(words) - least + 1):
            grams[tuple(words[at : at + least])].add(key)

    def expected(words):
        """Texts that share a run of 8 words, or are shorter and here in whole."""
        candidates = set()
        for length in range(1, RUN + 1):
            for at in range(len(words) - length + 1):
                candidates |= grams.get(tuple(words[at : at + length]), set())
        return candidates

    wanted = missed = too_long = 0
    for name, words in asked.items():
        for key in expected(words):
            wanted += 1
            longest = longest_run(words, texts[key])
            if key not in found[name]:
                missed += 1
                print(f"MISSED: {name} in {key}, {longest} words")
            elif found[name][key] < longest:
                missed += 1
                print(f"SHORT: {name} in {key}: {found[name][key]} instead of {longest}")
            else:
                # Eight bits of a word are compared: one in 256 that end a run does not end it.
                too_long += found[name][key] > longest
    print(f"queries: {wanted} shared runs wanted, {missed} missed, {too_long} told too long; "
          f"{sum(map(len, found.values()))} texts found")
    there = {(pair["a"], pair["b"]): pair["longest"] for pair in pairs}
    wanted_pairs = bad_pairs = 0
    for key, words in texts.items():
        for other in expected(words):
            longest = longest_run(words, texts[other])
            # A text of fewer words is found by queries, which ask for all shingles.
            if key < other and longest >= RUN:
                wanted_pairs += 1
                bad_pairs += there.get((key, other), 0) < longest
    print(f"pairs: {wanted_pairs} wanted, {bad_pairs} missed or told too short; {len(there)} found")
    sys.exit(bool(missed or bad_pairs or too_long * 50 > wanted))


if __name__ == "__main__":
    main()
