#!/usr/bin/env python3
"""Packs the weights of a training run into the file that set-up builds the reranker from (trained_reranker.py).

The scale and shift of choice.json go into the head.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))

import packed_e5  # noqa: E402
import trained_reranker  # noqa: E402
from network import MATRICES, NORMS  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="the folder of the training run")
    parser.add_argument("--packed", type=Path, required=True, help="the packed embedder")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    arguments = parser.parse_args()
    layers = json.loads((arguments.run / "settings.json").read_text())["layers"]
    weights = {name: value.float().numpy() for name, value in torch.load(arguments.run / "weights.pt").items()}
    choice = json.loads((arguments.run / "choice.json").read_text())
    weights["out.weight"] *= np.float32(choice["scale"])
    weights["out.bias"] = (weights["out.bias"] * choice["scale"] + choice["shift"]).astype(np.float32)
    tensors = changes(packed_e5.read(arguments.packed), layers, weights)
    np.savez(arguments.out, **tensors)
    print(f"{arguments.out}: {arguments.out.stat().st_size:,} bytes")


def changes(base: packed_e5.PackedE5, layers: list[int], weights) -> dict[str, np.ndarray]:
    tensors = {"layers": np.array(layers, np.int32)}
    for place, layer in enumerate(layers):
        for short in trained_reranker.MATRICES:
            trained = weights[f"layers.{place}.{MATRICES[short]}.weight"]
            change = trained - base.matrix(f"l{layer}.{short}.w", *trained.shape).dequantized()
            codes, scales = trained_reranker.packed(change)
            name = f"l{place}.{short}"
            tensors |= {f"{name}.w.codes": codes, f"{name}.w.scales": scales}
            tensors[f"{name}.b"] = weights[f"layers.{place}.{MATRICES[short]}.bias"]
        for short, long in NORMS.items():
            for end, part in (("w", "weight"), ("b", "bias")):
                tensors[f"l{place}.{short}.{end}"] = weights[f"layers.{place}.{long}.{part}"]
    tensors |= {"emb.ln.w": weights["norm.weight"], "emb.ln.b": weights["norm.bias"]}
    tensors |= {"head.dense.w": weights["dense.weight"].astype(np.float16), "head.dense.b": weights["dense.bias"]}
    return tensors | {"head.out.w": weights["out.weight"], "head.out.b": weights["out.bias"]}


if __name__ == "__main__":
    main()
