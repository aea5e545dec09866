/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb advise: its exit codes, its answer, its files and its figure. SPECLAB names the program.
 */
#include "cli/verb.h"
#include "tests/cli/result_table.h"
#include "tests/support/child.h"
#include "tests/support/picture.h"
#include "tests/support/support.h"
#include "tools/advise/log_format.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Writes a vLLM log with windows of 10 seconds and 8 requests. In each window about D rounds accept
 * their draft token at depth j in about alpha^j of the rounds; K = 0: plain decoding. */
static void write_log(const char *name, int K, int D, double alpha, int windows)
{
    FILE *out = fopen(name, "w");
    assert_non_null(out);
    for (int w = 0; w < windows; w++) {
        const int rounds = D + 7 * (w % 5), t = 600 + 10 * w;
        int passed[64], accepted = 0, before = rounds;
        for (int j = 0; j < K; j++) {
            passed[j] = (int)lround(before * (alpha + 0.004 * (w % 3 - 1)));
            accepted += before = passed[j];
        }
        fprintf(out,
                "INFO 05-01 14:%02d:%02d [loggers.py:123] Engine 000: Avg prompt throughput: 0.0 "
                "tokens/s, Avg generation throughput: %.1f tokens/s, Running: 8 reqs, Waiting: 0 "
                "reqs, GPU KV cache usage: 4.1%%, Prefix cache hit rate: 0.0%%\n",
                t / 60, t % 60, (rounds + accepted) / 10.0);
        if (K == 0) continue;
        fprintf(out,
                "INFO 05-01 14:%02d:%02d [metrics.py:101] SpecDecoding metrics: Mean acceptance "
                "length: %.2f, Accepted throughput: %.2f tokens/s, Drafted throughput: %.2f "
                "tokens/s, Accepted: %d tokens, Drafted: %d tokens, Per-position acceptance rate: ",
                t / 60, t % 60, 1.0 + (double)accepted / rounds, accepted / 10.0, K * rounds / 10.0,
                accepted, K * rounds);
        for (int j = 0; j < K; j++)
            fprintf(out, "%s%.3f", j > 0 ? ", " : "", (double)passed[j] / rounds);
        fprintf(out, ", Avg Draft acceptance rate: %.1f%%\n", 100.0 * accepted / (K * rounds));
    }
    assert_int_equal(fclose(out), 0);
}

static void advise(spec_child *c, const char *arguments, int code)
{
    char whole[600];
    snprintf(whole, sizeof whole, "advise %s", arguments);
    spec_child_run(c, whole);
    if (c->code != code) fail_msg("%s: exit code %d: %s%s", whole, c->code, c->line, c->text);
}

static void assert_begins(const spec_child *c, const char *words)
{
    if (strncmp(c->text, words, strlen(words)) != 0) fail_msg("not '%s': %s", words, c->text);
}

static void assert_says(const spec_child *c, const char *words)
{
    if (strstr(c->text, words) == NULL) fail_msg("no '%s' in '%s'", words, c->text);
}

static void write_logs(void)
{
    write_log("k3.log", 3, 3800, 0.7, 60);
    write_log("k3-short.log", 3, 3800, 0.7, 20);
    write_log("k2.log", 2, 4160, 0.7, 30);
    write_log("k1.log", 1, 4600, 0.7, 30);
    write_log("slow.log", 3, 1700, 0.7, 30);
    write_log("plain.log", 0, 6200, 0.0, 30);
    write_log("other.log", 3, 3800, 0.8, 30);
}

/* With K = 3 the server emits 3800 (1 + .7 + .49 + .343) tokens in 10 s, and by plain decoding
 * 6200, so the gain is 1.55. */
TEST(every_engine_and_format_has_its_name)
{
    spec_needs_program();
    for (int i = 0; spec_log_formats[i] != NULL; i++) {
        const char *const names[] = {spec_log_formats[i]->name, spec_log_formats[i]->engine};
        for (int k = 0; k < 2; k++) {
            char command[100];
            snprintf(command, sizeof command, "advise no.log --engine %s", names[k]);
            spec_program_fails(command, 2, "speclab advise: no.log: No such file");
        }
    }
}

TEST(the_answer_comes_first_and_the_setting_is_of_the_engine)
{
    spec_child c;
    spec_needs_program();
    write_logs();
    advise(&c, "k1.log k2.log k3.log --plain plain.log --K 0:3", SPEC_EXIT_HOLDS);
    assert_begins(&c, "Keep K = 3: 1.5");
    assert_says(&c, "\n    --speculative-config '{..., \"num_speculative_tokens\": 3}'\n");
    assert_says(&c, "Read k3.log: log of a vLLM server");
    assert_int_equal(c.n_line, 0);
    spec_child_free(&c);

    advise(&c, "k1.log k2.log k3-short.log --plain plain.log --K 0:3", SPEC_EXIT_HOLDS);
    assert_begins(&c, "Change K from 1 to 3: 1.2");
    assert_says(&c, "\n    --speculative-config '{..., \"num_speculative_tokens\": 3}'\n");
    spec_child_free(&c);

    advise(&c, "slow.log --plain plain.log --K 0:3", SPEC_EXIT_UNDECIDED);
    assert_begins(&c, "Turn speculation off for now: plain decoding has 1.4");
    assert_says(&c, "Note (slow-rounds): ");
    spec_child_free(&c);
    write_log("slow1.log", 1, 2200, 0.7, 30);
    write_log("slow2.log", 2, 1940, 0.7, 30);
    advise(&c, "slow.log slow1.log slow2.log --plain plain.log --K 0:3", SPEC_EXIT_HOLDS);
    assert_begins(&c, "Turn speculation off: plain decoding has 1.");
    assert_says(&c, "    # start vllm serve without --speculative-config\n");
    spec_child_free(&c);

    advise(&c, "k3.log", SPEC_EXIT_UNDECIDED);
    assert_begins(&c, "K = 3 has at most 2.54 times the tokens/s of plain decoding: ");
    assert_says(&c, "Measure plain\n");
    spec_child_free(&c);
    advise(&c, "plain.log", SPEC_EXIT_UNDECIDED); /* understood */
    assert_begins(&c, "These files contain no round of speculation");
    spec_child_free(&c);
}

TEST(something_wrong_is_status_1)
{
    spec_child c;
    spec_needs_program();
    write_log("all.log", 3, 3800, 1.0, 3);
    spec_file_write("all.jsonl", "{\"metrics\":{\"speculative_decoding\":{\"acceptance_histogram\":"
                                 "[0,0,0,400],\"num_spec_steps\":400,\"num_accepted_draft_tokens\":"
                                 "1200,\"num_draft_tokens\":1200,\"num_spec_tokens\":3}}}\n");
    advise(&c, "all.jsonl", SPEC_EXIT_FAILS);
    assert_begins(&c, "Something is wrong: no draft token is rejected");
    assert_says(&c, "vllm_rejection.py");
    spec_child_free(&c);
}

/* The file has no numbers about acceptance, so that nothing can be decided. */
TEST(a_source_that_cannot_answer_is_status_3)
{
    spec_needs_program();
    spec_file_write("tgi.prom", "# TYPE tgi_request_skipped_tokens histogram\n"
                                "tgi_request_skipped_tokens_sum 12\n"
                                "tgi_request_skipped_tokens_count 10\n");
    spec_program_fails("advise tgi.prom", SPEC_EXIT_UNDECIDED, "speclab advise: tgi.prom:2: ");
    spec_program_prints("list logs -f csv", 0, ", which are refused\",tgi\n",
                        "log of a vLLM server,vLLM\n",
                        "replayed with K draft tokens\",any engine\n");
}

TEST(a_change_of_acceptance_is_status_1)
{
    spec_child c;
    spec_needs_program();
    write_logs();
    advise(&c, "--before k3.log --after other.log", SPEC_EXIT_FAILS);
    assert_begins(&c, "Something is wrong: acceptance differs between --before and --after");
    assert_says(&c, "Acceptance was 70.0 % before the change and is 80.0 %");
    spec_child_free(&c);
    write_log("same.log", 3, 3790, 0.7, 30);
    advise(&c, "--before k3.log --after same.log", SPEC_EXIT_HOLDS);
    assert_begins(&c, "No change of acceptance was found: 70.0 % before, 70.0 % after");
    assert_says(&c, "\nRead k3.log: log of a vLLM server");
    assert_says(&c, "\nRead same.log: log of a vLLM server");
    spec_child_free(&c);
    advise(&c, "--before k1.log --after k3.log", SPEC_EXIT_UNDECIDED);
    assert_begins(&c, "No comparison: the files before and after have no draft length in common.");
    spec_child_free(&c);
}

TEST(rows_go_to_a_file_and_the_text_to_standard_output)
{
    spec_child c, text;
    spec_table table;
    spec_needs_program();
    write_logs();
    advise(&text, "k1.log k2.log k3.log --plain plain.log --K 0:3", SPEC_EXIT_HOLDS);
    advise(&c, "k1.log k2.log k3.log --plain plain.log --K 0:3 -o a.csv", SPEC_EXIT_HOLDS);
    assert_string_equal(c.text, text.text);
    spec_child_free(&c);
    read_csv(&table, "a.csv");
    assert_int_equal(table.n_rows, 4);
    assert_true(number(&table, 3, "K") == 3.0);
    assert_true(fabs(number(&table, 3, "tokens_per_round") - 2.533) < 0.01);
    assert_true(number(&table, 3, "speedup_low") < number(&table, 3, "speedup"));
    spec_table_free(&table);
    advise(&c, "k1.log k2.log k3.log --plain plain.log --K 0:3 -f csv", SPEC_EXIT_HOLDS);
    char *file = spec_file_bytes("a.csv");
    assert_string_equal(c.text, file);
    assert_begins(&c, "# figure: advice\n");
    free(file);
    spec_child_free(&c);
    advise(&c, "k1.log k2.log k3.log --plain plain.log --K 0:3 -o a.txt", SPEC_EXIT_HOLDS);
    assert_int_equal(c.n, 0);
    file = spec_file_bytes("a.txt");
    assert_string_equal(file, text.text);
    free(file);
    spec_child_free(&c);
    advise(&c, "k3.log -f json", SPEC_EXIT_UNDECIDED);
    assert_begins(&c, "[\n");
    spec_child_free(&c);
    advise(&c, "k3.log -f latex", SPEC_EXIT_UNDECIDED);
    assert_says(&c, "\\begin{tabular}");
    spec_child_free(&c);
    advise(&c, "k3.log -o a.json --force", SPEC_EXIT_UNDECIDED);
    file = spec_file_bytes("a.json");
    assert_int_equal(file[0], '[');
    free(file);
    spec_child_free(&c);
    spec_child_free(&text);
}

TEST(the_figure_is_drawn_from_the_rows)
{
    spec_child c;
    spec_needs_program();
    write_logs();
    advise(&c, "k3.log --plain plain.log -o f.csv --figure f.svg", SPEC_EXIT_UNDECIDED);
    spec_child_free(&c);
    spec_picture_texts_apart("f.svg", "advice");
    spec_program_works("plot f.csv -o again.svg");
    spec_files_same("f.svg", "again.svg");
    advise(&c, "k3.log -o tokens.csv --figure tokens.svg", SPEC_EXIT_UNDECIDED);
    spec_child_free(&c);
    spec_picture_texts_apart("tokens.svg", "advice without times");
}

/* The command to type next has the names of the files, whatever they are. */
TEST(the_next_command_is_no_command_of_a_file)
{
    spec_child c;
    spec_needs_program();
    write_logs();
    assert_int_equal(rename("k3.log", "-f.log"), 0);
    advise(&c, "--plain-tokens-per-s 77 -- -f.log", SPEC_EXIT_UNDECIDED);
    assert_non_null(strstr(c.text, "\n    speclab advise ./-f.log NEW --plain-tokens-per-s 77\n"));
    spec_child_free(&c);
    advise(&c, "--plain-tokens-per-s 77 --K 0,2,3 --engine vllm ./-f.log", SPEC_EXIT_UNDECIDED);
    assert_non_null(strstr(c.text, " NEW --K 0,2,3 --plain-tokens-per-s 77 --engine vllm\n"));
    spec_child_free(&c);
    assert_int_equal(rename("-f.log", "a\x1b[31m;touch${IFS}P\xc2\x9b.log"), 0);
    advise(&c, "--plain-tokens-per-s 77 a\x1b[31m;touch${IFS}P\xc2\x9b.log", SPEC_EXIT_UNDECIDED);
    assert_null(strpbrk(c.text, "\x1b\x9b"));
    assert_non_null(strstr(c.text,
                           "\n    speclab advise 'a'\"$(printf '\\033')\"'[31m;touch${IFS}P'"
                           "\"$(printf '\\302\\233')\"'.log' NEW --plain-tokens-per-s 77\n"));
    spec_child_free(&c);
}

TEST(several_files_are_one_set_of_evidence)
{
    spec_child one, two;
    char *text;
    spec_needs_program();
    write_logs();
    text = spec_file_bytes("k3.log");
    const size_t n = strlen(text), half = (size_t)(strchr(text + n / 2, '\n') + 1 - text);
    FILE *first = fopen("first.log", "w"), *second = fopen("second.log", "w");
    fwrite(text, 1, half, first);
    fwrite(text + half, 1, n - half, second);
    fclose(first);
    fclose(second);
    free(text);
    advise(&one, "k3.log --plain-tokens-per-s 77 -f csv", SPEC_EXIT_UNDECIDED);
    advise(&two, "first.log second.log --plain-tokens-per-s 77 -f csv", SPEC_EXIT_UNDECIDED);
    /* All rounds are counted. */
    assert_non_null(strstr(one.text, ",run,228840,"));
    assert_non_null(strstr(two.text, ",run,228840,"));
    spec_child_free(&one);
    spec_child_free(&two);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);

/* Only if there are several files with drafts is it a question which K a file has. */
TEST(each_of_several_files_is_printed_with_its_draft_length)
{
    spec_child c;
    spec_needs_program();
    write_logs();
    spec_child_run(&c, "advise k3.log k1.log --plain plain.log");
    assert_says(&c, "Read k3.log: log of a vLLM server, 0.10.2 and later; 60 measurements in 120\n"
                    "  records; K = 3.");
    assert_says(&c, "Read k1.log: log of a vLLM server, 0.10.2 and later; 30 measurements in 60\n"
                    "  records; K = 1.");
    spec_child_free(&c);
    spec_child_run(&c, "advise k3.log --plain plain.log");
    assert_says(&c, "60 measurements in 120\n  records.");
    spec_child_free(&c);
}
