#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of quantised models: the error of speclab beside that of llama.cpp, type by type.

    check_quantised.py SPECLAB [WORD...]      the models and types with these words in their names
Both round activations to 8 bits. The truth is llama.cpp on the same weights as floats, which
check_models.py ties to transformers. An error is the median over places of the root mean square
of differences of log probabilities, over their spread: experts that change are not the median."""
import ctypes
import os
import sys
import tempfile

import numpy as np

import compare
import programs
import tiny

import gguf

SAMPLED, GREEDY = 200, 60
MOST = 1.5  # the error of speclab over that of llama.cpp
MOST_ROUNDED = {"Q4_1": 1.7, "Q5_1": 1.7}  # computed as Q8_0, which rounds once more
CLEAR = 10.0  # errors of llama.cpp between the two best tokens of a place that must be equal
CHANGED = 1  # clear tokens of a mixture that may differ, since errors may choose other experts
TYPES = ["Q8_0", "Q6_K", "Q5_K", "Q4_K", "Q4_K_M", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "IQ4_NL",
         "MXFP4"]
WIDE = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "head_dim": 64,
        "num_attention_heads": 4, "num_key_value_heads": 2}
# llama.cpp rounds the limits of YaRN's stretch to whole pairs, which gpt-oss's configuration
# excludes: here they are 0 and 6.9997 of 32 pairs.
ROPE = {**tiny.GPT_OSS_ROPE, "original_max_position_embeddings": 64, "factor": 8.0,
        "rope_theta": 40560.0}
MODELS = [
    tiny.Tiny("llama", "llama", "llama-bpe", WIDE),
    tiny.Tiny("qwen2", "qwen2", "qwen2", {k: v for k, v in WIDE.items() if k != "head_dim"}),
    tiny.Tiny("qwen3", "qwen3", "qwen2", {**WIDE, "tie_word_embeddings": True}),
    tiny.Tiny("qwen3moe", "qwen3_moe", "qwen2",
              {**WIDE, "num_experts": 16, "num_experts_per_tok": 8, "moe_intermediate_size": 256,
               "norm_topk_prob": True}),
    tiny.Tiny("gemma3", "gemma3_text", "gemma3",
              {**tiny.GEMMA, **WIDE, "num_hidden_layers": 6, "query_pre_attn_scalar": 64}),
    tiny.Tiny("gpt-oss", "gpt_oss", "gpt-4o",
              {**tiny.GPT_OSS, **WIDE, "intermediate_size": 256,
               "rope_parameters": ROPE}),
]
MIXED = ("attn_v.weight", "ffn_down.weight", "ffn_down_exps.weight", "output.weight")  # Q4_K_M


def type_of(name, shape, kind):
    """The type of a tensor in a file of a kind; vectors and routers stay floats."""
    if len(shape) < 2 or not name.endswith(".weight") or "ffn_gate_inp" in name:
        return gguf.GGMLQuantizationType.F32
    if kind == "Q4_K_M":
        kind = "Q6_K" if name.endswith(MIXED) else "Q4_K"
    return gguf.GGMLQuantizationType[kind]


class Quantiser:
    """llama.cpp's own quantisation, of its library of tensors."""

    def __init__(self):
        self.library = ctypes.CDLL(os.path.join(programs.PEERS, "llama/bin/libggml-base.so"))
        self.chunk = self.library.ggml_quantize_chunk
        self.chunk.restype = ctypes.c_size_t
        self.chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64,
                               ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]

    def pack(self, values, kind):
        values = np.ascontiguousarray(values, dtype=np.float32)
        columns = values.shape[-1]
        block, size = gguf.GGML_QUANT_SIZES[kind]
        packed = np.zeros((*values.shape[:-1], columns // block * size), dtype=np.uint8)
        wrote = self.chunk(int(kind), values.ctypes.data, packed.ctypes.data, 0,
                           values.size // columns, columns, None)
        assert wrote == packed.nbytes
        return packed


def copy_head(reader, writer):
    for name, value in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        kind = value.types[0]
        item = value.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, value.contents(), kind, item)


def write_file(reader, path, tensors):
    """A file with the head of another one, and (name, data, type) of each tensor."""
    writer = gguf.GGUFWriter(path, reader.get_field("general.architecture").contents())
    copy_head(reader, writer)
    for name, data, kind in tensors:
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def requantise(quantiser, source, path, opt_floats, kind):
    """A file of packed weights, and one of the same weights as floats."""
    reader = gguf.GGUFReader(source)
    floats = gguf.GGMLQuantizationType.F32
    packed, widened = [], []
    for tensor in reader.tensors:
        values, to = np.array(tensor.data), type_of(tensor.name, tensor.data.shape, kind)
        data = values if to == floats else quantiser.pack(values, to)
        packed.append((tensor.name, data, to))
        if opt_floats and to != floats:
            values = gguf.quants.dequantize(data, to)
        widened.append((tensor.name, values, floats))
    write_file(reader, path, packed)
    if opt_floats:
        write_file(reader, opt_floats, widened)


def error_of(rows, truth):
    return float(np.median(np.sqrt(((rows - truth) ** 2).mean(axis=1))) / truth.std(axis=1).mean())


def errors(program, packed, floats, folder):
    """Errors of speclab and of llama.cpp over the longest text, and differing greedy tokens."""
    text = max(compare.sampled(program, packed, folder, SAMPLED), key=lambda one: len(one.tokens))
    truth = text.pick(programs.llama_rows(floats, [text.tokens])[0])
    other = text.pick(programs.llama_rows(packed, [text.tokens])[0])
    theirs = error_of(other, truth)
    spread = truth.std(axis=1).mean()
    clear = differ = 0
    for one in compare.greedy(program, packed, folder, GREEDY):
        rows = one.pick(programs.llama_rows(packed, [one.tokens])[0])
        best = np.sort(rows, axis=1)
        certain = best[:, -1] - best[:, -2] > CLEAR * theirs * spread
        clear += int(certain.sum())
        differ += int((certain & (rows.argmax(axis=1) != one.chosen)).sum())
    return error_of(text.ours, truth), theirs, differ, clear


def check(program, quantiser, source, one, kind, folder):
    """Whether the file holds, and its error over llama.cpp's."""
    packed, floats = (os.path.join(folder, name) for name in ("packed.gguf", "floats.gguf"))
    requantise(quantiser, source, packed, floats, kind)
    try:
        ours, theirs, differ, clear = errors(program, packed, floats, folder)
    except programs.Refused as error:
        print(f"quantised: {one.name} {kind}: FAIL: {error}"[:400], flush=True)
        return False, 0.0
    most = CHANGED if "num_experts_per_tok" in one.settings else 0
    holds = ours <= MOST_ROUNDED.get(kind, MOST) * theirs and differ <= most
    print(f"quantised: {one.name} {kind}: {'ok' if holds else 'FAIL'}: error {ours:.4f} of the "
          f"spread, {ours / theirs:.2f} of llama.cpp's; {differ} of {clear} clear greedy tokens "
          "differ", flush=True)
    return holds, ours / theirs


def main(program, words):
    quantiser, results = Quantiser(), []
    for one in MODELS:
        kinds = [k for k in TYPES if all(w == one.name or w == k for w in words)]
        kinds = kinds or [k for k in TYPES if one.name in words]
        if not kinds:
            continue
        with tempfile.TemporaryDirectory() as folder:
            tiny.make(one, folder)
            source = os.path.join(folder, "floats_of_folder.gguf")
            programs.convert(folder, source, one.vocabulary)
            for kind in kinds:
                results.append(check(program, quantiser, source, one, kind, folder))
    good = sum(holds for holds, _ in results)
    worst = max((ratio for holds, ratio in results if holds), default=0.0)
    print(f"quantised: {good} of {len(results)} files have the error of llama.cpp, times "
          f"{worst:.2f} at most")
    return 0 if good == len(results) and results else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
