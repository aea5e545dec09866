/* common: the same of llama.cpp's common.h. */
#ifndef COMMON_STAND_IN_H
#define COMMON_STAND_IN_H

#include <cstdint>
#include <vector>

#include <llama.h>

typedef std::vector<llama_token> llama_tokens;

enum common_sampler_type { COMMON_SAMPLER_TYPE_TEMPERATURE };

struct common_params_sampling {
    uint32_t seed = 0;
    float temp = 0.8f;
    std::vector<common_sampler_type> samplers;
};

#endif
