# SPDX-License-Identifier: GPL-3.0-or-later
"""What the programs compute: rows and tokens of speclab and llama.cpp, files that both write."""
import contextlib
import io
import logging
import os
import struct
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build/peers")
PEERS = os.path.abspath(os.environ.get("PEERS") or BUILD)
SOURCE = os.path.join(PEERS, "llama_cpp_python-0.3.36/vendor/llama.cpp")
# Before the packages that `gguf` is imported by: the sources have a newer one.
sys.path[:0] = [SOURCE, os.path.join(SOURCE, "gguf-py")]


class Refused(Exception):
    """A program's line about an input that it does not take."""


def run(words, **how):
    ran = subprocess.run(words, capture_output=True, **how)
    if ran.returncode != 0:
        lines = ran.stderr.decode(errors="replace").strip().split("\n")
        name = os.path.basename(words[0])
        raise Refused(lines[-1] or f"{name} {words[1]} ended with status {ran.returncode}")
    return ran.stdout


# ---- speclab -------------------------------------------------------------------------------------

class Text:
    """A text of a file of rows: its tokens, and rows (places, V) after the tokens `at`."""

    def __init__(self, tokens, at, rows):
        self.tokens, self.at, self.rows = tokens, at, rows


def read_rows(path):
    """The texts of a file of rows with one side, docs/formats.md#rows."""
    with open(path, "rb") as file:
        data = file.read()
    vocab, sides, width = struct.unpack_from("<III", data, 12)
    places, n_tokens, n_texts = struct.unpack_from("<QQQ", data, 32)
    tables, = struct.unpack_from("<Q", data, 72)
    assert data[:8] == b"SPECROWS" and sides == 1
    starts = np.frombuffer(data, "<u8", places + 1, tables)
    before = np.frombuffer(data, "<u8", places, tables + 8 * (places + 1))
    begins = np.frombuffer(data, "<u8", n_texts, tables + 8 * (2 * places + 1))
    tokens = np.frombuffer(data, "<i4", n_tokens, tables + 8 * (2 * places + 1 + n_texts))
    size, number = (2, "<u2") if vocab <= 65536 else (4, "<u4")
    rows = np.zeros((places, vocab))
    for i, start in enumerate(starts[:-1].tolist()):
        count, = struct.unpack_from("<I", data, start)
        at, index = start + 8, slice(None)
        if count < vocab:
            index = np.frombuffer(data, number, count, at)
            at += (size * count + 7) // 8 * 8
        rows[i, index] = np.frombuffer(data, "<f8" if width == 8 else "<f4", count, at)
    texts, begins = [], begins.tolist()
    for begin, end in zip(begins, [*begins[1:], n_tokens]):
        mine = (before >= begin) & (before < end)
        texts.append(Text(tokens[begin:end].tolist(), before[mine].astype(int) - begin, rows[mine]))
    return texts


def speclab_rows(program, spec, path, *words):
    run([program, "rows", "--target", spec, "-o", path, "--force", *words])
    return read_rows(path)


# ---- llama.cpp -----------------------------------------------------------------------------------


def shell(name="llama_shell"):
    """The program of a file NAME.cpp of this folder, compiled where it is older than that."""
    source, made = os.path.join(HERE, name + ".cpp"), os.path.join(BUILD, name)
    libraries = os.path.join(PEERS, "llama/bin")
    newest = max(os.path.getmtime(path) for path in (source, f"{libraries}/libllama.so"))
    if not os.path.exists(made) or os.path.getmtime(made) < newest:
        os.makedirs(BUILD, exist_ok=True)
        include = [f"-I{SOURCE}/{folder}" for folder in ("include", "ggml/include", "common")]
        partial = f"{made}.{os.getpid()}"
        run(["c++", "-std=c++17", "-O1", *include, source, f"-L{libraries}", "-lllama-common",
             "-lllama", "-lggml", "-lggml-base", f"-Wl,-rpath,{libraries}", "-o", partial])
        os.replace(partial, made)
    return made


def llama_rows(model, lists, chunk=32):
    """Logits (tokens, V) of each list."""
    said = run([shell(), "rows", model, str(chunk)],
               input="".join(" ".join(map(str, tokens)) + "\n" for tokens in lists).encode())
    every = np.frombuffer(said, "<f4").reshape(sum(map(len, lists)), -1)
    return np.split(every, np.cumsum([len(tokens) for tokens in lists])[:-1])


def llama_tokens(model, texts):
    given = b"".join(b"%d\n%s" % (len(data), data) for data in (t.encode() for t in texts))
    said = run([shell(), "tokens", model], input=given).decode().split("\n")[:-1]
    return [[int(word) for word in line.split()] for line in said]


class Pieces:
    """In place of sentencepiece's class: pieces of the tokenizer.json beside tokenizer.model."""

    def LoadFromFile(self, path):
        from tokenizers import Tokenizer
        tokenizer = Tokenizer.from_file(os.path.join(os.path.dirname(path), "tokenizer.json"))
        self.pieces = {i: word for word, i in tokenizer.get_vocab().items()}
        self.added = tokenizer.get_added_tokens_decoder()

    def vocab_size(self):
        return len(self.pieces)

    def IdToPiece(self, i):
        return self.pieces[i]

    def GetScore(self, i):
        return -float(i)  # merged pieces are numbered in the order of their merges

    def IsUnknown(self, i):
        return self.pieces[i] == "<unk>"

    def IsControl(self, i):
        return i in self.added and self.added[i].special and not self.IsUnknown(i)

    def IsUnused(self, i):
        return False

    def IsByte(self, i):
        return self.pieces[i].startswith("<0x")


def convert(folder, to, pre, kind="f32"):
    """By llama.cpp's own conversion, told the pre-tokenizer that it knows by a hash of tokens."""
    stand_in = ModuleType("sentencepiece")
    stand_in.SentencePieceProcessor = Pieces
    sys.modules["sentencepiece"] = stand_in
    import conversion
    import gguf
    import torch
    logging.disable(logging.WARNING)
    folder, model_file = Path(folder), Path(folder) / "tokenizer.model"
    kinds = {"f32": gguf.LlamaFileType.ALL_F32, "bf16": gguf.LlamaFileType.MOSTLY_BF16}
    if pre in ("spm", "gemma3"):
        model_file.touch()
    try:
        with torch.inference_mode():
            hparams = conversion.ModelBase.load_hparams(folder, False)
            name = conversion.get_model_architecture(hparams, conversion.ModelType.TEXT)
            of = conversion.get_model_class(name)
            of.no_mtp = True  # transformers writes no draft blocks
            made = of(folder, kinds[kind], Path(to))
            made.get_vocab_base_pre = lambda tokenizer: pre
            with contextlib.redirect_stderr(io.StringIO()):
                made.write()
    finally:
        model_file.unlink(missing_ok=True)
        logging.disable(logging.NOTSET)


def field(path, key, default=None):
    """A value of a GGUF file's head."""
    from gguf import GGUFReader
    found = GGUFReader(path).get_field(key)
    return default if found is None else found.contents()


def beginning(path):
    """The token before each text of a GGUF file, or None."""
    pre = field(path, "tokenizer.ggml.pre", "")
    begins = field(path, "tokenizer.ggml.model") == "llama" or pre == "llama-bpe"
    begins = field(path, "tokenizer.ggml.add_bos_token", begins)
    return field(path, "tokenizer.ggml.bos_token_id") if begins else None
