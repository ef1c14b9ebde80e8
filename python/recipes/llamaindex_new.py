"""LlamaIndex: a step of an ingestion pipeline that drops nodes whose near-copy is stored already.

    new = NewNodes(path="seen.nearkin")
    pipeline = IngestionPipeline(transformations=[SentenceSplitter(), new, embedding], disable_cache=True)
    try:
        nodes = pipeline.run(documents=documents)
    except BaseException:
        new.forget()  # else the next run takes them for stored
        raise

Without ``disable_cache`` the pipeline would answer equal input from its own cache, with the nodes of the
first time. ``docstore_strategy`` of the pipeline recognises equal texts; this step also near-copies.
"""

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
    _passed: list = PrivateAttr(default_factory=list)

    def __call__(self, nodes, **_):
        keys = [node.node_id for node in nodes]
        texts = [node.get_content() for node in nodes]
        with self._index() as index:
            decisions = index.admit(keys, texts, reject=self.reject)["decision"]
        known = {"rejected", "unchanged"}
        passed = [node for node, told in zip(nodes, decisions, strict=True) if told not in known]
        self._passed = [node.node_id for node in passed]
        return passed

    def forget(self):
        """Removes the nodes that were passed on last, because a later step did not store them."""
        with self._index() as index:
            index.remove(self._passed)

    def _index(self):
        return nk.Index(self.path, nk.Params(threshold=min(self.reject, 0.8)), shared=True)
