"""LlamaIndex: a step of an ingestion pipeline that drops nodes whose near-copy is stored already.

    pipeline = IngestionPipeline(
        transformations=[SentenceSplitter(), NewNodes(path="seen.nearkin"), embedding],
        disable_cache=True,
    )
    nodes = pipeline.run(documents=documents)

Without ``disable_cache`` the pipeline would answer equal input from its own cache, with the nodes of the
first time. ``docstore_strategy`` of the pipeline recognises equal texts; this step also near-copies.
"""

from llama_index.core.schema import TransformComponent

import nearkin as nk


class NewNodes(TransformComponent):
    """Stores nodes in an index, and passes on those that had no near-copy there.

    A node is known by its id. Give documents ids of your own (``Document(id_=...)``, and the splitter's
    ``id_func``) if a changed text shall replace its earlier version; random ids are new ones each time.
    """

    path: str
    reject: float = 0.9

    def __call__(self, nodes, **_):
        keys = [node.node_id for node in nodes]
        texts = [node.get_content() for node in nodes]
        params = nk.Params(threshold=min(self.reject, 0.8))
        with nk.Index(self.path, params, shared=True) as index:
            decisions = index.admit(keys, texts, reject=self.reject)["decision"]
        known = {"rejected", "unchanged"}
        return [node for node, told in zip(nodes, decisions, strict=True) if told not in known]
