/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab bench --online as users call it. SPECLAB names the program. */
#include "tests/cli/result_table.h"
#include "tests/support/child.h"
#include "tests/support/support.h"

#define DRAFT "random?dim=16&layers=2&heads=2&ffn=24&vocab=12&context=96&type=f32"
#define ONLINE                                                                                     \
    "bench --online --target markov?V=12&order=1&concentration=0.1 --draft " DRAFT                 \
    " --context 8 --texts 20 --tokens 40 -K 3 --rate 0.01 "

TEST(both_drafts_have_rows_for_each_part)
{
    spec_table table;
    char line[200];
    spec_needs_program();
    read_result(&table, ONLINE);
    assert_int_equal(table.n_rows, 22);
    for (size_t i = 0; i < 22; i++) {
        assert_string_equal(cell(&table, i, "learns")->text, i % 2 == 0 ? "static" : "all");
        assert_true(number(&table, i, "tokens_per_s") > 0.0);
    }
    assert_string_equal(cell(&table, 20, "part")->text, "all");
    assert_true(number(&table, 19, "alpha_tested") > number(&table, 18, "alpha_tested") + 0.1);
    assert_non_null(spec_table_provenance(&table, "learning", line, sizeof line));
    assert_string_equal(line, "loss jsd, rate 0.01, 4 updates of 4 windows of 52 tokens");
    spec_table_free(&table);
    spec_program_works("plot result.csv --x part --y alpha_tested --by learns -o online.svg");
}

TEST(texts_are_as_many_as_asked_or_as_prompts_or_64)
{
    static const struct {
        const char *options;
        double texts;
    } cases[] = {{"", 64},
                 {"--texts 5", 5},
                 {"--prompts prompts.txt", 3},
                 {"--prompts prompts.txt --texts 5", 5}};
    spec_needs_program();
    spec_file_write("text.txt", "the cat sat and then once more the cat sat");
    spec_file_write("prompts.txt", "the cat\n\nand then\n\nonce more\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_table table;
        char arguments[320];
        snprintf(arguments, sizeof arguments,
                 "bench --online --target ngram:text.txt?order=2 --draft random?dim=16&layers=1&"
                 "heads=2&ffn=24&context=64&vocab=256&type=f32 --context 3 --tokens 2 -K 1 %s",
                 cases[i].options);
        read_result(&table, arguments);
        assert_true(number(&table, table.n_rows - 1, "texts") == cases[i].texts);
        spec_table_free(&table);
    }
}

TEST(tokens_do_not_depend_on_threads)
{
    static const char *const columns[] = {"rounds", "alpha_tested", "tokens_per_round"};
    spec_table table[2];
    spec_needs_program();
    read_result(&table[0], ONLINE "--positions rejected --threads 1");
    read_result(&table[1], ONLINE "--positions rejected --threads 3");
    for (size_t i = 0; i < 22; i++)
        for (int c = 0; c < 3; c++)
            assert_true(number(&table[0], i, columns[c]) == number(&table[1], i, columns[c]));
    assert_string_equal(cell(&table[0], 21, "learns")->text, "rejected");
    for (int i = 0; i < 2; i++) spec_table_free(&table[i]);
}

TEST(the_number_of_updates_is_said)
{
    spec_child c;
    spec_needs_program();
    spec_child_run(&c, ONLINE "--temperature 0 --loss fkl");
    assert_int_equal(c.code, 0);
    assert_string_equal(c.line, "speclab bench: the draft learnt in 4 updates, each from 4 windows "
                                "of 52 tokens\n");
    spec_child_free(&c);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
