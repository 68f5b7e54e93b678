"""The report of a run in a real browser: pictures, tables, and each question to be looked through."""

import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("QUIRE_URL", "file://")

from browser import PHONE, OnThePage  # noqa: E402

RUN = Path(os.environ["QUIRE_RUN"])
REPORT = json.loads((RUN / "report.json").read_text())


class Report(OnThePage):
    home = f"file://{RUN}"

    def setUp(self):
        super().setUp()
        self.browser.get(f"{self.home}/report.html")

    def test_pictures_are_drawn_and_tables_hold_the_figures(self):
        page = self.browser
        figures = page.all("figure")
        self.assertGreaterEqual(len(figures), 5)
        for figure in figures:
            shown = [svg for svg in figure.find_elements("css selector", "svg") if svg.is_displayed()]
            self.assertEqual(len(shown), 1)
            self.assertGreater(shown[0].size["width"], 600)
            self.assertTrue(figure.find_elements("css selector", "polyline"))
        for row in REPORT["retrieval"]:
            value = row["measures"]["mrr@10"]["mean"]
            if row["criterion"] == "quoted":
                self.assertIn(f"{value:.3f}", page.text("[aria-labelledby=stages]"))
        for row in REPORT["answers"]:
            self.assertIn(f"{row['score']['mean']:.3f}", page.text("[aria-labelledby=answers]"))
        facts = page.text("[aria-labelledby=conditions]")
        for told in [REPORT["run"]["id"], REPORT["run"]["identity"]["sets"][0]["digest"], "eval run"]:
            self.assertIn(told, facts)
        page.shot("report", whole=True)

    def test_a_question_tells_what_each_stage_found_and_where_it_was_lost(self):
        page = self.browser
        self.assertEqual(page.text("#shown"), f"{len(REPORT['questions'])} of {len(REPORT['questions'])} questions")
        page.click(".question > summary")
        first = REPORT["questions"][0]
        look = first["looks"][0]
        said = page.text(".question")
        for told in [first["text"], first["book"], *first["gold"], look["answers"][0]["text"]["Ok"]]:
            self.assertIn(told, said)
        stages = page.texts(".question .look:first-of-type .stage h4")
        self.assertEqual([stage.split(":")[0] for stage in stages], ["bm25", "dense", "fused", "reranked"])
        name = look["stages"]["bm25"]["passages"][0][0]
        self.assertIn(REPORT["passages"][name][:80], said)
        page.shot("report-question", whole=True)

    def test_questions_are_filtered_by_where_they_were_lost_and_by_words(self):
        page = self.browser
        lost = [row for row in REPORT["questions"] if any(one["lost"] == "answering" for one in row["looks"])]
        page.one("#filter-lost option[value=answering]").click()
        self.assertEqual(page.text("#shown"), f"{min(50, len(lost))} of {len(lost)} questions")
        page.one("#filter-text").send_keys("no question has these words")
        self.assertEqual(page.text("#shown"), "0 of 0 questions")

    def test_it_reads_well_and_needs_no_mouse(self):
        page = self.browser
        page.click(".question > summary")
        faint, seen = page.faint()
        self.assertGreater(seen, 100)
        self.assertEqual(faint, [])
        unnamed, named = page.nameless()
        self.assertGreater(named, 10)
        self.assertEqual(unnamed, [])


class OnAPhone(OnThePage):
    home = f"file://{RUN}"
    how = {"size": PHONE, "theme": "dark"}

    def test_nothing_is_cut_off_and_dark_is_dark(self):
        page = self.browser
        page.get(f"{self.home}/report.html")
        page.click(".question > summary")
        self.assertEqual(page.js("[...document.body.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > innerWidth && !one.closest('.scroll, figure')).map((one) => one.outerHTML.slice(0, 120))"), [])
        self.assertLessEqual(page.js("document.documentElement.scrollWidth"), PHONE[0])
        faint, _ = page.faint()
        self.assertEqual(faint, [])
        page.shot("report-phone", whole=True)


if __name__ == "__main__":
    unittest.main()
