"""`nearkin.audit` beside a brute force over sets of words, which shares no code with it."""

import random

import nearkin as nk
import pandas as pd
import pyarrow as pa
import pytest

WORDS = ["".join(random.Random(seed).choices("abcdefghijklmnop", k=6)) for seed in range(2_000)]


def made(seed):
    """Kept and removed texts: edited copies of every similarity, chains, forms."""
    chosen = random.Random(seed)
    kept, removed = [], []
    for _ in range(150):
        words = chosen.choices(WORDS, k=chosen.randint(4, 60))
        kept.append(" ".join(words))
        for _ in range(chosen.randrange(3)):
            for _ in range(chosen.randrange(1 + len(words) // 8)):
                words[chosen.randrange(len(words))] = chosen.choice(WORDS)
            removed.append(" ".join(words))
    form = chosen.choices(WORDS, k=30)
    for number in range(90):
        filled = [*form, *chosen.choices(WORDS, k=2), str(chosen.randrange(10**6))]
        (removed if number % 2 else kept).append(" ".join(filled))
    return kept, removed


def runs(text):
    words = text.split()
    return {tuple(words[at : at + 3]) for at in range(max(1, len(words) - 2))}


def best(one, others):
    return max((len(one & other) / len(one | other) for other in others), default=0.0)


def test_counts_and_rows_equal_a_brute_force():
    seed = 7
    print("seed", seed)
    kept, removed = made(seed)
    kept_runs, removed_runs = [runs(text) for text in kept], [runs(text) for text in removed]
    found = nk.audit(removed, kept, threads=2)
    nearest = [best(one, kept_runs) for one in removed_runs]
    for row, of, told in zip(removed_runs, found.rows["kept_row"], found.rows["similarity"], strict=True):
        similarity = best(row, kept_runs)
        assert told == similarity or told < similarity < 0.5
        assert told == (0.0 if of is None else best(row, [kept_runs[of]]))
    assert found.wrong_at == {t: sum(one < t for one in nearest) for t in [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]}
    others = [best(one, removed_runs[:at] + removed_runs[at + 1 :]) for at, one in enumerate(removed_runs)]
    chained = sum(one < 0.7 <= other for one, other in zip(nearest, others, strict=True))
    assert (found.chained, found.wrong) == (chained, found.wrong_at[0.7])
    assert found.kept == len(kept) and found.removed == len(removed) and found.equal == nearest.count(1.0)
    assert chained > 0 and found.wrong > 5
    assert found.rows["row"] == list(range(len(removed)))


def test_tables_and_what_has_nothing_to_compare():
    kept = pd.DataFrame({"body": ["one two three four five", None]})
    removed = pa.table({"body": ["", "One two three four five!", None, "pay 40 euros to the bank today"]})
    found = nk.audit(removed, kept, "body", threshold=0.8)
    assert (found.kept, found.removed, found.blank, found.wrong, found.threshold) == (1, 2, 2, 1, 0.8)
    assert found.rows["row"] == [1, 3] and found.rows["kept_row"] == [0, None]
    assert found.wrong_at[0.8] == 1
    nothing = nk.audit([], [])
    assert (nothing.removed, nothing.wrong, len(nothing.rows)) == (0, 0, 0)
    sets = nk.audit([{"a", "b"}], [{"a", "b", "c"}], params=nk.Params(shingles="items"))
    assert sets.rows["similarity"] == [2 / 3]
    for guard in ["rare", "never"]:
        with pytest.raises(nk.InvalidError):
            nk.audit([{"a"}], [{"a"}], params=nk.Params(shingles="items"), guard=guard)


def test_the_guard_says_what_sets_a_pair_apart():
    kept, removed = ["pay 40 euros for the lessons of march"], ["pay 55 euros for the lessons of march"]
    params = nk.Params(shingles="words:1")
    found = nk.audit(removed, kept, params=params)
    assert found.rows["apart"] == ["numbers"] and found.in_numbers == 1
    assert nk.audit(removed, kept, params=params, guard="none").in_numbers is None
    with pytest.raises(nk.InvalidError):
        nk.audit(removed, kept, guard="never")
    with pytest.raises(nk.InvalidError):
        nk.audit(removed, kept, threshold=1.5)
