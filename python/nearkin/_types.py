"""Results of operations: named tuples."""

from __future__ import annotations

from typing import Any, NamedTuple


class Added(NamedTuple):
    """Result of :meth:`Index.add`: counts of rows by outcome."""

    inserted: int
    replaced: int
    #: Signature and payload equalled the stored ones, so nothing was written.
    unchanged: int
    #: A later row of the same batch has the same key and replaces this one.
    superseded: int
    #: Numbers of the rows that are null, blank or of no items.
    empty: tuple[int, ...]
    #: How many blank rows removed the document that was stored under their key.
    emptied: int = 0


class Imported(NamedTuple):
    """Result of an import: counts of documents by outcome."""

    inserted: int
    replaced: int
    unchanged: int


class Verification(NamedTuple):
    """Result of :meth:`Index.verify`."""

    documents: int
    #: All damage that was found, each with its file and position.
    problems: list[str]

    @property
    def ok(self) -> bool:
        """Whether no damage was found."""
        return not self.problems


class _Stats(NamedTuple):
    documents: int
    #: Dead documents that still take space, until a compaction frees it.
    dead: int
    segments: int
    memtable_documents: int
    memtable_bytes: int
    #: Own memory of the index: the memtable, and the filter over small segments.
    own_bytes: int
    #: Bytes of segments that are mapped. Their pages belong to the page cache.
    mapped_bytes: int
    bytes_on_disk: int
    #: The last change that queries see.
    change: int
    #: The last change that survives power loss.
    durable_change: int
    bytes_read: int
    bytes_written: int
    syncs: int
    #: Snapshots of older states that are still in use.
    snapshots_pinning: int
    #: Changes that were replayed from the log at opening: 0 after a clean close.
    changes_replayed: int
    unicode_created: str
    unicode: str
    #: The error of the last maintenance step, if it failed.
    maintenance_failure: str | None


class Stats(_Stats):
    """The state of an index in numbers. What the library adds later is an attribute only."""

    #: The last change that is in segments and not only in the log.
    floor: int
    #: Bytes of an incomplete end of the log that were cut off at opening.
    bytes_cut: int
    #: Leftover files that were removed at opening.
    files_swept: int

    def __new__(cls, *known: Any, **fields: Any) -> Stats:
        named = {name: fields.pop(name) for name in cls._fields[len(known) :]}
        stats = super().__new__(cls, *known, **named)
        vars(stats).update(fields)
        return stats
