"""An index of passages: what is quoted where."""

import json
import os
import shutil
import subprocess

import pytest

import nearkin as nk
from conftest import made_text

PARAMS = nk.Params(threshold=0.5, shingles="words:3", passages="40:20")


def test_quotations_are_found(tmp_path):
    book, other = made_text(1, 400), made_text(2, 400)
    quoted = " ".join(book.split()[100:180])
    with nk.PassageIndex(tmp_path / "a", PARAMS) as ix:
        added = ix.add(["book", "other", "none"], [book, other, " "], payloads=[b"B", b"", b""])
        assert added.inserted == 2 and added.empty == (2,)
        assert ix.count() == 2 and "book" in ix and "none" not in ix
        text = f"Zürich – {made_text(9, 60)} {quoted} {made_text(8, 60)}"
        (found,) = ix.query(text)
        assert found.key == "book" and found.payload == b"B" and abs(found.share - 80 / 201) < 0.05
        # The payload stays with another text.
        assert ix.insert("book", book + " and an afterword") and ix.insert("book", book)
        assert ix.query(book)[0].payload == b"B"
        assert ix.set_payload("book", b"C") and not ix.set_payload("none", b"C")
        assert ix.query(book)[0].payload == b"C" and ix.count() == 2
        answer = ix.query(f"{book} {other}")
        assert [one.key for one in answer[::-1]] == [answer[-1].key, answer[0].key] and answer[2:] == []
        with pytest.raises(IndexError, match="no such text"):
            answer[2]
        with pytest.raises(nk.InvalidError, match="at most"):
            ix.set_payload("book", b"x" * 65_536)
        spans = [passage.query for passage in found.passages]
        words = set(" ".join(text[a:b] for a, b in spans).split())
        assert words & set(quoted.split()) and all(passage.similarity >= 0.5 for passage in found.passages)
        a, b = spans[0]
        # Characters, not bytes: both ends are at words.
        assert text[a - 1] == " " and not text[a:b].startswith(" ") and not text[a:b].endswith(" ")
        assert len(found.passages) == 1 and abs(found.passages[0].words - 80) <= 8
        begin, end = found.passages[0].stored_bytes
        assert book.encode()[begin:end].decode().split()[0] in book.split()
        assert "book" in repr(found) and "1 of 1" in repr(ix.query(text))
        ix["book"] = other
        assert list(ix.query(quoted)) == []
        del ix["other"]
        with pytest.raises(KeyError):
            del ix["other"]
        assert ix.verify().ok
    with nk.Reader(tmp_path / "a") as reader:
        assert [one.key for one in reader.query_passages(other)] == ["book"]
        with pytest.raises(nk.InvalidError, match="PassageIndex"):
            reader.pairs()
    with nk.Index(tmp_path / "a") as ix, pytest.raises(nk.InvalidError, match="PassageIndex"):
        ix.add(["a"], [book])


def test_other_parameters_are_refused(tmp_path):
    with pytest.raises(nk.InvalidError):
        nk.PassageIndex(tmp_path / "a", nk.Params())
    assert not nk.exists(tmp_path / "a")
    ix = nk.PassageIndex(tmp_path / "a", PARAMS)
    ix.close()
    with pytest.raises(nk.ClosedError):
        ix.count()


def test_fingerprints_say_places_runs_and_pairs(tmp_path):
    """The same answers as the command line gives, in JSON."""
    essay = made_text(3, 200)
    part = essay.split()[50:80]
    part[12] = "replaced"
    texts = {
        "a": essay,
        "b": f"Größe – {made_text(4, 60)} {' '.join(part)} {made_text(5, 40)}",
        "c": " ".join(essay.split()[100:140]) + " " + made_text(6, 80),
        "d": made_text(7, 100),
    }
    with nk.PassageIndex(tmp_path / "i", nk.Params.preset("quotes")) as ix:
        ix.add(list(texts), list(texts.values()))
        answers = {key: list(ix.query(text)) for key, text in texts.items()}
        pairs, halves = ix.pairs(), ix.pairs(contained=0.2)
        groups, wide = ix.clusters(), ix.clusters(contained=0.2)
        assert ix.pairs(limit=1)[0].b == pairs[0].b and "longest=" in repr(pairs[0])
        with pytest.raises(nk.InvalidError, match="no threshold"):
            ix.pairs(threshold=0.5)
    by_brute_force(texts, pairs)
    run = lambda *arguments: command(tmp_path, *arguments)  # noqa: E731
    fields = ("a", "b", "share_of_a", "share_of_b", "words", "longest", "stands_out")
    told = [{name: getattr(pair, name) for name in fields} for pair in pairs]
    assert told == run("pairs", "i") and [one.a for one in halves] == [
        one["a"] for one in run("pairs", "i", "--contained", "0.2")
    ]
    for found, options in [(groups, ()), (wide, ("--contained", "0.2"))]:
        assert [(group[0], key) for group in found for key in group] == [
            (one["cluster"], one["key"]) for one in run("clusters", "i", *options)
        ]
    for key, text in texts.items():
        told = run("query", "i", "--text", text)
        assert [one["key"] for one in told] == [one.key for one in answers[key]]
        for one, own in zip(told, answers[key], strict=True):
            assert (one["share"], one["stored_share"]) == (own.share, own.stored_share)
            assert one["longest"] == max(passage.longest for passage in own.passages)
            for passage, mine in zip(one["passages"], own.passages, strict=True):
                for name in ("query_words", "stored_words"):
                    assert tuple(passage[name]) == getattr(mine, name)
                assert tuple(passage["stored"]) == mine.stored_bytes
                begin, end = mine.query
                assert text.encode()[slice(*passage["query"])].decode() == text[begin:end]
                assert (passage["words"], passage["longest"]) == (mine.words, mine.longest)
    with nk.PassageIndex(tmp_path / "w", PARAMS) as ix:
        ix["a"] = essay
        passage = ix.query(essay)[0].passages[0]
        assert (passage.longest, passage.query_words, ix.query(essay)[0].stored_share) == (None, None, None)
        with pytest.raises(nk.InvalidError, match="windows of words have no pairs"):
            ix.pairs()


def by_brute_force(texts, pairs):
    """The longest runs of eight words and more that two texts share."""
    longest = {}
    for a in texts:
        for b in texts:
            ours, theirs = texts[a].lower().split(), texts[b].lower().split()
            table = {(-1, -1): 0}
            for x, word in enumerate(ours):
                for y, other in enumerate(theirs):
                    if word == other:
                        table[x, y] = table.get((x - 1, y - 1), 0) + 1
            runs = table.values()
            if a < b and max(runs) >= 8:
                longest[a, b] = max(runs)
    assert {(pair.a, pair.b): pair.longest for pair in pairs} == longest


def command(folder, *arguments):
    """What the tool prints as JSON; the test is skipped without a tool."""
    tool = os.environ.get("NEARKIN_BINARY") or shutil.which("nearkin")
    if tool is None:
        pytest.skip("no command nearkin (NEARKIN_BINARY names one)")
    ran = subprocess.run([tool, *arguments, "--json", "--quiet"], cwd=folder, check=True, capture_output=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]
