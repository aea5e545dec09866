/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/rng.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/validate/samplers/sampler_host.h"

#include <gsl/gsl_randist.h>

enum { BATCH = 512 };

/* Asks for rounds with one start, whose drafts follow the draft's law. */
static void ask(spec_round_batch *batch, const spec_fixture *f, int start, uint64_t from,
                gsl_rng *rng)
{
    for (int i = 0; i < BATCH; i++) {
        int32_t *state = batch->state + (size_t)i * (size_t)(batch->nodes + 1);
        batch->n_nodes[i] = f->n_nodes;
        batch->request[i] = (uint64_t)start;
        batch->seed[i] = 42;
        batch->offset[i] = from + (uint64_t)i;
        state[0] = start;
        for (int k = 0; k < f->n_nodes; k++) {
            const double *row = f->draft_law + (size_t)state[k] * (size_t)f->vocab;
            double u = gsl_rng_uniform(rng);
            int token = 0;
            while (token < f->vocab - 1 && u >= row[token]) u -= row[token++];
            batch->token[(size_t)i * (size_t)batch->nodes + (size_t)k] = token;
            state[k + 1] = spec_fixture_next(f, state[k], token);
        }
    }
}

/* Returns chi-square of the first emitted tokens, with 3 degrees of freedom. */
static double chi_square(const char *spec)
{
    CLOSED(spec_fixture) fixture;
    CLOSED(spec_subject) subject;
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    double count[4] = {0}, sum = 0.0, n = 0.0;
    assert_works(spec_fixture_open(&fixture, spec_fixture_at(0), &error));
    assert_works(spec_subject_open(&subject, spec, &SPEC_SUBJECT_LIMITS_DEFAULT, &error));
    assert_works(spec_subject_begin(&subject, &fixture, SPEC_SCOPE_VERIFY, BATCH, &error));
    const int start = fixture.levels;
    spec_rng_stream(rng, spec_test_seed(), 0);
    for (uint64_t b = 0; b < 40; b++) {
        ask(&subject.batch, &fixture, start, b * BATCH, rng);
        assert_works(spec_subject_run(&subject, BATCH, &error));
        for (int i = 0; i < BATCH; i++) {
            assert_int_equal(subject.batch.fault[i], 0);
            assert_int_equal(subject.batch.n_emitted[i], subject.batch.n_accepted[i] + 1);
            count[subject.batch.emitted[(size_t)i * (size_t)(subject.batch.nodes + 1)]]++;
            n++;
        }
    }
    for (int t = 0; t < 4; t++) {
        const double expected = n * fixture.target_law[(size_t)start * 4 + (size_t)t];
        sum += (count[t] - expected) * (count[t] - expected) / expected;
    }
    return sum;
}

/* With 20,480 tokens, the wrong rule, off by a TV of about .1, has a chi-square above 1,000. */
TEST(lossless_rules_emit_the_law_and_a_wrong_one_does_not)
{
    assert_true(chi_square("rule:token") < 31.0); /* p = 1e-6 */
    assert_true(chi_square("rule:block") < 31.0);
    assert_true(chi_square("rule:match") < 31.0);
    assert_true(chi_square("rule:resample-target") > 300.0);
}

TEST(an_unknown_rule_is_an_error)
{
    spec_subject subject;
    assert_fails(spec_subject_open(&subject, "rule:tokn", &SPEC_SUBJECT_LIMITS_DEFAULT, &error),
                 GSL_EINVAL, "no rule is named 'tokn'; did you mean 'token'?");
    assert_fails(spec_subject_open(&subject, "roule:token", &SPEC_SUBJECT_LIMITS_DEFAULT, &error),
                 GSL_EINVAL, "no kind of sampler is named 'roule'; did you mean 'rule'?");
    assert_status(spec_subject_open(&subject, "token", &SPEC_SUBJECT_LIMITS_DEFAULT, &error),
                  GSL_EINVAL);
    assert_status(spec_subject_open(&subject, "rule:", &SPEC_SUBJECT_LIMITS_DEFAULT, &error),
                  GSL_EINVAL);
}

TEST(a_text_has_the_requested_length_and_its_seed_repeats_it)
{
    CLOSED(spec_fixture) fixture;
    CLOSED(spec_subject) subject;
    int32_t text[3][50];
    assert_int_equal(spec_fixture_open(&fixture, spec_fixture_at(0), NULL), GSL_SUCCESS);
    assert_int_equal(spec_subject_open(&subject, "rule:block", &SPEC_SUBJECT_LIMITS_DEFAULT, NULL),
                     GSL_SUCCESS);
    assert_int_equal(spec_subject_begin(&subject, &fixture, SPEC_SCOPE_STREAM, 1, NULL),
                     GSL_SUCCESS);
    for (int i = 0; i < 3; i++)
        assert_int_equal(spec_subject_generate(&subject, 0, 3, i < 2 ? 7 : 8, text[i], 50, NULL),
                         GSL_SUCCESS);
    assert_memory_equal(text[0], text[1], sizeof text[0]);
    assert_memory_not_equal(text[0], text[2], sizeof text[0]);
    for (int i = 0; i < 50; i++) assert_in_range(text[0][i], 0, 3);
}
