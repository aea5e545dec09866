/* SPDX-License-Identifier: GPL-3.0-or-later */
/* length_run: a length choice with its cost and the state of one run, for tests.
 * Alphas and slots are the caller's; every failure ends the test. Headers only. */
#ifndef SPECLAB_TESTS_LENGTH_RUN_H
#define SPECLAB_TESTS_LENGTH_RUN_H

#include "sim/serving/length_choice.h"
#include "tests/support/near.h"

enum { LENGTH_RUN_SLOTS = 4096 };

typedef struct {
    spec_step_cost *cost;
    spec_length_choice *choice;
    void *state;
    int32_t K[LENGTH_RUN_SLOTS], slot[LENGTH_RUN_SLOTS];
} length_run;

static inline void length_run_init(length_run *run, const char *spec, const char *target,
                                   const char *opt_draft, int slots)
{
    spec_error error = {""};
    assert_true(slots <= LENGTH_RUN_SLOTS);
    if (spec_step_cost_create(&run->cost, target, opt_draft, &error) != GSL_SUCCESS ||
        spec_length_choice_create(&run->choice, spec, run->cost, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    assert_int_equal(spec_length_begin(&run->state, run->choice, slots), GSL_SUCCESS);
    for (int i = 0; i < slots; i++) {
        run->slot[i] = i;
        spec_length_enter(run->choice, run->state, i);
    }
}

static inline void length_run_free(length_run *run)
{
    spec_length_end(run->state);
    spec_length_choice_free(run->choice);
    spec_step_cost_free(run->cost);
}

static inline spec_step_batch length_run_batch(const length_run *run, const float *alpha, int n)
{
    return (spec_step_batch){.n = n, .alpha = alpha, .slot = run->slot};
}

/* Chooses the lengths of the next step, in run->K; common ones are filled in. Returns as _choose
 * does. */
static inline int length_run_choose(length_run *run, const float *alpha, int n)
{
    const spec_step_batch batch = length_run_batch(run, alpha, n);
    for (int i = 0; i < n; i++) run->K[i] = -7;
    const int K = spec_length_choose(run->choice, run->state, &batch, run->K);
    assert_true(K >= -1 && K <= spec_length_K_max(run->choice));
    for (int i = 0; i < n; i++) {
        if (K >= 0) run->K[i] = K;
        assert_true(run->K[i] >= 0 && run->K[i] <= spec_length_K_max(run->choice));
    }
    return K;
}

static inline void length_run_observe(length_run *run, const float *alpha, int n,
                                      const int32_t *accepted, double seconds)
{
    const spec_step_batch batch = length_run_batch(run, alpha, n);
    spec_length_observe(run->choice, run->state, &batch, run->K, accepted, seconds);
}

#endif
