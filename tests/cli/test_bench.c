/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab bench as users call it. SPECLAB names the program. Tests of times only check that there
 * are some, and ratios may be withheld, because the machine may be busy. */
#include "tests/cli/result_table.h"
#include "tests/support/child.h"

#include "tests/support/bench_table.h"
#include "tests/support/near.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAIR "bench --target zipf?V=50 --draft perturb?of=target&alpha=0.7 "

TEST(a_sweep_has_a_row_for_each_K_and_then_for_each_pass)
{
    spec_needs_program();
    static const char *const filled[] = {"rounds",
                                         "tokens_per_round",
                                         "tokens_per_round_predicted",
                                         "tokens_per_round_by_depth",
                                         "alpha_tested_pooled",
                                         "c_low",
                                         "c_high",
                                         "plain_ms",
                                         "round_ms",
                                         "verify_ms",
                                         "verify_ms_costed",
                                         "rule_ms",
                                         "rest_ms",
                                         "gap_tokens",
                                         "target_pass_ms",
                                         "draft_pass_ms",
                                         "beta_z",
                                         "threads",
                                         "processors",
                                         "processor_share",
                                         "switches_per_s",
                                         "spread",
                                         "plain_spread",
                                         "speed_spread"};
    spec_table table;
    char value[256];
    read_result(&table, PAIR "--K 3,0:2 --widths 1,2,8 --texts 20");
    assert_int_equal(table.n_rows, 4 + 1);
    for (size_t r = 0; r < 4; r++) {
        assert_true(number(&table, r, "K") == (double)r &&
                    number(&table, r, "pass") == (double)r + 1.0);
        assert_true(number(&table, r, "texts") == 20.0);
        for (size_t i = 0; i < sizeof filled / sizeof filled[0]; i++)
            if (isnan(number(&table, r, filled[i])))
                fail_msg("%s is empty at K = %zu", filled[i], r);
        assert_false(number(&table, r, "speedup_low") > number(&table, r, "speedup_high"));
        assert_false(number(&table, r, "speedup") > number(&table, r, "tokens_per_round"));
        assert_within(number(&table, r, "alpha_tested_pooled"), 0.7, 0.1);
    }
    assert_true(isnan(number(&table, 4, "K")) && number(&table, 4, "pass") == 8.0);
    assert_true(isnan(number(&table, 4, "speedup")) && number(&table, 4, "target_pass_ms") > 0.0);
    assert_non_null(spec_table_provenance(&table, "machine", value, sizeof value));
    assert_non_null(spec_table_provenance(&table, "plain", value, sizeof value));
    assert_string_equal(spec_table_provenance(&table, "target", value, sizeof value), "zipf?V=50");
    assert_string_equal(spec_table_provenance(&table, "figure", value, sizeof value), "bench");
    assert_non_null(strstr(spec_table_provenance(&table, "texts", value, sizeof value), "seed 42"));
    spec_table_free(&table);
}

TEST(drafting_ahead_has_rows_beside_the_ordinary_ones)
{
    spec_needs_program();
    static const char *const filled[] = {"hit",      "hit_low",   "hit_high",   "hit_predicted",
                                         "guess",    "handed",    "ahead_ms",   "ahead_ms_costed",
                                         "gain_low", "gain_high", "gap_tokens", "beta_z"};
    spec_table table;
    read_result(&table, PAIR "--K 0:2 --widths 1 --texts 20 --ahead");
    assert_int_equal(table.n_rows, 3 + 2);
    for (size_t r = 0; r < 5; r++) {
        assert_true(number(&table, r, "K") == (double)(r < 3 ? r : r - 2));
        assert_true(number(&table, r, "ahead") == (r < 3 ? 0.0 : 1.0));
        assert_string_equal(spec_table_cell(&table, r, spec_table_column(&table, "verify"))->text,
                            "host");
        for (size_t i = 0; i < sizeof filled / sizeof filled[0]; i++)
            if (isnan(number(&table, r, filled[i])) != (r < 3 && i < 10))
                fail_msg("%s in row %zu", filled[i], r);
        if (r >= 3)
            assert_within(number(&table, r, "hit"), number(&table, r, "hit_predicted"), 0.1);
    }
    spec_table_free(&table);
    spec_program_prints(PAIR "--K 2 --texts 4 --ahead --format table", 0,
                        "The next chain drafted while this one is verified:", "over beforehand",
                        "The share of rounds whose chain was ready:",
                        "of the bonus tokens were the draft's most probable one");
}

/* A pass of one token reads the experts that a token takes; a wider one reads more, but not all of
 * the 16. */
TEST(passes_of_a_mixture_tell_their_experts)
{
    spec_needs_program();
    spec_table table;
    double bytes[2] = {0.0, 0.0};
    read_result(&table, "bench --target random?dim=64&layers=2&heads=4&experts=16&active=2&"
                        "expert_ffn=32&vocab=100 --draft random?dim=64&layers=1&heads=4&ffn=96&"
                        "vocab=100 --texts 2 --widths 1,4 -n 20");
    for (size_t r = 0; r < table.n_rows; r++) {
        const double n = number(&table, r, "pass"), read = number(&table, r, "target_pass_experts");
        assert_near(number(&table, r, "target_pass_experts_expected"), 16.0 * (1.0 - pow(0.875, n)),
                    1e-6);
        assert_true(n == 1.0 ? read == 2.0 : read > 2.0 && read <= 2.0 * n && read <= 16.0);
        assert_true(isnan(number(&table, r, "draft_pass_experts")));
        if (n == 1.0) bytes[0] = number(&table, r, "target_pass_bytes");
        if (n == 4.0) bytes[1] = number(&table, r, "target_pass_bytes") - (read - 2.0) * 13056.0;
    }
    assert_near(bytes[1], bytes[0], 1e-6); /* 2 layers of 3 32 64 weights per expert */
    spec_table_free(&table);
}

TEST(a_transformer_stands_beside_what_its_device_allows)
{
    spec_needs_program();
    static const char *const filled[] = {"target_pass_limit_ms", "target_pass_bytes",
                                         "target_pass_gb_per_s", "target_pass_read_share",
                                         "draft_pass_limit_ms",  "draft_pass_bytes",
                                         "draft_pass_gb_per_s",  "draft_pass_read_share"};
    spec_table table;
    char value[256];
    read_result(&table, "bench --target random?dim=64&layers=4&heads=4&ffn=96&vocab=100 --draft "
                        "layers?exit=2 --texts 2 "
                        "--widths 8 -n 20");
    assert_int_equal(table.n_rows, 1 + 3);
    for (size_t r = 0; r < table.n_rows; r++)
        for (size_t i = 0; i < sizeof filled / sizeof filled[0]; i++)
            if (!(number(&table, r, filled[i]) > 0.0))
                fail_msg("%s is empty in row %zu", filled[i], r);
    assert_near(number(&table, 1, "target_pass_gb_per_s"),
                1e-6 * number(&table, 1, "target_pass_bytes") / number(&table, 1, "target_pass_ms"),
                1e-6);
    assert_true(number(&table, 0, "draft_pass_bytes") < number(&table, 0, "target_pass_bytes"));
    assert_string_equal(spec_table_provenance(&table, "devices", value, sizeof value),
                        "target on cpu (the processor), draft on cpu (the processor)");
    assert_non_null(
        strstr(spec_table_provenance(&table, "roofline of cpu", value, sizeof value), "reads "));
    spec_table_free(&table);
    read_result(&table, PAIR "--texts 2");
    assert_null(spec_table_provenance(&table, "devices", value, sizeof value));
    for (size_t i = 0; i < sizeof filled / sizeof filled[0]; i++)
        assert_true(isnan(number(&table, 0, filled[i])));
    spec_table_free(&table);
}

/* On the simulated GPU, times passes of up to 64 tokens, whose rows stay in its memory. The times
 * themselves mean nothing. */
TEST(on_a_card_passes_are_as_wide_as_they_may_be, SLOW)
{
    spec_needs_program();
    spec_table table;
    char value[256];
    int widest = 0;
    spec_simulated_card();
    read_result(
        &table,
        "bench --device gpu --target random?dim=32&layers=1&heads=2&ffn=32&vocab=40&type=bf16 "
        "--draft layers?exit=1 --K 2 --texts 2 -n 3 --context 20 --verify device");
    for (size_t r = 0; r < table.n_rows; r++) {
        const int pass = (int)number(&table, r, "pass");
        if (pass > widest) widest = pass;
        assert_true(number(&table, r, "target_pass_ms") > 0.0 &&
                    number(&table, r, "target_pass_limit_ms") > 0.0);
    }
    assert_true(widest > 16); /* the widths 1:64, cut at the length of the text */
    if (!spec_card_is_real()) {
        assert_string_equal(spec_table_provenance(&table, "devices", value, sizeof value),
                            "target on gpu:0 (simulated card), draft on gpu:0 (simulated card)");
        assert_non_null(
            strstr(spec_table_provenance(&table, "roofline of gpu:0", value, sizeof value),
                   " us from kernel to kernel"));
    }
    spec_table_free(&table);
}

TEST(what_was_decoded_follows_from_the_seed)
{
    spec_needs_program();
    static const char *const same[] = {"rounds", "tokens_per_round", "tokens_per_round_by_depth",
                                       "alpha_tested_pooled", "beta_z"};
    static const char *const ways[] = {PAIR "--K 2,5 --threads 1",
                                       PAIR "--K 2,5 --threads 2 --widths 7",
                                       PAIR "--K 2,5 --seed 43"};
    spec_table table[3];
    for (int i = 0; i < 3; i++) read_result(&table[i], ways[i]);
    for (size_t r = 0; r < 2; r++)
        for (int c = 0; c < 5; c++) {
            assert_same(number(&table[0], r, same[c]), number(&table[1], r, same[c]));
            assert_true(number(&table[0], r, same[c]) != number(&table[2], r, same[c]));
        }
    for (int i = 0; i < 3; i++) spec_table_free(&table[i]);
}

TEST(a_page_is_written_for_people_and_json_for_programs)
{
    spec_needs_program();
    static const char *const said[] = {"target: zipf?V=50\n",
                                       "machine: ",
                                       "plain: ",
                                       "alpha_tested_pooled: 0.",
                                       "\nload: 1 thread on ",
                                       "\nWhat to try:\n",
                                       "Where a round's time goes",
                                       "Time of a pass, by its number"};
    spec_child c;
    spec_child_run(&c, PAIR "--K 0:3 --texts 4 --format table");
    assert_int_equal(c.code, 0);
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (strstr(c.text, said[i]) == NULL) fail_msg("no '%s' in %s", said[i], c.text);
    spec_child_free(&c);
    spec_child_run(&c, PAIR "--texts 4 --format json");
    json_t *rows = json_loads(c.text, 0, NULL);
    assert_int_equal(json_array_size(rows), 17 - 1);
    assert_true(json_is_number(json_object_get(json_array_get(rows, 0), "round_ms")));
    json_decref(rows);
    spec_child_free(&c);
}

/* The advice goes to standard error if the result goes to a file; `bench --from` repeats it. */
TEST(the_advice_is_said_beside_a_file_and_again_from_it)
{
    spec_needs_program();
    spec_child c, again;
    spec_child_run(&c, PAIR "--K 0:2 --texts 8 -o kept.csv");
    assert_int_equal(c.code, 0);
    assert_int_equal(c.n, 0);
    const char *advice =
        strncmp(c.line, "speclab bench: warning: ", 24) == 0 ? strchr(c.line, '\n') + 1 : c.line;
    assert_non_null(strstr(advice, "What to try:\n"));
    spec_child_run(&again, "bench --from kept.csv");
    assert_int_equal(again.code, 0);
    if (strstr(again.text, advice) == NULL) fail_msg("no '%s' in %s", advice, again.text);
    assert_non_null(strstr(again.text, "target: zipf?V=50\ndraft: perturb?of=target&alpha=0.7\n"));
    assert_non_null(strstr(again.text, "Where a round's time goes"));
    assert_memory_equal(again.line, c.line,
                        (size_t)(advice - c.line)); /* the warning, if any */
    assert_int_equal(again.n_line, (size_t)(advice - c.line));
    spec_child_free(&again);
    spec_child_free(&c);
}

/* Rewrites the CSV, with the first occurrence of `from` changed to `to`. */
static void edit(const char *into, const char *csv, const char *from, const char *to)
{
    const char *at = strstr(csv, from);
    assert_non_null(at);
    char *text = malloc(strlen(csv) + strlen(to) + 1);
    assert_non_null(text);
    sprintf(text, "%.*s%s%s", (int)(at - csv), csv, to, at + strlen(from));
    spec_file_write(into, text);
    free(text);
}

TEST(what_is_no_result_of_bench_is_refused_in_one_line)
{
    spec_needs_program();
    spec_program_works(PAIR "--K 0:2 --texts 8 -o kept.csv");
    char *csv = spec_file_bytes("kept.csv");
    edit("column.csv", csv, ",plain_ms,", ",plain,");
    edit("text.csv", csv, "\n1,2,", "\n1,\033[2J,");
    edit("escape.csv", csv, "# target: ", "# target: \033[2J");
    spec_program_fails("bench --from column.csv", 2,
                       "speclab bench: column.csv: it has no column 'plain_ms': give");
    spec_program_fails("bench --from text.csv", 2,
                       "speclab bench: text.csv: row 2: 'pass' is a text, where");
    spec_program_fails("bench --from kept.csv --K 3", 2,
                       "speclab bench: --from shows a finished measurement; leave");
    spec_program_fails("bench --from=kept.csv -fcsv", 2,
                       "speclab bench: --from shows a finished measurement; leave");
    spec_child c;
    spec_child_run(&c, "bench --from escape.csv");
    assert_int_equal(c.code, 0);
    assert_null(strchr(c.text, '\033'));
    spec_child_free(&c);
    free(csv);
}

TEST(prompts_are_the_texts_of_a_file)
{
    spec_needs_program();
    char value[256];
    spec_table table;
    spec_file_write("prompts.txt", "\n\nthe cat\nsat\n\n\r\nand then\r\n\r\nonce more\n \nx\n\n\n");
    read_result(
        &table,
        "bench --target ngram:text.txt?order=3 --prompts prompts.txt --context 5 --texts 5 -n 20");
    assert_non_null(strstr(spec_table_provenance(&table, "texts", value, sizeof value),
                           "prompts: 3, texts of a file, of at most 5 tokens"));
    assert_true(number(&table, 0, "texts") == 5.0 &&
                number(&table, 0, "c") == 0.0); /* drafts come from lookup and cost nothing */
    spec_table_free(&table);
}

/* Two models trained on children's stories. Along stories, .883 of the draft's tokens are accepted
 * at temperature 1, by the overlap of the rows. Here they continue 24 beginnings; 5 standard errors
 * are .05. */
TEST(real_models_accept_as_often_as_their_rows_overlap, SLOW)
{
    spec_needs_program();
    char folder[256], text[256], arguments[1024];
    spec_test_data(folder, sizeof folder, "babyllama");
    spec_test_data(text, sizeof text, "text/tinystories.txt");
    spec_table table;
    snprintf(arguments, sizeof arguments,
             "bench --target llama2c:%s/target.bin --draft llama2c:%s/draft.bin --prompts %s "
             "--texts 24 --K 1,4 "
             "--widths 1 --threads 1",
             folder, folder, text);
    read_result(&table, arguments);
    for (size_t r = 0; r < 2; r++) {
        assert_within(number(&table, r, "alpha_tested_pooled"), 0.883, 0.05);
        assert_within(number(&table, r, "tokens_per_round"),
                      number(&table, r, "tokens_per_round_predicted"), 0.3);
        assert_true(fabs(number(&table, r, "beta_z")) < 5.0);
    }
    spec_table_free(&table);
    spec_child c; /* without prompts it continues texts of its own; after random tokens far fewer
                     would be accepted */
    snprintf(arguments, sizeof arguments,
             "bench --target llama2c:%s/target.bin --draft llama2c:%s/draft.bin --texts 16 --K 2 "
             "--widths 1 -f table",
             folder, folder);
    spec_child_run(&c, arguments);
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.text, "prompts: 8, written by the target"));
    const char *alpha = strstr(c.text, "\nalpha_tested_pooled: ");
    assert_non_null(alpha);
    assert_within(atof(alpha + strlen("\nalpha_tested_pooled: ")), 0.883, 0.08);
    spec_child_free(&c);
}

TEST(a_figure_is_drawn_beside_the_result)
{
    spec_needs_program();
    if (access("/usr/bin/gnuplot", X_OK) != 0) {
        printf("skipped: there is no gnuplot\n");
        skip();
    }
    spec_program_works(PAIR "--K 0:4:2 --texts 4 --ahead -o bench.csv --figure bench.svg");
    char *figure = spec_file_bytes("bench.svg");
    static const char *const drawn[] = {"Theorem 3.8", "from costs of passes", "tokens in a pass",
                                        "measured", "ahead, predicted"};
    for (int i = 0; i < 5; i++)
        if (strstr(figure, drawn[i]) == NULL) fail_msg("no '%s' in the figure", drawn[i]);
    free(figure);
}

/* A figure shows all values except those that are withheld. */
TEST(a_figure_is_drawn_without_any_speed_up)
{
    spec_needs_program();
    const bench_row row[] = {
        {.K = 2, .tokens = 2.2, .draft = 0.54, .verify = 1.1, .verdict = BENCH_IMPOSSIBLE},
        {.K = 4, .tokens = 2.7, .draft = 1.08, .verify = 1.2, .verdict = BENCH_IMPOSSIBLE}};
    spec_table table;
    spec_error error;
    if (access("/usr/bin/gnuplot", X_OK) != 0) {
        printf("skipped: there is no gnuplot\n");
        skip();
    }
    bench_table_init(&table, row, 2);
    bench_table_set(&table, 0, "target_pass_ratio_se", 400.0); /* far beyond the points */
    free(table.provenance);
    table.provenance = strdup("figure: bench\nmachine: none\ndecoding: rule token");
    FILE *out = fopen("none.csv", "w");
    assert_non_null(out);
    assert_int_equal(spec_table_write(&table, SPEC_FORMAT_CSV, out, &error), GSL_SUCCESS);
    fclose(out);
    spec_table_free(&table);
    spec_program_works("plot none.csv");
    char *figure = spec_file_bytes("none.svg");
    assert_null(strstr(figure, "<text>-"));
    assert_null(strstr(figure, "<text>8")); /* the error bar ends at 801 */
    free(figure);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
