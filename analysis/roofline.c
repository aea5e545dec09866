/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/roofline.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <strings.h>

const spec_hardware spec_hardware_known[] = {
    {"A100", "NVIDIA A100 80 GB, dense FP16; 2 TB/s is rounded (1.94 as a PCIe card, 2.04 as SXM)",
     312e12, 2.0e12},
    {"H100", "NVIDIA H100 80 GB SXM, dense FP16: half of the sparse peak of the data sheet", 989e12,
     3.35e12},
    {"H200", "NVIDIA H200 141 GB SXM, dense FP16: half of the sparse peak of the data sheet",
     989e12, 4.8e12},
    {.name = NULL},
};

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

const spec_hardware *spec_roofline_hardware_find(const char *name)
{
    const spec_hardware *hardware = spec_hardware_known;
    while (hardware->name != NULL && strcasecmp(hardware->name, name) != 0) hardware++;
    return hardware->name == NULL ? NULL : hardware;
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
