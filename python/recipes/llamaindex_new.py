"""LlamaIndex: a step of an ingestion pipeline that drops nodes whose near-copy is stored already.

    new = NewNodes(path="seen.nearkin")
    pipeline = IngestionPipeline(transformations=[SentenceSplitter(), new, embedding], disable_cache=True)
    with new:  # if the block fails, what it passed on is forgotten, and passes again
        nodes = pipeline.run(documents=documents)

Without ``disable_cache`` the pipeline would answer equal input from its own cache, with the nodes of the
first time. ``docstore_strategy`` of the pipeline recognises equal texts; this step also near-copies.
A process that is killed forgets nothing. ``num_workers`` is refused.
"""

import time

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import TransformComponent

import nearkin as nk


class NewNodes(TransformComponent):
    """Stores nodes in an index, and passes on those that had no near-copy there.

    A node is known by its id. Give documents ids of your own (``Document(id_=...)``, and the splitter's
    ``id_func``) if a changed text shall replace its earlier version; random ids are new ones each time.
    """

    path: str
    reject: float = 0.9
    _keys: list | None = PrivateAttr(None)
    _since: int = PrivateAttr(0)

    def __enter__(self):
        self._keys, self._since = [], time.time_ns() // 1_000_000
        return self

    def __exit__(self, failed, *_):
        keys, self._keys = self._keys, None
        if failed:
            with self._index() as index:
                stored = {key: index.get(key) for key in keys}
                # A node that was unchanged keeps its earlier time.
                index.remove([key for key, was in stored.items() if was and was.time_ms >= self._since])

    def __call__(self, nodes, **_):
        if self._keys is None:
            raise RuntimeError("NewNodes forgets what a later step did not store: use `with new:`")
        keys = [node.node_id for node in nodes]
        texts = [node.get_content() for node in nodes]
        begin = len(self._keys)
        self._keys += keys  # before admit, which may fail after some nodes were stored
        with self._index() as index:
            decisions = index.admit(keys, texts, reject=self.reject)["decision"]
        stored = {"admitted", "replaced"}  # another process may have stored what is unchanged
        self._keys[begin:] = [key for key, told in zip(keys, decisions, strict=True) if told in stored]
        known = {"rejected", "unchanged"}
        return [node for node, told in zip(nodes, decisions, strict=True) if told not in known]

    def __reduce__(self):
        raise TypeError("NewNodes works in one process: run the pipeline without num_workers")

    def _index(self):
        return nk.Index(self.path, nk.Params(threshold=min(self.reject, 0.8)), shared=True)
