"""Runs random programs of calls on libnearkin and on a model, and compares what they say.

    random_programs.py PREFIX [PROGRAMS [SEED]]

The model is a dictionary and exact set arithmetic: items are few, so that a signature decides
equality, and only thresholds of 1.0 and 0 shared items are compared. One call in six is a misuse: a
handle that is null, freed, freed twice, of another kind or made up. Each must be told as
NK_BAD_HANDLE, and change nothing.
"""

import itertools
import random
import re
import sys

import cffi

OK, INVALID, EMPTY, NO_SUCH_KEY, CLOSED, BAD = 0, 1, 2, 4, 14, 17
INSERTED, REPLACED, UNCHANGED, REMOVED, MISSING, SUPERSEDED = range(1, 7)


def load(prefix):
    """The library, with the declarations of its header."""
    with open(f"{prefix}/include/nearkin.h", encoding="ascii") as file:
        text = file.read()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"#ifdef __cplusplus.*?#endif[^\n]*", "", text, flags=re.S)
    text = re.sub(r"^#[^\n]*$", "", text, flags=re.M)
    ffi = cffi.FFI()
    ffi.cdef(text)
    suffix = "dylib" if sys.platform == "darwin" else "so"
    return ffi, ffi.dlopen(f"{prefix}/lib/libnearkin.{suffix}")


class Program:
    """One random program: an index, a model of it, and handles of every kind."""

    def __init__(self, ffi, lib, seed):
        self.ffi, self.lib, self.random = ffi, lib, random.Random(seed)
        self.model, self.change = {}, 0
        self.closed = False
        self.freed = []
        self.handles = {}
        params = self.make("nk_params", lib.nk_params_from_text, b"threshold=0.5,shingles=items", 28)
        self.params = params
        self.index = self.make("nk_index", lib.nk_index_temporary, params, ffi.NULL)
        self.snapshots = []
        self.batch = self.make("nk_batch", lib.nk_batch_new)
        self.edits = []
        self.sets = [frozenset(some) for some in itertools.combinations(range(6), 3)]
        self.signatures = {}
        self.filter = ffi.callback(
            "int(void *, const void *, size_t, const void *, size_t)",
            lambda user, key, key_len, payload, payload_len: bytes(ffi.buffer(key, key_len)) < b"m",
        )

    def make(self, kind, function, *arguments, expect=OK):
        out = self.ffi.new(f"{kind} **")
        self.call(expect, function, *arguments, out)
        handle = out[0]
        if expect == OK and handle != self.ffi.NULL:
            self.handles[int(self.ffi.cast("uintptr_t", handle))] = kind
        return handle

    def call(self, expect, function, *arguments):
        """Calls a function, and expects a status; an error comes with every failure only."""
        error = self.ffi.new("nk_error **")
        status = int(self.ffi.cast("int", function(*arguments, error)))
        message = ""
        if error[0] != self.ffi.NULL:
            message = self.ffi.string(self.lib.nk_error_message(error[0])).decode()
            assert self.lib.nk_error_status(error[0]) == status
            assert self.lib.nk_free(error[0]) == OK
            assert self.lib.nk_free(error[0]) == BAD, "an error that is freed twice"
        assert status == expect, f"status {status}, not {expect}: {message}"
        assert (message == "") == (status == OK), f"status {status} with {message!r}"

    def free(self, handle):
        address = int(self.ffi.cast("uintptr_t", handle))
        assert self.lib.nk_free(handle) == OK
        assert self.lib.nk_free(handle) == BAD
        self.freed.append((address, self.handles.pop(address)))

    def bad(self, *kinds):
        """A handle that is none of these kinds."""
        choice = self.random.randrange(4)
        if choice == 0:
            address = 0
        elif choice == 1 and self.freed:
            address = self.random.choice(self.freed)[0]
        elif choice == 2:
            address = self.random.getrandbits(64)
            while address in self.handles:
                address = self.random.getrandbits(64)
        else:
            others = [at for at, kind in self.handles.items() if kind not in kinds]
            address = self.random.choice(others)
        return self.ffi.cast("void *", address)

    def find(self, function, *arguments, expect=OK):
        """An answer. The view of the search and that of the answer are the same."""
        out, shown = self.ffi.new("nk_answer **"), self.ffi.new("nk_answer_view *")
        self.call(expect, function, *arguments, out, shown)
        if expect != OK:
            assert out[0] == self.ffi.NULL and shown.matches == self.ffi.NULL
            return None
        self.handles[int(self.ffi.cast("uintptr_t", out[0]))] = "nk_answer"
        view = self.ffi.new("nk_answer_view *")
        self.call(OK, self.lib.nk_answer_get, out[0], view)
        assert (view.matches, view.found) == (shown.matches, shown.found)
        return out[0]

    def signature(self, items):
        if items not in self.signatures:
            names = [self.ffi.new("char[]", b"item-%d" % item) for item in sorted(items)]
            lent = self.ffi.new("nk_bytes[]", [(name, 6) for name in names])
            of = self.ffi.cast("nk_readable *", self.index)
            made = self.make("nk_signature", self.lib.nk_sketch_items, of, lent, len(names))
            self.signatures[items] = made
        return self.signatures[items]

    def key(self):
        return b"%c%d" % (self.random.choice(b"adqz"), self.random.randrange(6))

    def some(self):
        return self.random.choice(self.sets)

    # What can be done. Each step calls the library and the model.

    def apply(self, edit):
        """The outcome of an edit in the model."""
        what, key, items, payload = edit
        before = self.model.get(key)
        if what == "remove":
            self.model.pop(key, None)
            return REMOVED if before else MISSING
        if what == "payload":
            if before is None:
                return MISSING
            self.model[key] = (before[0], payload)
            return UNCHANGED if before[1] == payload else REPLACED
        after = (items, payload if payload is not None else before[1] if before else b"")
        self.model[key] = after
        return INSERTED if before is None else UNCHANGED if before == after else REPLACED

    def edit(self):
        what = self.random.choice(["insert", "insert", "with", "payload", "remove"])
        payload = self.random.choice([b"", b"one", b"\x00\xff"])
        return what, self.key(), self.some(), None if what == "insert" else payload

    def step_write(self):
        what, key, items, payload = edit = self.edit()
        out, lib, index = self.ffi.new("nk_outcome *"), self.lib, self.index
        if self.closed:
            self.call(CLOSED, lib.nk_index_remove, index, key, len(key), out)
            return
        expected = self.apply(edit)
        if what == "insert":
            self.call(OK, lib.nk_index_insert, index, key, len(key), self.signature(items),
                      self.ffi.NULL, 0, out)
        elif what == "with":
            self.call(OK, lib.nk_index_insert, index, key, len(key), self.signature(items),
                      payload, len(payload), out)
        elif what == "payload":
            self.call(OK, lib.nk_index_set_payload, index, key, len(key), payload, len(payload), out)
        else:
            self.call(OK, lib.nk_index_remove, index, key, len(key), out)
        assert out[0] == expected, (edit, out[0], expected)

    def step_batch(self):
        what, key, items, payload = edit = self.edit()
        if what == "insert":
            self.call(OK, self.lib.nk_batch_insert, self.batch, key, len(key),
                      self.signature(items), self.ffi.NULL, 0, 0)
        elif what == "with":
            self.call(OK, self.lib.nk_batch_insert, self.batch, key, len(key),
                      self.signature(items), payload, len(payload), 0)
        elif what == "payload":
            self.call(OK, self.lib.nk_batch_set_payload, self.batch, key, len(key), payload,
                      len(payload))
        else:
            self.call(OK, self.lib.nk_batch_remove, self.batch, key, len(key))
        self.edits.append(edit)
        sizes = self.ffi.new("size_t *")
        self.call(OK, self.lib.nk_batch_size, self.batch, sizes, self.ffi.NULL)
        assert sizes[0] == len(self.edits)

    def step_write_batch(self):
        if self.closed:
            self.call(CLOSED, self.lib.nk_index_write, self.index, self.batch, self.ffi.NULL, 0,
                      self.ffi.NULL)
            return
        outcomes = self.ffi.new("nk_outcome[]", len(self.edits) + 1)
        for edit in self.edits:
            self.apply(edit)
        self.call(OK, self.lib.nk_index_write, self.index, self.batch, outcomes, len(self.edits),
                  self.ffi.NULL)
        for at, edit in enumerate(self.edits):
            later = any(edit[1] == other[1] for other in self.edits[at + 1:])
            assert (outcomes[at] == SUPERSEDED) == later, (at, self.edits)
        assert outcomes[len(self.edits)] == 0
        self.call(OK, self.lib.nk_batch_clear, self.batch)
        self.edits = []

    def step_prefix(self):
        prefix = self.random.choice([b"a", b"q", b"z", b"none"])
        removed = self.ffi.new("uint64_t *")
        if self.closed:
            self.call(CLOSED, self.lib.nk_index_remove_prefix, self.index, prefix, len(prefix),
                      removed)
            return
        expected = [key for key in self.model if key.startswith(prefix)]
        for key in expected:
            del self.model[key]
        self.call(OK, self.lib.nk_index_remove_prefix, self.index, prefix, len(prefix), removed)
        assert removed[0] == len(expected)

    def step_snapshot(self):
        if self.closed:
            return
        of = self.ffi.cast("nk_readable *", self.index)
        made = self.make("nk_snapshot", self.lib.nk_snapshot_take, of)
        self.snapshots.append((made, dict(self.model)))
        if len(self.snapshots) > 3:
            self.free(self.snapshots.pop(0)[0])

    def readable(self):
        """A handle that can be read, with its model."""
        views = list(self.snapshots)
        if not self.closed:
            views += [(self.index, self.model)] * 3
        if not views:
            return None, None
        handle, model = self.random.choice(views)
        return self.ffi.cast("nk_readable *", handle), model

    def step_get(self):
        of, model = self.readable()
        if of is None:
            return
        key = self.key()
        there = self.ffi.new("bool *")
        self.call(OK, self.lib.nk_contains, of, key, len(key), there)
        assert bool(there[0]) == (key in model)
        document = self.make("nk_document", self.lib.nk_get, of, key, len(key))
        assert (document != self.ffi.NULL) == (key in model)
        count = self.ffi.new("uint64_t *")
        self.call(OK, self.lib.nk_count, of, count, self.ffi.NULL)
        assert count[0] == len(model)
        if key in model:
            view = self.ffi.new("nk_document_view *")
            self.call(OK, self.lib.nk_document_get, document, view)
            assert self.bytes(view.key) == key and self.bytes(view.payload) == model[key][1]
            self.free(document)

    def bytes(self, lent):
        return bytes(self.ffi.buffer(lent.data, lent.len)) if lent.len else b""

    def step_keys(self):
        of, model = self.readable()
        if of is None:
            return
        prefix = self.random.choice([b"", b"a", b"d"])
        keys = self.make("nk_keys", self.lib.nk_keys_begin, of, prefix, len(prefix))
        key, more, found = self.ffi.new("nk_bytes *"), self.ffi.new("bool *"), []
        self.call(OK, self.lib.nk_keys_next, keys, key, more)
        while more[0]:
            found.append(self.bytes(key))
            self.call(OK, self.lib.nk_keys_next, keys, key, more)
        assert found == sorted(key for key in model if key.startswith(prefix))
        self.free(keys)

    def query(self, settings):
        text = settings.encode()
        return self.make("nk_query", self.lib.nk_query_from_text, text, len(text))

    def step_query(self):
        of, model = self.readable()
        if of is None:
            return
        items, filtered = self.some(), self.random.random() < 0.5
        limit = self.random.choice([None, 2])
        query = self.query("threshold=1,limit=2" if limit else "threshold=1")
        if filtered:
            self.call(OK, self.lib.nk_query_filter, query, self.filter, self.ffi.NULL, self.ffi.NULL)
        expected = sorted(key for key, value in model.items()
                          if value[0] == items and (key < b"m" or not filtered))
        by_key = self.random.random() < 0.3
        if by_key:
            asked = self.key()
            expected = sorted(key for key, value in model.items() if asked in model
                              and value[0] == model[asked][0] and key != asked
                              and (key < b"m" or not filtered))
            status = OK if asked in model else NO_SUCH_KEY
            answer = self.find(self.lib.nk_find_key, of, asked, len(asked), query, expect=status)
            if status != OK:
                self.free(query)
                return
        else:
            answer = self.find(self.lib.nk_find_signature, of, self.signature(items), query)
        view = self.ffi.new("nk_answer_view *")
        self.call(OK, self.lib.nk_answer_get, answer, view)
        found = [self.bytes(view.matches[at].key) for at in range(view.matches_len)]
        assert found == expected[:limit], (found, expected)
        assert view.found == len(expected) and view.complete
        self.free(query)
        self.free(answer)

    def step_pairs(self):
        of, model = self.readable()
        if of is None:
            return
        query, prefix = self.query("threshold=1"), self.random.choice([b"", self.key()[:1]])
        self.call(OK, self.lib.nk_query_prefix, query, prefix, len(prefix))
        model = {key: value for key, value in model.items() if key.startswith(prefix)}
        pairs = self.make("nk_pairs", self.lib.nk_pairs_begin, of, query)
        pair, more, found = self.ffi.new("nk_pair *"), self.ffi.new("bool *"), set()
        self.call(OK, self.lib.nk_pairs_next, pairs, pair, more)
        while more[0]:
            found.add((self.bytes(pair.a), self.bytes(pair.b)))
            self.call(OK, self.lib.nk_pairs_next, pairs, pair, more)
        expected = {(a, b) for a, b in itertools.combinations(sorted(model), 2)
                    if model[a][0] == model[b][0]}
        assert found == expected
        self.free(pairs)
        clusters = self.make("nk_clusters", self.lib.nk_clusters_begin, of, query)
        cluster, found = self.ffi.new("nk_cluster *"), set()
        self.call(OK, self.lib.nk_clusters_next, clusters, cluster, more)
        while more[0]:
            found.add(tuple(self.bytes(cluster.keys[at]) for at in range(cluster.len)))
            self.call(OK, self.lib.nk_clusters_next, clusters, cluster, more)
        by_set = {}
        for key in sorted(model):
            by_set.setdefault(model[key][0], []).append(key)
        assert found == {tuple(keys) for keys in by_set.values() if len(keys) > 1}
        self.free(clusters)
        self.free(query)

    def step_admit(self):
        if self.closed:
            return
        key, items = self.key(), self.some()
        newest = self.random.random() < 0.5
        query = self.query(f"threshold=1,keep={'newest' if newest else 'first'}")
        admission = self.make("nk_admission", self.lib.nk_index_admit, self.index, key, len(key),
                              self.signature(items), b"new", 3, query)
        view = self.ffi.new("nk_admission_view *")
        self.call(OK, self.lib.nk_admission_get, admission, view)
        duplicates = sorted(other for other, value in self.model.items()
                            if value[0] == items and other != key)
        found = [self.bytes(view.duplicates[at].key) for at in range(view.duplicates_len)]
        assert found == duplicates, (found, duplicates)
        assert (view.decision != 0) == (newest or not duplicates)
        if view.decision != 0:
            for other in duplicates:
                del self.model[other]
            self.model[key] = (items, b"new")
        self.free(query)
        self.free(admission)

    def step_maintain(self):
        step = self.random.choice([self.lib.nk_index_flush, self.lib.nk_index_compact])
        self.call(CLOSED if self.closed else OK, step, self.index)

    def step_close(self):
        if self.random.random() < 0.1:
            self.call(OK, self.lib.nk_index_close, self.index)
            self.closed = True

    def step_misuse(self):
        """A call with one bad handle; results stay as they were."""
        ffi, lib, key = self.ffi, self.lib, self.key()
        readable = ("nk_index", "nk_reader", "nk_snapshot")
        calls = [
            (lib.nk_index_insert, "nk_index",
             (key, len(key), self.signature(self.some()), ffi.NULL, 0, ffi.NULL)),
            (lib.nk_index_remove, "nk_index", (key, len(key), ffi.NULL)),
            (lib.nk_index_flush, "nk_index", ()),
            (lib.nk_index_close, "nk_index", ()),
            (lib.nk_batch_remove, "nk_batch", (key, len(key))),
            (lib.nk_batch_clear, "nk_batch", ()),
            (lib.nk_query_prefix, "nk_query", (key, len(key))),
            (lib.nk_query_filter, "nk_query", (self.filter, ffi.NULL, ffi.NULL)),
            (lib.nk_answer_get, "nk_answer", (ffi.new("nk_answer_view *"),)),
            (lib.nk_document_get, "nk_document", (ffi.new("nk_document_view *"),)),
            (lib.nk_pairs_next, "nk_pairs", (ffi.new("nk_pair *"), ffi.new("bool *"))),
            (lib.nk_keys_next, "nk_keys", (ffi.new("nk_bytes *"), ffi.new("bool *"))),
            (lib.nk_count, "nk_readable", (ffi.NULL, ffi.NULL)),
            (lib.nk_get, "nk_readable", (key, len(key), ffi.new("nk_document **"))),
            (lib.nk_stats_json, "nk_readable", (ffi.new("nk_text **"),)),
        ]
        function, kind, rest = self.random.choice(calls)
        kinds = readable if kind == "nk_readable" else (kind,)
        bad = self.bad(*kinds)
        self.call(BAD, function, ffi.cast(f"{kind} *", bad), *rest)
        if kind == "nk_index" and function == lib.nk_index_insert and not self.closed:
            wrong = ffi.cast("nk_signature *", self.bad("nk_signature"))
            self.call(BAD, function, self.index, key, len(key), wrong, ffi.NULL, 0, ffi.NULL)
        address = int(ffi.cast("uintptr_t", bad))
        if address and address not in self.handles:
            assert lib.nk_free(bad) == BAD
        if not self.closed:
            self.call(INVALID, lib.nk_index_insert, self.index, ffi.NULL, 3,
                      self.signature(self.some()), ffi.NULL, 0, ffi.NULL)

    def run(self):
        steps = [
            self.step_write, self.step_write, self.step_write, self.step_batch, self.step_batch,
            self.step_write_batch, self.step_prefix, self.step_snapshot, self.step_get,
            self.step_keys, self.step_query, self.step_query, self.step_pairs, self.step_admit,
            self.step_maintain, self.step_close, self.step_misuse, self.step_misuse,
            self.step_misuse,
        ]
        for _ in range(self.random.randrange(5, 40)):
            self.random.choice(steps)()
        for address in list(self.handles):
            self.free(self.ffi.cast("void *", address))
        assert self.lib.nk_handles_live() == 0, "handles are left"


def main():
    prefix = sys.argv[1]
    programs = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    ffi, lib = load(prefix)
    print(f"{programs} programs, seed {seed}")
    for number in range(programs):
        try:
            Program(ffi, lib, f"{seed}/{number}").run()
        except BaseException:
            print(f"program {number} of seed {seed} failed")
            raise
    print("random programs: ok")


if __name__ == "__main__":
    main()
