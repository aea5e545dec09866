# SPDX-License-Identifier: GPL-3.0-or-later
"""Monte Carlo rounds in groups, with estimates after each group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from . import library
from .calls import Handle, call, new_stop
from .errors import InputError
from .library import ffi, lib, struct, text
from .rounds import pair_of


@dataclass(frozen=True)
class Estimates:
    """Means over the rounds so far, with standard errors; NaN if there are too few rounds."""

    done: bool
    rounds: int
    emitted: float      # tokens per round
    emitted_se: float
    first: float        # acceptance rate of the first draft token
    first_se: float
    speedup: float      # tokens per target call of time, on the virtual clock
    speedup_se: float


class Simulation:
    """Rounds by the million. Iteration runs group after group and yields the estimates."""

    def __init__(self, handle: Handle, K: int, stop: object) -> None:
        self._handle, self._K, self._stop = handle, K, stop

    def __iter__(self) -> Iterator[Estimates]:
        while not self.read().done:
            yield self.next()

    def next(self) -> Estimates:
        """Runs one group of rounds. An interrupted group counts for nothing."""
        done = ffi.new("int32_t *")
        self._handle.call(lib.speclab_simulation_next, done, self._handle.pointer,
                          stop=self._stop)
        return self.read()

    def run(self) -> Estimates:
        """Runs all groups up to the limit."""
        for _ in self:
            pass
        return self.read()

    def read(self) -> Estimates:
        """The estimates from all rounds so far."""
        e = struct("speclab_estimates")
        lib.speclab_simulation_read(e, self._handle.pointer)
        return Estimates(bool(e.done), e.rounds, e.emitted, e.emitted_se, e.first, e.first_se,
                         e.speedup, e.speedup_se)

    def __repr__(self) -> str:
        e = self.read()
        return (f"<Simulation of {e.rounds:,} rounds: {e.emitted:.6g} +- {e.emitted_se:.2g} tokens "
                f"per round, {'done' if e.done else 'next() or run() goes on'}>")

    def accepted(self) -> np.ndarray:
        """The rounds so far that accepted 0, 1, ... K draft tokens."""
        counts = np.zeros(self._K + 1, np.uint64)
        lib.speclab_simulation_accepted(ffi.from_buffer("uint64_t[]", counts), self._K + 1,
                                        self._handle.pointer)
        return counts


def simulate(target: str | None = None, draft: str | None = None, K: int = 4, *,
             rule: str | None = None, drafting: str | None = None, policy: str | None = None,
             alpha: float | None = None, process: str | None = None, c: float = 0.1,
             rounds: int | None = None, standard_error: float | None = None,
             seed: int = 42) -> Simulation:
    """Opens a simulation: of a pair of models, or with alpha of acceptance alone, which is faster.

    It ends after `rounds` rounds (1,000,000), or when the tokens per round have this standard
    error. Rounds depend on the seed alone.
    """
    if rounds is None and standard_error is None:
        rounds = 1_000_000
    if (target is None) == (alpha is None):
        raise InputError("give either a target or alpha")
    stop = new_stop()
    options = struct("speclab_simulation_options", seed=seed, rounds=rounds, c=c, opt_stop=stop,
                     standard_error=standard_error)
    made, lab = ffi.new("speclab_simulation **"), library.lab()
    if target is not None:
        pair = pair_of(target, draft, K, drafting, policy, rule)
        call(lib.speclab_simulation_open, made, lab, pair, options, stop=stop)
    else:
        acceptance = struct("speclab_acceptance", K=K, alpha=alpha, process=text(process))
        call(lib.speclab_simulation_open_acceptance, made, lab, acceptance, options, stop=stop)
    return Simulation(Handle(made[0], lib.speclab_simulation_close, lab, options), K, stop)
