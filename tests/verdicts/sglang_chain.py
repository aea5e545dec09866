# SPDX-License-Identifier: GPL-3.0-or-later
"""SGLang's chain verification kernel, on the CPU by Triton's interpreter.

    python3 sglang_chain.py FOLDER token|block

FOLDER holds the unpacked wheel. chain_speculative_sampling_triton() and its kernel are run as
released, from their file alone; its caller's work, the coins and the layout of a chain, is done
here.
"""
import importlib.util
import os
import sys

import interpreted  # noqa: F401
import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tools/validate/adapters"))
import client  # noqa: E402

FILE = os.path.join(sys.argv[1], "sglang/kernels/ops/speculative/reject_sampling.py")
BLOCK = sys.argv[2] == "block"
spec = importlib.util.spec_from_file_location("reject_sampling", FILE)
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)


def verify(rounds):
    torch.manual_seed(rounds[0].seed ^ rounds[0].offset)
    n, size = len(rounds), len(rounds[0].target)
    predict = torch.zeros(n * size, dtype=torch.int32)
    index = torch.full((n, size), -1, dtype=torch.int32)
    count = torch.zeros(n, dtype=torch.int32)
    kernel.chain_speculative_sampling_triton(
        predict,
        index,
        count,
        torch.tensor([[0] + list(r.tokens) for r in rounds]),
        torch.arange(n * size).reshape(n, size),
        None,
        None,
        torch.rand(n, size),
        torch.rand(n),
        torch.tensor([r.target for r in rounds]),
        torch.tensor([r.draft[:-1] for r in rounds]),
        1.0,
        1.0,
        True,
        block_verification=BLOCK,
    )
    return [predict[row[: k + 1]].tolist() for row, k in zip(index.long(), count.tolist())]


if __name__ == "__main__":
    torch.set_num_threads(1)
    client.serve(verify, name=f"SGLang {sys.argv[2]}", chains=["iid"], max_vocab=4096)
