"""An index in its basics: open, write, ask, close."""

import pickle

import pytest

import nearkin as nk

TEXTS = [
    "the ferry to the islands was cancelled on monday after the harbour had frozen over",
    "a recipe for bread with rye flour and a little honey, baked for an hour",
    "the council will meet on tuesday to decide on the bridge that burned down last year",
]


def params(**more):
    return nk.Params(threshold=0.6, shingles="words:2", **more)


def test_what_was_added_is_found(tmp_path):
    with nk.Index(tmp_path / "a", params()) as ix:
        added = ix.add(["x", "y", "z"], TEXTS)
        assert added == nk.Added(3, 0, 0, 0, ())
        answer = ix.query(TEXTS[0].upper())
        assert [(m.key, m.similarity) for m in answer] == [("x", 1.0)]
        assert len(ix) == 3 and "y" in ix and "nobody" not in ix
    with nk.Index(tmp_path / "a") as ix:
        assert sorted(ix.keys()) == ["x", "y", "z"]
        assert ix.params == params()


def test_a_mapping(tmp_path):
    with nk.Index(tmp_path / "a", params()) as ix:
        ix["k"] = TEXTS[1]
        assert ix["k"].key == "k" and ix.get("k").signature == ix.sketcher.text(TEXTS[1])
        del ix["k"]
        with pytest.raises(KeyError):
            del ix["k"]
        with pytest.raises(KeyError):
            ix["k"]
        assert ix.get("k") is None and len(ix) == 0


def test_parameters_sketchers_and_signatures_are_pickled():
    p = params(stop_words=["the"], seed=7)
    sketcher = pickle.loads(pickle.dumps(nk.Sketcher(p)))
    assert sketcher.params == p
    signatures = sketcher.texts([*TEXTS, None, ""])
    again = pickle.loads(pickle.dumps(signatures))
    assert again == signatures and again.nulls == [3, 4]
    assert pickle.loads(pickle.dumps(signatures[0])) == signatures[0]


def test_what_contains_the_other_is_found_everywhere(tmp_path):
    part = TEXTS[0]
    whole = f"{part} {TEXTS[1]}"
    with nk.Index(tmp_path / "a", nk.Params(threshold=0.3, shingles="words:1")) as ix:
        ix.add(["whole", "other"], [whole, TEXTS[2]])
        assert ix.query(part, threshold=0.9).keys == []
        (found,) = ix.query(part, contained=0.75)
        assert found.key == "whole" and found.contained > 0.75 > found.similarity
        assert ix.query(part)[0].contained is None
        assert ix.query(part, contained=0.75, threshold=0.9).keys == []
        many = ix.query_many([TEXTS[2], part], contained=0.75, payloads=True)
        assert many.column_names == ["row", "key", "similarity", "contained", "payload"]
        assert [row[:2] for row in many] == [(0, "other"), (1, "whole")]
        assert many["contained"][1] == found.contained
        with pytest.raises(nk.InvalidError, match="containment must be from 0 to 1"):
            ix.query(part, contained=75)
        told = ix.admit(["part"], [part], contained=0.75)
        assert told.column_names[-1] == "contained"
        assert told.rows()[0][1:3] == ("rejected", "whole") and told["contained"][0] > 0.75
        ix.insert("part", part)
        assert ix.query_key("part", contained=0.75).keys == ["whole"]
        assert ix.query_keys(["part"], contained=0.75).keys == ["whole"]
        assert ix.pairs(0.9).read_all().rows() == []
        (pair,) = ix.pairs(contained=0.75).read_all().rows()
        assert sorted(pair[:2]) == ["part", "whole"] and pair[3] > 0.75 > pair[2]
        members = ix.clusters(contained=0.75).read_all()
        assert sorted(members["key"]) == ["part", "whole"]
