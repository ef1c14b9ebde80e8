"""LangChain: a transformer that lets through what is new, and drops what is stored already.

    new = NewDocuments("seen.nearkin")
    with new:  # if the block fails, what it passed on is forgotten, and passes again
        vectors.add_documents(new.transform_documents(loader.load()))

Place it before the embedding: each near-copy that is dropped is a vector less to pay for. The index
survives the run, so tomorrow's crawl is compared with today's. A process that is killed forgets nothing.
"""

import hashlib
import time

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
        self._keys = None

    def __enter__(self):
        self._keys, self._since = [], time.time_ns() // 1_000_000
        return self

    def __exit__(self, failed, *_):
        keys, self._keys = self._keys, None
        if failed:
            with nk.Index(self.path, self.params, shared=True) as index:
                stored = {key: index.get(key) for key in keys}
                # A document that was unchanged keeps its earlier time.
                index.remove([key for key, was in stored.items() if was and was.time_ms >= self._since])

    def transform_documents(self, documents, **_):
        if self._keys is None:
            raise RuntimeError("NewDocuments forgets what a later step did not store: use `with new:`")
        documents = list(documents)
        keys = [key_of(document) for document in documents]
        texts = [document.page_content for document in documents]
        begin = len(self._keys)
        self._keys += keys  # before admit, which may fail after some documents were stored
        # Of equal texts that reach two processes at one moment, one is admitted.
        with nk.Index(self.path, self.params, shared=True) as index:
            decisions = index.admit(keys, texts, reject=self.reject)["decision"]
        stored = {"admitted", "replaced"}  # another process may have stored what is unchanged
        self._keys[begin:] = [key for key, told in zip(keys, decisions, strict=True) if told in stored]
        known = {"rejected", "unchanged"}
        return [document for document, told in zip(documents, decisions, strict=True) if told not in known]


def key_of(document):
    if document.id:
        return document.id
    text = hashlib.sha256(document.page_content.encode()).hexdigest()[:16]
    return f"{document.metadata.get('source', '')}#{text}"
