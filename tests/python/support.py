# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the Python package share: the program, its CSV, and exact samplers."""

import csv
import math
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("SPECLAB", "")


def program(*arguments, code=0):
    """The standard output of the program."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == code, done.stderr
    return done.stdout


def csv_of(*arguments, code=0):
    """Columns and rows of the CSV that the program writes."""
    lines = program(*arguments, "--format", "csv", code=code).splitlines(keepends=True)
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    return rows[0], rows[1:]


def text_of(value):
    """A cell as the program's CSV writes it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def cells_of(table):
    """Columns and rows of a table of the package, as CSV has them; a DataFrame or a Table."""
    columns = list(table.columns)
    lists = [np.asarray(table[name]).tolist() for name in columns]
    return columns, [[text_of(value) for value in row] for row in zip(*lists)]


def python(code, *, signal=None):
    """Runs Python code in a process of its own, and sends a signal when it prints "ready".

    Its alarm ends the process after a minute, even where this one has ended without a word. It
    hears Ctrl-C even where a shell started the tests in the background, which ignores it.
    """
    code = ("import signal; signal.alarm(60)\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n" + textwrap.dedent(code))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, cwd=tempfile.gettempdir()) as process:
        try:
            if signal is not None and process.stdout.readline() == "ready\n":
                process.send_signal(signal)
            out, err = process.communicate()
        finally:
            process.kill()
    return process.returncode, out, err


def pick(rows, uniform):
    """An index of each row, drawn with its weights."""
    edges = np.cumsum(rows, axis=-1)
    return (edges <= uniform[..., None] * edges[..., -1:]).sum(axis=-1)


def token_rule(rng, residual=True):
    """The token rule over batches of chains; without residuals it is wrong."""

    def verify(batch):
        n, K = batch.n, batch.n_nodes
        i, k = np.arange(n), np.arange(K)
        if batch.scope == "DV":
            drafted = pick(batch.draft[:, :K].astype(float), rng.random((n, K)))
        else:
            drafted = batch.token
        target, draft = (side[i[:, None], k, drafted] for side in (batch.target, batch.draft))
        passed = rng.random((n, K)) * draft < target
        accepted = np.cumprod(passed, axis=1).sum(axis=1)
        row = batch.target[i, accepted].astype(float)
        if residual:
            rest = np.maximum(row - np.where(accepted[:, None] < K, batch.draft[i, accepted], 0), 0)
            row = np.where(rest.sum(axis=1, keepdims=True) > 0, rest, row)
        token = np.zeros((n, K + 1), np.int32)
        token[:, :K] = drafted
        token[i, accepted] = pick(row, rng.random(n))
        answer = token, accepted + 1
        return answer if batch.scope == "V" else (*answer, drafted)

    return verify
