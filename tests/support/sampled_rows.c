/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/sampled_rows.h"

#include "base/noise.h"
#include "models/transformer/engine/logits.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>

static double unit(uint64_t key, uint64_t i)
{
    return (double)(spec_noise_word(key, i) >> 11) * 0x1p-53;
}

/* Returns the sum of three uniform numbers, which is close to a normal variable. */
static double spread(uint64_t key, uint64_t i)
{
    return 2.0 * (unit(key, 3 * i) + unit(key, 3 * i + 1) + unit(key, 3 * i + 2) - 1.5);
}

static float logit_of(sampled_family family, uint64_t key, uint64_t i)
{
    const double x = spread(key, i);
    switch (family) {
    case SAMPLED_NORMAL: return (float)(2.0 * x + 0.3);
    case SAMPLED_PEAKED: return (float)(20.0 * x - 5.0);
    case SAMPLED_FLAT: return (float)(1.0 + 1e-3 * x);
    case SAMPLED_TIES: return x < -1.0 ? -0.0f : (float)((int)(spec_noise_word(key, i) % 7) - 2);
    case SAMPLED_EQUAL: return -0.7f;
    case SAMPLED_FAR: return (float)(x * pow(10.0, (double)(spec_noise_word(key, i) % 38)));
    default: return 0.0f;
    }
}

void sampled_logits(float *ret_logits, int vocab, sampled_family family, uint64_t key)
{
    for (int i = 0; i < vocab; i++)
        ret_logits[i] = logit_of(family, spec_noise_mix(key), (uint64_t)i);
}

spec_transform sampled_transform(int vocab, uint64_t key)
{
    static const double temperature[] = {1.0, 1.0, 0.7, 0.27, 1.9, 1.0, 0.05, 0.0};
    static const double top_p[] = {0.9, 0.5, 0.999, 0.1, 0.3, 0.7, 0.0};
    static const double min_p[] = {0.1, 0.5, 0.001, 1.0, 0.02};
    const uint64_t w = spec_noise_mix(key + 0x5eed);
    spec_transform transform = SPEC_TRANSFORM_NONE;
    transform.temperature = temperature[w % 8];
    if (w >> 8 & 1) transform.top_k = 1 + (int)((w >> 9) % (uint64_t)(w >> 30 & 1 ? vocab + 1 : 5));
    const double border = (double)((w >> 17) % (uint64_t)vocab) / vocab;
    if (w >> 16 & 1) transform.top_p = w >> 31 & 1 ? border : top_p[(w >> 17) % 7];
    if (w >> 24 & 1) transform.min_p = min_p[(w >> 25) % 5];
    transform.chained = w >> 40 & 1;
    return transform;
}

void sampled_row(double *ret_row, const float *logits, int vocab, const spec_transform *transform)
{
    int *order = malloc((size_t)vocab * sizeof *order);
    spec_transform filters = *transform;
    if (order == NULL) abort();
    const double heat = transform->temperature > 0.0 ? transform->temperature : 1.0;
    if (spec_logits_rows(&ret_row, logits, heat, 1, vocab, &spec_vector_kernels_ref, NULL, NULL) !=
        GSL_SUCCESS)
        abort();
    if (transform->temperature > 0.0) filters.temperature = 1.0;
    spec_transform_apply(ret_row, vocab, &filters, order);
    free(order);
}

int sampled_token(spec_sampling_gpu *sampling, void *law, const float *logits,
                  const spec_transform *transform, double uniform)
{
    int token = -1;
    const spec_draw_request request = {
        .n = 1, .law = &law, .transform = transform, .opt_uniform = &uniform, .logits = logits};
    spec_sampling_gpu_draw(sampling, &request, 0);
    assert_works(spec_sampling_gpu_drawn(sampling, &token, 1, &error));
    return token;
}
