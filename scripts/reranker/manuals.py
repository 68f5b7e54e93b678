"""What Debian ships to read: manuals of packages, in English and both ways of writing Chinese, and what packages are."""

import random
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

from questions import HAN, Question, Source, size, squeezed, without_one

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
# Those of mathematics, statistics, measurement and data.
TECHNICAL = (
    ("octave-doc", "usr/share/doc/octave/octave.html", "GPL-3+"),
    ("grass-doc", "usr/share/doc/grass-doc/html", "GPL-2+"),
    ("maxima-doc", "usr/share/doc/maxima-doc/html", "GPL-2+"),
    ("python-scipy-doc", "usr/share/doc/python-scipy-doc/html", "BSD-3-Clause"),
    ("python-sklearn-doc", "usr/share/doc/python-sklearn-doc/html", "BSD-3-Clause"),
    ("postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html", "PostgreSQL"),
)
MOST_TOKENS = 200
PROSE_TOKENS = 60
"""A section or a description of fewer is not told apart by what it says."""


def english_manuals(_: Path, work: Path) -> Source:
    return manuals("manuals-en", ENGLISH, work, 3000)


def chinese_manuals(_: Path, work: Path) -> Source:
    return manuals("manuals-zh", CHINESE, work, 3500)


def technical_manuals(_: Path, work: Path) -> Source:
    """Whole sentences of technical prose whose section is to be found without them."""
    draw = random.Random("technical-en")
    source = Source("technical-en", licences(TECHNICAL))
    for number, (package, folder, _) in enumerate(TECHNICAL):
        found = [text for _, text in sections(unpacked(package, work) / folder, False) if size(text) > PROSE_TOKENS]
        draw.shuffle(found)
        for text in found[: (2500 - len(source.documents)) // (len(TECHNICAL) - number)]:
            sentence, rest = without_one(text, draw) or (None, text)
            index = source.add(rest, package)
            if sentence:
                source.questions.append(Question(cut(sentence, 60), [index]))
    return source


def licences(chosen) -> str:
    return "; ".join(sorted({f"{package}: {licence}" for package, _, licence in chosen}))


def manuals(name: str, chosen, work: Path, count: int) -> Source:
    """At most `count` sections, as many of each manual as of every other where there are enough."""
    draw = random.Random(name)
    source = Source(name, licences(chosen))
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


def cut(text: str, most: int = MOST_TOKENS) -> str:
    """The beginning of a text, about `most` tokens long."""
    if size(text) <= most:
        return text
    end = int(len(text) * most / size(text))
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


# --- what packages are -----------------------------------------------------------------------------------------------


def english_packages(_: Path, work: Path) -> Source:
    return packages("packages-en", ("en",), work, 2500)


def chinese_packages(_: Path, work: Path) -> Source:
    return packages("packages-zh", ("zh%5fCN", "zh%5fTW"), work, 1500)


def packages(name: str, languages: tuple[str, ...], work: Path, count: int) -> Source:
    """What packages are in a line, each with its description; of every third, a sentence of the description."""
    draw = random.Random(name)
    source = Source(name, "descriptions of Debian's packages: each as its package, all free software")
    least = PROSE_TOKENS if "en" in languages else 30
    found, seen = [], set()
    for language in languages:
        for line, text in described(language, work):
            # The parts of a program begin with the same paragraph.
            begun = text[:60]
            if begun in seen or size(text) < least or ("zh" in name and len(HAN.findall(text)) < len(text) / 3):
                continue
            seen.add(begun)
            found.append((line, cut(text)))
    draw.shuffle(found)
    for line, text in found[:count]:
        parted = without_one(text, draw) if draw.random() < 1 / 3 else None
        line, text = parted or (line, text)
        source.questions.append(Question(cut(line, 60), [source.add(text, name)]))
    return source


def described(language: str, work: Path) -> list[tuple[str, str]]:
    """A line and a description of each package of the distribution that is described in a language."""
    lists = work / "lists"
    if not (lists / ".whole").exists():
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        options = [f"Dir::State::lists={lists}", f"Dir::Cache={lists}", "Acquire::Languages=en,zh_CN,zh_TW"]
        options += ["Acquire::GzipIndexes=false"]
        subprocess.run(["apt-get", "-qq", *[part for one in options for part in ("-o", one)], "update"], check=True)
        (lists / ".whole").touch()
    found = {}
    for path in sorted(lists.glob(f"*_main_i18n_Translation-{language}")):
        for record in path.read_text("utf-8").split("\n\n"):
            told = re.search(r"^Description-\w+: (.+)\n((?: .*\n?)+)", record.split("Description-md5", 1)[-1], re.MULTILINE)
            if told:
                # A line with a point alone parts paragraphs; what is set in is a list.
                text = re.sub(r"^ \.$", "", told[2], flags=re.MULTILINE)
                text = re.sub(f"(?<={HAN.pattern}) (?={HAN.pattern})", "", squeezed(text))
                found.setdefault(text, squeezed(told[1]))
    return [(line, text) for text, line in sorted(found.items())]
