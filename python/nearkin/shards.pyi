import os
from pathlib import Path
from typing import Any, Literal, TypedDict

from typing_extensions import Unpack

from ._nearkin import Params, Table
from ._remote import RemoteShards as RemoteShards
from ._types import Imported

class _Conditions(TypedDict, total=False):
    contained: float | None
    for_verification: bool

class Manifest:
    """One generation of a sharded index, decoded from its manifest. It lists the files that a reader
    needs. If the index is on storage that is not a file system, fetch these files into a folder,
    :meth:`check` them, and open the folder."""
    def __new__(cls, data: bytes) -> Manifest: ...
    @property
    def generation(self) -> int:
        """The number of the generation."""
    @property
    def shards(self) -> int:
        """The number of shards of the index."""
    @property
    def params(self) -> Params:
        """The parameters of the index."""
    @property
    def note(self) -> bytes:
        """The note of the last commit that set one."""
    @property
    def path(self) -> Path:
        """The path of the manifest relative to the folder of the index."""
    def files(self) -> Table:
        """All files that a reader of this generation needs, except the manifest: a :class:`Table` with
        the columns path (relative to the folder of the index), bytes and shard."""
    def check(self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> None:
        """Reads and checks all files in a folder without mapping them. The error names the first file
        that is missing, truncated or damaged, or that belongs to another index."""
    def __eq__(self, other: object) -> bool: ...

class Ticket:
    """The identity of a sealed file, stored in its header: the id of an index (16 bytes) and the number
    of the file. :meth:`Shards.ticket` makes one; for :meth:`Index.adopt`, any ticket will do.
    Picklable."""
    def __new__(cls, uuid: bytes, number: int) -> Ticket: ...
    @property
    def uuid(self) -> bytes:
        """The id of the index."""
    @property
    def number(self) -> int:
        """The number of the file."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Sealed:
    """The description of a sealed segment file, as a manifest lists it. A task returns it, as an object
    or as 72 bytes, to the process that commits. Picklable."""
    @staticmethod
    def from_bytes(data: bytes) -> Sealed:
        """The inverse of :meth:`to_bytes`."""
    def to_bytes(self) -> bytes:
        """The 72 bytes that a task returns to the process that lists the file."""
    def __bytes__(self) -> bytes: ...
    @property
    def number(self) -> int:
        """The number of the file."""
    @property
    def documents(self) -> int:
        """Number of documents in the file."""
    @property
    def file_bytes(self) -> int:
        """The length of the file in bytes."""
    @property
    def file_hash(self) -> int:
        """The hash of the end of the file. The end holds the checksums of the whole file."""
    def __eq__(self, other: object) -> bool: ...

class Shards:
    """The writer of a sharded index. Tasks seal and place segments; one commit lists them.
    :class:`nearkin.Reader` reads the index. ``Shards(path)`` opens it at its newest generation."""
    def __new__(cls, path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> Shards: ...
    @staticmethod
    def create(path: str | bytes | os.PathLike[str] | os.PathLike[bytes], params: Params, shards: int) -> Shards:
        """Creates a sharded index without documents. The number of shards, from 1 to 65,536, is fixed."""
    @property
    def path(self) -> Path:
        """The folder of the index."""
    @property
    def params(self) -> Params:
        """The parameters of the index."""
    @property
    def shards(self) -> int:
        """The number of shards."""
    @property
    def generation(self) -> int:
        """The number of the generation that this handle is at."""
    @property
    def note(self) -> bytes:
        """The note of the last commit that set one."""
    def refresh(self) -> None:
        """Moves on to the newest generation."""
    def ticket(self, job: int, task: int) -> Ticket:
        """The ticket of a task. A job draws a random number once, and numbers its tasks. A repeated
        attempt of a task gets the same ticket as the first attempt; no other job gets it."""
    def place(self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes], sealed: Sealed) -> None:
        """Moves a sealed file to its place in the index. It is not read before a commit lists it. If a
        second attempt of a task made the same file, the first file is kept and the second is deleted. A
        different file with this number is an ``ExistsError``."""
    def append(
        self,
        segments: list[tuple[int, Sealed]],
        how: Literal["refuse", "replace"] = "refuse",
        note: bytes | None = None,
    ) -> Imported:
        """Lists placed segments, given as pairs of (shard, :class:`Sealed`), in one commit. ``how`` says
        what happens to keys that are already live: ``"refuse"`` (``ExistsError``) or ``"replace"``.
        ``note`` is up to 64 KiB of the caller's own data."""
    def remove(self, keys: Any) -> int:
        """Removes the documents with these keys in one commit. Returns the number of removed
        documents."""
    def compact(self, shard: int) -> bool:
        """Merges the segments of a shard into one without dead documents, in one commit. Returns whether
        there was anything to merge."""
    def sweep(self) -> int:
        """Deletes files that the newest generation does not list: those of failed tasks, and those of
        older generations. Returns the number of deleted files. Call it only while no job is running."""

def seal(
    params: Params,
    keys: Any,
    documents: Any,
    ticket: Ticket,
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
    *,
    payloads: Any = None,
    times: Any = None,
    threads: int | None = None,
) -> Sealed:
    """Makes one immutable segment file of documents at ``path``, without an index, a log or a catalog.
    The same documents, in any order, result in the same bytes at every attempt and on every machine."""

def band_entries(
    params: Params, signatures: Any, documents: Any, bands: tuple[int, int] | None = None
) -> Table:
    """The rows of the band join: one per document and band. Documents without a signature (null) have no
    rows. ``bands=(first, end)`` returns only the rows of these bands."""
def verify_buckets(
    params: Params,
    bands: Any,
    band_keys: Any,
    documents: Any,
    signatures: Any,
    threshold: float,
    **conditions: Unpack[_Conditions],
) -> Table:
    """The pairs among the documents of complete buckets: rows of (band, BandKey, document, signature), in
    any order. All rows of a bucket must be in the batch. A pair counts only at the first band that it
    shares, so over all buckets each pair is found once."""
def connect_buckets(
    params: Params,
    bands: Any,
    band_keys: Any,
    documents: Any,
    signatures: Any,
    threshold: float,
    **conditions: Unpack[_Conditions],
) -> Table:
    """Edges that connect the documents of complete buckets, as all their pairs do, for
    :func:`components`: a crowd of n similar documents costs about n comparisons and n edges. An edge may
    be found in several buckets. All rows of a bucket must be in the batch."""
def verify_between(
    params: Params,
    band: int,
    documents: Any,
    signatures: Any,
    other_documents: Any,
    other_signatures: Any,
    threshold: float,
    **conditions: Unpack[_Conditions],
) -> Table:
    """The pairs between two parts of a bucket that is too large for one task. The parts have no document
    in common. (:func:`verify_buckets` returns the pairs within a part.)"""
def verify(
    params: Params,
    bands: Any,
    signatures: Any,
    other_signatures: Any,
    threshold: float,
    **conditions: Unpack[_Conditions],
) -> Table:
    """Compares candidates. Each row is a candidate: a band, and the signatures of two documents that
    share a bucket of that band. Returns the candidates that reach the threshold and share no earlier
    band: their row number in the batch, their equal rows and their similarity."""
def shingles(params: Params, documents: Any) -> Table:
    """The documents of a column (texts, or sets if ``params`` have items) for exact comparison: a table
    of (signature, shingles). ``shingles`` holds the hashes of all shingles, ascending, 8 bytes each. Both
    are null if a document is null or has nothing to compare. Costs a sort of the shingles more than
    :meth:`Sketcher.texts`."""
def compare(
    params: Params,
    shingles: Any,
    other_shingles: Any,
    threshold: float,
    *,
    contained: float | None = None,
) -> Table:
    """Compares candidates exactly. Each row is a candidate: the shingles of two documents, as
    :func:`shingles` makes them. Returns the candidates that hold: their similarity is at least
    ``threshold``, and with ``contained`` the larger document contains at least this fraction of the
    smaller one. A row of the table has the row number in the batch, similarity and containment, the
    number of shingles of both documents, and the number that both have."""
def components(a: Any, b: Any, *, keys: Literal["str", "bytes"] = "str") -> Table:
    """The connected components of a graph of edges: a table of (node, component). The smallest node
    represents a component. Nodes are integers, or keys (``str``, or ``bytes`` with ``keys="bytes"``). The
    edges can be processed in parts: another call combines the results."""
def dropped(a: Any, b: Any, *, keys: Literal["str", "bytes"] = "str") -> Table:
    """The nodes that deduplication drops. In the order of the nodes, a node is dropped if it has an edge
    to a node that was kept before it. Returns a table of (node, kept), in which ``kept`` is the smallest
    such node. All other nodes are kept. The batch must contain complete components."""
def large_star(nodes: Any, neighbours: Any, *, keys: Literal["str", "bytes"] = "str") -> Table:
    """The first half of a round that finds connected components (large-star): connects each larger
    neighbour of a node to the smallest node among the node and its neighbours. A batch must contain all
    neighbours of a node, and each edge in both directions. Returns edges (node, neighbour), the larger
    node first."""
def small_star(nodes: Any, neighbours: Any, *, keys: Literal["str", "bytes"] = "str") -> Table:
    """The second half of a round that finds connected components (small-star): connects a node and its
    smaller neighbours to the smallest of those neighbours. For each node, one batch must contain all
    edges to smaller nodes, as :func:`large_star` returns them. Returns edges (node, neighbour), the
    larger node first."""
def are_stars(nodes: Any, centres: Any) -> bool:
    """Whether edges (node, centre) are stars around their smallest nodes: then no further round is
    needed."""
def shard_of(keys: Any, shards: int) -> Table:
    """The shard that each key belongs to, from 0 to ``shards - 1``: a table of one column."""
def fetch(address: str, folder: str | os.PathLike[str], **options: Any) -> int:
    """Copies the newest generation of the sharded index at ``address`` (``s3://bucket/lake``, or any
    other address that fsspec supports) into a folder that :class:`nearkin.Reader` can open. Returns the
    number of the generation."""
