/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_online_report.h"

#include "analysis/statistics/block_bootstrap.h"
#include "base/build_info.h"
#include "base/memory_text.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <stdlib.h>

enum { WAYS = SPEC_TIMING_ONLINE_WAYS, FIELDS = SPEC_TIMING_ONLINE_FIELDS, RESAMPLES = 2000 };
static const double interval_error = 0.05;

static const char *const columns[] = {"part",
                                      "learns",
                                      "texts",
                                      "rounds",
                                      "alpha_tested",
                                      "alpha_tested_low",
                                      "alpha_tested_high",
                                      "tokens_per_round",
                                      "tokens_per_round_low",
                                      "tokens_per_round_high",
                                      "tokens_per_s",
                                      "learning_share",
                                      "speed_gain",
                                      "speed_gain_low",
                                      "speed_gain_high"};

enum { COLUMNS = sizeof columns / sizeof *columns };

/* Sums over the texts in one part of the run, and over resamples of these texts. */
typedef struct {
    int texts;
    double *sum;   /* (RESAMPLES + 1, WAYS * FIELDS) */
    double *value; /* (RESAMPLES + 1) */
    gsl_rng *rng;
} sample;

/* A sum divided by another, of the same way or of a different one. */
typedef struct {
    int over, under;
} quotient;

static int column_of(int way, spec_timing_online_field field)
{
    return way * FIELDS + (int)field;
}

/* Returns a product of n quotients, with its interval if there are enough texts. */
static spec_block_interval ratio(const sample *s, const quotient *of, int n)
{
    const int resamples = s->texts >= SPEC_TIMING_ONLINE_INTERVAL_TEXTS ? RESAMPLES : 0;
    for (int r = 0; r <= resamples; r++) {
        const double *sum = s->sum + (size_t)r * WAYS * FIELDS;
        s->value[r] = 1.0;
        for (int i = 0; i < n; i++) s->value[r] *= sum[of[i].over] / sum[of[i].under];
    }
    return spec_block_bootstrap_interval(s->value, resamples, s->texts, interval_error);
}

static void write_interval(spec_table *table, const char *name, spec_block_interval interval)
{
    spec_table_interval(table, name, interval.value, interval.low, interval.high);
}

static void write_way(spec_table *table, const sample *s, const spec_timing_online *timed, int way)
{
#define PER(way, over, under)                                                                      \
    (quotient)                                                                                     \
    {                                                                                              \
        column_of((way), SPEC_TIMING_ONLINE_##over), column_of((way), SPEC_TIMING_ONLINE_##under)  \
    }
    const bool learns = way == SPEC_TIMING_ONLINE_LEARNING;
    spec_table_text(table, "learns",
                    learns ? spec_online_positions_names[timed->plan.online.positions] : "static");
    spec_table_integer(table, "texts", s->texts);
    spec_table_integer(table, "rounds",
                       (long long)s->sum[column_of(way, SPEC_TIMING_ONLINE_ROUNDS)]);
    write_interval(table, "alpha_tested", ratio(s, &PER(way, ACCEPTED, TESTED), 1));
    write_interval(table, "tokens_per_round", ratio(s, &PER(way, TOKENS, ROUNDS), 1));
    spec_table_number(table, "tokens_per_s", ratio(s, &PER(way, TOKENS, SECONDS), 1).value);
    if (!learns) return;
    spec_table_number(table, "learning_share", ratio(s, &PER(way, LEARN, SECONDS), 1).value);
    const quotient gain[] = {PER(way, TOKENS, SECONDS),
                             PER(SPEC_TIMING_ONLINE_STATIC, SECONDS, TOKENS)};
    write_interval(table, "speed_gain", ratio(s, gain, 2));
#undef PER
}

/* Writes the rows of texts first..until-1. */
static int write_part(spec_table *table, sample *s, const spec_timing_online *timed,
                      const char *name, int first, int until)
{
    const double *block = timed->block + (size_t)first * WAYS * FIELDS;
    s->texts = until - first;
    spec_block_bootstrap_sums(s->sum, block, s->texts, WAYS * FIELDS,
                              s->texts >= SPEC_TIMING_ONLINE_INTERVAL_TEXTS ? RESAMPLES : 0,
                              s->rng);
    for (int way = 0; way < WAYS; way++) {
        spec_table_text(table, "part", name);
        write_way(table, s, timed, way);
        if (spec_table_append(table) != GSL_SUCCESS) return GSL_ENOMEM;
    }
    return GSL_SUCCESS;
}

static char *provenance(const spec_timing_online *timed, const char *asked)
{
    const spec_timing_online_plan *plan = &timed->plan;
    const spec_draft_learner_plan *learner = &plan->online.learner;
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) return NULL;
    fprintf(text.out,
            "speclab %s\ncompiler: %s\ntarget: %s\ndraft: %s\nprompts: %s\nK: %d\n"
            "learning: loss %s, rate %.10g, %ld updates of %d windows of %d tokens\n"
            "times are this machine's on that day; tokens and tallies follow from the seed\n| %s",
            spec_build_info_version, spec_build_info_compiler, plan->decoder.target->spec,
            plan->learning->spec, plan->prompts->source, plan->decoder.K,
            spec_losses_names[learner->loss], learner->rate, timed->updates, learner->texts,
            learner->places, asked);
    return spec_memory_text_take(&text, NULL);
}

int spec_timing_online_report_table(spec_table *ret, const spec_timing_online *timed,
                                    const char *asked, spec_error *error)
{
    int status = GSL_SUCCESS;
    const int texts = timed->plan.texts,
              parts = texts < SPEC_TIMING_ONLINE_PARTS ? texts : SPEC_TIMING_ONLINE_PARTS;
    sample s = {.sum = malloc((size_t)(RESAMPLES + 1) * WAYS * FIELDS * sizeof *s.sum),
                .value = malloc((RESAMPLES + 1) * sizeof *s.value),
                .rng = spec_rng_alloc()};
    *ret = (spec_table){0};
    if (s.sum == NULL || s.value == NULL || s.rng == NULL ||
        spec_table_init(ret, columns, COLUMNS) != GSL_SUCCESS)
        SPEC_TRY(spec_no_memory(error));
    spec_rng_stream(s.rng, spec_rng_named_seed(timed->plan.seed, "bench bootstrap"), 0);
    free(ret->provenance);
    if ((ret->provenance = provenance(timed, asked)) == NULL) SPEC_TRY(spec_no_memory(error));
    for (int part = 0; part <= parts; part++) {
        char name[16] = "all";
        if (part < parts) snprintf(name, sizeof name, "%d", part + 1);
        const int first = part < parts ? part * texts / parts : 0,
                  until = part < parts ? (part + 1) * texts / parts : texts;
        if (write_part(ret, &s, timed, name, first, until) != GSL_SUCCESS)
            SPEC_TRY(spec_no_memory(error));
    }
done:
    free(s.sum);
    free(s.value);
    if (s.rng != NULL) gsl_rng_free(s.rng);
    if (status != GSL_SUCCESS) spec_table_free(ret);
    return status;
}
