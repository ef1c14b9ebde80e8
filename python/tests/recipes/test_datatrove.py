"""The steps for datatrove decide as one machine does, and their files are the same in every run."""

import json

import pytest

import nearkin as nk

pytest.importorskip("datatrove", reason="no datatrove (pip install 'datatrove[io]' regex tokenizers)")


def executor(folder, pipeline, tasks, workers=1):
    from datatrove.executor import LocalPipelineExecutor

    return LocalPipelineExecutor(
        pipeline, tasks=tasks, workers=workers, logging_dir=str(folder / "logs" / str(len(pipeline)))
    )


def written(rows, folder, files):
    """Writes the rows to files; returns the rows of each file."""
    folder.mkdir()
    parts = [rows[first::files] for first in range(files)]
    for number, part in enumerate(parts):
        lines = [json.dumps({"id": key, "text": text or ""}) + "\n" for key, text in part]
        (folder / f"{number:02}.jsonl").write_text("".join(lines), encoding="utf-8")
    return parts


def signed(folder, tasks, params, workers=1):
    from datatrove.pipeline.readers import JsonlReader

    from nearkin.datatrove import DedupSignatures

    reader = JsonlReader(str(folder / "in"))
    step = DedupSignatures(str(folder / "signatures"), params)
    executor(folder, [reader, step], tasks, workers).run()


def decided(folder, **how):
    from nearkin.datatrove import DedupDecisions

    step = DedupDecisions(str(folder / "signatures"), str(folder / "removals"), **how)
    executor(folder, [step], 1).run()


def removals(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "removals").glob("*"))}


def filtered(folder, tasks):
    """What datatrove's own last stage lets through."""
    from datatrove.pipeline.dedup import MinhashDedupFilter
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    # Without a text a document does not pass datatrove's reader.
    steps = [JsonlReader(str(folder / "in")), MinhashDedupFilter(str(folder / "removals"))]
    steps.append(JsonlWriter(str(folder / "out"), compression=None))
    executor(folder, steps, tasks).run()
    lines = [line for path in (folder / "out").glob("*.jsonl") for line in path.open(encoding="utf-8")]
    return sorted(json.loads(line)["id"] for line in lines)


@pytest.mark.parametrize(("files", "tasks"), [(1, 1), (3, 3), (5, 2)])
def test_datatrove_keeps_what_dedup_keeps(world, tmp_path, files, tasks):
    parts = written(world.rows, tmp_path / "in", files)
    signed(tmp_path, tasks, world.params, workers=2)
    decided(tmp_path)
    in_order = [row for task in range(tasks) for part in parts[task::tasks] for row in part]
    expected = sorted(key for key, text in world.kept_of(in_order) if text)
    assert filtered(tmp_path, tasks) == expected
    assert len(removals(tmp_path)) == tasks


def test_equal_runs_write_equal_files(world, tmp_path):
    told = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        folder.mkdir()
        written(world.rows, folder / "in", 3)
        signed(folder, 3, world.params, workers)
        decided(folder)
        told.append(removals(folder))
    assert told[0] == told[1] and any(told[0].values())


def test_decisions_drop_documents_of_an_index(tmp_path):
    text = "the ferry to the islands was cancelled on monday"
    with nk.Index(tmp_path / "ix", nk.Params()) as index:
        index.add(["seen"], [text])
    written([("a", text), ("b", "a recipe for rye bread with honey")], tmp_path / "in", 1)
    signed(tmp_path, 1, nk.Params())
    decided(tmp_path, against=str(tmp_path / "ix"))
    assert filtered(tmp_path, 1) == ["b"]


def test_signatures_that_are_no_whole_run_are_refused(tmp_path):
    from nearkin.datatrove import DedupDecisions

    rows = [(f"k{at}", f"a text of a few words, number {at}") for at in range(9)]
    written(rows, tmp_path / "in", 3)

    def told():
        step = DedupDecisions(str(tmp_path / "signatures"), str(tmp_path / "removals"))
        with pytest.raises(nk.InvalidError) as raised:
            step.run()
        assert not removals(tmp_path)
        return str(raised.value)

    assert "run DedupSignatures first" in told()
    signed(tmp_path, 3, nk.Params())
    file = tmp_path / "signatures" / "000001.signatures"
    whole = file.read_bytes()
    file.unlink()
    assert "lacks the signatures of 1 of 3 tasks" in told()
    file.write_bytes(whole.replace(b'"tasks": 3', b'"tasks": 4'))
    assert "different tasks or parameters" in told()
    file.write_bytes(whole[:20])
    assert "000001.signatures is truncated or damaged" in told()
    with pytest.raises(nk.InvalidError, match="give its executor tasks=1"):
        DedupDecisions(str(tmp_path), str(tmp_path)).run(rank=0, world_size=2)
