#!/usr/bin/env python3
"""Tokens per second of Python onnxruntime on an embedder, for comparison.

Reads passages as a JSON array of strings, sorts them by length, runs batches
of one padded length under a token budget, pools and normalizes, and prints one
JSON line: tokens, seconds of wall and CPU time, tokens/s. The same work, in
the same order, as quire's embedding stage.

usage: bench_embed.py MODEL.onnx TOKENIZER.json PASSAGES.json --threads 2
"""

import argparse
import json
import resource
import time

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

PAD = 1


def batches(lengths, budget):
    """Indices in batches: shortest first, at most `budget` padded tokens each."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    batch = []
    for index in order:
        if batch and lengths[index] * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("model")
    parser.add_argument("tokenizer")
    parser.add_argument("passages", help="a JSON array of strings")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--budget", type=int, default=4096, help="padded tokens in a batch")
    parser.add_argument("--prefix", default="passage: ")
    parser.add_argument("--max-tokens", type=int, default=512)
    arguments = parser.parse_args()

    tokenizer = Tokenizer.from_file(arguments.tokenizer)
    tokenizer.enable_truncation(arguments.max_tokens)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = arguments.threads
    session = onnxruntime.InferenceSession(
        arguments.model, options, providers=["CPUExecutionProvider"]
    )
    with open(arguments.passages, encoding="utf-8") as file:
        passages = json.load(file)

    def run(texts):
        encoded = tokenizer.encode_batch([arguments.prefix + text for text in texts])
        vectors = [None] * len(texts)
        for batch in batches([len(one.ids) for one in encoded], arguments.budget):
            longest = max(len(encoded[index].ids) for index in batch)
            ids = np.full((len(batch), longest), PAD, np.int64)
            mask = np.zeros((len(batch), longest), np.int64)
            for row, index in enumerate(batch):
                count = len(encoded[index].ids)
                ids[row, :count] = encoded[index].ids
                mask[row, :count] = 1
            hidden = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
            pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
            pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
            for row, index in enumerate(batch):
                vectors[index] = pooled[row]
        return sum(len(one.ids) for one in encoded)

    run(passages[:8])
    cpu = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    started, cpu_started = time.perf_counter(), cpu()
    tokens = run(passages)
    wall, cpu_seconds = time.perf_counter() - started, cpu() - cpu_started
    print(
        json.dumps(
            {
                "tokens": tokens,
                "wall_s": round(wall, 3),
                "cpu_s": round(cpu_seconds, 3),
                "tokens_per_s": round(tokens / wall, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
