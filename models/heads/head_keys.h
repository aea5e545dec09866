/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_keys: the key names in the files of draft heads, shared by reader and writer.
 * EAGLE-3 has llama.cpp's architecture; all other kinds share one of speclab's. */
#ifndef SPECLAB_HEAD_KEYS_H
#define SPECLAB_HEAD_KEYS_H

#include "models/heads/head.h"

#define SPEC_HEAD_ARCHITECTURE "speclab-head"
#define SPEC_HEAD_FINGERPRINT "speclab.target.fingerprint"

static inline const char *spec_head_keys_architecture(spec_head_kind kind)
{
    return kind == SPEC_HEAD_EAGLE3 ? spec_head_kind_names[SPEC_HEAD_EAGLE3]
                                    : SPEC_HEAD_ARCHITECTURE;
}

#endif
