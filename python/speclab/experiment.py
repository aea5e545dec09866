# SPDX-License-Identifier: GPL-3.0-or-later
"""Experiments: a text, a file, a name or a dict in, a table out."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from . import library
from .calls import Callbacks, new_stop
from .errors import InputError
from .library import ffi, lib, struct, text, texts, whole
from .table import frame_of

Progress = Callable[[float, int], Any]


def run(experiment: str | os.PathLike[str] | Mapping[str, Any], *,
        set: Mapping[str, Any] | None = None, seed: int | None = None, limit: int | None = None,
        progress: Progress | None = None) -> Any:
    """Runs an experiment and returns its table, a DataFrame where pandas is installed.

    experiment  a text as in docs/formats.md#experiment-files, a dict with the same keys, a Path of
                a file, or the name of an experiment of speclab, such as "speedup_table"
    set         overrides, as of `speclab run --set`: {"rounds": 1000}
    seed        of all random streams; None: the experiment's, or 42
    limit       most branches of an enumeration; None: the program's default
    progress    called with the points done and their number, from another thread

    The exception of a run that fails or is interrupted has its finished rows as `table`.
    """
    name, words = _name_and_text(experiment)
    callbacks = Callbacks(new_stop())
    options = struct(
        "speclab_run_options", name=text(name), limit=limit, seed=whole(seed, "seed"),
        set=texts(f"{key}={numbers_text(value)}" for key, value in (set or {}).items()),
        opt_stop=callbacks.stop,
        progress=progress and callbacks.add("void(void *, double, uint64_t)",
                                            lambda _, done, total: progress(done, total)))
    made = ffi.new("speclab_table **")
    try:
        callbacks.call(lib.speclab_run, made, library.lab(), words.encode(), options)
        return frame_of(made[0])
    except (Exception, KeyboardInterrupt) as error:
        if made[0] != ffi.NULL:
            error.table = frame_of(made[0])  # type: ignore[union-attr]
        raise
    finally:
        lib.speclab_table_free(made[0])


def _name_and_text(experiment: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(experiment, Mapping):
        return "experiment", text_of(experiment)
    if isinstance(experiment, os.PathLike):
        return Path(experiment).stem, Path(experiment).read_text()
    if not re.fullmatch(r"\w+", experiment):
        return "experiment", experiment
    folder = library.share()
    file = folder / "experiments" / "cfg" / f"{experiment}.cfg" if folder else None
    if file is None or not file.exists():
        raise InputError(f"'{experiment}' is neither the text of an experiment nor the name of "
                         "one: speclab list experiments; a file is Path('...')")
    return experiment, file.read_text()


def plain(value: Any) -> Any:
    """NumPy's and torch's arrays and numbers as Python's; others as they are."""
    return value.tolist() if hasattr(value, "tolist") else value


def numbers_text(value: Any) -> str:
    """A value, or several with commas between them."""
    value = plain(value)
    if isinstance(value, str) or not isinstance(value, Iterable):
        return str(value)
    return ",".join(map(str, value))


def text_of(experiment: Mapping[str, Any]) -> str:
    """The text of an experiment that is given as a dict."""
    return "".join(f"{key} = {_value(value, key)};\n" for key, value in experiment.items())


def _value(value: Any, key: str) -> str:
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        escaped = os.fspath(value).replace("\\", "\\\\").replace('"', '\\"')
        return '"' + escaped.replace("\n", "\\n") + '"'
    if isinstance(value, Mapping):
        return "{ " + " ".join(f"{k} = {_value(v, k)};" for k, v in value.items()) + " }"
    if isinstance(value, Iterable):
        return "( " + ", ".join(_value(item, key) for item in value) + " )"
    raise InputError(f"{key} must be a finite number, a text, or several of them, got {value!r}")
