/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/group_text.h"

#include "base/memory_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

/* The number of counts, without zeros at the end, and the counts. */
static void put_counts(FILE *out, const uint64_t *count, int n)
{
    while (n > 0 && count[n - 1] == 0) n--;
    fprintf(out, " %d", n);
    for (int i = 0; i < n; i++) fprintf(out, " %" PRIu64, count[i]);
}

static void put_means(FILE *out, const spec_batch_means *means)
{
    fprintf(out, " %a %a %a %" PRIu64, means->weight, means->mean, means->m2, means->n);
}

char *spec_group_text_of(const spec_montecarlo_sum *sum)
{
    const spec_tally *tally = &sum->tally;
    spec_memory_text made;
    if (!spec_memory_text_open(&made)) return NULL;
    fprintf(made.out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, sum->batches,
            tally->rounds, tally->drafted, tally->accepted, tally->emitted);
    fprintf(made.out, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %a", tally->hits, tally->guesses_tested,
            tally->guesses_right, tally->time);
    put_means(made.out, &sum->emitted);
    put_means(made.out, &sum->first);
    put_means(made.out, &sum->rate);
    put_means(made.out, &sum->hit);
    put_counts(made.out, tally->n_accepted, SPEC_K_MAX + 1);
    put_counts(made.out, tally->tested, SPEC_K_MAX);
    put_counts(made.out, tally->passed, SPEC_K_MAX);
    return spec_memory_text_take(&made, NULL);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct {
    const char *at;
    bool failed;
} reader;

/* The end of the next word is after the number, or the number is wrong. */
static void pass(reader *in, const char *end)
{
    if (end == in->at || (*end != ' ' && *end != '\0') || errno != 0)
        in->failed = true;
    else
        in->at = *end == ' ' ? end + 1 : end;
}

static uint64_t get_count(reader *in)
{
    char *end = NULL;
    if (*in->at < '0' || *in->at > '9') in->failed = true;
    if (in->failed) return 0;
    errno = 0;
    const uint64_t count = strtoull(in->at, &end, 10);
    pass(in, end);
    return count;
}

static double get_double(reader *in)
{
    char *end = NULL;
    if (in->failed || strncmp(in->at, "0x", 2) != 0) in->failed = true;
    if (in->failed) return 0.0;
    errno = 0;
    const double number = strtod(in->at, &end);
    pass(in, end);
    if (!isfinite(number)) in->failed = true;
    return number;
}

static void get_counts(reader *in, uint64_t *count, uint64_t most)
{
    const uint64_t n = get_count(in);
    if (n > most) in->failed = true;
    for (uint64_t i = 0; !in->failed && i < n; i++) count[i] = get_count(in);
}

static spec_batch_means get_means(reader *in)
{
    spec_batch_means means;
    means.weight = get_double(in);
    means.mean = get_double(in);
    means.m2 = get_double(in);
    means.n = get_count(in);
    return means;
}

bool spec_group_text_parse(spec_montecarlo_sum *ret, const char *text)
{
    reader in = {.at = text};
    spec_tally *tally = &ret->tally;
    memset(ret, 0, sizeof *ret);
    ret->batches = get_count(&in);
    tally->rounds = get_count(&in);
    tally->drafted = get_count(&in);
    tally->accepted = get_count(&in);
    tally->emitted = get_count(&in);
    tally->hits = get_count(&in);
    tally->guesses_tested = get_count(&in);
    tally->guesses_right = get_count(&in);
    tally->time = get_double(&in);
    ret->emitted = get_means(&in);
    ret->first = get_means(&in);
    ret->rate = get_means(&in);
    ret->hit = get_means(&in);
    get_counts(&in, tally->n_accepted, SPEC_K_MAX + 1);
    get_counts(&in, tally->tested, SPEC_K_MAX);
    get_counts(&in, tally->passed, SPEC_K_MAX);
    if (!in.failed && *in.at == '\0' && tally->rounds > 0) return true;
    memset(ret, 0, sizeof *ret);
    return false;
}
