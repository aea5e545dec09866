#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times of passes, speclab over llama.cpp, in turns of one run.

    bench.py SPECLAB [TYPE...]      build/.../tests/peers/pass_shell is beside SPECLAB
A model of 110 M parameters (768 x 12, V = 32,000), keys and values in 16 bits. A ratio is the
median over turns, each of which times speclab and llama.cpp one after the other. llama.cpp computes
with flash attention and without, and the quicker of the two counts."""
import os
import statistics
import subprocess
import sys
import time

import check_quantised
import programs
import tiny

TURNS = 9
PASSES = {1: 16, 8: 8, 64: 2}  # of a turn, by width
CASES = [  # type of weights, threads, tokens before the pass
    ("Q4_K_M", 2, 64), ("Q6_K", 2, 64), ("Q8_0", 2, 64), ("Q8_0", 2, 4096), ("Q8_0", 2, 16384),
    ("F32", 1, 64), ("F16", 1, 64)]
SHAPE = tiny.Tiny("110 M", "llama", "llama-bpe",
                  {"vocab_size": 32000, "hidden_size": 768, "num_hidden_layers": 12,
                   "num_attention_heads": 12, "num_key_value_heads": 12, "head_dim": 64,
                   "intermediate_size": 2048, "max_position_embeddings": 32768})


def model_file(kind):
    """The model in a type, written once."""
    folder = os.path.join(programs.BUILD, "110M-32768")
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


def llama_timer(path, threads, context, flash):
    """With weights packed for its products, unless those crash here: AMX may not be permitted."""
    for packed in ("1", "0"):
        timer = Timer([programs.shell(), "time", path, str(threads), str(context), packed, flash])
        try:
            timer.pass_seconds(max(PASSES))
            return timer, packed == "1"
        except programs.Refused:
            timer.close()
    raise programs.Refused("llama.cpp cannot run " + path)


def compare(program, kind, threads, context):
    path = model_file(kind)
    ours = Timer([os.path.join(os.path.dirname(program), "tests/peers/pass_shell"),
                  f"gguf:{path}?context={context + 192}&kv=f16", str(threads), str(context)])
    attention = {"0": "", "1": " with flash attention"}
    if context > 4096:  # it would take minutes to read the text
        del attention["1"]
    theirs, packed = zip(*(llama_timer(path, threads, context, flash) for flash in attention))
    names = [name + ("" if is_packed else ", its weights not packed")
             for name, is_packed in zip(attention.values(), packed)]
    for width in PASSES:
        turns = [[timer.pass_seconds(width) for timer in (ours, *theirs)]
                 for _ in range(TURNS + 1)][1:]
        ratio = statistics.median(mine / min(others) for mine, *others in turns)
        mine, *others = (f"{1e3 * statistics.median(times):.2f} ms" for times in zip(*turns))
        print(f"llama.cpp: {kind}, threads {threads}, {width:2} tokens after {context}: "
              f"{ratio:.2f} of its time ({mine}; "
              + ", ".join(time + name for time, name in zip(others, names)) + ")", flush=True)
    for timer in (ours, *theirs):
        timer.close()


def main(program, kinds):
    for case in CASES:
        if not kinds or case[0] in kinds:
            compare(program, *case)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
