"""Compares `nearkin audit` with a brute force over sets of words, without any code of Nearkin.

    audit.py NEARKIN [CORPUS.jsonl ...] [--seed SEED]

Made rows are edited copies of every similarity, forms, and chains; of each corpus a third is removed.
A row is missed with a probability below 0.001 if its similarity is 0.5 or more: at most 1 in 500 may be.
Compared are the counts of wrong and equal rows and of chains; of each row the similarity, and that the
named kept row and the counts of shingles are those of it; and, in made rows, that a form filled in with
just another number is set apart by numbers. Counts of rare words are not compared."""

import csv
import gzip
import json
import os
import random
import re
import secrets
import subprocess
import sys
import tempfile
from collections import defaultdict

#: Words as docs/reference/SIGNATURES.md defines them.
WORD = re.compile(r"(?:\w|(?<=[^\W\d_])[.':](?=[^\W\d_])|(?<=\d)[.',;](?=\d))+")
THRESHOLDS = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


def shingles(text):
    words = [word for word in WORD.findall(text.lower()) if any(c.isalnum() for c in word)]
    return {tuple(words[at : at + 3]) for at in range(max(1, len(words) - 2))} if words else set()


class Sets:
    def __init__(self, texts):
        self.sets = [shingles(text) for text in texts]
        self.having = defaultdict(list)
        for number, of in enumerate(self.sets):
            for one in of:
                self.having[one].append(number)

    def best(self, of, but=None):
        """The highest similarity to one of these."""
        shared = defaultdict(int)
        for one in of:
            for number in self.having.get(one, ()):
                shared[number] += 1
        all_of = lambda number, count: len(of) + len(self.sets[number]) - count
        return max((n / all_of(at, n) for at, n in shared.items() if at != but), default=0.0)


def made(rng):
    """Kept and removed texts."""
    words = ["".join(rng.choices("abcdefghijklmnop", k=6)) for _ in range(3_000)]
    kept, removed = [], []
    for _ in range(400):
        text = rng.choices(words, k=rng.randint(4, 90))
        kept.append(" ".join(text))
        for _ in range(rng.randint(0, 3)):
            copy = list(text)
            for _ in range(int(len(copy) * rng.random() ** 2 / 2)):
                copy[rng.randrange(len(copy))] = rng.choice(words)
            removed.append(" ".join(copy))
    # Chains: each is similar to the one before, and the first one to a kept one.
    for _ in range(20):
        text = rng.choices(words, k=60)
        kept.append(" ".join(text))
        for _ in range(6):
            at = rng.randrange(50)
            text[at : at + 4] = rng.choices(words, k=4)
            removed.append(" ".join(text))
    # Forms: all are alike, more of them than are looked up at once.
    form = rng.choices(words, k=40)
    for number in range(120):
        filled = " ".join([*form, str(rng.randrange(10**6)), *rng.choices(words, k=number // 2 % 2 * 3)])
        (removed if number % 2 else kept).append(filled)
    removed += rng.sample(kept, 20) + [rng.choice(words) for _ in range(5)]
    rng.shuffle(removed)
    return kept, removed


def rows_of(texts, name):
    return [{"id": f"{name}{number}", "text": text} for number, text in enumerate(texts)]


def write(path, rows):
    if ".csv" in path:
        with open(path, "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, ["id", "text"])
            table.writeheader()
            table.writerows(rows)
        return
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def audit(nearkin, *arguments):
    ran = subprocess.run([nearkin, "audit", *arguments, "--json"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def check_evidence(row, own, of):
    """The named kept row has just this similarity, and the counts are those of the two sets."""
    if of is None:
        assert row["similarity"] == 0 and row["shared"] is None, row
        return
    shared = len(own & of)
    assert [row["shingles"], row["of_shingles"], row["shared"]] == [len(own), len(of), shared], row
    assert row["similarity"] == shared / len(own | of) > 0, row


def numbers(text):
    return sorted(word for word in WORD.findall(text) if word.isdigit())


def compare(nearkin, folder, kept, removed, threshold, paths, keys, is_made=False):
    """Compares an audit; `keys` are those of the kept rows."""
    sets, others = Sets(kept), Sets(removed)
    best = [sets.best(of) for of in others.sets]
    chained = [others.best(of, at) if one < threshold else 0 for at, (of, one) in enumerate(zip(others.sets, best))]
    listed = os.path.join(folder, "list.jsonl")
    told = audit(nearkin, *paths, "--threshold", str(threshold), "--list", listed)
    with open(listed, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    assert len(rows) == told["removed"] == len(removed), (len(rows), told, len(removed))
    missed = 0
    at_key = {key: at for at, key in enumerate(keys)}
    in_numbers = filled = 0
    for row_number, (row, one, chain) in enumerate(zip(rows, best, chained)):
        found = row["similarity"]
        assert found == one or found < one, (row, one)
        assert found == one or one < 0.5 or not row["settled"] or (missed := missed + 1), row
        assert row["wrong"] == (found < threshold)
        at = None if row["of_key"] is None else at_key[row["of_key"]]
        own = others.sets[row_number]
        check_evidence(row, own, None if at is None else sets.sets[at])
        # Of made rows, only forms have numbers. If other words differ, too, these may set them apart.
        in_numbers += row["apart"] == "numbers"
        if is_made and at is not None and found >= threshold:
            texts = [removed[row_number], kept[at]]
            differ = numbers(texts[0]) != numbers(texts[1])
            differ_only = differ and len({re.sub("[0-9]+", "", text) for text in texts}) == 1
            filled += differ_only
            assert differ_only <= (row["apart"] == "numbers") <= differ, (row, texts)
        if chain >= threshold:
            assert row["chained_similarity"] == chain, (row, chain)
        elif found == one:
            assert row["chained_similarity"] is None, (row, chain)
    assert missed * 500 <= len(removed), f"{missed} of {len(removed)} missed"
    counts = {t: sum(one < t for one in best) for t in THRESHOLDS}
    if missed == 0:
        for t, count in told["wrong_at"]:
            assert counts.get(t, count) == count, (t, count, counts)
        assert told["wrong"] == sum(one < threshold for one in best)
        assert told["equal"] == sum(one == 1 for one in best)
        assert told["chained"] == sum(chain >= threshold for chain in chained)
    assert told["differ_in_numbers"] == in_numbers, (told, in_numbers)
    assert not is_made or filled > 0
    print(len(kept), "kept", len(removed), "removed", counts, told["chained"], "chained,", missed, "missed")
    return told


def main():
    arguments = sys.argv[1:]
    seed = secrets.randbelow(1 << 32)
    if "--seed" in arguments:
        at = arguments.index("--seed")
        seed = int(arguments[at + 1])
        del arguments[at : at + 2]
    nearkin, *corpora = arguments
    print("seed", seed)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        for ending in ["jsonl", "csv", "jsonl.gz"]:
            kept, removed = made(rng)
            (keep, drop) = (path(f"kept.{ending}"), path(f"removed.{ending}"))
            half = len(kept) // 2
            rows = rows_of(kept, "k")
            write(keep, rows[:half])
            write(path(f"more.{ending}"), rows[half:])
            write(drop, rows_of(removed, "r"))
            paths = [drop, "--kept", keep, "--kept", path(f"more.{ending}")]
            threshold = rng.choice([0.3, 0.5, 0.65, 0.7, 0.8])
            keys = [row["id"] for row in rows]
            told = compare(nearkin, folder, kept, removed, threshold, paths, keys, is_made=True)
            assert told["chained"] > 0 or threshold < 0.65, told
        for corpus in corpora:
            with open(corpus, encoding="utf-8") as file:
                texts = [json.loads(line)["text"] for line in file]
            texts = [text for text in texts if text.isascii() and shingles(text)]
            is_kept = [rng.random() < 0.66 for _ in texts]
            kept = [text for text, stays in zip(texts, is_kept) if stays]
            removed = [text for text, stays in zip(texts, is_kept) if not stays]
            rows = rows_of(texts, "t")
            write(path("all.jsonl"), rows)
            write(path("some.jsonl"), [row for row, stays in zip(rows, is_kept) if stays])
            paths = ["--all", path("all.jsonl"), "--kept", path("some.jsonl")]
            keys = [row["id"] for row, stays in zip(rows, is_kept) if stays]
            by_key = compare(nearkin, folder, kept, removed, 0.7, paths, keys)
            # Without keys, rows are told by their texts, each as often as it is there.
            write(path("some.jsonl"), [{"text": text} for text in kept])
            by_text = audit(nearkin, *paths)
            assert [by_key[name] for name in ["removed", "wrong_at", "equal"]] == [
                by_text[name] for name in ["removed", "wrong_at", "equal"]
            ], (by_key, by_text)


if __name__ == "__main__":
    main()
