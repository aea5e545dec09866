/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/support.h"
#include "tools/live/capture.h"
#include "tools/live/served_judge.h"

#include <gsl/gsl_rng.h>
#include <math.h>

enum { LISTED = 4, VOCAB = 30, TEXTS = 100, TOKENS = 40 };

/* The list at every position, in which the other 26 tokens share 1e-4. */
static const double listed[LISTED] = {0.9, 0.06, 0.03, 0.0099};

/* A text whose tokens are drawn from the list. */
static int write_text(spec_capture *capture, int number, gsl_rng *rng, spec_error *error)
{
    static spec_live_place place[TOKENS];
    int32_t token[TOKENS + 1] = {0};
    const spec_served_text text = {
        .number = number, .all = {token, TOKENS + 1}, .n_prompt = 1, .n = TOKENS, .place = place};
    for (int i = 0; i < TOKENS; i++) {
        double u = gsl_rng_uniform(rng);
        int32_t drawn = 0;
        while (drawn < VOCAB - 1 && (u -= drawn < LISTED ? listed[drawn] : 1e-4 / 26) >= 0.0)
            drawn++;
        token[1 + i] = drawn;
        place[i].n = LISTED;
        for (int k = 0; k < LISTED; k++) place[i].top[k] = (spec_live_candidate){k, log(listed[k])};
    }
    return spec_capture_text(capture, &text, error);
}

/* If we took the probability of a list's rest to be at least the noise, 0.05, these tokens would
 * seem to come too rarely: a false alarm that looks like a filter. */
TEST(the_noise_of_a_scorer_does_not_widen_the_rest_of_its_lists, STATISTICS)
{
    double chance[SPEC_LIVE_TOP];
    spec_capture capture = {.file = tmpfile(),
                            .name = "capture",
                            .rule = {.transform = SPEC_TRANSFORM_NONE, .vocab = VOCAB},
                            .engine = "table, served 0",
                            .vocab = VOCAB,
                            .top = LISTED,
                            .chance = chance};
    const spec_scorer_noise noise = {.places = 1, .worst = 0.05, .square = 1e-6};
    spec_served_judgement judgement;
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    assert_non_null(capture.file);
    spec_capture_set_noise(&capture, noise.worst);
    assert_works(spec_capture_begin(&capture, &error));
    for (int i = 0; i < TEXTS; i++) assert_works(write_text(&capture, i, rng, &error));
    assert_works(spec_served_judge(&judgement, capture.file, "capture", &noise, 1e-6,
                                   spec_test_seed(), &error));
    assert_int_equal(judgement.texts, TEXTS);
    assert_true(judgement.verdict == SPEC_SERVED_RIGHT ||
                judgement.verdict == SPEC_SERVED_UNDECIDED);
    fclose(capture.file);
}
