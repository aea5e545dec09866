/* SPDX-License-Identifier: GPL-3.0-or-later */
/* observed_windows: windows and requests with chosen counts, for the tests of an advice.
 * Headers only. */
#ifndef SPECLAB_TESTS_OBSERVED_WINDOWS_H
#define SPECLAB_TESTS_OBSERVED_WINDOWS_H

#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/advise/advice.h"

#include <math.h>

static const spec_advice_question usual = SPEC_ADVICE_QUESTION;

/* How many rounds accept the draft token at depth i, i = 0..K-1, and the time they take. */
typedef struct {
    spec_observation_kind kind;
    int K;
    double rounds, passed[6];
    double seconds, running;
} window;

static inline void add(spec_observed_sums *sums, const window *w)
{
    const spec_observer observer = spec_observed_sums_observer(sums);
    spec_observation seen = spec_observation_empty(w->kind, 1);
    seen.K = w->K;
    seen.seconds = w->seconds;
    seen.running = w->running;
    if (w->K == 0) {
        seen.emitted = seen.passes = w->rounds;
    } else {
        seen.rounds = seen.rounds_low = seen.rounds_high = w->rounds;
        seen.drafted = w->K * w->rounds;
        seen.accepted = 0.0;
        seen.depths = w->K;
        for (int i = 0; i < w->K; i++) seen.accepted += seen.passed[i] = w->passed[i];
        seen.emitted = seen.rounds + seen.accepted;
    }
    assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
}

/* Adds n windows of K, with a little noise around `w`, which is their mean. */
static inline void add_noisy(spec_observed_sums *sums, window w, int n)
{
    for (int i = 0; i < n; i++) {
        window noisy = w;
        const double factor = 1.0 + 0.01 * (i % 2 == 0 ? 1 : -1);
        for (int j = 0; j < w.K; j++) noisy.passed[j] = round(w.passed[j] * factor);
        noisy.seconds = w.seconds * (1.0 + 0.004 * (i % 4 < 2 ? 1 : -1));
        add(sums, &noisy);
    }
}

static inline spec_advice advise(const spec_observed_sums *sums,
                                 const spec_advice_question *question)
{
    spec_advice advice;
    assert_works(spec_advice_of(&advice, sums, NULL, question, &error));
    return advice;
}

static inline const spec_advice_length *at(const spec_advice *advice, int K)
{
    for (int i = 0; i < advice->n; i++)
        if (advice->length[i].K == K) return &advice->length[i];
    return NULL;
}

/* Three runs with MTP drafts of llama.cpp at 79.99, 81.30 and 78.95 tokens/s beside three plain
 * ones at 55.16, 55.33 and 56.19; 51 rounds of K = 3 accept 46, 37 and 25 tokens by depth. */
static inline void llama_cpp(spec_observed_sums *sums)
{
    static const double drafted[] = {79.99, 81.30, 78.95}, plain[] = {55.16, 55.33, 56.19};
    for (int i = 0; i < 3; i++) {
        add(sums,
            &(window){SPEC_OBSERVED_REQUEST, 3, 51.0, {46.0, 37.0, 25.0}, 159.0 / drafted[i], 1.0});
        add(sums, &(window){SPEC_OBSERVED_REQUEST, 0, 159.0, {0}, 159.0 / plain[i], 1.0});
    }
}

/* A round at K takes 1 + .1 K plain tokens. With alpha .6 the speed-ups are 1.6/1.1, 1.96/1.2 and
 * 2.176/1.3. Windows have 4 requests that run 1000 rounds. */
static inline window at_length(int K)
{
    window w = {SPEC_OBSERVED_WINDOW, K, 1000.0, {600.0, 360.0, 216.0, 129.6, 77.76}, 0.0, 4.0};
    w.seconds = K == 0 ? 2.5 : 2.5 * (1.0 + 0.1 * K);
    return w;
}

#endif
