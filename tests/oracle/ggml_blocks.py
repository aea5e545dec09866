# SPDX-License-Identifier: GPL-3.0-or-later
"""Known answers of quantised blocks: gguf-py's dequantize on blocks of pseudo-random bytes.

Prints, for each type, the first and the last float of the first block and a hash (FNV-1a, 64 bits)
of the floats of 64 blocks. tests/models/transformer/files/test_tensor_block.c makes the same bytes.
"""
import gguf
import numpy

N_BLOCKS = 64
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "IQ4_NL": [0],
          "MXFP4": [-1], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2],
          "Q6_K": [208], "IQ4_XS": [0]}


def block_bytes(n_bytes, scales):
    """Bytes of Knuth's MMIX generator; the scales have their exponent's high bit cleared."""
    word, out = 42, bytearray()
    for i in range(N_BLOCKS * n_bytes):
        word = (word * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(word >> 56)
        if i % n_bytes - 1 in scales:
            out[-1] &= 0xBF
    return numpy.frombuffer(bytes(out), dtype=numpy.uint8)


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


for name, scales in SCALES.items():
    kind = gguf.GGMLQuantizationType[name]
    weights, n_bytes = gguf.GGML_QUANT_SIZES[kind]
    floats = gguf.quants.dequantize(block_bytes(n_bytes, scales), kind).astype(numpy.float32)
    first, last = float(floats[0]), float(floats[weights - 1])
    print(f"{name:7} {n_bytes:4} {weights:4} {first.hex():>24} {last.hex():>24} "
          f"0x{fnv(floats.tobytes()):016x}")
