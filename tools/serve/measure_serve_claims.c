/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/settings.h"
#include "experiments/measures/measures.h"
#include "tools/serve/claim_quantities.h"

#include <gsl/gsl_math.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const spec_claim_quantity *quantity;
    spec_claim_relation relation;
    double printed, within;
    spec_claim claim;
    spec_step_cost *cost, *draft;
    spec_accepted_lengths accepted;
    spec_settings settings; /* the quantity's settings */
} settled;

/* Reads the numbers of "QUANTITY?key=value&...". */
static int read_quantity(settled *s, const char *text, spec_error *error)
{
    static const char keys[] = "quantity?alpha=&K=0&rate=&batch=&context=0&prompt=0&output=256&"
                               "window=1e9&spread=one&speedup=&c=&guess=";
    spec_claim *claim = &s->claim;
    const struct {
        const char *name;
        double *number, fallback, low, high;
    } numbers[] = {
        {"alpha", &claim->alpha, NAN, 0.0, 1.0},
        {"rate", &claim->rate, NAN, 1e-9, 1e9},
        {"batch", &claim->batch, NAN, 1.0, 1e6},
        {"context", &claim->context, 0.0, 0.0, 1e9},
        {"window", &claim->window, 1e9, 0.0, 1e9},
        {"prompt", &claim->prompt, 0.0, 0.0, 1e6},
        {"output", &claim->output, 256.0, 1.0, 1e6},
        {"speedup", &claim->speedup, NAN, 1e-6, 1e6},
        {"c", &claim->c, NAN, 1e-6, 1e6},
        {"guess", &claim->guess, NAN, 0.0, 1.0},
    };
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_init(&s->settings, text, error));
    s->quantity = spec_claim_quantity_find(s->settings.name, error);
    if (s->quantity == NULL) SPEC_TRY(GSL_EINVAL);
    SPEC_TRY(spec_settings_check(&s->settings, keys, NULL, error));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        SPEC_TRY(spec_settings_double(numbers[i].number, &s->settings, numbers[i].name,
                                      numbers[i].fallback, numbers[i].low, numbers[i].high, error));
    SPEC_TRY(spec_settings_int(&claim->K, &s->settings, "K", 0, 0, SPEC_K_MAX, error));
    claim->spread = spec_settings_text(&s->settings, "spread");
    if (claim->spread == NULL) claim->spread = "one";
done:
    return status;
}

static int read_claim(settled *s, const spec_point *point, const spec_measure *measure,
                      spec_error *error)
{
    int status = GSL_SUCCESS, relation = 0;
    const char *text = spec_point_text(point, measure, "relation");
    const char *draft = spec_point_text(point, measure, "draft_model");
    const char *printed = spec_point_text(point, measure, "printed");
    while (spec_claim_relations[relation] != NULL &&
           strcmp(spec_claim_relations[relation], text) != 0)
        relation++;
    if (spec_claim_relations[relation] == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "relation: '%.60s' is not at least, at most, more than or is", text));
    s->relation = (spec_claim_relation)relation;
    s->printed = NAN;
    if (printed[0] != '\0')
        SPEC_TRY(spec_point_double(&s->printed, point, measure, "printed", -1e12, 1e12, error));
    SPEC_TRY(spec_point_double(&s->within, point, measure, "within", 0.0, 1.0, error));
    SPEC_TRY(spec_point_blame(read_quantity(s, spec_point_text(point, measure, "quantity"), error),
                              "quantity", error));
    SPEC_TRY(spec_point_step_cost(&s->cost, point, measure, error));
    if (draft[0] != '\0')
        SPEC_TRY(spec_point_blame(spec_step_cost_create(&s->draft, draft, NULL, error),
                                  "draft_model", error));
    s->claim.cost = s->cost;
    s->claim.opt_draft = s->draft;
    s->claim.seed = point->seed;
    s->claim.opt_context = point->opt_context;
    s->claim.opt_stop = point->stop;
done:
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    int status = GSL_SUCCESS;
    settled s = {0};
    spec_claim_value value;
    SPEC_TRY(read_claim(&s, point, measure, error));
    SPEC_TRY(spec_point_read(point));
    const char *accepted = spec_point_text(point, measure, "accepted");
    if (accepted[0] != '\0') {
        SPEC_TRY(spec_point_blame(spec_accepted_lengths_load(&s.accepted, accepted, error),
                                  "accepted", error));
        s.claim.opt_accepted = &s.accepted;
    }
    SPEC_TRY(spec_point_blame(s.quantity->compute(&value, &s.claim, error), "quantity", error));
    spec_table_number(table, "value", value.value);
    if (value.low < value.high) {
        spec_table_number(table, "value_low", value.low);
        spec_table_number(table, "value_high", value.high);
    }
    if (!isnan(s.printed))
        spec_table_text(table, "settled",
                        spec_claim_verdict(&value, s.relation, s.printed, s.within));
done:
    spec_settings_free(&s.settings);
    spec_accepted_lengths_free(&s.accepted);
    spec_step_cost_free(s.cost);
    spec_step_cost_free(s.draft);
    return status;
}

static const char *const parameters[] = {
    "quantity",    "relation=is",  "printed=",  "within=0.01", "cost=step=1s",
    "draft_cost=", "draft_model=", "accepted=", NULL};
static const char *const columns[] = {"value", "value_low", "value_high", "settled", NULL};
static const spec_headline headlines[] = {{.column = "value"}, {0}};

const spec_measure spec_measure_serve_claims = {
    .name = "serve_claims",
    .summary = "a number that settles a published claim about serving, next to the published "
               "number",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
