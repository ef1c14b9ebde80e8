"""The objects of a sharded index below an address that fsspec knows."""

from __future__ import annotations

import filecmp
import os
import re
import secrets
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import ExistsError, InvalidError, NotFoundError, UnknownOutcomeError

if TYPE_CHECKING:
    from .shards import Manifest

_MANIFEST = re.compile(r"(\d{10,})\.manifest")
_SEGMENT = re.compile(r"\d{10,}\.(seg|dead)")
_PROBE = re.compile(r"probe-[0-9a-f]+\.tmp")
#: Attempts to put a manifest: S3 asks for another one if two puts of a name meet.
_PUTS_MAX = 3


class Store:
    """What a sharded index needs of an object store: list, get, put, and put if absent."""

    def __init__(self, address: str, options: dict[str, Any]) -> None:
        import fsspec

        self.address = address.rstrip("/")
        if self.address.endswith(":"):
            raise InvalidError(f"{address}: give an address with a path, such as s3://bucket/lake")
        self.options = options
        self._files, root = fsspec.core.url_to_fs(self.address, **options)
        self._root = root.rstrip("/")

    def generation(self) -> int | None:
        """The newest generation, or None."""
        found = (_MANIFEST.fullmatch(name) for name in self._names("manifest"))
        return max((int(name[1]) for name in found if name), default=None)

    def newest(self) -> tuple[int, bytes]:
        """The newest generation and its manifest."""
        generation = self.generation()
        if generation is None:
            raise NotFoundError(f"{self.address}: there is no sharded index")
        return generation, self.manifest(generation)

    def manifest(self, generation: int) -> bytes:
        data: bytes = self._fresh().cat_file(self._at(manifest_path(generation)))
        return data

    def segments(self) -> set[str]:
        """The paths of all segments and dead files, listed or not."""
        return {f"segments/{name}" for name in self._names("segments") if _SEGMENT.fullmatch(name)}

    def probes(self) -> list[str]:
        """The paths of probes whose process died."""
        return [f"manifest/{name}" for name in self._names("manifest") if _PROBE.fullmatch(name)]

    def fetch(self, files: Iterable[tuple[str, int]], folder: Path) -> None:
        """Gets the files (path, length) that the folder has not got. Contents are not checked."""
        for path, length in files:
            target = folder / path
            if target.exists() and target.stat().st_size == length:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            coming = target.with_name(f"{target.name}.tmp")
            self._fresh().get_file(self._at(path), os.fspath(coming))
            os.replace(coming, target)

    def put_file(self, path: str, source: Path) -> None:
        """Puts a file under a name that only its writer uses. If a second attempt finds an equal
        object there, it stays.

        Raises ``ExistsError`` if another object has that name.
        """
        try:
            self._files.put_file(os.fspath(source), self._at(path), mode="create")
        except FileExistsError:
            with tempfile.TemporaryDirectory(prefix="nearkin-") as folder:
                there = Path(folder) / "there"
                self._fresh().get_file(self._at(path), os.fspath(there))
                if not filecmp.cmp(source, there, shallow=False):
                    message = f"{self.address}/{path}: a different file exists there"
                    raise ExistsError(message) from None

    def put_new(self, path: str, data: bytes) -> bool:
        """Puts these bytes unless the name is taken; returns whether they are there.

        A request whose answer was lost, or that met another one, is repeated. So the name may be
        taken by the request itself: the object is compared.
        """
        for attempt in range(_PUTS_MAX):
            try:
                self._files.pipe_file(self._at(path), data, mode="create")
                return True
            except FileExistsError as error:
                there = self._looked_up(path, error)
                if there is None:
                    # It was there, perhaps by an attempt of this call, and was deleted.
                    raise self._unknown(path, "the object was deleted meanwhile") from error
                return there == data
            except Exception as error:
                there = self._looked_up(path, error)
                if there is not None:
                    return there == data
                if attempt + 1 == _PUTS_MAX:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _looked_up(self, path: str, error: Exception) -> bytes | None:
        """What is there after a request that failed."""
        try:
            data: bytes = self._fresh().cat_file(self._at(path))
            return data
        except FileNotFoundError:
            return None
        except Exception as unread:
            # The first error may only say that the name is taken.
            why = f"the store does not answer ({unread})"
            raise self._unknown(path, why) from error

    def _unknown(self, path: str, why: str) -> UnknownOutcomeError:
        return UnknownOutcomeError(
            f"{self.address}/{path}: whether this was written is not known, because {why}: refresh,"
            " then look"
        )

    def try_to_remove(self, paths: Iterable[str]) -> None:
        """Removes objects that do no harm if they stay: a sweep finds them."""
        try:
            self.remove(paths)
        except Exception:
            pass

    def remove(self, paths: Iterable[str]) -> int:
        removed = 0
        for path in paths:
            try:
                self._files.rm_file(self._at(path))
                removed += 1
            except FileNotFoundError:
                pass
        return removed

    def check_put_if_absent(self) -> None:
        """Fails if the store overwrites an object although it was asked to put it only if absent.
        Without this, two commits could both succeed, and one would be lost."""
        import fsspec

        # What fsspec does for a file system that cannot: it looks, and then puts.
        looks_first, files = fsspec.AbstractFileSystem.pipe_file, self._files
        while files is not None:
            if getattr(files.pipe_file, "__func__", None) is looks_first:
                raise self._no_put_if_absent()
            # What a file system wraps.
            files = getattr(files, "fs", None)
        path = f"manifest/probe-{secrets.token_hex(8)}.tmp"
        try:
            self._files.pipe_file(self._at(path), b"1", mode="create")
            self._files.pipe_file(self._at(path), b"2", mode="create")
        except FileExistsError:
            return
        except TypeError as error:
            raise self._no_put_if_absent() from error
        finally:
            self.try_to_remove([path])
        raise self._no_put_if_absent()

    def _no_put_if_absent(self) -> InvalidError:
        return InvalidError(
            f"{self.address}: this store, or its client, has no conditional put (If-None-Match), so"
            " two commits at once could lose one. Write to a folder that all machines see, or use a"
            " newer client or store (for S3: s3fs 2024.12 or later)"
        )

    def _fresh(self) -> Any:
        """The file system without the listings that it remembers: there may have been a commit."""
        self._files.invalidate_cache()
        return self._files

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _names(self, folder: str) -> list[str]:
        try:
            listed = self._fresh().ls(self._at(folder), detail=False)
        except FileNotFoundError:
            return []
        return [name.rpartition("/")[2] for name in listed]


def manifest_path(generation: int) -> str:
    return f"manifest/{generation:010}.manifest"


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file that is never there in part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    coming = path.with_name(f"{path.name}.tmp")
    coming.write_bytes(data)
    os.replace(coming, path)


def files_of(manifest: Manifest) -> list[tuple[str, int]]:
    """The files that a manifest lists, with their lengths."""
    return [(path, length) for path, length, _ in manifest.files().rows()]


def identity_of(data: bytes) -> bytes:
    """The id of the index that a manifest belongs to."""
    from .shards import Manifest, Shards

    with tempfile.TemporaryDirectory(prefix="nearkin-") as folder:
        write_whole(Path(folder) / "manifest" / Manifest(data).path.name, data)
        return Shards(folder).ticket(0, 0).uuid
