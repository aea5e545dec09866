/* SPDX-License-Identifier: GPL-3.0-or-later */
/* common: a stand-in for llama.cpp's common.h. */
#ifndef COMMON_STAND_IN_H
#define COMMON_STAND_IN_H

#include <cstdint>
#include <vector>

#include <llama.h>

typedef std::vector<llama_token> llama_tokens;

enum common_sampler_type {
    COMMON_SAMPLER_TYPE_TOP_K,
    COMMON_SAMPLER_TYPE_TOP_P,
    COMMON_SAMPLER_TYPE_MIN_P,
    COMMON_SAMPLER_TYPE_TEMPERATURE
};

struct common_params_sampling {
    uint32_t seed = 0;
    int32_t top_k = 40;
    float top_p = 0.95f, min_p = 0.05f, temp = 0.8f;
    std::vector<common_sampler_type> samplers;
};

#endif
