#!/usr/bin/env python3
"""Chooses how a trained reranker's logits are scaled and blended, on the questions that training kept back.

Scale and shift make the sigmoid of a logit the share of such candidates that answer (Platt 1999). What late interaction
counts beside it is a conditional logistic regression: the weights that make the passages that answer likeliest among a
question's candidates. Each blend is the one with the best mean reciprocal rank at 10, each source counting alike, over
the first DEPTH candidates of the first stage. Prints the quality of each source by depth; writes WORK/NAME/choice.json,
which pack.py reads.
"""

import argparse
import itertools
import json
import random
from pathlib import Path

import numpy as np
import torch

import network
import train

DENSE = (0.0, 0.25, 0.5, 0.75, 1.0)
LEXICAL = (0.0, 0.25, 0.5, 0.75, 1.0)
DEPTHS = (4, 8, 12, 16, 20)
FIRST_STAGE = ("dense", "lexical")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="the folder of the training run, in WORK")
    parser.add_argument("--packed", type=Path, required=True, help="the packed embedder")
    parser.add_argument("--tokenizer", type=Path, required=True, help="its tokenizer.json")
    parser.add_argument("--dev", type=int, default=60, help="questions of each source at most")
    parser.add_argument("--depth", type=int, default=16, help="candidates that are reranked")
    arguments = parser.parse_args()
    questions = scored(arguments)
    gold = np.concatenate([one["gold"] for one in questions])
    scale, shift = platt(np.concatenate([one["logits"] for one in questions]), gold)
    for one in questions:
        one["logits"] = one["logits"] * scale + shift
    late = late_weight(questions, arguments.depth)
    for one in questions:
        one["both"] = one["logits"] + late * one["late"]
    late_shift = intercept(np.concatenate([one["both"] for one in questions]), gold)

    by = {name: best(questions, name, arguments.depth) for name in ("logits", "late", "both")}
    columns = [None, ("logits", 0.0, 0.0), *((name, *weights) for name, weights in by.items())]
    for depth in DEPTHS:
        rows = [by_source(questions, depth, column) for column in columns]
        print(f"depth {depth}: first stage, cross-encoder alone, then blended: cross-encoder, late interaction, both")
        for source in rows[0]:
            print(f"  {source:28}" + "".join(f"{row[source]:8.4f}" for row in rows))
        print(f"  {'mean':28}" + "".join(f"{mean(row):8.4f}" for row in rows))
    choice = {"scale": scale, "shift": shift, "depth": arguments.depth, "late": {"weight": late, "shift": late_shift}}
    choice |= {"blend": {name: [1.0, *weights] for name, weights in by.items()}}
    print(json.dumps(choice))
    (arguments.run / "choice.json").write_text(json.dumps(choice, indent=2) + "\n")


def scored(arguments) -> list[dict]:
    """Each question's candidates in the first stage's order: all scores, and which answer."""
    settings = json.loads((arguments.run / "settings.json").read_text())
    model = network.Reranker(network.packed_e5.read(arguments.packed), settings["layers"])
    model.load_state_dict(torch.load(arguments.run / "weights.pt"))
    model.eval()
    reader = train.Reader(arguments.tokenizer, settings["tokens"])
    questions = []
    for source in train.SHARES:
        kept = kept_back(arguments.run.parent / "late" / source, source)
        for one in random.Random(source).sample(kept, min(arguments.dev, len(kept))):
            pairs = [(one["question"], text) for text in one["texts"]]
            with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
                one["logits"] = model(*reader.padded(pairs)).double().numpy()
            questions.append(one)
    return questions


def kept_back(folder: Path, source: str) -> list[dict]:
    """What mine.py found for a source's questions that were kept back."""
    texts = [json.loads(line)["text"] for line in (folder / "set" / "corpus.jsonl").open(encoding="utf-8")]
    queries = [json.loads(line)["text"] for line in (folder / "set" / "queries.jsonl").open(encoding="utf-8")]
    questions = []
    for line in (folder / "run" / "records.jsonl").open(encoding="utf-8"):
        found = json.loads(line).get("found")
        if not found:
            continue
        # A passage is known by its ordinal, which is the document's number.
        answers = {ordinal for _, ordinal, grade in found["support"]["judged"] if grade > 0}
        scores = {stage: {ordinal: score for _, ordinal, score in found[stage]} for stage in ("bm25", "dense", "reranked")}
        candidates = [ordinal for _, ordinal, _ in found["fused"]][: max(DEPTHS)]
        lowest = min(scores["dense"].values())
        questions.append(
            {
                "source": source,
                "question": queries[found["question"]],
                "texts": [texts[one] for one in candidates],
                "gold": np.array([one in answers for one in candidates]),
                "late": np.array([scores["reranked"][one] for one in candidates]),
                "dense": np.array([scores["dense"].get(one, lowest) for one in candidates]),
                "lexical": np.array([scores["bm25"].get(one, 0.0) for one in candidates]),
            }
        )
    return questions


def late_weight(questions, depth: int, steps: int = 30) -> float:
    """What late interaction counts for each one the logit counts, beside the first stage's standardized scores.

    Newton's method on the likelihood of the passages that answer under the softmax over a question's candidates; each
    source counts alike.
    """
    counts = {source: sum(one["source"] == source for one in questions) for source in train.SHARES}
    groups = []
    for one in questions:
        gold = one["gold"][:depth]
        if gold.any() and not gold.all():
            first = [train.z(one[name][:depth]) for name in FIRST_STAGE]
            points = np.stack([one["logits"][:depth], one["late"][:depth], *first], axis=1)
            groups.append((points - points.mean(0), gold / gold.sum(), 1 / counts[one["source"]]))
    weights = np.zeros(4)
    for _ in range(steps):
        gradient, curvature = np.zeros(4), np.zeros((4, 4))
        for points, share, counted in groups:
            likely = np.exp(points @ weights - (points @ weights).max())
            likely /= likely.sum()
            middle = likely @ points
            gradient += counted * (share - likely) @ points
            curvature += counted * ((points * likely[:, None]).T @ points - np.outer(middle, middle))
        # A little of a prior keeps a few questions from deciding without bound.
        weights += np.linalg.solve(curvature + 1e-6 * np.eye(4), gradient - 1e-6 * weights)
    return float(max(0.0, weights[1] / weights[0])) if weights[0] > 0 else 0.0


def best(questions, name: str, depth: int) -> tuple[float, float]:
    """The weights of the dense and BM25 scores beside a score."""
    return max(itertools.product(DENSE, LEXICAL), key=lambda weights: mean(by_source(questions, depth, (name, *weights))))


def by_source(questions, depth: int, column) -> dict[str, float]:
    """Mean reciprocal rank at 10 of each source; of the first stage where there is no column."""
    ranks: dict[str, list[float]] = {}
    for one in questions:
        scores = np.arange(len(one["gold"]), 0, -1, dtype=float) - 1e6
        if column is not None:
            name, *weights = column
            first = (weight * train.z(one[stage][:depth]) for weight, stage in zip(weights, FIRST_STAGE))
            scores[:depth] = train.z(one[name][:depth]) + sum(first)
        ranks.setdefault(one["source"], []).append(train.reciprocal(scores, one["gold"]))
    return {source: float(np.mean(values)) for source, values in ranks.items()}


def mean(values: dict[str, float]) -> float:
    return sum(values.values()) / len(values)


def platt(scores, gold, steps: int = 50) -> tuple[float, float]:
    """Scale and shift of the logistic regression of `gold` on `scores`, by Newton's method."""
    points = np.stack([scores, np.ones_like(scores)], axis=1)
    weights = np.array([1.0, 0.0])
    for _ in range(steps):
        share = 1 / (1 + np.exp(-points @ weights))
        curvature = (points * (share * (1 - share))[:, None]).T @ points
        weights -= np.linalg.solve(curvature, points.T @ (share - gold))
    return float(weights[0]), float(weights[1])


def intercept(scores, gold, steps: int = 60) -> float:
    """What added to `scores` makes the mean of their sigmoids the share of `gold`, by bisection."""
    low, high = -scores.max() - 50, -scores.min() + 50
    for _ in range(steps):
        middle = (low + high) / 2
        if (1 / (1 + np.exp(-(scores + middle)))).mean() < gold.mean():
            low = middle
        else:
            high = middle
    return float(low)


if __name__ == "__main__":
    main()
