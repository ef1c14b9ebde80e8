"""What decides a deduplication: the shingles of what the estimate finds, then the guard.

The definitions are written anew here, over sets of words.
"""

import random
import re
import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import nearkin as nk

#: Without digits: a word with a digit is a number.
WORDS = ["".join(random.Random(seed).choices("abcdefghijklmnop", k=6)) for seed in range(2_000)]
WORD = re.compile(r"[^\W_]+")


def made_text(seed, words=40):
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def runs(text):
    words = WORD.findall(text.lower())
    return {tuple(words[at : at + 3]) for at in range(max(1, len(words) - 2))}


def jaccard(one, other):
    a, b = runs(one), runs(other)
    return len(a & b) / len(a | b)


def forms():
    """Bills and letters filled in, articles with edits, copies; in no order."""
    chosen = random.Random(20)
    name = lambda: "".join(chosen.choice("abcdefghijklmnop") for _ in range(7))  # noqa: E731
    bill = made_text(1, words=60).split()
    letter = made_text(2, words=70).split()
    texts = []
    for _ in range(60):
        number = [str(chosen.randrange(10**6)) for _ in range(3)]
        texts.append(" ".join(["invoice", *number, *bill]))
        texts.append(" ".join(["dear", name(), name(), *letter, name(), "sends", number[0]]))
    for seed in range(3, 60):
        words = made_text(seed, words=80).split()
        texts.append(" ".join(words))
        for _ in range(chosen.randrange(3)):
            edited = list(words)
            for _ in range(chosen.randrange(4)):
                edited[chosen.randrange(len(edited))] = name()
            texts.append(" ".join(edited))
    texts += chosen.sample(texts, 20)
    chosen.shuffle(texts)
    return texts


def differ_only_in_numbers(one, other):
    """Numbers that follow each other count as one."""
    parts = lambda text: re.sub(r"(\S*\d\S*)( \S*\d\S*)*", "#", text)  # noqa: E731
    return one != other and parts(one) == parts(other)


@pytest.mark.parametrize("keep", ["first", "last", "longest"])
@pytest.mark.parametrize("guard", ["rare", "numbers", "none"])
@pytest.mark.parametrize("exact", [False, True])
def test_nothing_is_dropped_below_the_threshold(exact, guard, keep):
    texts = forms()
    how = {"keep": keep, "exact": exact, "threshold": 0.7}
    rows = nk.dedup(texts, guard=guard, annotate=True, **how)
    dropped = [row for row in rows if not row.kept]
    assert len(dropped) > 20
    for at, row in enumerate(rows):
        of = row.duplicate_of if row.apart is None else row.similar_to
        if of is None:
            assert row.kept and row.shared is None
            continue
        other = rows[of]
        a, b = runs(row.value), runs(other.value)
        assert other.kept and of != at
        assert (row.shingles, row.of_shingles, row.shared) == (len(a), len(b), len(a & b))
        assert row.similarity == pytest.approx(jaccard(row.value, other.value)) and row.similarity >= 0.7
        if row.apart is None:
            assert not row.kept
            is_numbers = differ_only_in_numbers(row.value, other.value)
            assert guard == "none" or not is_numbers, (row.value, other.value)
        else:
            assert row.kept and row.duplicate_of is None and row.cluster == at
            assert (row.apart == "numbers") == differ_only_in_numbers(row.value, other.value)
    apart = {row.apart for row in rows} - {None}
    assert apart == {"rare": {"numbers", "rare"}, "numbers": {"numbers"}, "none": set()}[guard]
    # Every bill stays, but for copies.
    bills = {row.value for row in rows if row.value.startswith("invoice")}
    left = [row for row in rows if row.kept and row.value.startswith("invoice")]
    assert (len(left) == len(bills) == 60) if guard != "none" else len(left) == 1
    kept = nk.dedup(texts, guard=guard, **how)
    assert kept == [row.value for row in rows if row.kept]


def test_a_warning_says_what_was_kept():
    texts = forms()
    with pytest.warns(UserWarning, match="rows differ from a kept one only in numbers") as told:
        kept = nk.dedup(texts)
    assert told[0].filename == __file__
    rows = nk.dedup(texts, annotate=True)
    count = sum(row.apart is not None for row in rows)
    assert str(told[0].message).startswith(f"{count} rows differ") and count > 50
    assert [row.value for row in rows if row.kept] == kept
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nk.dedup(texts, guard="rare") == kept
        assert len(nk.dedup(texts, guard="none")) < len(kept)
        nk.dedup(texts, annotate=True)
        nk.dedup(texts, estimate=True)
        nk.dedup([made_text(1), made_text(2), made_text(1)])


def test_the_estimate_has_no_shingles_and_no_guard():
    texts = forms()
    signatures = nk.Sketcher(nk.Params()).texts(texts)
    by_estimate = nk.dedup(texts, estimate=True, annotate=True)
    rows = nk.dedup(signatures, annotate=True)
    assert [row.kept for row in rows] == [row.kept for row in by_estimate]
    stream = list(nk.dedup(iter(texts)))
    assert stream == [row.value for row in by_estimate if row.kept]
    assert list(nk.dedup(iter(texts), estimate=True, guard="none")) == stream
    table = nk.dedup(pa.table({"t": texts}), on="t", estimate=True, annotate=True)
    assert table.column_names == ["t", "kept", "cluster", "cluster_size", "duplicate_of", "similarity"]
    assert all(row.shared is None and row.apart is None for row in rows + by_estimate)


def test_differences_are_shown():
    bill = "invoice {} for {} rent of the hall by the river to be paid to the town treasury within a month"
    texts = [bill.format(7, "the"), bill.format("8, 9", "the"), bill.format(7, "the").upper()]
    how = {"threshold": 0.5, "annotate": True, "differences": True}
    first, second, third = nk.dedup([*texts, bill.format(7, "our")], **how)[:3]
    assert (second.apart, second.similar_to) == ("numbers", 0)
    assert (second.only_here, second.only_there) == ("8 9", "7")
    assert (second.only_here_count, second.only_there_count, second.numbers_differ) == (2, 1, True)
    assert third.similarity == 1.0 and third.only_here is None and third.numbers_differ is None
    assert first.only_here_count is None
    many = [made_text(1), made_text(1) + " one two three four five six seven"]
    row = nk.dedup(many, guard="none", **how)[1]
    assert (row.only_here, row.only_here_count) == ("one two three four five", 7)
    assert (row.only_there, row.only_there_count, row.numbers_differ) == ("", 0, False)
    names = ["contained", "shingles", "of_shingles", "shared", "apart", "similar_to", "only_here"]
    names += ["only_there", "only_here_count", "only_there_count", "numbers_differ"]
    frame = {"id": ["a", "b", "c"], "text": texts}
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        marked = nk.dedup(make(frame), on="text", key="id", **how)
        columns = list(getattr(marked, "column_names", None) or marked.columns)
        assert columns[-len(names) :] == names
        assert list(marked["similar_to"])[1] in ("a", pa.scalar("a"))
        same = nk.dedup(make({"id": ["a"], "text": texts[:1]}), on="text", key="id", **how)
        for name in names:
            dtype = getattr(marked[name], "dtype", None) or marked[name].type
            assert dtype == (getattr(same[name], "dtype", None) or same[name].type), name
    rows = [dict(zip(frame, values)) for values in zip(*frame.values())]
    assert nk.dedup(rows, on="text", **how)[1]["only_there"] == "7"


def test_sets_are_confirmed_and_not_guarded():
    sets = [[f"{row}", *map(str, range(30))] for row in range(40)]
    params = nk.Params(shingles="items", threshold=0.9)
    rows = nk.dedup(sets, params=params, annotate=True)
    assert rows[0].kept and not any(row.kept for row in rows[30:])
    for row in rows:
        if not row.kept:
            a, b = set(row.value), set(rows[row.duplicate_of].value)
            assert row.shared == len(a & b) and len(a & b) / len(a | b) >= 0.9
    assert nk.dedup(sets, params=params, guard="none") == [row.value for row in rows if row.kept]


def test_rows_of_an_index_are_judged_by_the_estimate(tmp_path):
    texts = forms()
    with nk.Index(tmp_path / "ix", nk.Params()) as ix:
        ix.add(["old"], [made_text(3, words=80)])
        rows = nk.dedup(texts, against=ix, annotate=True)
        assert any(row.index_key == "old" for row in rows)
        for row in rows:
            assert (row.shared is not None) == (row.duplicate_of is not None or row.apart is not None)


def test_numbers_set_a_row_apart_from_a_document_of_an_index(tmp_path):
    body = "we send you these goods with many thanks and ask you to pay soon"
    stored = {f"old{n}": f"Invoice {n} over {n * 3 + 7} euros. {body}" for n in range(100, 120)}
    rows = [stored["old105"], f"Invoice 900 over 2707 euros. {body}", f"Invoice 107 over 328 euros. {body} soon"]
    with nk.Index(tmp_path / "ix", nk.Params(threshold=0.5, shingles="words:1")) as ix:
        ix.add(list(stored), list(stored.values()))
        how = {"against": ix, "exact": True, "fetch": stored.get}
        with pytest.warns(UserWarning, match="1 row differs in numbers from a document of `against`"):
            assert nk.dedup(rows, **how) == rows[1:2]
        assert nk.dedup(rows, guard="numbers", **how) == rows[1:2]
        assert nk.dedup(rows, guard="none", **how) == []


def test_options_that_do_nothing_are_refused():
    texts = [made_text(1), made_text(2)]
    signatures = nk.Sketcher(nk.Params()).texts(texts)
    sets = {"params": nk.Params(shingles="items")}
    for data, how, why in [
        (texts, {"estimate": True}, "estimate=True"),
        (texts, {"contained": 0.8}, "contained="),
        (signatures, {}, "signatures"),
        ([["a"], ["b"]], sets, "sets"),
    ]:
        with pytest.raises(nk.InvalidError, match=f"guard= does nothing with {why}"):
            nk.dedup(data, guard="rare", **how)
        nk.dedup(data, guard="none", **how)
    with pytest.raises(nk.InvalidError, match="a guard is none, numbers, rare or agree, not `most`"):
        nk.dedup(texts, guard="most")
    with pytest.raises(nk.InvalidError, match="exclude each other"):
        nk.dedup(texts, exact=True, estimate=True)
    for data, how in [(texts, {}), (texts, {"annotate": True, "estimate": True}), (signatures, {"annotate": True})]:
        with pytest.raises(nk.InvalidError, match="differences=True adds columns"):
            nk.dedup(data, differences=True, **how)
    with pytest.raises(nk.InvalidError, match="without exact, guard, annotate"):
        nk.dedup(iter(texts), guard="rare")


def test_a_judgement_is_cancelled():
    """The callback stops the second look, too."""
    texts = forms()
    calls = []

    def progress(done, total):
        calls.append(done)
        return calls.count(len(texts)) < 2

    with pytest.raises(nk.CancelledError):
        nk.dedup(texts, guard="rare", progress=progress)
    assert calls.count(len(texts)) == 2
