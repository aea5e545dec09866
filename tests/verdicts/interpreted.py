# SPDX-License-Identifier: GPL-3.0-or-later
"""Triton's interpreter, several times faster: import this before the kernels.

It patches triton.language before each call of a device function. Here the first patch remains.
"""
import os

os.environ["TRITON_INTERPRET"] = "1"
import triton.language as tl  # noqa: E402
from triton.runtime import interpreter  # noqa: E402

patch, patched = interpreter._patch_lang, set()


def patch_once(fn):
    names = frozenset(id(v) for v in fn.__globals__.values() if v is tl or v is tl.core)
    if names not in patched:
        patched.add(names)
        patch(fn)
    return interpreter._LangPatchScope()


interpreter._patch_lang = patch_once
