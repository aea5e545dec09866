/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/timing_workshop.h"

#include "analysis/capped_geometric.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>

workshop *workshop_init(double target_more, double draft_more)
{
    static const double target_row[] = {0.5, 0.3, 0.2}, draft_row[] = {0.2, 0.5, 0.3};
    workshop *w = calloc(1, sizeof *w);
    if (w == NULL) abort();
    table_model_fill((table_model_init(&w->target_rows, 3), &w->target_rows), target_row);
    table_model_fill((table_model_init(&w->draft_rows, 3), &w->draft_rows), draft_row);
    w->plan.decoder = SPEC_DECODER_DEFAULT;
    w->plan.decoder.target =
        paced_model_init(&w->target, &w->target_rows.head, 0.0271, target_more, &w->now);
    w->plan.decoder.opt_draft =
        paced_model_init(&w->draft, &w->draft_rows.head, 0.00385, draft_more, &w->now);
    assert_int_equal(spec_timing_prompts_make(&w->prompts, w->plan.decoder.target, 3, 20, 7, NULL),
                     GSL_SUCCESS);
    w->plan.prompts = &w->prompts;
    w->plan.n_K = 1;
    w->plan.K[0] = 4;
    w->plan.texts = 40;
    w->plan.tokens = 200;
    w->plan.turn = 32;
    w->plan.seed = spec_test_seed();
    w->plan.clock = paced_clock(&w->now);
    return w;
}

void workshop_run(workshop *w)
{
    spec_error error = {{0}};
    if (spec_timing_init(&w->timed, &w->plan, &error) != GSL_SUCCESS ||
        spec_timing_predict(&w->prediction, &w->timed, 0.05, 400, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
}

void workshop_free(workshop *w)
{
    spec_timing_free(&w->timed);
    spec_timing_prompts_free(&w->prompts);
    table_model_free(&w->target_rows);
    table_model_free(&w->draft_rows);
    free(w);
}

double workshop_speedup(const workshop *w, int K)
{
    const double round = K * w->draft.first + (K > 0 ? pow(0.7, K) * w->draft.more : 0.0) +
                         w->target.first + K * w->target.more;
    return spec_capped_geometric_mean(0.7, K) * w->target.first / round;
}
