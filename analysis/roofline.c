/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/roofline.h"

#include <math.h>
#include <stdbool.h>

static bool is_positive(double x)
{
    return x > 0.0 && isfinite(x);
}

static bool is_amount(double x)
{
    return x >= 0.0 && isfinite(x);
}

static bool is_pass(const spec_transformer_shape *shape, double n_tokens, double context)
{
    return is_positive(shape->parameters) && is_positive(shape->bytes_per_weight) &&
           is_amount(shape->layers) && is_amount(shape->width) && is_amount(shape->kv_bytes) &&
           is_positive(n_tokens) && is_amount(context);
}

static bool is_hardware(const spec_hardware *hardware)
{
    return is_positive(hardware->flops) && is_positive(hardware->bandwidth);
}

double spec_roofline_pass_flops(const spec_transformer_shape *shape, double n_tokens,
                                double context)
{
    if (!is_pass(shape, n_tokens, context)) return NAN;
    double positions = n_tokens * context + 0.5 * n_tokens * (n_tokens + 1.0);
    return 2.0 * shape->parameters * n_tokens + 4.0 * shape->layers * shape->width * positions;
}

double spec_roofline_pass_bytes(const spec_transformer_shape *shape, double n_tokens,
                                double context)
{
    if (!is_pass(shape, n_tokens, context)) return NAN;
    return shape->parameters * shape->bytes_per_weight + shape->kv_bytes * (context + n_tokens);
}

double spec_roofline_experts(double experts, double active, double n_tokens)
{
    if (!(active >= 1.0 && active <= experts && isfinite(experts)) || !is_amount(n_tokens))
        return NAN;
    return n_tokens == 0.0 ? 0.0 : -experts * expm1(n_tokens * log1p(-active / experts));
}

double spec_roofline_window_cost(double weights, double kv_bytes, double read, double context)
{
    if (!is_positive(weights) || !is_amount(kv_bytes) || !is_amount(read) || !is_amount(context))
        return NAN;
    return (weights + kv_bytes * fmin(read, context)) / (weights + kv_bytes * context);
}

double spec_roofline_window_context(double alpha, double weights, double kv_bytes, double read)
{
    if (!(alpha >= 0.0 && alpha <= 1.0) || !is_positive(weights) || !is_amount(kv_bytes) ||
        !is_amount(read))
        return NAN;
    if (alpha == 0.0 || kv_bytes == 0.0) return INFINITY;
    return (weights * (1.0 - alpha) / kv_bytes + read) / alpha;
}

double spec_roofline_intensity(const spec_transformer_shape *shape, double n_tokens, double context)
{
    return spec_roofline_pass_flops(shape, n_tokens, context) /
           spec_roofline_pass_bytes(shape, n_tokens, context);
}

double spec_roofline_pass_time(const spec_hardware *hardware, const spec_transformer_shape *shape,
                               double n_tokens, double context)
{
    if (!is_hardware(hardware) || !is_pass(shape, n_tokens, context)) return NAN;
    return fmax(spec_roofline_pass_flops(shape, n_tokens, context) / hardware->flops,
                spec_roofline_pass_bytes(shape, n_tokens, context) / hardware->bandwidth);
}

double spec_roofline_utilization(const spec_hardware *hardware, double intensity)
{
    if (!is_hardware(hardware) || !is_amount(intensity)) return NAN;
    return fmin(1.0, intensity * hardware->bandwidth / hardware->flops);
}

double spec_roofline_ridge_tokens(const spec_hardware *hardware, double bytes_per_weight)
{
    if (!is_hardware(hardware) || !is_positive(bytes_per_weight)) return NAN;
    return hardware->flops / hardware->bandwidth * (bytes_per_weight / 2.0);
}
