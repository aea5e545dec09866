/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/synthetic/cases.h"

#include "base/noise.h"
#include "models/model_kinds.h"
#include "models/row.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_math.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const spec_cases_families[] = {"plain",    "zeros",   "levels", "equal", "near",
                                           "disjoint", "one-hot", "mixed",  NULL};

/* ---- pairs ----------------------------------------------------------------------------------- */

static int below(gsl_rng *rng, int n)
{
    return (int)(gsl_rng_uniform(rng) * n);
}

static void plain(double *row, int vocab, gsl_rng *rng)
{
    for (int i = 0; i < vocab; i++) row[i] = -log(gsl_rng_uniform_pos(rng));
    spec_row_normalise(row, vocab);
}

static void levels(double *row, int vocab, gsl_rng *rng)
{
    for (int i = 0; i < vocab; i++) row[i] = 1 + below(rng, 3);
    spec_row_normalise(row, vocab);
}

/* Sets tokens outside `keep` (one bit each) to zero. */
static void restrict_to(double *row, int vocab, int keep)
{
    for (int i = 0; i < vocab; i++)
        if (!(keep >> i & 1)) row[i] = 0.0;
    spec_row_normalise(row, vocab);
}

void spec_cases_pair(double *target, double *draft, int vocab, spec_cases_family family,
                     gsl_rng *rng)
{
    const int all = (1 << vocab) - 1;
    if (family == SPEC_CASES_MIXED) family = (spec_cases_family)below(rng, SPEC_CASES_MIXED);
    plain(target, vocab, rng);
    plain(draft, vocab, rng);
    switch (family) {
    case SPEC_CASES_ZEROS:
        restrict_to(target, vocab, 1 + below(rng, all));
        restrict_to(draft, vocab, 1 + below(rng, all));
        break;
    case SPEC_CASES_LEVELS:
        levels(target, vocab, rng);
        levels(draft, vocab, rng);
        break;
    case SPEC_CASES_EQUAL:
        memcpy(draft, target, (size_t)vocab * sizeof *draft);
        break;
    case SPEC_CASES_NEAR:
        for (int i = 0; i < vocab; i++)
            draft[i] = fmin(target[i] * (1.0 + (below(rng, 3) - 1) * GSL_DBL_EPSILON), 1.0);
        break;
    case SPEC_CASES_DISJOINT: {
        if (vocab == 1) break;
        const int keep = 1 + below(rng, all - 1);
        restrict_to(target, vocab, keep);
        restrict_to(draft, vocab, all & ~keep);
        break;
    }
    case SPEC_CASES_ONE_HOT:
        restrict_to(target, vocab, 1 << below(rng, vocab));
        restrict_to(draft, vocab, 1 << below(rng, vocab));
        break;
    default:
        break;
    }
}

/* ---- the model ------------------------------------------------------------------------------- */

typedef struct {
    spec_model head;
    spec_cases_family family;
    bool is_draft;
    uint64_t seed;
} cases;

static int open_cases(spec_model **ret_model, spec_settings *settings, const spec_model *opt_target,
                      spec_context *opt_context, spec_error *error)
{
    (void)opt_context;
    static const char *const sides[] = {"target", "draft", NULL};
    (void)opt_target;
    int status = GSL_SUCCESS, vocab, order, family, side, end;
    uint64_t seed;
    SPEC_TRY(spec_settings_int(&vocab, settings, "V", 3, 1, SPEC_CASES_VOCAB_MAX, error));
    SPEC_TRY(spec_settings_int(&order, settings, "order", 2, 0, SPEC_ORDER_MAX, error));
    SPEC_TRY(spec_settings_choice(&family, settings, "family", SPEC_CASES_PLAIN,
                                  spec_cases_families, error));
    SPEC_TRY(spec_settings_choice(&side, settings, "side", 0, sides, error));
    SPEC_TRY(spec_settings_u64(&seed, settings, "seed", 1, error));
    SPEC_TRY(spec_settings_int(&end, settings, "end", -1, -1, vocab - 1, error));

    cases *model = calloc(1, sizeof *model);
    if (model == NULL) SPEC_TRY(spec_no_memory(error));
    model->head.vocab = vocab;
    model->head.order = order;
    model->head.ends = spec_text_ends_one(end);
    model->family = (spec_cases_family)family;
    model->is_draft = side == 1;
    model->seed = seed;
    *ret_model = &model->head;
done:
    return status;
}

static void close_cases(spec_model *model)
{
    free(model);
}

static const double *cases_row(const spec_model *head, void *session, const int *context, size_t n,
                               double *scratch, spec_error *error)
{
    (void)session, (void)error;
    const cases *model = (const cases *)head;
    double other[SPEC_CASES_VOCAB_MAX];
    uint64_t state = spec_noise_key(model->seed, context, n, head->order);
    gsl_rng rng = {.type = spec_noise_rng_type, .state = &state};
    spec_cases_pair(model->is_draft ? other : scratch, model->is_draft ? scratch : other,
                    head->vocab, model->family, &rng);
    return scratch;
}

const spec_model_kind spec_model_cases = {
    .name = "cases",
    .usage = "cases?V=3&order=2&family=plain&seed=1&side=target&end=-1",
    .summary =
        "one side of a hard pair: plain, zeros, levels, equal, near, disjoint, one-hot or mixed",
    .reference = "",
    .open = open_cases,
    .close = close_cases,
    .row = cases_row,
};
