# SPDX-License-Identifier: GPL-3.0-or-later
"""Yardsticks for the serving engine: 128 full slots, outputs of 256 tokens, alpha = .7.

simpy_*: the same model as a SimPy process with NumPy over the batch. specdecode_bench: the batch of
SpecDecode-Bench's simulator (arXiv 2601.11580), whose checkout SPECDECODE_BENCH names."""

import os
import sys
import types

from yardstick import serve

SLOTS, LENGTH, ALPHA, STEPS = 128, 256, 0.7, 500
functions = []

try:
    import numpy as np
    import simpy

    rng = np.random.Generator(np.random.PCG64DXSM(42))

    def engine(env, K, rounds):
        tails = np.float32(ALPHA) ** np.arange(1, K + 1, dtype=np.float32)
        left, begun = np.full(SLOTS, LENGTH), np.zeros(SLOTS)
        latency = 0.0
        for _ in range(STEPS):
            yield env.timeout(7e-3 + 21e-6 * SLOTS * (K + 1) + (2e-3 if K > 0 else 0.0))
            if K > 0:
                number = rng.random(SLOTS, dtype=np.float32)
                left -= 1 + (number < tails[:, None]).sum(axis=0)
            else:
                left -= 1
            done = left <= 0
            if done.any():
                latency += (env.now - begun[done]).sum()
                left[done], begun[done] = LENGTH, env.now
        rounds.append(SLOTS * STEPS)

    def simulate(K):
        env, rounds = simpy.Environment(), []
        env.process(engine(env, K, rounds))
        env.run()
        return rounds[0]

    def simpy_drafting():
        return simulate(3)

    def simpy_plain():
        return simulate(0)

    functions += [simpy_drafting, simpy_plain]
except ImportError:
    pass

try:
    import random

    sys.path.insert(0, os.environ["SPECDECODE_BENCH"])
    sys.modules.setdefault("tqdm", types.SimpleNamespace(tqdm=lambda x, **_: x))
    from predictor import AccLenPredictMethod, AccLenPredictor, ProposeMethod, TimePredictor
    from request import AccLenGroundTruth, Request
    from simulator import SpecSimulator

    simulator = SpecSimulator.__new__(SpecSimulator)
    simulator.acc_gt_method = AccLenGroundTruth.EAGLE
    simulator.acc_predict_method = AccLenPredictMethod.FIXED_3
    simulator.time_predictor = TimePredictor(method=ProposeMethod.EAGLE)
    simulator.acc_len_predictor = AccLenPredictor(AccLenPredictMethod.FIXED_3)

    def accepted():
        n = 1
        while n < 4 and random.random() < ALPHA:
            n += 1
        return n

    def specdecode_bench():
        lengths = [accepted() for _ in range(LENGTH)]
        batch = [
            Request(str(i), AccLenGroundTruth.EAGLE, [0], [], None, lengths, None)
            for i in range(16)
        ]
        latencies, _, _ = simulator.simulate_sd_batch(batch)
        return sum(len(times) - 2 for times in latencies.values())  # two are of the prefill

    functions.append(specdecode_bench)
except (ImportError, KeyError):
    pass

serve(*functions)
