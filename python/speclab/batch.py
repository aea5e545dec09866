# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sampler under test receives: NumPy views of a batch of drafts, one draft, or two models.

Views show the library's memory without a copy. They are read-only, and valid during the call alone.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .library import ffi, lib

DRAWN = {"fixed": lib.SPEC_DRAWN_FIXED, "iid": lib.SPEC_DRAWN_IID,
         "without": lib.SPEC_DRAWN_WITHOUT}
_DRAWN_NAMES = {bit: name for name, bit in DRAWN.items()}


class Sampling(NamedTuple):
    """The sampling parameters of a request, for samplers that apply them themselves."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float


def sampling_of(given: Any) -> Sampling:
    return Sampling(given.temperature, given.top_k, given.top_p, given.min_p)


def view(pointer: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array over memory of the library."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(ffi.buffer(pointer, size), dtype).reshape(shape)


class Batch:
    """n independent drafts of at most n_nodes tokens, over a vocabulary of `vocab` tokens.

    Draft i has length[i] tokens; its other places have token -1 and rows of 0. Row 0 of a draft is
    the next-token distribution at its root, and row j + 1 the one after node j.
    """

    def __init__(self, given: Any) -> None:
        self._given = given
        self.n: int = given.n
        self.n_nodes: int = given.n_nodes
        self.vocab: int = given.vocab

    def _view(self, name: str, *shape: int, dtype: Any = np.int32) -> np.ndarray:
        array = view(getattr(self._given, name), shape, dtype)
        array.flags.writeable = False
        return array

    def _opt_view(self, name: str, *shape: int, dtype: Any = np.int32) -> np.ndarray | None:
        if getattr(self._given, name) == ffi.NULL:
            return None
        return self._view(name, *shape, dtype=dtype)

    @cached_property
    def target(self) -> np.ndarray:
        """(n, n_nodes + 1, vocab) rows of the target, float32"""
        return self._view("target", self.n, self.n_nodes + 1, self.vocab, dtype=np.float32)

    @cached_property
    def draft(self) -> np.ndarray | None:
        """(n, n_nodes + 1, vocab) rows of the draft; None: its tokens were chosen without chance"""
        return self._opt_view("draft", self.n, self.n_nodes + 1, self.vocab, dtype=np.float32)

    @cached_property
    def token(self) -> np.ndarray | None:
        """(n, n_nodes) draft tokens; None in scope DV: the sampler draws them"""
        return self._opt_view("token", self.n, self.n_nodes)

    @cached_property
    def length(self) -> np.ndarray:
        """(n) draft tokens of each draft"""
        return self._view("length", self.n)

    @cached_property
    def parent(self) -> np.ndarray | None:
        """(n_nodes) parents in the draft tree, -1: the root; None: chains"""
        return self._opt_view("parent", self.n_nodes)

    @cached_property
    def request(self) -> np.ndarray:
        """(n) ids of the requests, uint64"""
        return self._view("request", self.n, dtype=np.uint64)

    @cached_property
    def seed(self) -> np.ndarray:
        """(n) seeds, for samplers that are seeded, uint64"""
        return self._view("seed", self.n, dtype=np.uint64)

    @cached_property
    def offset(self) -> np.ndarray:
        """(n) offsets of this round in the random numbers of a seed, uint64"""
        return self._view("offset", self.n, dtype=np.uint64)

    @cached_property
    def coin(self) -> np.ndarray | None:
        """(n, n_coins) uniform numbers to use in order, float32; None: draw your own"""
        return self._opt_view("coin", self.n, self._given.n_coins, dtype=np.float32)

    @property
    def scope(self) -> str:
        """"V" to verify drafts, "DV" to draw and verify them"""
        return "V" if self._given.scope == lib.SPEC_SCOPE_VERIFY else "DV"

    @property
    def drawn(self) -> str:
        """how siblings were drawn: "fixed", "iid" or "without" (replacement)"""
        return _DRAWN_NAMES[self._given.drawn]

    @property
    def sampling(self) -> Sampling:
        return sampling_of(self._given.sampling)


class Step(NamedTuple):
    """One draft of a batch, of `len(target) - 1` tokens, with the fields of Batch."""

    target: np.ndarray           # (length + 1, vocab)
    draft: np.ndarray | None     # (length + 1, vocab)
    token: np.ndarray | None     # (length)
    parent: np.ndarray | None    # (length)
    request: int
    seed: int
    offset: int
    coin: np.ndarray | None
    scope: str
    drawn: str
    sampling: Sampling


def steps_of(batch: Batch) -> list[Step]:
    """The drafts of a batch, one by one."""
    target, draft, token, coin = batch.target, batch.draft, batch.token, batch.coin
    parent = batch.parent
    rest = batch.scope, batch.drawn, batch.sampling
    return [
        Step(target[i, :k + 1], None if draft is None else draft[i, :k + 1],
             None if token is None else token[i, :k], None if parent is None else parent[:k],
             request, seed, offset, None if coin is None else coin[i], *rest)
        for i, (k, request, seed, offset) in enumerate(zip(
            batch.length.tolist(), batch.request.tolist(), batch.seed.tolist(),
            batch.offset.tolist()))
    ]


class Request:
    """Scope S: a text to generate from two models.

    context, K, n_tokens and seed are the arguments of the request; `target` and `draft` return the
    row after a context.
    """

    def __init__(self, models: Any, context: np.ndarray, K: int, sampling: Sampling, seed: int,
                 n_tokens: int) -> None:
        self._models = models
        self.context, self.K, self.sampling = context, K, sampling
        self.seed, self.n_tokens, self.vocab = seed, n_tokens, models.vocab

    def target(self, context: Any) -> np.ndarray:
        """(vocab) the target's row after the tokens of a context, a copy, float32"""
        return self._row(self._models.target, context)

    def draft(self, context: Any) -> np.ndarray:
        """(vocab) the draft's row after the tokens of a context, a copy, float32"""
        return self._row(self._models.draft, context)

    def _row(self, function: Any, context: Any) -> np.ndarray:
        tokens = np.ascontiguousarray(context, np.int32)
        row = function(self._models.self, ffi.from_buffer("int32_t[]", tokens), tokens.size)
        if row == ffi.NULL:
            raise RuntimeError("the model gave no row after this context")
        return view(row, (self.vocab,), np.float32).copy()
