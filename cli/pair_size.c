/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/pair_size.h"

#include "models/model_open.h"
#include "models/transformer/engine/pass_work.h"

#include <math.h>

static const double bytes_to_read = 1e11;
enum { LEAST_POSITIONS = 200, MOST_POSITIONS = 20000 };

/* Other kinds are excluded because inspecting them would load the model. */
static bool is_transformer(const char *spec)
{
    const spec_model_kind *kind = spec_model_open_kind(spec);
    return kind != NULL && kind->close == spec_transformer_close;
}

spec_pair_size spec_pair_size_of(const char *target_spec, const char *draft_spec,
                                 spec_context *context)
{
    spec_pair_size size = {.on_one_device = false};
    spec_model *target = NULL, *draft = NULL;
    spec_error error;
    if (!is_transformer(target_spec) ||
        spec_model_open_unloaded(&target, target_spec, NULL, context, &error) != GSL_SUCCESS)
        return size;
    const spec_transformer *a = spec_transformer_of(target), *b = NULL;
    if (is_transformer(draft_spec) &&
        spec_model_open_unloaded(&draft, draft_spec, target, context, &error) == GSL_SUCCESS)
        b = spec_transformer_of(draft);
    if (a != NULL) size.target = spec_pass_work_weight_bytes(a);
    if (b != NULL) size.draft = spec_pass_work_weight_bytes(b);
    size.on_one_device = a != NULL && b != NULL && a->weights->backend == b->weights->backend;
    spec_model_close(draft);
    spec_model_close(target);
    return size;
}

int spec_pair_size_positions(const spec_pair_size *size)
{
    if (size->target == 0.0) return MOST_POSITIONS;
    const double wanted = bytes_to_read / (size->target + size->draft);
    if (!(wanted > LEAST_POSITIONS)) return LEAST_POSITIONS;
    if (wanted > MOST_POSITIONS) return MOST_POSITIONS;
    const double digit = pow(10.0, floor(log10(wanted)) - 1.0);
    return (int)(digit * floor(wanted / digit) + 0.5);
}
