"""The official Cohere client, first and second API, and Jina's shape over plain HTTP."""

import json
import os
import unittest
import urllib.request

import cohere
from cohere.core.request_options import RequestOptions
from cohere.errors import BadRequestError, NotFoundError

URL = os.environ["QUIRE_URL"]
RERANKER = "multilingual-e5-small"
QUERY = "Who keeps the lighthouse?"
DOCUMENTS = [
    "Bread is baked in the morning.",
    "The lighthouse is kept by Ada Finch.",
    "The moon was full.",
    "Ada Finch has kept the lighthouse for years.",
]
ONCE = RequestOptions(max_retries=0)


class Rerank(unittest.TestCase):
    def setUp(self):
        self.first = self.enterContext(cohere.Client(api_key="any", base_url=URL))
        self.second = self.enterContext(cohere.ClientV2(api_key="any", base_url=URL))

    def rank(self, **more):
        given = {"model": RERANKER, "query": QUERY, "documents": DOCUMENTS, **more}
        return self.second.rerank(request_options=ONCE, **given)

    def test_documents_come_best_first_with_scores_from_0_to_1(self):
        found = self.rank()
        places = [result.index for result in found.results]
        self.assertEqual(sorted(places), [0, 1, 2, 3])
        self.assertEqual(set(places[:2]), {1, 3})
        scores = [result.relevance_score for result in found.results]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertTrue(all(0 <= score <= 1 for score in scores))
        self.assertTrue(found.id)
        self.assertEqual(found.meta.api_version.version, "2")
        self.assertEqual(found.meta.billed_units.search_units, 1)
        self.assertIsNone(found.meta.warnings)

    def test_a_score_does_not_depend_on_the_other_documents(self):
        scores = {result.index: result.relevance_score for result in self.rank().results}
        alone = self.rank(documents=[DOCUMENTS[3]]).results[0].relevance_score
        self.assertEqual(alone, scores[3])

    def test_equal_documents_stay_in_their_order(self):
        found = self.rank(documents=["same"] * 5)
        self.assertEqual([result.index for result in found.results], [0, 1, 2, 3, 4])

    def test_as_many_are_given_as_are_asked_for(self):
        whole = self.rank().results
        self.assertEqual(self.rank(top_n=2).results, whole[:2])
        self.assertEqual(self.rank(top_n=100).results, whole)
        many = self.rank(documents=["a"] * 101)
        self.assertEqual(many.meta.billed_units.search_units, 2)

    def test_both_apis_find_the_same_and_the_first_gives_documents_back(self):
        objects = [{"text": text} for text in DOCUMENTS]
        for documents in [DOCUMENTS, objects]:
            found = self.first.rerank(
                query=QUERY, documents=documents, return_documents=True, request_options=ONCE
            )
            ranked = [(result.index, result.relevance_score) for result in found.results]
            self.assertEqual(ranked, [(r.index, r.relevance_score) for r in self.rank().results])
            for result in found.results:
                self.assertEqual(result.document.text, DOCUMENTS[result.index])
            self.assertEqual(found.meta.api_version.version, "1")
        bare = self.first.rerank(query=QUERY, documents=DOCUMENTS, model=RERANKER, request_options=ONCE)
        self.assertTrue(all(result.document is None for result in bare.results))

    def test_a_long_document_is_cut_and_named(self):
        long = "lighthouse keeper " * 1000
        found = self.rank(documents=["short", long])
        self.assertEqual(len(found.meta.warnings), 1)
        self.assertTrue(found.meta.warnings[0].endswith(": 1"), found.meta.warnings)
        words = "The lighthouse is kept by Ada Finch."
        few = self.rank(documents=[words + " And so on." * 300], max_tokens_per_doc=9)
        self.assertIsNone(few.meta.warnings)

    def test_what_cannot_be_ranked_is_a_bad_request(self):
        for more in [
            {"query": ""},
            {"documents": []},
            {"documents": ["a", " "]},
            {"documents": ["a"] * 1001},
            {"documents": [{"title": "no text"}]},
            {"top_n": 0},
            {"max_tokens_per_doc": 0},
            {"query": "x" * 20_000},
        ]:
            with self.subTest(list(more)), self.assertRaises(BadRequestError) as raised:
                self.rank(**more)
            self.assertGreater(len(raised.exception.body["message"]), 10)
        with self.assertRaises(BadRequestError):
            self.first.rerank(query=QUERY, documents=DOCUMENTS, rank_fields=["title"], request_options=ONCE)

    def test_another_model_is_not_found(self):
        with self.assertRaises(NotFoundError) as raised:
            self.rank(model="rerank-v3.5")
        self.assertIn(RERANKER, raised.exception.body["message"])

    def test_jinas_usage_counts_the_tokens_read(self):
        def ask(documents):
            body = {"model": RERANKER, "query": QUERY, "documents": documents, "top_n": 1}
            request = urllib.request.Request(
                URL + "/v1/rerank", json.dumps(body).encode(), {"content-type": "application/json"}
            )
            with urllib.request.urlopen(request) as reply:
                return json.load(reply)

        one, two = ask(DOCUMENTS[:1]), ask(DOCUMENTS[:1] * 2)
        self.assertEqual(one["model"], RERANKER)
        self.assertEqual(one["usage"]["total_tokens"], one["usage"]["prompt_tokens"])
        added = two["usage"]["total_tokens"] - one["usage"]["total_tokens"]
        self.assertGreater(added, 5)
        # Of the query is counted once what is not a document's.
        self.assertGreater(one["usage"]["total_tokens"], added)


if __name__ == "__main__":
    unittest.main()
