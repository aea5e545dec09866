/* Fixtures of real rows: which places they take, how near they are to the file's rows, and that mistakes show. */
#include "experiments/conformance/fixtures_rows.h"

#include "experiments/conformance/validate.h"
#include "tests/models/rows/rows_pair.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"

static const char path[] = "test_fixtures_rows.tmp";

enum { N = 500, V = 6 };

static spec_fixtures_rows set;

static int set_up(void **state)
{
    spec_error error = {""};
    if (spec_folder_enter(state) != 0) return -1;
    opened target = open_model("cases?V=6&order=2&seed=21", NULL);
    opened draft = open_model("cases?V=6&order=2&side=draft&seed=21", NULL);
    rows_pair_write(path, &target, &draft, N, 1, 0.0);
    close_model(&draft);
    close_model(&target);
    return spec_fixtures_rows_init(&set, path, &error);
}

static int tear_down(void **state)
{
    spec_fixtures_rows_free(&set);
    return spec_folder_leave(state);
}

static double overlap_at(uint64_t place)
{
    double row[2][V];
    spec_error error;
    for (int s = 0; s < 2; s++) assert_int_equal(spec_rows_file_row(row[s], &set.file, place, s, &error), GSL_SUCCESS);
    return spec_row_overlap(row[0], row[1], V);
}

static void places_are_in_the_order_of_their_overlap(void **state)
{
    (void)state;
    bool seen[N] = {false};
    assert_int_equal(set.n_places, N);
    for (int i = 0; i < N; i++) {
        assert_true(i == 0 || overlap_at(set.place[i]) >= overlap_at(set.place[i - 1]));
        assert_false(seen[set.place[i]]);
        seen[set.place[i]] = true;
    }
}

/* Each state has a pair of the file, within half a unit of 2^-22 a token, from its fixture's share of the places. */
static void states_are_places_of_their_share(void **state)
{
    (void)state;
    static const double share[][2] = {{0.0, 0.2}, {0.4, 0.6}, {0.8, 1.0}, {0.0, 1.0}};
    for (int k = 0; k < SPEC_FIXTURES_ROWS; k++) {
        spec_fixture f;
        spec_error error = {""};
        assert_int_equal(spec_fixture_open(&f, set.kind[k], &error), GSL_SUCCESS);
        assert_int_equal(f.vocab, V);
        assert_int_equal(f.n_states, 16);
        assert_int_equal(f.blind, k == 3);
        for (int s = 0; s < f.n_states; s++) {
            const double at = share[k][0] + (share[k][1] - share[k][0]) * (s + 0.5) / 16;
            double row[2][V];
            for (int side = 0; side < 2; side++) {
                assert_int_equal(spec_rows_file_row(row[side], &set.file, set.place[(int)(at * N)], side, &error), 0);
                const double *law = (side == 1 ? f.draft_law : f.target_law) + s * V;
                assert_normalised(law, V);
                for (int i = 0; i < V; i++) assert_within(law[i], row[side][i], V * 0x1p-23);
            }
        }
        spec_fixture_close(&f);
    }
    assert_null(set.kind[SPEC_FIXTURES_ROWS]);
}

static spec_validate_verdict verdict_on_rows(const char *subject)
{
    static const char *const only[] = {"rows-low", "rows-middle", "rows-high", "rows-blind", NULL};
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    spec_validation v;
    spec_error error = {""};
    plan.opt_more = set.kind;
    plan.opt_only = only;
    plan.draws = 400000;
    plan.hints = false;
    assert_int_equal(spec_validate_check_only(&plan, &error), GSL_SUCCESS);
    if (spec_validate(&v, subject, &plan, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
    const spec_validate_verdict verdict = v.verdict;
    assert_int_equal(v.n_results, 8); /* three in scopes V and S, one in V and DV */
    for (int i = 0; i < v.n_results; i++) assert_null(v.result[i].skipped);
    spec_validation_free(&v);
    return verdict;
}

static void right_rules_pass_and_wrong_ones_fail(void **state)
{
    (void)state;
    assert_int_equal(verdict_on_rows("rule:token"), SPEC_VERDICT_PASS);
    assert_int_equal(verdict_on_rows("rule:block"), SPEC_VERDICT_PASS);
    assert_int_equal(verdict_on_rows("rule:resample-target"), SPEC_VERDICT_FAIL);
}

static void the_plan_has_the_tables_fixtures_and_these(void **state)
{
    (void)state;
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    int n = 0;
    while (spec_fixtures[n] != NULL) assert_ptr_equal(spec_validate_fixture(&plan, n), spec_fixtures[n]), n++;
    assert_null(spec_validate_fixture(&plan, n));
    plan.opt_more = set.kind;
    assert_ptr_equal(spec_validate_fixture(&plan, n - 1), spec_fixtures[n - 1]);
    for (int k = 0; k < SPEC_FIXTURES_ROWS; k++) assert_ptr_equal(spec_validate_fixture(&plan, n + k), set.kind[k]);
    assert_null(spec_validate_fixture(&plan, n + SPEC_FIXTURES_ROWS));
}

/* Of many places, and of vocabularies of all sizes, fixtures stay small. */
static void large_files_and_vocabularies_fit(void **state)
{
    (void)state;
    static const char large[] = "test_fixtures_rows_large.tmp";
    static const struct {
        const char *target, *draft;
        uint64_t n;
        int states, batch;
    } cases[] = {{"zipf?V=1024&s=2", "zipf?V=1024&s=1.7", 9, 16, 256},
                 {"zipf?V=1025&s=2", "zipf?V=1025&s=1.7", 9, 4, 64},
                 {"zipf?V=8192&s=2", "zipf?V=8192&s=1.7", 9, 4, 64},
                 {"zipf?V=8193&s=2", "zipf?V=8193&s=1.7", 9, 4, 8},
                 {"probs:0.3,0.7", "probs:0.4,0.6", 10000, 16, 256}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        opened target = open_model(cases[i].target, NULL), draft = open_model(cases[i].draft, NULL);
        spec_fixtures_rows other;
        spec_fixture f;
        spec_error error = {""};
        rows_pair_write(large, &target, &draft, cases[i].n, 1, 1e-5);
        assert_int_equal(spec_fixtures_rows_init(&other, large, &error), GSL_SUCCESS);
        assert_int_equal(other.n_places, cases[i].n < 4096 ? cases[i].n : 4096);
        assert_int_equal(spec_fixture_open(&f, other.kind[0], &error), GSL_SUCCESS);
        assert_int_equal(f.n_states, cases[i].states);
        assert_int_equal(f.batch, cases[i].batch);
        spec_fixture_close(&f);
        spec_fixtures_rows_free(&other);
        close_model(&draft);
        close_model(&target);
    }
}

static void what_has_no_pairs_is_refused(void **state)
{
    (void)state;
    spec_fixtures_rows other;
    spec_error error = {""};
    assert_int_equal(spec_fixtures_rows_init(&other, "no-such.rows", &error), GSL_EFAILED);
    assert_string_equal(error.text, "no-such.rows: No such file or directory");
    opened target = open_model("uniform?V=3", NULL);
    const spec_model *const model[] = {target.model};
    const double *const row[] = {row_after(&target, NULL, 0)};
    spec_rows_writer writer;
    assert_int_equal(spec_rows_writer_init(&writer, "test_fixtures_rows_one.tmp", model, 1, 0.0, &error), GSL_SUCCESS);
    assert_int_equal(spec_rows_writer_text(&writer, (const int[]){0}, 1, &error), GSL_SUCCESS);
    assert_int_equal(spec_rows_writer_place(&writer, 0, row, &error), GSL_SUCCESS);
    assert_int_equal(spec_rows_writer_close(&writer, &error), GSL_SUCCESS);
    spec_rows_writer_free(&writer);
    assert_int_equal(spec_fixtures_rows_init(&other, "test_fixtures_rows_one.tmp", &error), GSL_EINVAL);
    assert_string_equal(error.text, "test_fixtures_rows_one.tmp: rows of a target without a draft");
    close_model(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_in_the_order_of_their_overlap),
        cmocka_unit_test(states_are_places_of_their_share),
        cmocka_unit_test(right_rules_pass_and_wrong_ones_fail),
        cmocka_unit_test(the_plan_has_the_tables_fixtures_and_these),
        cmocka_unit_test(large_files_and_vocabularies_fit),
        cmocka_unit_test(what_has_no_pairs_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
