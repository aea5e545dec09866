# SPDX-License-Identifier: GPL-3.0-or-later
"""One draft-and-verify round, decision by decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import library
from .calls import Handle, call
from .library import ffi, lib, struct, text


@dataclass(frozen=True, eq=False)
class Decision:
    """A random decision: to accept with probability min(1, num / den), or to pick an index."""

    kind: str                  # "accept" or "pick"
    phase: str                 # "draft" or "verify"
    role: str                  # "draft", "select", "test", "keep", "block", "correction", "bonus",
                               # "target" or "other"
    node: int                  # the draft token that it is about, or -1
    after: int                 # it decides the token after this node; -1: the first of the round
    answer: int                # accept: 1 or 0; pick: the index
    coin: float                # the uniform number that decided; NaN: nothing was drawn
    num: float                 # of an accept
    den: float
    weight: np.ndarray | None  # of a pick: probabilities are proportional to it


@dataclass(frozen=True, eq=False)
class Round:
    """The outcome of a round."""

    token: np.ndarray                    # (n_accepted + 1) the tokens that it adds to the text
    n_accepted: int                      # accepted draft tokens along a path
    node: np.ndarray                     # (n_accepted) the accepted nodes, root first
    draft: np.ndarray                    # (n_nodes) draft tokens
    parent: np.ndarray                   # (n_nodes) -1: the root
    drawn: np.ndarray                    # (n_nodes) True: drawn from the draft's row
    target_row: np.ndarray               # (n_nodes + 1, V) at the root, then after each node
    draft_row: list[np.ndarray | None]   # (n_nodes) what each node was drawn from
    decisions: list[Decision]
    coins_used: int                      # of the given ones


def pair_of(target: str, draft: str | None, K: int, drafting: str | None, policy: str | None,
            rule: str | None) -> Any:
    """A target, its draft, and how they speculate, as the library takes them."""
    return struct("speclab_pair", K=K, target=text(target), draft=text(draft),
                  drafting=text(drafting), policy=text(policy), rule=text(rule))


def tokens_of(tokens: Sequence[int] | None) -> tuple[Any, int]:
    """Tokens as a C array, and their number; NULL for None."""
    if tokens is None:
        return ffi.NULL, 0
    return ffi.new("int32_t[]", [int(token) for token in tokens]), len(tokens)


def round(target: str, draft: str | None = None, K: int = 4, *, rule: str | None = None,
          drafting: str | None = None, policy: str | None = None,
          coins: Sequence[float] = (), seed: int = 42,
          context: Sequence[int] | None = None) -> Round:
    """Runs one round after a context of tokens.

    The uniform numbers of its first decisions are `coins`, each in [0,1); later ones come from
    `seed`.
    """
    token, n = tokens_of(context)
    options = struct("speclab_round_options", n_coins=len(coins), seed=seed, context=token,
                     n_context=n, coin=ffi.new("double[]", list(map(float, coins))))
    made = ffi.new("speclab_round **")
    call(lib.speclab_round_run, made, library.lab(),
         pair_of(target, draft, K, drafting, policy, rule), options)
    return _read(Handle(made[0], lib.speclab_round_free).pointer)


def _array(pointer: Any, n: int, dtype: Any) -> np.ndarray:
    """A copy of n numbers; the library's own are valid as long as the round."""
    size = n * np.dtype(dtype).itemsize
    return np.frombuffer(ffi.buffer(pointer, size), dtype).copy() if n > 0 else np.empty(0, dtype)


def _read(made: Any) -> Round:
    out = struct("speclab_outcome")
    lib.speclab_round_outcome(out, made)
    nodes, vocab = out.n_nodes, out.vocab
    drafts = [lib.speclab_round_draft_row(made, node) for node in range(nodes)]
    return Round(
        token=_array(out.token, out.n_emitted, np.int32),
        n_accepted=out.n_accepted,
        node=_array(out.node, out.n_accepted, np.int32),
        draft=_array(out.draft, nodes, np.int32),
        parent=_array(out.parent, nodes, np.int32),
        drawn=_array(out.drawn, nodes, np.uint8).astype(bool),
        target_row=np.stack([_array(lib.speclab_round_target_row(made, node), vocab, np.float64)
                             for node in range(-1, nodes)]),
        draft_row=[None if row == ffi.NULL else _array(row, vocab, np.float64) for row in drafts],
        decisions=[_decision(made, i) for i in range(out.n_decisions)],
        coins_used=out.coins_used)


_ROLES = {getattr(lib, f"SPECLAB_ROLE_{name.upper()}"): name
          for name in ("other", "draft", "select", "test", "keep", "block", "correction", "bonus",
                       "target")}


def _decision(made: Any, i: int) -> Decision:
    d = struct("speclab_decision")
    lib.speclab_round_decision(d, made, i)
    accept = d.kind == lib.SPECLAB_DECISION_ACCEPT
    return Decision(kind="accept" if accept else "pick",
                    phase="draft" if d.phase == lib.SPECLAB_PHASE_DRAFT else "verify",
                    role=_ROLES[d.role], node=d.node, after=d.after, answer=d.answer,
                    coin=d.coin, num=d.num, den=d.den,
                    weight=None if accept else _array(d.weight, d.n_weights, np.float64))
