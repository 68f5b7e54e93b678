"""The example retrievers for LangChain and LlamaIndex find what the service finds."""

import importlib.util
import json
import os
import subprocess
import sys
import unittest
import urllib.request
from pathlib import Path

URL = os.environ["QUIRE_URL"]
EXAMPLES = Path(__file__).parents[2] / "scripts" / "examples"
QUESTION = "Which of the Tarrabee twins was born first?"


def hits(passages):
    """The hits of the service's own route."""
    body = {"question": QUESTION, "budgets": {"evidence_passages": passages}}
    request = urllib.request.Request(
        URL + "/v1/search", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["hits"]


def example(name):
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Retrievers(unittest.TestCase):
    def test_langchain_gets_documents(self):
        retriever = example("langchain_retriever").QuireRetriever(url=URL, passages=3)
        documents = retriever.invoke(QUESTION)
        expected = hits(3)
        self.assertEqual([document.id for document in documents], [hit["chunk"] for hit in expected])
        self.assertEqual([document.page_content for document in documents], [hit["text"] for hit in expected])
        self.assertEqual(documents[0].metadata["stages"], expected[0]["stages"])

    def test_llama_index_gets_nodes_best_first(self):
        nodes = example("llama_index_retriever").QuireRetriever(URL, passages=3).retrieve(QUESTION)
        expected = hits(3)
        self.assertEqual([node.node_id for node in nodes], [hit["chunk"] for hit in expected])
        self.assertEqual([node.text for node in nodes], [hit["text"] for hit in expected])
        scores = [node.score for node in nodes]
        self.assertEqual(scores, sorted(scores, reverse=True))

    def test_both_run_as_programs(self):
        for name in ["langchain_retriever", "llama_index_retriever"]:
            with self.subTest(name):
                script = [sys.executable, "-B", EXAMPLES / f"{name}.py", URL, QUESTION]
                said = subprocess.run(script, capture_output=True, text=True, check=True).stdout
                for hit in hits(5):
                    self.assertIn(f"{hit['chunk']} {hit['chapter']}: {hit['text']}", said)


if __name__ == "__main__":
    unittest.main()
