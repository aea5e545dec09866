# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of rows: recorded distributions of a target and its drafts, which name a model.

"rows:FILE" is the target and "rows:FILE?side=draft" its draft, for every function and the program.
docs/formats.md#rows says which results are exact.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import library
from .answers import array_of, check_tokens
from .calls import short_call
from .errors import InputError
from .library import ffi, lib, struct, text, texts

# Above this vocabulary small probabilities are left out, as by `speclab rows`.
_SMALL_VOCABULARY = 512


def write(path: str | os.PathLike[str], target: Any, draft: Any = (), *, tokens: Any = None,
          names: Sequence[str] | None = None, cutoff: float | None = None) -> None:
    """Writes the rows of a target, and of a draft or several, along a text.

    target, draft  (N, V) probabilities, of NumPy or torch: row i is the distribution of token i
                   given the tokens before it. A row whose sum is within 1e-3 of 1 is divided by
                   its sum
    tokens         (N) the text; None: the most probable token of each target row
    names          of the sides; None: "target", "draft", "draft2" and so on
    cutoff         smaller probabilities are left out, and the others rounded to floats; 0: rows are
                   bit for bit those given. None: 1e-7 above 512 tokens, else 0
    """
    sides = _sides(target, draft)
    places, vocab = sides[0].shape
    if tokens is None:
        tokens = [int(np.argmax(row)) for row in sides[0]]
    token = _tokens(tokens, (places,), vocab)
    with_rows = (_probabilities(sides, i) for i in range(places))
    _write(path, [(token, range(places), with_rows)], vocab, names, len(sides), cutoff)


def write_logits(path: str | os.PathLike[str], tokens: Any, target: Any, draft: Any = (), *,
                 temperature: float = 1.0, names: Sequence[str] | None = None,
                 cutoff: float | None = None) -> None:
    """Writes the rows of logits as models of Hugging Face return them: (T, V) or (texts, T, V).

    tokens  (T) or (texts, T), the input_ids: logits i of a text are those after its token i. So the
            first token of a text has no row, and the last logits have no token: they are left out
    """
    if not temperature > 0.0:
        raise InputError(f"temperature must be above 0, got {temperature}")
    sides = _sides(target, draft, batches=True)
    n_texts, length, vocab = sides[0].shape
    if length < 2:
        raise InputError("a text must have at least two tokens, since the first has no row")
    ids = _tokens(tokens, (n_texts, length) if np.ndim(tokens) == 2 else (length,), vocab)
    parts = [(ids.reshape(n_texts, length)[t], range(1, length), _softmax(sides, t, temperature))
             for t in range(n_texts)]
    _write(path, parts, vocab, names, len(sides), cutoff)


def _sides(target: Any, draft: Any, batches: bool = False) -> list[Any]:
    """The target and its drafts, all of one shape, as arrays or tensors on the processor."""
    drafts = list(draft) if isinstance(draft, (list, tuple)) else [draft]
    sides = [_on_processor(side) for side in (target, *drafts)]
    if batches:
        sides = [side if side.ndim == 3 else side[None] for side in sides]
    for s, side in enumerate(sides):
        if side.ndim != 2 + batches or 0 in side.shape:
            raise InputError(f"side {s} must have shape (positions, vocabulary), got "
                             f"{tuple(side.shape)}")
        if side.shape != sides[0].shape:
            raise InputError(f"side {s} must have the target's shape, {tuple(sides[0].shape)}, got "
                             f"{tuple(side.shape)}")
    return sides


def _on_processor(side: Any) -> Any:
    return side.detach().cpu() if hasattr(side, "detach") else np.asarray(side)


def _row(side: Any) -> np.ndarray:
    """A row as doubles. Torch's 16-bit floats have no NumPy type, so they become floats before."""
    return np.asarray(side.float() if hasattr(side, "float") else side, np.float64)


def _tokens(tokens: Any, shape: tuple[int, ...], vocab: int) -> np.ndarray:
    token = array_of(tokens, "tokens", shape, "a token for each row")
    check_tokens(token, True, vocab, "tokens")
    return np.ascontiguousarray(token, np.int32)


def _probabilities(sides: list[Any], i: int) -> list[np.ndarray]:
    rows = [_row(side[i]) for side in sides]
    for s, row in enumerate(rows):
        total = row.sum()
        if not (abs(total - 1.0) < 1e-3 and row.min() >= 0.0):
            raise InputError(f"side {s}, row {i}: sum {total:.6g}, least {row.min():.6g}: not "
                             "probabilities; for logits use write_logits")
        rows[s] = row if abs(total - 1.0) < 1e-13 else row / total
    return rows


def _softmax(sides: list[Any], t: int, temperature: float) -> Iterator[list[np.ndarray]]:
    """The rows of text t, but for those after its last token."""
    for i in range(len(sides[0][t]) - 1):
        rows = []
        for s, side in enumerate(sides):
            logits = _row(side[t][i]) / temperature
            largest = logits.max()
            if not np.isfinite(largest):
                raise InputError(f"side {s}, text {t}, logits {i}: the largest is {largest}")
            row = np.exp(logits - largest)
            rows.append(row / row.sum())
        yield rows


def _write(path: str | os.PathLike[str],
           parts: Sequence[tuple[np.ndarray, range, Iterator[list[np.ndarray]]]], vocab: int,
           names: Sequence[str] | None, sides: int, cutoff: float | None) -> None:
    if names is None:
        names = ["target", "draft", *(f"draft{s}" for s in range(2, sides))][:sides]
    if len(names) != sides:
        raise InputError(f"names must have one name for each of {sides} sides, got {len(names)}")
    if cutoff is None:
        cutoff = 1e-7 if vocab > _SMALL_VOCABULARY else 0.0
    options = struct("speclab_rows_options", vocab=vocab, sides=sides, name=texts(names),
                     cutoff=cutoff)
    made, lab = ffi.new("speclab_rows **"), library.lab()
    short_call(lib.speclab_rows_open, made, lab, text(path), options)
    file, pointers = made[0], ffi.new("double *[]", sides)
    try:
        for token, positions, places in parts:
            tokens = ffi.from_buffer("int32_t[]", token)
            short_call(lib.speclab_rows_text, file, tokens, len(token))
            for position, rows in zip(positions, places):
                for s, row in enumerate(rows):
                    pointers[s] = ffi.from_buffer("double[]", row)
                short_call(lib.speclab_rows_place, file, position, pointers)
        short_call(lib.speclab_rows_finish, file)
    finally:
        lib.speclab_rows_close(file)
