/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab pair as its users run it. SPECLAB names the program. */
#include "analysis/capped_geometric.h"
#include "tests/cli/result_table.h"
#include "tests/support/bench_table.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

#define TWO "pair --target zipf?V=50 --draft perturb?alpha=0.9 --draft perturb?alpha=0.6"

static int set_up(void **state)
{
    const int status = spec_program_set_up(state);
    if (spec_program[0] == '\0') return status;
    char text[2000] = "";
    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), 40, "the %d dog sees %d cats\n", i * i % 7, i % 5);
    spec_file_write("text.txt", text);
    spec_file_write("prompts.jsonl", "{\"prompt\":\"the 2\",\"category\":\"dogs\"}\n"
                                     "{\"prompt\":\"sees\",\"category\":\"cats\"}\n"
                                     "{\"prompt\":\"the 4\",\"category\":\"dogs\"}\n"
                                     "{\"prompt\":\"dog sees\",\"category\":\"cats\"}\n"
                                     "{\"prompt\":\"the\"}\n");
    return status;
}
SUITE(.setup = set_up, .teardown = spec_program_tear_down);

/* For a draft with constant overlap there is a closed form. */
TEST(a_constant_overlap_gives_the_capped_geometric_mean)
{
    spec_needs_program();
    spec_table table;
    read_result(&table, TWO " --c 0.25,0.05 --K 4 --texts 4 --tokens 20");
    assert_int_equal(table.n_rows, 8);
    for (size_t i = 0; i < 8; i++) {
        const double alpha = i < 4 ? 0.9 : 0.6, c = i < 4 ? 0.25 : 0.05;
        const int K = (int)i % 4 + 1;
        const double mean = spec_capped_geometric_mean(alpha, K);
        assert_string_equal(cell(&table, i, "draft")->text,
                            i < 4 ? "perturb?alpha=0.9" : "perturb?alpha=0.6");
        assert_within(number(&table, i, "K"), K, 0.0);
        assert_within(number(&table, i, "alpha_mean"), alpha, 1e-9);
        assert_within(number(&table, i, "conditional"), alpha, 1e-9);
        /* the last token's acceptance is exact, the others' depend on the texts */
        const double tokens = number(&table, i, "tokens_per_round");
        assert_within(tokens, mean, K == 1 ? 1e-9 : 0.05 * mean);
        assert_within(number(&table, i, "speedup"), tokens / (1.0 + K * c), 1e-9);
        assert_within(number(&table, i, "c"), c, 0.0);
        assert_within(number(&table, i, "positions"), 80, 0.0);
    }
    spec_table_free(&table);
}

/* A draft equal to its target is always accepted if it draws its tokens. If it takes the most
 * probable token, the target draws the same one with probability 1 / (1 + 1/2 + ... + 1/50). */
TEST(a_greedy_draft_is_accepted_by_the_chance_of_its_token)
{
    spec_needs_program();
    spec_table table;
    for (int greedy = 0; greedy < 2; greedy++) {
        read_result(&table,
                    greedy ? "pair --target zipf?V=50&s=1 --draft zipf?V=50&s=1 --drafting greedy"
                           : "pair --target zipf?V=50&s=1 --draft zipf?V=50&s=1");
        assert_within(number(&table, 0, "alpha_mean"), greedy ? 1.0 / 4.499205338329 : 1.0, 1e-9);
        spec_table_free(&table);
    }
}

TEST(a_draft_of_one_pass_costs_one_pass)
{
    spec_needs_program();
    spec_table table;
    read_result(&table, "pair --target markov?V=9 --draft block?reach=3&alpha=0.8 --c 0.25 --K 5 "
                        "--texts 4 --tokens 20");
    assert_int_equal(table.n_rows, 3); /* its reach */
    for (size_t i = 0; i < 3; i++)
        assert_within(number(&table, i, "speedup"),
                      number(&table, i, "tokens_per_round") / (1.0 + 0.25), 1e-9);
    spec_table_free(&table);
}

TEST(a_result_of_bench_has_c_and_the_times_of_passes)
{
    spec_needs_program();
    static const double pass[] = {1.0, 1.1, 1.2, 1.4, 1.6}; /* by draft tokens */
    spec_table table;
    bench_table_write("bench.csv", NULL, 0.0);
    read_result(&table, TWO " --costs bench.csv --K 4 --texts 4 --tokens 20");
    assert_int_equal(table.n_rows, 8);
    for (size_t i = 0; i < 8; i++) {
        const int K = (int)i % 4 + 1;
        assert_within(number(&table, i, "c"), 0.27, 1e-9);
        assert_within(number(&table, i, "speedup"),
                      number(&table, i, "tokens_per_round") / (0.27 * K + pass[K]), 1e-9);
    }
    spec_table_free(&table);
}

TEST(the_first_sentence_is_the_answer)
{
    spec_needs_program();
    spec_child c;
    spec_child_run(&c, TWO " --c 0.25,0.05 --K 4 --texts 4 --tokens 20");
    assert_int_equal(c.code, 0);
    const char answer[] = "Run perturb?alpha=0.9 with K = 4: expect 2.0";
    if (strncmp(c.text, answer, strlen(answer)) != 0) fail_msg("%.120s", c.text);
    spec_child_free(&c);
    spec_child_run(&c, TWO " --c 1 --K 4 --texts 4 --tokens 20");
    if (strncmp(c.text, "Do not speculate: the best, perturb?alpha=0.9 ", 46) != 0)
        fail_msg("%.120s", c.text);
    spec_child_free(&c);
}

/* Drafts that cost nothing are faster the longer they are; at most 64 tokens are allowed. */
TEST(a_longer_draft_is_suggested_unless_there_is_none)
{
    spec_needs_program();
    for (int K = 3; K <= 64; K += 61) {
        char line[200];
        spec_child c;
        snprintf(line, sizeof line, TWO " --c 0 --K %d --texts 16 --tokens 100", K);
        spec_child_run(&c, line);
        assert_int_equal(c.code, 0);
        assert_int_equal(strstr(c.text, "No longer draft was tried") != NULL, K < 64);
        snprintf(line, sizeof line, "Run perturb?alpha=0.9 with K = %d: ", K);
        assert_int_equal(strncmp(c.text, line, strlen(line)), 0);
        spec_child_free(&c);
    }
}

TEST(assumed_options_are_said)
{
    spec_needs_program();
    spec_child c;
    spec_child_run(&c, TWO " --K 1 --texts 2 --tokens 2 --top-k 7");
    assert_string_equal(c.assumed, "speclab pair: assumed: --temperature 1, --top-p 1, --min-p 0, "
                                   "--c 0.1");
    spec_child_free(&c);
}

#define NGRAMS                                                                                     \
    "pair --target ngram:text.txt?order=4 --draft ngram:text.txt?order=2 --K 2 --tokens 20"

TEST(categories_have_rows_of_their_own)
{
    spec_needs_program();
    spec_table table;
    read_result(&table, NGRAMS " --prompts prompts.jsonl");
    assert_int_equal(table.n_rows, 6); /* all, dogs, cats */
    static const int texts[] = {5, 2, 2};
    double positions[3];
    for (size_t i = 0; i < 3; i++) {
        assert_within(number(&table, 2 * i, "texts"), texts[i], 0.0);
        positions[i] = number(&table, 2 * i, "positions");
    }
    assert_within(positions[0], positions[1] + positions[2] + 20, 0.0);
    assert_string_equal(cell(&table, 2, "category")->text, "dogs");
    assert_string_equal(cell(&table, 4, "category")->text, "cats");
    spec_table_free(&table);
}

TEST(the_first_texts_are_taken)
{
    spec_needs_program();
    spec_table table;
    read_result(&table, NGRAMS " --prompts prompts.jsonl --texts 3");
    static const int texts[] = {3, 2, 1};
    for (size_t i = 0; i < 3; i++) assert_within(number(&table, 2 * i, "texts"), texts[i], 0.0);
    spec_table_free(&table);
    char many[41 * 7 + 1] = "";
    for (int i = 0; i < 41; i++) strcat(many, "the 2\n\n");
    spec_file_write("prompts.txt", many);
    read_result(&table, NGRAMS " --prompts prompts.txt --texts 2");
    assert_within(number(&table, 0, "texts"), 2, 0.0);
    spec_table_free(&table);
    read_result(&table, NGRAMS " --prompts prompts.txt");
    assert_within(number(&table, 0, "texts"), 41, 0.0);
    spec_table_free(&table);
}

TEST(long_prompts_are_cut)
{
    spec_needs_program();
    spec_table table;
    read_result(&table, NGRAMS " --prompts prompts.jsonl --context 3");
    assert_non_null(
        strstr(table.provenance, "after the prompts of prompts.jsonl, cut to 3 tokens"));
    spec_table_free(&table);
    read_result(&table, NGRAMS " --prompts prompts.jsonl --context 9");
    assert_null(strstr(table.provenance, "cut to"));
    spec_table_free(&table);
}

/* N-grams have prompts from their text, and a Markov chain has none. The prompts change what the
 * target writes. */
TEST(a_target_may_have_its_own_prompts)
{
    spec_needs_program();
    spec_table table, other;
    read_result(&table, NGRAMS " --texts 4");
    read_result(&other, NGRAMS " --texts 4 --context 1");
    assert_non_null(strstr(table.provenance, "after prompts of the target's own"));
    assert_true(number(&table, 0, "alpha_mean") != number(&other, 0, "alpha_mean"));
    spec_table_free(&table);
    spec_table_free(&other);
    read_result(&table, "pair --target markov?V=4 --draft uniform?V=4 --texts 2 --tokens 3 --K 1");
    assert_non_null(strstr(table.provenance, "2 of up to 3 tokens, without prompts"));
    spec_table_free(&table);
}

TEST(a_translated_draft_is_announced)
{
    spec_needs_program();
    spec_child c;
    spec_child_run(&c, "pair --target ngram:text.txt?tokens=words --K 1 --texts 2 --tokens 3 "
                       "--draft ngram:text.txt?tokens=chars&vocabulary=target");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.line, "speclab pair: --draft: "));
    assert_non_null(strstr(c.line, " tokens are tokens of the draft"));
    spec_child_free(&c);
}

/* Folders are left out of a draft's name unless two names would then be the same. */
TEST(drafts_have_short_names_that_differ)
{
    spec_needs_program();
    spec_table table;
    const char one[] = NGRAMS " --draft ngram:./text.txt?order=1 --texts 2";
    read_result(&table, one);
    assert_string_equal(cell(&table, 2, "draft")->text, "text.txt?order=1");
    spec_table_free(&table);
    char two[400];
    snprintf(two, sizeof two, "%s --draft ngram:././text.txt?order=1", one);
    read_result(&table, two);
    assert_string_equal(cell(&table, 2, "draft")->text, "ngram:./text.txt?order=1");
    assert_string_equal(cell(&table, 4, "draft")->text, "ngram:././text.txt?order=1");
    spec_table_free(&table);
}

/* A file of rows gives the same numbers as its models do, for the same text in one piece. */
TEST(a_file_of_rows_stands_in_for_its_models)
{
    spec_needs_program();
    spec_table rows, summary;
    spec_program_works("rows --target ngram:text.txt?order=4 --draft ngram:text.txt?order=2 "
                       "-n 100 -o p.rows --force");
    read_result(&rows, "pair --target p.rows --K 1");
    read_result(&summary, "rows p.rows");
    assert_within(number(&rows, 0, "positions"), 100, 0.0);
    assert_within(number(&rows, 0, "alpha_mean"), number(&summary, 0, "beta_mean"), 1e-9);
    assert_within(number(&rows, 0, "argmax_agreement"), number(&summary, 0, "argmax_agreement"),
                  1e-9);
    spec_table_free(&rows);
    spec_table_free(&summary);
}

TEST(a_text_of_another_author_is_noticed)
{
    spec_needs_program();
    spec_child c;
    spec_program_works("rows --target ngram:text.txt?order=2 --draft ngram:text.txt?order=1 "
                       "-n 400 -o own.rows --force");
    spec_child_run(&c, "pair --target own.rows");
    assert_int_equal(c.code, 0);
    assert_null(strstr(c.line, "did not write"));
    spec_child_free(&c);
    spec_program_works("rows --target ngram:text.txt?order=2 --draft ngram:text.txt?order=1 "
                       "--text prompts.jsonl -n 400 -o other.rows --force");
    spec_child_run(&c, "pair --target other.rows");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.line, "the target did not write the text of other.rows"));
    spec_child_free(&c);
}
