/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/expert_choice.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void spec_expert_choice_make(int *ret_expert, float *ret_weight, const float *logit,
                             const spec_shape *shape, const spec_vector_kernels *kernels)
{
    const int n = shape->n_experts, k = shape->n_active;
    float chosen[SPEC_ACTIVE_MAX] = {0}, largest;
    double e[SPEC_ACTIVE_MAX];
    int taken = 0;
    assert(k >= 1 && k <= n && k <= SPEC_ACTIVE_MAX);
    const bool finite = kernels->largest(&largest, logit, n);
    for (int i = 0; i < n; i++) {
        int at = taken;
        while (at > 0 && logit[i] > chosen[at - 1]) at--;
        if (at == k) continue;
        if (taken < k) taken++;
        for (int j = taken - 1; j > at; j--) {
            chosen[j] = chosen[j - 1];
            ret_expert[j] = ret_expert[j - 1];
        }
        chosen[at] = logit[i];
        ret_expert[at] = i;
    }
    if (!finite) {
        for (int i = 0; i < k; i++) ret_weight[i] = NAN;
        return;
    }
    const double sum = kernels->exps(e, chosen, chosen[0], 1.0, k);
    for (int i = 0; i < k; i++) ret_weight[i] = (float)(e[i] / sum);
}

void spec_expert_choice_group(spec_expert_groups *ret, int *ret_column, int *ret_pair,
                              const int *expert, int n, const spec_shape *shape)
{
    const int k = shape->n_active;
    /* first the number of pairs of each expert, later its next pair */
    int next[SPEC_EXPERTS_MAX] = {0};
    for (int i = 0; i < n * k; i++) next[expert[i]]++;
    ret->n = 0;
    ret->begin[0] = 0;
    for (int e = 0; e < shape->n_experts; e++) {
        const int count = next[e];
        if (count == 0) continue;
        next[e] = ret->begin[ret->n];
        ret->expert[ret->n] = e;
        ret->begin[ret->n + 1] = next[e] + count;
        ret->n++;
    }
    for (int i = 0; i < n * k; i++) {
        ret_pair[i] = next[expert[i]]++;
        ret_column[ret_pair[i]] = i / k;
    }
}
