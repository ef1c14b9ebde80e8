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
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial, update_wrapper
from threading import Event
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from . import _nearkin
from ._dedup import dedup as _dedup
from ._progress import reporter

__all__ = ["Index", "Reader", "dedup"]

_T = TypeVar("_T")
_P = ParamSpec("_P")
_Sync = TypeVar("_Sync", bound=_nearkin.Readable)


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


def _awaited(
    method: Callable[Concatenate[Any, _P], _T],
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]:
    """A method of the underlying index, run on a thread of the pool."""

    async def call(self: Any, /, *a: _P.args, **k: _P.kwargs) -> _T:
        if method.__name__ in _LONG:
            return await _run_long(self._pool, method.__name__, method, self._sync, *a, **k)
        return await _run(self._pool, method, self._sync, *a, **k)

    update_wrapper(call, method)
    return call


class _Readable(Generic[_Sync]):
    """Base class of :class:`Index` and :class:`Reader`."""

    def __init__(self, sync: _Sync, threads: int) -> None:
        self._sync = sync
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="nearkin")

    @property
    def blocking(self) -> _Sync:
        """The underlying index. Its calls block."""
        return self._sync

    @property
    def path(self) -> Any:
        return self._sync.path

    @property
    def change(self) -> int:
        return self._sync.change

    @property
    def sketcher(self) -> _nearkin.Sketcher:
        return self._sync.sketcher

    @property
    def params(self) -> _nearkin.Params:
        return self._sync.params

    def __len__(self) -> int:
        return len(self._sync)

    def __bool__(self) -> bool:
        return True

    async def contains(self, key: Any) -> bool:
        """Whether a document has this key."""
        return await _run(self._pool, self._sync.__contains__, key)

    get = _awaited(_nearkin.Readable.get)
    query = _awaited(_nearkin.Readable.query)
    query_key = _awaited(_nearkin.Readable.query_key)
    query_keys = _awaited(_nearkin.Readable.query_keys)
    query_many = _awaited(_nearkin.Readable.query_many)
    query_passages = _awaited(_nearkin.Readable.query_passages)
    signature = _awaited(_nearkin.Readable.signature)
    snapshot = _awaited(_nearkin.Readable.snapshot)

    async def keys(self, *a: Any, **how: Any) -> list[Any]:
        """All keys, in memory. If they do not fit, iterate over ``blocking.keys()`` on a thread."""
        return await _run(self._pool, lambda: list(self._sync.keys(*a, **how)))

    async def pairs(self, threshold: float | None = None, **how: Any) -> _nearkin.Table:
        """All pairs, in memory. For more, iterate over ``blocking.pairs()`` on a thread."""

        def read(progress: Any, **how: Any) -> _nearkin.Table:
            return self._sync.pairs(threshold, **how).read_all(progress=progress)

        return await _run_long(self._pool, "pairs", read, **how)

    async def clusters(self, threshold: float | None = None, **how: Any) -> _nearkin.Table:
        """All clusters, in memory."""

        def read(progress: Any, **how: Any) -> _nearkin.Table:
            return self._sync.clusters(threshold, progress=progress, **how).read_all()

        return await _run_long(self._pool, "clusters", read, **how)

    async def close(self) -> None:
        """Closes the index, and ends its threads."""
        await _run(self._pool, getattr(self._sync, "close"))
        self._pool.shutdown(wait=False)

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


class Index(_Readable[_nearkin.Index]):
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

    @classmethod
    async def temporary(cls, params: _nearkin.Params, *, workers: int = 4, **how: Any) -> Index:
        """Makes an index in memory, which leaves nothing behind."""
        return cls(await _run(None, _nearkin.Index.temporary, params, **how), workers)

    async def __aenter__(self) -> Index:
        return self

    add = _awaited(_nearkin.Index.add)
    admit = _awaited(_nearkin.Index.admit)
    adopt = _awaited(_nearkin.Index.adopt)
    backup = _awaited(_nearkin.Index.backup)
    compact = _awaited(_nearkin.Index.compact)
    discard = _awaited(_nearkin.Index.discard)
    flush = _awaited(_nearkin.Index.flush)
    import_from = _awaited(_nearkin.Index.import_from)
    clear = _awaited(_nearkin.Index.clear)
    insert = _awaited(_nearkin.Index.insert)
    refresh = _awaited(_nearkin.Index.refresh)
    refresh_until = _awaited(_nearkin.Index.refresh_until)
    remove = _awaited(_nearkin.Index.remove)
    remove_before = _awaited(_nearkin.Index.remove_before)
    remove_prefix = _awaited(_nearkin.Index.remove_prefix)
    set_payload = _awaited(_nearkin.Index.set_payload)
    stats = _awaited(_nearkin.Index.stats)
    sync = _awaited(_nearkin.Index.sync)
    verify = _awaited(_nearkin.Index.verify)

    @property
    def closed(self) -> bool:
        return self._sync.closed


class Reader(_Readable[_nearkin.Reader]):
    """:class:`nearkin.Reader` for asyncio. Create it with ``await Reader.open(path)``."""

    @classmethod
    async def open(cls, path: Any, *, workers: int = 4, **how: Any) -> Reader:
        """Opens an index for reading only."""
        return cls(await _run(None, _nearkin.Reader, path, **how), workers)

    async def __aenter__(self) -> Reader:
        return self

    backup = _awaited(_nearkin.Reader.backup)
    refresh = _awaited(_nearkin.Reader.refresh)
    stats = _awaited(_nearkin.Reader.stats)
    verify = _awaited(_nearkin.Reader.verify)


def _document(kind: type, of: type) -> None:
    """Gives the properties the docstrings of what they call."""
    for name, member in vars(kind).items():
        if not name.startswith("_") and member.__doc__ is None:
            member.__doc__ = getattr(of, name).__doc__


_document(_Readable, _nearkin.Readable)
_document(Index, _nearkin.Index)
