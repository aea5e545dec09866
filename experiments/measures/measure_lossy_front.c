/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include "analysis/rules/lossy_front.h"

#include <stdlib.h>
#include <string.h>

/* Reads the draft. It must be a chain of samples or of most probable tokens, because only then does
 * the drafted text have a law. */
static int read_draft(const char **ret_model, bool *ret_greedy, const char *draft,
                      spec_error *error)
{
    const char *names[] = {"chain:", "greedy:"};
    for (int i = 0; i < 2; i++) {
        if (strncmp(draft, names[i], strlen(names[i])) != 0) continue;
        *ret_model = draft + strlen(names[i]);
        *ret_greedy = i == 1;
        return GSL_SUCCESS;
    }
    return spec_fail(error, GSL_EINVAL, "draft must be chain:MODEL or greedy:MODEL, got '%.100s'",
                     draft);
}

/* Fills ret_tv (K) from the laws of the first K tokens of target and draft. */
static int depths(double *ret_tv, spec_output_law *law, const spec_decoder_config *config,
                  bool greedy, spec_error *error)
{
    const spec_decoder_config drafted = {.target = config->opt_draft, .opt_stop = config->opt_stop};
    double *texts = calloc(law->size, sizeof *texts);
    if (texts == NULL) return spec_no_memory(error);
    const int status = spec_output_law_promise(texts, &drafted, greedy, NULL, 0, config->K, error);
    if (status == GSL_SUCCESS)
        spec_lossy_front_depths(ret_tv, law->target_law, texts, config->target->vocab, config->K);
    free(texts);
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    spec_output_law law = {0};
    const char *model = NULL;
    bool greedy = false;
    double tv[SPEC_K_MAX];
    int status = GSL_SUCCESS;
    config.opt_stop = point->stop;
    config.opt_listener = point->opt_listener;
    config.rule = spec_point_text(point, measure, "rule");
    SPEC_TRY(read_draft(&model, &greedy, spec_point_text(point, measure, "draft"), error));
    config.drafting = greedy ? "greedy" : "chain";
    SPEC_TRY(spec_point_int(&config.K, point, measure, "K", 1, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_law(&law, &config, point, measure, model, config.K, error));
    SPEC_TRY(depths(tv, &law, &config, greedy, error));

    spec_table_number(table, "mean_n_accepted", law.accepted);
    spec_table_number(table, "tv", law.tv);
    spec_table_number(table, "front_tv", spec_lossy_front_tv(tv, config.K, law.accepted));
    spec_table_number(table, "lossless_n_accepted", spec_lossy_front_accepted(tv, config.K, 0.0));
    spec_table_number(table, "most_n_accepted", spec_lossy_front_accepted(tv, config.K, law.tv));
done:
    spec_output_law_free(&law);
    return status;
}

static const char *const parameters[] = {"rule", "draft", "target", "K", NULL};
static const char *const columns[] = {"mean_n_accepted", "tv", "front_tv", "lossless_n_accepted",
                                      "most_n_accepted", NULL};
static const spec_headline headlines[] = {
    {.column = "tv", .exact = true},
    {.column = "front_tv", .exact = true},
    {.column = "mean_n_accepted", .unit = "tokens per round", .exact = true},
    {.column = "most_n_accepted", .unit = "tokens per round", .exact = true},
    {0},
};

const spec_measure spec_measure_lossy_front = {
    .name = "lossy_front",
    .summary = "how many tokens a rule keeps and at what total variation, exactly, next to the "
               "best that any rule could do",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
