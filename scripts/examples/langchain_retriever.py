"""A LangChain retriever over quire: python scripts/examples/langchain_retriever.py URL "question"."""

import json
import sys
import urllib.request

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class QuireRetriever(BaseRetriever):
    url: str
    passages: int = 5

    def _get_relevant_documents(self, query, *, run_manager):
        body = {"question": query, "budgets": {"evidence_passages": self.passages}}
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.url + "/v1/search", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as reply:
            hits = json.load(reply)["hits"]
        return [Document(hit.pop("text"), id=hit["chunk"], metadata=hit) for hit in hits]


if __name__ == "__main__":
    for document in QuireRetriever(url=sys.argv[1]).invoke(sys.argv[2]):
        print(f"{document.id} {document.metadata['chapter']}: {document.page_content}\n")
