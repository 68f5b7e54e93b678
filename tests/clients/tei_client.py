"""text-embeddings-inference's API: the official hub client, and plain HTTP where that has no method."""

import json
import os
import unittest
import urllib.error
import urllib.request

import numpy
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError

URL = os.environ["QUIRE_URL"]
TEXTS = ["The lighthouse of Ivell.", "一庹水"]


def post(path, body):
    """Status and JSON of the answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


class Embed(unittest.TestCase):
    def test_the_hub_client_gets_the_vectors_of_embed(self):
        status, vectors = post("/embed", {"inputs": TEXTS})
        self.assertEqual((status, [len(vector) for vector in vectors]), (200, [384, 384]))
        for model in [URL, URL + "/embed"]:
            client = InferenceClient(model=model)
            found = client.feature_extraction(TEXTS)
            self.assertTrue(numpy.array_equal(found, numpy.array(vectors, dtype="float32")))
            one = client.feature_extraction(TEXTS[0], normalize=True, truncate=True)
            self.assertTrue(numpy.array_equal(one, found[:1]))
        self.assertTrue(numpy.allclose(numpy.linalg.norm(found, axis=1), 1, atol=1e-5))

    def test_a_question_has_a_vector_of_its_own(self):
        client = InferenceClient(model=URL)
        passage, named = (client.feature_extraction(TEXTS[0], prompt_name=name) for name in [None, "passage"])
        query = client.feature_extraction(TEXTS[0], prompt_name="query")
        self.assertTrue(numpy.array_equal(passage, named))
        self.assertFalse(numpy.array_equal(passage, query))

    def test_what_the_client_cannot_have_is_an_error_with_the_reason(self):
        client = InferenceClient(model=URL)
        for more in [{"normalize": False}, {"dimensions": 7}, {"prompt_name": "x"}, {"truncation_direction": "left"}]:
            with self.subTest(more), self.assertRaises(HfHubHTTPError) as raised:
                client.feature_extraction("a", **more)
            self.assertEqual(raised.exception.response.status_code, 422)
            self.assertEqual(set(raised.exception.response.json()), {"error", "error_type"})

    def test_errors_have_the_status_and_type_of_that_api(self):
        long = "lighthouse keeper " * 1000
        for body, status, kind in [
            ({"inputs": ["a", long]}, 413, "validation"),
            ({"inputs": ["a"] * 2049}, 413, "validation"),
            ({"inputs": []}, 400, "empty"),
            ({"inputs": ""}, 400, "empty"),
            ({"inputs": [1, 2]}, 422, "validation"),
            ({"input": "a"}, 422, "validation"),
            (b"not json", 422, "validation"),
        ]:
            with self.subTest(status=status, kind=kind):
                found, error = post("/embed", body)
                self.assertEqual((found, error["error_type"]), (status, kind))
                self.assertGreater(len(error["error"]), 10)
        status, vectors = post("/embed", {"inputs": ["a", long], "truncate": True})
        self.assertEqual((status, len(vectors)), (200, 2))


class Rerank(unittest.TestCase):
    QUERY = "Who keeps the lighthouse?"
    TEXTS = ["Bread is baked in the morning.", "The lighthouse is kept by Ada Finch."]

    def rank(self, **more):
        return post("/rerank", {"query": self.QUERY, "texts": self.TEXTS, **more})

    def test_texts_come_best_first(self):
        status, ranks = self.rank()
        self.assertEqual((status, [rank["index"] for rank in ranks]), (200, [1, 0]))
        self.assertTrue(all(set(rank) == {"index", "score"} and 0 <= rank["score"] <= 1 for rank in ranks))
        status, named = self.rank(return_text=True)
        self.assertEqual([rank["text"] for rank in named], [self.TEXTS[1], self.TEXTS[0]])

    def test_raw_scores_are_the_rerankers_own(self):
        # The small models' is a mean cosine, moved to 0 to 1 by (s + 1) / 2.
        for mapped, raw in zip(self.rank()[1], self.rank(raw_scores=True)[1], strict=True):
            self.assertEqual(mapped["index"], raw["index"])
            self.assertAlmostEqual(mapped["score"], (raw["score"] + 1) / 2, places=12)

    def test_errors_have_the_status_and_type_of_that_api(self):
        long = "lighthouse keeper " * 1000
        for more, status, kind in [
            ({"texts": ["a", long]}, 413, "validation"),
            ({"texts": ["a"] * 1001}, 413, "validation"),
            ({"texts": []}, 400, "empty"),
            ({"texts": "a"}, 422, "validation"),
            ({"query": " "}, 422, "validation"),
            ({"top_n": 1}, 422, "validation"),
        ]:
            with self.subTest(list(more)):
                found, error = self.rank(**more)
                self.assertEqual((found, error["error_type"]), (status, kind))
        self.assertEqual(self.rank(texts=["a", long], truncate=True)[0], 200)


class Info(unittest.TestCase):
    def test_the_server_says_what_it_runs_and_takes(self):
        with urllib.request.urlopen(URL + "/info") as reply:
            info = json.load(reply)
        self.assertEqual(info["model_id"], "multilingual-e5-small")
        self.assertEqual(info["model_type"], {"embedding": {"pooling": "mean"}})
        self.assertEqual((info["max_input_length"], info["max_client_batch_size"]), (512, 2048))
        self.assertFalse(info["auto_truncate"])
        self.assertEqual(info["reranker"]["method"], "late_interaction")


if __name__ == "__main__":
    unittest.main()
