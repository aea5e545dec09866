#include "experiments/conformance/fixture.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

#define UNIT (1.0 / 4194304.0)

static void make(spec_fixture *f, int vocab, int nodes, int variants)
{
    *f = (spec_fixture){.kind = NULL};
    assert_int_equal(spec_fixture_alloc(f, vocab, NULL, nodes, variants, NULL), GSL_SUCCESS);
}

/* Every entry is a whole number of units, and they sum to 1, exactly. */
static void check_row(const float *row, int vocab)
{
    int64_t sum = 0;
    for (int i = 0; i < vocab; i++) {
        const double units = (double)row[i] / UNIT;
        assert_true(units >= 0.0 && units == floor(units));
        sum += (int64_t)units;
    }
    assert_int_equal(sum, 4194304);
}

static void weights_that_are_whole_units_stay_as_they_are(void **state)
{
    (void)state;
    spec_fixture f;
    const double weight[5] = {0.25, 0.0, 0.5 - 3.0 * UNIT, 0.25, 3.0 * UNIT};
    make(&f, 5, 1, 1);
    spec_fixture_set(&f, false, 1, weight);
    for (int i = 0; i < 5; i++) assert_true((double)f.target[5 + i] == weight[i]);
    for (int i = 0; i < 5; i++) assert_true(f.target[i] == 0.0f && f.draft[5 + i] == 0.0f);
    spec_fixture_close(&f);
}

static void a_share_is_off_by_less_than_a_unit(void **state)
{
    (void)state;
    enum { V = 151936 };
    spec_fixture f;
    double *weight = malloc(V * sizeof *weight), sum = 0.0;
    make(&f, V, 0, 1);
    for (int i = 0; i < V; i++) sum += weight[i] = 1.0 + 0.27 * sin(2.385 * i);
    spec_fixture_set(&f, true, 0, weight);
    check_row(f.draft, V);
    for (int i = 0; i < V; i++) assert_true(fabs((double)f.draft[i] - weight[i] / sum) <= 1.0001 * UNIT);
    free(weight);
    spec_fixture_close(&f);
}

/* A million tokens need a quarter of all units to be there at all; the heaviest give theirs. */
static void a_positive_weight_stays_positive_and_zero_stays_zero(void **state)
{
    (void)state;
    enum { V = 1 << 20 };
    spec_fixture f;
    double *weight = malloc(V * sizeof *weight);
    make(&f, V, 0, 1);
    for (int i = 0; i < V; i++) weight[i] = i % 7 == 3 ? 0.0 : i < 4 ? 1e200 : 1e-300;
    spec_fixture_set(&f, false, 0, weight);
    check_row(f.target, V);
    for (int i = 0; i < V; i++) assert_true((f.target[i] > 0.0f) == (weight[i] > 0.0));
    assert_true(f.target[0] > 0.1f && f.target[1] > 0.1f && f.target[2] > 0.1f && f.target[4] == (float)UNIT);
    free(weight);
    spec_fixture_close(&f);
}

static void fill(spec_fixture *f)
{
    double weight[8];
    for (int s = 0; s < f->n_states; s++)
        for (int side = 0; side < 2; side++) {
            for (int i = 0; i < f->vocab; i++) weight[i] = i == (s + side) % f->vocab ? 5.0 : 1.0;
            spec_fixture_set(f, side == 1, s, weight);
        }
    assert_int_equal(spec_fixture_finish(f, NULL), GSL_SUCCESS);
}

static void a_token_leads_a_level_on_and_the_first_one_to_the_next_variant(void **state)
{
    (void)state;
    spec_fixture f;
    int met[9] = {0}, others = 0;
    make(&f, 8, 2, 3);
    fill(&f);
    for (int s = 0; s < 9; s++)
        for (int i = 0; i < 8; i++) {
            const int next = spec_fixture_next(&f, s, i);
            assert_int_equal(next % 3, (s % 3 + 1) % 3);
            if (i == s % 8) assert_int_equal(next / 3, (s / 3 + 1) % 3);
            met[next]++;
            others += next / 3 != (s / 3 + 1) % 3;
        }
    assert_in_range(others, 72 / 3, 72);
    for (int s = 0; s < 9; s++) assert_in_range(met[s], 3, 16);
    spec_fixture_close(&f);
}

static void in_a_blind_one_the_variant_stays(void **state)
{
    (void)state;
    spec_fixture f;
    make(&f, 8, 2, 3);
    f.blind = true;
    fill(&f);
    for (int s = 0; s < 9; s++)
        for (int i = 0; i < 8; i++) assert_int_equal(spec_fixture_next(&f, s, i), s % 3 == 2 ? s - 2 : s + 1);
    spec_fixture_close(&f);
}

static void laws_are_the_rows_with_the_parameters_applied(void **state)
{
    (void)state;
    spec_fixture f;
    const double weight[4] = {0.5, 0.25, 0.125, 0.125};
    make(&f, 4, 0, 1);
    f.sampling.temperature = 0.5f;
    f.sampling.top_k = 2;
    spec_fixture_set(&f, false, 0, weight);
    spec_fixture_set(&f, true, 0, weight);
    assert_int_equal(spec_fixture_finish(&f, NULL), GSL_SUCCESS);
    assert_within(f.target_law[0], 0.8, 1e-15);
    assert_within(f.target_law[1], 0.2, 1e-15);
    assert_within(f.draft_law[2], 0.0, 0.0);
    assert_within(f.target[2], 0.125, 0.0);
    spec_fixture_close(&f);
}

static void levels_are_as_many_as_the_deepest_path_has_and_one(void **state)
{
    (void)state;
    const int chain[3] = {-1, 0, 1}, deep[5] = {-1, -1, 1, 2, 0}, flat[3] = {-1, -1, -1};
    spec_fixture f = {.kind = NULL};
    assert_int_equal(spec_fixture_alloc(&f, 2, chain, 3, 2, NULL), GSL_SUCCESS);
    assert_true(f.chain && f.levels == 4 && f.n_states == 8 && f.batch == 256 && f.drawn == SPEC_DRAWN_IID);
    spec_fixture_close(&f);
    assert_int_equal(spec_fixture_alloc(&f, 2, deep, 5, 1, NULL), GSL_SUCCESS);
    assert_true(!f.chain && f.levels == 4 && f.parent[4] == 0);
    spec_fixture_close(&f);
    assert_int_equal(spec_fixture_alloc(&f, 2, flat, 3, 1, NULL), GSL_SUCCESS);
    assert_true(!f.chain && f.levels == 2);
    spec_fixture_close(&f);
    assert_int_equal(spec_fixture_alloc(&f, 2, NULL, 0, 1, NULL), GSL_SUCCESS);
    assert_true(f.chain && f.levels == 1);
    spec_fixture_close(&f);
}

static int fail_to_open(spec_fixture *fixture, spec_error *error)
{
    assert_int_equal(spec_fixture_alloc(fixture, 4, NULL, 1, 1, error), GSL_SUCCESS);
    return spec_fail(error, GSL_ENOMEM, "out of memory");
}

static void what_fails_to_open_is_left_closed(void **state)
{
    (void)state;
    static const spec_fixture_kind kind = {"broken", "", SPEC_SCOPE_VERIFY, fail_to_open};
    spec_fixture f;
    spec_error error;
    assert_int_equal(spec_fixture_open(&f, &kind, &error), GSL_ENOMEM);
    assert_null(f.target);
    assert_null(f.next);
}

static void check_fit(const spec_fixture *f, const spec_sampler_about *about, uint32_t scope, const char *expected)
{
    const char *why = "?";
    assert_int_equal(spec_fixture_fits(f, about, scope, &why), expected == NULL);
    if (expected == NULL) assert_null(why);
    else assert_string_equal(why, expected);
}

static void what_a_sampler_cannot_do_is_not_asked(void **state)
{
    (void)state;
    static const spec_fixture_kind kind = {"made", "", SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT, NULL};
    const spec_sampler_about able = {.scopes = 7, .trees = SPEC_DRAWN_IID, .sampling = 1, .padding = 1, .seeded = 1};
    spec_sampler_about about = able;
    spec_fixture f;
    make(&f, 8, 2, 1);
    f.kind = &kind;
    check_fit(&f, &about, SPEC_SCOPE_VERIFY, NULL);
    check_fit(&f, &about, SPEC_SCOPE_STREAM, "not for this scope");
    about.scopes = SPEC_SCOPE_VERIFY;
    check_fit(&f, &about, SPEC_SCOPE_DRAFT, "the sampler has not this scope");
    about.chains = SPEC_DRAWN_FIXED;
    check_fit(&f, &about, SPEC_SCOPE_VERIFY, "the sampler takes no such drafts");
    about.chains = SPEC_DRAWN_IID;
    about.max_vocab = 8;
    about.max_nodes = 2;
    check_fit(&f, &about, SPEC_SCOPE_VERIFY, NULL);
    about.max_vocab = 7;
    check_fit(&f, &about, SPEC_SCOPE_VERIFY, "too many tokens for the sampler");
    about.max_vocab = 0;
    about.max_nodes = 1;
    check_fit(&f, &about, SPEC_SCOPE_VERIFY, "too long a draft for the sampler");
    about = able;
    about.padding = 0;
    f.shorter = true;
    check_fit(&f, &about, SPEC_SCOPE_VERIFY, "the sampler takes no padding");
    f.shorter = false;
    f.repeats = true;
    about.seeded = 0;
    check_fit(&f, &about, SPEC_SCOPE_VERIFY, "the sampler is not seeded");
    f.repeats = false;
    about.sampling = 0;
    const spec_sampling asked[4] = {{0.7f, 0, 1.0f, 0.0f}, {1.0f, 5, 1.0f, 0.0f}, {1.0f, 0, 0.9f, 0.0f},
                                    {1.0f, 0, 1.0f, 0.1f}};
    for (int i = 0; i < 4; i++) {
        f.sampling = asked[i];
        check_fit(&f, &about, SPEC_SCOPE_VERIFY, "the sampler applies no sampling parameters");
    }
    f.sampling = SPEC_SAMPLING_NONE;
    f.chain = false;
    check_fit(&f, &about, SPEC_SCOPE_VERIFY, NULL);
    f.drawn = SPEC_DRAWN_WITHOUT;
    check_fit(&f, &about, SPEC_SCOPE_VERIFY, "the sampler takes no such drafts");
    about.trees = 0;
    check_fit(&f, &about, SPEC_SCOPE_VERIFY, "the sampler takes no trees");
    spec_fixture_close(&f);
}

static void a_name_that_is_not_there_is_told_with_the_nearest(void **state)
{
    (void)state;
    const spec_fixture_kind *kind;
    spec_error error;
    assert_int_equal(spec_fixture_find(&kind, "plain-4", &error), GSL_SUCCESS);
    assert_string_equal(kind->name, "plain-4");
    assert_int_equal(spec_fixture_find(&kind, "plian-4", &error), GSL_EINVAL);
    assert_null(kind);
    assert_string_equal(error.text, "no fixture is named 'plian-4'; did you mean 'plain-4'?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_that_are_whole_units_stay_as_they_are),
        cmocka_unit_test(a_share_is_off_by_less_than_a_unit),
        cmocka_unit_test(a_positive_weight_stays_positive_and_zero_stays_zero),
        cmocka_unit_test(a_token_leads_a_level_on_and_the_first_one_to_the_next_variant),
        cmocka_unit_test(in_a_blind_one_the_variant_stays),
        cmocka_unit_test(laws_are_the_rows_with_the_parameters_applied),
        cmocka_unit_test(levels_are_as_many_as_the_deepest_path_has_and_one),
        cmocka_unit_test(what_fails_to_open_is_left_closed),
        cmocka_unit_test(what_a_sampler_cannot_do_is_not_asked),
        cmocka_unit_test(a_name_that_is_not_there_is_told_with_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
