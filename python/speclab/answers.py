# SPDX-License-Identifier: GPL-3.0-or-later
"""The answers of a sampler, checked and written into the library's memory.

A wrong shape, type or token is one line in a ValueError or TypeError.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .batch import Batch, view


def array_of(value: Any, name: str, shape: tuple[int, ...], meaning: str) -> np.ndarray:
    """An array of whole numbers of this shape; a torch tensor may be on any device."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be whole numbers, such as int32, got {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, {meaning}, got {array.shape}")
    return array


def check_tokens(token: np.ndarray, used: Any, vocab: int, name: str) -> None:
    """Every token at a used place must be in the vocabulary."""
    wrong = ((token < 0) | (token >= vocab)) & used
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = ", ".join(map(str, at))
        raise ValueError(f"{name}[{where}] must be 0 to {vocab - 1}, got {token[at]}")


def write_batch(given: Any, batch: Batch, answer: Any) -> None:
    """Writes (token, n_emitted), in scope DV (token, n_emitted, draft)."""
    names = "token, n_emitted" if batch.scope == "V" else "token, n_emitted, draft"
    if not isinstance(answer, tuple) or len(answer) != names.count(",") + 1:
        raise TypeError(f"the sampler returned {_kind(answer)}: return a tuple ({names})")
    n, places = batch.n, batch.n_nodes + 1
    token = array_of(answer[0], "token", (n, places), "(n, n_nodes + 1)")
    emitted = array_of(answer[1], "n_emitted", (n,), "(n)")
    wrong = (emitted < 1) | (emitted > batch.length + 1)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"n_emitted[{i}] must be 1 to {batch.length[i] + 1} for a draft of "
                         f"{batch.length[i]} tokens, got {emitted[i]}")
    if token.min() < 0 or token.max() >= batch.vocab:
        check_tokens(token, np.arange(places) < emitted[:, None], batch.vocab, "token")
    view(given.ret_token, (n, places), np.int32)[...] = token
    view(given.ret_n_emitted, (n,), np.int32)[...] = emitted
    if batch.scope == "DV":
        draft = array_of(answer[2], "draft", (n, batch.n_nodes), "(n, n_nodes)")
        check_tokens(draft, np.arange(batch.n_nodes) < batch.length[:, None], batch.vocab, "draft")
        view(given.ret_draft, (n, batch.n_nodes), np.int32)[...] = draft


def join_steps(batch: Batch, answers: list[Any]) -> tuple[np.ndarray, ...]:
    """The answers to single drafts as one to their batch.

    Each is a list of tokens, in scope DV a tuple (draft, tokens).
    """
    token = np.zeros((batch.n, batch.n_nodes + 1), np.int64)
    emitted = np.zeros(batch.n, np.int64)
    draft = np.zeros((batch.n, batch.n_nodes), np.int64)
    for i, answer in enumerate(answers):
        if batch.scope == "DV":
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise TypeError(f"the sampler returned {_kind(answer)}: return (draft, tokens)")
            drafted, answer = answer
            k = int(batch.length[i])
            draft[i, :k] = array_of(drafted, "draft", (k,), "the drafted tokens")
        m = len(answer)
        if not 1 <= m <= batch.length[i] + 1:
            raise ValueError(f"the sampler returned {m} tokens: a draft of {batch.length[i]} "
                             f"gives 1 to {batch.length[i] + 1}")
        token[i, :m] = array_of(answer, "the answer", (m,), "a list of tokens")
        emitted[i] = m
    return (token, emitted) if batch.scope == "V" else (token, emitted, draft)


def write_text(pointer: Any, n_tokens: int, vocab: int, answer: Any) -> None:
    """Writes the tokens of scope S."""
    token = array_of(answer, "the text", (n_tokens,), "n_tokens tokens")
    check_tokens(token, True, vocab, "text")
    view(pointer, (n_tokens,), np.int32)[...] = token


def _kind(answer: Any) -> str:
    if isinstance(answer, tuple):
        return f"a tuple of {len(answer)}"
    return "nothing" if answer is None else f"a {type(answer).__name__}"
