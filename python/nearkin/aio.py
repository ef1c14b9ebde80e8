"""The index for asyncio: the same calls, awaited, which run on threads outside the event loop.

A call that reports progress (``dedup``, ``add``, ``admit``, ``clusters``, ``pairs``, ``compact``,
``verify``, ``import_from``) stops within about a tenth of a second when its task is cancelled; what
it has committed until then stays. All others are short.

>>> import asyncio, tempfile, nearkin as nk
>>> async def main() -> list[str]:
...     folder = tempfile.mkdtemp() + "/news"
...     async with await nk.aio.Index.open(folder, nk.Params(shingles="words:1")) as ix:
...         await ix.add(["a"], ["one two three"])
...         return [m.key for m in await ix.query("three two one")]
>>> asyncio.run(main())
['a']
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any, TypeVar

from . import _nearkin
from ._dedup import dedup as _dedup
from ._progress import reporter
from ._types import Added, Imported, Stats, Verification

__all__ = ["Index", "Reader", "dedup"]

_T = TypeVar("_T")


#: The methods that take ``progress``, by which they are stopped.
_LONG = {"add", "admit", "compact", "import_from", "verify"}


async def _run(pool: ThreadPoolExecutor | None, call: Callable[..., _T], *a: Any, **k: Any) -> _T:
    return await asyncio.get_running_loop().run_in_executor(pool, partial(call, *a, **k))


async def _run_long(
    pool: ThreadPoolExecutor | None, label: str, call: Callable[..., _T], *a: Any, **k: Any
) -> _T:
    """Runs a call that takes ``progress``. If the task is cancelled, the call stops."""
    ended = Event()
    report = reporter(k.pop("progress", None), label)

    def tick(done: int, total: int) -> object:
        if ended.is_set():
            return False
        return report(done, total) if report is not None else None

    try:
        return await _run(pool, call, *a, progress=tick, **k)
    except asyncio.CancelledError:
        ended.set()
        raise


async def dedup(data: Any, on: str | None = None, **how: Any) -> Any:
    """:func:`nearkin.dedup`, run on a thread."""
    return await _run_long(None, "dedup", _dedup, data, on, **how)


class _Readable:
    """Base class of :class:`Index` and :class:`Reader`."""

    _sync: Any

    def __init__(self, sync: Any, threads: int) -> None:
        self._sync = sync
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="nearkin")

    async def _call(self, name: str, *arguments: Any, **keywords: Any) -> Any:
        call = getattr(self._sync, name)
        if name in _LONG:
            return await _run_long(self._pool, name, call, *arguments, **keywords)
        return await _run(self._pool, call, *arguments, **keywords)

    @property
    def blocking(self) -> Any:
        """The underlying index. Its calls block."""
        return self._sync

    @property
    def path(self) -> Any:
        return self._sync.path

    @property
    def change(self) -> int:
        change: int = self._sync.change
        return change

    @property
    def sketcher(self) -> _nearkin.Sketcher:
        sketcher: _nearkin.Sketcher = self._sync.sketcher
        return sketcher

    @property
    def params(self) -> _nearkin.Params:
        params: _nearkin.Params = self._sync.params
        return params

    def __len__(self) -> int:
        return len(self._sync)

    def __bool__(self) -> bool:
        return True

    async def contains(self, key: Any) -> bool:
        """Whether a document has this key."""
        found: bool = await self._call("__contains__", key)
        return found

    async def get(self, key: Any, default: Any = None) -> Any:
        return await self._call("get", key, default)

    async def query(self, document: Any, **how: Any) -> _nearkin.Answer:
        answer: _nearkin.Answer = await self._call("query", document, **how)
        return answer

    async def query_key(self, key: Any, **how: Any) -> _nearkin.Answer:
        answer: _nearkin.Answer = await self._call("query_key", key, **how)
        return answer

    async def query_many(self, documents: Any, **how: Any) -> _nearkin.Table:
        table: _nearkin.Table = await self._call("query_many", documents, **how)
        return table

    async def query_keys(self, keys: Any, **how: Any) -> _nearkin.Table:
        table: _nearkin.Table = await self._call("query_keys", keys, **how)
        return table

    async def query_passages(self, documents: Any, **how: Any) -> Any:
        return await self._call("query_passages", documents, **how)

    async def signature(self, key: Any) -> _nearkin.Signature:
        signature: _nearkin.Signature = await self._call("signature", key)
        return signature

    async def snapshot(self) -> _nearkin.Snapshot:
        snapshot: _nearkin.Snapshot = await self._call("snapshot")
        return snapshot

    async def keys(self, *a: Any, **how: Any) -> list[Any]:
        """All keys, in memory. If they do not fit, iterate over ``blocking.keys()`` on a thread."""
        return await _run(self._pool, lambda: list(self._sync.keys(*a, **how)))

    async def pairs(self, threshold: float | None = None, **how: Any) -> _nearkin.Table:
        """All pairs, in memory. For more, iterate over ``blocking.pairs()`` on a thread."""

        def read(progress: Any, **how: Any) -> _nearkin.Table:
            table: _nearkin.Table = self._sync.pairs(threshold, **how).read_all(progress=progress)
            return table

        return await _run_long(self._pool, "pairs", read, **how)

    async def clusters(self, threshold: float | None = None, **how: Any) -> _nearkin.Table:
        """All clusters, in memory."""

        def read(progress: Any, **how: Any) -> _nearkin.Table:
            stream = self._sync.clusters(threshold, progress=progress, **how)
            table: _nearkin.Table = stream.read_all()
            return table

        return await _run_long(self._pool, "clusters", read, **how)

    async def stats(self) -> Stats:
        stats: Stats = await self._call("stats")
        return stats

    async def verify(self, **how: Any) -> Verification:
        found: Verification = await self._call("verify", **how)
        return found

    async def backup(self, path: Any) -> None:
        await self._call("backup", path)

    async def close(self) -> None:
        await self._call("close")
        self._pool.shutdown(wait=False)

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


class Index(_Readable):
    """:class:`nearkin.Index` for asyncio. Create it with ``await Index.open(path, params)``."""

    @classmethod
    async def open(
        cls, path: Any, params: _nearkin.Params | None = None, *, workers: int = 4, **how: Any
    ) -> Index:
        """Opens an index. If there is none and ``params`` are given, creates it.

        ``workers`` is the number of threads that run the calls. For all other parameters see
        :class:`nearkin.Index`.
        """
        return cls(await _run(None, _nearkin.Index, path, params, **how), workers)

    @classmethod
    async def create(
        cls, path: Any, params: _nearkin.Params, *, workers: int = 4, **how: Any
    ) -> Index:
        """Creates an index; raises ``ExistsError`` if there is one."""
        return cls(await _run(None, _nearkin.Index.create, path, params, **how), workers)

    async def __aenter__(self) -> Index:
        return self

    async def add(self, keys: Any, documents: Any, **how: Any) -> Added:
        added: Added = await self._call("add", keys, documents, **how)
        return added

    async def insert(self, key: Any, document: Any, **how: Any) -> bool:
        written: bool = await self._call("insert", key, document, **how)
        return written

    async def discard(self, key: Any) -> bool:
        removed: bool = await self._call("discard", key)
        return removed

    async def remove(self, keys: Any) -> int:
        removed: int = await self._call("remove", keys)
        return removed

    async def set_payload(self, key: Any, payload: bytes) -> bool:
        there: bool = await self._call("set_payload", key, payload)
        return there

    async def remove_prefix(self, prefix: Any) -> int:
        removed: int = await self._call("remove_prefix", prefix)
        return removed

    async def remove_before(self, time: Any) -> int:
        removed: int = await self._call("remove_before", time)
        return removed

    async def admit(self, keys: Any, documents: Any, **how: Any) -> _nearkin.Table:
        table: _nearkin.Table = await self._call("admit", keys, documents, **how)
        return table

    async def import_from(self, other: Any, **how: Any) -> Imported:
        done: Imported = await self._call("import_from", other, **how)
        return done

    async def compact(self, **how: Any) -> None:
        await self._call("compact", **how)

    async def flush(self) -> None:
        await self._call("flush")

    async def sync(self) -> None:
        await self._call("sync")

    async def adopt(self, *a: Any, **how: Any) -> Any:
        return await self._call("adopt", *a, **how)

    @property
    def closed(self) -> bool:
        closed: bool = self._sync.closed
        return closed


class Reader(_Readable):
    """:class:`nearkin.Reader` for asyncio. Create it with ``await Reader.open(path)``."""

    @classmethod
    async def open(cls, path: Any, *, workers: int = 4, **how: Any) -> Reader:
        """Opens an index for reading only."""
        return cls(await _run(None, _nearkin.Reader, path, **how), workers)

    async def __aenter__(self) -> Reader:
        return self

    async def refresh(self) -> bool:
        moved: bool = await self._call("refresh")
        return moved


def _document(kind: type, of: type) -> None:
    """Gives the methods and properties the docstrings of what they call."""
    for name, member in vars(kind).items():
        if not name.startswith("_") and member.__doc__ is None:
            member.__doc__ = getattr(of, name).__doc__


_document(_Readable, _nearkin.Reader)
_document(Index, _nearkin.Index)
_document(Reader, _nearkin.Reader)
