# SPDX-License-Identifier: GPL-3.0-or-later
"""A laboratory for speculative decoding: experiments, closed forms, rounds, texts, validation.

Every experiment is one call, `run`; `predict`, `sweep`, `accept`, `prove`, `plan` and `serve` write
its text. Tables are pandas DataFrames where pandas is installed, and `Table` elsewhere; `attrs` has
their provenance. `validate` tests a sampler of this process; `advise` reads an engine's log.
docs/python.md is the guide.
"""

from . import formulas, rows
from .advice import Advice, advise
from .batch import Batch, Request, Step
from .catalogue import names
from .errors import Error, FailedError, ForkedError, InputError
from .experiment import run
from .library import threads, version
from .rounds import Decision, Round, round
from .simulation import Estimates, Simulation, simulate
from .table import Table
from .texts import Text, generate
from .validation import Validation, validate
from .verbs import accept, plan, predict, prove, serve, sweep

__version__ = version().split()[0]
__all__ = [
    "Advice", "Batch", "Decision", "Error", "Estimates", "FailedError", "ForkedError", "InputError",
    "Request", "Round", "Simulation", "Step", "Table", "Text", "Validation", "accept", "advise",
    "formulas", "generate", "names", "plan", "predict", "prove", "round", "rows", "run", "serve",
    "simulate", "sweep", "threads", "validate", "version",
]
