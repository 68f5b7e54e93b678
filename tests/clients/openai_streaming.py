"""The official OpenAI client while a language model answers, and while it fails.

The test that runs this file decides what the language model says, in the order of the questions here.
"""

import os
import unittest

import openai

MESSAGES = [{"role": "user", "content": "Which of the Tarrabee twins was born first?"}]


class Streaming(unittest.TestCase):
    def test_a_model_answers_is_cut_off_is_left_and_is_busy(self):
        self.quire = self.enterContext(
            openai.OpenAI(base_url=os.environ["QUIRE_URL"] + "/v1", api_key="any", max_retries=0)
        )
        self.words_come_as_they_are_said()
        self.a_choice_is_a_letter_and_nothing_else()
        self.a_whole_answer_has_the_models_usage()
        self.a_model_that_breaks_off_is_an_error_after_what_it_said()
        self.a_stream_can_be_left()
        self.a_busy_model_is_an_error_of_the_server()

    def ask(self, **more):
        return self.quire.chat.completions.create(model="quire", messages=MESSAGES, **more)

    def words_come_as_they_are_said(self):
        chunks = list(self.ask(stream=True, stream_options={"include_usage": True}))
        self.assertGreater(len(chunks[0].evidence), 0)
        said = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
        self.assertEqual([text for text in said if text], ["The elder ", "twin ", "is Wick"])
        self.assertEqual(chunks[-2].choices[0].finish_reason, "stop")
        self.assertEqual(chunks[-2].quire["text"], "The elder twin is Wick")
        self.assertFalse(chunks[-2].quire["extractive"])
        self.assertEqual(chunks[-1].usage.total_tokens, 10)

    def a_choice_is_a_letter_and_nothing_else(self):
        chunks = list(self.ask(stream=True, extra_body={"options": ["Wick", "Lenna"]}))
        said = [chunk.choices[0].delta.content for chunk in chunks]
        self.assertEqual([text for text in said if text], ["A"])
        self.assertEqual(chunks[-1].quire["option"], "Wick")

    def a_whole_answer_has_the_models_usage(self):
        answer = self.ask()
        self.assertEqual(answer.choices[0].message.content, "Wick")
        self.assertEqual((answer.usage.prompt_tokens, answer.usage.completion_tokens), (7, 3))
        self.assertEqual((answer.model, answer.quire["model"]), ("quire", "fake-model"))

    def a_model_that_breaks_off_is_an_error_after_what_it_said(self):
        said = []
        with self.assertRaises(openai.APIError) as raised:
            for chunk in self.ask(stream=True):
                said.append(chunk.choices[0].delta.content)
        self.assertEqual("".join(said), "The elder twin ")
        self.assertEqual(raised.exception.body["type"], "server_error")
        self.assertEqual(raised.exception.code, "answer_model_unreachable")

    def a_stream_can_be_left(self):
        stream = self.ask(stream=True)
        for chunk in stream:
            if chunk.choices[0].delta.content:
                break
        stream.close()

    def a_busy_model_is_an_error_of_the_server(self):
        with self.assertRaises(openai.InternalServerError) as raised:
            self.ask()
        self.assertEqual(raised.exception.status_code, 503)
        self.assertEqual(raised.exception.code, "answer_model_busy")
        self.assertGreaterEqual(int(raised.exception.response.headers["retry-after"]), 1)


if __name__ == "__main__":
    unittest.main()
