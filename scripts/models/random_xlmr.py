#!/usr/bin/env python3
"""Writes an XLM-RoBERTa with random weights, of any size, in the form of a PyTorch export to ONNX.

For tests and for measuring speed without the real weights. --out receives

    model.onnx, model.onnx_data   the graph, its operators not fused, and its weights
    config.json                   the sizes, under the names that the real repositories use
    tokenizer.json                a tokenizer of the same vocabulary

The `embedder` has the outputs of BAAI/bge-m3's export: `token_embeddings` [batch, sequence, hidden], or
`last_hidden_state` with --plain, and `sentence_embedding` [batch, hidden], the first token's state at length 1.
The `cross-encoder` has `logits` [batch, 1], like XLMRobertaForSequenceClassification. Inputs: `input_ids` and
`attention_mask`, int64 [batch, sequence]. The same arguments give the same files.

BAAI/bge-m3 at full size: --layers 24 --hidden 1024 --heads 16 --ffn 4096 --vocab 250002 --positions 8194
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto

import xlmr_tokenizer
from onnx_graph import FLOAT, INT64, Graph, rows_of

BOS, PAD, EOS, UNK = range(4)
EPSILON = 1e-5
OPSET = 17
ALIGNMENT = 4096
# Values made at once: bounds the memory, whatever the size of a weight.
CHUNK = 1 << 24
FULL_VOCABULARY = 250_002
SMALL_TOKENIZER = Path(__file__).resolve().parents[2] / ".quire/models/small/tokenizer.json"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["embedder", "cross-encoder"])
    parser.add_argument("--out", type=Path, required=True, help="folder to write to; made if it is not there")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--ffn", type=int, default=128)
    parser.add_argument("--vocab", type=int, default=1000)
    parser.add_argument("--positions", type=int, default=514, help="rows of the position table: the most tokens, plus 2")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="name the embedder's token output last_hidden_state")
    parser.add_argument(
        "--tokenizer", type=Path, help=f"tokenizer.json to copy (for a vocabulary of {FULL_VOCABULARY}: the small profile's)"
    )
    arguments = parser.parse_args()
    try:
        write(arguments)
    except (ValueError, OSError) as error:
        sys.exit(f"random_xlmr: {error}")


def write(arguments):
    if arguments.hidden % arguments.heads:
        raise ValueError(f"{arguments.hidden} features cannot be split over {arguments.heads} heads")
    if arguments.positions < 3:
        raise ValueError("the position table needs 3 rows or more: the first two are never used")
    arguments.out.mkdir(parents=True, exist_ok=True)
    write_tokenizer(arguments)
    config = {
        "architectures": ["XLMRobertaModel" if arguments.kind == "embedder" else "XLMRobertaForSequenceClassification"],
        "model_type": "xlm-roberta",
        "num_hidden_layers": arguments.layers,
        "hidden_size": arguments.hidden,
        "num_attention_heads": arguments.heads,
        "intermediate_size": arguments.ffn,
        "vocab_size": arguments.vocab,
        "max_position_embeddings": arguments.positions,
        "layer_norm_eps": EPSILON,
        "pad_token_id": PAD,
    }
    (arguments.out / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    with open(arguments.out / "model.onnx_data", "wb") as data:
        export = Export(arguments, data)
        (arguments.out / "model.onnx").write_bytes(export.graph.model().SerializeToString(deterministic=True))


# --- the graph --------------------------------------------------------------------------------------------------------


class Export:
    """The graph in the operators that PyTorch's export writes; each weight goes to the data file when it is named."""

    def __init__(self, sizes, data):
        self.sizes = sizes
        self.data = data
        self.random = np.random.default_rng(sizes.seed)
        self.graph = Graph("random-xlm-roberta", opset=OPSET)
        # The names of the real checkpoints: the classifier's encoder is a part of it.
        self.scope = "" if sizes.kind == "embedder" else "roberta."

        ids = self.graph.input("input_ids", INT64, rows_of(None))
        mask = self.graph.input("attention_mask", INT64, rows_of(None))
        attention_bias = self.attention_bias(mask)
        value = self.embeddings(ids)
        for layer in range(sizes.layers):
            value = self.layer(f"{self.scope}encoder.layer.{layer}", value, attention_bias)
        if sizes.kind == "embedder":
            self.embedder_head(value)
        else:
            self.classifier_head(value)

    def weight(self, name, shape, mean=0.0, deviation=1.0):
        """A normal random tensor, written to the data file in pieces."""
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        self.data.write(bytes(-self.data.tell() % ALIGNMENT))
        count = int(np.prod(shape))
        for key, value in (("location", "model.onnx_data"), ("offset", self.data.tell()), ("length", 4 * count)):
            tensor.external_data.add(key=key, value=str(value))
        for start in range(0, count, CHUNK):
            values = self.random.standard_normal(min(CHUNK, count - start), dtype=np.float32)
            values *= np.float32(deviation)
            values += np.float32(mean)
            values.tofile(self.data)
        self.graph.constants[name] = tensor
        return name

    def linear(self, name, value, inputs, outputs):
        # Wide enough that every layer matters: with a checkpoint's usual 0.02, small models would ignore their input.
        matrix = self.weight(f"{name}.weight", [inputs, outputs], deviation=inputs**-0.5)
        bias = self.weight(f"{name}.bias", [outputs], deviation=0.1)
        return self.graph.node("Add", [bias, self.graph.node("MatMul", [value, matrix])])

    def normalized(self, name, value):
        scale = self.weight(f"{name}.weight", [self.sizes.hidden], mean=1.0, deviation=0.1)
        bias = self.weight(f"{name}.bias", [self.sizes.hidden], deviation=0.1)
        return self.graph.node("LayerNormalization", [value, scale, bias], axis=-1, epsilon=EPSILON)

    def attention_bias(self, mask):
        """[batch, 1, 1, sequence]: 0 for tokens, the lowest float for padding."""
        graph = self.graph
        wide = graph.node("Unsqueeze", [graph.node("Unsqueeze", [mask, graph.integers(1)]), graph.integers(2)])
        padding = graph.node("Sub", [graph.scalar(1.0), graph.cast(wide, FLOAT)])
        return graph.node("Mul", [padding, graph.scalar(float(np.finfo(np.float32).min))])

    def embeddings(self, ids):
        graph, sizes, name = self.graph, self.sizes, f"{self.scope}embeddings"
        words = self.weight(f"{name}.word_embeddings.weight", [sizes.vocab, sizes.hidden])
        types = self.weight(f"{name}.token_type_embeddings.weight", [1, sizes.hidden], deviation=0.3)
        table = self.weight(f"{name}.position_embeddings.weight", [sizes.positions, sizes.hidden], deviation=0.3)

        # Positions count the tokens that are not padding, from the padding's own id plus 1.
        padding = graph.node("Equal", [ids, graph.constant("i64.pad", np.array(PAD, np.int64))])
        token = graph.cast(graph.node("Not", [padding]), INT64)
        order = graph.node("Mul", [graph.node("CumSum", [token, graph.constant("i64.axis", np.array(1, np.int64))]), token])
        positions = graph.node("Add", [order, graph.constant("i64.pad", np.array(PAD, np.int64))])

        type_ids = graph.node("Sub", [ids, ids])
        value = graph.node("Add", [graph.node("Gather", [words, ids]), graph.node("Gather", [types, type_ids])])
        value = graph.node("Add", [value, graph.node("Gather", [table, positions])])
        return self.normalized(f"{name}.LayerNorm", value)

    def layer(self, name, value, attention_bias):
        graph, sizes = self.graph, self.sizes
        context = self.attention(f"{name}.attention.self", value, attention_bias)
        attended = self.linear(f"{name}.attention.output.dense", context, sizes.hidden, sizes.hidden)
        value = self.normalized(f"{name}.attention.output.LayerNorm", graph.node("Add", [attended, value]))

        inner = self.gelu(self.linear(f"{name}.intermediate.dense", value, sizes.hidden, sizes.ffn))
        outer = self.linear(f"{name}.output.dense", inner, sizes.ffn, sizes.hidden)
        return self.normalized(f"{name}.output.LayerNorm", graph.node("Add", [outer, value]))

    def attention(self, name, value, attention_bias):
        graph, sizes = self.graph, self.sizes
        split = graph.integers(0, 0, sizes.heads, sizes.hidden // sizes.heads)

        def heads(part, order):
            projected = self.linear(f"{name}.{part}", value, sizes.hidden, sizes.hidden)
            return graph.node("Transpose", [graph.node("Reshape", [projected, split])], perm=order)

        queries = heads("query", [0, 2, 1, 3])
        keys = heads("key", [0, 2, 3, 1])
        values = heads("value", [0, 2, 1, 3])
        width = graph.scalar(float(sizes.hidden // sizes.heads) ** 0.5)
        scores = graph.node("Div", [graph.node("MatMul", [queries, keys]), width])
        shares = graph.node("Softmax", [graph.node("Add", [scores, attention_bias])], axis=-1)
        context = graph.node("Transpose", [graph.node("MatMul", [shares, values])], perm=[0, 2, 1, 3])
        return graph.node("Reshape", [context, graph.integers(0, 0, sizes.hidden)])

    def gelu(self, value):
        graph = self.graph
        scaled = graph.node("Div", [value, graph.scalar(2.0**0.5)])
        shifted = graph.node("Add", [graph.node("Erf", [scaled]), graph.scalar(1.0)])
        return graph.node("Mul", [graph.node("Mul", [value, shifted]), graph.scalar(0.5)])

    def first_token(self, value):
        return self.graph.node("Gather", [value, self.graph.constant("i64.first", np.array(0, np.int64))], axis=1)

    def embedder_head(self, value):
        graph, hidden = self.graph, self.sizes.hidden
        name = "last_hidden_state" if self.sizes.plain else "token_embeddings"
        graph.output(value, name, FLOAT, rows_of(hidden))
        first = self.first_token(value)
        length = graph.node("ReduceL2", [first], axes=[-1], keepdims=1)
        length = graph.node("Max", [length, graph.scalar(1e-12)])
        graph.output(graph.node("Div", [first, length]), "sentence_embedding", FLOAT, ["batch", hidden])

    def classifier_head(self, value):
        graph, hidden = self.graph, self.sizes.hidden
        dense = graph.node("Tanh", [self.linear("classifier.dense", self.first_token(value), hidden, hidden)])
        graph.output(self.linear("classifier.out_proj", dense, hidden, 1), "logits", FLOAT, ["batch", 1])


# --- the tokenizer ----------------------------------------------------------------------------------------------------

# Enough for sentences of tests in both languages to fall into pieces of different lengths.
WORDS = """the of and to in a is was that it he for on with as his they be at one have this from by had not but what all
were when we there can an your which their said if do will each about how up out them then she many some so these would
other into has more her two like him see time could no make than first been its who now people my made over did down
only way find use may water long little very after words called just where most know book who whale ship captain king
question answer chapter page city river house night day old young man woman child""".split()
ENDINGS = ["ing", "ed", "er", "ly", "es", "tion", "ment", "able", "ness", "ful"]
HAN_WORDS = "我们 你们 他们 什么 一个 没有 自己 知道 时候 第一 章回 孙悟空 师父 先生 问题 回答 故事 中国 今天 城市".split()
HAN = """的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道
行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它
与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制
身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活
尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展
马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确
传师观清今切院让识候带导争运笔悟孙唐僧猴佛妖魔江湖梁山宋"""


def write_tokenizer(arguments):
    target = arguments.out / "tokenizer.json"
    source = arguments.tokenizer or (SMALL_TOKENIZER if arguments.vocab == FULL_VOCABULARY else None)
    if source is None:
        special = {BOS: "<s>", PAD: "<pad>", EOS: "</s>", UNK: "<unk>", arguments.vocab - 1: "<mask>"}
        xlmr_tokenizer.write(xlmr_tokenizer.tokenizer(pieces(arguments.vocab), special, UNK), target)
    elif source.is_file():
        shutil.copyfile(source, target)
    else:
        raise ValueError(f"no tokenizer at {source}: run scripts/setup.sh, or name one with --tokenizer")


def pieces(vocabulary: int) -> list:
    """(piece, score) in id order: special tokens, words, single characters, and Han characters until all ids are used."""
    words = [f"\u2581{word}" for word in WORDS] + ENDINGS + HAN_WORDS
    characters = ["\u2581"] + [chr(code) for code in range(0x21, 0x7F)] + list("，。！？、；：“”‘’（）《》「」…—～")
    characters += HAN.replace("\n", "")
    characters += [chr(code) for code in range(0x4E00, 0xA000)]
    ordered = list(dict.fromkeys(words + characters))
    # The mask's id is the last; Latin words and all of ASCII must fit, or no English sentence could be told from another.
    room = vocabulary - 5
    smallest = len(words) + 1 + 94
    if room < smallest:
        raise ValueError(f"a vocabulary of {vocabulary} is too small: {smallest + 5} or more are needed")
    if room > len(ordered):
        ordered += [f"\u2581<unused{i}>" for i in range(room - len(ordered))]
    scored = [(piece, -4.0 - 1e-3 * i if len(piece.strip("\u2581")) > 1 else -9.0 - 1e-4 * i) for i, piece in enumerate(ordered[:room])]
    return [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *scored, ("<mask>", 0.0)]


if __name__ == "__main__":
    main()
