# SPDX-License-Identifier: GPL-3.0-or-later
"""Closed forms under iid acceptance, over numbers and arrays; docs/formulas/lengths.md proves them.

alpha is the acceptance rate in [0,1], K the draft length in tokens, c the time of a draft call over
that of a target call. Arguments broadcast as NumPy's; outside the domain the result is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .library import lib


def emitted_mean(alpha: Any, K: Any) -> Any:
    """Tokens per round, (1 - alpha^(K+1)) / (1 - alpha)."""
    return _each(lib.speclab_emitted_mean, alpha, K)


def emitted_variance(alpha: Any, K: Any) -> Any:
    """The variance of the tokens per round; K is whole."""
    return _each(lambda a, k: lib.speclab_emitted_variance(a, _whole(k)), alpha, K)


def accepted_probability(alpha: Any, K: Any, k: Any) -> Any:
    """The chance that exactly k of K draft tokens are accepted."""
    return _each(lambda a, n, i: lib.speclab_accepted_probability(a, _whole(n), _whole(i)),
                 alpha, K, k)


def speedup(alpha: Any, K: Any, c: Any) -> Any:
    """The speed-up over plain decoding, Theorem 3.8 of Leviathan et al. (2023)."""
    return _each(lib.speclab_speedup, alpha, K, c)


def speedup_from_emitted(emitted: Any, K: Any, c: Any) -> Any:
    """The speed-up of a measured mean of tokens per round."""
    return _each(lib.speclab_speedup_from_emitted, emitted, K, c)


def best_K(alpha: Any, c: Any) -> Any:
    """The smallest K that is fastest; inf if every further token gains."""
    return _each(lib.speclab_best_K, alpha, c)


def best_speedup(alpha: Any, c: Any) -> Any:
    """The speed-up at best_K."""
    return _each(lib.speclab_best_speedup, alpha, c)


def break_even_alpha(K: Any, c: Any) -> Any:
    """The alpha above which this K and c gain; NaN if none or every alpha does."""
    return _each(lambda k, cost: lib.speclab_break_even_alpha(_whole(k), cost), K, c)


def ops_factor(alpha: Any, K: Any, ops_ratio: Any) -> Any:
    """The factor on arithmetic operations per token, Theorem 3.11 of the same paper."""
    return _each(lambda a, k, r: lib.speclab_ops_factor(a, _whole(k), r), alpha, K, ops_ratio)


def memory_factor(alpha: Any, K: Any) -> Any:
    """The factor on reads of the target's weights."""
    return _each(lambda a, k: lib.speclab_memory_factor(a, _whole(k)), alpha, K)


def _whole(value: float) -> int:
    """A whole number of 32 bits; -1, which is outside every domain, for any other value."""
    return int(value) if 0 <= value < 2**31 and value == int(value) else -1


def _each(function: Callable[..., float], *arguments: Any) -> Any:
    """The function over broadcast arguments: a float for numbers, else an array of floats."""
    with np.errstate(all="ignore"):  # limits are values
        result = np.vectorize(function, otypes=[np.float64])(*arguments)
    return float(result) if np.ndim(result) == 0 else result
