/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_limit.h"

#include "analysis/roofline.h"

#include <math.h>

int spec_timing_limit_init(spec_timing_limit *ret, const spec_model *opt_model,
                           const spec_timing_limit *opt_other, spec_error *error)
{
    const spec_transformer *model = opt_model != NULL ? spec_transformer_of(opt_model) : NULL;
    *ret = (spec_timing_limit){0};
    if (model == NULL) return GSL_SUCCESS;
    const spec_backend *backend = model->weights->backend;
    ret->opt_backend = backend;
    ret->work = spec_pass_work_of(model);
    if (opt_other != NULL && opt_other->opt_backend == backend) {
        ret->roofline = opt_other->roofline;
        return GSL_SUCCESS;
    }
    return backend->roofline != NULL ? backend->roofline(backend, &ret->roofline, error)
                                     : GSL_SUCCESS;
}

/* Returns the operations per second with weights of a type; 0: unknown. F16 is half as fast,
 * because each weight is split into two halves that are multiplied separately. */
static double rate_of(const spec_roofline *roofline, spec_tensor_type type)
{
    switch (type) {
    case SPEC_TENSOR_BF16: return roofline->bf16;
    case SPEC_TENSOR_F16: return roofline->bf16 / 2.0;
    case SPEC_TENSOR_Q8_0:
    case SPEC_TENSOR_Q4_0: return roofline->int8;
    default: return 0.0;
    }
}

double spec_timing_limit_experts(const spec_timing_limit *limit, int n)
{
    const spec_pass_work *work = &limit->work;
    if (work->mixtures == 0) return NAN;
    return spec_roofline_experts(work->n_experts, work->n_active, n);
}

double spec_timing_limit_seconds(const spec_timing_limit *limit, int n, double experts, double text)
{
    const spec_pass_work *work = &limit->work;
    double weights = 0.0, compute = 0.0;
    if (limit->opt_backend == NULL || !(limit->roofline.read > 0.0)) return NAN;
    for (int t = 0; t < SPEC_TENSOR_TYPES; t++) {
        const double rate = rate_of(&limit->roofline, (spec_tensor_type)t);
        weights += work->weights[t];
        if (!(work->weights[t] > 0.0 && rate > 0.0)) continue;
        compute += spec_roofline_pass_flops(
                       &(spec_transformer_shape){work->weights[t], 1.0, 0.0, 0.0, 0.0}, n, 0.0) /
                   rate;
    }
    const double past = fmax(0.0, text - n),
                 kv = spec_pass_work_kv_bytes(work, past + n) / (past + n);
    const spec_transformer_shape all = {weights, spec_pass_work_bytes(work, experts) / weights, 0.0,
                                        0.0, kv};
    const double read = spec_roofline_pass_bytes(&all, n, past) / limit->roofline.read;
    return fmax(read, compute) + work->launches * limit->roofline.launch;
}

double spec_timing_limit_share(const spec_timing_limit *limit, double experts, double seconds)
{
    if (limit->opt_backend == NULL || !(limit->roofline.read > 0.0)) return NAN;
    return spec_pass_work_bytes(&limit->work, experts) / seconds / limit->roofline.read;
}
