"""A small builder of ONNX graphs whose files are the same, byte for byte, on every machine."""

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
"""The operator domain of ONNX Runtime's own operators."""

# Opset 23 brings `Attention`; IR version 10 is the oldest that holds it and that ONNX Runtime 1.31 reads.
OPSET = 23
IR_VERSION = 10


class Graph:
    """Nodes and constants in the order they are added. Values are named by the caller or by their node.

    `prefix` keeps the names that are made here apart from those of a graph that this one is to join.
    """

    def __init__(self, name: str, opset: int = OPSET, prefix: str = ""):
        self.name = name
        self.opset = opset
        self.prefix = prefix
        self.nodes = []
        self.constants = {}
        self.inputs = []
        self.outputs = []

    def input(self, name: str, kind: int, shape: list) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value: str, name: str, kind: int, shape: list):
        self.nodes.append(helper.make_node("Identity", [value], [name], name=name))
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def constant(self, name: str, value) -> str:
        """A named tensor; a name that is there already keeps its first value."""
        name = self.prefix + name
        if name not in self.constants:
            # Not ascontiguousarray: it turns a scalar into a vector.
            self.constants[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def integers(self, *values: int) -> str:
        """A vector of int64 constants, shared by all that ask for the same values."""
        name = "i64." + "_".join(str(value).replace("-", "m") for value in values)
        return self.constant(name, np.array(values, np.int64))

    def scalar(self, value: float) -> str:
        """A float32 constant, shared by all that ask for the same value."""
        return self.constant(f"f32.{value!r}", np.array(value, np.float32))

    def node(self, op: str, inputs: list, name: str = None, domain: str = "", **attributes) -> str:
        """Adds a node with one output and returns the output's name."""
        name = name or f"{self.prefix}{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def cast(self, value: str, kind: int) -> str:
        return self.node("Cast", [value], to=kind)

    def reduce(self, op: str, value: str, axis: int, keepdims: bool) -> str:
        """A reduction; its axes are an attribute before opset 18 and an input since."""
        if self.opset < 18:
            return self.node(op, [value], axes=[axis], keepdims=int(keepdims))
        return self.node(op, [value, self.integers(axis)], keepdims=int(keepdims))

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, list(self.constants.values()))
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="quire")

    def save(self, path: Path):
        Path(path).write_bytes(self.model().SerializeToString(deterministic=True))


def rows_of(dimension):
    """`[batch, sequence]`, with any further dimensions: the shape of a value of the encoder."""
    return ["batch", "sequence"] + ([dimension] if dimension else [])


FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64
UINT8 = TensorProto.UINT8
