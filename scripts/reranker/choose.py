#!/usr/bin/env python3
"""Chooses how a trained reranker's logits are scaled and blended, on the questions that training kept back.

Scale and shift make the sigmoid of a logit the share of such candidates that answer (Platt 1999). The blend is the one
with the best mean reciprocal rank at 10, each source counting alike, over the first DEPTH candidates of the first
stage. Prints the quality of each source by stage and by depth; writes WORK/NAME/choice.json, which pack.py reads.
"""

import argparse
import itertools
import json
from pathlib import Path

import numpy as np
import torch

import network
import train

DENSE = (0.0, 0.25, 0.5, 0.75, 1.0)
LEXICAL = (0.0, 0.25, 0.5, 0.75, 1.0)
DEPTHS = (4, 8, 12, 16, 20)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="the folder of the training run, in WORK")
    parser.add_argument("--packed", type=Path, required=True, help="the packed embedder")
    parser.add_argument("--tokenizer", type=Path, required=True, help="its tokenizer.json")
    parser.add_argument("--dev", type=int, default=60, help="questions of each source")
    parser.add_argument("--depth", type=int, default=12, help="candidates that are reranked")
    arguments = parser.parse_args()
    questions = scored(arguments)
    logits = np.concatenate([one["logits"] for one in questions])
    gold = np.concatenate([one["gold"] for one in questions])
    scale, shift = platt(logits, gold)
    print(f"logit * {scale:.4f} + {shift:.4f}")
    for one in questions:
        one["logits"] = one["logits"] * scale + shift

    chosen = max(itertools.product(DENSE, LEXICAL), key=lambda weights: mean(by_source(questions, arguments.depth, weights)))
    for depth in DEPTHS:
        rows = [by_source(questions, depth, weights) for weights in (None, (0.0, 0.0), chosen)]
        print(f"depth {depth}: first stage, reranker alone, blend 1,{chosen[0]},{chosen[1]}")
        for source in rows[0]:
            print(f"  {source:28}" + "".join(f"{row[source]:8.4f}" for row in rows))
        print(f"  {'mean':28}" + "".join(f"{mean(row):8.4f}" for row in rows))
    choice = {"scale": scale, "shift": shift, "blend": [1.0, *chosen], "depth": arguments.depth}
    (arguments.run / "choice.json").write_text(json.dumps(choice, indent=2) + "\n")


def scored(arguments) -> list[dict]:
    """Each question's candidates in the first stage's order: standardized scores, logits, and which answer."""
    settings = json.loads((arguments.run / "settings.json").read_text())
    examples = map(json.loads, (arguments.run.parent / "examples.jsonl").open(encoding="utf-8"))
    model = network.Reranker(network.packed_e5.read(arguments.packed), settings["layers"])
    model.load_state_dict(torch.load(arguments.run / "weights.pt"))
    model.eval()
    reader = train.Reader(arguments.tokenizer, settings["tokens"])
    questions = []
    for example in train.dev_set(list(examples), arguments.dev):
        passages = train.candidates(example)
        pairs = [(example["question"], passage["text"]) for passage, _ in passages]
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            logits = model(*reader.padded(pairs)).double().numpy()
        gold = np.array([is_gold for _, is_gold in passages])
        dense, lexical = ([passage[name] for passage, _ in passages] for name in ("dense", "bm25"))
        questions.append({"source": example["source"], "logits": logits, "gold": gold, "dense": dense, "lexical": lexical})
    return questions


def by_source(questions, depth: int, weights) -> dict[str, float]:
    """Mean reciprocal rank at 10 of each source; of the first stage where there are no weights."""
    ranks: dict[str, list[float]] = {}
    for one in questions:
        scores = np.arange(len(one["gold"]), 0, -1, dtype=float) - 1e6
        if weights is not None:
            dense, lexical = (weight * train.z(one[name][:depth]) for weight, name in zip(weights, ("dense", "lexical")))
            scores[:depth] = train.z(one["logits"][:depth]) + dense + lexical
        ranks.setdefault(one["source"], []).append(train.reciprocal(scores, one["gold"]))
    return {source: float(np.mean(values)) for source, values in ranks.items()}


def mean(values: dict[str, float]) -> float:
    return sum(values.values()) / len(values)


def platt(logits, gold, steps: int = 50) -> tuple[float, float]:
    """Scale and shift of the logistic regression of `gold` on `logits`, by Newton's method."""
    points = np.stack([logits, np.ones_like(logits)], axis=1)
    weights = np.array([1.0, 0.0])
    for _ in range(steps):
        share = 1 / (1 + np.exp(-points @ weights))
        curvature = (points * (share * (1 - share))[:, None]).T @ points
        weights -= np.linalg.solve(curvature, points.T @ (share - gold))
    return float(weights[0]), float(weights[1])


if __name__ == "__main__":
    main()
