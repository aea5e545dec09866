# SPDX-License-Identifier: GPL-3.0-or-later
"""Small vocabularies of each kind that checkpoints have, trained on generated texts."""
import json
import os

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers import processors, trainers

from texts import Writer

WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s"
         r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
WORDS_AND_MARKS = (WORDS % "").replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(
    r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
CASED = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{ENDING}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"
         rf"{ENDING}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
# Of byte-level BPE: expression, whether whole words skip the merges, NFC, begin and end of text.
BYTE_LEVEL = {
    "llama-bpe": (WORDS % "{1,3}", True, False, "<|begin_of_text|>", "<|end_of_text|>"),
    "qwen2": (WORDS % "", False, True, None, "<|endoftext|>"),
    "qwen35": (WORDS_AND_MARKS, False, True, None, "<|endoftext|>"),
    "gpt-4o": (CASED, True, False, "<|startoftext|>", "<|return|>"),
}
KINDS = [*BYTE_LEVEL, "spm", "gemma3"]


def training():
    return [Writer(seed).text(400) for seed in range(100, 110)]


def byte_level(kind, size):
    expression, skips, composes, begin, end = BYTE_LEVEL[kind]
    tokenizer = Tokenizer(models.BPE(ignore_merges=skips))
    if composes:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(expression), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    special = [word for word in (begin, end, "<|pad|>") if word]
    tokenizer.train_from_iterator(training(), trainers.BpeTrainer(
        vocab_size=size - len(special), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in special])
    if begin:
        tokenizer.post_processor = processors.Sequence([
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single=f"{begin} $A", pair=f"{begin} $A {begin} $B",
                special_tokens=[(begin, tokenizer.token_to_id(begin))])])
    return tokenizer, begin, end


def sentence_pieces(kind, size):
    """BPE with byte fallback, whose merges are those of scored pieces. Runs of blanks are merged
    before all others, and are tokens of the user, too, as in Gemma's vocabulary."""
    is_gemma = kind == "gemma3"
    begin, end = ("<bos>", "<eos>") if is_gemma else ("<s>", "</s>")
    special = ["<pad>", end, begin, "<unk>"] if is_gemma else ["<unk>", begin, end]
    runs, marks = (["\n\n", "▁▁"], ["<table>", "</b>"]) if is_gemma else ([], [])
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.pre_tokenizer = pre_tokenizers.Split("▁", behavior="merged_with_next")
    before = special + [f"<0x{byte:02X}>" for byte in range(256)]
    trained.train_from_iterator(training(), trainers.BpeTrainer(
        vocab_size=size - len(before + runs + marks), show_progress=False,
        limit_alphabet=150))
    model = json.loads(trained.to_str())["model"]
    made = ["".join(pair) for pair in model["merges"]]
    pieces = runs + [word for word in made if not any(run in word for run in before + runs)]
    letters = [word for word in model["vocab"] if word not in made + before]
    order = {word: i for i, word in enumerate(before + marks + pieces + letters)}
    merges = [(whole[:at], whole[at:]) for whole in pieces for at in range(1, len(whole))
              if whole[:at] in order and whole[at:] in order]
    tokenizer = Tokenizer(models.BPE(vocab=order, merges=merges, unk_token="<unk>", fuse_unk=True,
                                     byte_fallback=True))
    if is_gemma:
        tokenizer.normalizer = normalizers.Replace(" ", "▁")
        tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", behavior="merged_with_previous")
    else:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"),
                                                     normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                           decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(w, special=True, normalized=False) for w in special])
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in runs + marks])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A", pair=f"{begin} $A {begin} $B",
        special_tokens=[(begin, tokenizer.token_to_id(begin))])
    return tokenizer, begin, end


MADE = {}  # by kind and size, as models share them


def make(kind, size):
    """A tokenizer, and its tokens for the begin and the end of a text."""
    if (kind, size) not in MADE:
        MADE[kind, size] = (byte_level if kind in BYTE_LEVEL else sentence_pieces)(kind, size)
    return MADE[kind, size]


def save(kind, size, folder):
    """tokenizer.json and tokenizer_config.json; the numbers of the begin (or None) and the end."""
    tokenizer, begin, end = make(kind, size)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    words = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": end,
             "add_bos_token": begin is not None and kind != "gpt-4o", "add_eos_token": False,
             "clean_up_tokenization_spaces": False}
    if begin:
        words["bos_token"] = begin
    if kind in ("spm", "gemma3"):
        words["unk_token"] = "<unk>"
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump(words, file, indent=1)
    return begin and tokenizer.token_to_id(begin), tokenizer.token_to_id(end)
