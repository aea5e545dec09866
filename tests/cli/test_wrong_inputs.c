/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every line of tests/cli/wrong_inputs.txt ends with exit status 2 and writes nothing on standard
 * output. Its one error line begins with the verb and names what is wrong. SPECLAB names the
 * program. */
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

enum { LINE = 512, LEAST = 30, MOST_VERBS = 32 };

/* A line of the log of each of two engines. */
#define VLLM                                                                                       \
    "INFO 05-01 14:24:50 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.59, "    \
    "Accepted throughput: 159.00 tokens/s, Drafted throughput: 300.00 tokens/s, Accepted: 1590 "   \
    "tokens, Drafted: 3000 tokens, Per-position acceptance rate: 0.800, 0.500, 0.290, Avg Draft "  \
    "acceptance rate: 53.0%\n"
#define SGLANG                                                                                     \
    "[2025-03-11 07:07:20] Decode batch. #running-req: 32, #token: 7352, token usage: 0.01, "      \
    "accept len: 2.54, gen throughput (token/s): 39.33, largest-len: 0, #queue-req: 68\n"

static void try_line(const char *line, const char *arrow)
{
    char arguments[LINE], begin[LINE];
    spec_child c;
    snprintf(arguments, sizeof arguments, "%.*s", (int)(arrow - line), line);
    snprintf(begin, sizeof begin, "speclab %.*s: ", (int)strcspn(line, " "), line);
    spec_child_run(&c, arguments);
    spec_child_says(&c, arguments, 2, begin);
    if (c.n > 0) fail_msg("%s: it wrote '%.80s'", arguments, c.text);
    if (strstr(c.line, arrow + 4) == NULL)
        fail_msg("%s: '%s' does not name %s", arguments, c.line, arrow + 4);
    spec_child_free(&c);
}

TEST(every_wrong_input_is_one_line_that_names_it)
{
    char path[PATH_MAX + 32], line[LINE], verb[MOST_VERBS][16];
    int count[MOST_VERBS], n = 0;
    spec_needs_program();
    snprintf(path, sizeof path, "%s/tests/cli/wrong_inputs.txt", spec_folder_before);
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        printf("skipped: %s: not run from the source tree\n", __func__);
        skip();
    }
    spec_file_write("junk", "junk");
    spec_program_works("predict -o r.csv");
    spec_program_works("rows --target zipf?V=5 --draft zipf?V=5 -n 20 -o p.rows");
    spec_program_works("predict --K 1:3 --alpha 0.5 --shard 1/3 -o part1.csv");
    spec_program_works("predict --K 1:3 --alpha 0.5 --shard 2/3 -o part2.csv");
    spec_program_works("predict --K 1:3 --alpha 0.5 --shard 2/2 -o half2.csv");
    spec_program_works("predict --K 1:3 --alpha 0.6 --shard 3/3 -o other3.csv");
    spec_file_write("server.log", VLLM);
    spec_file_write("cut.log", "INFO SpecDecoding metrics: Mean acceptance length: x\n");
    spec_file_write("two.log", VLLM SGLANG);
    while (fgets(line, sizeof line, in) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *arrow = strstr(line, " => ");
        if (line[0] == '#' || line[0] == '\0') continue;
        assert_non_null(arrow);
        try_line(line, arrow);
        const int length = (int)strcspn(line, " ");
        if (n == 0 || strncmp(verb[n - 1], line, (size_t)length) != 0) {
            assert_true(n < MOST_VERBS);
            count[n] = 0;
            snprintf(verb[n++], sizeof verb[0], "%.*s", length, line);
        }
        count[n - 1]++;
    }
    fclose(in);
    for (int v = 0; v < n; v++)
        if (count[v] < LEAST) fail_msg("%s: %d lines, fewer than %d", verb[v], count[v], LEAST);
    spec_child c;
    spec_child_run(&c, "--help");
    int verbs = 0;
    for (const char *at = c.text; (at = strstr(at, "\n  ")) != NULL; at += 3)
        verbs += at[3] >= 'a' && at[3] <= 'z';
    assert_int_equal(n, verbs);
    spec_child_free(&c);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
