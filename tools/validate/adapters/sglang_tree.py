#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""SGLang's tree verification under `speclab validate`.

    speclab validate --exec 'python3 sglang_tree.py'

Passes the trees of a batch to tree_speculative_sampling_target_only() of sgl-project/sglang,
sgl-kernel/python/sgl_kernel/speculative.py (read at 6bfad8f1), as verify() in
srt/speculative/eagle_info.py does (0007d13b). Node 0 is the root; a tree is given by first children
and next siblings. draft_probs is all zeros, because the target alone judges a draft, which is
lossless for distinct siblings. The kernels need a GPU.
"""
import torch
from sgl_kernel import tree_speculative_sampling_target_only

import client

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def tensor(data, dtype):
    return torch.tensor(data, dtype=dtype, device=DEVICE)


def links(parents):
    """First child and next sibling of every node; node 0 is the root, -1 means none."""
    child, sibling, last = [-1] * (len(parents) + 1), [-1] * (len(parents) + 1), {}
    for node, parent in enumerate(parents, 1):
        if parent + 1 in last:
            sibling[last[parent + 1]] = node
        else:
            child[parent + 1] = node
        last[parent + 1] = node
    return child, sibling


def verify(rounds):
    torch.manual_seed(rounds[0].seed ^ rounds[0].offset)
    n, size, vocab = len(rounds), len(rounds[0].target), len(rounds[0].target[0])
    tree = [links(r.parents) for r in rounds]
    predict = torch.zeros((n * size,), dtype=torch.int32, device=DEVICE)
    accepted = torch.full((n, size), -1, dtype=torch.int32, device=DEVICE)
    length = torch.zeros((n,), dtype=torch.int32, device=DEVICE)
    tree_speculative_sampling_target_only(
        predicts=predict,
        accept_index=accepted,
        accept_token_num=length,
        candidates=tensor([[0] + list(r.tokens) for r in rounds], torch.int64),
        retrive_index=tensor([[i * size + k for k in range(size)] for i in range(n)], torch.int64),
        retrive_next_token=tensor([child for child, _ in tree], torch.int64),
        retrive_next_sibling=tensor([sibling for _, sibling in tree], torch.int64),
        uniform_samples=torch.rand((n, size), device=DEVICE),
        uniform_samples_for_final_sampling=torch.rand((n,), device=DEVICE),
        target_probs=tensor([r.target for r in rounds], torch.float32),
        draft_probs=torch.zeros((n, size, vocab), dtype=torch.float32, device=DEVICE),
    )
    predict, lengths = predict.tolist(), length.tolist()
    return [[predict[i] for i in row[: k + 1]] for row, k in zip(accepted.tolist(), lengths)]


if __name__ == "__main__":
    client.serve(
        verify,
        name="sglang tree_speculative_sampling_target_only",
        chains=["fixed", "iid"],
        trees=["fixed"],
    )
