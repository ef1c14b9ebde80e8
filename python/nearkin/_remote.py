"""The writer of a sharded index on an object store."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ._errors import ExistsError, InvalidError, MismatchError, NotFoundError, UnsettledError
from ._nearkin import Params
from ._nearkin import shards as _shards  # type: ignore[attr-defined]
from ._store import Store, files_of, identity_of, manifest_path, write_whole

if TYPE_CHECKING:
    from ._types import Imported
    from .shards import Sealed, Shards, Ticket

T = TypeVar("T")


class RemoteShards:
    """The writer of a sharded index on an object store: :class:`Shards` for ``s3://bucket/lake``, or
    another address that fsspec knows. :func:`fetch` copies the index to where a reader can map it.

    >>> from nearkin import Params, shards
    >>> lake = shards.RemoteShards.create("memory://bucket/lake", Params(0.7), 4)
    >>> lake.generation, lake.shards
    (1, 4)

    A commit changes a local copy, puts its new files, and then puts the manifest *if its name is
    free* (``If-None-Match``). If another commit was first, this one fails with ``UnsettledError`` and
    has changed nothing. The first change asks the store whether it holds to that, and is an
    ``InvalidError`` if not. Costs: a commit gets the files of the index that are not in the copy yet;
    opening gets the manifest alone.

    The copy is in a temporary folder of this object, below ``folder`` if that is given, and is
    deleted with the object. ``options`` are passed to the file system. A ``RemoteShards`` object can
    be pickled; unpickling opens the index again.
    """

    def __init__(
        self, address: str, folder: str | os.PathLike[str] | None = None, **options: Any
    ) -> None:
        self._open(Store(address, options), folder)
        self.refresh()

    @classmethod
    def create(
        cls,
        address: str,
        params: Params,
        shards: int,
        folder: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> RemoteShards:
        """Creates a sharded index without documents. The number of shards, from 1 to 65,536, is
        fixed. ``ExistsError`` if there is a sharded index."""
        made = cls.__new__(cls)
        store = Store(address, options)
        if store.generation() is not None:
            raise ExistsError(f"{address}: there is a sharded index already")
        made._open(store, folder)
        made._lake = _shards.Shards.create(made._copy, params, shards)
        made._identity = made._lake.ticket(0, 0).uuid
        try:
            made._publish([])
        except UnsettledError as error:
            raise ExistsError(f"{address}: there is a sharded index already") from error
        return made

    def _open(self, store: Store, folder: str | os.PathLike[str] | None) -> None:
        self._store = store
        self._lake: Shards
        self._folder = folder
        self._lock = threading.RLock()
        self._is_checked = False
        self._identity: bytes | None = None
        self._begin_copy()

    def _begin_copy(self) -> None:
        """Begins an empty copy in a folder of its own."""
        parent = Path(tempfile.mkdtemp(prefix="nearkin-remote-", dir=self._folder))
        self._copy = parent / "index"
        weakref.finalize(self, _deleted, parent, os.getpid())

    @property
    def address(self) -> str:
        """The address of the index."""
        return self._store.address

    @property
    def path(self) -> Path:
        """The folder of the local copy. It lacks segments that no commit needed yet."""
        return self._copy

    @property
    def params(self) -> Params:
        """The parameters of the index."""
        return self._lake.params

    @property
    def shards(self) -> int:
        """The number of shards."""
        return self._lake.shards

    @property
    def generation(self) -> int:
        """The number of the generation that this object is at."""
        return self._lake.generation

    @property
    def note(self) -> bytes:
        """The note of the last commit that set one."""
        return self._lake.note

    def refresh(self) -> None:
        """Moves on to the newest generation. ``MismatchError`` if another index has this address
        now: open it again."""
        with self._lock:
            generation, data = self._store.newest()
            self._refuse_other(data)
            write_whole(self._copy / manifest_path(generation), data)
            (self._copy / "segments").mkdir(exist_ok=True)
            self._go_back(generation)

    def _refuse_other(self, data: bytes) -> None:
        """Fails if a manifest of the store is not of the index that was opened."""
        if self._identity is None:
            self._identity = identity_of(data)
        elif self._identity != identity_of(data):
            raise self._other()

    def _other(self) -> MismatchError:
        return MismatchError(f"{self.address}: another index is here now; open it again")

    def ticket(self, job: int, task: int) -> Ticket:
        """The ticket of a task: see :meth:`Shards.ticket`."""
        return self._lake.ticket(job, task)

    def place(self, path: str | os.PathLike[str], sealed: Sealed) -> None:
        """Checks a sealed file, and puts it into the store; the local file moves into the copy. If a
        second attempt of a task made the same file, the first one is kept. A different file with this
        number is an ``ExistsError``."""
        with self._lock:
            self._lake.place(path, sealed)
            name = segment_path(sealed.number)
            try:
                self._store.put_file(name, self._copy / name)
            except BaseException:
                # It is not in the store, so a commit must not find it in the copy.
                os.replace(self._copy / name, path)
                raise

    def append(
        self,
        segments: Iterable[tuple[int, Sealed]],
        how: Literal["refuse", "replace"] = "refuse",
        note: bytes | None = None,
    ) -> Imported:
        """Lists placed segments, given as pairs of (shard, :class:`Sealed`), in one commit: see
        :meth:`Shards.append`."""
        segments = list(segments)
        coming = [(segment_path(sealed.number), sealed.file_bytes) for _, sealed in segments]
        return self._commit(coming, lambda lake: lake.append(segments, how, note))

    def remove(self, keys: Any) -> int:
        """Removes the documents with these keys in one commit. Returns the number of removed
        documents."""
        return self._commit([], lambda lake: lake.remove(keys))

    def compact(self, shard: int) -> bool:
        """Merges the segments of a shard into one without dead documents, in one commit. Returns
        whether there was anything to merge."""
        return self._commit([], lambda lake: lake.compact(shard))

    def sweep(self) -> int:
        """Deletes objects that the newest generation does not list: those of failed tasks and
        commits, and of older generations. Returns their number. Call it only while no job is
        running, nobody fetches an older generation, and no request of a commit that failed can
        still take effect."""
        with self._lock:
            there = self._store.segments()
            self.refresh()
            listed = {path for path, _ in self._listed()}
            removed = self._store.remove([*sorted(there - listed), *self._store.probes()])
            self._lake.sweep()
            return removed

    def _commit(
        self, coming: list[tuple[str, int]], change: Callable[[Shards], T]
    ) -> T:
        """Changes the copy, and then the store. If the store does not follow, the copy goes back."""
        with self._lock:
            before, listed = self.generation, self._listed()
            data = (self._copy / manifest_path(before)).read_bytes()
            known = [*listed, *coming]
            self._check_store(before, [path for path, _ in listed], [path for path, _ in coming])
            self._drop_but({path for path, _ in known})
            try:
                self._store.fetch(known, self._copy)
            except FileNotFoundError as error:
                # Swept since it was listed.
                raise self._unsettled(before + 1) from error
            try:
                done = change(self._lake)
                if self.generation != before:
                    self._publish([path for path, _ in known])
            except Exception:
                self._go_back(before)
                raise
            except BaseException:
                # An interrupted change of the copy may go on by itself.
                self._begin_copy()
                write_whole(self._copy / manifest_path(before), data)
                (self._copy / "segments").mkdir()
                self._go_back(before)
                raise
            return done

    def _check_store(self, generation: int, listed: list[str], coming: list[str]) -> None:
        """Fails unless the store holds this generation of this index, and all segments that the next
        one will list: what is in the copy alone must not be listed."""
        try:
            data = self._store.manifest(generation)
        except FileNotFoundError:
            raise NotFoundError(
                f"{self.address}: generation {generation} is gone, the index was deleted or replaced; open"
                " it again"
            ) from None
        if data != (self._copy / manifest_path(generation)).read_bytes():
            raise self._other()
        there = self._store.segments()
        for path in coming:
            if path not in there:
                raise InvalidError(f"{self.address}/{path}: no such object; place the segment first")
        for path in listed:
            if path in there:
                continue
            if self._store.generation() != generation:
                # Swept after a later commit.
                raise self._unsettled(generation + 1)
            raise NotFoundError(f"{self.address}/{path}: a file of the index is missing")

    def _publish(self, known: list[str]) -> None:
        """Puts the new files of the copy's generation, and its manifest if no other is there."""
        if not self._is_checked:
            self._store.check_put_if_absent()
            self._is_checked = True
        generation = self.generation
        manifest = manifest_path(generation)
        data = (self._copy / manifest).read_bytes()
        new = [path for path, _ in self._listed() if path not in set(known)]
        for path in new:
            self._store.put_file(path, self._copy / path)
        if not self._store.put_new(manifest, data):
            self._store.try_to_remove(new)
            raise self._unsettled(generation)

    def _unsettled(self, generation: int) -> UnsettledError:
        return UnsettledError(
            f"{self.address}: another commit of generation {generation} was first: refresh, then"
            " commit again"
        )

    def _go_back(self, generation: int) -> None:
        """Takes back what the copy is ahead of the store."""
        for path in (self._copy / "manifest").iterdir():
            if path.name > Path(manifest_path(generation)).name:
                path.unlink()
        self._lake = _shards.Shards(self._copy)

    def _drop_but(self, known: set[str]) -> None:
        """Deletes segments of older generations from the copy, so that it does not grow for ever."""
        for path in (self._copy / "segments").iterdir():
            if f"segments/{path.name}" not in known:
                path.unlink()

    def _listed(self) -> list[tuple[str, int]]:
        data = (self._copy / manifest_path(self.generation)).read_bytes()
        return files_of(_shards.Manifest(data))

    def __reduce__(self) -> Any:
        return _reopened, (self.address, self._folder, self._store.options)

    def __repr__(self) -> str:
        count, generation = self.shards, self.generation
        return f"RemoteShards('{self.address}', {count} shards, generation {generation})"


def _deleted(folder: Path, pid: int) -> None:
    """Deletes the copy, but not in a forked child: it is the parent's."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def segment_path(number: int) -> str:
    return f"segments/{number:010}.seg"


def _reopened(
    address: str, folder: str | os.PathLike[str] | None, options: dict[str, Any]
) -> RemoteShards:
    return RemoteShards(address, folder, **options)
