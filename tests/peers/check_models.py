#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of small random models: speclab beside transformers, on files of speclab and of llama.cpp.

    check_models.py SPECLAB [WORD...]      the models whose names have these words
Texts are sampled by the model itself and are longer than its windows; others are greedy."""
import os
import sys
import tempfile

import numpy as np

import compare
import programs
import tiny

SAMPLED, GREEDY = 160, 60
BOUND = 1e-4  # of the spread of logits
HYBRID_BOUND = 3e-4  # transformers computes recurrent layers by chunks, in single precision


def distances(program, path, model, folder):
    """The largest distances from transformers, of speclab and of llama.cpp, over the spread."""
    ours = theirs = 0.0
    for text in compare.sampled(program, path, folder, SAMPLED):
        truth = text.pick(tiny.rows(model, text.tokens))
        spread = truth.std(axis=1).mean()
        other = text.pick(programs.llama_rows(path, [text.tokens])[0])
        ours = max(ours, np.abs(text.ours - truth).max() / spread)
        theirs = max(theirs, np.abs(other - truth).max() / spread)
    return ours, theirs


def other_tokens(program, path, model, folder):
    """Tokens of greedy texts that are not the most probable ones of transformers."""
    return sum(int((text.pick(tiny.rows(model, text.tokens)).argmax(axis=1) != text.chosen).sum())
               for text in compare.greedy(program, path, folder, GREEDY))


def write_file(program, writer, one, folder):
    path = os.path.join(folder, writer + ".gguf")
    if writer == "speclab":
        programs.run([program, "import", folder, "-o", path])
    else:
        programs.convert(folder, path, one.vocabulary)
    return path


def check(program, one, writer, folder, model):
    """A line about one file; whether it holds, and its distance."""
    try:
        path = write_file(program, writer, one, folder)
        ours, theirs = distances(program, path, model, folder)
        others = other_tokens(program, path, model, folder)
    except (programs.Refused, LookupError, OSError, ValueError) as error:
        print(f"models: {one.name}, {writer}'s file: FAIL: {error}"[:400], flush=True)
        return False, 0.0
    bound = HYBRID_BOUND if "linear_num_key_heads" in one.settings else BOUND
    holds = ours < bound and others == 0
    print(f"models: {one.name}, {writer}'s file: {'ok' if holds else 'FAIL'}: {ours:.1e} of the "
          f"spread (llama.cpp: {theirs:.1e}), {others} of {GREEDY} greedy tokens differ",
          flush=True)
    return holds, ours


def main(program, words):
    chosen = [one for one in tiny.MODELS if all(word in one.name for word in words)]
    results = []
    for one in chosen:
        with tempfile.TemporaryDirectory() as folder:
            model = tiny.make(one, folder)
            for writer in ("speclab", "llama.cpp"):
                results.append(check(program, one, writer, folder, model))
    good = sum(holds for holds, _ in results)
    worst = max((far for holds, far in results if holds), default=0.0)
    print(f"models: {good} of {len(results)} files give the rows of transformers, to {worst:.1e} "
          "of their spread")
    return 0 if good == len(results) and results else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
