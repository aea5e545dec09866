/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/alias.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* A full column: shares are counted in units of 2^-64 of a column, and there are n columns. */
static const spec_u128 full = (spec_u128)1 << 64;

/* Returns the sum of the weights times 2^-exponent, without cancellation or overflow (Neumaier's
 * summation; all terms are at most 1). */
static double scaled_sum(const double *weight, int n, int exponent)
{
    double sum = 0, lost = 0;
    for (int i = 0; i < n; i++) {
        double term = ldexp(weight[i], -exponent), next = sum + term;
        lost += sum >= term ? (sum - next) + term : (term - next) + sum;
        sum = next;
    }
    return sum + lost;
}

/* Fills the shares of the n tokens with integers that sum to n full columns; the largest absorbs
 * the rounding. */
static void fill_shares(spec_u128 *share, const double *probability, int n)
{
    spec_u128 left = full * (unsigned)n;
    int largest = 0;
    for (int i = 0; i < n; i++) {
        share[i] = (spec_u128)ldexp(probability[i] * n, 64);
        left -= share[i]; /* modulo 2^128, so it may pass through zero */
        if (share[i] > share[largest]) largest = i;
    }
    share[largest] += left;
}

/* Vose's construction. In integers the open shares always sum to the open columns. So the small
 * shares never outlast the large ones, and the large ones that remain are exactly full. */
static void fill_columns(struct spec_alias_column *column, spec_u128 *share, int *stack, int n)
{
    int n_small = 0,
        first_large =
            n; /* small tokens grow from the front of the stack, large ones from its end */
    for (int i = 0; i < n; i++) {
        if (share[i] < full) stack[n_small++] = i;
        else stack[--first_large] = i;
    }
    while (n_small > 0) {
        assert(first_large < n);
        int small = stack[--n_small], large = stack[first_large];
        column[small] =
            (struct spec_alias_column){(uint64_t)share[small], (uint32_t)small, (uint32_t)large};
        share[large] -= full - share[small];
        if (share[large] < full) {
            first_large++;
            stack[n_small++] = large;
        }
    }
    for (int i = first_large; i < n; i++) {
        assert(share[stack[i]] == full);
        column[stack[i]] =
            (struct spec_alias_column){UINT64_MAX, (uint32_t)stack[i], (uint32_t)stack[i]};
    }
}

int spec_alias_init(spec_alias *alias, const double *weight, int n, spec_error *error)
{
    int status = GSL_SUCCESS;
    double *probability = NULL;
    spec_u128 *share = NULL;
    int *stack = NULL;

    *alias = (spec_alias){0};
    if (n < 1)
        return spec_fail(error, GSL_EINVAL, "an alias table needs at least one weight, not %d", n);
    probability = malloc((size_t)n * sizeof *probability);
    share = malloc((size_t)n * sizeof *share);
    stack = malloc((size_t)n * sizeof *stack);
    alias->column = malloc((size_t)n * sizeof *alias->column);
    if (probability == NULL || share == NULL || stack == NULL || alias->column == NULL) {
        status = spec_fail(error, GSL_ENOMEM, "no memory for an alias table of %d tokens", n);
        goto done;
    }
    SPEC_TRY(spec_alias_normalise(probability, weight, n, error));
    alias->n = n;
    fill_shares(share, probability, n);
    fill_columns(alias->column, share, stack, n);
done:
    free(probability);
    free(share);
    free(stack);
    if (status != GSL_SUCCESS) spec_alias_free(alias);
    return status;
}

void spec_alias_free(spec_alias *alias)
{
    free(alias->column);
    *alias = (spec_alias){0};
}

int spec_alias_normalise(double *ret_probability, const double *weight, int n, spec_error *error)
{
    double largest = 0;
    int exponent;
    for (int i = 0; i < n; i++) {
        if (!isfinite(weight[i]) || weight[i] < 0)
            return spec_fail(error, GSL_EDOM,
                             "weight %d is %g: weights must be finite and not negative", i,
                             weight[i]);
        if (weight[i] > largest) largest = weight[i];
    }
    if (largest == 0) return spec_fail(error, GSL_EDOM, "all %d weights are zero", n);
    (void)frexp(largest, &exponent);
    double total = scaled_sum(weight, n, exponent);
    for (int i = 0; i < n; i++) ret_probability[i] = ldexp(weight[i], -exponent) / total;
    return GSL_SUCCESS;
}

int spec_alias_draw(const spec_alias *alias, spec_rng_state *rng)
{
    spec_u128 product = (spec_u128)spec_rng_next(rng) * (unsigned)alias->n;
    const struct spec_alias_column *column = &alias->column[product >> 64];
    return (int)((uint64_t)product < column->keep ? column->own : column->other);
}

/* Returns the number of words w with w * n < column * 2^64 + fraction. */
static spec_u128 words_below(spec_u128 column, spec_u128 fraction, unsigned n)
{
    return ((column << 64) + fraction + n - 1) / n;
}

double spec_alias_probability(const spec_alias *alias, int token)
{
    unsigned n = (unsigned)alias->n;
    spec_u128 words = 0;
    for (unsigned j = 0; j < n; j++) {
        const struct spec_alias_column *column = &alias->column[j];
        spec_u128 side = words_below(j, column->keep, n);
        if (column->own == (uint32_t)token) words += side - words_below(j, 0, n);
        if (column->other == (uint32_t)token) words += words_below(j, full, n) - side;
    }
    return ldexp((double)words, -64);
}
