"""Queries, tables and streams against plain loops."""

import datetime as dt
import pickle

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import nearkin as nk
from nearkin import shards
from conftest import made_text, near_copy

UTC = dt.timezone.utc


@pytest.fixture
def filled(index):
    texts = [made_text(seed) for seed in range(200)]
    copies = [near_copy(text) for text in texts[:50]]
    keys = [f"de/{number:03}" for number in range(200)] + [f"en/{number:03}" for number in range(50)]
    index.add(keys, texts + copies, payloads=[key.upper() for key in keys])
    return index


def test_query_many_is_query_for_each(filled):
    asked = [made_text(3), None, made_text(7), "", made_text(100_000)]
    table = filled.query_many(asked, payloads=True)
    expected = [
        (row, m.key, m.similarity, m.payload)
        for row, text in enumerate(asked)
        if text
        for m in filled.query(text)
    ]
    assert list(table) == expected and len(expected) == 4
    for threads in (1, 3):
        assert list(filled.query_many(asked, threads=threads, payloads=True)) == expected
    assert list(filled.query_many(asked, limit=1)) == [row[:3] for row in expected[::2]]
    assert list(filled.query_many(filled.sketcher.texts(asked), payloads=True)) == expected


def test_tables_are_read_by_all(filled):
    table = filled.query_many([made_text(3), made_text(4)])
    rows = list(table)
    assert table.column_names == ["row", "key", "similarity"]
    arrow = table.to_arrow()
    assert arrow.schema == pa.schema(
        [
            pa.field("row", pa.int64(), False),
            pa.field("key", pa.string(), False),
            pa.field("similarity", pa.float64(), False),
        ]
    )
    arrow.validate(full=True)
    assert [tuple(row.values()) for row in arrow.to_pylist()] == rows
    assert table.to_polars().rows() == rows
    assert [tuple(row) for row in table.to_pandas().itertuples(index=False)] == rows
    assert duckdb.sql("select * from arrow").fetchall() == rows
    assert table["key"] == [row[1] for row in rows]
    with pytest.raises(KeyError):
        table["nothing"]
    # A table can be read as often as one likes.
    assert pa.table(table).equals(pl.DataFrame(table).to_arrow().cast(arrow.schema))


def test_an_empty_table(filled):
    table = filled.query_many(["nothing like this is stored"])
    assert len(table) == 0 and list(table) == []
    assert table.to_arrow().num_rows == 0
    assert table.to_pandas().shape == (0, 3)
    assert table.to_polars().shape == (0, 3)


def test_pairs_and_clusters(filled):
    pairs = {(a, b) for a, b, _ in filled.pairs().read_all()}
    assert pairs == {(f"de/{n:03}", f"en/{n:03}") for n in range(50)}
    clusters = filled.clusters().to_pandas()
    assert clusters["cluster"].nunique() == 50 and (clusters["size"] == 2).all()
    assert str(clusters["time"].dt.tz) == "UTC"
    grouped = clusters.groupby("cluster")["key"].apply(tuple)
    assert set(grouped) == pairs


def test_streams_are_read_once(filled):
    stream = filled.pairs()
    assert pa.RecordBatchReader.from_stream(stream).read_all().num_rows == 50
    assert list(stream) == []
    with pytest.raises(ValueError, match="read already"):
        pa.RecordBatchReader.from_stream(stream)
    batches = list(filled.pairs())
    assert sum(map(len, batches)) == 50 and all(isinstance(b, nk.Table) for b in batches)
    assert pl.DataFrame(filled.pairs()).height == 50
    reader = pa.RecordBatchReader.from_stream(filled.pairs())
    assert duckdb.sql("select count(*) from reader").fetchall() == [(50,)]
    # Dropped unread: nothing is left behind.
    filled.clusters().__arrow_c_stream__()


def test_keys_by_prefix(filled):
    assert sorted(filled.keys("en/")) == [f"en/{n:03}" for n in range(50)]
    assert len(list(filled)) == 250
    some = filled.keys()
    next(some)
    del some  # the walker ends


def test_matches_say_what_they_are(filled):
    answer = filled.query(made_text(3), limit=1)
    assert (len(answer), answer.found, answer.complete) == (1, 2, True)
    (match,) = answer
    assert match.key == "de/003" and match.payload == b"DE/003"
    assert match.time == filled["de/003"].time and match.time.tzinfo is UTC
    assert match.equal_rows == 128 and 0 < match.standard_error < 0.01
    assert answer[-1] == match and "de/003" in repr(match) and "1 of 2" in repr(answer)
    with pytest.raises(IndexError):
        answer[1]
    assert [m.key for m in filled.query_key("de/003")] == ["en/003"]
    assert {m.key for m in filled.query_keys(["de/003", "de/004"])} == {"en/003", "en/004"}
    with pytest.raises(KeyError, match="no document has the key"):
        filled.query_key("nobody")
    with pytest.raises(ValueError, match="threshold"):
        filled.query(made_text(3), threshold=2)


def test_a_snapshot_stays_as_it_was(filled):
    before = filled.snapshot()
    del filled["de/003"]
    assert "de/003" in before and "de/003" not in filled
    assert len(before) == 250 and len(filled) == 249
    assert [m.key for m in before.query(made_text(3), limit=1)] == ["de/003"]


def test_admit(tmp_path, params):
    text = made_text(1)
    with nk.Index(tmp_path / "a", params) as ix:
        keys = ["a", "copy", "near", "other", "none"]
        texts = [text, text, near_copy(text), made_text(2), None]
        told = ix.admit(keys, texts, reject=0.97, relate=0.6)
        assert [row[1] for row in told] == ["admitted", "rejected", "admitted", "admitted", "empty"]
        assert [row[2] for row in told] == [None, "a", "a", None, None]
        assert told["similarity"][1] == 1.0
        again = ix.admit(["b"], [text + " and then some more"], reject=0.8, keep="longest")
        assert list(again)[0][1:3] == ("admitted", "a") and "a" not in ix and "b" in ix
        told = [ix.admit(["b"], [text + end]).rows()[0][1] for end in (" anew", " anew")]
        assert told == ["replaced", "unchanged"]
        with pytest.raises(ValueError, match="keep must be"):
            ix.admit([], [], keep="best")


def test_times_and_expiry(tmp_path, params):
    day = dt.datetime(2024, 5, 1, tzinfo=UTC)
    texts = [made_text(n) for n in range(4)]
    with nk.Index(tmp_path / "a", params) as ix:
        times = [day + dt.timedelta(days=n) for n in range(4)]
        ix.add("abcd".__iter__(), texts, times=times)
        assert ix["b"].time == times[1]
        assert ix.remove_before(times[2]) == 2 and sorted(ix.keys()) == ["c", "d"]
        for column in (
            pd.Series(times),
            pd.Series(times).dt.tz_localize(None),
            pl.Series(times),
            pa.array(times, pa.timestamp("us", "UTC")),
            pd.Series(times).dt.tz_localize(None).to_numpy(),
            [int(time.timestamp() * 1000) for time in times],
        ):
            ix.remove(list(ix.keys()))
            ix.add(list("abcd"), texts, times=column)
            assert [ix[key].time for key in "abcd"] == times, type(column)
        ix.insert("e", made_text(5), time=day, payload=b"x")
        assert (ix["e"].time, ix["e"].payload) == (day, b"x")
        with pytest.raises(TypeError, match="datetime"):
            ix.remove_before("yesterday")


def test_payloads_stay(tmp_path, params):
    texts = [made_text(n) for n in range(4)]
    with nk.Index(tmp_path / "a", params) as ix:
        ix.insert("a", texts[0], payload=b"mine")
        ix["a"] = texts[1]
        assert ix["a"].payload == b"mine" and ix["a"].signature == ix.sketcher.text(texts[1])
        # A null, and no column at all.
        ix.add(["a", "b"], texts[2:4], payloads=[None, b"other"])
        ix.add(["b"], [texts[0]], times=7)
        assert (ix["a"].payload, ix["b"].payload) == (b"mine", b"other")
        ix.admit(["a"], [made_text(5)])
        assert ix["a"].payload == b"mine"
        time = ix["a"].time
        assert ix.set_payload("a", b"set") and not ix.set_payload("nobody", b"set")
        assert (ix["a"].payload, ix["a"].time) == (b"set", time)
        ix.insert("a", made_text(5), payload=b"")
        assert ix["a"].payload == b"" and "nobody" not in ix


def test_remove_prefix(filled):
    assert filled.remove_prefix("en/00") == 10 and "en/009" not in filled
    assert filled.remove_prefix("fr/") == 0
    assert filled.remove_prefix("en/") == 40 and len(filled) == 200
    with pytest.raises(TypeError, match="a key must be"):
        filled.remove_prefix(1.5)
    with pytest.raises(ValueError, match="clear"):
        filled.remove_prefix("")
    assert len(filled) == 200 and filled.clear() == 200 and len(filled) == 0


def test_bytes_keys_and_int_keys(tmp_path, params):
    with nk.Index(tmp_path / "a", params, keys="bytes") as ix:
        ix[b"\xff"] = made_text(1)
        ix[7] = made_text(2)
        assert sorted(ix.keys()) == [b"7", b"\xff"]
        assert ix.query_many([made_text(1)]).to_arrow()["key"].type == pa.binary()
    with nk.Index(tmp_path / "a") as ix:
        assert ix[7].key == "7"
        for failing in (lambda: list(ix.keys()), lambda: ix.query_many([made_text(1)])):
            with pytest.raises(nk.InvalidError, match="keys='bytes'"):
                failing()
        with pytest.raises(nk.InvalidError, match="keys='bytes'"):
            ix.add([b"\xfe"], [made_text(3)])
        ix.add(pa.array([10, 11]), [made_text(4), made_text(5)])
        assert "10" in ix and 11 in ix


@pytest.mark.parametrize("keys", ["str", "bytes"])
def test_answers_travel_between_processes(tmp_path, keys):
    names = ["a", "b", "c"] if keys == "str" else [b"\xff1", b"\xff2", b"\xff3"]
    text = "the ferry to the islands was cancelled on monday"
    with nk.Index(tmp_path / "ix", nk.Params(), keys=keys) as index:
        index.add(names, [text, text, text + " again"], payloads=[b"\x00\xff", b"", b"p"])
        answer = index.query(text, contained=0.5)
        document = index[names[0]]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copied = pickle.loads(pickle.dumps(answer, protocol))
        assert list(copied) == list(answer) and copied.keys == answer.keys == names
        for name in ("found", "threshold", "complete", "change"):
            assert getattr(copied, name) == getattr(answer, name)
        assert [match.contained for match in copied] == [match.contained for match in answer]
        copied = pickle.loads(pickle.dumps(document, protocol))
        assert copied == document and copied.key == names[0] and copied.payload == b"\x00\xff"
        assert copied.time == document.time and copied.signature == document.signature
    with pytest.raises(nk.InvalidError):
        type(answer)._of_json("{}", False)


def test_an_answer_slices_like_a_list(tmp_path):
    with nk.Index(tmp_path / "ix", nk.Params()) as index:
        text = "the ferry to the islands was cancelled on monday"
        index.add([f"{n}" for n in range(7)], [text] * 7)
        answer = index.query(text)
    whole = list(answer)
    assert len(whole) == 7
    for start in (None, *range(-9, 10)):
        for stop in (None, *range(-9, 10)):
            for step in (None, -3, -1, 1, 2):
                assert answer[start:stop:step] == whole[start:stop:step]
    assert answer[-1] == whole[-1]
    for wrong in (7, -8):
        with pytest.raises(IndexError):
            answer[wrong]
    with pytest.raises(TypeError):
        answer["a"]


def test_a_table_shows_its_rows(tmp_path):
    with nk.Index(tmp_path / "ix", nk.Params()) as index:
        text = "the ferry to the islands was cancelled on monday"
        index.add([f"<b>{n}</b>" for n in range(6)], [text] * 6)
        table = index.pairs().read_all()
    lines = repr(table).splitlines()
    assert lines[0] == "Table of 15 rows" and lines[-1] == "... and 5 more"
    assert lines[1].split()[:2] == ["a", "b"] and lines[2].count("</b>") == 2
    page = table._repr_html_()
    assert "&lt;b&gt;" in page and "<b>" not in page and page.count("<tr>") == 11
    # Estimates of 1 do not say that texts are equal; shingles that were compared do.
    assert ">0.99" in repr(table) and "1.000" not in repr(table)
    (shingles,) = shards.shingles(nk.Params(), [text])["shingles"]
    exact = repr(shards.compare(nk.Params(), [shingles], [shingles], 0.5))
    assert "1.000" in exact and ">0.99" not in exact


def test_an_answer_becomes_a_frame_and_a_table_of_html(tmp_path):
    with nk.Index(tmp_path / "frames", nk.Params(0.5)) as index:
        text = "one two three four five six seven"
        index.add(["<b>", "two"], [text, text + " eight"], payloads=[b"p", None])
        answer = index.query(text)
        frame = answer.to_pandas()
        assert list(frame["key"]) == answer.keys and list(frame["payload"]) == [b"p", b""]
        assert list(frame["similarity"]) == [match.similarity for match in answer]
        assert [at.to_pydatetime() for at in frame["time"]] == [match.time for match in answer]
        nothing = index.query("quite another text of words").to_pandas()
        assert len(nothing) == 0 and list(nothing.dtypes) == list(frame.dtypes)
        assert "contained" in index.query(text, contained=0.5).to_pandas()
        html = answer._repr_html_()
        assert "<td>&lt;b&gt;</td><td>&gt;0.99</td>" in html and "more" not in html
        assert repr(answer[0]) == "Match('<b>', similarity=>0.99)"
        assert "and 1 more" in index.query(text, limit=1)._repr_html_()
