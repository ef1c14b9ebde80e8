"""120 essays with planted copies: does every copy stand above every innocent pair?

Essays are made of the texts of JSON lines with `id` and `text` (each essay of its own ones, of which no
two share 12 words), and all have one template. Into some of them, parts of 12 to 120 words of another essay are copied,
reordered, with 0 to 10 % of the words replaced.

    python tests/oracle/essays.py TOOL LINES.jsonl [SEED [FOLDER]]

With FOLDER, essays and template are left there.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile

ESSAYS = 120
WORDS = 600
TEMPLATE = """Name: Student number: Course: Introduction to Writing, autumn term. By handing in this
essay I declare that it is my own work, that I have named all sources, and that I have read the rules
of the school on plagiarism. Question one: Describe the subject of your essay in your own words and say
why it matters to you and to others. Question two: Compare two different views on the subject and say
which of them is supported better by the facts. Question three: What would you like to know about it?"""


def make(lines, rng):
    sources = []
    with open(lines, encoding="utf-8") as file:
        for line in file:
            words = json.loads(line)["text"].split()
            if len(words) >= 100:
                sources.append(words)
    rng.shuffle(sources)
    # News repeat themselves: of texts that share 12 words, one is used.
    seen, own = set(), []
    for words in sources:
        plain = re.findall(r"\w+", " ".join(words).lower())
        grams = {tuple(plain[at : at + 12]) for at in range(len(plain) - 11)}
        if len(grams) + 11 == len(plain) and seen.isdisjoint(grams):
            own.append(words)
            seen |= grams
        if len(own) == 900:
            break
    sources = own
    essays = []
    for _ in range(ESSAYS):
        words = []
        while len(words) < WORDS:
            words += sources.pop()
        essays.append(words[:WORDS])
    copies = []
    vocabulary = [word for essay in essays[:20] for word in essay]
    order = list(range(ESSAYS))
    rng.shuffle(order)
    for at in range(0, 40, 2):
        source, copy = order[at], order[at + 1]
        count = rng.choice([1, 1, 2, 3])
        replaced = rng.choice([0, 0, 1, 2, 3, 5, 10])
        total = 0
        parts = []
        for _ in range(count):
            length = rng.choice([12, 15, 20, 30, 60, 120])
            begin = rng.randrange(WORDS - length)
            part = list(essays[source][begin : begin + length])
            for place in rng.sample(range(length), length * replaced // 100):
                part[place] = rng.choice(vocabulary)
            parts.append(part)
            total += length
        rng.shuffle(parts)
        for part in parts:
            into = rng.randrange(len(essays[copy]))
            essays[copy][into:into] = part
        longest = max(map(len, parts))
        copies.append((source, copy, count, total, replaced, longest))
    half = TEMPLATE.split("Question two")
    def text(words):
        return f"{half[0]}\n\n{' '.join(words[:300])}\n\nQuestion two{half[1]}\n\n{' '.join(words[300:])}\n"
    return [text(words) for words in essays], copies


def main():
    tool, lines = map(os.path.abspath, sys.argv[1:3])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    print(f"seed {seed}")
    essays, copies = make(lines, random.Random(seed))
    with tempfile.TemporaryDirectory() as scratch:
        folder = sys.argv[4] if len(sys.argv) > 4 else scratch
        os.makedirs(os.path.join(folder, "essays"), exist_ok=True)
        for number, essay in enumerate(essays):
            with open(os.path.join(folder, "essays", f"{number:03}.txt"), "w", encoding="utf-8") as file:
                file.write(essay)
        with open(os.path.join(folder, "template.txt"), "w", encoding="utf-8") as file:
            file.write(TEMPLATE)

        def run(*arguments):
            return subprocess.run([tool, *arguments], check=True, cwd=folder,
                                  stdout=subprocess.PIPE).stdout

        index = os.path.join(scratch, "index")
        run("add", index, "essays", "--for", "quotes", "--template", "template.txt", "--quiet")
        lines = run("pairs", index, "--json", "--quiet").splitlines()
    number = lambda key: int(re.search(r"(\d+)\.txt", key).group(1))
    pairs = [json.loads(line) for line in lines]
    ranks = {frozenset((number(pair["a"]), number(pair["b"]))): rank for rank, pair in enumerate(pairs)}
    planted = {frozenset(copy[:2]) for copy in copies}
    innocent = [rank for pair, rank in ranks.items() if pair not in planted]
    first = min(innocent, default=len(pairs))
    print(f"{len(pairs)} pairs, {len(innocent)} innocent, the first of these at rank {first + 1}")
    bad = 0
    for source, copy, count, total, replaced, longest in copies:
        rank = ranks.get(frozenset((source, copy)))
        is_above = rank is not None and rank < first
        due = replaced <= 3
        bad += due and not is_above
        there = pairs[rank] if rank is not None else {}
        print(f"{'ok ' if is_above else 'BAD' if due else 'low'} {source:03} in {copy:03}: {count} parts, "
              f"{total} words (longest part {longest}), {replaced} % replaced; found: rank "
              f"{None if rank is None else rank + 1}, {there.get('words')} words, longest "
              f"{there.get('longest')}, marked {there.get('stands_out')}")
    marked = sum(pair["stands_out"] for pair in pairs)
    print(f"{marked} pairs marked, {sum(pairs[rank]['stands_out'] for rank in innocent)} of them innocent")
    print(f"{bad} copies of at most 3 % replaced not above all innocent pairs")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
