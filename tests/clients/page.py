"""Asking on the page at `/`, as people do it in a browser, held against the interface beneath it."""

import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from browser import OnThePage, call, marked  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

SAMPLE = Path(os.environ["QUIRE_SAMPLE"])
ENGLISH = "Which of the Tarrabee twins was born first?"
CHINESE = "量水人那方朱印为什么缺了一小块？"
STAGES = ["lexical", "dense", "fused", "reranked"]


def sample_question(book, identifier):
    lines = (SAMPLE / f"{book}.questions.jsonl").read_text().splitlines()
    return next(row for row in map(json.loads, lines) if row["id"] == identifier)


class Asking(OnThePage):
    def assert_shows(self, given):
        """The page shows exactly what the interface answers to the same request."""
        shown = self.browser.shown_evidence()
        items = given["evidence"]["items"]
        self.assertEqual(len(shown), len(items))
        self.assertGreater(len(items), 2)
        citation = given["answer"]["citation"]
        for seen, item in zip(shown, items):
            self.assertEqual(seen["chunks"], item["chunks"])
            self.assertEqual((seen["title"], seen["chapter"]), (item["title"], item["chapter"]))
            self.assertEqual(seen["text"], item["text"])
            # A citation that ends within a term parts its mark in two.
            self.assertEqual("".join(seen["terms"]), "".join(marked(item["text"], item["highlights"])))
            is_cited = citation is not None and citation["evidence"] == item["number"]
            cited = marked(item["text"], [citation["span"]])[0] if is_cited else ""
            self.assertEqual(seen["cited"], cited)
            for row, passage in zip(seen["passages"], item["passages"], strict=True):
                self.assertEqual((row["chunk"], row["rank"]), (passage["chunk"], passage["rank"]))
                places = [passage["stages"][stage] for stage in STAGES]
                self.assertEqual([rank for rank, _ in row["places"]], [str(p["rank"]) if p else "" for p in places])
                scores = [float(score) if score is not None else None for _, score in row["places"]]
                self.assertEqual(scores, [p["score"] if p else None for p in places])
        passages = sum(len(item["passages"]) for item in items)
        self.assertEqual(len(self.browser.all("#ranks .way")), passages)
        highlights = sum(len(item["highlights"]) for item in items)
        self.assertGreater(highlights, 0)

    def test_an_english_question_shows_the_evidence_of_the_interface(self):
        self.browser.open()
        self.browser.ask(ENGLISH)
        status, given = call("/v1/answer", {"question": ENGLISH})
        self.assertEqual(status, 200)
        self.assert_shows(given)
        self.assertEqual(self.browser.text(".answer-text"), given["answer"]["text"])
        self.assertIn("extractive", self.browser.texts(".badge"))
        self.assertEqual("supported by the evidence" in self.browser.texts(".badge"), given["answer"]["supported"])
        stages = self.browser.js(
            "Object.fromEntries([...document.querySelectorAll('.timing-key > div')]"
            ".map((row) => [row.dataset.stage, Number(row.dataset.ms)]))"
        )
        self.assertEqual(set(stages) - {"rest"}, set(given["run"]["timings_ms"]) - {"total"})
        self.assertIn("not counted", self.browser.text("#timing"))
        trace = self.browser.text(".answer .facts code")
        status, logged = call(f"/v1/traces/{trace}")
        self.assertEqual(status, 200)
        self.assertIn(ENGLISH, json.dumps(logged, ensure_ascii=False))
        self.browser.shot("answer-wide-light-en", whole=True)

    def test_a_chinese_question_has_its_terms_marked_by_bytes(self):
        self.browser.open()
        self.browser.ask(CHINESE)
        status, given = call("/v1/answer", {"question": CHINESE})
        self.assertEqual(status, 200)
        self.assert_shows(given)
        self.assertEqual(self.browser.js("document.querySelector('.item-text').lang"), "zh")

    def test_the_cited_words_are_found_by_their_link(self):
        self.browser.open()
        self.browser.ask(ENGLISH)
        self.browser.one(".citation-link").click()
        number = self.browser.text(".citation-link .item-number")
        self.browser.until(f"document.activeElement.id === 'evidence-{number}'")
        self.assertTrue(self.browser.js(
            "((box) => box.top >= 0 && box.bottom <= innerHeight)(document.querySelector('.cited').getBoundingClientRect())"
        ))

    def test_a_choice_is_answered_by_its_letter(self):
        asked = sample_question("the-wet-ledger", "en-03")
        self.browser.open()
        self.browser.one("#options-dial").click()
        self.browser.one("#add-option").click()
        for place, option in enumerate(asked["options"]):
            fields = self.browser.all("#options-panel input")
            if place == len(fields):
                self.browser.one("#add-option").click()
            self.browser.press(option)
            if place == 0:
                self.browser.all("#options-panel input")[1].click()
        self.browser.shot("choice-wide-light-en")
        self.browser.ask(asked["question"])
        status, given = call("/v1/answer", {"question": asked["question"], "options": asked["options"]})
        self.assertEqual(status, 200)
        self.assert_shows(given)
        self.assertEqual(self.browser.text(".big-letter"), given["answer"]["letter"])
        self.assertIn(given["answer"]["option"], self.browser.text(".answer-text"))
        # The third row goes; the letters close up.
        self.browser.all("#options-panel .remove")[2].click()
        self.assertEqual(self.browser.texts("#options-panel .letter"), ["A", "B", "C"])

    def test_scope_and_settings_are_part_of_the_request(self):
        books = call("/v1/books")[1]["books"]
        chinese = next(book for book in books if book["title"] == "一庹水")
        self.browser.open()
        self.browser.one("#scope-dial").click()
        self.browser.one(f"#scope-panel input[value='{chinese['book']}']").click()
        self.browser.one("#settings-dial").click()
        self.browser.one("#setting-evidence_passages").send_keys("4")
        self.browser.one("#setting-order").send_keys("best")
        self.browser.ask(CHINESE)
        given = call("/v1/answer", {
            "question": CHINESE, "scope": {"books": [chinese["book"]]},
            "budgets": {"evidence_passages": 4}, "order": "score",
        })[1]
        self.assert_shows(given)
        self.assertEqual({item["title"] for item in given["evidence"]["items"]}, {"一庹水"})

    def test_a_library_is_made_of_ticked_books_asked_and_removed(self):
        self.browser.open()
        self.browser.one("#scope-dial").click()
        for box in self.browser.all("#scope-books input"):
            box.click()
        self.browser.one("#library-name").send_keys("both-books")
        self.browser.one("#library-make").click()
        self.browser.until("document.querySelector('#scope-dial').textContent === 'Library both-books'")
        self.browser.ask(ENGLISH)
        self.assertIn("library=both-books", self.browser.current_url)
        given = call("/v1/answer", {"question": ENGLISH, "scope": {"library": "both-books"}})[1]
        self.assert_shows(given)
        self.assertIn("library ", given["fingerprint"]["artifact"])
        shown = self.browser.js(
            "[...document.querySelectorAll('#shares tbody tr')].map((row) => [row.dataset.book, Number(row.dataset.passages),"
            " ...[...row.querySelectorAll('td')].map((cell) => cell.dataset.first)])"
        )
        firsts = [[book["book"], book["reranked"]["passages"], *(str(book[stage]["first"] or "") for stage in STAGES)]
                  for book in given["shares"]["books"]]
        self.assertEqual(shown, firsts)
        self.assertEqual(len(shown), 2)
        self.browser.shot("library-wide-light-en", whole=True)
        # An address asks the library as well.
        self.browser.open("#q=Who+is+Wick%3F&library=both-books")
        self.browser.answered()
        self.assertEqual(self.browser.text("#scope-dial"), "Library both-books")
        self.browser.one("#scope-dial").click()
        self.browser.one("#scope-libraries button").click()
        self.browser.until("document.querySelector('#scope-dial').textContent === 'All books'")
        self.assertEqual(call("/v1/libraries")[1]["libraries"], [])

    def test_an_address_asks_its_question_and_going_back_asks_the_last_one(self):
        book = call("/v1/books")[1]["books"][0]["book"][:12]
        settings = "&evidence_passages=3&order=score&model=nobody"
        self.browser.open(f"#q=Who+is+Wick%3F&books={book}&option=a+ferryman&option=a+goose{settings}")
        self.browser.answered()
        self.assertIn("2 settings", self.browser.text("#settings-dial"))
        self.assertEqual(len(self.browser.all("#evidence tbody tr")), 3)
        self.browser.one("#settings-dial").click()
        self.browser.one("#settings-panel > button").click()
        self.assertEqual(self.browser.text("#settings-dial"), "Settings")
        self.assertEqual(self.browser.js("document.querySelector('#question').value"), "Who is Wick?")
        self.assertIn("2 options", self.browser.text("#options-dial"))
        self.browser.ask(ENGLISH)
        self.assertIn("twins", self.browser.current_url)
        self.browser.back()
        self.browser.until("document.querySelector('#question').value === 'Who is Wick?'")
        self.browser.answered()

    def test_a_problem_is_shown_with_its_remedy_and_its_request(self):
        self.expected = ("404",)
        self.browser.open("#q=anything&books=00000000")
        self.browser.until("document.querySelector('#ask-problem .problem')")
        given = call("/v1/answer", {"question": "anything", "scope": {"books": ["00000000"]}})[1]
        said = self.browser.text("#ask-problem")
        for part in ["title", "detail", "remedy", "code"]:
            self.assertIn(given[part], said)
        self.assertRegex(said, r"Request [0-9a-f]{8}-")
        self.browser.shot("problem-wide-light-en")

    def test_escape_stops_and_a_service_that_is_gone_is_said_to_be(self):
        self.expected = ("ERR_INTERNET_DISCONNECTED",)
        self.browser.open()
        slow = {"latency": 3000, "throughput": 1 << 20}
        self.browser.set_network_conditions(offline=False, **slow)
        self.addCleanup(self.browser.delete_network_conditions)
        self.browser.one("#question").send_keys(ENGLISH, Keys.ENTER)
        self.browser.until("!document.querySelector('#stop-button').hidden")
        self.browser.press(Keys.ESCAPE)
        self.browser.until("document.querySelector('.status')?.textContent.includes('Stopped')")
        self.assertFalse(self.browser.js("document.querySelector('#ask-button').hidden"))
        self.browser.set_network_conditions(offline=True, latency=0, throughput=0)
        self.browser.one("#question").send_keys(Keys.ENTER)
        self.browser.until("document.querySelector('#ask-problem')?.textContent.includes('does not answer')")


if __name__ == "__main__":
    unittest.main()
