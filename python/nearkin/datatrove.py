"""Deduplication in the pipelines of datatrove.

Two steps replace ``MinhashDedupSignature``, ``MinhashDedupBuckets`` and ``MinhashDedupCluster``. The
fourth, ``MinhashDedupFilter``, stays: it reads the files that :class:`DedupDecisions` writes.
``docs/guide/CLUSTER.md`` has a whole pipeline.

The rule is that of :func:`nearkin.dedup`, for the documents of task 0, then of task 1, and so on: a
document is dropped if its similarity to a document kept before it reaches the threshold. A shared
bucket is not enough. Equal documents in equal tasks give equal files.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from itertools import islice
from typing import Any

from datatrove.io import get_datafolder
from datatrove.pipeline.base import PipelineStep

from . import InvalidError, Params, Signatures, Sketcher
from ._dedup import How, opened, sieved

__all__ = ["DedupDecisions", "DedupSignatures"]

_SUFFIX = ".signatures"
#: Documents that are sketched in one call.
_TEXTS_TOGETHER = 1_000


class DedupSignatures(PipelineStep):  # type: ignore[misc]
    """Writes a file of signatures for each task.

    Place it behind the reader, and give its executor as many tasks as that of the filter. A task
    holds the signatures of its documents in memory, 128 bytes each by default.
    """

    type = "NEARKIN"
    name = "signatures"

    def __init__(self, output_folder: Any, params: Params | None = None) -> None:
        super().__init__()
        self.output_folder = get_datafolder(output_folder)
        self.params = Params() if params is None else params

    def run(self, data: Iterable[Any], rank: int = 0, world_size: int = 1) -> None:
        sketcher = Sketcher(self.params, threads=1)
        texts = (document.text for document in data)
        parts, nulls, count = [], [], 0
        while some := list(islice(texts, _TEXTS_TOGETHER)):
            with self.track_time():
                signatures = sketcher.texts(some)
            parts.append(signatures.to_bytes())
            nulls += [count + row for row in signatures.nulls]
            count += len(some)
        self.stat_update("documents", value=count, unit="task")
        head = {"tasks": world_size, "documents": count, "nulls": nulls}
        head["params"] = self.params.to_json()
        with self.output_folder.open(_name(rank), "wb") as file:
            file.write(json.dumps(head).encode() + b"\n")
            file.writelines(parts)


class DedupDecisions(PipelineStep):  # type: ignore[misc]
    """Decides which documents are dropped, and writes a ``.remove`` file for each task.

    It must run as one task, because a decision depends on all documents that were kept before.
    ``threshold`` is by default that of the parameters. Documents that are similar to a document of
    ``against``, the path of an index, are dropped, too. ``scratch`` is a folder of this machine for
    a temporary index of about 250 bytes per kept document.
    """

    type = "NEARKIN"
    name = "decisions"

    def __init__(
        self,
        input_folder: Any,
        output_folder: Any,
        threshold: float | None = None,
        against: str | None = None,
        scratch: str | None = None,
    ) -> None:
        super().__init__()
        self.input_folder = get_datafolder(input_folder)
        self.output_folder = get_datafolder(output_folder)
        self.threshold = threshold
        self.against = against
        self.scratch = scratch

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> None:
        if world_size != 1:
            raise InvalidError(
                f"DedupDecisions runs as {world_size} tasks, but a decision depends on the documents"
                " of all tasks: give its executor tasks=1"
            )
        tasks, params = _checked(self.input_folder)
        how = How(params, self.threshold, None, opened(self.against), folder=self.scratch)
        with self.track_time():
            read = (_signatures(self.input_folder, number, params) for number in range(tasks))
            decided = sieved(read, lambda signatures: signatures, how)
            for number, (_, kept) in enumerate(decided):
                dropped = [row for row, is_kept in enumerate(kept) if not is_kept]
                # A task that drops nothing gets a file, too: an older run may have left one.
                with self.output_folder.open(f"{number:06d}.remove", "wb") as file:
                    file.write(struct.pack(f"<{len(dropped)}I", *dropped))
                self.stat_update("documents", value=len(kept), unit="task")
                self.stat_update("to_remove", value=len(dropped), unit="task")


def _name(rank: int) -> str:
    return f"{rank:06d}{_SUFFIX}"


def _checked(folder: Any) -> tuple[int, Params]:
    """The number of tasks whose signatures are in a folder, and their parameters. They must be all
    the tasks of one run."""
    names = sorted(folder.list_files(recursive=False, glob_pattern=f"*{_SUFFIX}"))
    if not names:
        raise InvalidError(f"{folder.path} has no signatures: run DedupSignatures first")
    runs = {(head["tasks"], head["params"]) for head in (_read(folder, name)[0] for name in names)}
    if len(runs) > 1:
        raise InvalidError(
            f"{folder.path} has signatures of runs with different tasks or parameters: delete the"
            " folder and run DedupSignatures again"
        )
    [(tasks, params)] = runs
    lacking = sorted(set(map(_name, range(tasks))).difference(names))
    if lacking:
        raise InvalidError(
            f"{folder.path} lacks the signatures of {len(lacking)} of {tasks} tasks, for example"
            f" {lacking[0]}: run these tasks of DedupSignatures again"
        )
    return tasks, Params.from_json(params)


def _read(folder: Any, name: str, *, whole: bool = False) -> tuple[Any, bytes]:
    """The first line of a file of signatures and, if ``whole``, its signatures."""
    with folder.open(name, "rb") as file:
        try:
            head = json.loads(file.readline())
        except ValueError as error:
            raise _damaged(folder, name) from error
        return head, file.read() if whole else b""


def _signatures(folder: Any, rank: int, params: Params) -> Signatures:
    head, data = _read(folder, _name(rank), whole=True)
    if len(data) != head["documents"] * params.signature_bytes:
        raise _damaged(folder, _name(rank))
    return Signatures.from_bytes(params, data, nulls=head["nulls"])


def _damaged(folder: Any, name: str) -> InvalidError:
    return InvalidError(
        f"{folder.path}/{name} is truncated or damaged: run that task of DedupSignatures again"
    )
