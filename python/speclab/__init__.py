# SPDX-License-Identifier: GPL-3.0-or-later
"""A laboratory for speculative decoding: experiments, closed forms, rounds, texts, validation.

Every experiment is one call, `run`; `predict`, `sweep`, `accept`, `prove`, `plan` and `serve` write
its text. Tables are pandas DataFrames where pandas is installed, and `Table` elsewhere; `attrs` has
their provenance. `validate` tests a sampler of this process; `advise` reads an engine's log.
`program` has every verb of the program; `bench`, `drive`, `pair`, `plot`, `served` and `tune` are
also here.
docs/python.md is the guide.
"""

from . import formulas, program, rows
from .advice import Advice, advise
from .answer import Answer
from .batch import Batch, Request, Step
from .catalogue import names
from .errors import Error, FailedError, ForkedError, InputError
from .experiment import run
from .library import threads, version
from .program import bench, drive, pair, plot, served, tune
from .rounds import Decision, Round, round
from .simulation import Estimates, Simulation, simulate
from .table import Table
from .texts import Text, generate
from .validation import Validation, validate
from .verbs import accept, plan, predict, prove, serve, sweep

__version__ = version().split()[0]
__all__ = [
    "Advice", "Answer", "Batch", "Decision", "Error", "Estimates", "FailedError", "ForkedError",
    "InputError", "Request", "Round", "Simulation", "Step", "Table", "Text", "Validation", "accept",
    "advise", "bench", "drive", "formulas", "generate", "names", "pair", "plan", "plot", "predict",
    "program", "prove", "round", "rows", "run", "serve", "served", "simulate", "sweep", "threads",
    "tune", "validate", "version",
]
