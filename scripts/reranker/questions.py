"""What the reranker learns from: passages, and questions with the passages that answer them.

Every source is a function from the data's folder to a `Source`. None reads what the reranker is measured on: xquad,
cranfield, cmrc2018's dev part, fairytaleqa's val and test parts, the other half of graphrag-novel, the sample corpus.
"""

import csv
import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

# Every other book of graphrag-novel, by name; the figures of the results page are of the rest.
TRAINED_NOVELS = ("Novel-10146", "Novel-2544", "Novel-30752", "Novel-44557", "Novel-54537")
# The novels whose sentences are taken out. None of them is among the novels that are measured on.
ENGLISH_BOOKS = ("books/10321-8.txt", "books/1342-0.txt", "books/41603-8.txt", "messy/utf8bom_crlf_35-0.txt")
CHINESE_BOOKS = ("books/水浒传.txt", "books/老殘遊記.txt", "books/西游记.txt", "messy/三国演义.txt", "messy/singleline_吶喊.txt")


@dataclass
class Question:
    """A question, and the documents that answer it."""

    text: str
    gold: list[int]
    # Only documents of this group are its passages, if it has one.
    group: str | None = None


@dataclass
class Source:
    """Documents of one kind, and questions about them."""

    name: str
    licence: str
    documents: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def add(self, document: str, group: str) -> int:
        self.documents.append(document)
        self.groups.append(group)
        return len(self.documents) - 1


# --- text ------------------------------------------------------------------------------------------------------------

HAN = re.compile("[\u3400-\u9fff]")
SENTENCE_END = re.compile(r"(?<=[.!?][\"'”’)])\s+|(?<=[.!?])\s+(?=[\"'“‘(A-Z])|(?<=[。！？][」』”’])|(?<=[。！？])(?![」』”’])")
WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")
COMMON = set(
    "a an the of to in on at by for with from and or but as is are was were be been it its this that these those he she "
    "they them his her their him who whom what which when where why how did do does had has have not no so if than then "
    "there into about which according narrative novel text book passage story".split()
)


def squeezed(text: str) -> str:
    """With each run of white space made one space."""
    return " ".join(text.split())


def size(text: str) -> float:
    """About how many tokens a text has."""
    han = len(HAN.findall(text))
    return han / 1.4 + (len(text) - han) / 4.3


def words(text: str) -> list[str]:
    """Content words, roughly stemmed; Han text by its characters."""
    found = (re.sub(r"(ing|ed|es|s)$", "", word) if len(word) > 4 else word for word in WORD.findall(text.lower()))
    return [word for word in found if word not in COMMON]


def sentences(text: str) -> list[str]:
    return [part.strip() for part in SENTENCE_END.split(text) if part and part.strip()]


def passages(text: str, most: float) -> list[str]:
    """A text cut at sentence ends into passages of about `most` tokens at most."""
    cut, current = [], ""
    for sentence in sentences(squeezed(text)):
        glue = "" if HAN.search(sentence[:1] + current[-1:]) else " "
        if current and size(current) + size(sentence) > most:
            cut.append(current)
            current = sentence
        else:
            current = f"{current}{glue}{sentence}" if current else sentence
    return [passage for passage in [*cut, current] if 12 < size(passage) < 1.6 * most]


class Overlap:
    """Which of some passages shares the most telling words with a text."""

    def __init__(self, documents: list[str]):
        self.bags = [set(words(document)) for document in documents]
        self.frequency = Counter(word for bag in self.bags for word in bag)

    def weight(self, word: str) -> float:
        return 1 / (1 + self.frequency[word]) ** 0.5

    def best(self, text: str, needed: str, least: float) -> int | None:
        """The passage nearest to `text` of those that hold at least the share `least` of the words of `needed`."""
        told, must = set(words(text)), set(words(needed))
        if not must:
            return None
        scored = []
        for index, bag in enumerate(self.bags):
            if sum(self.weight(word) for word in must & bag) >= least * sum(map(self.weight, must)):
                scored.append((sum(self.weight(word) for word in told & bag), -index))
        return -max(scored)[1] if scored else None


# --- sets of questions -----------------------------------------------------------------------------------------------


def fairytales(data: Path, _: Path) -> Source:
    """fairytaleqa's train part: questions over one story, with their paragraphs."""
    source = Source("fairytaleqa", "Apache-2.0")
    folder = data / "fairytaleqa"
    for path in sorted((folder / "section-stories" / "train").glob("*.csv")):
        story = path.name.removesuffix("-story.csv")
        sections = {row["section"]: source.add(squeezed(row["text"]), story) for row in rows(path)}
        for row in rows(folder / "questions" / "train" / f"{story}-questions.csv"):
            gold = [sections[one.strip()] for one in row["cor_section"].split(",") if one.strip() in sections]
            if gold:
                source.questions.append(Question(squeezed(row["question"]), gold, story))
    return source


def rows(path: Path) -> list[dict]:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        return list(csv.DictReader(file))


def cmrc(data: Path, _: Path) -> Source:
    """cmrc2018's trial part: questions over paragraphs of the Chinese Wikipedia."""
    source = Source("cmrc2018-trial", "CC BY-SA 4.0")
    for article in json.loads((data / "cmrc2018" / "cmrc2018_trial.json").read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            index = source.add(squeezed(paragraph["context"]), paragraph["id"])
            source.questions += [Question(one["question"], [index]) for one in paragraph["qas"] if one["question"].strip()]
    return source


def traditional_cmrc(data: Path, work: Path) -> Source:
    """The same in traditional characters; every third question stays in simplified ones."""
    from opencc import OpenCC

    convert = OpenCC("s2tw").convert
    source = cmrc(data, work)
    source.name = "cmrc2018-trial-traditional"
    source.documents = [convert(text) for text in source.documents]
    for place, question in enumerate(source.questions):
        if place % 3:
            question.text = convert(question.text)
    return source


def novel_questions(data: Path, _: Path) -> Source:
    """Half of graphrag-novel. Which passage answers is guessed from the words of the evidence and the answer."""
    source = Source("graphrag-novel-half", "MIT; the books are in the public domain")
    folder = data / "graphrag-novel"
    asked = json.loads((folder / "questions.json").read_text("utf-8"))
    for name in TRAINED_NOVELS:
        cut = passages((folder / "books" / f"{name}.txt").read_text("utf-8"), 190)
        first = len(source.documents)
        for passage in cut:
            source.add(passage, name)
        overlap = Overlap(cut)
        for row in asked:
            if row["source"] != name or row["question_type"] == "Creative Generation":
                continue
            # An answer in a sentence or more is rarely in one passage word by word.
            least = 1.0 if row["question_type"] == "Fact Retrieval" else 0.5
            evidence = row["evidence"] if isinstance(row["evidence"], str) else " ".join(row["evidence"])
            found = overlap.best(f"{row['question']} {row['answer']} {evidence}", row["answer"], least)
            if found is not None:
                source.questions.append(Question(row["question"], [first + found], name))
    return source


# --- sentences taken out of novels ------------------------------------------------------------------------------------


def english_sentences(data: Path, _: Path) -> Source:
    return taken_out("sentences-en", data, ENGLISH_BOOKS, 2500)


def chinese_sentences(data: Path, _: Path) -> Source:
    return taken_out("sentences-zh", data, CHINESE_BOOKS, 2500)


def taken_out(name: str, data: Path, books: tuple[str, ...], count: int) -> Source:
    """Sentences, or parts of them, whose passage is to be found without them (Lee, Chang and Toutanova 2019).

    One in five stays in its passage, so that shared words still count. Passages that no question is about stay whole.
    """
    draw = random.Random(name)
    source = Source(name, "in the public domain")
    for path in books:
        text = decoded((data / path).read_bytes())
        for passage in passages(text, 190):
            source.add(passage, path)
    for index in draw.sample(range(len(source.documents)), min(count, len(source.documents))):
        parted = without_one(source.documents[index], draw)
        if parted:
            sentence, source.documents[index] = parted
            source.questions.append(Question(shortened(sentence, draw), [index], source.groups[index]))
    return source


def without_one(passage: str, draw: random.Random) -> tuple[str, str] | None:
    """A sentence of a passage, and the passage without it; one time in five with it."""
    told = sentences(passage)
    long = [one for one in told if size(one) > 8]
    if len(told) < 3 or not long:
        return None
    sentence = draw.choice(long)
    if draw.random() < 0.2:
        return sentence, passage
    return sentence, " ".join(one for one in told if one is not sentence)


def decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def shortened(sentence: str, draw: random.Random) -> str:
    """The sentence, or a part of it that is about as long as a question."""
    if draw.random() < 0.35:
        return sentence
    if HAN.search(sentence):
        clauses = [part for part in re.split("[，；：。！？、「」“”]", sentence) if len(part) > 3]
        if not clauses:
            return sentence
        start = draw.randrange(len(clauses))
        return " ".join(clauses[start : start + draw.choice((1, 2, 2, 3))])
    told = sentence.split()
    length = draw.randint(5, 14)
    start = draw.randrange(max(1, len(told) - length))
    return " ".join(told[start : start + length])
