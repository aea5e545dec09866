# SPDX-License-Identifier: GPL-3.0-or-later
"""yardstick: the Python side of tests/bench/yardstick.h.

A script passes its functions to serve(); each does a fixed amount of work and returns its units.
A line "NAME SECONDS" on standard input requests the units per second of NAME, measured for about
SECONDS.
"""

import sys
import time


def rate(work, seconds):
    # Processor time is hardly affected by other processes.
    done, begin, now = 0, time.process_time(), 0.0
    while now < seconds:
        done += work()
        now = time.process_time() - begin
    return done / now


def serve(*functions):
    table = {f.__name__: f for f in functions}
    warm = set()
    for line in iter(sys.stdin.readline, ""):
        name, seconds = line.split()
        if name in table and name not in warm:
            table[name]()  # the first call allocates
            warm.add(name)
        print(rate(table[name], float(seconds)) if name in table else "nan", flush=True)
