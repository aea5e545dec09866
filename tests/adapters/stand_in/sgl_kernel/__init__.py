# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for SGLang's tree_speculative_sampling_target_only, with the same signature."""

import os

WRONG = os.environ.get("SPECLAB_STAND_IN") == "wrong"


def tree_speculative_sampling_target_only(
    predicts,
    accept_index,
    accept_token_num,
    candidates,
    retrive_index,
    retrive_next_token,
    retrive_next_sibling,
    uniform_samples,
    uniform_samples_for_final_sampling,
    target_probs,
    draft_probs,
    threshold_single=1.0,
    threshold_acc=1.0,
    deterministic=True,
):
    for b, tokens in enumerate(candidates.tolist()):
        index, child, sibling = (
            x.tolist()[b] for x in (retrive_index, retrive_next_token, retrive_next_sibling)
        )
        coin, target = uniform_samples.tolist()[b], target_probs.tolist()[b]
        at, kept, tried = 0, 0, set()
        accept_index.data[b][0] = index[0]
        node, mass, u = child[0], 0.0, coin[0]
        while node != -1:
            row = target[
                at - 1 if WRONG and at > 0 else at
            ]  # wrong: the previous node's row
            mass += row[tokens[node]]
            if u < mass / threshold_acc or row[tokens[node]] >= threshold_single:
                predicts.data[index[at]] = tokens[node]
                kept += 1
                accept_index.data[b][kept] = index[node]
                at, tried = node, set()
                node, mass, u = child[at], 0.0, coin[at]
            else:
                tried.add(tokens[node])
                node = sibling[node]
        accept_token_num.data[b] = kept
        left = [0.0 if t in tried else weight for t, weight in enumerate(target[at])]
        u, token = uniform_samples_for_final_sampling.tolist()[b] * sum(left), -1
        for t, weight in enumerate(left):
            if weight > 0.0 and (token < 0 or u >= 0.0):
                token = t
                u -= weight
        predicts.data[index[at]] = token
