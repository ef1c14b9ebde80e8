"""LangChain: a transformer that lets through what is new, and drops what is stored already.

    new = NewDocuments("seen.nearkin")
    documents = new.transform_documents(loader.load())
    try:
        vectors.add_documents(documents)
    except BaseException:
        new.forget(documents)  # else the next run takes them for stored
        raise

Place it before the embedding: each near-copy that is dropped is a vector less to pay for. The index
survives the run, so tomorrow's crawl is compared with today's.
"""

import hashlib

from langchain_core.documents import BaseDocumentTransformer

import nearkin as nk


class NewDocuments(BaseDocumentTransformer):
    """Stores documents in an index, and passes on those that had no near-copy there.

    A document is known by its ``id``, else by ``metadata["source"]`` and its text. Under a known name an
    equal text is dropped, and a changed one replaces the stored one and passes. Texts of blanks pass.
    """

    def __init__(self, path, reject=0.9, params=None):
        self.path, self.reject = path, reject
        self.params = params or nk.Params(threshold=min(reject, 0.8))

    def transform_documents(self, documents, **_):
        documents = list(documents)
        keys = [key_of(document) for document in documents]
        texts = [document.page_content for document in documents]
        # Of equal texts that reach two processes at one moment, one is admitted.
        with nk.Index(self.path, self.params, shared=True) as index:
            decisions = index.admit(keys, texts, reject=self.reject)["decision"]
        known = {"rejected", "unchanged"}
        return [document for document, told in zip(documents, decisions, strict=True) if told not in known]

    def forget(self, documents):
        """Removes documents that were passed on, because the next step did not store them."""
        with nk.Index(self.path, self.params, shared=True) as index:
            index.remove([key_of(document) for document in documents])


def key_of(document):
    if document.id:
        return document.id
    text = hashlib.sha256(document.page_content.encode()).hexdigest()[:16]
    return f"{document.metadata.get('source', '')}#{text}"
