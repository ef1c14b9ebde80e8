"""Random operations against a dictionary of sets."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import nearkin as nk

PARAMS = nk.Params(threshold=0.5, shingles="items", bands=(32, 2))
KEYS = st.sampled_from([f"k{number}" for number in range(12)])
SETS = st.frozensets(st.sampled_from("abcdefgh"), min_size=0, max_size=8)
TIMES = st.integers(min_value=0, max_value=20)


class Model(RuleBasedStateMachine):
    """What the index holds is what a dictionary would; what it answers, what loops would."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "index"
        self.index = nk.Index(self.path, PARAMS, durability="os")
        self.sketcher = nk.Sketcher(PARAMS)
        self.held: dict[str, tuple[nk.Signature, bytes, int]] = {}

    def signature(self, items):
        return self.sketcher.set(items) if items else None

    @rule(rows=st.lists(st.tuples(KEYS, SETS, st.binary(max_size=3), TIMES), max_size=6))
    def add(self, rows):
        keys, sets, payloads, times = ([row[part] for row in rows] for part in range(4))
        added = self.index.add(keys, sets, payloads=payloads, times=times)
        last = {key: at for at, key in enumerate(keys)}
        counts = {"inserted": 0, "replaced": 0, "unchanged": 0, "superseded": 0, "emptied": 0}
        # Rows of one key count one after the other: a row that repeats the document before it keeps its
        # time, one behind an empty set does not.
        now = {}
        for at, (key, items) in enumerate(zip(keys, sets)):
            held, is_new = now.get(key, (self.held.get(key), False))
            new = (self.signature(items), payloads[at]) if items else None
            if new is None:
                now[key] = (None, False)
            elif held is None or held[:2] != new:
                now[key] = ((*new, times[at]), True)
            else:
                now[key] = (held, is_new)
            if last[key] != at:
                counts["superseded"] += bool(items)
                continue
            before, (after, is_new) = self.held.pop(key, None), now[key]
            if after is None:
                counts["emptied"] += before is not None
                continue
            counts["inserted" if before is None else "replaced" if is_new else "unchanged"] += 1
            self.held[key] = after
        empty = tuple(at for at, items in enumerate(sets) if not items)
        assert added == nk.Added(**counts, empty=empty)

    @rule(key=KEYS, items=SETS)
    def insert(self, key, items):
        if not items:
            try:
                self.index[key] = items
            except nk.EmptyError:
                return
            raise AssertionError("an empty set was taken")
        self.index[key] = items
        old = self.held.get(key)
        # A payload stays.
        new = (self.signature(items), old[1] if old else b"")
        if old is None or old[:2] != new:
            self.held[key] = (*new, self.index[key].time_ms)

    @rule(key=KEYS, payload=st.binary(max_size=3))
    def set_payload(self, key, payload):
        old = self.held.get(key)
        assert self.index.set_payload(key, payload) == (old is not None)
        if old is not None:
            self.held[key] = (old[0], payload, old[2])

    @rule(prefix=st.sampled_from(["k1", "k", "x"]))
    def remove_prefix(self, prefix):
        gone = [key for key in self.held if key.startswith(prefix)]
        assert self.index.remove_prefix(prefix) == len(gone)
        for key in gone:
            del self.held[key]

    @rule(key=KEYS)
    def delete(self, key):
        there = key in self.held
        assert self.index.discard(key) == there
        self.held.pop(key, None)

    @rule(keys=st.lists(KEYS, max_size=5, unique=True))
    def remove(self, keys):
        assert self.index.remove(keys) == sum(key in self.held for key in keys)
        for key in keys:
            self.held.pop(key, None)

    @rule(time=TIMES)
    def remove_before(self, time):
        due = [key for key, (_, _, at) in self.held.items() if at < time]
        assert self.index.remove_before(time) == len(due)
        for key in due:
            del self.held[key]

    @rule(close=st.booleans())
    def reopen(self, close):
        if close:
            self.index.close()
        del self.index
        self.index = nk.Index(self.path, durability="os")

    @rule(what=st.sampled_from(["flush", "compact", "verify"]))
    def maintain(self, what):
        done = getattr(self.index, what)()
        assert what != "verify" or done.ok

    def matches(self, signature, threshold, but=None):
        """By the law: a band in common, and the threshold reached."""
        found = []
        lanes = signature.to_bytes()
        for key, (other, _, _) in self.held.items():
            others = other.to_bytes()
            rows = PARAMS.rows_per_band * PARAMS.lane_bits // 8
            bands = range(0, PARAMS.bands * rows, rows)
            shares = any(lanes[b : b + rows] == others[b : b + rows] for b in bands)
            similarity = signature.similarity(other)
            if key != but and shares and similarity >= threshold - 1e-9:
                found.append((key, similarity))
        return sorted(found, key=lambda one: (-one[1], one[0]))

    @rule(sets=st.lists(SETS, max_size=4), threshold=st.sampled_from([0.3, 0.5, 0.8]))
    def query(self, sets, threshold):
        expected = [
            (row, *match)
            for row, items in enumerate(sets)
            if items
            for match in self.matches(self.signature(items), threshold)
        ]
        assert list(self.index.query_many(sets, threshold=threshold)) == expected
        for row, items in enumerate(sets):
            if items:
                answer = self.index.query(items, threshold=threshold)
                assert [(row, m.key, m.similarity) for m in answer] == [
                    match for match in expected if match[0] == row
                ]

    @rule()
    def pairs(self):
        expected = {
            (key, other, similarity)
            for key, (signature, _, _) in self.held.items()
            for other, similarity in self.matches(signature, 0.5)
            if key < other
        }
        assert set(self.index.pairs(0.5).read_all()) == expected

    @invariant()
    def holds_what_the_dictionary_holds(self):
        assert len(self.index) == len(self.held)
        assert sorted(self.index.keys()) == sorted(self.held)
        for key, (signature, payload, time) in self.held.items():
            document = self.index[key]
            assert (document.signature, document.payload, document.time_ms) == (
                signature,
                payload,
                time,
            )

    def teardown(self):
        self.index.close()
        self.folder.cleanup()


Model.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestModel = Model.TestCase
