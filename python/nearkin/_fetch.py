"""Copies a sharded index from an object store to a local folder: whole, verified files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ._errors import NotFoundError

_MANIFEST = re.compile(r"(\d{10,})\.manifest")


def fetch(address: str, folder: str | os.PathLike[str], **options: Any) -> int:
    """Copies the newest generation of the sharded index at ``address`` (``s3://bucket/lake``, or
    any other address that fsspec supports) into a folder that :class:`nearkin.Reader` can open.
    Returns the number of the generation.

    Files that are already in the folder are not fetched again. All files are checked, block by
    block, before the manifest is put in place: the folder always holds either the previous
    generation or this one. ``options`` are passed to the file system. Needs
    ``pip install fsspec``, and for S3 also ``s3fs``.
    """
    import fsspec

    from .shards import Manifest

    files, root = fsspec.core.url_to_fs(address, **options)
    # fsspec caches listings, and a generation may have been committed since.
    files.invalidate_cache()
    try:
        listed = files.ls(f"{root}/manifest", detail=False)
    except FileNotFoundError:
        listed = []
    found = (_MANIFEST.fullmatch(name.rpartition("/")[2]) for name in listed)
    names = {int(name[1]): name[0] for name in found if name}
    if not names:
        raise NotFoundError(f"{address}: there is no sharded index")
    data = files.cat_file(f"{root}/manifest/{names[max(names)]}")
    manifest = Manifest(data)
    here = Path(folder)
    for path, length, _ in manifest.files().rows():
        target = here / path
        if target.exists() and target.stat().st_size == length:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        coming = target.with_name(f"{target.name}.tmp")
        files.get_file(f"{root}/{path}", os.fspath(coming))
        os.replace(coming, target)
    (here / "segments").mkdir(parents=True, exist_ok=True)
    manifest.check(here)
    place = here / manifest.path
    place.parent.mkdir(parents=True, exist_ok=True)
    coming = place.with_name(f"{place.name}.tmp")
    coming.write_bytes(data)
    os.replace(coming, place)
    generation: int = manifest.generation
    return generation
