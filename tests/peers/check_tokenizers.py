#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens of generated texts: speclab beside tokenizers and llama.cpp, for each kind of vocabulary.

    check_tokenizers.py SPECLAB [KIND...]
speclab must have the tokens of the package tokenizers, on its own file and on llama.cpp's. Where
llama.cpp has others, the line counts its texts. GGUF files name no normalizer, so that neither
program composes characters (NFC), as qwen2's does: its texts are composed already."""
import os
import sys
import tempfile
import unicodedata

import programs
import texts
import tiny
import vocabularies

SPLIT = "\x1d\x1e\x1d"  # between texts of a file
TEXTS, WORDS, TOKENS = 400, 40, 4000
SMALL = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1,
         "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 8192,
         "vocab_size": TOKENS + 40}
KINDS = {
    "llama-bpe": tiny.Tiny("llama-bpe", "llama", "llama-bpe", SMALL),
    "qwen2": tiny.Tiny("qwen2", "qwen2", "qwen2", SMALL),
    "gpt-4o": tiny.Tiny("gpt-4o", "gpt_oss", "gpt-4o",
                        {**tiny.GPT_OSS, **SMALL, "rope_parameters": {
                            **tiny.GPT_OSS_ROPE, "original_max_position_embeddings": 512}}),
    "spm": tiny.Tiny("spm", "llama", "spm", SMALL),
    "gemma3": tiny.Tiny("gemma3", "gemma3_text", "gemma3", {**tiny.GEMMA, **SMALL}),
}
FEWEST = 0.35  # of the vocabulary's tokens that the texts must have, apart from single bytes


def given_texts(tokenizer):
    """Texts without control tokens, which `encode` would find in them."""
    special = [token.content for token in tokenizer.get_added_tokens_decoder().values()
               if token.special]
    written = texts.hard_texts()
    written += [texts.Writer(seed, latin=seed % 10).text(WORDS) for seed in range(TEXTS)]
    if tokenizer.normalizer is not None and "NFC" in str(tokenizer.normalizer):
        written = [unicodedata.normalize("NFC", text) for text in written]
    return [text for text in written if not any(word in text for word in special)]


def speclab_tokens(program, path, given, folder):
    """By the verb that writes rows along texts, of which it keeps the first alone."""
    file = os.path.join(folder, "texts.txt")
    with open(file, "w", newline="", encoding="utf-8") as to:
        to.write(SPLIT.join(given))
    found = programs.speclab_rows(program, f"gguf:{path}", os.path.join(folder, "x.rows"), "--text",
                                  file, "--split", SPLIT, "--every", "1000000", "--cutoff", "0.01")
    return [text.tokens for text in found]


def show(title, given, expected, found):
    """The number of texts with other tokens, and the first of them."""
    different = [i for i, tokens in enumerate(expected) if tokens != found[i]]
    if different:
        i = min(different, key=lambda at: len(given[at]))
        at = next((k for k, (a, b) in enumerate(zip(expected[i], found[i])) if a != b),
                  min(len(expected[i]), len(found[i])))
        print(f"tokenizers: {title}: {given[i]!r:.200}: token {at}: expected "
              f"{expected[i][at:at + 6]}, found {found[i][at:at + 6]}", flush=True)
    return len(different)


def used(tokenizer, expected):
    """The share of merged tokens that occur in the texts."""
    merged = {i for word, i in tokenizer.get_vocab().items()
              if len(word) > 1 and not word.startswith("<")}
    return len(merged & {token for tokens in expected for token in tokens}) / len(merged)


def check(program, kind, folder):
    tokenizer = vocabularies.make(kind, TOKENS)[0]
    given = given_texts(tokenizer)
    expected = [tokenizer.encode(text, add_special_tokens=False).ids for text in given]
    tiny.make(KINDS[kind], folder, tokens=TOKENS)
    good = 0
    for writer in ("speclab", "llama.cpp"):
        path = os.path.join(folder, writer + ".gguf")
        try:
            if writer == "speclab":
                programs.run([program, "import", folder, "-o", path])
            else:
                programs.convert(folder, path, kind)
            found = speclab_tokens(program, path, given, folder)
            peer = programs.llama_tokens(path, given)
        except programs.Refused as error:
            print(f"tokenizers: {kind}, {writer}'s file: FAIL: {error}"[:400], flush=True)
            continue
        bad = show(f"{kind}, {writer}'s file", given, expected, found)
        other = sum(a != b for a, b in zip(expected, peer))
        share = used(tokenizer, expected)
        holds = bad == 0 and len(found) == len(given) and share >= FEWEST
        good += holds
        print(f"tokenizers: {kind}, {writer}'s file: {'ok' if holds else 'FAIL'}: {bad} of "
              f"{len(given)} texts have other tokens, of {sum(map(len, expected))} (llama.cpp: "
              f"{other}); {share:.0%} of the vocabulary", flush=True)
    return good


def main(program, words):
    kinds = words or list(KINDS)
    good = 0
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            good += check(program, kind, folder)
    print(f"tokenizers: {good} of {2 * len(kinds)} files give the tokens of tokenizers")
    return 0 if good == 2 * len(kinds) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
