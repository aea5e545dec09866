# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the program `speclab` for the functions of speclab.program, and reads what it answers."""

from __future__ import annotations

import csv
import importlib.metadata
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .errors import FailedError, InputError
from .library import version
from .table import Table, has_pandas

Number = float | str
One = str | float | os.PathLike[str]
Value = One | Iterable[One]
Word = Any  # a text, a path or a table, which the program reads as a CSV file

_ENDED = (0, 1, 3)  # exit codes of an answer: yes, no, not decided


class Answer:
    """What the program answered. print() shows its text.

    text    what it printed
    code    its exit code: 0; 1: the verdict is bad, or a check failed; 3: not decided
    table   its rows, a DataFrame where pandas is installed; None if it has none
    report  the JSON of a verb that has no rows; else None
    figure  the SVG of `plot`; else None
    """

    def __init__(self, text: str, code: int) -> None:
        self.text = text
        self.code = code
        self.table: Any = None
        self.report: Any = None
        self.figure: str | None = None

    def __repr__(self) -> str:
        if self.text or self.table is None:
            return self.text.rstrip("\n")
        return repr(self.table)

    def _repr_svg_(self) -> str | None:
        return self.figure

    def _repr_html_(self) -> str | None:
        html: str | None = self.table._repr_html_() if self.table is not None and not self.text \
            else None
        return html


@cache
def program() -> str:
    """The path of the program, of the library's version: the wheel's, $SPECLAB, or in PATH."""
    try:
        files = importlib.metadata.files("speclab") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    own = [str(file.locate()) for file in files if file.parts[-2:] == ("bin", "speclab")]
    path = shutil.which(own[0] if own else os.environ.get("SPECLAB") or "speclab")
    if path is None:
        raise FailedError("the program speclab is not in PATH: on Debian, install the package "
                          "speclab")
    said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    said = said.partition("\n")[0]
    if said.split() != ["speclab", version().split()[0]]:
        raise FailedError(f"{path} is '{said}', but the library is speclab {version()}")
    return path


def listed(value: Value | None) -> Value | None:
    """Several values as one text with commas."""
    return value if value is None or isinstance(value, _SINGLE) else ",".join(map(str, value))


_SINGLE = (str, float, int, os.PathLike)


def ask(verb: str, reading: str, words: Iterable[Word], options: Mapping[str, Any]) -> Answer:
    """Runs a verb, whose answer is "rows", "json", "text", or "both": a text, and rows in a file.

    InputError: it refuses its input, with the line that the program prints.
    """
    with tempfile.TemporaryDirectory(prefix="speclab-") as folder:
        arguments = [text for name, value in options.items() for text in _option(name, value)]
        rows, drawn = Path(folder) / "rows.csv", Path(folder) / "figure.svg"
        arguments += {"both": [f"--output={rows}"], "rows": ["--format=csv"],
                      "json": ["--format=json"]}.get(reading, [])
        if verb == "plot" and options["output"] is None:
            arguments.append(f"--output={drawn}")
        arguments += ["--", *(_word(word, Path(folder) / f"table-{i}.csv")
                              for i, word in enumerate(words))]
        done = subprocess.run([program(), verb, *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        if done.returncode not in _ENDED or (done.returncode != 0 and not done.stdout):
            line = (done.stderr.strip().splitlines() or ["speclab ended without a word"])[-1]
            raise (InputError if done.returncode == 2 else FailedError)(line)
        answer = Answer(done.stdout, done.returncode)
        if reading == "json":
            answer.report, answer.text = json.loads(done.stdout), ""
        elif reading == "rows":
            answer.table, answer.text = _table(done.stdout), ""
        elif rows.exists():
            answer.table = _table(rows.read_text())
        if drawn.exists():
            answer.figure, answer.text = drawn.read_text(), ""
        return answer


def _option(name: str, value: Any) -> list[str]:
    if value is None or value is False:
        return []
    if value is True:
        return [f"--{name}"]
    values = [value] if isinstance(value, _SINGLE) else value
    return [f"--{name}={os.fspath(each) if isinstance(each, os.PathLike) else each}"
            for each in values]


def _word(word: Word, path: Path) -> str:
    """A text or path; a table is written to this path, with its provenance."""
    if isinstance(word, _SINGLE):
        return str(word)
    if not hasattr(word, "columns"):
        raise TypeError(f"give the path of a file, or a table, got {word!r}")
    columns = {str(name): np.asarray(word[name]).tolist() for name in word.columns}
    with path.open("w", newline="") as file:
        file.writelines(f"# {line}\n" for line in word.attrs.get("provenance", "").splitlines())
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))
    return str(path)


def _table(text: str) -> Any:
    """The table of a CSV: int64 and float64 where all cells are, else texts."""
    lines = text.splitlines(keepends=True)
    head = [line[1:].strip() for line in lines if line.startswith("#")]
    names, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    made = Table({name: _column(list(cells)) for name, cells in zip(names, zip(*rows))}
                 if rows else {name: np.array([]) for name in names},
                 {"provenance": "\n".join(head)})
    return made.to_pandas() if has_pandas() else made


def _column(cells: list[str]) -> np.ndarray[Any, Any]:
    try:
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        return np.array([float(cell or "nan") for cell in cells])
    except ValueError:
        return np.array(cells, dtype=object)
