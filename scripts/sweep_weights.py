#!/usr/bin/env python3
"""Tries weights of fusion and of the final blend on runs of `quire eval`, without searching again.

Takes the folders of runs made by

    quire eval run --retrieval-only --rerank 50 --blend 1,0,0 --out RUN SET

whose last stage has the reranker's own scores. The questions are split in two halves by a digest of their place; for
every setting, the mean over the runs of MRR@10 is printed for both halves: choose by A, confirm by B. Where a passage
stands in one retriever's list only, the other's score is taken to be the lowest of its list (BM25: 0); quire itself
computes it, so its own figures may differ in the third digit. Needs numpy.
"""

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np

FUSIONS = [(k, weight, 1.0) for k in (60, 20, 10, 5) for weight in (1.0, 1.5, 2.0, 3.0)]
SUMS = (0.4, 0.5, 0.6, 0.7)
BLENDS = [(1, 0, 0), (0, 1, 1), (0, 1, 1.5), (1, 1, 0.5), (1, 1, 1), (1, 0.5, 0.5), (1, 0.5, 0.75), (1, 0.5, 1), (1, 0.5, 1.5)]
DEPTHS = (10, 15, 20, 30, 40)
ABSENT = 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--fusion", default="20,2,1", help="that the blends are tried on (default: 20,2,1)")
    parser.add_argument("--logits", action="store_true", help="the reranker is a cross-encoder: its sigmoids are undone")
    parser.add_argument("--blend", default="1,0.5,0.75", help="that the depths are tried with (default: 1,0.5,0.75)")
    arguments = parser.parse_args()
    runs = [questions(folder, arguments.logits) for folder in arguments.runs]
    fusion, blend = (tuple(map(float, text.split(","))) for text in (arguments.fusion, arguments.blend))
    show(runs, "BM25", lambda one: order(-one["lexical_rank"]))
    show(runs, "dense", lambda one: order(-one["dense_rank"]))
    for tried in FUSIONS:
        show(runs, f"RRF k={tried[0]} BM25 {tried[1]:g} : dense 1", lambda one, tried=tried: order(fused(one, tried)))
    for weight in SUMS:
        show(runs, f"z-scores, BM25 {weight:g} : dense {1 - weight:g}", lambda one, weight=weight: order(summed(one, weight)))
    for tried in BLENDS:
        show(runs, f"blend {tried}", lambda one, tried=tried: reranked(one, fusion, tried, 20))
    for depth in DEPTHS:
        show(runs, f"depth {depth}", lambda one, depth=depth: reranked(one, fusion, blend, depth))


def questions(folder: Path, logits: bool) -> list[dict]:
    """Of every question with a known answer: ranks, scores and relevance of all passages that were found."""
    found = []
    for line in (folder / "records.jsonl").open(encoding="utf-8"):
        record = json.loads(line).get("found")
        # By the strongest criterion there is.
        support = record and next(
            (record["support"][name] for name in ("judged", "quoted", "answer_words") if record["support"].get(name)), None
        )
        if not support:
            continue
        lists = {stage: {tuple(hit[:2]): hit[2] for hit in record[stage]} for stage in ("bm25", "dense", "reranked")}
        places = {stage: {hit: rank for rank, hit in enumerate(lists[stage], 1)} for stage in ("bm25", "dense")}
        passages = sorted(set(lists["bm25"]) | set(lists["dense"]))
        relevant = {(book, ordinal) for book, ordinal, grade in support if grade > 0}
        lowest = min(lists["dense"].values())
        rerank = np.array([lists["reranked"].get(one, np.nan) for one in passages])
        found.append(
            {
                "half": hashlib.sha256(f"{record['set']}/{record['question']}".encode()).digest()[0] & 1,
                "relevant": np.array([one in relevant for one in passages]),
                "lexical_rank": np.array([places["bm25"].get(one, ABSENT) for one in passages]),
                "dense_rank": np.array([places["dense"].get(one, ABSENT) for one in passages]),
                "lexical": np.array([lists["bm25"].get(one, 0.0) for one in passages]),
                "dense": np.array([lists["dense"].get(one, lowest) for one in passages]),
                "rerank": np.log(rerank / (1 - rerank)) if logits else rerank,
            }
        )
    return found


def show(runs, name, ranking):
    """The mean over the runs, by half; then each run's."""
    values = [[(one["half"], reciprocal(one, ranking(one))) for one in run] for run in runs]
    by_run = [[np.mean([value for half, value in run if half == wanted]) for wanted in (0, 1)] for run in values]
    a, b = np.mean(by_run, axis=0)
    print(f"{name:36} A {a:.4f}  B {b:.4f}  | " + " ".join(f"{a:.3f}/{b:.3f}" for a, b in by_run), flush=True)


def order(scores) -> np.ndarray:
    return np.argsort(-scores, kind="stable")


def fused(one, weights):
    k, lexical, dense = weights
    return lexical / (k + one["lexical_rank"]) + dense / (k + one["dense_rank"])


def summed(one, weight):
    return weight * z(one["lexical"]) + (1 - weight) * z(one["dense"])


def reranked(one, fusion, blend, depth) -> np.ndarray:
    """The best fused passages by the blend, the others after them."""
    ranked = order(fused(one, fusion))
    read = np.array([place for place in ranked[:depth] if not np.isnan(one["rerank"][place])], int)
    rest = [place for place in ranked if place not in set(read)]
    scores = sum(weight * z(one[name][read]) for weight, name in zip(blend, ("rerank", "dense", "lexical"), strict=True))
    return np.concatenate([read[order(scores)], rest]).astype(int)


def z(values):
    return (values - values.mean()) / (values.std() or 1.0) if len(values) else values


def reciprocal(one, ranking) -> float:
    hits = np.nonzero(one["relevant"][ranking[:10]])[0]
    return 1 / (hits[0] + 1) if len(hits) else 0.0


if __name__ == "__main__":
    main()
