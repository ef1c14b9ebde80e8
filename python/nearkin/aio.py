"""The index for asyncio: the same calls, awaited, which run on threads outside the event loop.

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
from typing import Any, TypeVar

from . import _nearkin
from ._dedup import dedup as _dedup
from ._types import Added, Imported, Stats, Verification

__all__ = ["Index", "Reader", "dedup"]

_T = TypeVar("_T")


async def _run(pool: ThreadPoolExecutor | None, call: Callable[..., _T], *a: Any, **k: Any) -> _T:
    return await asyncio.get_running_loop().run_in_executor(pool, partial(call, *a, **k))


async def dedup(data: Any, on: str | None = None, **how: Any) -> Any:
    """:func:`nearkin.dedup`, run on a thread."""
    return await _run(None, _dedup, data, on, **how)


class _Readable:
    """Base class of :class:`Index` and :class:`Reader`."""

    _sync: Any

    def __init__(self, sync: Any, threads: int) -> None:
        self._sync = sync
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="nearkin")

    async def _call(self, name: str, *arguments: Any, **keywords: Any) -> Any:
        return await _run(self._pool, getattr(self._sync, name), *arguments, **keywords)

    @property
    def sync(self) -> Any:
        """The underlying index. Its calls block."""
        return self._sync

    @property
    def params(self) -> _nearkin.Params:
        params: _nearkin.Params = self._sync.params
        return params

    def __len__(self) -> int:
        return len(self._sync)

    def __bool__(self) -> bool:
        return True

    async def contains(self, key: Any) -> bool:
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

    async def pairs(self, threshold: float | None = None, **how: Any) -> _nearkin.Table:
        """All pairs, in memory. If they do not fit, iterate over ``sync.pairs()`` on a thread."""
        table: _nearkin.Table = await _run(
            self._pool, lambda: self._sync.pairs(threshold, **how).read_all()
        )
        return table

    async def clusters(self, threshold: float | None = None, **how: Any) -> _nearkin.Table:
        """All clusters, in memory."""
        table: _nearkin.Table = await _run(
            self._pool, lambda: self._sync.clusters(threshold, **how).read_all()
        )
        return table

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
