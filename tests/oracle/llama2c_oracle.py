# SPDX-License-Identifier: GPL-3.0-or-later
"""Logits of a llama2.c checkpoint in double precision, from the file format and the model.

    python3 tests/oracle/llama2c_oracle.py MODEL.bin TOKEN...

Needs NumPy. Prints a line per token: the log of the sum of exponentials, the argmax, and eight or
nine logits. test_llama2c_truth.c cites them.
"""

import struct
import sys

import numpy as np

data = open(sys.argv[1], "rb").read()
tokens = [int(word) for word in sys.argv[2:]]
dim, ffn, layers, heads, kv_heads, vocab, context = struct.unpack("<7i", data[:28])
tied, vocab, head = vocab > 0, abs(vocab), dim // heads
numbers = np.frombuffer(data, "<f4", offset=28).astype(np.float64)
at = 0


def take(*shape):
    global at
    at += int(np.prod(shape))
    return numbers[at - int(np.prod(shape)) : at].reshape(shape)


embedding = take(vocab, dim)
attention_norm = take(layers, dim)
query, key, value = (
    take(layers, dim, dim),
    take(layers, kv_heads * head, dim),
    take(layers, kv_heads * head, dim),
)
output = take(layers, dim, dim)
ffn_norm = take(layers, dim)
gate, down, up = take(layers, ffn, dim), take(layers, dim, ffn), take(layers, ffn, dim)
final_norm = take(dim)
take(2, context, head // 2)  # rotary angles, computed below
classifier = embedding if tied else take(vocab, dim)

n = len(tokens)
angle = np.outer(np.arange(n), 10000.0 ** (-np.arange(0, head, 2) / head))  # (n, head/2)
unit = np.exp(1j * angle)[:, None, :]


def norm(x, gain):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gain


def rotate(x):  # (n, heads, head), neighbours being one complex number
    z = (x[..., 0::2] + 1j * x[..., 1::2]) * unit
    return np.stack([z.real, z.imag], -1).reshape(x.shape)


x = embedding[tokens]
past = np.tril(np.ones((n, n), bool))
for i in range(layers):
    h = norm(x, attention_norm[i])
    q = rotate((h @ query[i].T).reshape(n, heads, head))
    k = rotate((h @ key[i].T).reshape(n, kv_heads, head)).repeat(heads // kv_heads, 1)
    v = (h @ value[i].T).reshape(n, kv_heads, head).repeat(heads // kv_heads, 1)
    score = np.where(past, np.einsum("ihd,jhd->hij", q, k) / np.sqrt(head), -np.inf)
    weight = np.exp(score - score.max(-1, keepdims=True))
    weight /= weight.sum(-1, keepdims=True)
    x = x + np.einsum("hij,jhd->ihd", weight, v).reshape(n, dim) @ output[i].T
    h = norm(x, ffn_norm[i])
    a = h @ gate[i].T
    x = x + (a / (1 + np.exp(-a)) * (h @ up[i].T)) @ down[i].T
for row in norm(x, final_norm) @ classifier.T:
    largest = row.max()
    total = largest + np.log(np.exp(row - largest).sum())
    print(
        f"{total:.9f}, {row.argmax()},", ", ".join(f"{logit:.9f}" for logit in row[:: vocab // 8])
    )
