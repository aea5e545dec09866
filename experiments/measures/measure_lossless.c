/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "experiments/measures/text_law.h"

enum { SAMPLES_MAX = 1000000000 };

static int read_point(spec_decoder_config *config, spec_text_law *law, int *ret_samples,
                      const spec_point *point, const spec_measure *measure, spec_error *error)
{
    int tokens, K, status = GSL_SUCCESS;
    bool ahead;
    SPEC_TRY(spec_point_int(&tokens, point, measure, "tokens", 1, 64, error));
    SPEC_TRY(spec_point_int(ret_samples, point, measure, "samples", 1, SAMPLES_MAX, error));
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_ahead(&ahead, point, measure, K, tokens, error));
    SPEC_TRY(spec_point_decoder(config, point, measure, error));
    config->ahead = ahead;
    SPEC_TRY(spec_text_law_init(law, config, tokens, error));
done:
    return status;
}

/* Returns the verdict. A sample cannot prove a rule lossless, and a rule that is marked as a
 * mistake stays one even if the sample does not show it. */
static const char *verdict(const spec_text_law *law, bool anticipates, double p)
{
    const char *marked = spec_measures_marked_bias(&law->rule, anticipates);
    if (marked != NULL) return marked;
    return p < SPEC_CHECK_P ? "NOT LOSSLESS" : "consistent";
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_decoder_config config;
    spec_text_law law = {0};
    spec_goodness test;
    int samples, status = GSL_SUCCESS;
    bool anticipates;
    SPEC_TRY(read_point(&config, &law, &samples, point, measure, error));
    SPEC_TRY(spec_measures_anticipates(&anticipates, config.policy, error));
    SPEC_TRY(spec_text_law_test(&test, &law, (uint64_t)samples, point->seed,
                                spec_context_pool(point->opt_context), point->stop, error));

    spec_table_number(table, "statistic", test.statistic);
    spec_table_integer(table, "df", test.df);
    spec_table_number(table, "p", test.p);
    spec_table_text(table, "verdict", verdict(&law, anticipates, test.p));
done:
    spec_text_law_free(&law);
    return status;
}

static const char *const parameters[] = {
    "target",   "draft=",         "drafting=chain", "policy=fixed", "rule=token", "K",
    "tokens=2", "samples=100000", "replica=1",      "ahead=0",      NULL};
static const char *const columns[] = {"statistic", "df", "p", "verdict", NULL};
static const spec_headline headlines[] = {{.column = "p"}, {0}};
static const char *const checked[] = {"verdict", NULL};

const spec_measure spec_measure_lossless = {
    .name = "lossless",
    .summary = "chi-square test of sampled texts against the exact distribution of the target",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .run = run,
};
