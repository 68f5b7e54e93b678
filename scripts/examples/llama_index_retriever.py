"""A LlamaIndex retriever over quire: python scripts/examples/llama_index_retriever.py URL "question"."""

import json
import sys
import urllib.request

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode


class QuireRetriever(BaseRetriever):
    def __init__(self, url, passages=5):
        super().__init__()
        self.url, self.passages = url, passages

    def _retrieve(self, query_bundle):
        body = {"question": query_bundle.query_str, "budgets": {"evidence_passages": self.passages}}
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.url + "/v1/search", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as reply:
            hits = json.load(reply)["hits"]
        about = ["title", "chapter", "rank"]  # What a model is shown beside the text.
        nodes = [TextNode(text=hit["text"], id_=hit["chunk"], metadata={k: hit[k] for k in about}) for hit in hits]
        return [NodeWithScore(node=node, score=1 / node.metadata["rank"]) for node in nodes]


if __name__ == "__main__":
    for found in QuireRetriever(sys.argv[1]).retrieve(sys.argv[2]):
        print(f"{found.node_id} {found.metadata['chapter']}: {found.text}\n")
