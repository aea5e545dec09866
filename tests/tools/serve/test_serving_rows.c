/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares runs that are shorter than their longest requests with a theorem. */
#include "tools/serve/serving_rows.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

/* The mean step is base / (1 - load) exactly: the engine spends the share 1 - load of its time on
 * `base`, once in each step. Here most of the load is long contexts, whose requests take 60 s, and
 * a run has 10 s. 16 answers have a standard error of about .02. If runs began with requests in
 * proportion to their length alone, steps would take .86 of that. */
TEST(short_runs_have_the_mean_step, SLOW | STATISTICS)
{
    enum { ANSWERS = 16 };
    static spec_serving_question question;
    static spec_serving_rows rows;
    const double base = 2e-3, kv = 400e-9;
    double steps = 0.0, seconds = 0.0, load = NAN;
    question = (spec_serving_question){
        .load = SPEC_SERVING_OPEN, .rate = 20.0, .alpha = 0.8, .measured = 200, .warm = 41};
    spec_requests *requests = &question.requests;
    requests->speed = 1.0;
    assert_works(spec_acceptance_process_init(&question.process, "iid", 0.8, &error));
    assert_works(spec_slo_parse(&question.slo, "", &error));
    assert_works(spec_step_cost_create(&question.cost, "step=2ms,kv=400ns", NULL, &error));
    assert_works(spec_serving_choices_init(&question.choices, "0", "fixed", question.cost, &error));
    assert_works(spec_arrivals_init(&requests->arrivals, "poisson", 20.0, &error));
    assert_works(spec_length_law_init(&requests->prompt, "0", 0, &error));
    assert_works(
        spec_length_law_init(&requests->output, "lognormal?mean=64&sigma=2&most=20000", 1, &error));
    assert_works(spec_alpha_law_init(&requests->alpha, "one", 0.8, &error));
    question.by_length = spec_requests_by_length(requests);
    question.plan = (spec_serving_plan){.requests = spec_requests_source(requests),
                                        .cost = question.cost,
                                        .slots = 1 << 16,
                                        .block = 16};
    for (uint64_t i = 0; i < ANSWERS; i++) {
        const spec_point point = {.seed = spec_test_seed() + i};
        assert_works(spec_serving_rows_run(&rows, &question, &point, &error));
        assert_true(spec_serving_row_counts(&rows.row[0]));
        for (int r = 0; r < rows.row[0].runs.n; r++) {
            steps += (double)rows.row[0].runs.run[r].steps;
            seconds += rows.row[0].runs.run[r].step;
        }
        load = rows.row[0].load;
        spec_serving_rows_free(&rows);
    }
    /* a second route to the load: steps read 1, 2, ..., L - 1 tokens */
    const double L = spec_length_law_mean(&requests->output),
                 L2 = spec_length_law_mean_square(&requests->output);
    assert_near(load, 20.0 * kv * 0.5 * (L2 - L), 0.02);
    assert_near(seconds / steps, base / (1.0 - load), 0.08);
    spec_serving_question_free(&question);
}
