"""Row-wise int8 matrix products: every row of activations has its own scale.

For a row x and a weight matrix W with columns w_j:

    s   = max |x| / 127                 q   = round(x / s) + 128, uint8
    t_j = max |w_j| / 127               W8  = round(w_j / t_j), int8
    y_j = s * t_j * sum_i (q_i - 128) * W8_ij

What comes out of GELU is quantized more finely: it is never below -0.17, so most of uint8 can serve the positive
side (`quantize_gelu`).

The sum is of integers, so it is exact in any order; the scale is the row's own, so neither padding nor a batch
mate can change it. uint8 on the left and int8 on the right is the pair that AVX-512 VNNI multiplies in one
instruction. See docs/notes-model-graph.md for what was measured.
"""

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto, helper

from onnx_graph import MICROSOFT, Graph

LEVELS = 127
# Keeps a row of zeros from dividing by zero.
SMALLEST = 1e-12

# The code that stands for 0: in the middle for values of both signs, lower for GELU's.
CENTRE = 128
GELU_CENTRE = 32
GELU_MINIMUM = -0.17


def quantized_columns(weight: np.ndarray):
    """A matrix [inputs, outputs] in int8 and the float32 scale of each column."""
    scales = np.maximum(np.abs(weight).max(axis=0), np.float32(SMALLEST)) / np.float32(LEVELS)
    codes = np.clip(np.round(weight / scales), -LEVELS, LEVELS).astype(np.int8)
    return codes, scales.astype(np.float32)


@dataclass
class QuantizedRows:
    """Names of a quantized value: `codes` uint8 [rows, columns], `scales` float32 [rows, 1]. `centre` stands for 0."""

    codes: str
    scales: str
    centre: int


def repeated(graph: Graph, centre: int, rows: str) -> str:
    """The code for 0, once for each of `rows` rows (an int64 vector of one): QuantizeLinear asks for it."""
    value = helper.make_tensor("centre", TensorProto.UINT8, [1], [centre])
    return graph.node("ConstantOfShape", [rows], value=value)


def quantize(graph: Graph, value: str, centres: str) -> QuantizedRows:
    """Quantizes a float32 [rows, columns]; `centres` is `CENTRE`, repeated.

    The maximum of |x| is taken from both ends, so that no pass has to write |x|.
    """
    highest = graph.reduce("ReduceMax", value, axis=-1, keepdims=False)
    lowest = graph.reduce("ReduceMin", value, axis=-1, keepdims=False)
    largest = graph.node("Max", [highest, graph.node("Neg", [lowest]), graph.scalar(SMALLEST)])
    scales = graph.node("Mul", [largest, graph.scalar(1 / LEVELS)])
    return _rounded(graph, value, scales, centres, CENTRE)


def quantize_gelu(graph: Graph, value: str, centres: str) -> QuantizedRows:
    """Quantizes what comes out of GELU, float32 [rows, columns]; `centres` is `GELU_CENTRE`, repeated."""
    highest = graph.reduce("ReduceMax", value, axis=-1, keepdims=False)
    scales = graph.node("Mul", [highest, graph.scalar(1 / (255 - GELU_CENTRE))])
    scales = graph.node("Max", [scales, graph.scalar(-GELU_MINIMUM / GELU_CENTRE)])
    return _rounded(graph, value, scales, centres, GELU_CENTRE)


def _rounded(graph, value, scales, centres, centre):
    codes = graph.node("QuantizeLinear", [value, scales, centres], axis=0)
    return QuantizedRows(codes, graph.node("Unsqueeze", [scales, graph.integers(1)]), centre)


def multiply(graph: Graph, rows: QuantizedRows, name: str, codes: np.ndarray, scales: np.ndarray) -> str:
    """The product with a matrix from `quantized_columns`: float32 [rows, outputs]."""
    product = graph.node(
        "MatMulIntegerToFloat",
        [
            rows.codes,
            graph.constant(name + ".codes", codes),
            # The operator takes one scale for all rows: the rows' own come after.
            graph.scalar(1.0),
            graph.constant(name + ".scales", scales),
            graph.constant(f"u8.{rows.centre}", np.array(rows.centre, np.uint8)),
            graph.constant("i8.0", np.array(0, np.int8)),
        ],
        domain=MICROSOFT,
    )
    return graph.node("Mul", [product, rows.scales])
