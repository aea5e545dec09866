# SPDX-License-Identifier: GPL-3.0-or-later
"""Yardstick for the products of training: OpenBLAS's on one thread, where it is installed.

OpenBLAS may not know a processor that is newer than itself, and then takes a slow kernel. So its
own choice and two others are measured first, and the fastest is the yardstick."""

import ctypes
import os
import subprocess
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"
KERNELS = ("", "SKYLAKEX", "HASWELL")  # "": its own choice


def choose_kernel():
    rates = {}
    for kernel in KERNELS:
        choice = {"OPENBLAS_CORETYPE": kernel} if kernel else {}
        child = subprocess.run([sys.executable, __file__, "measured"], env={**os.environ, **choice},
                               input="forward_256 0.2\n" * 3, capture_output=True, text=True,
                               check=False)
        rates[kernel] = max((float(word) for word in child.stdout.split()), default=0.0)
    best = max(KERNELS, key=rates.get)
    if rates[best] > 1.1 * rates[""]:
        print(f"train.py: OpenBLAS's own choice does {rates['']:.3g} operations per second, its "
              f"kernel {best}, which is the yardstick, {rates[best]:.3g}", file=sys.stderr)
        os.environ["OPENBLAS_CORETYPE"] = best


if "OPENBLAS_CORETYPE" not in os.environ and len(sys.argv) == 1:
    choose_kernel()
try:
    sgemm = ctypes.CDLL("libopenblas.so.0").cblas_sgemm
except (OSError, AttributeError):
    sys.exit(0)
from yardstick import serve

TOKENS, ROWS, PLAIN, TURNED = 2048, 101, 111, 112  # the last three as in cblas.h


def numbers(n):
    return (ctypes.c_float * n)(*((i * 7919 % 2001 - 1000) * 1e-3 for i in range(n)))


def multiply(size, a, b, c):
    """c = a b of m, n, k; a and b are (array, PLAIN or TURNED, floats from row to row)."""
    m, n, k = size
    sgemm(ROWS, a[1], b[1], m, n, k, ctypes.c_float(1), a[0], a[2], b[0], b[2], ctypes.c_float(0),
          c, n)


def products(inputs, outputs):
    """Forward, gradient of x and gradient of w of one layer, as functions."""
    x, w, y = (numbers(n) for n in (TOKENS * inputs, outputs * inputs, TOKENS * outputs))
    work = {
        "forward": ((TOKENS, outputs, inputs), (x, PLAIN, inputs), (w, TURNED, inputs), y),
        "dx": ((TOKENS, inputs, outputs), (y, PLAIN, outputs), (w, PLAIN, inputs), x),
        "dw": ((outputs, inputs, TOKENS), (y, TURNED, outputs), (x, PLAIN, inputs), w),
    }
    for name, arguments in work.items():
        def function(arguments=arguments):
            multiply(*arguments)
            return 2 * TOKENS * inputs * outputs
        function.__name__ = f"{name}_{inputs}"
        yield function


serve(*(f for shape in ((128, 352), (256, 704), (768, 2304)) for f in products(*shape)))
