/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Maximum difference between equal enumerated laws, due to rounding. */
#define EQUAL_TV 1e-12

/* Splits "chain:perturb?of=target&alpha=0.8" into strategy and model. A strategy alone has no
 * model. */
static int split_draft(char **ret_drafting, const char **ret_model, const char *draft,
                       spec_error *error)
{
    const char *model = spec_drafter_model_of(draft);
    *ret_model = model == draft ? "" : model;
    *ret_drafting = strndup(draft, model == draft ? strlen(draft) : (size_t)(model - 1 - draft));
    return *ret_drafting != NULL ? GSL_SUCCESS : spec_no_memory(error);
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    spec_output_law law = {0};
    spec_rule rule;
    const char *model;
    char *drafting = NULL;
    double c = NAN;
    int tokens, status = GSL_SUCCESS;
    bool anticipates;
    config.opt_stop = point->stop;
    config.opt_listener = point->opt_listener;
    config.rule = spec_point_text(point, measure, "rule");
    config.policy = spec_point_text(point, measure, "policy");
    SPEC_TRY(split_draft(&drafting, &model, spec_point_text(point, measure, "draft"), error));
    config.drafting = drafting;
    SPEC_TRY(spec_point_int(&config.K, point, measure, "K", 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_int(&tokens, point, measure, "tokens", 1, 4096, error));
    SPEC_TRY(spec_point_ahead(&config.ahead, point, measure, config.K, tokens, error));
    if (spec_point_text(point, measure, "c")[0] != '\0')
        SPEC_TRY(spec_point_double(&c, point, measure, "c", 0.0, 1e6, error));
    SPEC_TRY(spec_point_double(&config.costs.token, point, measure, "c_token", 0.0, 1e6, error));
    SPEC_TRY(spec_point_double(&config.costs.inner, point, measure, "inner_c", 0.0, 1e6, error));
    if (!isnan(c)) config.costs.draft = c;
    SPEC_TRY(spec_point_law(&law, &config, point, measure, model, tokens, error));
    SPEC_TRY(spec_rule_init(&rule, config.rule, error));
    SPEC_TRY(spec_measures_anticipates(&anticipates, config.policy, error));

    spec_table_integer(table, "branches", (long long)law.branches);
    spec_table_number(table, "tv", law.tv);
    spec_table_number(table, "max_error", law.max_error);
    spec_table_number(table, "mean_n_accepted", law.accepted);
    /* The exact speed-up of the first round. */
    if (strcmp(config.policy, "fixed") == 0 && !config.ahead)
        spec_table_number(table, "speedup", isnan(c) ? NAN : (law.accepted + 1.0) / law.time);
    spec_table_text(table, "verdict",
                    spec_measures_verdict(&rule, anticipates, !(law.tv < EQUAL_TV)));
done:
    spec_output_law_free(&law);
    free(drafting);
    return status;
}

static const char *const parameters[] = {
    "rule",         "draft", "target",    "K",         "tokens=2", "policy=fixed",
    "inner_draft=", "c=",    "c_token=0", "inner_c=0", "ahead=0",  NULL};
static const char *const columns[] = {"branches", "tv",      "max_error", "mean_n_accepted",
                                      "speedup",  "verdict", NULL};
static const spec_headline headlines[] = {
    {.column = "tv", .exact = true},
    {.column = "mean_n_accepted", .unit = "tokens per round", .exact = true},
    {0},
};
static const char *const checked[] = {"verdict", NULL};

const spec_measure spec_measure_prove = {
    .name = "prove",
    .summary = "the exact distribution of the first tokens that a rule emits, by enumeration, "
               "compared with the claimed one",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .run = run,
};
