/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop_flag.h"
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include "analysis/capped_geometric.h"
#include "analysis/finite_length.h"
#include "analysis/statistics/moments.h"
#include "base/parallel.h"
#include "sim/chance/rng.h"

#include <math.h>
#include <stdlib.h>

enum { STREAMS = 64, TOKENS_MAX = 1000000 };
#define TEXTS_MIN 1000.0

/* Simulates rounds until a text has at least `tokens` tokens; tests each draft token with its own
 * uniform number. */
static uint64_t rounds_of_text(spec_rng_state *rng, double alpha, int K, int tokens)
{
    uint64_t rounds = 0;
    for (int n = 0; n < tokens; rounds++) {
        n++;
        for (int i = 0; i < K && spec_rng_next_double(rng) < alpha; i++) n++;
    }
    return rounds;
}

typedef struct {
    spec_moments *part;
    double alpha;
    int K, tokens;
    uint64_t texts;
    const spec_point *point;
} job;

/* Stream s simulates texts s, s + STREAMS, ... */
static void simulate_stream(void *self, uint64_t s, int worker)
{
    const job *j = self;
    spec_rng_state rng = spec_rng_stream_state(j->point->seed, s);
    spec_moments moments = {0}; /* local to the thread, so that no cache line is shared */
    (void)worker;
    for (uint64_t i = s; i < j->texts; i += STREAMS) {
        if (spec_stop_is_set(j->point->stop)) break;
        spec_moments_add(&moments, (double)rounds_of_text(&rng, j->alpha, j->K, j->tokens));
    }
    j->part[s] = moments;
}

/* Returns the moments of the number of rounds over `texts` texts; merges streams in order. */
static spec_moments simulate(double alpha, int K, int tokens, uint64_t texts,
                             const spec_point *point)
{
    spec_moments all = {0}, part[STREAMS] = {{0}};
    spec_thread_pool *const pool = spec_context_pool(point->opt_context);
    spec_parallel_run(pool, simulate_stream, &(job){part, alpha, K, tokens, texts, point}, STREAMS,
                      spec_thread_pool_size(pool));
    for (int s = 0; s < STREAMS; s++) spec_moments_merge(&all, &part[s]);
    return all;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    double alpha, law[SPEC_K_MAX + 1];
    double *work = NULL;
    int K, tokens, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_double(&alpha, point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_int(&tokens, point, measure, "tokens", 1, TOKENS_MAX, error));
    SPEC_TRY(spec_point_read(point));
    if ((work = malloc(((size_t)tokens + 1) * sizeof *work)) == NULL) return spec_no_memory(error);
    const double emitted = spec_capped_geometric_mean(alpha, K),
                 variance = spec_capped_geometric_variance(alpha, K);
    for (int k = 0; k <= K; k++) law[k] = spec_capped_geometric_probability(alpha, K, k);
    const double exact = spec_finite_length_rounds(law, K + 1, tokens, work);
    /* `rounds` is the approximate number of rounds of all texts. */
    const double rounds = point->rounds > 0 ? (double)point->rounds : 1e6;
    const uint64_t texts = (uint64_t)ceil(fmax(rounds / exact, TEXTS_MIN));
    const spec_moments needed = simulate(alpha, K, tokens, texts, point);
    const double se = spec_moments_standard_error(&needed);
    SPEC_TRY(spec_stop_check(point->stop, error));

    spec_table_integer(table, "texts", (long long)needed.n);
    spec_table_number(table, "rounds_needed", needed.mean);
    spec_table_number(table, "rounds_se", se);
    spec_table_number(table, "rounds_exact", exact);
    spec_table_number(table, "rounds_z",
                      spec_moments_z(needed.mean, exact, se, (double)needed.n - 1.0));
    spec_table_number(table, "rounds_renewal",
                      spec_finite_length_rounds_renewal(emitted, variance, tokens));
    spec_table_number(table, "rounds_naive", tokens / emitted);
done:
    free(work);
    return status;
}

static const char *const parameters[] = {"alpha", "K", "tokens", NULL};
static const char *const columns[] = {"texts",    "rounds_needed",  "rounds_se",    "rounds_exact",
                                      "rounds_z", "rounds_renewal", "rounds_naive", NULL};
static const spec_headline headlines[] = {
    {.column = "rounds_needed", .unit = "rounds", .se = "rounds_se"}, {0}};
static const char *const checked[] = {"rounds_z", NULL};

const spec_measure spec_measure_finite_length = {
    .name = "finite_length",
    .summary = "rounds needed for a text of a given length: simulated, exact, by renewal theory, "
               "and as tokens / mean",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .simulates = true,
    .run = run,
};
