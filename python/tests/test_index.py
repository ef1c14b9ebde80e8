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


def test_a_query_finds_added_documents(tmp_path):
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


def test_every_search_finds_documents_by_containment(tmp_path):
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


def test_a_document_whose_text_is_blank_now_is_removed(tmp_path):
    text = "the ferry to the islands was cancelled on monday"
    with nk.Index(tmp_path / "ix", nk.Params()) as ix:
        ix.add(["a", "b"], [text, "another text"])
        assert ix.add(["a", "b", "c"], ["  ", None, ""]) == nk.Added(0, 0, 0, 0, (0, 1, 2), 1)
        assert ix.query(text).keys == [] and "b" in ix
        assert ix.admit(["d"], [text]).rows()[0][:2] == ("d", "admitted")
        added = ix.add(["d", "d"], [" ", text])
        # Removed, and inserted again.
        assert added == nk.Added(0, 1, 0, 0, (0,), 0)
    params = nk.Params(threshold=0.5, shingles="words:3", passages="40:20")
    with nk.PassageIndex(tmp_path / "passages", params) as ix:
        ix.add(["a", "b"], [text, text])
        assert ix.add(["a", "b"], ["\n", None]) == nk.Added(0, 0, 0, 0, (0, 1), 1)
        assert "a" not in ix and "b" in ix


def test_admit_decides_by_the_documents_themselves(tmp_path):
    texts = {"a": "one two three four five six seven eight", "b": "one two three four five six seven"}
    params = nk.Params(threshold=0.5, shingles="words:1")
    with nk.Index(tmp_path / "ix", params) as ix:
        first = ix.admit(["a"], [texts["a"]], reject=0.8, exact=texts.get).to_dict()
        assert first["decision"] == ["admitted"] and first["shared"] == [None]
        told = ix.admit(["b", "c"], [texts["b"], " "], reject=0.8, exact=texts.get).to_dict()
        assert told["decision"] == ["rejected", "empty"] and told["of_key"] == ["a", None]
        assert told["similarity"] == [0.875, None]
        evidence = (told["shared"], told["shingles"], told["of_shingles"], told["unverified"])
        assert evidence == ([7, None], [7, None], [8, None], [0, 0])
        # What is not returned, or has changed, rejects nothing.
        told = ix.admit(["d"], [texts["a"]], reject=0.8, exact=lambda key: None).to_dict()
        assert told["decision"] == ["admitted"] and told["unverified"] == [1]

        def fails(key):
            raise OSError(f"no {key}")

        with pytest.raises(OSError, match="no [ad]"):
            ix.admit(["e"], [texts["a"]], exact=fails)
        with pytest.raises(ValueError, match="not their signatures"):
            ix.admit(["e"], ix.sketcher.texts([texts["a"]]), exact=texts.get)
        with pytest.raises(TypeError):
            ix.admit(["e"], [texts["a"]], exact=lambda key: 5)
        assert "e" not in ix


def test_keywords_of_searches_and_of_opening_are_checked(tmp_path):
    with nk.Index(tmp_path / "ix", nk.Params(shingles="words:1"), durability="os") as index:
        index.add(["a"], ["one two three"])
        refused = [
            (lambda: index.query("one", treshold=0.5), r"^query\(\) got .* 'treshold'"),
            (lambda: index.query_passages("one", contain=0.5), "'contain'"),
            (lambda: index.pairs(limits=3), "'limits'"),
            (lambda: index.admit([], [], limit=3), "'limit'"),
            (lambda: index.admit([], [], threshold=0.5), "'threshold'"),
            (lambda: index.query("one", limit=True), "^argument 'limit': must be an int, not bool"),
            (lambda: index.query("one", threshold="x"), "^argument 'threshold': "),
            (lambda: nk.Index(tmp_path / "ix", ttls=3), r"^Index\(\) got .* 'ttls'"),
            (lambda: nk.PassageIndex(tmp_path / "px", ttl=3), "'ttl'"),
            (lambda: nk.Index(tmp_path / "ix", keys=3), "^argument 'keys': "),
        ]
        for call, message in refused:
            with pytest.raises(TypeError, match=message):
                call()
        with pytest.raises(nk.InvalidError, match="0 or more"):
            index.query("one", limit=-1)
        with pytest.raises(nk.InvalidError, match="max_candidates is no condition of pairs"):
            index.pairs(max_candidates=3)
        assert index.query("one two three", threshold=None, limit=None).keys == ["a"]
        assert index.query("one two three", for_verification=True).keys == ["a"]
    with pytest.raises(nk.InvalidError, match="read_mode must be 'mmap' or 'pread'"):
        nk.Index(tmp_path / "ix", read_mode="x")


def test_a_reader_may_read_by_calls(index):
    index["a"] = "one two three"
    index.flush()
    for read_mode in ("mmap", "pread"):
        reader = nk.Reader(index.path, read_mode=read_mode)
        for one in (reader, pickle.loads(pickle.dumps(reader))):
            assert one.query("one two three").keys == ["a"]
            assert (one.stats().mapped_bytes > 0) == (read_mode == "mmap")
    with pytest.raises(nk.InvalidError, match="read_mode must be 'mmap' or 'pread'"):
        nk.Reader(index.path, read_mode="x")


def test_stats_have_what_the_library_adds(index):
    index["a"] = "one two three"
    stats = index.stats()
    assert stats._fields[:2] == ("documents", "dead") and len(stats) == 18
    assert stats.documents == stats[0] == 1 and stats._asdict()["changes_replayed"] == 0
    assert (stats.floor, stats.bytes_cut, stats.files_swept) == (0, 0, 0)
    copied = pickle.loads(pickle.dumps(stats))
    assert copied == stats and vars(copied) == vars(stats) and repr(stats).startswith("Stats(doc")


def test_every_exception_has_the_advice_of_the_library(index):
    everything = [kind for kind in vars(nk).values() if isinstance(kind, type)]
    classes = [kind for kind in everything if issubclass(kind, nk.Error)]
    assert len(classes) == 17
    assert [kind.__name__ for kind in classes if "advice" not in vars(kind)] == []
    assert nk.PoisonedError.advice == "reopen the index"
    with pytest.raises(nk.InvalidError) as raised:
        index.query("text", threshold=2)
    assert raised.value.advice == "fix the arguments of the call"


THREE = ["x y z", "x y w", "x v w"]
LARGE = b"x" * 70_000


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda ix: ix.add(["a", "", "c"], THREE), 'document 1 .*, key "": a key has 1 to 4096'),
        (lambda ix: ix.add(["a", "b", ""], ["x y z", None, "x y"]), "document 2 .*a key has"),
        (lambda ix: ix.add(["a", "b", "c"], THREE, payloads=[b"", LARGE, b""]), 'document 1 .*"b": a pay'),
        # More than a batch has.
        (lambda ix: ix.add([*range(20_000), ""], ["x y"] * 20_001), "document 20000 .*a key has"),
        (lambda ix: ix.add(["a", b"\xff", "c"], THREE), r"keys\[1\]: the key .xff is not UTF-8"),
        (lambda ix: ix.add(["a", "\udce9", "c"], THREE), r"keys\[1\] cannot be encoded"),
        (lambda ix: ix.add(["a", "b"], THREE[:2], payloads=[b"", "\udce9"]), r"payloads\[1\] cannot be"),
        (lambda ix: ix.add(["a", "b"], THREE[:2], times=[1, -5]), r"times\[1\]: a time must not be"),
        (lambda ix: ix.add(["a", "b"], THREE[:2], times=[1, "x"]), r"times\[1\]: a time must be"),
        (lambda ix: ix.admit(["a", "", "c"], THREE), "document 1 .*a key has"),
        (lambda ix: ix.admit(["a", "b", ""], ["x", None, "y"]), "document 2 .*a key has"),
        (lambda ix: ix.admit(["a", "b", ""], ["x", None, "y"], exact=lambda _: None), "document 2 .*a key"),
        (lambda ix: ix.admit([*range(1_500), ""], [f"w{n}" for n in range(1_501)]), "document 1500 .*a key"),
        (lambda ix: ix.admit(["t/a", "b"], THREE[:2], prefix="t/"), "document 1 .*does not begin"),
        (lambda ix: ix.remove(["a", "", "c"]), "document 1 .*a key has"),
        (lambda ix: ix.remove([*range(12_000), ""]), "document 12000 .*a key has"),
        (lambda ix: ix.query_keys(["a", 7.5]), r"keys\[1\]: a key must be str"),
    ],
)
def test_a_refused_row_of_many_is_named(tmp_path, call, said):
    with nk.Index(tmp_path / "x", nk.Params(0.5), durability="os") as index:
        with pytest.raises((ValueError, TypeError), match=said):
            call(index)


def test_a_refused_text_of_many_is_named_in_an_index_of_passages(tmp_path):
    with nk.PassageIndex(tmp_path / "x", nk.Params(0.5, passages="64:16")) as index:
        for keys, payloads, said in (
            (["a", "", "c"], None, "document 1 .*a key"),
            (["a", "b", "c"], [b"", b"", LARGE], "document 2 .*, key .c.: the payload"),
            ([*range(1_100), ""], None, "document 1100 .*a key"),
            (["a", b"\xff", "c"], None, r"keys\[1\]: the key"),
        ):
            texts = (THREE * 400)[: len(keys)]
            with pytest.raises(nk.InvalidError, match=said):
                index.add(keys, texts, payloads=payloads)
