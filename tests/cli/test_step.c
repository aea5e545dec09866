/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab step as its users run it. SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/support/near.h"
#include "tests/support/on_terminal.h"
#include "tests/support/support.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXAMPLE "--target probs:0.5,0.2,0.1,0.2 --draft probs:0.4,0.3,0.2,0.1"

/* The program's JSON, which the caller frees. */
static json_t *run_json(const char *arguments)
{
    spec_child c;
    json_error_t error;
    spec_child_run(&c, arguments);
    if (c.code != 0) fail_msg("%s: %s", arguments, c.line);
    json_t *root = json_loadb(c.text, c.n, 0, &error);
    if (root == NULL) fail_msg("%s: %s", arguments, error.text);
    spec_child_free(&c);
    return root;
}

/* The article's numbers: 0.2/0.3 = 0.667, and the residual (0.5, 0, 0, 0.5). */
TEST(the_worked_example_is_printed_to_the_digit)
{
    static const char page[] =
        "target    probs:0.5,0.2,0.1,0.2\n"
        "draft     probs:0.4,0.3,0.2,0.1\n"
        "drafting  chain, K = 1\n"
        "rule      token: accept with min(1, target/draft), correct from norm((target -\n"
        "          draft)+)\n"
        "\nRound 1, after 0 tokens\n"
        "\nDraft                            draft   target    ratio  chance\n"
        "     1 cat                         0.3      0.2    0.667  coin 0.5\n"
        "\nPosition 1\n"
        "  token               draft                        target\n"
        "  the                   0.4 ################          0.5 ####################\n"
        "  cat                   0.3 ############              0.2 ########\n"
        "  sat                   0.2 ########                  0.1 ####\n"
        "  dog                   0.1 ####                      0.2 ########\n"
        "  test        cat: target/draft = 0.2/0.3 = 0.667, coin 0.7: rejected\n"
        "  residual    sum 0.2, normalised: the 0.5, cat 0, sat 0, dog 0.5\n"
        "  correction  dog, coin 0.6 in the residual\n"
        "\n  emitted     dog: 0 accepted and a correction\n"
        "\nThe exact distribution of the first token, over all 20 branches of the round\n"
        "  output      the 0.5, cat 0.2, sat 0.1, dog 0.2\n"
        "  target      the 0.5, cat 0.2, sat 0.1, dog 0.2\n"
        "  distance    total variation 0: the same distribution\n";
    spec_child c;
    spec_needs_program();
    spec_child_run(&c, "step --K 1 --coins 0.5,0.7,0.6");
    assert_int_equal(c.code, 0);
    assert_string_equal(c.text, page);
    spec_child_free(&c);
}

static void has(const char *arguments, const char *const *lines)
{
    spec_child c;
    spec_child_run(&c, arguments);
    assert_int_equal(c.code, 0);
    const char *at = c.text;
    for (; *lines != NULL; lines++) {
        const char *found = strstr(at, *lines);
        if (found == NULL) fail_msg("%s: no '%s' in\n%s", arguments, *lines, at);
        at = found;
    }
    spec_child_free(&c);
}

TEST(each_way_to_judge_a_draft_has_its_words)
{
    spec_needs_program();
    /* ratios 2/3, 5/4, 1/2; the product capped at 1 after each is .667, .833, .417 */
    has("step --K 3 --rule block --coins 0.5,0.3,0.8,0.9,0.3,0.1",
        (const char *const[]){"ratio  product  chance", "0.667    0.667  coin 0.5",
                              "1.25    0.833  coin 0.3", "0.5    0.417  coin 0.8",
                              "keep        3 of 3: 0.417/1 = 0.417, coin 0.9: not kept",
                              "keep        2 of 3: 0.0833/0.25 = 0.333, coin 0.3: kept",
                              "Position 3", "correction  the, coin 0.1 in the residual",
                              "emitted     cat the the: 2 accepted and a correction", NULL});
    /* a ratio above 1 is capped by block, and counts in hsd */
    has("step --K 2 --rule block --coins 0.3,0.5,0.9",
        (const char *const[]){"1.25        1  coin 0.3", "0.667    0.667  coin 0.5",
                              "keep        2 of 2: 0.667/1 = 0.667, coin 0.9: not kept", NULL});
    has("step --K 2 --rule hsd --coins 0.3,0.5,0.9",
        (const char *const[]){"1.25     1.25  coin 0.3", "0.667    0.833  coin 0.5",
                              "keep        2 of 2: 0.833/1 = 0.833, coin 0.9: not kept", NULL});
    has("step --K 2 --coins 0.1,0.1,0.9",
        (const char *const[]){"test        the: target/draft = 0.5/0.4 = 1.25: accepted",
                              "Position 3", "bonus       dog, coin 0.9 in the target's row",
                              "emitted     the the dog: 2 accepted and a bonus", NULL});
    has("step --K 1 --rule match --coins 0.5,0.6,0.9",
        (const char *const[]){"target      cat, coin 0.6 in the target's row: a draft token",
                              "bonus       dog", NULL});
    has("step --K 1 --rule match --coins 0.5,0.1",
        (const char *const[]){"target      the, coin 0.1 in the target's row: not a draft token",
                              "emitted     the: 0 accepted and a correction", NULL});
    has("step --K 1 --rule rrs --drafting tree?n=2 --coins 0.5,0.8,0.7,0.6,0.1",
        (const char *const[]){"test        cat (1): target/draft = 0.2/0.3 = 0.667, coin 0.7",
                              "test        sat (2): 0/0.04 = 0: rejected", "residual    sum",
                              "correction  dog", NULL});
    has("step --K 1 --rule greedy --drafting greedy",
        (const char *const[]){"0.5           chosen",
                              "accepted    the, without a random decision of its own", "argmax",
                              "same distribution", NULL});
    has("step --K 1 --rule resample-target --coins 0.5,0.7,0.6",
        (const char *const[]){"correction  cat, coin 0.6 in the target's row",
                              "output      the 0.5", "another distribution", NULL});
    has("step --K 1 --rule ot --drafting tree?n=2 --seed 2",
        (const char *const[]){"select      number ", "test        ", NULL});
    has("step --K 2 --drafting dynamic?top=3&nodes=2&draw=proxy --rule token-rest --seed 2",
        (const char *const[]){"left out of the tree", NULL});
    has("step --K 2 --drafting tree?n=2&seed=7 --rule gumbel?seed=7",
        (const char *const[]){"common noise", "without a random decision", NULL});
    has("step --K 1 --drafting gumbel?seed=7 --rule gumbel?seed=7",
        (const char *const[]){"common noise", "without a random decision", NULL});
    has("step --rounds 2 --seed 3",
        (const char *const[]){"Round 1, after 0", "Round 2, after ", NULL});
}

/* Column `mean_n_accepted` of prove, which enumerates the rule's own code. */
static double proved(const char *rule)
{
    char arguments[256];
    spec_child c;
    snprintf(arguments, sizeof arguments,
             "prove " EXAMPLE " --rule %s --drafting chain --K 1 --tokens 1 --format json", rule);
    spec_child_run(&c, arguments);
    const char *at = strstr(c.text, "\"mean_n_accepted\"");
    if (at == NULL) fail_msg("%s: %s", arguments, c.text);
    const double mean = strtod(strchr(at, ':') + 1, NULL);
    spec_child_free(&c);
    return mean;
}

/* The probabilities of the tests, over the law of the draft token, are the exact acceptance. */
TEST(shown_probabilities_sum_to_the_exact_acceptance)
{
    static const char *const rules[] = {"token",
                                        "block",
                                        "traversal",
                                        "lenience?l=0.3",
                                        "mentored",
                                        "gumbel",
                                        "minhash",
                                        "hsd",
                                        "naive-tree",
                                        "rrs",
                                        "token-rest",
                                        "khisti",
                                        "ot",
                                        "resample-target",
                                        "target-only",
                                        "ensemble",
                                        "cactus?delta=0.1",
                                        "fly",
                                        "cut-invalid",
                                        "single-threshold?s=0.2",
                                        NULL};
    static const double draft[] = {0.4, 0.3, 0.2, 0.1};
    static const char *const coin[] = {"0.2", "0.5", "0.8", "0.95"};
    spec_needs_program();
    for (int r = 0; rules[r] != NULL; r++) {
        double mean = 0.0;
        for (int token = 0; token < 4; token++) {
            char arguments[256];
            snprintf(arguments, sizeof arguments,
                     "step --K 1 --rule %s --coins %s --format json " EXAMPLE, rules[r],
                     coin[token]);
            json_t *root = run_json(arguments);
            const json_t *round = json_array_get(json_object_get(root, "rounds"), 0);
            const json_t *test = json_array_get(json_object_get(round, "decisions"), 1);
            const json_t *node = json_array_get(json_object_get(round, "nodes"), 0);
            assert_int_equal(json_integer_value(json_object_get(node, "token")), token);
            assert_int_equal(json_integer_value(json_object_get(test, "node")), 0);
            mean += draft[token] * json_real_value(json_object_get(test, "probability"));
            json_decref(root);
        }
        assert_within(mean, proved(rules[r]), 1e-9);
    }
}

TEST(tokens_that_are_not_shown_are_summed)
{
    spec_needs_program();
    spec_child c;
    spec_child_run(&c, "step --K 1 --target zipf?V=40 --draft uniform?V=40 --coins 0.5,0.7,0.6");
    assert_non_null(strstr(c.text, "  31 others           0.775 ")); /* 31/40 */
    spec_child_free(&c);
}

TEST(json_has_every_number_in_full)
{
    spec_needs_program();
    json_t *root = run_json("step --K 1 --coins 0.5,0.7,0.6 --format json");
    const json_t *round = json_array_get(json_object_get(root, "rounds"), 0);
    const json_t *decisions = json_object_get(round, "decisions");
    assert_int_equal(json_array_size(decisions), 3);
    const json_t *test = json_array_get(decisions, 1), *pick = json_array_get(decisions, 2);
    assert_string_equal(json_string_value(json_object_get(test, "role")), "test");
    assert_same(json_real_value(json_object_get(test, "probability")), 0.2 / 0.3);
    assert_same(json_real_value(json_object_get(test, "coin")), 0.7);
    assert_int_equal(json_integer_value(json_object_get(test, "answer")), 0);
    assert_same(json_real_value(json_array_get(json_object_get(pick, "weights"), 0)), 0.5 - 0.4);
    const json_t *law = json_object_get(root, "first_token");
    assert_true(json_real_value(json_object_get(law, "tv")) < 1e-15);
    assert_within(json_real_value(json_array_get(json_object_get(law, "output"), 1)), 0.2, 1e-15);
    json_decref(root);
}

/* Lines of `speclab list KIND`: names, without their settings. */
static int list(char name[64][32], const char *kind)
{
    char arguments[64];
    spec_child c;
    int n = 0;
    snprintf(arguments, sizeof arguments, "list %s --format csv", kind);
    spec_child_run(&c, arguments);
    for (char *rest = c.text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *cell = strchr(line, ',');
        if (line[0] == '#' || cell == NULL || strncmp(line, "kind,", 5) == 0) continue;
        cell += 1 + (cell[1] == '"');
        assert_true(n < 64);
        snprintf(name[n++], 32, "%.*s", (int)strcspn(cell, ",?:\""), cell);
    }
    spec_child_free(&c);
    return n;
}

/* At most 80 columns of ASCII, except for the models' specs, and no blank at an end. */
static void check_lines(const char *arguments, const char *text)
{
    int at = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\n' && c > text && c[-1] == ' ') fail_msg("%s: a blank at an end", arguments);
        at = *c == '\n' ? 0 : at + 1;
        if ((at > 80 && strstr(text, "\nrule  ") < c) || *c < 0 || strncmp(c, "nan", 3) == 0)
            fail_msg("%s: '%.60s'", arguments, c - (at > 60 ? 60 : at));
    }
}

TEST(an_output_named_json_is_json)
{
    spec_needs_program();
    spec_program_works("step --format json -o format.txt");
    spec_program_works("step -o ending.json");
    spec_files_same("ending.json", "format.txt");
}

TEST(every_rule_and_drafting_steps_or_refuses_in_a_line, SLOW)
{
    static char rule[64][32], drafting[64][32];
    int steps = 0, refusals = 0;
    spec_needs_program();
    const int n_rules = list(rule, "rules");
    int n_draftings = list(drafting, "drafts");
    for (int i = 0; i < n_draftings; i++)
        if (strcmp(drafting[i], "gumbel") == 0 || strcmp(drafting[i], "minhash") == 0)
            strcat(drafting[i], "?seed=7");
    static const char *const trees[] = {"tree?n=2&siblings=without", "tree?n=2&siblings=hub",
                                        "tree?n=3&siblings=top", "tree?n=3&siblings=greedy"};
    for (int i = 0; i < 4; i++) strcpy(drafting[n_draftings++], trees[i]);
    for (int r = 0; r < n_rules; r++)
        for (int d = 0; d < n_draftings; d++) {
            char arguments[256];
            spec_child c;
            snprintf(arguments, sizeof arguments,
                     "step --rule %s --drafting %s --K 3 --rounds 3 --context 0,1,2,0,1 "
                     "--target dirichlet?V=5&seed=1 --draft dirichlet?V=5&seed=2",
                     rule[r], drafting[d]);
            spec_child_run(&c, arguments);
            if (c.code == 0) {
                check_lines(arguments, c.text);
                if (strstr(c.text, "Round 3, after ") == NULL)
                    fail_msg("%s: %s", arguments, c.text);
            } else {
                spec_child_says(&c, arguments, 2, "speclab step: ");
            }
            steps += c.code == 0;
            refusals += c.code != 0;
            spec_child_free(&c);
        }
    printf("%d pairs step, %d refuse\n", steps, refusals);
    assert_true(steps > 120 && refusals > 120);
}

TEST(bars_have_eighths_on_a_terminal_of_utf8)
{
    spec_terminal t;
    spec_needs_program();
    spec_terminal_run(&t, 80, "LC_ALL=C.UTF-8", "step --K 1 --coins 0.5,0.7,0.6");
    assert_int_equal(t.code, 0);
    assert_non_null(strstr(t.screen, "0.1 \u2588\u2588\u2588\u2588 "));
    spec_terminal_free(&t);
    spec_terminal_run(&t, 80, "LC_ALL=C", "step --K 1 --coins 0.5,0.7,0.6");
    assert_non_null(strstr(t.screen, "0.1 #### "));
    spec_terminal_free(&t);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
