"""LangChain and LlamaIndex: their own pipelines drop what is stored already, today and tomorrow."""

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
    kept = chain.invoke([("a", FERRY), ("b", FERRY.upper()), ("c", BREAD), ("d", " ")])
    assert [document.metadata["source"] for document in kept] == ["a", "c", "d"]
    # The next day: nothing passes twice, and what is near to it neither.
    again = NewDocuments(str(tmp_path / "seen"))
    kept = again.transform_documents(documents_of_langchain([("a", FERRY), ("x", BREAD + "!"), ("e", BRIDGE)]))
    assert [document.metadata["source"] for document in kept] == ["e"]
    # The next step failed: the document passes again.
    assert again.transform_documents(kept) == []
    again.forget(kept)
    assert again.transform_documents(kept) == kept


def test_langchain_replaces_a_document_with_an_id(tmp_path):
    pytest.importorskip("langchain_core", reason="no langchain-core")
    from langchain_core.documents import Document
    from langchain_new import NewDocuments

    new = NewDocuments(str(tmp_path / "seen"))
    passed = [len(new.transform_documents([Document(text, id="7")])) for text in (FERRY, FERRY, BREAD)]
    assert passed == [1, 0, 1]
    with nk.Reader(tmp_path / "seen") as reader:
        assert len(reader) == 1 and reader.query(BREAD).keys == ["7"]


def test_llamaindex_ingests_what_is_new(tmp_path):
    pytest.importorskip("llama_index.core", reason="no llama-index-core")
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.schema import Document
    from llamaindex_new import NewNodes

    def ingested(rows):
        pipeline = IngestionPipeline(transformations=[NewNodes(path=str(tmp_path / "seen"))], disable_cache=True)
        nodes = pipeline.run(documents=[Document(id_=key, text=text) for key, text in rows])
        return [node.node_id for node in nodes]

    assert ingested([("a", FERRY), ("b", FERRY.title()), ("c", BREAD)]) == ["a", "c"]
    assert ingested([("a", FERRY), ("c", BRIDGE), ("d", BRIDGE + "!")]) == ["c"]


def test_llamaindex_forgets_what_a_later_step_did_not_store(tmp_path):
    pytest.importorskip("llama_index.core", reason="no llama-index-core")
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.schema import Document, TransformComponent
    from llamaindex_new import NewNodes

    class Embedding(TransformComponent):
        fails: bool

        def __call__(self, nodes, **_):
            if self.fails:
                raise OSError("no network")
            return nodes

    def ingested(fails):
        new = NewNodes(path=str(tmp_path / "seen"))
        pipeline = IngestionPipeline(transformations=[new, Embedding(fails=fails)], disable_cache=True)
        try:
            return [node.node_id for node in pipeline.run(documents=[Document(id_="a", text=FERRY)])]
        except OSError:
            new.forget()
            return None

    assert [ingested(True), ingested(False), ingested(False)] == [None, ["a"], []]
