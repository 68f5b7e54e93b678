"""The environment of the clients holds what the other files import, and reaches the server."""

import importlib
import json
import os
import unittest
import urllib.request

PACKAGES = ["openai", "cohere", "mcp", "huggingface_hub", "langchain_core", "llama_index.core", "selenium"]


class Installed(unittest.TestCase):
    def test_every_client_can_be_imported(self):
        for package in PACKAGES:
            with self.subTest(package):
                importlib.import_module(package)

    def test_the_server_has_the_sample_corpus(self):
        with urllib.request.urlopen(os.environ["QUIRE_URL"] + "/v1/books") as reply:
            self.assertEqual(len(json.load(reply)["books"]), 2)


if __name__ == "__main__":
    unittest.main()
