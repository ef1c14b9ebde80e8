"""nearkin.aio: the same calls as the classes it wraps; a cancelled call stops."""

import asyncio
import subprocess
import sys
import time

import pytest

import nearkin as nk
from conftest import made_text

TEXTS = [made_text(seed) for seed in range(40_000)]


@pytest.mark.parametrize("name", ["Index", "Reader"])
def test_every_call_is_there_and_documented(name):
    plain, awaited = getattr(nk, name), getattr(nk.aio, name)
    missing = [call for call in dir(plain) if not call.startswith("_") and call not in dir(awaited)]
    assert missing == []
    bare = [call for call in dir(awaited) if call[0] != "_" and not getattr(awaited, call).__doc__]
    assert bare == []


def test_dir_shows_what_there_is_and_importing_is_light():
    assert dir(nk) == sorted(nk.__all__) and all(hasattr(nk, name) for name in nk.__all__)
    heavy = {"asyncio", "ssl", "numpy", "tempfile"}
    code = f"import sys, nearkin; print(sorted({heavy} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_calls_that_were_hidden_or_missing(tmp_path):
    async def main():
        async with await nk.aio.Index.create(tmp_path / "ix", nk.Params()) as index:
            await index.add(["a", "b"], [TEXTS[0], TEXTS[0]])
            assert await index.sync() == index.change
            assert await index.keys() == ["a", "b"]
            assert len(await index.pairs()) == 1
            assert (await index.snapshot()).change == index.change == index.blocking.change

    asyncio.run(main())


def cancelled(start):
    """Cancels a call once it has reported; returns its last report: done, total."""
    reports = []

    async def main():
        reported = asyncio.Event()
        loop = asyncio.get_running_loop()

        def progress(done, total):
            reports.append((done, total))
            loop.call_soon_threadsafe(reported.set)
            time.sleep(0.05)

        task = asyncio.create_task(start(progress))
        await reported.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    return reports[-1]


def test_a_cancelled_dedup_stops():
    done, total = cancelled(lambda progress: nk.aio.dedup(TEXTS, progress=progress))
    assert 0 < done < total


def test_a_cancelled_add_stops_and_what_it_wrote_stays(tmp_path):
    keys = [str(number) for number in range(len(TEXTS))]

    async def add(progress):
        async with await nk.aio.Index.open(tmp_path / "ix", nk.Params()) as index:
            await index.add(keys, TEXTS, progress=progress)

    cancelled(add)
    with nk.Index(tmp_path / "ix") as index:
        assert len(index) < len(TEXTS)
        assert index.verify().problems == []
