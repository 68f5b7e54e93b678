"""The reranker's network: layers of multilingual-e5-small that read question and passage together, and a head."""

import sys
from pathlib import Path

import torch
import torch.nn.functional as functional
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))

import packed_e5  # noqa: E402
import trained_reranker  # noqa: E402

# One layer's matrices in the packed file, and the layer's parts they become.
MATRICES = {"q": "queries", "k": "keys", "v": "values", "ao": "attended", "fi": "inner", "fo": "outer"}
NORMS = {"aln": "attention_norm", "oln": "outer_norm"}


class Layer(nn.Module):
    """Self-attention and a feed-forward network, each added to its input and normalized."""

    def __init__(self, model: packed_e5.PackedE5, number: int):
        super().__init__()
        self.heads = model.heads
        for short, long in MATRICES.items():
            rows = model.ffn if short == "fi" else model.hidden
            columns = model.ffn if short == "fo" else model.hidden
            linear = nn.Linear(columns, rows)
            linear.weight.data = tensor(model.matrix(f"l{number}.{short}.w", rows, columns).dequantized())
            linear.bias.data = tensor(model.vector(f"l{number}.{short}.b"))
            setattr(self, long, linear)
        for short, long in NORMS.items():
            setattr(self, long, norm(model, f"l{number}.{short}"))

    def forward(self, value, mask, rows: int | None = None):
        """`value`: float [batch, tokens, hidden]; `mask`: float [batch, 1, 1, tokens], 0 at tokens, -inf at padding.

        Gives [batch, rows, hidden]: the first `rows` tokens only, or all of them.
        """
        batch, _, hidden = value.shape
        asked = value[:, :rows]

        def split(part):
            return part.view(batch, -1, self.heads, hidden // self.heads).transpose(1, 2)

        queries, keys, values = split(self.queries(asked)), split(self.keys(value)), split(self.values(value))
        # Written out: PyTorch's fused attention takes three times as long backward on a processor.
        scores = (queries * (hidden // self.heads) ** -0.5) @ keys.transpose(2, 3)
        context = (scores + mask).softmax(3) @ values
        value = self.attention_norm(asked + self.attended(context.transpose(1, 2).reshape(asked.shape)))
        return self.outer_norm(value + self.outer(functional.gelu(self.inner(value))))


class Reranker(nn.Module):
    """`layers` of the embedder, the mean over the question's tokens, and a head of two layers that gives a logit."""

    def __init__(self, model: packed_e5.PackedE5, layers: list[int]):
        super().__init__()
        words = tensor(model.matrix("emb.word", model.vocabulary_size, model.hidden).dequantized())
        self.words = nn.Embedding.from_pretrained(words, freeze=True)
        types = model.vector("emb.type")[: model.hidden]
        self.positions = nn.Parameter(tensor(model.vector("emb.pos").reshape(model.positions, model.hidden) + types))
        self.positions.requires_grad = False
        self.norm = norm(model, "emb.ln")
        self.end = model.eos
        self.layers = nn.ModuleList(Layer(model, number) for number in layers)
        self.dense = nn.Linear(model.hidden, model.hidden)
        self.out = nn.Linear(model.hidden, 1)
        nn.init.eye_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)

    def forward(self, ids, mask):
        """A logit a pair. `ids`: int64 [batch, tokens]; `mask`: bool [batch, tokens], true where there is a token."""
        value = self.norm(self.words(ids) + self.positions[: ids.shape[1]])
        padding = torch.zeros(mask.shape, dtype=torch.bfloat16).masked_fill(~mask, -torch.inf)[:, None, None, :]
        # The question's tokens, up to the mark at its end: the last layer need give no others.
        question = (ids == self.end).cumsum(1) == 0
        rows = int(question.sum(1).max())
        for layer in self.layers[:-1]:
            value = layer(value, padding)
        value = self.layers[-1](value, padding, rows)
        share = question[:, :rows, None].to(value.dtype)
        pooled = (value * share).sum(1) / share.sum(1)
        return self.out(torch.tanh(self.dense(pooled))).squeeze(-1).float()


def tensor(values) -> torch.Tensor:
    return torch.from_numpy(values.astype("float32", copy=True))


def norm(model: packed_e5.PackedE5, name: str) -> nn.LayerNorm:
    made = nn.LayerNorm(model.hidden, eps=model.epsilon)
    made.weight.data = tensor(model.vector(f"{name}.w"))
    made.bias.data = tensor(model.vector(f"{name}.b"))
    return made
