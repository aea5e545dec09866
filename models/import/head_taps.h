/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_taps: the hidden states that an EAGLE-3 head reads, from its config.json.
 * A tap is a number of layers of the target that came before. Wrong taps only show as a low
 * acceptance rate, so their source is known, too. */
#ifndef SPECLAB_HEAD_TAPS_H
#define SPECLAB_HEAD_TAPS_H

#include "models/heads/head.h"
#include "models/import/json_values.h"

/* Where taps come from. */
typedef enum {
    SPEC_HEAD_TAPS_FROM_NONE, /* a head of another kind: the target's last hidden state */
    SPEC_HEAD_TAPS_FROM_CALLER,
    SPEC_HEAD_TAPS_FROM_COUNTS, /* listed in config.json as numbers of layers */
    SPEC_HEAD_TAPS_FROM_LAYERS, /* listed there as layers, from 0, whose outputs are read */
    SPEC_HEAD_TAPS_FROM_DEFAULT /* 2, half of the layers, and all but 3 */
} spec_head_taps;

/* Read the taps for a target of so many layers; opt_tap (SPEC_HEAD_TAPS_MAX), or NULL, replaces
 * them. A list at the top of config.json counts layers, as vLLM and llama.cpp do. One in its
 * eagle_config does, too, unless it begins with 1: then it numbers layers from 0, as SGLang reads
 * it. GSL_EINVAL if a list is malformed, or the taps are not ascending within the target. */
int spec_head_taps_read(int ret_tap[SPEC_HEAD_TAPS_MAX], spec_head_taps *ret_from,
                        const spec_json_values *config, int layers, const int *opt_tap);

#endif
