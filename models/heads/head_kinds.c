/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/heads/head_model.h"
#include "models/heads/head_session.h"
#include "models/model_kinds.h"

#define HEAD(of, words, key) HEAD_AT(of, #of ":PATH?force=0", words, key)
#define HEAD_AT(of, line, words, key)                                                              \
    const spec_model_kind spec_model_##of = {                                                      \
        .name = #of,                                                                               \
        .usage = line,                                                                             \
        .summary = words,                                                                          \
        .reference = key,                                                                          \
        .needs_target = true,                                                                      \
        .reads_target = true,                                                                      \
        .rows_by_round = true,                                                                     \
        .applies_temperature = true,                                                               \
        .open = spec_head_model_open,                                                              \
        .close = spec_head_model_close,                                                            \
        .load = spec_head_model_load,                                                              \
        .row = spec_head_session_row,                                                              \
        .score = spec_head_session_score,                                                          \
        .session_init = spec_head_session_init,                                                    \
        .session_free = spec_head_session_free,                                                    \
        .session_share = spec_head_session_share,                                                  \
    }

HEAD(medusa, "a draft head of the target: a block for each depth, independent of the path",
     "Cai24");
HEAD(hydra, "a draft head of the target: a block for each depth, which reads the path", "Ankner24");
HEAD(redrafter, "a draft head of the target: a recurrent state along the path", "Cheng24");
HEAD(eagle, "a draft head of the target: a layer over tokens and the target's last states",
     "LiY24");
HEAD(eagle3, "a draft head of the target: a layer over tokens and three of the target's states",
     "LiY25");
HEAD_AT(mtp, "mtp[:PATH]?force=0",
        "a draft head of the target: a layer for each depth, over tokens and states; mtp: those in "
        "its own file",
        "DeepSeek24");
HEAD(parallel, "a draft head of the target: a layer over masks gives all rows in one pass", "An25");
