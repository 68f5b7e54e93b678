"""Headings of manuals and the sections below them, from packages of Debian, in English and both ways of writing Chinese."""

import random
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

from questions import HAN, Question, Source, size, squeezed

# Each manual: its package, the folder of its pages in one language, and its licence.
ENGLISH = (
    ("libreoffice-help-en-us", "usr/share/libreoffice/help/en-US/text", "MPL-2.0"),
    ("gimp-help-en", "usr/share/gimp/2.0/help/en", "GFDL-1.2+"),
    ("debian-handbook", "usr/share/doc/debian-handbook/html/en-US", "CC-BY-SA-3.0 or GPL-2+"),
    ("debian-reference-en", "usr/share/debian-reference", "GPL-2+"),
    ("installation-guide-amd64", "usr/share/doc/installation-guide-amd64/en", "GPL-2"),
    ("jargon-text", "usr/share/doc/jargon-text", "public domain"),
)
CHINESE = (
    ("libreoffice-help-zh-cn", "usr/share/libreoffice/help/zh-CN/text", "MPL-2.0"),
    ("libreoffice-help-zh-tw", "usr/share/libreoffice/help/zh-TW/text", "MPL-2.0"),
    ("gimp-help-zh-cn", "usr/share/gimp/2.0/help/zh_CN", "GFDL-1.2+"),
    ("debian-handbook", "usr/share/doc/debian-handbook/html/zh-CN", "CC-BY-SA-3.0 or GPL-2+"),
    ("debian-handbook", "usr/share/doc/debian-handbook/html/zh-TW", "CC-BY-SA-3.0 or GPL-2+"),
    ("debian-reference-zh-cn", "usr/share/debian-reference", "GPL-2+"),
    ("debian-reference-zh-tw", "usr/share/debian-reference", "GPL-2+"),
)
MOST_TOKENS = 200


def english_manuals(_: Path, work: Path) -> Source:
    return manuals("manuals-en", ENGLISH, work, 3000)


def chinese_manuals(_: Path, work: Path) -> Source:
    return manuals("manuals-zh", CHINESE, work, 3500)


def manuals(name: str, chosen, work: Path, count: int) -> Source:
    """At most `count` sections, as many of each manual as of every other where there are enough."""
    draw = random.Random(name)
    source = Source(name, "; ".join(sorted({f"{package}: {licence}" for package, _, licence in chosen})))
    for number, (package, folder, _) in enumerate(chosen):
        found = sections(unpacked(package, work) / folder, "zh" in name)
        draw.shuffle(found)
        for heading, text in found[: (count - len(source.questions)) // (len(chosen) - number)]:
            source.questions.append(Question(heading, [source.add(text, package)]))
    return source


def unpacked(package: str, work: Path) -> Path:
    """The files of a package, without installing it."""
    folder = work / "packages" / package
    if not (folder / ".whole").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "-q", "download", package], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["dpkg-deb", "-x", *map(str, folder.glob("*.deb")), str(folder)], check=True)
        (folder / ".whole").touch()
    return folder


def sections(folder: Path, chinese: bool) -> list[tuple[str, str]]:
    """Headings with what stands below each, every text once."""
    found, seen = [], set()
    for path in sorted(folder.rglob("*.html")):
        if "debian-reference" in path.parts and chinese != (".zh" in path.name):
            continue
        page = Sections()
        page.feed(path.read_text("utf-8", "replace"))
        for heading, text in page.sections():
            heading, text = tidy(heading), squeezed(text)
            if text in seen or not 25 < size(text) or not 2 < size(heading) < 40:
                continue
            if chinese and len(HAN.findall(text)) < len(text) / 4:
                continue
            seen.add(text)
            found.append((heading, cut(text)))
    return found


def tidy(heading: str) -> str:
    """A heading without its number and its marks."""
    heading = re.sub(r"^(chapter|第)?\s*[\dA-Z]{1,2}(\.\d+)*[.章]?\s+", "", squeezed(heading), flags=re.IGNORECASE)
    return heading.replace("¶", "").strip(" :：")


def cut(text: str) -> str:
    """The beginning of a section, about `MOST_TOKENS` long."""
    if size(text) <= MOST_TOKENS:
        return text
    end = int(len(text) * MOST_TOKENS / size(text))
    return text[:end]


class Sections(HTMLParser):
    """A page's headings of the first four levels, each with its text."""

    SKIPPED = {"script", "style", "nav", "header", "footer", "aside", "head", "table", "pre", "button"}
    HEADINGS = {"h1", "h2", "h3", "h4", "dt"}

    def __init__(self):
        super().__init__()
        self.skipped = 0
        self.in_heading = False
        self.parts: list[tuple[list[str], list[str]]] = []

    def handle_starttag(self, tag, attrs):
        if tag in self.SKIPPED:
            self.skipped += 1
        elif tag in self.HEADINGS and not self.skipped:
            self.in_heading = True
            self.parts.append(([], []))
        elif tag in ("p", "div", "li", "dd", "br"):
            self.handle_data(" ")

    def handle_endtag(self, tag):
        if tag in self.SKIPPED:
            self.skipped = max(0, self.skipped - 1)
        elif tag in self.HEADINGS:
            self.in_heading = False

    def handle_data(self, data):
        if self.parts and not self.skipped:
            heading, text = self.parts[-1]
            (heading if self.in_heading else text).append(data)

    def sections(self):
        return [("".join(heading), "".join(text)) for heading, text in self.parts]
