# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for the functions of PyTorch that the adapters use, over nested lists."""

import math
import random

float32, int32, int64 = "float32", "int32", "int64"


class cuda:
    @staticmethod
    def is_available():
        return False


class nn:
    @staticmethod
    def Parameter(value):
        return value


class Tensor:
    def __init__(self, data, shape):
        self.data, self.shape = data, shape

    def tolist(self):
        return self.data

    def __getitem__(self, i):
        item = self.data[i]
        return Tensor(item, self.shape[1:]) if isinstance(item, list) else item

    def log(self):
        return Tensor(
            [[math.log(x) if x > 0 else -math.inf for x in row] for row in self.data], self.shape
        )

    def softmax(self, axis):
        return Tensor([softmax(row) for row in self.data], self.shape)


def softmax(row):
    most = max(row)
    weight = [math.exp(x - most) for x in row]
    total = math.fsum(weight)
    return [w / total for w in weight]


def listed(data):
    """A copy of nested lists or tuples as lists; a number stays as it is."""
    if not isinstance(data, (list, tuple)):
        return data
    nested = len(data) > 0 and isinstance(data[0], (list, tuple))
    return [listed(x) for x in data] if nested else list(data)


def tensor(data, dtype=None, device=None):
    data = listed(data)
    shape, inner = [], data
    while isinstance(inner, list):
        shape.append(len(inner))
        inner = inner[0] if inner else None
    return Tensor(data, tuple(shape))


def full(shape, value, dtype=None, device=None):
    if len(shape) == 0:
        return value
    made = [full(shape[1:], value) for _ in range(shape[0])]
    return Tensor([m.data if isinstance(m, Tensor) else m for m in made], tuple(shape))


def zeros(shape, dtype=None, device=None):
    return full(shape, 0, dtype, device)


def ones(shape, dtype=None, device=None):
    return full(shape, 1, dtype, device)


def rand(shape, device=None):
    if len(shape) == 1:
        return Tensor([random.random() for _ in range(shape[0])], tuple(shape))
    return Tensor([rand(shape[1:]).data for _ in range(shape[0])], tuple(shape))


def draw(weights):
    """An index with probability proportional to its weight; for the stand-ins, not in PyTorch."""
    u, last = random.random() * math.fsum(weights), 0
    for i, weight in enumerate(weights):
        if weight > 0:
            last = i
            u -= weight
            if u < 0:
                break
    return last


def multinomial(rows, num_samples):
    return Tensor([[draw(row)] for row in rows.data], (len(rows.data), 1))


def manual_seed(seed):
    random.seed(seed)


def set_num_threads(n):
    pass
