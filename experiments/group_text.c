/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/group_text.h"

#include "base/number_line.h"

#include <math.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes the number of counts, without zeros at the end, and the counts. */
static void put_counts(FILE *out, const uint64_t *count, int n)
{
    while (n > 0 && count[n - 1] == 0) n--;
    spec_number_line_put_count(out, (uint64_t)n);
    for (int i = 0; i < n; i++) spec_number_line_put_count(out, count[i]);
}

static void put_means(FILE *out, const spec_batch_means *means)
{
    spec_number_line_put_real(out, means->weight);
    spec_number_line_put_real(out, means->mean);
    spec_number_line_put_real(out, means->m2);
    spec_number_line_put_count(out, means->n);
}

char *spec_group_text_of(const spec_montecarlo_sum *sum)
{
    const spec_tally *tally = &sum->tally;
    const uint64_t count[] = {sum->batches,    tally->rounds, tally->drafted,
                              tally->accepted, tally->emitted, tally->hits,
                              tally->guesses_tested, tally->guesses_right};
    spec_memory_text made;
    if (!spec_memory_text_open(&made)) return NULL;
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        spec_number_line_put_count(made.out, count[i]);
    spec_number_line_put_real(made.out, tally->time);
    put_means(made.out, &sum->emitted);
    put_means(made.out, &sum->first);
    put_means(made.out, &sum->rate);
    put_means(made.out, &sum->hit);
    put_counts(made.out, tally->n_accepted, SPEC_K_MAX + 1);
    put_counts(made.out, tally->tested, SPEC_K_MAX);
    put_counts(made.out, tally->passed, SPEC_K_MAX);
    return spec_number_line_take(&made);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void get_counts(spec_number_line *in, uint64_t *count, uint64_t most)
{
    const uint64_t n = spec_number_line_count(in);
    if (n > most) in->failed = true;
    for (uint64_t i = 0; !in->failed && i < n; i++) count[i] = spec_number_line_count(in);
}

/* Reads a finite number that is not negative. */
static double get_real(spec_number_line *in)
{
    const double real = spec_number_line_real(in);
    if (!isfinite(real) || signbit(real)) in->failed = true;
    return real;
}

static spec_batch_means get_means(spec_number_line *in)
{
    spec_batch_means means;
    means.weight = get_real(in);
    means.mean = get_real(in);
    means.m2 = get_real(in);
    means.n = spec_number_line_count(in);
    return means;
}

bool spec_group_text_parse(spec_montecarlo_sum *ret, const char *text)
{
    spec_number_line in = {.at = text};
    spec_tally *tally = &ret->tally;
    uint64_t *const count[] = {&ret->batches,    &tally->rounds, &tally->drafted,
                               &tally->accepted, &tally->emitted, &tally->hits,
                               &tally->guesses_tested, &tally->guesses_right};
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        *count[i] = spec_number_line_count(&in);
    tally->time = get_real(&in);
    ret->emitted = get_means(&in);
    ret->first = get_means(&in);
    ret->rate = get_means(&in);
    ret->hit = get_means(&in);
    get_counts(&in, tally->n_accepted, SPEC_K_MAX + 1);
    get_counts(&in, tally->tested, SPEC_K_MAX);
    get_counts(&in, tally->passed, SPEC_K_MAX);
    if (spec_number_line_ended(&in) && tally->rounds > 0) return true;
    memset(ret, 0, sizeof *ret);
    return false;
}
