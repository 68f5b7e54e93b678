#!/usr/bin/env python3
"""Makes any fp32 ONNX export of an XLM-RoBERTa row-wise int8 (rowwise.py tells how).

Every MatMul, and every Gemm, whose right side is a constant float32 matrix becomes an integer product with a scale
for each row of activations: a text's result depends neither on its padding nor on its batch mates. All else stays.
Weights may lie in the file or beside it. The result is one file, or, above 1.5 GB, OUT and its weights in OUT_data.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, external_data_helper, helper, numpy_helper

import rowwise
from onnx_graph import MICROSOFT, Graph

LARGEST_SINGLE_FILE = 1_500_000_000
# Scales for each row need QuantizeLinear's axis.
OLDEST_OPSET = 13
ALIGNMENT = 4096
# The lowest cosine to the fp32 graph that --check accepts.
LOWEST_COSINE = 0.99


class ExportError(Exception):
    """The export cannot be made row-wise int8."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="IN.onnx", type=Path)
    parser.add_argument("target", metavar="OUT.onnx", type=Path)
    parser.add_argument("--check", action="store_true", help="run both graphs on random tokens and compare the outputs")
    arguments = parser.parse_args()
    try:
        count = convert(arguments.source, arguments.target)
        print(f"{count} matrix products made int8: {arguments.target}")
        if arguments.check:
            check(arguments.source, arguments.target)
    except (ExportError, OSError, ValueError) as error:
        sys.exit(f"rowwise_int8: {error}")


def convert(source: Path, target: Path) -> int:
    """Writes the int8 form of `source` to `target`; the number of products that were changed."""
    if source.resolve() == target.resolve():
        raise ExportError("IN and OUT are the same file")
    model = onnx.load(source, load_external_data=False)
    rewriter = Rewriter(model, source.parent)
    for node in model.graph.node:
        rewriter.add(node)
    if not rewriter.count:
        raise ExportError(f"{source} has no product with a constant float32 matrix")
    rewriter.finish()
    save(model, source.parent, target)
    return rewriter.count


class Rewriter:
    """Copies nodes to a new list, products with constant matrices in their int8 form."""

    def __init__(self, model, folder: Path):
        self.model = model
        self.folder = folder
        self.weights = {tensor.name: tensor for tensor in model.graph.initializer}
        opset = next((entry.version for entry in model.opset_import if entry.domain == ""), 0)
        if opset < OLDEST_OPSET:
            raise ExportError(f"the export has opset {opset}, {OLDEST_OPSET} or later is needed")
        self.graph = Graph("rowwise", opset=opset, prefix="rowwise.")
        self.quantized = {}
        self.count = 0

    def add(self, node):
        matrix = self.constant_matrix(node)
        if matrix is None:
            self.graph.nodes.append(node)
            return
        rows, leading = self.quantize(node.input[0], matrix.shape[0])
        codes, scales = rowwise.quantized_columns(matrix)
        product = rowwise.multiply(self.graph, rows, f"w{self.count}", codes, scales)
        shape = self.graph.node("Concat", [leading, self.graph.integers(matrix.shape[1])], axis=0)
        if node.op_type == "Gemm" and len(node.input) > 2 and node.input[2]:
            product = self.graph.node("Add", [product, node.input[2]])
        self.graph.node("Reshape", [product, shape], name=node.output[0])
        self.count += 1

    def constant_matrix(self, node):
        """The right side of a product, float32 [inputs, outputs], or None where the node is not one to change."""
        if node.domain not in ("", "ai.onnx") or node.op_type not in ("MatMul", "Gemm"):
            return None
        tensor = self.weights.get(node.input[1])
        if tensor is None or tensor.data_type != TensorProto.FLOAT or len(tensor.dims) != 2:
            return None
        matrix = numpy_helper.to_array(tensor, base_dir=str(self.folder))
        if node.op_type == "MatMul":
            return matrix
        attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        if attributes.get("transA", 0) or attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0:
            return None
        return np.ascontiguousarray(matrix.T) if attributes.get("transB", 0) else matrix

    def quantize(self, value: str, columns: int):
        """The quantized rows of `value` and its shape without the last dimension; made once for each value."""
        if value not in self.quantized:
            graph = self.graph
            flat = graph.node("Reshape", [value, graph.integers(-1, columns)])
            shape = graph.node("Shape", [value])
            leading = graph.node("Slice", [shape, graph.integers(0), graph.integers(-1)])
            count = graph.node("Slice", [graph.node("Shape", [flat]), graph.integers(0), graph.integers(1)])
            rows = rowwise.quantize(graph, flat, rowwise.repeated(graph, rowwise.CENTRE, count))
            self.quantized[value] = rows, leading
        return self.quantized[value]

    def finish(self):
        """Puts the new nodes and constants into the model, and drops weights that nothing uses any more."""
        graph = self.model.graph
        used = {name for node in self.graph.nodes for name in node.input} | {output.name for output in graph.output}
        used |= {name for node in graph.node for name in captured(node)}
        kept = [tensor for tensor in graph.initializer if tensor.name in used]
        nodes = list(self.graph.nodes)
        del graph.node[:], graph.initializer[:]
        graph.node.extend(nodes)
        graph.initializer.extend(kept + list(self.graph.constants.values()))
        # Shapes that were inferred for values that are gone would mislead.
        del graph.value_info[:]
        if MICROSOFT not in [entry.domain for entry in self.model.opset_import]:
            self.model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))


def captured(node):
    """Names that the subgraphs of a node use."""
    for attribute in node.attribute:
        for graph in [attribute.g, *attribute.graphs]:
            for inner in graph.node:
                yield from inner.input
                yield from captured(inner)


def save(model, folder: Path, target: Path):
    """Writes the model; its weights go beside it if they are too large for one file. One weight at a time in memory."""
    sizes = [tensor_bytes(tensor) for tensor in model.graph.initializer]
    target.parent.mkdir(parents=True, exist_ok=True)
    if sum(sizes) <= LARGEST_SINGLE_FILE:
        for tensor in model.graph.initializer:
            if external_data_helper.uses_external_data(tensor):
                tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor, str(folder)), tensor.name))
    else:
        beside = target.with_name(target.name + "_data")
        with open(beside, "wb") as data:
            for tensor, size in zip(model.graph.initializer, sizes, strict=True):
                if size < ALIGNMENT:
                    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor, str(folder)), tensor.name))
                    continue
                array = numpy_helper.to_array(tensor, str(folder))
                data.write(bytes(-data.tell() % ALIGNMENT))
                place_outside(tensor, beside.name, data.tell(), array.nbytes)
                array.tofile(data)
    target.write_bytes(model.SerializeToString(deterministic=True))


def tensor_bytes(tensor) -> int:
    return int(np.prod(tensor.dims, dtype=np.int64)) * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize


def place_outside(tensor, location: str, offset: int, length: int):
    """Turns a tensor into a reference to bytes of a file beside the graph."""
    for field in ("raw_data", "float_data", "int32_data", "int64_data", "external_data"):
        tensor.ClearField(field)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))


def check(source: Path, target: Path):
    """Compares both graphs on random tokens, and the int8 graph with itself on the same tokens padded."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    tokens = np.random.default_rng(0).integers(5, smallest_vocabulary(source), (2, 32))
    padded = np.pad(tokens, ((0, 0), (0, 8)), constant_values=1)
    whole, cut = ({"input_ids": ids, "attention_mask": (ids != 1).astype(np.int64)} for ids in (tokens, padded))

    def run(path, *batches):
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        wanted = {entry.name for entry in session.get_inputs()}
        names = [entry.name for entry in session.get_outputs()]
        feeds = ({name: batch[name] for name in wanted} for batch in batches)
        return [dict(zip(names, session.run(None, feed), strict=True)) for feed in feeds]

    (expected,) = run(source, whole)
    actual, with_padding = run(target, whole, cut)
    for name, reference in expected.items():
        value, other = actual[name], with_padding[name]
        if other.shape != value.shape:
            other = other[:, : value.shape[1]]
        lowest = cosines(reference, value).min() if reference.shape[-1] > 1 else None
        largest = np.abs(reference - value).max()
        same = np.array_equal(value, other)
        print(
            f"{name}: largest difference to fp32 {largest:.2e}, "
            + ("" if lowest is None else f"lowest cosine {lowest:.5f}, ")
            + f"{'the same' if same else 'NOT the same'} when padded"
        )
        if not same or (lowest is not None and lowest < LOWEST_COSINE):
            raise ExportError(f"the output {name} of {target} is not close enough to that of {source}")


def smallest_vocabulary(source: Path) -> int:
    """Rows of the table that the input ids look up; the check draws its tokens below it."""
    graph = onnx.load(source, load_external_data=False).graph
    rows = {tensor.name: tensor.dims[0] for tensor in graph.initializer if len(tensor.dims) == 2}
    found = [rows[n.input[0]] for n in graph.node if n.op_type == "Gather" and n.input[1] == "input_ids" and n.input[0] in rows]
    return min(found, default=1000)


def cosines(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return (a * b).sum(-1) / np.maximum(np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1), 1e-30)


if __name__ == "__main__":
    main()
