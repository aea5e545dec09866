# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m speclab`: the program, with its options."""

import os
import sys

from .answer import program
from .errors import FailedError

try:
    os.execv(program(), ["speclab", *sys.argv[1:]])
except (FailedError, OSError) as error:
    sys.exit(f"speclab: {error}")
