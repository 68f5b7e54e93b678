"""The official OpenAI client: models, embeddings, chat completions, typed errors."""

import base64
import json
import os
import struct
import unittest
import urllib.request

import httpx2
import openai

URL = os.environ["QUIRE_URL"]
EMBEDDER = "multilingual-e5-small"
TWINS = "Which of the Tarrabee twins was born first?"


def client(**options):
    return openai.OpenAI(base_url=URL + "/v1", api_key="any", max_retries=0, **options)


def raw(path, body=None):
    """A request without any client."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


class Models(unittest.TestCase):
    def test_the_embedder_and_every_scope_are_models(self):
        with client() as quire:
            models = {model.id: model for model in quire.models.list()}
            books = raw("/v1/books")["books"]
            self.assertEqual(
                set(models), {EMBEDDER, "quire"} | {"quire/" + book["book"] for book in books}
            )
            self.assertEqual(models[EMBEDDER].quire["uses"], ["embeddings", "rerank"])
            for book in books:
                model = models["quire/" + book["book"]]
                self.assertEqual(model.quire, {"uses": ["chat"], "title": book["title"]})
                self.assertEqual(quire.models.retrieve(model.id), model)
                # By its first digits as well, and with a slash that is one.
                short = "quire/" + book["book"][:8]
                self.assertEqual(quire.models.retrieve(short), model)
                self.assertEqual(raw("/v1/models/" + short)["id"], model.id)
            self.assertEqual(quire.models.retrieve("quire").owned_by, "quire")

    def test_a_model_that_is_not_there_is_not_found(self):
        with client() as quire:
            for name in ["gpt-5", "quire/0123456789", "quire/..", "other/b3f8"]:
                with self.subTest(name), self.assertRaises(openai.NotFoundError) as raised:
                    quire.models.retrieve(name)
                self.assertEqual(raised.exception.code, "model_not_found")
                self.assertEqual(raised.exception.param, "model")


class Embeddings(unittest.TestCase):
    def setUp(self):
        self.quire = self.enterContext(client())

    def embed(self, texts, **more):
        return self.quire.embeddings.create(model=EMBEDDER, input=texts, **more)

    def test_floats_and_base64_are_the_same_bits(self):
        texts = ["The lighthouse of Ivell.", "一庹水", "a"]
        floats = self.embed(texts, encoding_format="float")
        coded = self.embed(texts, encoding_format="base64")
        by_default = self.embed(texts)
        for place, (one, other, default) in enumerate(zip(floats.data, coded.data, by_default.data, strict=True)):
            self.assertEqual((one.index, other.index, default.index), (place, place, place))
            packed = struct.pack("<384f", *one.embedding)
            self.assertEqual(base64.b64decode(other.embedding), packed)
            self.assertEqual(struct.pack("<384f", *default.embedding), packed)
            self.assertAlmostEqual(sum(value * value for value in one.embedding), 1.0, places=5)
        self.assertEqual(floats.model, EMBEDDER)

    def test_a_vector_depends_on_nothing_but_its_text(self):
        alone = self.embed("The lighthouse of Ivell.").data[0].embedding
        company = self.embed(["x", "The lighthouse of Ivell.", "and more " * 50]).data[1].embedding
        self.assertEqual(alone, company)
        asked = self.embed("The lighthouse of Ivell.", extra_body={"input_type": "query"})
        self.assertNotEqual(asked.data[0].embedding, alone)

    def test_usage_is_what_the_model_read(self):
        one = self.embed("lighthouse").usage
        self.assertEqual(one.prompt_tokens, one.total_tokens)
        both = self.embed(["lighthouse", "lighthouse"]).usage
        self.assertEqual(both.total_tokens, 2 * one.total_tokens)
        longer = self.embed("lighthouse " * 100).usage
        self.assertGreater(longer.total_tokens, 100)

    def test_the_most_inputs_are_taken_and_one_more_is_not(self):
        many = self.embed(["a"] * 2048)
        self.assertEqual([item.index for item in many.data], list(range(2048)))
        with self.assertRaises(openai.BadRequestError) as raised:
            self.embed(["a"] * 2049)
        self.assertIn("2048", raised.exception.message)
        self.assertEqual(raised.exception.param, "input")

    def test_a_text_that_is_too_long_is_cut_only_when_that_is_asked_for(self):
        long = "lighthouse keeper " * 1000
        with self.assertRaises(openai.BadRequestError) as raised:
            self.embed(["short", long])
        self.assertEqual(raised.exception.code, "context_length_exceeded")
        self.assertIn("index 1", raised.exception.message)
        cut = self.embed(["short", long], extra_body={"truncate": True})
        self.assertEqual([getattr(item, "truncated", False) for item in cut.data], [False, True])

    def test_what_cannot_be_embedded_is_a_bad_request(self):
        for given, more in [
            ("", {}),
            ([], {}),
            (["a", "  "], {}),
            ([1, 2, 3], {}),
            ([[1, 2], [3]], {}),
            ("a", {"dimensions": 64}),
            ("a", {"encoding_format": "hex"}),
            ("a", {"extra_body": {"colour": "red"}}),
        ]:
            with self.subTest(given=given, more=more), self.assertRaises(openai.BadRequestError) as raised:
                self.embed(given, **more)
            self.assertEqual(raised.exception.type, "invalid_request_error")
            self.assertTrue(raised.exception.code)
        self.embed("a", dimensions=384, user="someone")

    def test_another_model_is_not_found(self):
        with self.assertRaises(openai.NotFoundError) as raised:
            self.quire.embeddings.create(model="text-embedding-3-small", input="a")
        self.assertEqual(raised.exception.code, "model_not_found")
        self.assertIn(EMBEDDER, raised.exception.message)

    def test_errors_of_the_service_itself_have_the_same_shape(self):
        # A method that the route does not have, and a body that is no JSON.
        for call in [
            lambda: self.quire.get("/embeddings", cast_to=httpx2.Response),
            lambda: self.quire.post("/embeddings", cast_to=httpx2.Response, body="text"),
            lambda: self.quire.post("/embeddings", cast_to=httpx2.Response, body={"input": "x" * (5 << 20)}),
        ]:
            with self.assertRaises(openai.APIStatusError) as raised:
                call()
            self.assertIn(raised.exception.status_code, (400, 405, 413))
            self.assertEqual(set(raised.exception.body), {"message", "type", "param", "code"})


class Chat(unittest.TestCase):
    def setUp(self):
        self.quire = self.enterContext(client())
        self.book = next(
            book["book"] for book in raw("/v1/books")["books"] if book["title"] == "the-wet-ledger"
        )

    def ask(self, question=TWINS, model="quire", **more):
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Something else?"},
            {"role": "assistant", "content": "Something."},
            {"role": "user", "content": question},
        ]
        return self.quire.chat.completions.create(model=model, messages=messages, **more)

    def test_the_answer_and_the_evidence_are_those_of_the_services_own_route(self):
        for more in [{}, {"options": ["Wick", "Lenna", "Nobody knows"]}]:
            with self.subTest(more):
                said = self.ask(extra_body=more)
                own = raw("/v1/answer", {"question": TWINS, **more})
                self.assertEqual(said.object, "chat.completion")
                self.assertEqual(len(said.choices), 1)
                choice = said.choices[0]
                self.assertEqual(choice.message.content, own["answer"]["text"])
                self.assertEqual((choice.message.role, choice.finish_reason), ("assistant", "stop"))
                self.assertEqual(said.evidence, own["evidence"].pop("items"))
                self.assertEqual(said.quire["evidence"], own["evidence"])
                self.assertEqual(said.quire["fingerprint"], own["fingerprint"])
                self.assertEqual(said.quire["books"], own["books"])
                for member in ["supported", "extractive", "letter", "option", "citation"]:
                    self.assertEqual(said.quire[member], own["answer"][member], member)
                self.assertTrue(said.quire["extractive"])
                self.assertGreater(said.quire["timings_ms"]["total"], 0)
                trace = raw("/v1/traces/" + said.quire["trace_id"])
                self.assertEqual(trace["trace"]["question"], TWINS)
                self.assertEqual(said.usage.total_tokens, 0)

    def test_the_models_name_picks_the_book(self):
        for model in ["quire/" + self.book, "quire/" + self.book[:8]]:
            said = self.ask(model=model)
            self.assertEqual((said.model, said.quire["books"]), (model, [self.book]))
        scoped = self.ask(extra_body={"scope": {"books": [self.book]}})
        self.assertEqual(scoped.quire["books"], [self.book])
        with self.assertRaises(openai.NotFoundError) as raised:
            self.ask(model="quire/0123456789")
        self.assertEqual(raised.exception.code, "model_not_found")
        with self.assertRaises(openai.BadRequestError) as raised:
            self.ask(model="quire/" + self.book, extra_body={"scope": {"books": [self.book]}})
        self.assertEqual(raised.exception.param, "scope")

    def test_a_stream_says_the_same_with_the_evidence_first(self):
        for more in [{}, {"options": ["Wick", "Lenna", "Nobody knows"]}]:
            with self.subTest(more):
                whole = self.ask(extra_body=more)
                chunks = list(self.ask(stream=True, stream_options={"include_usage": True}, extra_body=more))
                self.assertEqual(len({chunk.id for chunk in chunks}), 1)
                self.assertTrue(all(chunk.object == "chat.completion.chunk" for chunk in chunks))
                self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
                self.assertEqual(chunks[0].evidence, whole.evidence)
                *pieces, usage = chunks
                text = "".join(chunk.choices[0].delta.content or "" for chunk in pieces)
                self.assertEqual(text, whole.choices[0].message.content)
                reasons = [chunk.choices[0].finish_reason for chunk in pieces]
                self.assertEqual(reasons, [None] * (len(pieces) - 1) + ["stop"])
                self.assertEqual(pieces[-1].quire["text"], text)
                self.assertEqual(pieces[-1].quire["fingerprint"], whole.quire["fingerprint"])
                self.assertEqual((usage.choices, usage.usage), ([], whole.usage))
                self.assertTrue(all(chunk.usage is None for chunk in pieces))
        plain = list(self.ask(stream=True))
        self.assertTrue(all(chunk.choices for chunk in plain))

    def test_a_stream_that_cannot_begin_is_a_typed_error(self):
        for more, error in [
            ({"model": "quire/0123456789"}, openai.NotFoundError),
            ({"question": " "}, openai.BadRequestError),
            ({"extra_body": {"budgets": {"rerank": 10**6}}}, openai.BadRequestError),
            ({"extra_body": {"answer_model": "openai"}}, openai.BadRequestError),
            ({"extra_body": {"timeout_ms": 1}}, openai.InternalServerError),
        ]:
            for stream in [False, True]:
                with self.subTest(more=more, stream=stream), self.assertRaises(error):
                    self.ask(stream=stream, **more)

    def test_what_an_answer_cannot_be_given_with_is_refused_by_name(self):
        tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
        for member, value in [
            ("n", 2),
            ("tools", [tool]),
            ("response_format", {"type": "json_object"}),
            ("logprobs", True),
            ("stop", ["."]),
            ("modalities", ["text", "audio"]),
        ]:
            with self.subTest(member), self.assertRaises(openai.BadRequestError) as raised:
                self.ask(**{member: value})
            self.assertEqual((raised.exception.param, raised.exception.code), (member, "unsupported"))
        said = self.ask(temperature=0.0, seed=7, max_completion_tokens=20, n=1)
        self.assertEqual(said.quire["ignored"], ["max_completion_tokens", "seed", "temperature"])

    def test_a_question_in_parts_is_one_question(self):
        parts = [{"type": "text", "text": TWINS[:10]}, {"type": "text", "text": TWINS[10:]}]
        said = self.ask(question=parts)
        self.assertEqual(said.evidence, self.ask().evidence)
        image = [{"type": "image_url", "image_url": {"url": "data:,"}}]
        with self.assertRaises(openai.BadRequestError) as raised:
            self.ask(question=image)
        self.assertEqual(raised.exception.param, "messages")

    def test_the_asynchronous_client_hears_the_same(self):
        import asyncio

        async def ask():
            async with openai.AsyncOpenAI(base_url=URL + "/v1", api_key="any", max_retries=0) as quire:
                messages = [{"role": "user", "content": TWINS}]
                stream = await quire.chat.completions.create(model="quire", messages=messages, stream=True)
                return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

        self.assertEqual(asyncio.run(ask()), self.ask().choices[0].message.content)


if __name__ == "__main__":
    unittest.main()
