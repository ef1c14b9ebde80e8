"""Copies a sharded index from an object store to a local folder: whole, verified files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ._errors import MismatchError
from ._store import Store, files_of, identity_of, write_whole


def fetch(address: str, folder: str | os.PathLike[str], **options: Any) -> int:
    """Copies the newest generation of the sharded index at ``address`` (``s3://bucket/lake``, or
    any other address that fsspec supports) into a folder that :class:`nearkin.Reader` can open.
    Returns the number of the generation.

    Files that are already in the folder are not fetched again. All files are checked, block by
    block, before the manifest is put in place: the folder always holds either the previous
    generation or this one. A folder of another index, or of a later generation, is refused.
    ``options`` are passed to the file system. Needs ``pip install fsspec``, and for S3 also ``s3fs``.
    """
    from .shards import Manifest, Shards

    store = Store(address, options)
    generation, data = store.newest()
    manifest = Manifest(data)
    here = Path(folder)
    if any((here / "manifest").glob("*.manifest")):
        local = Shards(here)
        if local.generation > generation or local.ticket(0, 0).uuid != identity_of(data):
            raise MismatchError(
                f"{here}: holds another index, or a later generation, than {address}: fetch into another"
                " folder, or delete this one"
            )
    store.fetch(files_of(manifest), here)
    (here / "segments").mkdir(parents=True, exist_ok=True)
    manifest.check(here)
    write_whole(here / manifest.path, data)
    return generation
