"""llama.cpp's own server, to be asked as an answer model.

    llama_server.py CONTEXT [MODEL.gguf]

Prints its address and serves until standard input ends. Without a model it
makes one up: a llama of one layer, random weights and a vocabulary of bytes.
What that writes is noise, but the server, its protocol and its grammars are
the real ones.
"""

import struct
import sys
import tempfile
from pathlib import Path

import numpy as np
import xllamacpp

WIDTH, HEADS, INNER = 32, 2, 64
# The format's numbers: types of values, of tokens, and of tensors.
UINT32, FLOAT32, STRING, ARRAY = 4, 6, 8, 9
UNKNOWN, CONTROL, BYTE = 2, 3, 6
ALIGNMENT = 32


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(value)) + value


def number(kind, value):
    return struct.pack("<I", kind) + struct.pack("<f" if kind == FLOAT32 else "<I", value)


def many(kind, values):
    items = b"".join(
        text(value) if kind == STRING else struct.pack("<f" if kind == FLOAT32 else "<I", value)
        for value in values
    )
    return struct.pack("<IIQ", ARRAY, kind, len(values)) + items


def made_up(context):
    """A model file (GGUF, version 3): head, values, tensors' places, tensors."""
    words = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    values = {
        "general.architecture": struct.pack("<I", STRING) + text("llama"),
        "llama.context_length": number(UINT32, context),
        "llama.embedding_length": number(UINT32, WIDTH),
        "llama.block_count": number(UINT32, 1),
        "llama.feed_forward_length": number(UINT32, INNER),
        "llama.attention.head_count": number(UINT32, HEADS),
        "llama.attention.head_count_kv": number(UINT32, HEADS),
        "llama.attention.layer_norm_rms_epsilon": number(FLOAT32, 1e-5),
        "llama.rope.dimension_count": number(UINT32, WIDTH // HEADS),
        "llama.vocab_size": number(UINT32, len(words)),
        "tokenizer.ggml.model": struct.pack("<I", STRING) + text("llama"),
        "tokenizer.ggml.tokens": many(STRING, words),
        "tokenizer.ggml.scores": many(FLOAT32, [0.0] * len(words)),
        # Signed in the format; these are small.
        "tokenizer.ggml.token_type": many(5, [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256),
        "tokenizer.ggml.bos_token_id": number(UINT32, 1),
        "tokenizer.ggml.eos_token_id": number(UINT32, 2),
        "tokenizer.ggml.unknown_token_id": number(UINT32, 0),
    }
    shapes = {
        "token_embd": (len(words), WIDTH),
        "output_norm": (WIDTH,),
        "output": (len(words), WIDTH),
        "blk.0.attn_norm": (WIDTH,),
        "blk.0.attn_q": (WIDTH, WIDTH),
        "blk.0.attn_k": (WIDTH, WIDTH),
        "blk.0.attn_v": (WIDTH, WIDTH),
        "blk.0.attn_output": (WIDTH, WIDTH),
        "blk.0.ffn_norm": (WIDTH,),
        "blk.0.ffn_gate": (INNER, WIDTH),
        "blk.0.ffn_up": (INNER, WIDTH),
        "blk.0.ffn_down": (WIDTH, INNER),
    }
    random = np.random.default_rng(0)
    places, tensors = b"", b""
    for name, shape in shapes.items():
        weights = np.ones(shape) if len(shape) == 1 else random.standard_normal(shape) * 0.1
        dimensions = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        places += text(name + ".weight") + dimensions + struct.pack("<IQ", 0, len(tensors))
        tensors += weights.astype("<f4").tobytes()
        tensors += bytes(-len(tensors) % ALIGNMENT)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(values))
    head += b"".join(text(name) + value for name, value in values.items()) + places
    return head + bytes(-len(head) % ALIGNMENT) + tensors


def main():
    context, model = int(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(model[0]) if model else Path(folder, "noise.gguf")
        if not model:
            path.write_bytes(made_up(context))
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.port = 0
        params.n_ctx = context
        params.n_parallel = 1
        params.warmup = False
        if not model:
            params.chat_template = "chatml"
        server = xllamacpp.Server(params)
        print(server.listening_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
