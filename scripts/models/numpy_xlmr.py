#!/usr/bin/env python3
"""XLM-RoBERTa's forward pass in numpy: what ONNX Runtime's results are checked against.

Reads the weights of MODEL_DIR/model.onnx by their names, and the sizes from MODEL_DIR/config.json; the graph itself
is not looked at. Linear weights are [inputs, outputs], as exports hold them. Everything is computed in float64, each
text alone and without padding. Prints one JSON object:

    embedder        {"sentence_embedding": [[..], ..]}, with --tokens also "token_embeddings"
    cross-encoder   {"logits": [[..], ..]}

--check also runs ONNX Runtime, all texts in one padded batch, and fails if any value differs by more than 1e-5.
"""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

LARGEST_DIFFERENCE = 1e-5

erf = np.vectorize(math.erf, otypes=[np.float64])


class ModelError(Exception):
    """The folder does not hold a model that this pass can run."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL_DIR", type=Path)
    parser.add_argument("kind", choices=["embedder", "cross-encoder"])
    parser.add_argument("--ids", required=True, help="token ids: a JSON list of lists, specials included, no padding")
    parser.add_argument("--tokens", action="store_true", help="print the states of all tokens, too")
    parser.add_argument("--check", action="store_true", help="compare with ONNX Runtime")
    arguments = parser.parse_args()
    try:
        texts = token_ids(arguments.ids)
        model = XlmRoberta(arguments.model, "" if arguments.kind == "embedder" else "roberta.")
        result = embed(model, texts) if arguments.kind == "embedder" else score(model, texts)
        if arguments.check:
            check(arguments.model, texts, model.pad, result)
    except (ModelError, OSError, ValueError, KeyError) as error:
        sys.exit(f"numpy_xlmr: {error}")
    if not arguments.tokens:
        result.pop("token_embeddings", None)
    print(json.dumps({name: [value.tolist() for value in values] for name, values in result.items()}))


def token_ids(text: str) -> list:
    texts = json.loads(text)
    if not (isinstance(texts, list) and texts and all(isinstance(ids, list) and ids for ids in texts)):
        raise ValueError("--ids must be a JSON list of lists of token ids, none empty")
    return [np.array(ids, np.int64) for ids in texts]


class XlmRoberta:
    """The encoder. `states` gives the last hidden state of one text."""

    def __init__(self, folder: Path, scope: str):
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.layers = config["num_hidden_layers"]
        self.heads = config["num_attention_heads"]
        self.epsilon = config["layer_norm_eps"]
        self.pad = config["pad_token_id"]
        self.scope = scope
        graph = onnx.load(folder / "model.onnx", load_external_data=False).graph
        self.tensors = {tensor.name: tensor for tensor in graph.initializer}
        self.folder = folder

    def weight(self, name):
        if name not in self.tensors:
            raise ModelError(f"no weight {name} in {self.folder / 'model.onnx'}")
        return numpy_helper.to_array(self.tensors[name], base_dir=str(self.folder)).astype(np.float64)

    def linear(self, name, x):
        return x @ self.weight(f"{name}.weight") + self.weight(f"{name}.bias")

    def normalize(self, name, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self.epsilon)
        return centred / deviation * self.weight(f"{name}.weight") + self.weight(f"{name}.bias")

    def states(self, ids):
        """[tokens, hidden]"""
        name = f"{self.scope}embeddings"
        positions = self.pad + 1 + np.arange(len(ids))
        x = self.weight(f"{name}.word_embeddings.weight")[ids]
        x = x + self.weight(f"{name}.position_embeddings.weight")[positions]
        x = x + self.weight(f"{name}.token_type_embeddings.weight")[0]
        x = self.normalize(f"{name}.LayerNorm", x)
        for layer in range(self.layers):
            x = self.layer(f"{self.scope}encoder.layer.{layer}", x)
        return x

    def layer(self, name, x):
        attended = self.linear(f"{name}.attention.output.dense", self.attention(f"{name}.attention.self", x))
        x = self.normalize(f"{name}.attention.output.LayerNorm", x + attended)
        inner = self.linear(f"{name}.intermediate.dense", x)
        inner = inner * 0.5 * (1.0 + erf(inner / math.sqrt(2.0)))
        return self.normalize(f"{name}.output.LayerNorm", x + self.linear(f"{name}.output.dense", inner))

    def attention(self, name, x):
        tokens, hidden = x.shape
        query, key, value = (
            self.linear(f"{name}.{part}", x).reshape(tokens, self.heads, -1) for part in ("query", "key", "value")
        )
        scores = np.einsum("qhd,khd->hqk", query, key) / math.sqrt(hidden // self.heads)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return np.einsum("hqk,khd->qhd", shares, value).reshape(tokens, hidden)


def embed(model: XlmRoberta, texts: list) -> dict:
    states = [model.states(ids) for ids in texts]
    return {
        "sentence_embedding": [state[0] / np.linalg.norm(state[0]) for state in states],
        "token_embeddings": states,
    }


def score(model: XlmRoberta, texts: list) -> dict:
    def logit(ids):
        dense = np.tanh(model.linear("classifier.dense", model.states(ids)[0]))
        return model.linear("classifier.out_proj", dense)

    return {"logits": [logit(ids) for ids in texts]}


def check(folder: Path, texts: list, pad: int, expected: dict):
    """Fails unless ONNX Runtime, given the texts in one padded batch, agrees."""
    import onnxruntime

    width = max(map(len, texts)) + 3
    ids = np.stack([np.pad(text, (0, width - len(text)), constant_values=pad) for text in texts])
    mask = np.stack([np.arange(width) < len(text) for text in texts]).astype(np.int64)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    names = ["token_embeddings" if entry.name == "last_hidden_state" else entry.name for entry in session.get_outputs()]
    outputs = session.run(None, {"input_ids": ids, "attention_mask": mask})
    for name, output in zip(names, outputs, strict=True):
        for row, (text, value) in enumerate(zip(texts, expected[name], strict=True)):
            actual = output[row][: len(text)] if output.ndim == 3 else output[row]
            difference = np.abs(actual - value).max()
            if not difference <= LARGEST_DIFFERENCE:
                raise ModelError(f"{name} of text {row} differs from ONNX Runtime's by {difference:.2e}")
        print(f"{name}: agrees with ONNX Runtime", file=sys.stderr)


if __name__ == "__main__":
    main()
