# SPDX-License-Identifier: GPL-3.0-or-later
"""Small random targets and draft files; drafts of speclab and llama.cpp at temperature 0."""
import itertools
import json
import math
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build/peers")
PEERS = os.environ.get("PEERS") or BUILD
SOURCE = os.path.join(PEERS, "llama_cpp_python-0.3.36/vendor/llama.cpp")
SHELL = os.path.join(BUILD, "llama_drafts")
sys.path[:0] = [os.path.join(SOURCE, "gguf-py")]

import gguf  # noqa: E402

VOCAB, CONTEXT = 40, 512
DIM, LAYERS, HEADS, KV_HEADS, WIDTH, FFN = 64, 5, 4, 2, 16, 96


def build_shell():
    """llama.cpp's own headers, sources and libraries; nothing of it is copied."""
    source = os.path.join(HERE, "llama_drafts.cpp")
    if os.path.exists(SHELL) and os.path.getmtime(SHELL) > os.path.getmtime(source):
        return
    os.makedirs(BUILD, exist_ok=True)
    folders = ["include", "ggml/include", "common", "src", "vendor"]
    bin_folder = os.path.join(PEERS, "llama/bin")
    subprocess.run(["g++", "-std=c++17", "-O1", *(f"-I{SOURCE}/{name}" for name in folders), source,
                    "-o", SHELL, f"-L{bin_folder}", f"-Wl,-rpath,{bin_folder}", "-lllama-common",
                    "-lllama", "-lggml", "-lggml-base"], check=True)


class Weights:
    """Random tensors: matrices that keep the size of activations, norms about 1."""

    def __init__(self, seed):
        self.noise = np.random.default_rng(seed)

    def matrix(self, rows, cols, scale=1.5):
        return (self.noise.standard_normal((rows, cols)) * scale / np.sqrt(cols)).astype("<f4")

    def norm(self, n):
        return (1 + 0.3 * self.noise.standard_normal(n)).astype("<f4")

    def vector(self, n, scale=0.5):
        return (scale * self.noise.standard_normal(n)).astype("<f4")


def shape_values(arch, dim=DIM, layers=LAYERS, heads=HEADS, kv_heads=KV_HEADS, width=WIDTH,
                 ffn=FFN):
    return {f"{arch}.context_length": CONTEXT, f"{arch}.embedding_length": dim,
            f"{arch}.block_count": layers, f"{arch}.feed_forward_length": ffn,
            f"{arch}.attention.head_count": heads, f"{arch}.attention.head_count_kv": kv_heads,
            f"{arch}.attention.key_length": width, f"{arch}.attention.value_length": width,
            f"{arch}.rope.dimension_count": width, f"{arch}.rope.freq_base": 5000.0,
            f"{arch}.attention.layer_norm_rms_epsilon": 1e-5}


def write(path, arch, values, tensors, vocab=VOCAB):
    """A GGUF file without a vocabulary; numbers become U32 and F32."""
    writer = gguf.GGUFWriter(path, arch)
    writer.add_string("tokenizer.ggml.model", "none")
    if vocab is not None:
        writer.add_uint32(f"{arch}.vocab_size", vocab)
    for key, value in values.items():
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        else:
            writer.add_array(key, value)
    for name, (data, kind) in tensors.items():
        if kind is None:
            writer.add_tensor(name, data)
        else:
            writer.add_tensor(name, gguf.quants.quantize(data, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def plain(tensors):
    return {name: (data, None) for name, data in tensors.items()}


def block(weights, i, dim=DIM, inputs=None, heads=HEADS, kv_heads=KV_HEADS, width=WIDTH, ffn=FFN):
    """A block's tensors but for its norms."""
    inputs = inputs or dim
    shapes = {"attn_q": (heads * width, inputs), "attn_k": (kv_heads * width, inputs),
              "attn_v": (kv_heads * width, inputs), "attn_output": (dim, heads * width),
              "ffn_gate": (ffn, dim), "ffn_up": (ffn, dim), "ffn_down": (dim, ffn)}
    return {f"blk.{i}.{name}.weight": weights.matrix(*shape) for name, shape in shapes.items()}


def llama_tensors(weights, layers=LAYERS):
    tensors = {"token_embd.weight": weights.matrix(VOCAB, DIM, 4.0),
               "output.weight": weights.matrix(VOCAB, DIM, 2.0),
               "output_norm.weight": weights.norm(DIM)}
    for i in range(layers):
        tensors[f"blk.{i}.attn_norm.weight"] = weights.norm(DIM)
        tensors[f"blk.{i}.ffn_norm.weight"] = weights.norm(DIM)
        tensors.update(block(weights, i))
    return tensors


# ---- drafts --------------------------------------------------------------------------------------

def texts_of(seed, n):
    """Lists of 2 to 30 tokens."""
    noise = np.random.default_rng(seed)
    return [noise.integers(0, VOCAB, noise.integers(2, 31)).tolist() for _ in range(n)]


def llama_rounds(kind, target, draft, K, rounds, texts, p_min=0.0):
    """For each text the rounds as pairs of lists: drafted, emitted."""
    ran = subprocess.run([SHELL, kind, target, draft or "-", str(K), str(rounds), str(p_min)],
                         input="".join(" ".join(map(str, text)) + "\n" for text in texts),
                         capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError(f"llama_drafts {kind} {target} {draft}: {ran.stderr.strip()[-300:]}")
    answer = []
    for part in ran.stdout.split("\n\n")[:-1]:
        sides = [line.split("|") for line in part.split("\n")]
        answer.append([tuple([int(word) for word in side.split()] for side in pair)
                       for pair in sides])
    return answer


class Speclab:
    """A target and a draft of it, as specs, in speclab."""

    def __init__(self, program, target, draft):
        self.program, self.target, self.draft = program, target, draft

    def step(self, text, *words):
        ran = subprocess.run([self.program, "step", "--target", self.target, "--draft", self.draft,
                              "--context", " ".join(map(str, text)), "-f", "json", *words],
                             capture_output=True, text=True)
        if ran.returncode != 0:
            raise RuntimeError(ran.stderr.strip())
        return json.loads(ran.stdout)["rounds"]

    def rounds(self, text, K, rounds):
        return [([node["token"] for node in one["nodes"]], one["tokens"])
                for one in self.step(text, "--temperature", "0", "-K", str(K), "--rounds",
                                     str(rounds))]

    def is_tie(self, text, K, theirs, ours, near):
        """Whether the logits of the first tokens that differ are within `near` of each other."""
        one = self.step(text, "--drafting", "greedy", "-K", str(K))[0]
        rows = [node["draft_row"] for node in one["nodes"]], one["target_rows"]
        for row, a, b in zip(itertools.chain(*rows), itertools.chain(*theirs),
                             itertools.chain(*ours)):
            if a != b:
                return min(row[a], row[b]) > 0 and abs(math.log(row[a] / row[b])) < near
        return False


def compare(name, speclab, texts, theirs, K, near=3e-4):
    """Print a line; returns whether all rounds are the same, up to a tie in a text."""
    rounds = drafted = accepted = ties = 0
    for start, lines in zip(texts, theirs, strict=True):
        text = list(start)
        for one, other in zip(lines, speclab.rounds(text, K, len(lines)), strict=True):
            if one != other:
                if not speclab.is_tie(text, K, one, other, near):
                    print(f"FAIL {name}: after {text}: llama.cpp {one}, speclab {other}")
                    return False
                ties += 1
                break
            rounds += 1
            drafted += len(one[0])
            accepted += len(one[1]) - 1
            text += one[1]
    print(f"ok {name}: {rounds} rounds, {drafted} drafted tokens the same, {accepted} accepted; "
          f"texts that end at a tie: {ties}")
    return rounds > 0
