/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks that a bias is exactly the given TV, by the law and by the tokens of a biased sampler; and
 refused inputs. */
#include "tools/validate/samplers/bias.h"

#include "analysis/statistics/goodness.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/validate/fixtures/fixtures.h"

#include <stdlib.h>
#include <string.h>

enum { VOCAB = 64, ROUNDS = 1024, BATCHES = 96, TEXT = 4096 };

static uint64_t seed; /* seed of the whole program */

static void open_fixture(spec_fixture *f, const char *name)
{
    const spec_fixture_kind *kind;
    assert_int_equal(spec_fixture_find(&kind, name, NULL), GSL_SUCCESS);
    assert_int_equal(spec_fixture_open(f, kind, NULL), GSL_SUCCESS);
    assert_true(f->vocab <= VOCAB);
}

/* The biased law at the place: the original law, minus the replaced mass, plus the replacements. */
static void biased_law(double ret[VOCAB], const spec_bias *b)
{
    const int V = b->fixture->vocab;
    assert_true(spec_bias_law(ret, b->fixture, b->spec.place, b->spec.state));
    for (int x = 0; x < V; x++) {
        const double to = (b->to[x] - (x > 0 ? b->to[x - 1] : 0.0)) / b->to[V - 1];
        ret[x] = ret[x] * (b->source[x] ? 1.0 - b->chance : 1.0) + b->spec.tv * to;
    }
}

/* Counts the tokens that a biased sampler emits at the place after the state. */
static void count_rounds(uint64_t ret[VOCAB], const spec_fixture *f, uint32_t scope,
                         const char *sampler, const spec_bias_spec *spec)
{
    CLOSED(spec_subject) subject;
    spec_evidence *evidence;
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    assert_works(spec_subject_open(&subject, sampler, &SPEC_SUBJECT_LIMITS_DEFAULT, &error));
    assert_int_equal(spec_evidence_init(&evidence, f, scope, NULL), GSL_SUCCESS);
    assert_int_equal(spec_subject_begin(&subject, f, scope, ROUNDS, NULL), GSL_SUCCESS);
    const spec_round_batch *b = &subject.batch;
    for (uint64_t batch = 0; batch < BATCHES; batch++) {
        spec_rng_stream(rng, seed, batch);
        spec_evidence_ask(evidence, &subject.batch, ROUNDS, batch * ROUNDS, seed, rng);
        assert_int_equal(spec_subject_run(&subject, ROUNDS, NULL), GSL_SUCCESS);
        for (int i = 0; i < ROUNDS; i++) {
            const int32_t *emitted = b->emitted + (size_t)i * (size_t)(b->nodes + 1);
            int state = b->state[(size_t)i * (size_t)(b->nodes + 1)];
            assert_int_equal(b->n_accepted[i], b->n_emitted[i] - 1);
            for (int k = 0; k < b->n_emitted[i]; k++) {
                if (state == spec->state && spec_evidence_places(f, b, i, k) >> spec->place & 1)
                    ret[emitted[k]]++;
                state = spec_fixture_next(f, state, emitted[k]);
            }
        }
    }
    spec_evidence_free(evidence);
}

static double p_of(const uint64_t *count, const double *law, int V)
{
    spec_goodness g;
    assert_int_equal(spec_goodness_g(&g, count, law, (size_t)V, 10, 0), GSL_SUCCESS);
    assert_true(g.df > 0 || isinf(g.statistic));
    return g.p;
}

/* Each place has at least 4,000 tokens: a bias of .08 gives G a noncentrality of 4 n TV^2 >= 100,
 * and the unbiased law is rejected at 1e-6. */
TEST(a_biased_sampler_is_off_by_exactly_the_tv, SLOW | STATISTICS)
{
    static const struct {
        const char *fixture;
        uint32_t scope;
        spec_place place;
        int state;
    } cases[] = {{"plain-4", SPEC_SCOPE_VERIFY, SPEC_PLACE_FIRST, 4},
                 {"plain-4", SPEC_SCOPE_VERIFY, SPEC_PLACE_LATER, 5},
                 {"plain-4", SPEC_SCOPE_VERIFY, SPEC_PLACE_BONUS, 7},
                 {"llm-64", SPEC_SCOPE_VERIFY, SPEC_PLACE_CORRECTION, 2},
                 {"fixed-4", SPEC_SCOPE_VERIFY, SPEC_PLACE_CORRECTION, 0},
                 {"pair-iid-4", SPEC_SCOPE_VERIFY, SPEC_PLACE_BONUS, 1},
                 {"blind-zeros-8", SPEC_SCOPE_DRAFT, SPEC_PLACE_CORRECTION, 0},
                 {"blind-3", SPEC_SCOPE_DRAFT, SPEC_PLACE_LATER, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int direction = 0; direction < SPEC_BIAS_DIRECTIONS; direction++) {
            const spec_bias_spec spec = {cases[c].place, cases[c].state, 0.08,
                                         (spec_bias_direction)direction};
            double law[VOCAB], biased[VOCAB], tv = 0.0;
            uint64_t right[VOCAB] = {0}, wrong[VOCAB] = {0};
            char sampler[96];
            CLOSED(spec_fixture) f;
            OWNED(spec_bias) bias;
            open_fixture(&f, cases[c].fixture);
            assert_int_equal(spec_bias_init(&bias, &f, &spec, NULL), GSL_SUCCESS);
            biased_law(biased, &bias);
            assert_true(spec_bias_law(law, &f, spec.place, spec.state));
            for (int x = 0; x < f.vocab; x++) tv += 0.5 * fabs(biased[x] - law[x]);
            assert_near(tv, 0.08, 1e-12);
            snprintf(sampler, sizeof sampler, "biased:%s?state=%d&tv=0.08&direction=%s",
                     spec_place_names[spec.place], spec.state, spec_bias_directions[direction]);
            count_rounds(right, &f, cases[c].scope, "biased:none", &spec);
            count_rounds(wrong, &f, cases[c].scope, sampler, &spec);
            if (!(p_of(right, law, f.vocab) > SPEC_TEST_P &&
                  p_of(wrong, biased, f.vocab) > SPEC_TEST_P))
                fail_msg("%s at %s: p = %g without, %g with the bias", cases[c].fixture, sampler,
                         p_of(right, law, f.vocab), p_of(wrong, biased, f.vocab));
            if (!(p_of(wrong, law, f.vocab) < SPEC_TEST_P))
                fail_msg("%s: the bias does not show", sampler);
        }
}

TEST(a_biased_text_is_off_after_one_state, STATISTICS)
{
    const spec_bias_spec spec = {SPEC_PLACE_TEXT, 3, 0.08, SPEC_BIAS_BACK};
    double biased[VOCAB];
    uint64_t count[16][VOCAB] = {{0}};
    static int32_t text[TEXT];
    CLOSED(spec_fixture) f;
    OWNED(spec_bias) bias;
    open_fixture(&f, "plain-4");
    assert_true(f.n_states <= 16);
    assert_int_equal(spec_bias_init(&bias, &f, &spec, NULL), GSL_SUCCESS);
    biased_law(biased, &bias);
    for (uint64_t t = 0; t < 24; t++) {
        int at = 0;
        spec_bias_text(&bias, 0, seed * 100 + t, text, TEXT);
        for (int k = 0; k < TEXT; k++) {
            count[at][text[k]]++;
            at = spec_fixture_next(&f, at, text[k]);
        }
    }
    for (int s = 0; s < f.n_states; s++)
        assert_true(p_of(count[s], s == 3 ? biased : f.target_law + (size_t)s * 4, 4) >
                    SPEC_TEST_P);
    assert_true(p_of(count[3], f.target_law + 12, 4) < SPEC_TEST_P);
}

/* Both sets hold about half of the mass, so no other pair of sets would be much harder to
 * detect. */
TEST(mass_goes_between_halves)
{
    CLOSED(spec_fixture) f;
    open_fixture(&f, "llm-64");
    for (int s = 0; s < f.n_states; s++) {
        const spec_bias_spec spec = {SPEC_PLACE_FIRST, s, 0.01, SPEC_BIAS_FORTH};
        double half = 0.0;
        OWNED(spec_bias) bias;
        assert_int_equal(spec_bias_init(&bias, &f, &spec, NULL), GSL_SUCCESS);
        for (int x = 0; x < 64; x++) half += bias.source[x] ? f.target_law[s * 64 + x] : 0.0;
        assert_within(half, 0.5, 0.05);
    }
}

TEST(an_impossible_bias_is_refused)
{
    static const struct {
        const char *fixture;
        spec_bias_spec spec;
        const char *says;
    } cases[] = {{"plain-4", {SPEC_PLACE_FIRST, 12, 0.1, 0}, "states 0 to 11"},
                 {"plain-4", {SPEC_PLACE_FIRST, 0, 0.99, 0}, "at most"},
                 {"two-2", {SPEC_PLACE_CORRECTION, 0, 0.1, SPEC_BIAS_BACK}, "at most 0 can"},
                 {"pair-iid-4", {SPEC_PLACE_CORRECTION, 0, 0.1, 0}, "not known"},
                 {"equal-8", {SPEC_PLACE_CORRECTION, 0, 0.1, 0}, "not known"},
                 {"one-1", {SPEC_PLACE_FIRST, 0, 0.1, 0}, "at most 0 can"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_error error = {""};
        CLOSED(spec_fixture) f;
        spec_bias bias;
        open_fixture(&f, cases[c].fixture);
        assert_int_equal(spec_bias_init(&bias, &f, &cases[c].spec, &error), GSL_EINVAL);
        if (strstr(error.text, cases[c].says) == NULL)
            fail_msg("%s: %s", cases[c].fixture, error.text);
    }
    static const char *const specs[] = {
        "biased:nowhere",        "biased:first?tv=2",         "biased:first?side=1",
        "biased:first?state=-1", "biased:first?direction=up", "biased:first:x"};
    for (size_t c = 0; c < sizeof specs / sizeof *specs; c++) {
        spec_error error = {""};
        spec_subject subject;
        assert_true(spec_subject_open(&subject, specs[c], &SPEC_SUBJECT_LIMITS_DEFAULT, &error) !=
                    GSL_SUCCESS);
        assert_true(error.text[0] != '\0');
    }
}

static int set_up(void **state)
{
    (void)state;
    seed = spec_test_seed();
    return 0;
}

SUITE(.setup = set_up);
