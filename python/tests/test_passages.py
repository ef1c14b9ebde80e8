"""An index of passages: what is quoted where."""

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
