#include "tests/experiments/measures/run_measure.h"
#include "tests/support/near.h"

static void a_rule_that_never_accepts_fewer_holds(void **state)
{
    (void)state;
    spec_result result;
    run(&result, "dominance", 0,
        "rule = \"block\"; other = \"token\"; K = [1, 3]; family = [\"plain\", \"mixed\"]; cases = 60;");
    assert_all_hold(&result, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(text(&result, i, "verdict"), "holds");
        assert_true(number(&result, i, "least_gain") > -1e-14);
        assert_true(number(&result, i, "least_gain") <= number(&result, i, "mean_gain"));
        assert_true(number(&result, i, "mean_gain") <= number(&result, i, "greatest_gain"));
    }
    for (size_t i = 0; i < 2; i++) assert_true(number(&result, i, "strictly_more") == 0.0); /* K = 1: one rule */
    assert_true(number(&result, 2, "strictly_more") == 60.0);
    assert_true(number(&result, 3, "strictly_more") > 0.0 && number(&result, 3, "strictly_more") < 60.0);
    spec_result_free(&result);
}

static double accepted(const char *rule, int seed)
{
    spec_result result;
    char grid[400];
    snprintf(grid, sizeof grid,
             "rule = \"%s\"; K = 2; tokens = 1; target = \"cases?family=plain&seed=%d\";"
             "draft = \"tree?n=2:cases?family=plain&side=draft&seed=%d\";",
             rule, seed, seed);
    run(&result, "prove", 0, grid);
    const double value = number(&result, 0, "accepted");
    spec_result_free(&result);
    return value;
}

/* The pair of the least gain can be looked at alone, by `prove`. */
static void one_that_sometimes_does_fails_with_the_pair_that_shows_it(void **state)
{
    (void)state;
    spec_result result;
    run(&result, "dominance", 0,
        "rule = \"rrs\"; other = \"traversal\"; drafting = \"tree?n=2\"; family = \"plain\"; cases = 12;");
    assert_int_equal(result.fails, 1);
    assert_string_equal(text(&result, 0, "verdict"), "NOT always");
    assert_true(number(&result, 0, "greatest_gain") < 0.0 && number(&result, 0, "strictly_more") == 0.0);
    const int seed = (int)number(&result, 0, "least_seed");
    assert_true(seed >= 1 && seed <= 12);
    /* Tables keep ten digits. */
    assert_within(number(&result, 0, "least_gain"), accepted("rrs", seed) - accepted("traversal", seed), 1e-9);
    double mean = 0.0;
    for (int i = 1; i <= 12; i++) mean += (accepted("rrs", i) - accepted("traversal", i)) / 12.0;
    assert_within(number(&result, 0, "mean_gain"), mean, 1e-9);
    spec_result_free(&result);
}

static void rules_of_another_law_are_told_apart(void **state)
{
    (void)state;
    spec_result result;
    run(&result, "dominance", 0, "rule = [\"block\", \"hsd\"]; other = [\"hsd\", \"token\"]; K = 2; cases = 10;");
    assert_string_equal(text(&result, 0, "verdict"), "biased, lossy as marked");
    assert_string_equal(text(&result, 1, "verdict"), "holds");
    assert_string_equal(text(&result, 2, "verdict"), "biased, lossy as marked");
    assert_string_equal(text(&result, 3, "verdict"), "biased, lossy as marked");
    assert_int_equal(result.fails, 0);
    spec_result_free(&result);
}

static void what_is_not_understood_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"rule = \"token\"; other = \"blok\";", "did you mean 'block'"},
        {"rule = \"tokn\"; other = \"block\";", "did you mean 'token'"},
        {"rule = \"token\"; other = \"block\"; cases = 0;", "cases: 0 is not within"},
        {"rule = \"traversal\"; other = \"rrs\"; drafting = \"tree?siblings=top\";",
         "does not hold for the top siblings"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spec_experiment e;
        spec_result result;
        spec_error error = {""};
        char source[300];
        snprintf(source, sizeof source, "measure = \"dominance\"; grid = { %s };", wrong[i][0]);
        int status = spec_experiment_parse(&e, "test.cfg", source, strlen(source), NULL, &error);
        if (status == GSL_SUCCESS) {
            status = spec_experiment_run(&result, &e, &(spec_run_options){.threads = 2}, &error);
            spec_result_free(&result); /* of a run that failed, too */
            spec_experiment_free(&e);
        }
        assert_int_not_equal(status, GSL_SUCCESS);
        if (strstr(error.text, wrong[i][1]) == NULL) fail_msg("'%s' lacks '%s'", error.text, wrong[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_that_never_accepts_fewer_holds),
        cmocka_unit_test(one_that_sometimes_does_fails_with_the_pair_that_shows_it),
        cmocka_unit_test(rules_of_another_law_are_told_apart),
        cmocka_unit_test(what_is_not_understood_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
