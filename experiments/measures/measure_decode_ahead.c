/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/ahead.h"
#include "analysis/alpha.h"
#include "experiments/measures/pair_theory.h"

#include <math.h>

/* Return the time of a round with this many draft calls: if each chain is drafted beforehand, or if
 * a share of the chains was drafted ahead in time. */
static double time_beforehand(const spec_costs *costs, int calls)
{
    return calls * costs->draft + costs->verify + costs->fixed;
}

static double time_ahead(const spec_costs *costs, int calls, double hit)
{
    const double during = calls > 0 ? (calls + 1) * costs->draft : 0.0;
    return spec_ahead_round(hit, calls * costs->draft, during, costs->verify, 0.0) + costs->fixed;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_decoding_config config;
    spec_tally tally;
    spec_estimate emitted, rate, hit;
    double emitted_theory, hit_theory;
    int burn_in, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_int(&burn_in, point, measure, "burn_in", 1, 1000000, error));
    SPEC_TRY(spec_point_decoder(&config.decoder, point, measure, error));
    config.decoder.ahead = true;
    config.burn_in = (uint64_t)burn_in;
    const spec_round_source source = spec_sources_decoding(&config);
    SPEC_TRY(spec_point_simulate(&tally, &emitted, &rate, &hit, point, &source, error));
    SPEC_TRY(spec_pair_theory_emitted(&emitted_theory, &config.decoder, error));
    SPEC_TRY(spec_pair_theory_hit(&hit_theory, &config.decoder, error));

    /* The prediction from alpha and the share of right guesses, as if all rounds were alike. */
    const int K = config.decoder.K, calls = spec_drafter_calls(config.decoder.opt_draft, K);
    const spec_costs *costs = &config.decoder.costs;
    const double alpha = spec_alpha_tested(tally.passed, tally.tested, SPEC_K_MAX);
    const double guess =
        (double)tally.guesses_right / (double)tally.guesses_tested; /* 0/0 leaves the cell empty */
    const double hit_iid = spec_ahead_hit(alpha, K, guess);
    if (!(rate.se > 1e-12 * rate.mean)) rate.se = 0.0; /* rounds are equal; the clock only rounds */
    const double ahead_theory = emitted_theory / time_ahead(costs, calls, hit_theory);

    spec_table_integer(table, "rounds", (long long)tally.rounds);
    spec_measures_beside_theory(table, "emitted", &emitted, emitted_theory);
    spec_table_number(table, "alpha_tested", alpha);
    spec_table_number(table, "guess", guess);
    spec_measures_beside_theory(table, "hit", &hit, hit_theory);
    spec_table_number(table, "hit_iid", hit_iid);
    spec_table_number(table, "speedup", emitted.mean / time_beforehand(costs, calls));
    spec_table_number(table, "speedup_theory", emitted_theory / time_beforehand(costs, calls));
    spec_measures_beside_theory(table, "speedup_ahead", &rate, ahead_theory);
    /* The tokens are the same with and without drafting ahead. So from text to text only the number
     * of rounds that find their chain ready varies. */
    const double time = tally.time / (double)tally.rounds,
                 gain = time_beforehand(costs, calls) / time;
    spec_table_number(table, "gain", gain);
    spec_table_number(table, "gain_se", gain * calls * costs->draft * hit.se / time);
done:
    return status;
}

static const char *const parameters[] = {"target",     "draft", "drafting=chain", "rule=token",
                                         "K",          "c=0.1", "verify=1",       "fixed=0",
                                         "burn_in=32", NULL};
static const char *const columns[] = {"rounds",           "emitted",
                                      "emitted_se",       "emitted_theory",
                                      "emitted_z",        "alpha_tested",
                                      "guess",            "hit",
                                      "hit_se",           "hit_theory",
                                      "hit_z",            "hit_iid",
                                      "speedup",          "speedup_theory",
                                      "speedup_ahead",    "speedup_ahead_se",
                                      "speedup_ahead_theory", "speedup_ahead_z",
                                      "gain",             "gain_se",          NULL};
static const spec_headline headlines[] = {
    {.column = "speedup_ahead"},
    {.column = "gain"},
    {.column = "hit"},
    {0},
};
static const char *const checked[] = {"emitted_z", "hit_z", "speedup_ahead_z", NULL};

static const spec_assumption assumes[] = {
    {"c", NULL, NULL, NULL, NULL},
    {"drafting", NULL, NULL, NULL, NULL},
    {"rule", NULL, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const spec_measure spec_measure_decode_ahead = {
    .name = "decode_ahead",
    .summary = "the decoding loop that drafts ahead: hit rate, and speed-up with and without, "
               "compared with exact theory",
    .parameters = parameters,
    .assumes = assumes,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .simulates = true,
    .divides = true,
    .run = run,
};
