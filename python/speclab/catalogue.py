# SPDX-License-Identifier: GPL-3.0-or-later
"""The names that other functions take."""

from __future__ import annotations

from typing import Any

from . import library
from .calls import short_call
from .library import ffi, lib, text
from .table import frame_of


def names(kind: str | None = None) -> Any:
    """A table of names with their keys and defaults: kind, name, summary, reference, claim.

    kind   "model", "draft" (a strategy), "rule", "policy", "process", "lengths" or "measure";
           None: all
    claim  of a rule: "lossless", "lossless at temperature 0", "lossy" or "wrong"
    """
    made = ffi.new("speclab_table **")
    short_call(lib.speclab_list, made, library.lab(), text(kind))
    try:
        return frame_of(made[0])
    finally:
        lib.speclab_table_free(made[0])
