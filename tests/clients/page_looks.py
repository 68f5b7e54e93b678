"""How the page at `/` looks and behaves: names, contrast, room, keys, languages, themes."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from browser import PHONE, OnThePage  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

ENGLISH = "Which of the Tarrabee twins was born first?"
CHINESE = "量水人那方朱印为什么缺了一小块？"


class Looks:
    """A test of every view, for windows of several kinds."""

    question = ENGLISH
    kind = ""

    def views(self):
        """Opens every view and dialog, one after the other."""
        self.browser.open()
        yield "welcome"
        dials = ["#scope-dial", "#options-dial", "#settings-dial"]
        for dial in dials:
            self.browser.one(dial).click()
        self.browser.one("#add-option").click()
        yield "panels"
        for dial in dials:
            self.browser.one(dial).click()
        self.browser.ask(self.question)
        yield "answer"
        self.browser.one(".open-passage").click()
        self.browser.until("document.querySelector('#reader-text .here')")
        yield "reader"
        self.browser.press(Keys.ESCAPE)
        self.browser.until("!document.querySelector('dialog[open]')")
        self.browser.one("#to-books").click()
        self.browser.until("document.querySelectorAll('#book-list > li').length > 1")
        self.browser.click("#book-list [aria-controls]")
        self.browser.until("document.querySelector('.chapters button')")
        yield "books"
        self.browser.all("#book-list .book-buttons button")[3].click()
        yield "confirm"
        self.browser.press(Keys.ESCAPE)

    def test_every_view_has_names_contrast_and_no_sideways_scrolling(self):
        for view in self.views():
            with self.subTest(view):
                unnamed, named = self.browser.nameless()
                self.assertEqual(unnamed, [])
                self.assertGreater(named, 1)
                faint, seen = self.browser.faint()
                self.assertEqual(faint, [])
                self.assertGreater(seen, 10)
                content, window = self.browser.js("[document.documentElement.scrollWidth, innerWidth]")
                self.assertLessEqual(content, window)
                self.browser.shot(f"{view}-{self.kind}", whole=view in ("answer", "panels", "books"))


class WideLightEnglish(Looks, OnThePage):
    kind = "wide-light-en"


class WideDarkChinese(Looks, OnThePage):
    how = {"theme": "dark", "language": "zh-CN"}
    kind = "wide-dark-zh"
    question = CHINESE


class PhoneLightChinese(Looks, OnThePage):
    how = {"size": PHONE, "language": "zh-CN"}
    kind = "phone-light-zh"
    question = CHINESE


class PhoneDarkEnglish(Looks, OnThePage):
    how = {"size": PHONE, "theme": "dark"}
    kind = "phone-dark-en"


class Switches(OnThePage):
    def test_the_language_changes_everything_that_is_shown_and_is_remembered(self):
        self.browser.open()
        self.browser.ask(ENGLISH)
        evidence = self.browser.shown_evidence()
        english = self.browser.text("main")
        self.browser.one("#language").click()
        chinese = self.browser.text("main")
        self.assertIn("证据", chinese)
        for word in ["Evidence", "Answer", "Fusion", "Settings", "read on", "tokens", "supported"]:
            self.assertIn(word, english)
            self.assertNotIn(word, chinese)
        self.assertEqual(self.browser.shown_evidence(), evidence)
        self.assertEqual(self.browser.js("document.documentElement.lang"), "zh-CN")
        self.browser.open()
        self.assertEqual(self.browser.text("#ask-title"), "向书提问")
        self.browser.one("#language").click()
        self.assertEqual(self.browser.text("#ask-title"), "Ask the books")

    def test_every_string_is_there_in_both_languages(self):
        self.browser.open()
        strings = self.browser.execute_async_script(
            "const done = arguments[0];"
            "Promise.all([import('/page/strings-en.js'), import('/page/strings-zh.js')])"
            ".then(([{en}, {zh}]) => done([en, zh]));"
        )
        english, chinese = strings
        self.assertEqual(english.keys(), chinese.keys())
        same = [key for key in english if english[key] == chinese[key]]
        self.assertLess(len(same), 15, same)

    def test_the_theme_is_switched_and_remembered(self):
        self.browser.open()
        back = "getComputedStyle(document.body).backgroundColor"
        light = self.browser.js(back)
        self.browser.one("#theme").click()
        self.assertEqual(self.browser.js(back), light)
        self.browser.one("#theme").click()
        dark = self.browser.js(back)
        self.assertNotEqual(dark, light)
        self.assertIn("dark", self.browser.one("#theme").accessible_name)
        self.browser.open()
        self.assertEqual(self.browser.js(back), dark)
        self.browser.one("#theme").click()
        self.assertEqual(self.browser.js(back), light)


class ByKeyboard(OnThePage):
    def tab_to(self, selector, *held):
        """Tabs until that has the focus, which one always sees."""
        for _ in range(80):
            self.browser.press(*held, Keys.TAB)
            outline = self.browser.js(
                "((node) => [getComputedStyle(node).outlineStyle, getComputedStyle(node.closest('label') ?? node).outlineStyle])"
                "(document.activeElement)"
            )
            self.assertNotEqual(outline, ["none", "none"], self.browser.js("document.activeElement.outerHTML"))
            if self.browser.js("document.activeElement.matches(arguments[0])", selector):
                return
        self.fail(f"no way to {selector}")

    def test_a_question_is_asked_checked_and_read_on_without_a_pointer(self):
        self.browser.open()
        self.assertEqual(self.browser.js("document.activeElement.id"), "question")
        self.browser.press(ENGLISH, Keys.ENTER)
        self.browser.answered()
        self.tab_to(".citation-link")
        self.browser.press(Keys.ENTER)
        self.assertIn("evidence-", self.browser.js("document.activeElement.id"))
        self.tab_to(".open-passage")
        chunk = self.browser.js("document.activeElement.dataset.chunk")
        self.browser.press(Keys.ENTER)
        self.browser.until("document.querySelector('#reader-text .here')")
        self.assertEqual(self.browser.js("document.activeElement.id"), "reader-scroll")
        self.browser.press(Keys.ESCAPE)
        self.browser.until("!document.querySelector('#reader').open")
        self.assertEqual(self.browser.js("document.activeElement.dataset.chunk"), chunk)

    def test_the_first_stop_skips_to_the_content_and_every_control_is_reached(self):
        self.browser.open()
        self.tab_to(".skip", Keys.SHIFT)
        self.browser.press(Keys.ENTER)
        self.assertEqual(self.browser.js("document.activeElement.id"), "main")
        for dial in ["scope", "options", "settings"]:
            self.tab_to(f"#{dial}-dial")
            self.browser.press(Keys.SPACE)
        self.tab_to("#scope-panel input[type=checkbox]")
        self.browser.press(Keys.SPACE)
        self.assertNotIn("All books", self.browser.text("#scope-dial"))
        self.tab_to("#add-option")
        self.browser.press(Keys.ENTER)
        self.assertEqual(self.browser.js("document.activeElement.ariaLabel"), "Option A")
        self.tab_to("#setting-model")


if __name__ == "__main__":
    unittest.main()
