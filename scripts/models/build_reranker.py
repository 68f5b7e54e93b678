#!/usr/bin/env python3
"""Builds the `small` profile's cross-encoder as ONNX, from the packed embedder and what training changed in it.

Writes reranker_fp32.onnx and reranker_int8.onnx to the folder --out. Both have the inputs `input_ids` and
`attention_mask`, int64 [batch, sequence], of `<s> question </s></s> passage </s>`, and the output `logits`, float32
[batch, 1]: the more, the better the passage answers. The same input gives the same files, byte for byte.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import build_small
import packed_e5
from onnx_graph import FLOAT, INT64, Graph
from trained_reranker import TrainedReranker

TRAINED = Path(__file__).with_name("reranker.npz")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder to write to; made if it is not there")
    parser.add_argument("--packed", type=Path, help="the packed embedder (default: the one in its package)")
    parser.add_argument("--trained", type=Path, default=TRAINED, help=f"what training changed (default: {TRAINED.name})")
    arguments = parser.parse_args()
    try:
        model = TrainedReranker(packed_e5.read(arguments.packed or build_small.packed_file()), arguments.trained)
        arguments.out.mkdir(parents=True, exist_ok=True)
        for precision, products in build_small.PRECISIONS.items():
            cross_encoder(model, products).save(arguments.out / f"reranker_{precision}.onnx")
    except (packed_e5.PackedFileError, OSError) as error:
        sys.exit(f"build_reranker: {error}")


def cross_encoder(model: TrainedReranker, products_of) -> Graph:
    """The encoder, the mean over the question's tokens, and the head.

    The question is what stands before the first end of a text: each of its tokens has looked for its like in the
    passage.
    """
    graph = Graph("quire-reranker-small")
    ids, _ = build_small.inputs(graph)
    is_end = graph.node("Equal", [ids, graph.constant("end", np.array(model.eos, np.int64))])
    ends = graph.node("CumSum", [graph.cast(is_end, INT64), graph.constant("axis", np.array(1, np.int64))])
    asks = graph.node("Equal", [ends, graph.constant("none", np.array(0, np.int64))])
    places = graph.node("NonZero", [graph.node("Reshape", [asks, graph.integers(-1)])])
    kept = graph.node("Squeeze", [places, graph.integers(0)])
    value, shape = build_small.hidden_states(graph, model, products_of, kept)
    # Back to their places, with zeros between.
    count = graph.node("Reshape", [graph.node("Size", [ids]), graph.integers(1)])
    nothing = graph.node("ConstantOfShape", [graph.node("Concat", [count, graph.integers(model.hidden)], axis=0)])
    value = graph.node("ScatterND", [nothing, graph.node("Transpose", [places]), value])
    value = graph.node("Reshape", [value, shape])
    share = graph.cast(asks, FLOAT)
    total = graph.node("MatMul", [graph.node("Unsqueeze", [share, graph.integers(1)]), value])
    count = graph.reduce("ReduceSum", share, 1, keepdims=True)
    pooled = graph.node("Div", [graph.node("Squeeze", [total, graph.integers(1)]), count])
    dense = graph.node("MatMul", [pooled, graph.constant("head.dense", columns(model.head("dense.w")))])
    dense = graph.node("Tanh", [graph.node("Add", [dense, graph.constant("head.dense.bias", model.head("dense.b"))])])
    logits = graph.node("MatMul", [dense, graph.constant("head.out", columns(model.head("out.w")))])
    logits = graph.node("Add", [logits, graph.constant("head.out.bias", model.head("out.b"))])
    graph.output(logits, "logits", FLOAT, ["batch", 1])
    return graph


def columns(weight: np.ndarray) -> np.ndarray:
    """[outputs, inputs] as [inputs, outputs]."""
    return np.ascontiguousarray(weight.T)


if __name__ == "__main__":
    main()
