# SPDX-License-Identifier: GPL-3.0-or-later
"""`advise`: recommend a draft length from an engine's log."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from . import library
from .calls import call, new_stop
from .errors import Error, InputError
from .library import ffi, lib, struct, text, texts
from .table import frame_of

Log = str | bytes | os.PathLike[str]
Logs = Log | Iterable[Log]


class Advice:
    """The draft length for an engine. print() shows the text of `speclab advise`.

    answer     what to do, a sentence or two
    verdict    "keep", "change", "off", "measure" or "nothing"
    to_K       the draft length to run, 0: without speculation; None: not known
    decides_K  of "measure": the draft length whose run would decide; else None
    setting    what to give the engine for that, in lines to paste; "" where nothing changes
    table      a row for each draft length, with the columns of docs/advise.md#columns
    diagnoses  what looks wrong or is easy to misread: a list of dicts with the name, whether
               something is wrong, the evidence, and what to do next
    """

    def __init__(self, report: dict[str, Any], table: Any, words: str) -> None:
        self.answer: str = report["answer"]
        self.verdict: str = report["verdict"]
        self.to_K: int | None = report["to_K"]
        self.decides_K: int | None = report["decides_K"]
        self.setting: str = report["setting"]
        self.diagnoses: list[dict[str, Any]] = report["diagnoses"]
        self.table = table
        self._words = words

    def __repr__(self) -> str:
        return self._words.rstrip("\n")


def advise(logs: Logs | None = None, *, plain: Logs = (), plain_tokens_per_s: float | None = None,
           round_over_plain: float | None = None, current: int | None = None,
           K: tuple[int, int] | None = None, before: Log | None = None, after: Log | None = None,
           engine: str | None = None) -> Advice:
    """Which draft length should this engine run? docs/advise.md explains the answer.

    logs    logs, metrics or responses of the engine, one or several, which are one set of evidence
            in order. Each is a path, or a text: bytes, or a str with a newline
    plain   the same load without speculation; or its plain_tokens_per_s, of one request; or
            round_over_plain, the time of a round over that of a plain token
    current the draft length, where the logs do not say it
    K       the least and the largest draft length to consider
    before, after   logs from before and after a change; the advice is for the one after it
    engine  reads the logs as those of this engine, or in this format; None: by content
    """
    if (before is None) != (after is None):
        raise InputError("before and after must be given together")
    judged = logs if after is None else after
    if judged is None or (logs is not None and after is not None):
        raise InputError("give either logs, or before and after")
    given = {"plain_tokens_per_s": plain_tokens_per_s, "round_over_plain": round_over_plain,
             "current": current}
    for name, value in given.items():
        if value == 0:  # which would be absent in the library
            raise InputError(f"{name} must be above 0, got 0")
    with ExitStack() as stack:
        names: dict[str, str] = {}  # of texts, by their paths
        files = _paths(judged, "text", names, stack)
        plain_files = _paths(plain, "plain-text", names, stack)
        before_files = _paths(() if before is None else before, "text-before", names, stack)
        return _advise(
            files, names, plain=texts(plain_files), engine=text(engine),
            before=text(before_files[0]) if before_files else None,
            K=None if K is None else _lengths(K), **given)


def _advise(files: list[str], names: dict[str, str], **options: Any) -> Advice:
    stop, made = new_stop(), ffi.new("speclab_advice **")
    given = struct("speclab_advise_options", opt_stop=stop, **options)
    try:
        call(lib.speclab_advise, made, library.lab(), texts(files), given, stop=stop)
        words, report = (_named(ffi.string(said(made[0])).decode(errors="replace"), names)
                         for said in (lib.speclab_advice_text, lib.speclab_advice_json))
        return Advice(json.loads(report), frame_of(lib.speclab_advice_table(made[0])), words)
    except Error as error:
        raise type(error)(_named(str(error), names)) from None
    finally:
        lib.speclab_advice_free(made[0])


def _lengths(K: tuple[int, int]) -> Any:
    try:
        low, high = K
        return ffi.new("int32_t[2]", [low, high])
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"K must be (low, high), whole numbers from 0 to 64, got {K!r}") from None


def _paths(logs: Logs, name: str, names: dict[str, str], stack: ExitStack) -> list[str]:
    """The paths of logs; a text becomes a file in memory, until the stack is closed."""
    paths = []
    for log in [logs] if isinstance(logs, (str, bytes, os.PathLike)) else logs:
        if isinstance(log, str) and "\n" in log:
            log = log.encode(errors="surrogateescape")
        if not isinstance(log, bytes):
            paths.append(os.fspath(log))
            continue
        file = stack.enter_context(os.fdopen(os.memfd_create("speclab"), "wb"))
        file.write(log)
        file.flush()
        paths.append(f"/proc/self/fd/{file.fileno()}")
        names[paths[-1]] = name if len(paths) == 1 else f"{name}-{len(paths)}"
    return paths


def _named(words: str, names: dict[str, str]) -> str:
    """With the names of texts in place of their paths."""
    return re.sub(r"/proc/self/fd/\d+", lambda path: names.get(path[0], path[0]), words)
