"""LangChain and LlamaIndex: their own pipelines drop what is stored already, today and tomorrow."""

import contextlib

import pytest

import nearkin as nk

FERRY = "the ferry to the islands was cancelled on monday after the harbour had frozen over in the night"
BREAD = "a recipe for bread with rye flour and a little honey, baked for an hour in a hot oven at home"
BRIDGE = "the bridge over the river is open again, said the mayor, and the old road will be closed for good"


def documents_of_langchain(rows):
    from langchain_core.documents import Document

    return [Document(text, metadata={"source": source}) for source, text in rows]


def test_langchain_passes_on_what_is_new(tmp_path):
    pytest.importorskip("langchain_core", reason="no langchain-core")
    from langchain_core.runnables import RunnableLambda
    from langchain_new import NewDocuments

    new = NewDocuments(str(tmp_path / "seen"))
    # As a step of a chain.
    chain = RunnableLambda(documents_of_langchain) | RunnableLambda(new.transform_documents)
    with new:
        kept = chain.invoke([("a", FERRY), ("b", FERRY.upper()), ("c", BREAD), ("d", " ")])
    assert [document.metadata["source"] for document in kept] == ["a", "c", "d"]
    # The next day: nothing passes twice, and what is near to it neither.
    tomorrow = documents_of_langchain([("a", FERRY), ("x", BREAD + "!"), ("e", BRIDGE)])
    for failed in (OSError, KeyboardInterrupt, None):
        with contextlib.suppress(OSError, KeyboardInterrupt), NewDocuments(str(tmp_path / "seen")) as again:
            kept = again.transform_documents(tomorrow)
            assert [document.metadata["source"] for document in kept] == ["e"]
            assert again.transform_documents(kept) == []
            if failed:
                raise failed  # the next step did not store the document: it passes again
    with again:
        assert again.transform_documents(tomorrow) == []
    with pytest.raises(RuntimeError, match="with new"):
        again.transform_documents(tomorrow)


def test_langchain_does_not_forget_what_another_process_stored(tmp_path):
    pytest.importorskip("langchain_core", reason="no langchain-core")
    from langchain_new import NewDocuments

    rows = documents_of_langchain([("a", FERRY)])
    with contextlib.suppress(OSError), NewDocuments(str(tmp_path / "seen")) as one:
        with NewDocuments(str(tmp_path / "seen")) as other:
            assert len(other.transform_documents(rows)) == 1
        assert one.transform_documents(rows) == []
        raise OSError
    with nk.Reader(tmp_path / "seen") as reader:
        assert len(reader) == 1


def test_langchain_replaces_a_document_with_an_id(tmp_path):
    pytest.importorskip("langchain_core", reason="no langchain-core")
    from langchain_core.documents import Document
    from langchain_new import NewDocuments

    with NewDocuments(str(tmp_path / "seen")) as new:
        passed = [len(new.transform_documents([Document(text, id="7")])) for text in (FERRY, FERRY, BREAD)]
    assert passed == [1, 0, 1]
    with nk.Reader(tmp_path / "seen") as reader:
        assert len(reader) == 1 and reader.query(BREAD).keys == ["7"]


#: More than are admitted at once, and a key that is too long for an index.
MANY = [(f"k{row}", " ".join(f"{row * 31 + word}" for word in range(9))) for row in range(2_500)]
TOO_LONG = ("k" * 5_000, FERRY)


def test_langchain_forgets_what_was_stored_before_an_error(tmp_path):
    pytest.importorskip("langchain_core", reason="no langchain-core")
    from langchain_core.documents import Document
    from langchain_new import NewDocuments

    def passed(rows):
        with NewDocuments(str(tmp_path / "seen")) as new:
            return len(new.transform_documents([Document(text, id=key) for key, text in rows]))

    assert passed(MANY[:7]) == 7
    with pytest.raises(nk.InvalidError):
        passed([*MANY, TOO_LONG])
    with nk.Reader(tmp_path / "seen") as reader:
        assert sorted(reader) == sorted(key for key, _ in MANY[:7])
    assert passed(MANY) == len(MANY) - 7


def pipeline_of(*steps):
    from llama_index.core.ingestion import IngestionPipeline

    return IngestionPipeline(transformations=steps, disable_cache=True)


def llama_documents(rows):
    from llama_index.core.schema import Document

    return [Document(id_=key, text=text) for key, text in rows]


def failing_step():
    from llama_index.core.schema import TransformComponent

    class Step(TransformComponent):
        fails: bool = False

        def __call__(self, nodes, **_):
            if self.fails:
                raise OSError("no network")
            return nodes

    return Step()


def test_llamaindex_ingests_what_is_new(tmp_path):
    pytest.importorskip("llama_index.core", reason="no llama-index-core")
    from llamaindex_new import NewNodes

    def ingested(rows):
        with NewNodes(path=str(tmp_path / "seen")) as new:
            return [node.node_id for node in pipeline_of(new).run(documents=llama_documents(rows))]

    assert ingested([("a", FERRY), ("b", FERRY.title()), ("c", BREAD)]) == ["a", "c"]
    assert ingested([("a", FERRY), ("c", BRIDGE), ("d", BRIDGE + "!")]) == ["c"]


def test_llamaindex_forgets_what_a_later_step_did_not_store(tmp_path):
    pytest.importorskip("llama_index.core", reason="no llama-index-core")
    from llamaindex_new import NewNodes

    splitter, new, embedding = failing_step(), NewNodes(path=str(tmp_path / "seen")), failing_step()
    pipeline = pipeline_of(splitter, new, embedding)

    def ingested(rows, fails=None):
        if fails:
            fails.fails = True
        try:
            with new:
                return [node.node_id for node in pipeline.run(documents=llama_documents(rows))]
        except OSError:
            fails.fails = False
            return None

    one, two = [("a", FERRY)], [("a", FERRY), ("c", BREAD)]
    assert [ingested(one, embedding), ingested(one), ingested(one)] == [None, ["a"], []]
    # What an earlier run stored stays, in a run that fails before this step or after it.
    assert [ingested(two, splitter), ingested(one)] == [None, []]
    assert [ingested(two, embedding), ingested(two), ingested(two)] == [None, ["c"], []]
    with pytest.raises(RuntimeError, match="with new"):
        pipeline.run(documents=llama_documents(one))


def test_llamaindex_forgets_what_was_stored_before_an_error(tmp_path):
    pytest.importorskip("llama_index.core", reason="no llama-index-core")
    from llamaindex_new import NewNodes

    def passed(rows):
        with NewNodes(path=str(tmp_path / "seen")) as new:
            return len(pipeline_of(new).run(documents=llama_documents(rows)))

    with pytest.raises(nk.InvalidError):
        passed([*MANY, TOO_LONG])
    assert passed(MANY) == len(MANY)


def test_llamaindex_refuses_several_processes(tmp_path):
    pytest.importorskip("llama_index.core", reason="no llama-index-core")
    from llamaindex_new import NewNodes

    # Each process would know of its own nodes only.
    with NewNodes(path=str(tmp_path / "seen")) as new, pytest.raises(TypeError, match="without num_workers"):
        pipeline_of(new).run(documents=llama_documents([("a", FERRY), ("b", BREAD)]), num_workers=2)
