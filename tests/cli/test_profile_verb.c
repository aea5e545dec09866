/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Follows a profile through the program: a server's log, advise --profile, profile --for, and the
 * verbs that read it. SPECLAB names the program. */
#include "sim/acceptance_profile.h"
#include "tests/cli/result_table.h"
#include "tests/support/child.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

SUITE(0, .setup = spec_program_set_up, .teardown = spec_program_tear_down);

/* Windows of 1000 rounds with K = 3, of which about 800, 500 and 290, give or take 30, accept the
 * tokens by depth. */
static void write_log(void)
{
    FILE *out = fopen("server.log", "w");
    assert_non_null(out);
    for (int w = 0; w < 12; w++) {
        const int more = w % 2 == 0 ? 30 : -30;
        const int passed[] = {800 + more, 500 + more, 290 + more},
                  accepted = passed[0] + passed[1] + passed[2];
        fprintf(out,
                "INFO 05-01 14:24:%02d [metrics.py:101] SpecDecoding metrics: Mean acceptance "
                "length: %.2f, Accepted throughput: %.2f tokens/s, Drafted throughput: 300.00 "
                "tokens/s, Accepted: %d tokens, Drafted: 3000 tokens, Per-position acceptance "
                "rate: %.3f, %.3f, %.3f, Avg Draft acceptance rate: %.1f%%\n",
                4 * w, 1.0 + accepted / 1000.0, accepted / 10.0, accepted, passed[0] / 1000.0,
                passed[1] / 1000.0, passed[2] / 1000.0, accepted / 30.0);
    }
    assert_int_equal(fclose(out), 0);
}

static void assert_shows(const char *arguments, const char *words)
{
    FREED char *text = spec_program_text(arguments);
    if (strstr(text, words) == NULL) fail_msg("%s: no '%s' in %s", arguments, words, text);
}

TEST(a_log_becomes_the_setting_of_other_tools)
{
    spec_needs_program();
    write_log();
    spec_program_prints("advise server.log --profile seen.json", 3, "tokens/round");
    OWNED(spec_acceptance_profile) profile;
    assert_works(spec_acceptance_profile_load(&profile, "seen.json", &error));
    static const double rate[] = {0.8, 0.5, 0.29};
    for (int i = 0; i < 3; i++) {
        const spec_profile_number *all = &profile.unconditional[i];
        assert_within(all->value, rate[i], 1e-9);
        assert_true(all->low < rate[i] && all->high > rate[i]);
    }
    assert_within(profile.length.value, 2.59, 1e-9);
    assert_within(profile.rounds, 12000.0, 0.0);
    assert_string_equal(profile.engine, "vLLM");
    assert_string_equal(profile.format, "vllm-log");
    assert_int_equal(profile.n_files, 1);
    assert_string_equal(profile.file[0], "server.log");

    assert_shows("profile seen.json --for vllm",
                 "\"synthetic_acceptance_rates\": [0.8, 0.5, 0.29]");
    assert_shows("profile seen.json --for sglang", "SGLANG_SIMULATE_ACC_LEN=2.59 ");
    assert_shows("profile seen.json --for sglang", "between 1 and K + 1 = 4.\n");
    assert_shows("profile seen.json --for aiconfigurator", "--nextn 3 --nextn-accepted 1.59\n");
    assert_shows("profile seen.json --for dynamo",
                 "--aic-nextn 3 --aic-nextn-accept-rates 0.8,0.625,0.58\n");
    assert_shows("profile seen.json --for inferencex", "    3: 2.59\n");
    assert_shows("profile seen.json", "a round emits 2.59 [");
    assert_shows("profile seen.json", "1.59 [");
}

/* Each verb uses all lengths of the profile, and its theory gives 1 + .8 + .5 + .29 tokens. In
 * `serve` requests end within a round, so they have .3 % less. */
TEST(verbs_read_the_profile)
{
    spec_needs_program();
    write_log();
    spec_program_ends("advise server.log --profile seen.json", 3, "");
    OWNED(spec_table) predict;
    OWNED(spec_table) sweep;
    OWNED(spec_table) serve;
    read_result(&predict, "predict --process profile:seen.json --c 0.1");
    read_result(&sweep, "sweep --process profile:seen.json --rounds 20000");
    read_result(&serve, "serve --process profile:seen.json --rate 20 --requests 50");
    assert_int_equal(predict.n_rows, 3);
    assert_int_equal(sweep.n_rows, 3);
    assert_int_equal(serve.n_rows, 4);
    static const double emitted[] = {1.0, 1.8, 2.3, 2.59};
    for (size_t K = 0; K <= 3; K++) {
        assert_near(number(&serve, K, "tokens_per_round_theory"), emitted[K], 6e-3);
        assert_true(!(fabs(number(&serve, K, "tokens_per_round_z")) > 5.0));
        if (K == 0) continue;
        assert_within(number(&predict, K - 1, "emitted"), emitted[K], 1e-9);
        assert_within(number(&sweep, K - 1, "emitted_theory"), emitted[K], 1e-9);
        assert_true(fabs(number(&sweep, K - 1, "emitted_z")) < 5.0);
    }
    assert_within(number(&predict, 2, "speedup"), 2.59 / 1.3, 1e-9);
}

TEST(a_profile_is_also_rows)
{
    spec_needs_program();
    write_log();
    spec_program_ends("advise server.log --profile seen.json", 3, "");
    OWNED(spec_table) rows;
    read_result(&rows, "profile seen.json");
    assert_int_equal(rows.n_rows, 3);
    assert_int_equal((int)number(&rows, 2, "depth"), 3);
    assert_within(number(&rows, 2, "unconditional"), 0.29, 1e-9);
    assert_within(number(&rows, 2, "conditional"), 0.58, 1e-9);
    assert_within(number(&rows, 2, "tokens_per_round"), 2.59, 1e-9);
    assert_true(number(&rows, 2, "conditional_low") < 0.58);
    spec_program_works("profile seen.json --for vllm -o vllm.txt");
    FREED char *printed = spec_program_text("profile seen.json --for vllm"),
               *written = spec_file_bytes("vllm.txt");
    assert_string_equal(printed, written);
}

/* An older profile is kept, and if no round is known, none is written. */
TEST(a_profile_is_written_as_other_files_are)
{
    spec_needs_program();
    write_log();
    spec_file_write("seen.json", "mine\n");
    spec_child c;
    spec_child_run(&c, "advise server.log --profile seen.json");
    assert_int_equal(c.code, 3);
    assert_non_null(strstr(c.line, "seen.json.bak"));
    spec_child_free(&c);
    FREED char *kept = spec_file_bytes("seen.json.bak");
    assert_string_equal(kept, "mine\n");
    spec_file_write("plain.log",
                    "INFO 05-02 14:24:00 [loggers.py:123] Engine 000: Avg prompt throughput: 0.0 "
                    "tokens/s, Avg generation throughput: 171.2 tokens/s, Running: 4 reqs, "
                    "Waiting: 0 reqs, GPU KV cache usage: 1.2%, Prefix cache hit rate: 0.0%\n");
    spec_child_run(&c, "advise plain.log --profile none.json");
    assert_int_equal(c.code, 3);
    assert_non_null(strstr(c.line, "no profile: no round"));
    spec_child_free(&c);
    assert_int_equal(spec_file_size("none.json"), 0);
}
