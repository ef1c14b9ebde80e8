"""How calls end early: by a signal, at the end of the interpreter, and by `close` from within."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import nearkin as nk

TEXT = "the same text of some words with tail 1"
CROWD = [f"the same text of some words with tail {n % 3}" for n in range(200)]
KEYS = [f"{n}" for n in range(200)]


def run(program, *arguments, **how):
    command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how
    )


# What the calls need: few documents of many words, or many that are all alike.
CALLED = """
    import os, sys, time
    import nearkin as nk
    from nearkin import shards
    folder, what, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
    p = nk.Params(threshold=0.5)
    crowd = [f"the same text of some words with tail {n % 3}" for n in range(size)]
    apart = [f"document {n} of {n * 7} about {n * 13} and {n * 17} with {n * 19} words" for n in range(size)]
    keys = [str(n) for n in range(size)]
    # Sketched, so that a search begins at once.
    sketched = nk.Sketcher(p).texts(crowd) if what != "sketch" else None

    def index(name, texts, **options):
        made = nk.Index(f"{folder}/{name}", p, durability="os", **options)
        made.add(keys, texts)
        return made

    def prepared(what):
        if what == "sketch":
            return lambda: nk.Sketcher(p).texts(apart * 50)
        if what.startswith("dedup"):
            how = {"dedup exact": {"exact": True}, "dedup against": {"against": index("a", crowd)}}
            how = how.get(what, {})
            return lambda: nk.dedup(sketched if how.get("against") else apart * 9, **how)
        if what == "add":
            made = nk.Index(f"{folder}/a", p, durability="os")
            return lambda: made.add([str(n) for n in range(size * 9)], apart * 9)
        if what == "verify_buckets":
            zeros, numbers = [0] * size, list(range(size))
            return lambda: shards.verify_buckets(p, zeros, zeros, numbers, sketched, 0.5)
        alone = what in ("query_many", "Reader.query_many", "pairs", "query_keys", "admit", "admit exact")
        made = index("a", crowd if alone else apart, memtable_bytes=1 << 30)
        if what == "Reader.query_many":
            made.flush()
            reader = nk.Reader(f"{folder}/a")
            return lambda: reader.query_many(sketched, limit=3)
        new = [f"new {n}" for n in range(size)]
        return {
            "query_many": lambda: made.query_many(sketched, limit=3),
            "query_keys": lambda: made.query_keys(keys),
            "pairs": lambda: made.pairs().read_all(),
            "clusters": lambda: made.clusters(0.01).read_all(),
            "admit": lambda: made.admit(new, sketched, reject=1.0, relate=0.2),
            "admit exact": lambda: made.admit(new, [f"{t} x" for t in crowd], exact=lambda _: TEXT),
            "remove": lambda: made.remove(keys),
            "remove_before": lambda: made.remove_before(1 << 45),
            "clear": lambda: made.clear(),
            "keys": lambda: list(made.keys("no such prefix")),
            "flush": lambda: made.flush(),
            "compact": lambda: (made.flush(), made.add(keys, crowd), made.compact()),
            "verify": lambda: made.verify(),
            "close": lambda: made.close(),
            "import_from": lambda: nk.Index(f"{folder}/b", p).import_from(made),
            "rebuild": lambda: nk.rebuild(made, f"{folder}/b", nk.Params(threshold=0.8)),
            "salvage": lambda: (made.close(), nk.salvage(f"{folder}/a", f"{folder}/b")),
        }[what]

    TEXT = crowd[0]
    call = prepared(what)
    print("started", flush=True)
    try:
        call()
        print("done", time.time(), flush=True)
    except KeyboardInterrupt:
        print("interrupted", time.time(), flush=True)
    # What is still under way is whole after a kill.
    os._exit(0)
"""

# Each of these takes minutes: whatever ends it does so within one call of the engine, and within
# the comparison of one row with the crowd.
MINUTES = ["query_many", "Reader.query_many", "admit", "dedup against", "verify_buckets"]
LONG = [
    "sketch", "add", "query_keys", "pairs", "clusters", "admit exact", "remove", "remove_before",
    "remove_prefix", "clear", "keys", "flush", "compact", "verify", "close", "import_from", "rebuild",
    "salvage", "dedup", "dedup exact",
]  # fmt: skip


def interrupted(path, what, size, after):
    """Interrupts a call. Returns how it ended, and after how many seconds."""
    path.mkdir()
    child = run(CALLED, path, what, size)
    assert child.stdout.readline() == "started\n", child.stderr.read()
    time.sleep(after)
    begun = time.time()
    child.send_signal(signal.SIGINT)
    # Without the look within a row, the calls of MINUTES take longer.
    out, error = child.communicate(timeout=60)
    assert out, error
    ended, at = out.split()
    if (path / "a").exists() and what != "salvage":
        assert nk.Index(path / "a").verify().ok
    return ended, float(at) - begun


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.parametrize("what", MINUTES)
def test_a_signal_ends_a_call_within_a_row(tmp_path, what):
    assert interrupted(tmp_path / "x", what, 30_000, 0.2)[0] == "interrupted"


@pytest.mark.skipif(os.environ.get("NEARKIN_CAMPAIGNS") != "signals", reason="takes minutes")
def test_the_longest_wait_for_each_call(tmp_path):
    """Ten moments of every long call. Prints the waits: run it by `pytest -s`."""
    for what in MINUTES + LONG:
        waits = []
        for moment in range(10):
            path = tmp_path / f"{what} {moment}"
            ended, wait = interrupted(path, what, 30_000, 0.01 * 1.6**moment)
            waits += [wait] if ended == "interrupted" else []
        print(f"{what:20} {len(waits):2} interrupted, longest wait {max(waits, default=0):.3f} s")
        # A quiet machine needs 0.2 s.
        assert max(waits, default=0) < 3, what


def test_an_interrupted_reader_and_index_go_on(tmp_path):
    """What an interrupt takes away from a handle comes back with the next call."""
    index = nk.Index(tmp_path / "x", nk.Params(0.5))
    index.add(KEYS, CROWD)
    index.flush()
    reader = nk.Reader(tmp_path / "x")
    ended = 0
    for number in range(60):
        timer = threading.Timer(0.001 * (number % 7), signal.raise_signal, (signal.SIGINT,))
        try:
            timer.start()
            reader.refresh()
            reader.stats()
            index.sync()
            index.flush()
            reader.verify()
            time.sleep(0.05)
        except KeyboardInterrupt:
            ended += 1
        timer.join()
    assert ended
    index.insert("new", TEXT)
    index.sync()
    assert reader.refresh() and "new" in reader and reader.stats().documents == 201
    reader.backup(tmp_path / "copy")
    assert len(nk.Reader(tmp_path / "copy")) == 201
    index.close()


AT_EXIT = """
    import sys, threading, time
    import nearkin as nk
    folder, what = sys.argv[1:]
    p = nk.Params(threshold=0.5)
    started = threading.Event()

    def busy(*_):
        started.set()
        while True:
            pass

    def asleep(*_):
        started.set()
        time.sleep(1_000)

    def rows(text="a text of some words"):
        started.set()
        while True:
            yield text

    class Equal(str):
        def __ne__(self, other):
            return busy()

    crowd = [f"the same text of some words with tail {n % 3}" for n in range(200)]
    keys = [str(n) for n in range(200)]
    ix = nk.Index(folder, p)
    ix.add(keys, crowd)
    items = nk.Sketcher(nk.Params(shingles="items"))
    calls = {
        "texts": lambda: ix.sketcher.texts(rows()),
        "set": lambda: items.set(rows()),
        "learn_common": lambda: nk.learn_common(rows(), 0.1),
        "add": lambda: ix.add(rows("k"), rows()),
        "admit": lambda: ix.admit(rows("k"), rows()),
        "remove": lambda: ix.remove(rows("k")),
        "query_many": lambda: ix.query_many(rows()),
        "filter": lambda: ix.query(crowd[0], filter=busy),
        "filter asleep": lambda: ix.query(crowd[0], filter=asleep),
        "exact": lambda: ix.admit(["k"], crowd[:1], exact=busy),
        "progress": lambda: ix.add(keys, crowd, progress=busy),
        "verify": lambda: ix.verify(progress=busy),
        "engine": lambda: [started.set() or ix.query_many(crowd * 50) for _ in iter(int, 1)],
        "path": lambda: nk.exists(type("P", (), {"__fspath__": busy})()),
    }

    def call():
        try:
            calls[what]()
        except BaseException as error:
            print("ended", repr(error), flush=True)

    threading.Thread(target=call, daemon=True).start()
    started.wait(20)
    time.sleep(0.02)
"""


@pytest.mark.parametrize(
    "what",
    [
        "texts", "set", "learn_common", "add", "admit", "remove", "query_many", "filter",
        "filter asleep", "exact", "progress", "verify", "engine", "path",
    ],
)  # fmt: skip
def test_the_interpreter_ends_while_a_daemon_thread_is_in_a_call(tmp_path, what):
    child = run(AT_EXIT, tmp_path / "x", what)
    out, error = child.communicate(timeout=60)
    assert (child.returncode, out) == (0, ""), error


@pytest.fixture
def index(tmp_path):
    made = nk.Index(tmp_path / "x", nk.Params(0.5))
    made.add(KEYS, CROWD)
    yield made
    made.close()


def closing(index, result=None):
    def close(*_):
        index.close()
        return result

    return close


def closing_rows(index, rows):
    index.close()
    yield from rows


@pytest.mark.parametrize(
    "call",
    [
        lambda ix: ix.add(KEYS, CROWD, progress=closing(ix)),
        lambda ix: ix.admit(["k"], CROWD[:1], exact=closing(ix)),
        lambda ix: ix.admit(["k"], CROWD[:1], filter=closing(ix, True)),
        lambda ix: ix.remove(closing_rows(ix, KEYS)),
        lambda ix: ix.verify(progress=closing(ix)),
    ],
    ids=["add", "exact", "filter", "remove", "verify"],
)
def test_close_within_a_call_that_it_would_wait_for_is_an_error(index, call):
    with pytest.raises(nk.InvalidError, match="close the index after it"):
        call(index)
    assert not index.closed and "1" in index
    # The thread is free again.
    index.insert("new", TEXT)
    index.close()
    assert index.closed


def test_close_within_an_iterator_of_items(tmp_path):
    with nk.Index(tmp_path / "x", nk.Params(0.5, shingles="items")) as index:
        with pytest.raises(nk.InvalidError, match="close the index after it"):
            index.insert("k", closing_rows(index, ["a", "b"]))
    with nk.PassageIndex(tmp_path / "y", nk.Params(0.5, passages="64:16")) as index:
        with pytest.raises(nk.InvalidError, match="close the index after it"):
            index.add(closing_rows(index, KEYS), CROWD)


def test_close_within_a_search_of_a_snapshot_is_allowed(index):
    assert len(index.query(TEXT, limit=3, filter=closing(index, True))) == 3
    assert index.closed


def test_close_waits_for_the_calls_of_other_threads(index):
    entered, leave = threading.Event(), threading.Event()

    def hold(*_):
        entered.set()
        leave.wait()

    caller = threading.Thread(target=lambda: index.add(KEYS, CROWD, progress=hold))
    caller.start()
    entered.wait()
    closer = threading.Thread(target=index.close)
    closer.start()
    while not index.closed:
        time.sleep(0.001)
    assert closer.is_alive()
    leave.set()
    closer.join()
    caller.join()


@pytest.mark.skipif(os.name != "posix", reason="names of bytes")
def test_paths_of_bytes_are_taken(tmp_path):
    path = os.fsencode(tmp_path) + b"/caf\xe9"
    with nk.Index(path, nk.Params(0.5)) as index:
        index.insert("a", TEXT)
        index.backup(path + b" copy")
    assert nk.exists(path) and len(nk.Reader(path)) == 1 and len(nk.Index.open(path + b" copy")) == 1
    assert sorted(os.listdir(os.fsencode(tmp_path))) == [b"caf\xe9", b"caf\xe9 copy"]
    assert nk.rebuild(path, path + b" new", nk.Params(0.8)) == 1
    assert nk.dedup([TEXT], against=path) == []
    for wrong in (7, None, ["x"]):
        with pytest.raises(TypeError, match="expected str, bytes or os.PathLike"):
            nk.Reader(wrong)


CLOSED = """
    import os, sys
    path, log = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(3):
        try:
            os.close(number)
        except OSError:
            pass
    log = os.dup2(log, 60)
    import nearkin as nk
    ix = nk.Index(path, nk.Params(0.7))
    reader = nk.Reader(path)
    for n in range(5):
        ix[f"k{n}"] = f"text {n} of the index here"
    ix.backup(path + " copy")
    reader.refresh()
    for number in range(3):
        try:
            os.write(60, f"{number} is {os.readlink(f'/proc/self/fd/{number}')}\\n".encode())
        except OSError:
            pass
        try:
            # A library of the program complains.
            os.write(number, b"a warning that nobody reads, on standard error, as ever\\n" * 9)
        except OSError:
            pass
    for n in range(5):
        ix[f"m{n}"] = f"more {n} of the index here"
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="reads /proc")
def test_a_process_without_standard_streams_loses_nothing(tmp_path):
    child = run(CLOSED, tmp_path / "x", tmp_path / "log")
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL
    said = (tmp_path / "log").read_text()
    assert str(tmp_path) not in said, f"a file of the index is a standard stream\n{said}"
    for path, count in ((tmp_path / "x", 10), (tmp_path / "x copy", 5)):
        with nk.Index(path) as index:
            assert len(index) == count and index.verify().ok
