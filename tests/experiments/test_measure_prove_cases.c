#include "tests/experiments/run_measure.h"

#define EVERY_FAMILY                                                                                                   \
    "family = [\"plain\", \"zeros\", \"levels\", \"equal\", \"near\", \"disjoint\", \"one-hot\", \"mixed\"]; "

static void a_lossless_rule_is_lossless_on_every_family(void **state)
{
    (void)state;
    spec_result result;
    run(&result, "prove_cases", 0, "rule = [\"token\", \"match\"]; " EVERY_FAMILY "K = 2; V = [1, 2]; cases = 20;");
    assert_all_hold(&result, 32);
    for (size_t i = 0; i < 32; i++) {
        assert_string_equal(text(&result, i, "verdict"), "lossless");
        assert_true(number(&result, i, "worst_tv") >= number(&result, i, "least_tv"));
        assert_true(number(&result, i, "shown") == 0.0);
    }
    spec_result_free(&result);
}

/* Fresh draws off the residual are off but where nothing is ever rejected. */
static void a_mistake_shows_and_is_told_from_one_that_cannot(void **state)
{
    (void)state;
    spec_result result;
    run(&result, "prove_cases", 0, "rule = \"resample-target\"; family = [\"plain\", \"equal\"]; K = 1; cases = 20;");
    assert_string_equal(text(&result, 0, "verdict"), "biased, as marked");
    assert_true(number(&result, 0, "shown") == 1.0 && number(&result, 0, "least_tv") > 1e-6);
    assert_string_equal(text(&result, 1, "verdict"), "biased, but not here");
    assert_true(number(&result, 1, "shown") == 0.0 && number(&result, 1, "worst_tv") < 1e-12);
    assert_int_equal(result.fails, 0);
    spec_result_free(&result);
}

/* The row of the worst seed can be proved again, alone, by `prove`. */
static void the_worst_case_is_found_again_by_its_seed(void **state)
{
    (void)state;
    spec_result many, one;
    char grid[400];
    run(&many, "prove_cases", 0, "rule = \"resample-target\"; family = \"zeros\"; K = 2; tokens = 2; cases = 50;");
    const int seed = (int)number(&many, 0, "worst_seed");
    assert_true(seed > 1 && seed <= 50);
    snprintf(grid, sizeof grid,
             "rule = \"resample-target\"; K = 2; tokens = 2; target = \"cases?family=zeros&seed=%d\";"
             "draft = \"chain:cases?family=zeros&side=draft&seed=%d\";",
             seed, seed);
    run(&one, "prove", 0, grid);
    assert_true(number(&many, 0, "worst_tv") == number(&one, 0, "tv"));
    spec_result_free(&many);
    spec_result_free(&one);
}

static void a_text_may_end(void **state)
{
    (void)state;
    spec_result result;
    run(&result, "prove_cases", 0, "rule = [\"token\", \"block\"]; end = [0, 1]; K = 3; V = 2; cases = 30;");
    assert_all_hold(&result, 4);
    assert_true(number(&result, 0, "accepted") != number(&result, 1, "accepted"));
    spec_result_free(&result);
}

static void what_is_not_understood_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"rule = \"tokn\";", "did you mean 'token'"},
        {"rule = \"token\"; family = \"plane\";", "plain"},
        {"rule = \"token\"; family = \"plain&V=9\";", "V"},
        {"rule = \"token\"; V = 17;", "V: 17 is not within [1, 16]"},
        {"rule = \"token\"; V = 2; end = 2;", "end: 2 is not within [-1, 1]"},
        {"rule = \"token\"; cases = 0;", "cases: 0 is not within"},
        {"rule = \"rrs\"; drafting = \"tree?siblings=top\";", "does not hold for the top siblings"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spec_experiment e;
        spec_result result;
        spec_error error = {""};
        char source[300];
        snprintf(source, sizeof source, "measure = \"prove_cases\"; grid = { %s };", wrong[i][0]);
        int status = spec_experiment_parse(&e, "test.cfg", source, strlen(source), NULL, &error);
        if (status == GSL_SUCCESS) {
            status = spec_experiment_run(&result, &e, &(spec_run_options){.threads = 2}, &error);
            spec_experiment_free(&e);
        }
        assert_int_not_equal(status, GSL_SUCCESS);
        if (strstr(error.text, wrong[i][1]) == NULL) fail_msg("'%s' lacks '%s'", error.text, wrong[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lossless_rule_is_lossless_on_every_family),
        cmocka_unit_test(a_mistake_shows_and_is_told_from_one_that_cannot),
        cmocka_unit_test(the_worst_case_is_found_again_by_its_seed),
        cmocka_unit_test(a_text_may_end),
        cmocka_unit_test(what_is_not_understood_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
