#!/usr/bin/env python3
"""Trains the reranker on WORK/examples.jsonl: one passage that answers against seven that only look so.

The loss is the cross-entropy of the softmax over the eight logits (listwise). What a step sees follows from the seed
and the step alone, so a run that was stopped goes on from its last checkpoint as if it had not been. On one kind of
processor and one number of threads the same command gives the same weights.

Writes WORK/NAME/: settings.json, log.jsonl (loss, and the quality on the questions that were kept back), checkpoint.pt,
and weights.pt at the end.
"""

import argparse
import hashlib
import json
import os
import random
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as functional
from tokenizers import Tokenizer

import network

SHARES = {
    "fairytaleqa": 0.26,
    "cmrc2018-trial": 0.10,
    "cmrc2018-trial-traditional": 0.08,
    "graphrag-novel-half": 0.07,
    "sentences-en": 0.08,
    "sentences-zh": 0.08,
    "manuals-en": 0.05,
    "manuals-zh": 0.06,
    "technical-en": 0.11,
    "packages-en": 0.08,
    "packages-zh": 0.03,
}
"""How often a question of each source is drawn."""


def main():
    settings = parsed()
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    torch.use_deterministic_algorithms(True)
    out = settings.work / settings.name
    out.mkdir(parents=True, exist_ok=True)
    chosen = {name: value for name, value in vars(settings).items() if name not in ("work", "packed", "tokenizer", "start", "until")}
    chosen["start"] = settings.start and hashlib.sha256(settings.start.read_bytes()).hexdigest()
    (out / "settings.json").write_text(json.dumps(chosen, indent=2) + "\n")

    examples = [json.loads(line) for line in (settings.work / "examples.jsonl").open(encoding="utf-8")]
    training = by_source(one for one in examples if not one["dev"])
    kept = dev_set(examples, settings.dev)
    reader = Reader(settings.tokenizer, settings.tokens)
    model = begun(settings)
    trainer = Trainer(model, settings)
    step = trainer.resume(out / "checkpoint.pt")
    log = (out / "log.jsonl").open("a")
    losses, started = [], time.monotonic()
    last = min(settings.steps, settings.until or settings.steps)
    while step < last:
        group = drawn(training, settings, step)
        losses.append(trainer.step(step, *reader.batches(group)))
        step += 1
        if step % 25 == 0 or step == last:
            said = {"step": step, "loss": round(float(np.mean(losses[-100:])), 4)}
            said["seconds"] = round((time.monotonic() - started) / len(losses), 2)
            if step % settings.every == 0 or step == last:
                trainer.save(out / "checkpoint.pt", step)
                said["dev"] = quality(model, reader, kept)
            log.write(json.dumps(said) + "\n")
            log.flush()
            print(json.dumps(said), flush=True)
    if step < settings.steps:
        return
    temporary = out / "weights.tmp"
    torch.save(model.state_dict(), temporary)
    os.replace(temporary, out / "weights.pt")


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="the folder of examples.jsonl")
    parser.add_argument("--packed", type=Path, required=True, help="the packed embedder")
    parser.add_argument("--tokenizer", type=Path, required=True, help="its tokenizer.json")
    parser.add_argument("--name", default="reranker", help="the run's folder in WORK")
    parser.add_argument("--layers", type=lambda text: [int(part) for part in text.split(",")], default=list(range(6)))
    parser.add_argument("--start", type=Path, help="weights to go on from, such as scripts/models/reranker.npz")
    parser.add_argument("--steps", type=int, default=1800)
    parser.add_argument("--until", type=int, help="stop after this step, to be gone on with another time")
    parser.add_argument("--questions", type=int, default=4, help="questions a step")
    parser.add_argument("--negatives", type=int, default=7, help="passages beside the one that answers")
    parser.add_argument("--tokens", type=int, default=192, help="tokens of question and passage together at most")
    parser.add_argument("--rate", type=float, default=2.5e-4, help="the highest learning rate")
    parser.add_argument("--warmup", type=int, default=60, help="steps in which the rate rises")
    parser.add_argument("--every", type=int, default=200, help="steps between two checkpoints")
    parser.add_argument("--dev", type=int, default=60, help="questions of each source that quality is measured on")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def begun(settings) -> network.Reranker:
    """The network before the first step: of the embedder, or of the file to go on from."""
    base = network.packed_e5.read(settings.packed)
    if settings.start is None:
        return network.Reranker(base, settings.layers)
    trained = network.trained_reranker.TrainedReranker(base, settings.start)
    if trained.kept != settings.layers:
        sys.exit(f"train: {settings.start} has the layers {trained.kept}: name them with --layers")
    model = network.Reranker(trained, list(range(trained.layers)))
    for part in ("dense", "out"):
        linear = getattr(model, part)
        linear.weight.data = network.tensor(trained.head(f"{part}.w"))
        linear.bias.data = network.tensor(trained.head(f"{part}.b"))
    return model


def by_source(examples) -> dict[str, list]:
    sources: dict[str, list] = {}
    for example in examples:
        sources.setdefault(example["source"], []).append(example)
    missing = set(SHARES) - set(sources)
    if missing:
        sys.exit(f"train: examples.jsonl has no questions of {', '.join(sorted(missing))}: run mine.py")
    return sources


def dev_set(examples, count: int) -> list:
    """The same questions of each source every time."""
    kept = by_source(one for one in examples if one["dev"])
    return [one for name in SHARES for one in random.Random(name).sample(kept[name], min(count, len(kept[name])))]


def drawn(training, settings, step: int) -> list[tuple[str, list[str]]]:
    """The questions of a step, each with the passage that answers it first."""
    draw = random.Random(f"{settings.seed}/{step}")
    group = []
    for source in draw.choices(list(SHARES), list(SHARES.values()), k=settings.questions):
        example = draw.choice(training[source])
        answer = example["positives"][draw.randrange(len(example["positives"]))]
        passages = [answer, *draw.sample(example["negatives"], settings.negatives)]
        group.append((example["question"], [passage["text"] for passage in passages]))
    return group


class Reader:
    """Pairs of question and passage as the network reads them: `<s> question </s></s> passage </s>`."""

    def __init__(self, path: Path, most: int):
        self.tokenizer = Tokenizer.from_file(str(path))
        self.tokenizer.enable_truncation(most, strategy="only_second")
        self.pad = self.tokenizer.token_to_id("<pad>")

    def padded(self, pairs):
        """Ids [pairs, tokens] and the mask of what is no padding."""
        read = [encoding.ids for encoding in self.tokenizer.encode_batch(pairs)]
        length = max(map(len, read))
        ids = torch.full((len(read), length), self.pad)
        for row, one in enumerate(read):
            ids[row, : len(one)] = torch.tensor(one)
        lengths = torch.tensor([len(one) for one in read])
        return ids, torch.arange(length)[None, :] < lengths[:, None]

    def batches(self, group):
        """The pairs of all questions in two batches, short and long, and each pair's place among all."""
        pairs = [(question, passage) for question, passages in group for passage in passages]
        order = sorted(range(len(pairs)), key=lambda place: len(pairs[place][0].encode()) + len(pairs[place][1].encode()))
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        return [self.padded([pairs[place] for place in half]) for half in halves if half], order


class Trainer:
    """AdamW over the layers and the head, the rate rising and then falling in a straight line."""

    def __init__(self, model, settings):
        self.model, self.settings = model, settings
        self.parameters = [one for one in model.parameters() if one.requires_grad]
        self.optimizer = torch.optim.AdamW(self.parameters, lr=settings.rate, weight_decay=0.01)

    def rate(self, step: int) -> float:
        rise = min(1.0, (step + 1) / self.settings.warmup)
        return self.settings.rate * rise * max(0.02, 1 - step / self.settings.steps)

    def step(self, step: int, batches, order) -> float:
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(step)
        with torch.autocast("cpu", torch.bfloat16):
            logits = torch.cat([self.model(ids, mask) for ids, mask in batches])
        logits = logits[torch.argsort(torch.tensor(order))].view(self.settings.questions, -1)
        loss = functional.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        return loss.item()

    def save(self, path: Path, step: int):
        state = {"step": step, "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        torch.save(state, path.with_suffix(".tmp"))
        os.replace(path.with_suffix(".tmp"), path)

    def resume(self, path: Path) -> int:
        if not path.exists():
            return 0
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        return state["step"]


def quality(model, reader, kept, batch: int = 32) -> dict[str, list[float]]:
    """By source, the mean reciprocal rank at 10 of the first stage, of the network alone, and of both together."""
    ranks: dict[str, list] = {}
    model.eval()
    for example in kept:
        passages = candidates(example)
        pairs = [(example["question"], passage["text"]) for passage, _ in passages]
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            logits = np.concatenate([model(*reader.padded(pairs[at : at + batch])).numpy() for at in range(0, len(pairs), batch)])
        first = np.array([-place for place in range(len(passages))], float)
        dense, lexical = (z([passage[name] for passage, _ in passages]) for name in ("dense", "bm25"))
        both = z(logits) + 0.5 * dense + 0.75 * lexical
        gold = [is_gold for _, is_gold in passages]
        ranks.setdefault(example["source"], []).append([reciprocal(scores, gold) for scores in (first, logits, both)])
    model.train()
    return {name: [round(float(one), 4) for one in np.mean(rows, axis=0)] for name, rows in ranks.items()}


def candidates(example):
    """What the first stage ranks highest, at most 20, and whether each answers."""
    told = [(one, True) for one in example["positives"] if one["fused"] is not None]
    told += [(one, False) for one in example["negatives"]]
    return sorted(told, key=lambda one: one[0]["fused"])[:20]


def z(values):
    values = np.asarray(values, float)
    return (values - values.mean()) / (values.std() or 1.0)


def reciprocal(scores, gold) -> float:
    for rank, place in enumerate(np.argsort(-np.asarray(scores), kind="stable")[:10]):
        if gold[place]:
            return 1 / (rank + 1)
    return 0.0


if __name__ == "__main__":
    main()
