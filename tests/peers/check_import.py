#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that `speclab import` writes: tensors and values beside those of llama.cpp's conversion.

    check_import.py SPECLAB [WORD...]      the models whose names have these words
Folders are those that transformers writes, in F32 and BF16, in one file and in shards; experts of
gpt-oss also in MXFP4, and the text model of a folder for text and images."""
import json
import os
import shutil
import sys
import tempfile

import numpy as np

import programs
import tiny

NORMAL = 1  # GGUF's type of a token that merges make

# Values that speclab leaves to the reader's defaults, or that do not change the computation.
OURS_ALONE = {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.bos_token_id"}
THEIRS_ALONE = ("general.", "tokenizer.ggml.padding_token_id", "tokenizer.ggml.add_sep_token",
                "tokenizer.ggml.add_eos_token", "tokenizer.ggml.pre",
                "tokenizer.ggml.unknown_token_id")
# Where heads divide the width; where they are those of YaRN's authors.
DERIVED = (".attention.key_length", ".attention.value_length", ".rope.scaling.yarn_beta_fast",
           ".rope.scaling.yarn_beta_slow")


# ---- folders -------------------------------------------------------------------------------------

def retype(folder, how):
    """Rewrites the weights: as bfloat16, or in shards of some tensors each."""
    import torch
    from safetensors.torch import load_file, save_file
    path = os.path.join(folder, "model.safetensors")
    tensors = load_file(path)
    if "bf16" in how:
        tensors = {name: tensor.to(torch.bfloat16) for name, tensor in tensors.items()}
    if "mxfp4" in how:
        tensors = pack_experts(tensors, folder)
    if "images" in how:
        tensors = with_images(tensors, folder)
    if "shards" not in how:
        save_file(tensors, path, metadata={"format": "pt"})
        return
    os.remove(path)
    names, index = sorted(tensors), {}
    for i, begin in enumerate(range(0, len(names), 7)):
        file = f"model-{i + 1:05d}.safetensors"
        save_file({name: tensors[name] for name in names[begin:begin + 7]},
                  os.path.join(folder, file), metadata={"format": "pt"})
        index.update({name: file for name in names[begin:begin + 7]})
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {}, "weight_map": index}, file)


def list_added_tokens(folder):
    """As transformers lists them, with a chat template; llama.cpp looks there for their types."""
    with open(os.path.join(folder, "tokenizer.json")) as file:
        added = json.load(file)["added_tokens"]
    decoder = {str(token["id"]): {key: token[key] for key in token if key != "id"}
               for token in added}
    change_config(folder, lambda config: {**config, "added_tokens_decoder": decoder,
                                          "chat_template": "{{ bos_token }}é{{ messages }}"},
                  "tokenizer_config.json")


def change_config(folder, change, name="config.json"):
    path = os.path.join(folder, name)
    with open(path) as file:
        config = json.load(file)
    config = change(config)
    with open(path, "w") as file:
        json.dump(config, file, indent=1)


def pack_experts(tensors, folder):
    """Random blocks and scales in place of the experts' matrices, whose rows they have."""
    import torch
    chance = torch.Generator().manual_seed(3)
    packed = {}
    for name, tensor in tensors.items():
        if not name.endswith("_proj") or "experts" not in name:
            packed[name] = tensor
            continue
        experts, cols, rows = tensor.shape
        shape = (experts, rows, cols // 32, 16)
        packed[name + "_blocks"] = torch.randint(0, 256, shape, generator=chance,
                                                 dtype=torch.uint8)
        packed[name + "_scales"] = torch.randint(118, 126, shape[:3], generator=chance,
                                                 dtype=torch.uint8)
    change_config(folder, lambda config: {**config, "quantization_config": {
        "quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}})
    return packed


def with_images(tensors, folder):
    """As in a Gemma3ForConditionalGeneration of older and of newer versions."""
    import torch
    change_config(folder, lambda config: {
        "architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
        "text_config": config, "vision_config": {"hidden_size": 8},
        "eos_token_id": [config["eos_token_id"], 4], "bos_token_id": config["bos_token_id"]})
    named = {"language_model." + name: tensor for name, tensor in tensors.items()}
    named["vision_tower.vision_model.embeddings.position_embedding.weight"] = torch.zeros(4, 8)
    named["multi_modal_projector.mm_input_projection_weight"] = torch.zeros(8, 4)
    return named


# ---- comparison ----------------------------------------------------------------------------------

def value_of(tensor):
    from gguf import dequantize
    return dequantize(tensor.data, tensor.tensor_type).reshape([int(n) for n in tensor.shape[::-1]])


def close(a, b, name):
    """llama.cpp computes the factors of Llama 3 in float."""
    return np.allclose(a, b, rtol=1e-6, atol=0) if name == "rope_freqs.weight" else (a == b).all()


def different_tensors(ours, theirs):
    lines = [f"{name} is in one file" for name in sorted(set(ours) ^ set(theirs))]
    for name in sorted(set(ours) & set(theirs)):
        a, b = ours[name], theirs[name]
        if list(a.shape) != list(b.shape):
            lines.append(f"{name} has the shape {a.shape.tolist()}, not {b.shape.tolist()}")
        elif not close(value_of(a)[:len(value_of(b))], value_of(b), name):
            lines.append(f"{name} has other values")
    return lines


def same(a, b, key):
    if key == "tokenizer.ggml.token_type":  # control, where unknown tokens are special
        a, b = ([3 if kind == 2 else kind for kind in kinds] for kinds in (a, b))
    if isinstance(a, float) or isinstance(b, float):
        return abs(float(a) - float(b)) <= 1e-6 * abs(float(b))
    return a == b


def first_difference(a, b):
    if not isinstance(a, list) or not isinstance(b, list) or len(a) != len(b):
        return f"{str(a)[:60]}, not {str(b)[:60]}"
    at = next(i for i, (x, y) in enumerate(zip(a, b)) if x != y)
    return f"{a[at]!r} at {at}, not {b[at]!r}"


def different_values(ours, theirs):
    lines = []
    for key in sorted(set(ours) | set(theirs)):
        if key.startswith(("GGUF.", "general.")) and key != "general.architecture":
            continue
        if key not in ours:
            if not key.startswith(THEIRS_ALONE) and not key.endswith(DERIVED):
                lines.append(f"{key} is missing: {str(theirs[key])[:60]}")
        elif key in theirs and key == "tokenizer.ggml.scores":
            order = [np.argsort(-np.array(side[key]), kind="stable") for side in (ours, theirs)]
            types = ours["tokenizer.ggml.token_type"]  # scores of others are not read
            merged = [i for i, score in enumerate(ours[key]) if score > -1e8 and types[i] == NORMAL]
            if [i for i in order[0] if i in merged] != [i for i in order[1] if i in merged]:
                lines.append(f"{key} give another order")
        elif key.endswith(".feed_forward_length") and f"{key[:-20]}.expert_count" in ours:
            pass  # no layer has a network of this width
        elif key in theirs and not same(ours[key], theirs[key], key):
            lines.append(f"{key} is {first_difference(ours[key], theirs[key])}")
        elif key not in theirs and key not in OURS_ALONE and not key.endswith(DEFAULTS):
            lines.append(f"{key} is in speclab's file alone: {str(ours[key])[:60]}")
    return lines


# Keys that llama.cpp derives where its conversion does not write them.
DEFAULTS = (".vocab_size", ".rope.dimension_count", "tokenizer.ggml.unknown_token_id",
            "tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_space_prefix")


def head(path):
    from gguf import GGUFReader
    reader = GGUFReader(path)
    values = {key: found.contents() for key, found in reader.fields.items()}
    return values, {tensor.name: tensor for tensor in reader.tensors}


def check(program, one, how, folder):
    """Lines about the differences of the two files."""
    tiny.make(one, folder)
    retype(folder, how)
    list_added_tokens(folder)
    ours, theirs = os.path.join(folder, "ours.gguf"), os.path.join(folder, "theirs.gguf")
    try:
        programs.run([program, "import", folder, "-o", ours])
        programs.convert(folder, theirs, one.vocabulary, "bf16" if "bf16" in how else "f32")
    except (programs.Refused, LookupError, OSError, ValueError) as error:
        return [str(error)]
    (our_values, our_tensors), (their_values, their_tensors) = head(ours), head(theirs)
    return (different_tensors(our_tensors, their_tensors) +
            different_values(our_values, their_values))


def cases():
    for i, one in enumerate(tiny.MODELS):
        yield one, ("f32",) if i % 2 == 0 else ("bf16", "shards")
        if one.type == "gpt_oss":
            yield one, ("bf16", "mxfp4")
        if one.type == "gemma3_text":
            yield one, ("bf16", "images")


def main(program, words):
    chosen = [(one, how) for one, how in cases()
              if all(word in f"{one.name}, {', '.join(how)}" for word in words)]
    good = 0
    for one, how in chosen:
        folder = tempfile.mkdtemp()
        lines = check(program, one, how, folder)
        shutil.rmtree(folder)
        name = f"{one.name}, {', '.join(how)}"
        print(f"import: {name}: {'ok' if not lines else 'FAIL: ' + lines[0]}"[:300], flush=True)
        for line in lines[1:12]:
            print(f"import: {name}:       {line}"[:300], flush=True)
        good += not lines
    print(f"import: {good} of {len(chosen)} files have the tensors and values of llama.cpp's")
    return 0 if good == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
