/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_workshop: a simulated measurement: models with programmed costs on a test's clock. */
#ifndef SPECLAB_TESTS_TIMED_WORKSHOP_H
#define SPECLAB_TESTS_TIMED_WORKSHOP_H

#include "tests/support/paced_model.h"
#include "tests/support/table_model.h"
#include "tools/bench/timing_prediction.h"

/* Makes a pair whose draft tokens are accepted with probability .7 in every context. A plain token
 * takes 27.1 ms, a draft token 3.85 ms; each further token of a pass takes `more` seconds. 40 texts
 * of 200 tokens, K = 4. */
typedef struct {
    table_model target_rows, draft_rows;
    paced_model target, draft;
    double now;
    spec_timing_prompts prompts;
    spec_timing_plan plan;
    spec_timing timed;
    spec_timing_prediction prediction;
} workshop;

workshop *workshop_init(double target_more, double draft_more);

/* Measures and predicts, or fails the test. */
void workshop_run(workshop *w);
void workshop_free(workshop *w);

/* Returns the exact speed-up of these models. A round is K draft calls, one more call after a fully
 * accepted draft, and a pass over K + 1 tokens. */
double workshop_speedup(const workshop *w, int K);

#endif
