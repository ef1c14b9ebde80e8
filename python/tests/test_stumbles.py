"""What people try first: wrong names and values are answered with the right ones."""

import pytest

import nearkin as nk

TEXT = "the ferry to the islands was cancelled on monday"


@pytest.fixture
def index():
    with nk.Index.temporary(nk.Params()) as made:
        made.add(["a", "b", "c"], [TEXT, TEXT, TEXT + " again"])
        yield made


def test_wrong_names_are_answered_with_the_right_ones(index):
    answer = index.query(TEXT)
    for of, wrong, right in [
        (index, "search", "query"),
        (index, "upsert", "add"),
        (index, "delete", "discard"),
        (index, "qeury", "query"),
        (answer[0], "score", "similarity"),
        (answer[0], "id", "key"),
        (answer, "to_df", "to_pandas"),
        (nk.Params(), "num_perm", "hashes"),
        (nk, "dedupe", "dedup"),
        (nk, "Indx", "Index"),
    ]:
        with pytest.raises(AttributeError, match=f"{wrong}.*did you mean '{right}'"):
            getattr(of, wrong)
    with pytest.raises(AttributeError) as raised:
        index.nothing_of_the_sort
    assert "did you mean" not in str(raised.value)
    assert not hasattr(index, "__array__") and hasattr(index, "query")
    with pytest.raises(TypeError, match="'top_k'; did you mean 'limit'"):
        index.query(TEXT, top_k=3)
    with pytest.raises(TypeError, match="'threshhold'; did you mean 'threshold'"):
        index.pairs(threshhold=0.5)


def test_wrong_values_name_their_parameter():
    with pytest.raises(TypeError, match=r"'shingles'.*such as 'words:3', not 3"):
        nk.Params(shingles=3)
    with pytest.raises(TypeError, match=r"'threshold'.*such as 0.85, not '85%'"):
        nk.Params(threshold="85%")
    with nk.Index.temporary(nk.Params()) as index:
        with pytest.raises(TypeError, match=r"'threshold'.*such as 0.85, not '85%'"):
            index.query(TEXT, threshold="85%")


def test_a_cell_that_runs_twice_says_what_to_do(tmp_path):
    index = nk.Index(tmp_path / "i", nk.Params())
    with pytest.raises(nk.LockedError, match=r"ix.close\(\).*with nk.Index"):
        nk.Index(tmp_path / "i", nk.Params())
    index.close()
    nk.Index(tmp_path / "i", nk.Params()).close()


def test_answers_and_streams_show_their_rows(index):
    lines = repr(index.query(TEXT, limit=2)).splitlines()
    assert lines[0] == "Answer of 2 of 3 matches at 0.7" and lines[-1] == "... and 1 more"
    assert lines[1].split()[:2] == ["key", "similarity"] and lines[2].split()[0] == "a"
    stream = index.pairs()
    shown = repr(stream)
    assert shown.splitlines()[1].split() == ["a", "b", "similarity"] and repr(stream) == shown
    # What was shown is still to be read.
    assert len(stream.read_all()) == 3
    assert "without further rows" in repr(stream)
    assert repr(index.clusters()).splitlines()[1].split()[:2] == ["cluster", "key"]
    bad = nk.Index.temporary(nk.Params(), keys="bytes")
    bad.add([b"\xff"], [TEXT])
    assert "xff" in repr(bad.query(TEXT))


def test_similarity_pairs_and_clusters_need_no_index():
    words = nk.Params(shingles="words:1")
    assert nk.similarity("one two three four", "one two three five", words) == 0.6
    assert nk.similarity({1, 2}, [2, 3]) == pytest.approx(1 / 3)
    with pytest.raises(nk.EmptyError):
        nk.similarity("", "a")
    texts = ["a recipe for rye bread with honey", TEXT, None, TEXT.upper(), "  "]
    assert nk.pairs(texts).rows() == [(1, 3, 1.0)]
    many = [f"{n} alone" if n % 5 else TEXT for n in range(100, 121)]
    assert all(a < b for a, b, _ in nk.pairs(many).rows()) and len(nk.pairs(many)) == 10
    assert nk.pairs(texts, keys=list("vwxyz")).rows()[0][:2] == ("w", "y")
    assert nk.clusters(iter(texts))["key"] == [1, 3]
    assert nk.pairs(texts, 0.9, limit=0).rows() == []
    pd = pytest.importorskip("pandas")
    assert nk.pairs(pd.Series(texts, index=list("vwxyz"))).rows() == [(1, 3, 1.0)]


def test_an_index_in_memory_is_like_any_other(index):
    assert len(index) == 3 and "in memory" in repr(index)
    assert index.admit(["d"], [TEXT], keep="all")["decision"] == ["admitted"]
    assert index.remove_before(1) == 0 and index.verify().ok
    index.flush()
    assert len(index.query(TEXT)) == 4


def test_memory_is_divided_whatever_the_order(tmp_path):
    sizes = [("memory_bytes", 8 << 20), ("memtable_bytes", 5)]
    for name, options in enumerate([dict(sizes), dict(reversed(sizes))]):
        with nk.Index(tmp_path / str(name), nk.Params(), **options) as index:
            index.add(map(str, range(100)), [f"{n} {TEXT}" for n in range(100)])
            index["one"] = TEXT
            assert index.stats().segments >= 1
    with pytest.raises(ValueError, match="memory_bytes_max must be at least 4 MiB"):
        nk.Index(tmp_path / "small", nk.Params(), memory_bytes=1000)
