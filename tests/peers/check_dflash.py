# SPDX-License-Identifier: GPL-3.0-or-later
"""Drafts of dflash files at temperature 0 are those of llama.cpp, token for token.

check_dflash.py SPECLAB [CASE]: each case of dflash_files.py, for random targets and texts. A
difference is forgiven where speclab's two likeliest tokens are within TIE of each other."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import dflash_files as files

HERE = os.path.dirname(os.path.abspath(__file__))
SHELL = os.environ.get("LLAMA_DRAFTS") or os.path.join(HERE, "../../build/peers/llama_drafts")
LENGTHS = [1, 2, 3, 9, 26, 70, 131, 300]
TIE = {"F32": 1e-5, "F16": 2e-2, "BF16": 2e-2, "Q8_0": 6e-2}


def drafted(program, target, draft, tokens, k):
    """speclab's greedy draft, and for each token the ratio of its two likeliest."""
    said = subprocess.run(
        [program, "step", "--target", f"gguf:{target}", "--draft", draft, "--drafting", "greedy",
         "-K", str(k), "--context", " ".join(map(str, tokens)), "--format", "json"],
        capture_output=True, check=False)
    if said.returncode != 0:
        raise SystemExit(said.stderr.decode())
    nodes = json.loads(said.stdout)["rounds"][0]["nodes"]
    top = [np.sort(node["draft_row"])[-2:] for node in nodes]
    return [node["token"] for node in nodes], [low / high for low, high in top]


def compare(ours, ratios, theirs, tie):
    """Whether they agree, up to the first draw that is a tie."""
    if ours and ours[-1] == files.END:
        theirs = theirs[:len(ours)]  # speclab drafts nothing after the end of a text
    for i, token in enumerate(ours):
        if i >= len(theirs) or token != theirs[i]:
            return i < len(theirs) and ratios[i] > 1 - tie, i
    return len(ours) == len(theirs), len(ours)


def check(program, folder, case, number, targets):
    chance = np.random.default_rng(number)
    draft = os.path.join(folder, "draft.gguf")
    tokens = longest = differ = stopped = 0
    for architecture in targets:
        named, plain = (os.path.join(folder, f"{architecture}-{kind}.gguf")
                        for kind in ("named", "plain"))
        k = files.write_draft(draft, case.settings, 100 + number)
        texts = [chance.integers(3, files.VOCAB, n).tolist() for n in LENGTHS]
        said = subprocess.run(
            [SHELL, named, draft, str(k), str(case.p_min)], capture_output=True, check=False,
            input="".join(" ".join(map(str, t)) + "\n" for t in texts).encode())
        if said.returncode != 0:
            raise SystemExit(f"{case.name}: llama.cpp ({said.returncode}): {said.stderr.decode()}")
        lines = said.stdout.decode().split("\n")[:-1]
        assert len(lines) == len(texts)
        spec = f"dflash:{draft}" + (f"?confidence={case.p_min}" if case.p_min else "")
        tie = TIE["F16" if case.settings.get("gelu") else case.settings.get("type", "F32")]
        for text, line in zip(texts, lines):
            theirs = [int(word) for word in line.split()]
            ours, ratios = drafted(program, plain, spec, text, k)
            same, at = compare(ours, ratios, theirs, tie)
            tokens += at
            longest = max(longest, at)
            stopped += len(theirs) < k
            if not same:
                differ += 1
                print(f"  {architecture}, {len(text)} tokens: {ours} {theirs}")
    if case.p_min and not 0 < stopped:
        differ += 1
        print("  no draft ended early: the case shows nothing")
    print(f"{case.name:58} {tokens:4} tokens, up to {longest:2}, {stopped:2} stopped, "
          f"{differ} differ", flush=True)
    return differ


def main():
    program, wanted = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    targets = os.environ.get("TARGETS", "llama qwen3").split()
    with tempfile.TemporaryDirectory() as folder:
        for i, architecture in enumerate(targets):
            for named in (True, False):
                path = f"{architecture}-{'named' if named else 'plain'}.gguf"
                files.write_target(os.path.join(folder, path), architecture, named, i)
        cases = [(i, case) for i, case in enumerate(files.CASES) if wanted in case.name]
        differ = sum(check(program, folder, case, i, targets) for i, case in cases)
    print("no difference" if differ == 0 else f"{differ} DIFFERENCES")
    return differ != 0


if __name__ == "__main__":
    sys.exit(main())
