#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""`speclab served --compare-with` on two real servers: `transformers serve` of small random models.

    check_serve.py SPECLAB
It has only OpenAI's interface. A server compared with another one of the same weights must not be
called wrong; one whose logits are divided by 1.5 must be."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

TEXT = "Once upon a time there was a little girl who lived in a village by the sea. " * 40
PROMPTS = ({"prompt": "Once upon a time"}, {"messages": [{"role": "user", "content": "a tale"}]})


def write_models(scratch):
    """Folders of a model, and of the same one with smaller logits."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    words.train_from_iterator([TEXT], trainers.BpeTrainer(
        vocab_size=320, special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="</s>")
    tokenizer.chat_template = "{% for m in messages %}[{{m['role']}}] {{m['content']}} {% endfor %}"
    folders = []
    for name, heat in (("right", 1.0), ("hot", 1.5)):
        torch.manual_seed(3)
        model = LlamaForCausalLM(LlamaConfig(
            vocab_size=320, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
            bos_token_id=0, eos_token_id=1))
        with torch.no_grad():
            model.lm_head.weight.mul_(20 / heat)
        model.generation_config.do_sample = True
        folders.append(os.path.join(scratch, name))
        model.save_pretrained(folders[-1])
        tokenizer.save_pretrained(folders[-1])
    return folders


def serve(folder):
    """A running server, and its address once it is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [os.path.join(os.path.dirname(sys.executable), "transformers"), "serve", "--device",
               "cpu", "--port", str(port), folder]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, "OMP_NUM_THREADS": "1"})
    url = f"http://localhost:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(url + "/v1/models", timeout=5).read()
            return process, url
        except (urllib.error.URLError, OSError):
            if process.poll() is not None:
                break
            time.sleep(0.5)
    process.kill()
    sys.exit("serve: FAIL transformers serve did not start")


def main(program):
    scratch = tempfile.mkdtemp(prefix="check-serve-")
    prompts = os.path.join(scratch, "prompts.jsonl")
    with open(prompts, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in PROMPTS)
    right, hot = write_models(scratch)
    servers = [serve(right), serve(right), serve(hot)]
    held = 0
    try:
        for other, accused in ((1, False), (2, True)):
            run = subprocess.run(
                [program, "served", "--text-from", servers[0][1], "--compare-with",
                 servers[other][1], "--prompts", prompts, "--texts", "400",
                 "--false-alarm-rate", "1e-4"], capture_output=True, text=True)
            good = run.returncode == 1 if accused else run.returncode in (0, 3)
            held += good
            print("ok  " if good else "FAIL", "other weights" if accused else "same weights",
                  run.returncode, run.stdout.partition(".")[0], run.stderr[:300], flush=True)
    finally:
        for process, _ in servers:
            process.kill()
    print(f"serve: {held} of 2 verdicts of transformers serve are right")
    return 0 if held == 2 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
