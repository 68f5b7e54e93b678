"""A headless Chromium on the page of a quire service, and what tests ask of it."""

import base64
import json
import os
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

URL = os.environ["QUIRE_URL"]
SCREENSHOTS = os.environ.get("QUIRE_SCREENSHOTS")
# Longer than anything takes on a busy machine.
PATIENCE = 60

WIDE = (1360, 1000)
PHONE = (360, 740)

# Roles of the accessibility tree that one acts on.
ACTS = {
    "button", "link", "textbox", "searchbox", "checkbox", "combobox", "spinbutton", "slider", "radio",
    "switch", "tab", "menuitem", "option", "dialog", "progressbar", "DisclosureTriangle",
}

# Text whose contrast with what lies behind it is less than WCAG's AA asks for.
# Colours are read off a canvas, since a style may name them in any notation.
FAINT = """
const pixel = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
function rgba(color) {
  pixel.clearRect(0, 0, 1, 1); pixel.fillStyle = color; pixel.fillRect(0, 0, 1, 1);
  return [...pixel.getImageData(0, 0, 1, 1).data].map((v, i) => i === 3 ? v / 255 : v);
}
const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3]));
const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
function behind(node) {
  if (!node) return [255, 255, 255];
  const color = rgba(getComputedStyle(node).backgroundColor);
  return color[3] === 1 ? color : over(color, behind(node.parentElement));
}
const faint = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let seen = 0;
while (walk.nextNode()) {
  const node = walk.currentNode.parentElement;
  if (!walk.currentNode.data.trim() || !node.checkVisibility({visibilityProperty: true})) continue;
  const style = getComputedStyle(node);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  const back = behind(node);
  const ink = node.closest('svg') ? style.fill : style.color;
  const [a, b] = [light(over(rgba(ink), back)), light(back)];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  seen += 1;
  if (contrast < (large ? 3 : 4.5)) faint.push([walk.currentNode.data.slice(0, 40), contrast, ink]);
}
return {seen, faint};
"""


def call(path, body=None, method=None, base=URL):
    """Status and JSON of an answer, asked for without the page."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def marked(text, spans):
    """The pieces of a text that byte spans stand for."""
    whole = text.encode()
    return [whole[span["start"]:span["end"]].decode() for span in spans]


class Browser(webdriver.Chrome):
    """One window. Its size and its system's theme and language are given."""

    def __init__(self, home=URL, size=WIDE, theme="light", language="en-US", calm=True):
        self.home = home
        options = webdriver.ChromeOptions()
        for argument in [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            f"--window-size={size[0]},{size[1]}", f"--lang={language}",
        ]:
            options.add_argument(argument)
        options.add_experimental_option("prefs", {"intl.accept_languages": language})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        driver = os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")
        super().__init__(options=options, service=webdriver.ChromeService(driver))
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [
            {"name": "prefers-color-scheme", "value": theme},
            {"name": "prefers-reduced-motion", "value": "reduce" if calm else "no-preference"},
        ]
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, place=""):
        """Opens the page anew at a hash, and waits until it knows the books."""
        self.get("about:blank")
        self.get(f"{self.home}/{place}")
        self.until("document.querySelector('#welcome').childElementCount > 0")

    def js(self, expression, *arguments):
        return self.execute_script(f"return {expression}", *arguments)

    def until(self, expression, *arguments):
        """Waits for an expression to hold; its value."""
        end = time.monotonic() + PATIENCE
        while not (value := self.js(expression, *arguments)):
            if time.monotonic() > end:
                raise AssertionError(f"never: {expression}\n{self.text('body')[:2000]}")
            time.sleep(0.03)
        return value

    def click(self, selector):
        """Clicks what a list may draw anew at any moment."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.one(selector).click()
            except StaleElementReferenceException:
                if time.monotonic() > end:
                    raise

    def one(self, selector):
        return self.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        """What an element says, as its nodes hold it."""
        return self.js("document.querySelector(arguments[0]).textContent", selector)

    def texts(self, selector):
        return self.js("[...document.querySelectorAll(arguments[0])].map((node) => node.textContent)", selector)

    def press(self, *keys):
        self.switch_to.active_element.send_keys(*keys)

    def ask(self, question):
        """Types a question, asks it by Enter, and waits for the stream's end."""
        field = self.one("#question")
        field.clear()
        field.send_keys(question, Keys.ENTER)
        self.answered()

    def answered(self):
        self.until("document.querySelector('#timing').checkVisibility() && !document.querySelector('#ask-button').hidden")

    def shown_evidence(self):
        """The evidence as the page shows it."""
        return self.js("""[...document.querySelectorAll('#evidence article')].map((item) => ({
            chunks: item.dataset.chunks.split(' '),
            title: item.querySelector('h3 cite').textContent,
            chapter: item.querySelector('h3 .chapter')?.textContent ?? null,
            text: item.querySelector('.item-text').textContent,
            terms: [...item.querySelectorAll('mark.term')].map((mark) => mark.textContent),
            cited: [...item.querySelectorAll('mark.cited')].map((mark) => mark.textContent).join(''),
            passages: [...item.querySelectorAll('tbody tr')].map((row) => ({
                chunk: row.dataset.chunk,
                rank: Number(row.dataset.rank),
                places: [...row.querySelectorAll('td')].map((cell) => [cell.dataset.rank, cell.dataset.score ?? null]),
            })),
        }))""")

    def shot(self, name, whole=False):
        """Keeps a picture, where they are wanted."""
        if not SCREENSHOTS:
            return
        Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        how = {}
        if whole:
            size = self.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 2600), "scale": 1}
            how = {"captureBeyondViewport": True, "clip": clip}
        picture = self.execute_cdp_cmd("Page.captureScreenshot", how)["data"]
        (Path(SCREENSHOTS) / f"{name}.png").write_bytes(base64.b64decode(picture))

    def complaints(self):
        """What the console said since it was last asked."""
        return [f"{entry['level']}: {entry['message']}" for entry in self.get_log("browser")]

    def requested(self):
        """The addresses of all requests since they were last asked for."""
        events = [json.loads(entry["message"])["message"] for entry in self.get_log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def nameless(self):
        """Nodes of the accessibility tree that one acts on and that have no name; and how many have one."""
        tree = self.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        acting = [
            node for node in tree if not node.get("ignored") and node.get("role", {}).get("value") in ACTS
        ]
        unnamed = [node for node in acting if not node.get("name", {}).get("value", "").strip()]
        return unnamed, len(acting) - len(unnamed)

    def faint(self):
        """Text that AA finds too faint; and how many texts were looked at."""
        looked = self.execute_script(FAINT)
        return looked["faint"], looked["seen"]


class OnThePage(unittest.TestCase):
    """One window for a class of tests; after each, the console was silent and no other host was asked."""

    browser = None
    home = URL
    how = {}
    # What the browser itself notes about an answer that a test provokes.
    expected = ()

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser(home=cls.home, **cls.how)
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        self.expected = ()

    def tearDown(self):
        said = [line for line in self.browser.complaints() if not any(word in line for word in self.expected)]
        self.assertEqual(said, [])
        asked = self.browser.requested()
        self.assertEqual([url for url in asked if not url.startswith((self.home, "about:blank"))], [])
