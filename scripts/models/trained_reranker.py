"""The reranker's weights: layers of multilingual-e5-small, and what training changed in them.

The file is a NumPy archive with

    layers                  int32: which of the embedder's layers there are, in order
    l0.q.w.codes, .scales   of each matrix of each layer the change, in blocks of 32 of four bits: uint8 [outputs,
                            inputs / 2], feature i in the low and i + inputs / 2 in the high half of a byte, and float16
                            [outputs, inputs / 32]; a change is scale * (code - 8)
    l0.q.b, l0.aln.w ...    float32: biases and norms as they are after training, under the packed embedder's names
    emb.ln.w, emb.ln.b      likewise
    head.dense.w, .b        float16 [hidden, hidden] and float32: the layer of the head, over the mean of the question's tokens
    head.out.w, .b          float32 [1, hidden] and [1]: the logit of its hyperbolic tangent
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import packed_e5

BLOCK = packed_e5.BLOCK
ZERO = 8
MATRICES = ("q", "k", "v", "ao", "fi", "fo")


@dataclass
class Matrix:
    """A matrix as the graph's builder asks for it."""

    values: np.ndarray

    def dequantized(self) -> np.ndarray:
        return self.values


class TrainedReranker:
    """The packed embedder with the changes applied, under the names and methods of `packed_e5.PackedE5`."""

    def __init__(self, base: packed_e5.PackedE5, path: Path):
        self.base = base
        with np.load(path) as archive:
            self.tensors = {name: archive[name] for name in archive.files}
        self.kept = [int(layer) for layer in self.tensors["layers"]]
        self.layers = len(self.kept)
        for name in ("hidden", "heads", "ffn", "vocabulary_size", "positions", "epsilon", "eos"):
            setattr(self, name, getattr(base, name))

    def vector(self, name: str) -> np.ndarray:
        return self.tensors[name] if name in self.tensors else self.base.vector(name)

    def matrix(self, name: str, outputs: int, inputs: int):
        layer, dot, part = name.partition(".")
        if f"{name}.codes" not in self.tensors:
            return self.base.matrix(name, outputs, inputs)
        base = self.base.matrix(f"l{self.kept[int(layer[1:])]}{dot}{part}", outputs, inputs).dequantized()
        return Matrix(base + unpacked(self.tensors[f"{name}.codes"], self.tensors[f"{name}.scales"]))

    def head(self, name: str) -> np.ndarray:
        return self.tensors[f"head.{name}"].astype(np.float32)


def packed(change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A float32 [outputs, inputs] in four bits: codes and scales.

    Of several scales for a block the one with the smallest squared error is taken.
    """
    rows, columns = change.shape
    blocks = change.reshape(rows, columns // BLOCK, BLOCK).astype(np.float64)
    extreme = np.take_along_axis(blocks, np.abs(blocks).argmax(2)[..., None], 2)
    best = None
    for divisor in (-8.0, -7.5, -7.0, 7.0, 6.5, -6.0, -5.5):
        scales = (extreme / divisor).astype(np.float16).astype(np.float64)
        codes = np.clip(np.round(blocks / np.where(scales == 0, 1, scales)) + ZERO, 0, 15)
        error = ((scales * (codes - ZERO) - blocks) ** 2).sum(2, keepdims=True)
        if best is None:
            best = error, codes, scales
        else:
            better = error < best[0]
            best = tuple(np.where(better, new, old) for new, old in zip((error, codes, scales), best, strict=True))
    _, codes, scales = best
    codes = codes.reshape(rows, columns).astype(np.uint8)
    return codes[:, : columns // 2] | (codes[:, columns // 2 :] << 4), scales[..., 0].astype(np.float16)


def unpacked(codes: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """The float32 change [outputs, inputs] that codes and scales stand for."""
    signed = np.concatenate([codes & 15, codes >> 4], axis=1).astype(np.float32) - np.float32(ZERO)
    rows, columns = signed.shape
    return (signed.reshape(rows, -1, BLOCK) * scales.astype(np.float32)[..., None]).reshape(rows, columns)
