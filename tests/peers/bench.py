#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times of passes, speclab over llama.cpp, in turns of one run.

    bench.py SPECLAB [TYPE...]      build/.../tests/peers/pass_shell is beside SPECLAB
A model of 110 M parameters (768 x 12, V = 32,000), 2 threads, after 64 tokens. A ratio is the
median over turns, each of which times speclab and llama.cpp one after the other."""
import os
import statistics
import subprocess
import sys
import time

import check_quantised
import programs
import tiny

THREADS, CONTEXT, TURNS = 2, 64, 15
PASSES = {1: 16, 8: 8, 64: 2}  # of a turn, by width
TYPES = ["Q4_K_M", "Q6_K", "Q8_0"]
SHAPE = tiny.Tiny("110 M", "llama", "llama-bpe",
                  {"vocab_size": 32000, "hidden_size": 768, "num_hidden_layers": 12,
                   "num_attention_heads": 12, "num_key_value_heads": 12, "head_dim": 64,
                   "intermediate_size": 2048, "max_position_embeddings": 1024})


def model_file(kind):
    """The model in a type, written once."""
    folder = os.path.join(programs.BUILD, "110M")
    path, floats = (os.path.join(folder, f"{name}.gguf") for name in (kind, "F32"))
    if not os.path.exists(floats):
        os.makedirs(folder, exist_ok=True)
        tiny.make(SHAPE, folder)
        programs.convert(folder, floats + ".partial", SHAPE.vocabulary)
        os.replace(floats + ".partial", floats)
    if not os.path.exists(path):
        check_quantised.requantise(check_quantised.Quantiser(), floats, path + ".partial", None,
                                   kind)
        os.replace(path + ".partial", path)
    return path


class Timer:
    """A program that reads "WIDTH PASSES" and answers with seconds."""

    def __init__(self, words):
        self.runs = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True)

    def pass_seconds(self, width):
        time.sleep(0.01)  # until the other program's threads sleep
        self.runs.stdin.write(f"{width} {PASSES[width]}\n")
        self.runs.stdin.flush()
        answer = self.runs.stdout.readline()
        if not answer:
            raise programs.Refused(f"{self.runs.args[0]} ended")
        return float(answer) / PASSES[width]

    def close(self):
        self.runs.stdin.close()
        self.runs.wait()


def llama_timer(path):
    """With weights packed for its products, unless those crash here: AMX may not be permitted."""
    for packed in ("1", "0"):
        timer = Timer([programs.shell(), "time", path, str(THREADS), str(CONTEXT), packed])
        try:
            timer.pass_seconds(max(PASSES))
            return timer, packed == "1"
        except programs.Refused:
            timer.close()
    raise programs.Refused("llama.cpp cannot run " + path)


def compare(program, kind):
    path = model_file(kind)
    ours = Timer([os.path.join(os.path.dirname(program), "tests/peers/pass_shell"),
                  f"gguf:{path}?context=256", str(THREADS), str(CONTEXT)])
    theirs, packed = llama_timer(path)
    how = "" if packed else ", its weights not packed"
    for width in PASSES:
        pairs = [(ours.pass_seconds(width), theirs.pass_seconds(width)) for _ in range(TURNS + 1)]
        ratio = statistics.median(a / b for a, b in pairs[1:])
        mine, other = (1e3 * statistics.median(times) for times in zip(*pairs[1:]))
        print(f"llama.cpp: {kind}, {width:2} tokens: {ratio:.2f} of its time ({mine:.2f} ms, "
              f"{other:.2f} ms{how})", flush=True)
    ours.close()
    theirs.close()


def main(program, kinds):
    for kind in kinds or TYPES:
        compare(program, kind)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
