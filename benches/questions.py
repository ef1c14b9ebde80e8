#!/usr/bin/env python3
"""Plants questions in rows, and counts what `nearkin dedup --without` finds, beside the way of counting
of allenai/decon.

    benches/questions.py NEARKIN ROWS.jsonl QUESTIONS.jsonl [--rows 10000] [--planted 300] [--seed 1]

ROWS are texts; QUESTIONS are other texts, whose sentences of 8 to 40 words become the questions. The way of
decon is written anew from its public description (doc/simple-details.md): unique runs of words, weighted by how
few questions have them, in a cluster that ends after 11 misses; a question of up to 25 words has to match
wholly, one of 50 and more to 0.815. Needs only Python. Prints the seed, and tables of recall.
"""

import argparse
import json
import math
import random
import re
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

SENTENCE = re.compile(r"(?<=[.!?;:])\s+")
WORD = re.compile(r"\w+")
KINDS = ("whole", "cut", "replaced", "reworded")
LENGTHS = ((8, 11), (12, 15), (16, 23), (24, 40))


def questions_of(path, count, rng):
    """Sentences of 8 to 40 words, each once."""
    found = {}
    for line in open(path, encoding="utf-8"):
        for sentence in SENTENCE.split(json.loads(line)["text"].replace("\n", " ")):
            words = sentence.split()
            if 8 <= len(WORD.findall(sentence)) <= 40 and len(set(map(str.lower, words))) >= 6:
                found.setdefault(" ".join(WORD.findall(sentence.lower())), " ".join(words))
    found = sorted(found.values())
    rng.shuffle(found)
    return found[:count]


def planted(question, kind, vocabulary, rng):
    """What becomes of a question in a row, and how many of its words that are."""
    words = question.split()
    if kind == "cut":
        keep = rng.randint(max(8, len(words) // 2), max(8, len(words)))
        begin = rng.randint(0, max(0, len(words) - keep))
        words = words[begin : begin + keep]
    length = len(WORD.findall(" ".join(words)))
    if kind == "replaced":
        share = rng.uniform(0, 0.05)
        words = [rng.choice(vocabulary) if rng.random() < share else word for word in words]
    if kind == "reworded":
        changed = []
        for word in words:
            how = rng.random()
            if how < 0.03:
                continue
            changed.append(rng.choice(vocabulary) if how < 0.13 else word)
            if how > 0.97:
                changed.append(rng.choice(vocabulary))
        words = changed
    text = " ".join(words)
    return (text.upper() if rng.random() < 0.1 else text.replace(" ", "\n", 1)), length


class Decon:
    """The way of counting of decon with runs of `n` words and every run looked up."""

    def __init__(self, questions, n, least):
        self.n, self.grams, self.postings = n, [], defaultdict(list)
        for number, question in enumerate(questions):
            words = WORD.findall(question.lower())
            grams = self.runs(words) if len(words) >= least else []
            self.grams.append((set(grams), len(words)))
            for gram in set(grams):
                self.postings[gram].append(number)
        self.weight = {gram: math.log(len(questions) / len(q)) for gram, q in self.postings.items()}
        self.sums = [sum(self.weight[gram] for gram in grams) for grams, _ in self.grams]

    def runs(self, words):
        return [tuple(words[at : at + self.n]) for at in range(len(words) - self.n + 1)]

    def threshold(self, words):
        return 1 - (1 - 0.815) * min(max((words - 25) / 25, 0), 1)

    def found(self, text):
        """Whether a text contains a question. Of each question, a cluster of runs with at most 11 misses."""
        last, matched = {}, defaultdict(set)
        for at, gram in enumerate(self.runs(WORD.findall(text.lower()))):
            for question in self.postings.get(gram, ()):
                if at - last.get(question, at) > 11:
                    matched[question] = set()
                last[question] = at
                matched[question].add(gram)
                score = sum(self.weight[gram] for gram in matched[question]) / (self.sums[question] or 1)
                if score >= self.threshold(self.grams[question][1]) - 1e-9:
                    return True
        return False


def table(title, hits, false, clean):
    print(f"{title}: false rows {false} of {clean} ({100 * false / clean:.2f} %)")
    cells = defaultdict(Counter)
    for (kind, length), hit in hits:
        for low, high in LENGTHS:
            if low <= length <= high:
                cells[kind, low][hit] += 1
                cells["12 and more words", 12 if low >= 12 else 0][hit] += 1
    for kind in KINDS:
        row = [cells[kind, low] for low, _ in LENGTHS]
        print(f"  {kind:10}", *(f"{low}-{high}: {c[True]}/{c.total()}" for (low, high), c in zip(LENGTHS, row)), sep="  ")
    whole = cells["12 and more words", 12]
    print(f"  12 and more words: {whole[True]}/{whole.total()} = {whole[True] / whole.total():.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nearkin")
    parser.add_argument("rows")
    parser.add_argument("questions")
    parser.add_argument("--rows", dest="count", type=int, default=10_000)
    parser.add_argument("--questions-count", type=int, default=20_000)
    parser.add_argument("--planted", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", default="")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    rows = [json.loads(line)["text"] for line in open(given.rows, encoding="utf-8")]
    rng.shuffle(rows)
    rows = rows[: given.count]
    vocabulary = sorted({word for row in rows[:2000] for word in row.split() if word.isalpha()})
    questions = questions_of(given.questions, given.questions_count, rng)
    asked = rng.sample(range(len(questions)), given.planted)
    places, what = rng.sample(range(len(rows)), given.planted), {}
    for number, (place, question) in enumerate(zip(places, asked)):
        kind = KINDS[number % len(KINDS)]
        text, length = planted(questions[question], kind, vocabulary, rng)
        words = rows[place].split(" ")
        at = rng.randint(0, len(words))
        rows[place] = " ".join(words[:at] + [text] + words[at:])
        what[place] = (kind, length)
    print(f"seed {given.seed}: {len(rows)} rows, {len(questions)} questions, {given.planted} planted")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, texts in (("rows", rows), ("questions", questions)):
            lines = (json.dumps({"id": at, "text": text}) + "\n" for at, text in enumerate(texts))
            (folder / f"{name}.jsonl").write_text("".join(lines))
        began = time.monotonic()
        command = [given.nearkin, "dedup", folder / "rows.jsonl", "--out", folder / "out.jsonl", "--keep", "all"]
        command += ["--without", folder / "questions.jsonl", *given.options.split()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        print(f"nearkin: {time.monotonic() - began:.2f} s")
        dropped = {}
        for line in open(folder / "out.jsonl.dropped.jsonl"):
            entry = json.loads(line)
            dropped[int(entry["key"])] = entry
    clean = len(rows) - given.planted
    false = [entry for place, entry in dropped.items() if place not in what]
    table("nearkin", [(kind, place in dropped) for place, kind in what.items()], len(false), clean)
    for entry in false[:5]:
        print("  false:", entry["words_shared"], "of", entry["question_words"], repr(entry["passage"][:150]))
    for n, least in ((5, 20), (5, 8), (3, 8)):
        began = time.monotonic()
        decon = Decon(questions, n, least)
        found = [decon.found(row) for row in rows]
        false = sum(hit for place, hit in enumerate(found) if place not in what)
        title = f"decon's way, runs of {n}, questions of {least} words and more"
        table(f"{title} ({time.monotonic() - began:.1f} s)", [(k, found[p]) for p, k in what.items()], false, clean)


if __name__ == "__main__":
    main()
