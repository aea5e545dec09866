#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quantised types: decoding against gguf, encoding and recipes against llama.cpp's libraries.

    check_types.py SPECLAB [CHECKPOINT]     CHECKPOINT: a model of llama2.c with trained weights
Runs in an environment with gguf beside llama.cpp's libraries: VENV/../llama/bin; PEERS=DIR names
another folder. Four parts: every readable type becomes the floats of gguf, bit by bit; every type
with blocks of 32 is written with gguf's bytes; blocks of 256 have at most the squared error of
ggml's quantisation; mixtures give every tensor the type that llama.cpp gives it, which reads the
file."""
import ctypes
import os
import subprocess
import sys
import tempfile

import gguf
import numpy as np

PEERS = os.environ.get("PEERS", os.path.dirname(sys.prefix))
TYPE = gguf.GGMLQuantizationType
READ = ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "MXFP4", "Q2_K", "Q3_K",
        "Q4_K", "Q5_K", "Q6_K", "IQ4_XS"]
REFUSED = ["Q8_1", "Q8_K", "IQ3_S", "IQ2_XXS", "IQ1_S", "TQ1_0", "TQ2_0", "NVFP4", "Q1_0"]
NARROW = ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"]
SEARCHED = ["Q4_K", "Q5_K", "Q6_K"]
RECIPES = {"q4_K_S": 14, "q4_K_M": 15, "q5_K_S": 16, "q5_K_M": 17}
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "IQ4_NL": [0],
          "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
          "IQ4_XS": [0]}
DIM, FFN, VOCAB = 256, 512, 64
rng = np.random.default_rng(42)


class Shape:
    def __init__(self, layers=1, dim=DIM, ffn=FFN, kv_heads=2, tied=False, arch="llama", heads=4):
        self.layers, self.dim, self.ffn, self.kv_heads = layers, dim, ffn, kv_heads
        self.tied, self.arch, self.heads = tied, arch, heads

    def tensors(self):
        """Names and shapes, rows first."""
        kv = self.dim // self.heads * self.kv_heads
        yield "token_embd.weight", (VOCAB, self.dim)
        yield "output_norm.weight", (self.dim,)
        if not self.tied:
            yield "output.weight", (VOCAB, self.dim)
        for i in range(self.layers):
            for name, rows, columns in [
                    ("attn_q", self.dim, self.dim), ("attn_k", kv, self.dim),
                    ("attn_v", kv, self.dim), ("attn_output", self.dim, self.dim),
                    ("ffn_gate", self.ffn, self.dim), ("ffn_up", self.ffn, self.dim),
                    ("ffn_down", self.dim, self.ffn)]:
                yield f"blk.{i}.{name}.weight", (rows, columns)
            yield f"blk.{i}.attn_norm.weight", (self.dim,)
            yield f"blk.{i}.ffn_norm.weight", (self.dim,)
            if self.arch == "qwen2":
                for name, n in [("attn_q", self.dim), ("attn_k", kv), ("attn_v", kv)]:
                    yield f"blk.{i}.{name}.bias", (n,)


def write_model(path, shape, data_of):
    """data_of(name, shape): an array of floats, or a type and its bytes, row after row."""
    writer = gguf.GGUFWriter(path, shape.arch)
    writer.add_context_length(64)
    writer.add_embedding_length(shape.dim)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCAB)
    writer.add_tokenizer_model("none")
    for name, size in shape.tensors():
        data = data_of(name, size) if len(size) > 1 else np.ones(size, np.float32)
        if isinstance(data, tuple):
            writer.add_tensor(name, data[1], raw_dtype=data[0])
        else:
            writer.add_tensor(name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def quantize(program, source, to, kind):
    return subprocess.run([program, "quantize", source, to, "--type", kind, "--force"],
                          capture_output=True, text=True, check=False)


def must_quantize(program, source, to, kind):
    ran = quantize(program, source, to, kind)
    if ran.returncode != 0:
        raise SystemExit(f"types: FAIL: quantize to {kind} ended with {ran.returncode}: "
                         f"{ran.stderr}")


def tensors_of(path):
    return {t.name: t for t in gguf.GGUFReader(path).tensors}


# ---- decoding


def random_halves(n):
    """F16 from the denormals to 511.75, of both signs, and zeros."""
    bits = rng.integers(0, 0x6000, n, dtype=np.uint16)
    return bits | (rng.integers(0, 2, n, dtype=np.uint16) << 15)


def random_blocks(kind, rows, columns):
    block, size = gguf.GGML_QUANT_SIZES[TYPE[kind]]
    if kind in ("F16", "BF16"):
        most = 0x7C00 if kind == "F16" else 0x7F80
        bits = rng.integers(0, most, (rows, columns), dtype=np.uint16)
        return (bits | (rng.integers(0, 2, bits.shape, dtype=np.uint16) << 15)).view(np.uint8)
    n = rows * columns // block
    data = rng.integers(0, 256, (n, size), dtype=np.uint8)
    for at in SCALES.get(kind, []):
        data[:, at:at + 2] = random_halves(n).view(np.uint8).reshape(n, 2)
    if kind == "MXFP4":
        data[:, 0] = rng.integers(0, 146, n)
    return data.reshape(rows, columns // block * size)


def real_blocks(kind, rows, columns):
    """Blocks that gguf quantises, where it can."""
    values = rng.normal(0, 0.02, (rows, columns)).astype(np.float32)
    try:
        return gguf.quants.quantize(values, TYPE[kind])
    except NotImplementedError:
        return random_blocks(kind, rows, columns)


def check_decoding(program, folder):
    good = 0
    for kind in READ:
        source, floats = (os.path.join(folder, f"{kind}{end}.gguf") for end in ("", "-f32"))
        shape = Shape(layers=2)
        write_model(source, shape, lambda name, size, kind=kind: (
            TYPE[kind], (real_blocks if "blk.1" in name else random_blocks)(kind, *size)))
        must_quantize(program, source, floats, "f32")
        before, after = tensors_of(source), tensors_of(floats)
        weights = differ = 0
        for name, tensor in before.items():
            wanted = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
            found = np.array(after[name].data)
            weights += found.size
            differ += int((wanted.reshape(-1).view(np.uint32)
                           != found.reshape(-1).view(np.uint32)).sum())
        good += differ == 0
        print(f"types: {kind}: {'ok' if differ == 0 else 'FAIL'}: {differ} of {weights} floats "
              "differ from gguf's", flush=True)
    return good == len(READ)


def check_refusals(program, folder):
    good = True
    for kind in REFUSED:
        path = os.path.join(folder, "refused.gguf")
        write_model(path, Shape(), lambda name, size, kind=kind: (
            TYPE[kind], random_blocks(kind, *size)))
        ran = quantize(program, path, os.path.join(folder, "out.gguf"), "f32")
        holds = ran.returncode == 2 and f"is of type {kind};" in ran.stderr
        good = good and holds
        print(f"types: {kind}: {'ok' if holds else 'FAIL'}: {ran.stderr.strip()[-200:]}")
    for kind in [k for k in READ if k in SCALES or k == "MXFP4"]:
        def spoiled(name, size, kind=kind):
            data = random_blocks(kind, *size)
            if name == "blk.0.ffn_up.weight":
                at = SCALES.get(kind, [0])[-1]
                if kind == "MXFP4":
                    data[7, 0] = 255
                else:
                    data[7, at:at + 2] = np.array([0x7E00], np.uint16).view(np.uint8)
            return TYPE[kind], data
        path = os.path.join(folder, "spoiled.gguf")
        write_model(path, Shape(), spoiled)
        ran = quantize(program, path, os.path.join(folder, "out.gguf"), "f32")
        holds = ran.returncode == 2 and "row 7 of blk.0.ffn_up.weight has a" in ran.stderr
        good = good and holds
        if not holds:
            print(f"types: {kind}: FAIL: a NaN scale: {ran.returncode} {ran.stderr}")
    return good


# ---- encoding


class Ggml:
    def __init__(self):
        # libllama loads the others from its own folder.
        self.base = ctypes.CDLL(os.path.join(PEERS, "llama/bin/libggml-base.so"))
        self.llama = ctypes.CDLL(os.path.join(PEERS, "llama/bin/libllama.so"))
        self.base.ggml_quantize_chunk.restype = ctypes.c_size_t
        self.base.ggml_quantize_chunk.argtypes = [
            ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
            ctypes.c_int64, ctypes.c_void_p]
        self.silence = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(
            lambda level, text, data: None)
        self.llama.llama_log_set(self.silence, None)

    def quantized(self, values, kind):
        block, size = gguf.GGML_QUANT_SIZES[TYPE[kind]]
        data = np.zeros(values.size // block * size, np.uint8)
        wrote = self.base.ggml_quantize_chunk(int(TYPE[kind]), values.ctypes.data, data.ctypes.data,
                                              0, values.size // values.shape[-1],
                                              values.shape[-1], None)
        assert wrote == data.nbytes
        return gguf.quants.dequantize(data, TYPE[kind]).reshape(values.shape)


class Parameters(ctypes.Structure):
    """llama_model_quantize_params."""
    _fields_ = [("threads", ctypes.c_int32), ("file_type", ctypes.c_int),
                ("output_type", ctypes.c_int), ("embedding_type", ctypes.c_int),
                ("allow_requantize", ctypes.c_bool), ("quantize_output", ctypes.c_bool),
                ("only_copy", ctypes.c_bool), ("pure", ctypes.c_bool),
                ("keep_split", ctypes.c_bool), ("dry_run", ctypes.c_bool),
                ("imatrix", ctypes.c_void_p), ("overrides", ctypes.c_void_p),
                ("tensor_overrides", ctypes.c_void_p), ("prune", ctypes.c_void_p),
                ("buffer", ctypes.c_size_t)]


def llama_quantize(ggml, source, to, file_type=None):
    """llama.cpp's own file; without a type, a copy, for which it checks every block."""
    ggml.llama.llama_model_quantize_default_params.restype = Parameters
    parameters = ggml.llama.llama_model_quantize_default_params()
    parameters.threads = 2
    parameters.only_copy = file_type is None
    if file_type is not None:
        parameters.file_type = file_type
    return ggml.llama.llama_model_quantize(source.encode(), to.encode(),
                                           ctypes.byref(parameters)) == 0


DISTRIBUTIONS = {
    "gaussian": lambda size: rng.normal(0, 0.02, size),
    "uniform": lambda size: rng.uniform(-0.02, 0.02, size),
    "heavy tails": lambda size: rng.normal(0, 0.2, size) ** 3,
    "offset": lambda size: rng.normal(0.01, 0.02, size),
}


def trained_weights(path):
    """Rows of 256 of a checkpoint of llama2.c."""
    floats = np.fromfile(path, dtype=np.float32, offset=28)
    return floats[:floats.size // DIM * DIM].reshape(-1, DIM)


def check_encoding(program, ggml, folder, checkpoint):
    good = True
    sources = dict(DISTRIBUTIONS)
    if checkpoint:
        rows = trained_weights(checkpoint)
        sources["trained"] = lambda size: rows[
            np.arange(np.prod(size) // DIM) % len(rows)].reshape(size)
    for which, drawn in sources.items():
        source, to = (os.path.join(folder, n) for n in ("floats.gguf", "packed.gguf"))
        write_model(source, Shape(), lambda name, size, d=drawn: d(size).astype(np.float32))
        before = {n: np.array(t.data) for n, t in tensors_of(source).items() if t.data.ndim > 1}
        for kind in NARROW + SEARCHED:
            must_quantize(program, source, to, kind.lower())
            after = tensors_of(to)
            assert all(after[n].tensor_type == TYPE[kind] for n in before)
            if kind in NARROW:
                same = all(np.array_equal(np.array(after[n].data),
                                          gguf.quants.quantize(before[n], TYPE[kind]))
                           for n in before)
                good = good and same
                print(f"types: {kind}, {which}: {'ok' if same else 'FAIL'}: bytes of gguf")
                continue
            ours = sum(((gguf.quants.dequantize(after[n].data, TYPE[kind]).astype(np.float64)
                         - before[n]) ** 2).sum() for n in before)
            theirs = sum(((ggml.quantized(before[n], kind).astype(np.float64)
                           - before[n]) ** 2).sum() for n in before)
            holds = ours <= theirs
            good = good and holds
            print(f"types: {kind}, {which}: {'ok' if holds else 'FAIL'}: squared error "
                  f"{ours / theirs:.3f} of ggml's", flush=True)
    return good


# ---- recipes


SHAPES = {
    **{f"llama, {n} layers": Shape(layers=n, ffn=256) for n in (1, 3, 9, 22)},
    "llama, tied": Shape(layers=5, ffn=256, tied=True),
    "llama, rows of 288 and 320": Shape(layers=9, dim=288, ffn=320),
    "llama, rows of 288 and 336, tied": Shape(layers=3, dim=288, ffn=336, tied=True),
    "llama, 80 layers": Shape(layers=80, ffn=256),
    "llama, 80 layers without groups": Shape(layers=80, ffn=256, kv_heads=4),
    "qwen2, 28 layers, tied": Shape(layers=28, ffn=256, tied=True, arch="qwen2"),
    "qwen2, 80 layers": Shape(layers=80, ffn=256, arch="qwen2", kv_heads=4),
}


def kinds_of(path):
    return ({name: t.tensor_type.name for name, t in tensors_of(path).items()},
            gguf.GGUFReader(path).fields["general.file_type"].contents())


def check_recipes(program, ggml, folder):
    good = True
    for what, shape in SHAPES.items():
        source, ours, theirs = (os.path.join(folder, n)
                                for n in ("floats.gguf", "ours.gguf", "theirs.gguf"))
        write_model(source, shape, lambda name, size: rng.normal(0, 0.02, size).astype(np.float32))
        for recipe, file_type in RECIPES.items():
            if shape.layers == 80 and recipe != "q4_K_M":
                continue  # its exception is for Q4_K alone
            must_quantize(program, source, ours, recipe)
            read = llama_quantize(ggml, source, theirs, file_type) and llama_quantize(
                ggml, ours, os.path.join(folder, "copy.gguf"))
            wanted, found = kinds_of(theirs), kinds_of(ours)
            holds = read and wanted == found
            good = good and holds
            print(f"types: {recipe}, {what}: {'ok' if holds else 'FAIL'}: {len(found[0])} "
                  f"tensors, file type {found[1]}, {'read' if read else 'not read'} by llama.cpp",
                  flush=True)
            if wanted != found:
                for name, kind in wanted[0].items():
                    if found[0].get(name) != kind:
                        print(f"types:   {name}: {found[0].get(name)}, not {kind}")
    return good


def main(program, checkpoint=None):
    ggml = Ggml()
    with tempfile.TemporaryDirectory() as folder:
        parts = {"decoding": check_decoding(program, folder),
                 "refusals": check_refusals(program, folder),
                 "encoding": check_encoding(program, ggml, folder, checkpoint),
                 "recipes": check_recipes(program, ggml, folder)}
    bad = [name for name, holds in parts.items() if not holds]
    print("types: " + ("FAIL: " + ", ".join(bad) if bad else
                       f"{len(READ)} types decoded, {len(NARROW + SEARCHED)} written, "
                       f"{len(RECIPES)} mixtures: all hold"))
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:3]))
