/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Speed-up and lengths of one policy. */
typedef struct {
    spec_estimate emitted, speedup;
    double drafted; /* tokens verified per round */
    uint64_t rounds;
} outcome;

/* The policies of a comma-separated list, which must not be empty. */
typedef struct {
    char *text;
    const char **spec;
    size_t n;
} policies;

static void free_policies(policies *list)
{
    free(list->text);
    free(list->spec);
    *list = (policies){0};
}

static int read_policies(policies *list, const spec_point *point, const spec_measure *measure,
                         spec_error *error)
{
    const char *text = spec_point_text(point, measure, "policies");
    size_t n = 1;
    *list = (policies){0};
    for (const char *at = text; (at = strchr(at, ',')) != NULL; at++) n++;
    list->text = strdup(text);
    list->spec = calloc(n, sizeof *list->spec);
    if (list->text == NULL || list->spec == NULL) {
        free_policies(list);
        return spec_no_memory(error);
    }
    for (char *rest = list->text, *spec; (spec = strsep(&rest, ",")) != NULL;)
        list->spec[list->n++] = spec;
    return GSL_SUCCESS;
}

static int check_policies(const policies *list, int K, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (size_t i = 0; i < list->n && status == GSL_SUCCESS; i++) {
        spec_policy policy;
        status =
            spec_point_blame(spec_policy_init(&policy, list->spec[i], K, error), "policies", error);
        spec_policy_free(&policy);
    }
    return status;
}

static int count_rows(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure,
                      spec_error *error)
{
    policies list;
    const int status = read_policies(&list, point, measure, error);
    *ret_rows = list.n;
    free_policies(&list);
    return status;
}

typedef struct {
    const spec_point *point;
    spec_decoding_config config;
    int done, runs; /* counts of all simulations of the point */
} comparison;

static int simulate(outcome *ret, comparison *with, const char *policy, int K, spec_error *error)
{
    spec_point point = *with->point;
    spec_tally tally;
    int status = GSL_SUCCESS;
    point.opt_listener = NULL;
    with->config.decoder.policy = policy;
    with->config.decoder.K = K;
    const spec_round_source source = spec_sources_decoding(&with->config);
    SPEC_TRY(
        spec_point_simulate(&tally, &ret->emitted, &ret->speedup, NULL, &point, &source, error));
    ret->rounds = tally.rounds;
    ret->drafted = (double)tally.drafted / (double)tally.rounds;
    spec_listener_tell(with->point->opt_listener, (double)++with->done / with->runs);
done:
    return status;
}

/* Finds the best fixed length in 0..most. At length 0 a round is one pass of the target. */
static int best_fixed(outcome *ret, int *ret_K, comparison *with, int most, spec_error *error)
{
    const spec_costs *costs = &with->config.decoder.costs;
    int status = GSL_SUCCESS;
    *ret = (outcome){.speedup.mean = 1.0 / (costs->verify + costs->fixed)};
    *ret_K = 0;
    for (int K = 1; K <= most; K++) {
        outcome fixed;
        SPEC_TRY(simulate(&fixed, with, spec_policy_fixed.name, K, error));
        if (fixed.speedup.mean > ret->speedup.mean) *ret = fixed, *ret_K = K;
    }
done:
    return status;
}

/* Returns the standard error of a / b, treating both as independent. */
static double ratio_se(const spec_estimate *a, const spec_estimate *b)
{
    return a->mean / b->mean * hypot(a->se / a->mean, b->se / b->mean);
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    comparison with = {.point = point};
    policies list = {0};
    outcome fixed, oracle;
    double verify_token;
    int K, most, one_pass, burn_in, best_K, status = GSL_SUCCESS;
    SPEC_TRY(read_policies(&list, point, measure, error));
    SPEC_TRY(spec_point_int(&burn_in, point, measure, "burn_in", 0, 1000000, error));
    SPEC_TRY(spec_point_int(&most, point, measure, "most", 1, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_int(&one_pass, point, measure, "one_pass", 0, 1, error));
    SPEC_TRY(spec_point_double(&verify_token, point, measure, "verify_token", 0.0, 1e6, error));
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 0, SPEC_K_MAX, error));
    SPEC_TRY(check_policies(&list, K, error));
    SPEC_TRY(spec_point_decoder(&with.config.decoder, point, measure, error));
    with.config.decoder.costs.verify_token = verify_token;
    with.config.decoder.costs.one_pass = one_pass == 1;
    with.config.burn_in = (uint64_t)burn_in;
    with.runs = most + 1 + (int)list.n;
    SPEC_TRY(best_fixed(&fixed, &best_K, &with, most, error));
    SPEC_TRY(simulate(&oracle, &with, spec_policy_oracle.name, most, error));
    for (size_t i = 0; i < list.n; i++) {
        outcome own;
        SPEC_TRY(simulate(&own, &with, list.spec[i], K, error));
        spec_table_text(table, "policy", list.spec[i]);
        spec_table_integer(table, "rounds", (long long)own.rounds);
        spec_table_number(table, "drafted", own.drafted);
        spec_table_number(table, "emitted", own.emitted.mean);
        spec_table_number(table, "emitted_se", own.emitted.se);
        spec_table_number(table, "speedup", own.speedup.mean);
        spec_table_number(table, "speedup_se", own.speedup.se);
        spec_table_integer(table, "best_K", best_K);
        spec_table_number(table, "speedup_fixed", fixed.speedup.mean);
        spec_table_number(table, "speedup_oracle", oracle.speedup.mean);
        spec_table_number(table, "loss_fixed", 1.0 - own.speedup.mean / fixed.speedup.mean);
        spec_table_number(table, "loss_fixed_se", ratio_se(&own.speedup, &fixed.speedup));
        spec_table_number(table, "loss_oracle", 1.0 - own.speedup.mean / oracle.speedup.mean);
        spec_table_number(table, "loss_oracle_se", ratio_se(&own.speedup, &oracle.speedup));
        if (i + 1 < list.n && spec_table_append(table) != GSL_SUCCESS)
            SPEC_TRY(spec_no_memory(error));
    }
done:
    free_policies(&list);
    return status;
}

static const char *const parameters[] = {
    "target",     "draft=",  "drafting=chain", "policies=fixed", "rule=token",
    "K",          "c=0.1",   "verify=1",       "verify_token=0", "fixed=0",
    "one_pass=0", "most=15", "burn_in=32",     NULL};
static const char *const columns[] = {
    "policy",     "rounds",        "drafted",     "emitted",        "emitted_se",
    "speedup",    "speedup_se",    "best_K",      "speedup_fixed",  "speedup_oracle",
    "loss_fixed", "loss_fixed_se", "loss_oracle", "loss_oracle_se", NULL};
static const spec_headline headlines[] = {
    {.column = "speedup"},
    {.column = "loss_fixed"},
    {.column = "loss_oracle"},
    {0},
};
static const char *const keys[] = {"policy", NULL};

const spec_measure spec_measure_lengths = {
    .name = "lengths",
    .summary = "length policies side by side: the speed-up of each on the virtual clock, and what "
               "it loses against the best fixed length and against an oracle",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .keys = keys,
    .simulates = true,
    .rows = count_rows,
    .run = run,
};
