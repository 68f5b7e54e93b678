#!/usr/bin/env python3
"""Questions with passages that answer them and passages that only look so, found by quire itself.

Every source becomes a BEIR folder; `quire eval run --retrieval-only` searches it; what its two retrievers and their
fusion rank highest, and what does not answer, is what the reranker learns to tell from what does. Writes
WORK/examples.jsonl, a line a question: what was asked, positive and negative passages with the first stage's scores,
and whether it is kept back to choose settings by (`dev`). What is kept back is asked once more, reranked by late
interaction: WORK/late/SOURCE, which choose.py reads.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import manuals
import questions

SOURCES = (
    questions.fairytales,
    questions.cmrc,
    questions.traditional_cmrc,
    questions.novel_questions,
    questions.english_sentences,
    questions.chinese_sentences,
    manuals.english_manuals,
    manuals.chinese_manuals,
    manuals.technical_manuals,
    manuals.english_packages,
    manuals.chinese_packages,
)
NEGATIVES = 20
# A group of one in so many is kept back.
DEV = 12
# Of what is kept back, about so many questions a source are reranked by late interaction.
LATE = 150


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="what is made goes here")
    parser.add_argument("--quire", default="quire", help="the program (default: the one on the path)")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    licences = {}
    with (arguments.work / "examples.jsonl").open("w", encoding="utf-8") as file:
        for make in SOURCES:
            source = make(arguments.data, arguments.work)
            licences[source.name] = source.licence
            everything = range(len(source.questions))
            folder, out = arguments.work / "sets" / source.name, arguments.work / "runs" / source.name
            write_set(source, folder, everything)
            found = asked(arguments.quire, folder, out, "--rerank", "0", "--by", "fusion")
            count = 0
            for example in examples(source, found):
                file.write(json.dumps(example, ensure_ascii=False) + "\n")
                count += 1
            late = arguments.work / "late" / source.name
            kept = [i for i in everything if is_dev(source, source.questions[i])]
            write_set(source, late / "set", kept[:: -(-len(kept) // LATE)])
            asked(arguments.quire, late / "set", late / "run", "--profile", "small-late", "--rerank", "20", "--blend", "1,0,0")
            print(f"{source.name}: {len(source.documents)} passages, {count} questions", flush=True)
    (arguments.work / "licences.json").write_text(json.dumps(licences, indent=2) + "\n")


def write_set(source, folder: Path, numbers):
    """A source's passages and some of its questions, as a BEIR folder."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    chosen = [(i, source.questions[i]) for i in numbers]
    lines(folder / "corpus.jsonl", ({"_id": str(i), "title": "", "text": text} for i, text in enumerate(source.documents)))
    lines(folder / "queries.jsonl", ({"_id": str(i), "text": one.text} for i, one in chosen))
    with (folder / "qrels" / "test.tsv").open("w") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        file.writelines(f"{i}\t{gold}\t1\n" for i, one in chosen for gold in one.gold)


def asked(quire: str, folder: Path, out: Path, *flags: str) -> dict[int, dict]:
    """What quire found for each question: documents by stage, best first, with their scores."""
    # A run of other questions would be refused.
    shutil.rmtree(out, ignore_errors=True)
    command = [quire, "eval", "run", "--retrieval-only", *flags, "--out", out, folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found = (json.loads(line).get("found") for line in (out / "records.jsonl").open(encoding="utf-8"))
    return {one["question"]: one for one in found if one}


def lines(path: Path, rows):
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def examples(source, found: dict[int, dict]):
    """A line a question that has enough to be told apart."""
    for number, question in enumerate(source.questions):
        # A passage is known by its ordinal, which is the document's number.
        scores = {
            stage: {ordinal: score for _, ordinal, score in found[number][stage]} for stage in ("bm25", "dense", "fused")
        }
        near = [one for one in scores["fused"] if question.group in (None, source.groups[one])]
        # Where a story is short, those of others fill up.
        order = near + [one for one in scores["fused"] if one not in set(near)]
        negatives = [one for one in order if one not in question.gold][:NEGATIVES]
        if len(negatives) < 7:
            continue

        def told(document):
            return {
                "text": source.documents[document],
                "bm25": scores["bm25"].get(document, 0.0),
                "dense": scores["dense"].get(document, min(scores["dense"].values())),
                "fused": order.index(document) if document in order else None,
            }

        yield {
            "source": source.name,
            "question": question.text,
            "positives": [told(one) for one in question.gold],
            "negatives": [told(one) for one in negatives],
            "dev": is_dev(source, question),
        }


def is_dev(source, question) -> bool:
    """Whether it is kept back, by a digest: all questions of a story together, or of a passage where there are few books."""
    few = len(set(source.groups)) < 5 * DEV
    unit = source.documents[question.gold[0]] if few or question.group is None else question.group
    return hashlib.sha256(f"{source.name}\n{unit}".encode()).digest()[0] % DEV == 0


if __name__ == "__main__":
    main()
