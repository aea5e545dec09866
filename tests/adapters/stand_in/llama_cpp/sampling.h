/* sampling: llama.cpp's verification, our own few lines behind its signatures; with SPECLAB_STAND_IN=wrong rows
 * are off by one after the first. */
#ifndef SAMPLING_STAND_IN_H
#define SAMPLING_STAND_IN_H

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include <common.h>

struct common_sampler {
    std::mt19937 rng;
    float temperature;
};

static inline common_sampler *common_sampler_init(const llama_model *, common_params_sampling &params)
{
    return new common_sampler{std::mt19937(params.seed), params.temp};
}

static inline void common_sampler_free(common_sampler *sampler) { delete sampler; }

static inline llama_token common_sampler_sample(common_sampler *sampler, llama_context *context, int i)
{
    llama_synchronize(context);
    const int32_t n = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context)));
    const float *logit = llama_get_logits_ith(context, i);
    std::vector<double> weight(logit, logit + n);
    for (double &w : weight) w = std::exp(w / sampler->temperature);
    return std::discrete_distribution<llama_token>(weight.begin(), weight.end())(sampler->rng);
}

static inline llama_tokens common_sampler_sample_and_accept_n(common_sampler *sampler, llama_context *context,
                                                              const llama_tokens &draft, bool = false)
{
    const char *stand_in = std::getenv("SPECLAB_STAND_IN");
    const bool wrong = stand_in != nullptr && std::strcmp(stand_in, "wrong") == 0;
    llama_tokens out;
    for (size_t i = 0; i <= draft.size(); i++) {
        const int row = (int)(wrong && i > 0 ? i - 1 : i);
        out.push_back(common_sampler_sample(sampler, context, row));
        if (i < draft.size() && out.back() != draft[i]) break;
    }
    return out;
}

#endif
