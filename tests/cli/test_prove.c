/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab prove as its users run it. SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <string.h>

TEST(all_rules_that_hold_are_proved_and_the_others_told)
{
    static const char *const held[] = {"\ntoken,",      "\nmatch,", "\ngreedy,",
                                       "\nnaive-tree,", "\nrrs,",   "\nkseq,"};
    spec_child c;
    spec_needs_program();
    spec_child_run(&c, "prove --n 2 --K 1 --tokens 2");
    assert_int_equal(c.code, 0);
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        assert_non_null(strstr(c.text, held[i]));
    assert_null(strstr(c.text, "\nrrsw,"));
    assert_non_null(strstr(c.line, "speclab prove: left out, because they do not support "
                                   "'tree?n=2&siblings=iid': block, "));
    assert_non_null(strstr(c.line, "rrsw, spechub, token-rest, "));
    assert_int_equal(strcspn(c.line, "\n") + 1, strlen(c.line));
    spec_child_free(&c);
    spec_child_run(&c, "prove --K 1 --tokens 1"); /* every rule accepts chains */
    assert_int_equal(c.code, 0);
    assert_string_equal(c.line, "");
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        assert_non_null(strstr(c.text, held[i]));
    assert_non_null(strstr(c.text, "\nspechub,"));
    spec_child_free(&c);
}

TEST(a_tree_is_as_deep_as_its_shape)
{
    static const char *const cases[][2] = {
        {"prove --rule rrsw --tree 2.1.1 --siblings without --tokens 1", ",3,1,"},
        {"prove --rule rrs --tree children=2.1.0 --tokens 1", ",2,1,"},
        {"prove --rule token-rest --tree 2.1.1 --siblings greedy,top --K 1 --tokens 1",
         "siblings=top:"},
        {"prove --rule match --n 1:2 --K 1 --tokens 1", "\nmatch,tree?n=2&siblings=iid:"},
    };
    spec_needs_program();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spec_child c;
        spec_child_run(&c, cases[i][0]);
        assert_int_equal(c.code, 0);
        if (strstr(c.text, cases[i][1]) == NULL)
            fail_msg("%s: no %s in %s", cases[i][0], cases[i][1], c.text);
        assert_null(strstr(c.text, "NOT"));
        spec_child_free(&c);
    }
}

TEST(cases_are_random_pairs_by_family)
{
    spec_needs_program();
    spec_program_prints("prove --cases 20 --rule token,resample-target --drafting chain --V 2:3 "
                        "--family zeros,disjoint "
                        "--K 1 --tokens 2",
                        0, "\nrule,drafting,K,tokens,V,family,cases,worst_tv,",
                        "\ntoken,chain,1,2,3,disjoint,20,", "biased, as marked");
}

TEST(if_all_is_too_large_a_smaller_size_is_named)
{
    static const char command[] = "prove --rule match,token --tokens 50";
    spec_child c;
    spec_needs_program();
    spec_child_run(&c, command);
    spec_child_says(&c, command, 3,
                    "speclab prove: every row is too large: 50 tokens over a "
                    "vocabulary of 3 have more than 16777216 texts; try 3");
    spec_child_free(&c);
}

/* The other cases are proved in one run, in parts, and resumed. */
TEST(what_is_too_large_is_a_row_that_says_so)
{
    static const char command[] = "prove --rule match,token --drafting chain --K 1,2 --limit 1500",
                      line[] = "2 of 4 rows are too large: match (row 2) and token (row 4)";
    char text[256];
    spec_child c;
    spec_needs_program();
    spec_child_run(&c, command);
    spec_child_says(&c, command, 3,
                    "speclab prove: 2 of 4 rows are too large: match (row 2) and "
                    "token (row 4); the first: more than 1500 branches: some ");
    assert_non_null(strstr(c.line, "--limit"));
    const char *first = strstr(c.text, "\nmatch,"), *last = strstr(c.text, "\ntoken,");
    assert_non_null(strstr(c.text, "# limit: 1500\n"));
    assert_non_null(strstr(first, ",1,3,729,"));
    assert_non_null(strstr(first, ",2,3,,,,,too large\ntoken,"));
    assert_non_null(strstr(last, ",1,3,161,"));
    assert_non_null(strstr(last, ",2,3,,,,,too large\n"));
    spec_child_free(&c);
    for (int part = 1; part <= 2; part++) {
        snprintf(text, sizeof text, "%s --shard %d/2 -o %d.csv", command, part, part);
        spec_program_ends(text, part == 1 ? 0 : 3, "");
    }
    spec_program_ends("merge 1.csv 2.csv -o merged.csv", 3, "");
    snprintf(text, sizeof text, "%s -o whole.csv", command);
    spec_program_ends(text, 3, "");
    spec_files_same("merged.csv", "whole.csv");
    snprintf(text, sizeof text, "%s -o whole.csv --resume", command);
    spec_child_run(&c, text);
    assert_int_equal(c.code, 3);
    assert_non_null(strstr(c.line, line));
    spec_child_free(&c);
    spec_program_ends("run prove -d out --set K=1 --limit 200", 3, "prove ");

    spec_program_prints("prove --rule match,token --drafting chain --K 4 --cases 5 --limit 20000",
                        3, "\nmatch,chain,4,3,5,,,,,,too large\n", "\ntoken,chain,4,3,5,");
    spec_child_run(&c, "prove --rule token --drafting chain --K 1 --tokens 2,30");
    assert_int_equal(c.code, 3);
    assert_non_null(strstr(c.line, "30 tokens over a vocabulary of 3 have more than"));
    spec_child_free(&c);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
