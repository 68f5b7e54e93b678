"""The sample corpus through the OpenAI client: every answer is the service's own."""

import json
import os
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from openai import OpenAI

URL = os.environ["QUIRE_URL"]
SAMPLE = Path(os.environ["QUIRE_SAMPLE"])
AT_ONCE = 8


def questions():
    for path in sorted(SAMPLE.glob("*.questions.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            yield json.loads(line)


def own(question):
    body = {"question": question["question"]}
    if "options" in question:
        body["options"] = question["options"]
    request = urllib.request.Request(
        f"{URL}/v1/answer", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


class SampleAnswers(unittest.TestCase):
    def test_every_answer_and_its_evidence_are_the_services_own(self):
        client = self.enterContext(OpenAI(base_url=f"{URL}/v1", api_key="any", max_retries=0))

        def through_client(question):
            extra = {"options": question["options"]} if "options" in question else {}
            message = {"role": "user", "content": question["question"]}
            return client.chat.completions.create(
                model="quire", messages=[message], extra_body=extra
            )

        asked = list(questions())
        self.assertEqual(len(asked), 78)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            ours = list(pool.map(own, asked))
            theirs = list(pool.map(through_client, asked))
        for question, answer, chat in zip(asked, ours, theirs, strict=True):
            with self.subTest(question["id"]):
                text = answer["answer"]["text"]
                self.assertEqual(chat.choices[0].message.content, text)
                if "options" in question:
                    self.assertRegex(text, "^[A-D]$")
                shown = [item["chunks"] for item in answer["evidence"]["items"]]
                self.assertEqual([item["chunks"] for item in chat.evidence], shown)


if __name__ == "__main__":
    unittest.main()
