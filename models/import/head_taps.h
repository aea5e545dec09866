/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_taps: finds in config.json which hidden states of the target an EAGLE-3 head reads.
 * A tap is the number of target layers before the hidden state. Wrong taps only show up as a low
 * acceptance rate, so we also report where the taps come from. */
#ifndef SPECLAB_HEAD_TAPS_H
#define SPECLAB_HEAD_TAPS_H

#include "models/heads/head.h"
#include "models/import/json_values.h"

/* Where taps come from. */
typedef enum {
    SPEC_HEAD_TAPS_FROM_NONE, /* a head of another kind, which reads the target's last hidden
                                 state */
    SPEC_HEAD_TAPS_FROM_CALLER,
    SPEC_HEAD_TAPS_FROM_COUNTS, /* listed in config.json as numbers of layers */
    SPEC_HEAD_TAPS_FROM_LAYERS, /* listed there as layers, counted from 0, whose outputs are read */
    SPEC_HEAD_TAPS_FROM_DEFAULT /* 2, half of the layers, and all but 3 */
} spec_head_taps;

/* Reads the taps for a target with this many layers. If opt_tap (SPEC_HEAD_TAPS_MAX) is not NULL,
 * it takes these taps instead. A list at the top level of config.json counts layers, as in vLLM and
 * llama.cpp. So does one in its eagle_config, unless it begins with 1: then it numbers layers from
 * 0, as SGLang reads it. Returns GSL_EINVAL for a malformed list or taps that do not ascend within
 * the target. */
int spec_head_taps_read(int ret_tap[SPEC_HEAD_TAPS_MAX], spec_head_taps *ret_from,
                        const spec_json_values *config, int layers, const int *opt_tap);

#endif
