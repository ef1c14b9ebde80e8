"""Tables travel, objects show themselves in notebooks, long calls show progress, events are logged."""

import logging
import pickle
import subprocess
import sys

import pytest

import nearkin as nk

TEXT = "the ferry to the islands was cancelled on monday"


@pytest.fixture
def index(tmp_path):
    with nk.Index(tmp_path / "a<b>.nearkin", nk.Params()) as made:
        made.add(["a", "b", "c"], [TEXT, TEXT, TEXT + " again"], payloads=[b"\x00\xff", b"", b"p"])
        yield made


def test_tables_travel_between_processes(index):
    tables = [
        index.query_many([TEXT, None, TEXT], contained=0.5, payloads=True),
        index.admit(["d", "e"], [TEXT, "five six seven eight"]),
        index.clusters(0.5).read_all(),
        index.pairs(0.5).read_all(),
        index.query_many(["nothing of the kind is here"]),
    ]
    for table in tables:
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            copied = pickle.loads(pickle.dumps(table, protocol))
            assert copied.rows() == table.rows() and copied.column_names == table.column_names
            assert copied.to_arrow().schema == table.to_arrow().schema
            assert copied.to_arrow() == table.to_arrow()
    make, (fields, columns) = tables[0].__reduce__()
    for broken in (
        (fields, columns[1:]),
        (fields, [columns[0][1:], *columns[1:]]),
        ([("row", "?", False), *fields[1:]], columns),
    ):
        with pytest.raises(nk.InvalidError, match="not a pickled table"):
            make(*broken)


def test_tables_of_more_than_one_batch_travel(index):
    rows = 70_000
    table = index.query_many([TEXT] * (rows // 3 + 1))
    assert len(table) > 65_536
    assert pickle.loads(pickle.dumps(table)).rows() == table.rows()


def test_notebooks_show_an_index(index, tmp_path):
    params = nk.Params(threshold=0.7, shingles="words:3", stop_words=["the", "of"], seed=4711)
    page = params._repr_html_()
    for cell in ("threshold", "0.7", "&#x27;words:3&#x27;", "(17, 5)", "&lt;2 words&gt;"):
        assert f"<td>{cell}</td>" in page, page
    assert "4711" not in page
    page = index._repr_html_()
    assert "a&lt;b&gt;.nearkin" in page and "<td>documents</td><td>3</td>" in page
    assert "<td>lane_bits</td>" in page
    snapshot = index.snapshot()
    assert "Snapshot" in snapshot._repr_html_()
    with nk.Reader(index.path) as reader:
        assert "Reader" in reader._repr_html_()
    index.close()
    assert "(closed)" in index._repr_html_()


def test_long_calls_show_progress(index):
    sketcher, sets = nk.Sketcher(nk.Params()), nk.Sketcher(nk.Params(shingles="items"))
    count = 40_000
    calls = [
        lambda told: sketcher.texts([TEXT] * count, progress=told),
        lambda told: sets.items([["a", "b"]] * count, progress=told),
        lambda told: index.query_many([TEXT] * count, progress=told, limit=1),
    ]
    for call in calls:
        seen = []
        call(lambda done, total, seen=seen: seen.append((done, total)))
        assert len(seen) > 1 and seen[-1] == (count, count) and sorted(seen) == seen
        with pytest.raises(nk.CancelledError):
            call(lambda done, total: False)
    with pytest.raises(TypeError, match="progress must be"):
        sketcher.texts([TEXT], progress=1)


def test_events_are_logged(tmp_path, caplog):
    with caplog.at_level(logging.INFO, logger="nearkin"):
        with nk.Index(tmp_path / "x", nk.Params()) as index:
            index.insert("a", TEXT)
            index.flush()
    flushed = [record for record in caplog.records if "flushed 1 documents" in record.message]
    assert len(flushed) == 1 and flushed[0].levelno == logging.INFO
    assert flushed[0].name == "nearkin" and str(tmp_path / "x") in flushed[0].message


def test_a_handler_that_calls_the_package_or_fails_ends_nothing(tmp_path, monkeypatch):
    seen = []

    class Calls(logging.Handler):
        def emit(self, record):
            with nk.Index(tmp_path / f"log{len(seen)}", nk.Params()) as other:
                seen.append((record.getMessage(), len(other)))
            raise RuntimeError("of the handler")

    monkeypatch.setattr(sys, "unraisablehook", lambda told: seen.append(told.exc_value))
    logger, handler = logging.getLogger("nearkin"), Calls()
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        with nk.Index(tmp_path / "x", nk.Params()) as index:
            index.insert("a", TEXT)
            index.flush()
            assert "a" in index
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    # On a busy machine, the writer may have waited before.
    assert any("flushed 1" in said[0] for said in seen if isinstance(said, tuple))
    assert any(isinstance(said, RuntimeError) for said in seen)


def test_an_interrupt_within_a_handler_is_not_lost(tmp_path):
    class Interrupted(logging.Handler):
        def emit(self, record):
            raise KeyboardInterrupt

    logger, handler = logging.getLogger("nearkin"), Interrupted()
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.INFO)
    index = nk.Index(tmp_path / "x", nk.Params())
    try:
        with pytest.raises(KeyboardInterrupt):
            index.insert("a", TEXT)
            index.flush()
            index.query_many([TEXT])
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    index.close()


def test_events_are_silent_unless_logging_is_configured(tmp_path):
    program = f"""
import os, sys
import nearkin as nk
index = nk.Index({str(tmp_path / "x")!r}, nk.Params())
index.insert(os.getpid(), {TEXT!r})
if sys.argv[1] == "die":
    os._exit(0)
"""
    for how in ("die", "again"):
        done = subprocess.run(
            [sys.executable, "-c", program, how], capture_output=True, text=True, check=True
        )
        assert (done.stdout, done.stderr) == ("", "")
    program = "import logging; logging.basicConfig(level=20)\n" + program
    subprocess.run([sys.executable, "-c", program, "die"], check=True)
    done = subprocess.run(
        [sys.executable, "-c", program, "again"], capture_output=True, text=True, check=True
    )
    assert "WARNING:nearkin:" in done.stderr and "recovered" in done.stderr
