/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/serving_choices.h"
#include "tests/support/serving_setup.h"
#include "tests/support/support.h"

#include <string.h>

static spec_step_cost *cost;

static int set_up(void **state)
{
    (void)state;
    return spec_step_cost_create(&cost, "step=7ms,token=21us", "round=2ms", NULL);
}

static int tear_down(void **state)
{
    (void)state;
    spec_step_cost_free(cost);
    return 0;
}

/* Returns the ways as "lengths/K", with * after the plain one and ? after one without a row. */
static void describe(char text[400], const char *K, const char *lengths)
{
    OWNED(spec_serving_choices) choices;
    uint64_t rows, asked = 0;
    text[0] = '\0';
    assert_works(spec_serving_choices_init(&choices, K, lengths, cost, &error));
    for (int i = 0; i < choices.n; i++) {
        const spec_serving_way *way = &choices.way[i];
        const size_t used = strlen(text);
        snprintf(text + used, 400 - used, "%s%s/%d%s%s", used > 0 ? " " : "", way->lengths, way->K,
                 i == choices.plain ? "*" : "", way->asked ? "" : "?");
        asked += way->asked;
    }
    assert_works(spec_serving_choices_count(&rows, K, lengths, &error));
    assert_true(rows == asked);
}

TEST(ways_are_in_the_order_of_the_lists)
{
    static const char *const cases[][3] = {
        {"0,1,3", "fixed", "fixed/0* fixed/1 fixed/3"},
        {"3,0", "fixed", "fixed/3 fixed/0*"},
        {"2:4", "fixed", "fixed/2 fixed/3 fixed/4 fixed/0*?"},
        {"1,5", "goodput", "goodput/5 fixed/0*?"},
        {"1,5", "goodput,fixed", "goodput/5 fixed/1 fixed/5 fixed/0*?"},
        {"1,5", "goodput?K_max=3,heuristic?cap=9", "goodput?K_max=3/3 heuristic?cap=9/9 fixed/0*?"},
        {"0,2", "schedule:[[1,32,5],[33,128,2]],fixed",
         "schedule:[[1,32,5],[33,128,2]]/5 fixed/0* fixed/2"},
        {"0", "bandit", "bandit/8 fixed/0*?"}, /* without a K above 0 it takes its own default */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        describe(text, cases[i][0], cases[i][1]);
        assert_string_equal(text, cases[i][2]);
    }
}

TEST(wrong_lists_name_their_parameter)
{
    static const char *const wrong[][3] = {
        {"", "fixed", "K"},           {"1,1", "fixed", "K: 1 is given twice"},
        {"-1", "fixed", "K: -1"},     {"1.5", "fixed", "K: 1.5"},
        {"1:40", "fixed", "K: more"}, {"1:20", "fixed,fixed", "lengths: more"},
        {"1", "", "lengths: "},       {"1", "fixed,", "lengths: "},
        {"1", "goodptu", "lengths: "}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spec_serving_choices choices;
        spec_error error = {""};
        assert_int_not_equal(
            spec_serving_choices_init(&choices, wrong[i][0], wrong[i][1], cost, &error),
            GSL_SUCCESS);
        if (strncmp(error.text, wrong[i][2], strlen(wrong[i][2])) != 0)
            fail_msg("'%s' and '%s': %s", wrong[i][0], wrong[i][1], error.text);
        assert_int_equal(choices.n, 0);
    }
}

SUITE(.setup = set_up, .teardown = tear_down);
