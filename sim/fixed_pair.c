/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/fixed_pair.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static const uint64_t always = (uint64_t)1 << 63;

/* Returns 2^63 min(1, target/draft). A smaller double divided by a larger one rounds to at most
 * 1. */
static uint64_t threshold(double target, double draft)
{
    return target >= draft ? always : (uint64_t)ldexp(target / draft, 63);
}

/* Packs the draft's alias table and the acceptance tests of its tokens into one allocation, aligned
 * so that no column straddles a cache line. */
static int pack_columns(spec_fixed_pair *pair, const spec_alias *alias, const double *target,
                        const double *draft, bool never_reject, spec_error *error)
{
    size_t size = (size_t)pair->vocab * sizeof *pair->column;
    void *memory = NULL;
    if (posix_memalign(&memory, sizeof *pair->column, size) != 0)
        return spec_fail(error, GSL_ENOMEM, "no memory for a pair of %d tokens", pair->vocab);
    pair->column = memory;
    for (int j = 0; j < pair->vocab; j++) {
        const struct spec_alias_column *from = &alias->column[j];
        struct spec_fixed_pair_column *to = &pair->column[j];
        *to =
            (struct spec_fixed_pair_column){.keep = from->keep, .token = {from->own, from->other}};
        for (int side = 0; side < 2; side++) {
            uint32_t token = to->token[side];
            to->accept[side] = never_reject ? always : threshold(target[token], draft[token]);
        }
    }
    return GSL_SUCCESS;
}

int spec_fixed_pair_init(spec_fixed_pair *pair, const double *target, const double *draft,
                         int vocab, spec_error *error)
{
    int status = GSL_SUCCESS;
    double *row = NULL;
    spec_alias alias = {0};

    *pair = (spec_fixed_pair){0};
    if (vocab < 1)
        return spec_fail(error, GSL_EINVAL,
                         "a pair of distributions needs at least one token, not %d", vocab);
    row = malloc(3 * (size_t)vocab * sizeof *row);
    if (row == NULL)
        return spec_fail(error, GSL_ENOMEM, "no memory for a pair of %d tokens", vocab);
    double *t = row, *d = row + vocab, *residual = row + 2 * (size_t)vocab, left = 0;
    SPEC_TRY(spec_alias_normalise(t, target, vocab, error));
    SPEC_TRY(spec_alias_normalise(d, draft, vocab, error));
    for (int i = 0; i < vocab; i++) {
        pair->alpha += fmin(t[i], d[i]);
        residual[i] = fmax(t[i] - d[i], 0);
        left += residual[i];
    }
    pair->vocab = vocab;
    SPEC_TRY(spec_alias_init(&alias, d, vocab, error));
    SPEC_TRY(pack_columns(pair, &alias, t, d, left == 0, error));
    SPEC_TRY(spec_alias_init(&pair->target, t, vocab, error));
    if (left > 0) SPEC_TRY(spec_alias_init(&pair->residual, residual, vocab, error));
    else pair->alpha = 1; /* equal up to rounding */
done:
    free(row);
    spec_alias_free(&alias);
    if (status != GSL_SUCCESS) spec_fixed_pair_free(pair);
    return status;
}

void spec_fixed_pair_free(spec_fixed_pair *pair)
{
    free(pair->column);
    spec_alias_free(&pair->residual);
    spec_alias_free(&pair->target);
    *pair = (spec_fixed_pair){0};
}

int spec_fixed_pair_round(const spec_fixed_pair *pair, spec_rng_state *rng, int K, int *ret_token)
{
    for (int i = 0; i < K; i++) {
        const spec_u128 product = (spec_u128)spec_rng_next(rng) * (unsigned)pair->vocab;
        const struct spec_fixed_pair_column *column = &pair->column[product >> 64];
        const int side = (uint64_t)product >= column->keep;
        ret_token[i] = (int)column->token[side];
        if (spec_rng_next(rng) >> 1 >= column->accept[side]) {
            ret_token[i] = spec_alias_draw(&pair->residual, rng);
            return i;
        }
    }
    ret_token[K] = spec_alias_draw(&pair->target, rng);
    return K;
}
