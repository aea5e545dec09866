/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sampling: a stand-in for llama.cpp's sampling.h with the same signatures.
 * It verifies by itself. With SPECLAB_STAND_IN=wrong it uses the previous row after the first one.
 */
#ifndef SAMPLING_STAND_IN_H
#define SAMPLING_STAND_IN_H

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>

#include <common.h>

struct common_sampler {
    std::mt19937 rng;
    common_params_sampling params;
};

static inline void normalise(std::vector<double> &row)
{
    double sum = 0.0;
    for (double p : row) sum += p;
    for (double &p : row) p /= sum;
}

/* Applies one sampler of the chain to the previous sampler's row. */
static inline void apply_one(std::vector<double> &row, common_sampler_type type,
                             const common_params_sampling &params)
{
    std::vector<double> sorted(row);
    std::sort(sorted.begin(), sorted.end(), std::greater<double>());
    size_t n = 0;
    double below = 0.0, least = 0.0;
    if (type == COMMON_SAMPLER_TYPE_TOP_K && params.top_k > 0 && (size_t)params.top_k < row.size())
        least = sorted[(size_t)params.top_k - 1];
    if (type == COMMON_SAMPLER_TYPE_TOP_P && params.top_p < 1.0f) {
        while (n < row.size() && below < (double)params.top_p) below += sorted[n++];
        least = sorted[n - 1];
    }
    if (type == COMMON_SAMPLER_TYPE_MIN_P) least = (double)params.min_p * sorted[0];
    if (type == COMMON_SAMPLER_TYPE_TEMPERATURE && params.temp <= 0.0f) least = sorted[0];
    for (double &p : row) p = p < least ? 0.0 : p;
    if (type == COMMON_SAMPLER_TYPE_TEMPERATURE && params.temp > 0.0f)
        for (double &p : row) p = std::pow(p, 1.0 / (double)params.temp);
    normalise(row);
}

static inline common_sampler *common_sampler_init(const llama_model *,
                                                  common_params_sampling &params)
{
    return new common_sampler{std::mt19937(params.seed), params};
}

static inline void common_sampler_free(common_sampler *sampler) { delete sampler; }

static inline llama_token common_sampler_sample(common_sampler *sampler, llama_context *context,
                                                int i)
{
    llama_synchronize(context);
    const int32_t n = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context)));
    const float *logit = llama_get_logits_ith(context, i);
    std::vector<double> weight(logit, logit + n);
    for (double &w : weight) w = std::exp(w);
    normalise(weight);
    for (common_sampler_type type : sampler->params.samplers)
        apply_one(weight, type, sampler->params);
    return std::discrete_distribution<llama_token>(weight.begin(), weight.end())(sampler->rng);
}

static inline llama_tokens common_sampler_sample_and_accept_n(common_sampler *sampler,
                                                              llama_context *context,
                                                              const llama_tokens &draft,
                                                              bool = false)
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
