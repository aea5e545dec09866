/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transform.h"

#include "models/filters.h"
#include "models/row.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- settings -------------------------------------------------------------------------------- */

bool spec_transform_is_none(const spec_transform *transform)
{
    return transform->temperature == 1.0 && transform->top_k == 0 && transform->top_p == 1.0 &&
           transform->min_p == 0.0;
}

bool spec_transform_is_key(const char *key)
{
    const size_t n = strlen(key);
    for (const char *at = SPEC_TRANSFORM_KEYS; *at != '\0';
         at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && strncmp(at, key, n) == 0) return true;
    return false;
}

int spec_transform_read(spec_transform *ret_transform, spec_settings *settings, spec_error *error)
{
    static const char *const filters[] = {"joint", "chained", NULL};
    int status = GSL_SUCCESS, filter;
    spec_transform read = SPEC_TRANSFORM_NONE;
    SPEC_TRY(spec_settings_double(&read.temperature, settings, "temperature", read.temperature, 0.0,
                                  1e9, error));
    SPEC_TRY(spec_settings_int(&read.top_k, settings, "top_k", read.top_k, 0, INT_MAX, error));
    SPEC_TRY(spec_settings_double(&read.top_p, settings, "top_p", read.top_p, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_double(&read.min_p, settings, "min_p", read.min_p, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_choice(&filter, settings, "filters", 0, filters, error));
    read.chained = filter == 1;
done:
    *ret_transform = status == GSL_SUCCESS ? read : SPEC_TRANSFORM_NONE;
    return status;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static void apply_argmax(double *row, int vocab)
{
    const int best = spec_row_argmax(row, vocab);
    for (int i = 0; i < vocab; i++) row[i] = 0.0;
    row[best] = 1.0;
}

/* Computes row^(1/T) relative to the largest value, which becomes 1, so that nothing overflows and
 * the sum is not 0. */
static void apply_temperature(double *row, int vocab, double temperature)
{
    const double largest = row[spec_row_argmax(row, vocab)];
    for (int i = 0; i < vocab; i++) {
        if (row[i] > 0.0) row[i] = exp(log(row[i] / largest) / temperature);
    }
    spec_row_normalise(row, vocab);
}

void spec_transform_apply(double *row, int vocab, const spec_transform *transform, int *order)
{
    if (transform->temperature == 0.0) {
        apply_argmax(row, vocab);
        return;
    }
    if (transform->temperature != 1.0) apply_temperature(row, vocab, transform->temperature);
    const spec_filters filters = {.top_k = transform->top_k,
                                  .top_p = transform->top_p,
                                  .min_p = transform->min_p,
                                  .chained = transform->chained};
    spec_filters_apply(row, vocab, &filters, order);
}
