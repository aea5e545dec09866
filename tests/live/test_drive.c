/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurements of tests/live/timed_server.py, whose acceptance and times are known: numbers near
 * the truth, and a line for each mistake. */
#include "live/drive_report.h"

#include "analysis/capped_geometric.h"
#include "tests/live/faulty_server.h"
#include "tests/support/child.h"

#include <gsl/gsl_randist.h>
#include <math.h>

static void no_progress(void *self, const char *what, double done, double all)
{
    (void)self, (void)what, (void)done, (void)all;
}

static void write_prompts(void)
{
    spec_file_write("prompts.jsonl", "{\"prompt\": \"Once upon a time\", \"category\": \"tale\"}\n"
                                     "{\"prompt\": \"The king said\", \"category\": \"tale\"}\n"
                                     "{\"prompt\": \"int main\", \"category\": \"code\"}\n");
}

static spec_drive_plan plan_of(const char *url)
{
    write_prompts();
    return (spec_drive_plan){.url = url,
                             .prompts = "prompts.jsonl",
                             .logs = ".",
                             .K = {0, 2},
                             .n_K = 2,
                             .level = {1},
                             .n_levels = 1,
                             .passes = 2,
                             .startup = 20.0,
                             .sampling = {24, SPEC_TRANSFORM_NONE},
                             .seed = spec_test_seed(),
                             .how = SPEC_HTTP_DEFAULT,
                             .progress = no_progress};
}

static server start_timed(const char *owner, const char *fault, const char *more)
{
    char owner_is[32], fault_is[32], words[160];
    const char *word[12] = {owner_is, fault_is};
    int n = 2;
    snprintf(owner_is, sizeof owner_is, "owner=%s", owner);
    snprintf(fault_is, sizeof fault_is, "fault=%s", fault);
    snprintf(words, sizeof words, "%s", more);
    for (char *rest = words, *next; (next = strsep(&rest, " ")) != NULL;)
        if (*next != '\0') word[n++] = next;
    return start_script("timed_server.py", word);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

/* What the server does wrong, in a dialect, and the line that it gets. */
static const struct {
    const char *owner, *fault, *line;
} mistakes[] = {
    {"llamacpp", "ignored", "the baseline speculates: K = 0 was asked for, but the server drafted"},
    {"llamacpp", "never", "the server does not speculate: K = 2 was asked for"},
    {"llamacpp", "longer", "K = 2 was asked for, but drafts have"},
    {"llamacpp", "cut", ": the stream ended before its last event"},
    {"llamacpp", "no_end", ": the stream ended before its last event"},
    {"llamacpp", "within", "/completion: the stream is truncated within an event"},
    {"llamacpp", "lost", "/completion: "},
    {"llamacpp", "broken", "/completion: an event of the stream is no valid JSON: "},
    {"llamacpp", "hang", "/completion: no event within 0.5 s"},
    {"llamacpp", "silent", "/completion: no event within 0.5 s"},
    {"llamacpp", "endless", "/completion: an event of the stream is longer than 1 MiB"},
    {"llamacpp", "error", "the server ends a text with an error: out of cache"},
    {"llamacpp", "falls", "the number of tokens falls from"},
    {"llamacpp", "too_long", "a text of 99999 tokens, where 24 were asked for"},
    {"llamacpp", "no_tokens", "an event has no \"tokens_predicted\""},
    {"llamacpp", "no_stream", "/completion: "},
    {"llamacpp", "always_busy", "status 429: busy; it stayed busy"},
};

TEST(each_mistake_of_a_server_gets_its_line, SLOW)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        OWNED(server) s = start_timed(mistakes[i].owner, mistakes[i].fault, "plain=1 a=1 b=.2");
        spec_drive_plan plan = plan_of(s.url);
        spec_drive_result result;
        spec_error error = {.text = ""};
        plan.how.timeout = 0.5;
        plan.how.tries = 2;
        plan.how.pause = 0.01;
        const int status = spec_drive(&result, &plan, &error);
        if (strstr(error.text, mistakes[i].line) == NULL)
            fail_msg("%s: '%s' is not in '%s'", mistakes[i].fault, mistakes[i].line, error.text);
        assert_int_not_equal(status, GSL_SUCCESS);
        assert_true((status == GSL_ESANITY) == (i < 3));
        assert_null(strchr(error.text, '\n'));
        spec_drive_result_free(&result);
    }
}

/* Mistakes that change nothing about the numbers. */
TEST(a_busy_server_and_cut_characters_change_no_numbers, SLOW)
{
    static const char *const faults[] = {"right", "busy", "utf8", "bytes"};
    double tokens = NAN, accepted = NAN;
    for (int i = 0; i < 4; i++) {
        OWNED(server) s = start_timed("llamacpp", faults[i], "plain=1 a=1 b=.2");
        spec_drive_plan plan = plan_of(s.url);
        spec_drive_result result;
        spec_drive_numbers numbers;
        spec_error error = {.text = ""};
        plan.how.pause = 0.01;
        if (spec_drive(&result, &plan, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
        assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error), GSL_SUCCESS);
        const spec_drive_row *row = &numbers.row[1];
        if (i == 0) tokens = row->tokens, accepted = row->accepted;
        assert_true(row->K == 2 && row->tokens == 2 * 3 * 24);
        assert_true(row->tokens == tokens && row->accepted == accepted && accepted > 0.0);
        assert_true((numbers.row[0].refused + row->refused > 0) == (i == 1));
        assert_int_equal(result.blocks.n, 4);
        for (int k = 0; k < 4; k++) { /* there and back */
            assert_int_equal(result.blocks.block[k].K, k == 1 || k == 2 ? 2 : 0);
            assert_int_equal(result.blocks.block[k].pass, k / 2);
        }
        spec_drive_numbers_free(&numbers);
        spec_drive_result_free(&result);
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* A server of which everything is known: plain 6 ms, rounds of 7 + K ms, alpha .7. On a busy
 * machine it is late, and says by how much; times may differ by as much more. */
static const double truth_plain = 6.0, truth_a = 7.0, truth_b = 1.0, truth_alpha = 0.7;

static double lateness(const char *url, const spec_http_work *how)
{
    spec_http_request request = {.body = NULL};
    spec_error error;
    json_t *answer;
    snprintf(request.url, sizeof request.url, "%s/late", url);
    assert_int_equal(spec_http_ask(&answer, &request, how, &error), GSL_SUCCESS);
    const double late = json_number_value(json_object_get(answer, "late"));
    json_decref(answer);
    return late;
}

/* Returns whether an interval, a little wider, has the true number. */
static bool holds(const spec_block_interval *x, double unit, double right, double late)
{
    const double slack = 1.02 + 2.0 * late;
    return unit * x->low / slack < right && right < unit * x->high * slack;
}

/* Intervals are wide on a busy machine, and narrow on a quiet one. */
static void check_row(const spec_drive_row *row, const spec_drive_level *level, double late)
{
    const double round = row->K > 0 ? truth_a + truth_b * row->K : truth_plain,
                 emitted = spec_capped_geometric_mean(truth_alpha, row->K),
                 vague = log(row->tpot.high / row->tpot.low) + log(row->speedup.high) -
                         log(row->speedup.low);
    assert_true(row->tpot.low < row->tpot.value && row->tpot.value < row->tpot.high);
    assert_true(holds(&row->tpot, 1e3 * row->tokens_per_round, round, late));
    if (row->K == 0) return;
    assert_true(holds(&row->speedup, 1.0, truth_plain * row->tokens_per_round / round, late));
    /* the last rounds of texts of 40 tokens are cut */
    assert_true(fabs(row->tokens_per_round / emitted - 1.0) < 0.1);
    assert_true(fabs(log(row->perfect * round / ((row->K + 1) * truth_plain))) <
                0.04 + 2.0 * late + vague);
    assert_true(fabs(log(row->predicted / row->speedup.value)) < 0.04 + 2.0 * late + vague);
    assert_true(fabs(level->advice->alpha.value - truth_alpha) < 0.04);
    assert_true(row->ttft.p50 > 0.004 && row->latency.p50 > row->ttft.p50);
}

TEST(known_times_and_acceptance_are_found_and_predict_the_speed_up, SLOW | STATISTICS)
{
    OWNED(server) s = start_timed("llamacpp", "right", "");
    spec_drive_plan plan = plan_of(s.url);
    spec_drive_result result;
    spec_drive_numbers numbers;
    spec_error error = {.text = ""};
    plan.n_K = 4;
    memcpy(plan.K, (int[]){0, 1, 2, 4}, sizeof(int[4]));
    plan.n_levels = 2;
    memcpy(plan.level, (int[]){4, 8}, sizeof(int[2]));
    plan.passes = 3;
    plan.requests = 21;
    plan.sampling.tokens = 40;
    if (spec_drive(&result, &plan, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
    assert_int_equal(result.blocks.n, 2 * (3 * 4 + 1)); /* and a last K = 0 */
    assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error), GSL_SUCCESS);
    assert_int_equal(numbers.n_levels, 2);
    assert_int_equal(numbers.n_rows, 3 * 2 * 4); /* all, tale and code */
    const double late = lateness(s.url, &plan.how);
    for (int i = 0; i < 8; i++) check_row(&numbers.row[i], &numbers.level[i / 4], late);
    for (int i = 0; i < 2; i++) {
        const spec_drive_level *level = &numbers.level[i];
        for (int k = 1; k < 4; k++) {
            const spec_drive_row *row = &numbers.row[4 * i + k];
            assert_true(fabs(row->fitted - level->a - level->b * row->K) < 1e-12);
            assert_true(fabs(log(1e3 * row->fitted / (truth_a + truth_b * row->K))) <
                        0.04 + 2.0 * late + log(row->tpot.high / row->tpot.low));
        }
        assert_true(level->choice->to_K >= 1);
    }
    /* Rows of categories divide the rows of all prompts. */
    for (int i = 0; i < 8; i++) {
        assert_true(numbers.row[8 + i].requests + numbers.row[16 + i].requests ==
                    numbers.row[i].requests);
        assert_true(numbers.row[8 + i].accepted + numbers.row[16 + i].accepted ==
                    numbers.row[i].accepted);
    }
    assert_true(fabs(numbers.row[0].drift) < 1.0);
    spec_drive_numbers_free(&numbers);
    spec_drive_result_free(&result);
}

/* ---- launched servers ------------------------------------------------------------------------ */

/* A command that starts the server at a free port; its address goes into the url. */
static void command_of(char command[1024], char url[64], const char *words)
{
    const int port = free_port();
    snprintf(url, 64, "http://127.0.0.1:%d", port);
    snprintf(command, 1024, "exec python3 -I -S '%.800s/tests/live/timed_server.py' port=%d %s",
             spec_folder_before, port, words);
}

/* All dialects count the same rounds, each in its own way. */
TEST(launched_servers_of_every_dialect_are_measured_and_stopped, SLOW)
{
    static const char *const owners[] = {"llamacpp", "vllm", "sglang"};
    for (int i = 0; i < 3; i++) {
        OWNED(server) probe = start("right", "vllm"); /* skips without python3 */
        char command[1024], url[64], words[80];
        spec_drive_result result;
        spec_drive_numbers numbers;
        spec_error error = {.text = ""};
        snprintf(words, sizeof words, "owner=%s K={K} plain=1 a=1 b=.2", owners[i]);
        command_of(command, url, words);
        spec_drive_plan plan = plan_of(url);
        plan.opt_launch = command;
        plan.requests = 12;
        if (spec_drive(&result, &plan, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
        assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error), GSL_SUCCESS);
        const spec_drive_row *row = &numbers.row[1];
        /* E[n] = 1 + .7 + .49; 24 texts, the last rounds of which are cut */
        assert_true(fabs(row->tokens_per_round / 2.19 - 1.0) < 0.1);
        assert_true(row->tokens == 24.0 * 24.0);
        assert_true(row->alpha.value > 0.6 && row->alpha.value < 0.8);
        assert_true(numbers.row[0].drafted == 0.0 && row->drafted > row->accepted);
        assert_int_not_equal(spec_live_open(&result.server, url, NULL, &plan.how, &error),
                             GSL_SUCCESS);
        spec_drive_numbers_free(&numbers);
        spec_drive_result_free(&result);
    }
}

/* What the command does wrong, and the line that it gets; NULL: the command starts the server. */
static const struct {
    const char *command, *words, *line;
} launches[] = {
    {"echo loading; echo no such model >&2; exit 3", NULL,
     "the server has ended with status 3; its log ./K0.log ends: no such model"},
    {"sleep 60", NULL, "no answer 1 s after its start: "},
    {"exit 0", NULL, "the server has ended with status 0; its log ./K0.log is empty"},
    {NULL, "K=2", "The command of --launch must start it without speculation"},
    {NULL, "K=0", "the server does not speculate: K = 2 was asked for"},
    {NULL, "owner=vllm fault=no_metrics K={K}", "/metrics: the server answers with status 404"},
    {NULL, "owner=vllm fault=restart K={K}", "counters of /metrics fell: it was restarted"},
    {NULL, "owner=vllm fault=no_end K={K}", "the stream ended before its last event"},
    {NULL, "fault=error K={K}", "out of cache; the server's log is ./K0.log"},
    /* a server of another run answers at the port, and the own one ends for want of it */
    {"sleep 1; echo the port is taken; exit 5", "K=0 plain=30",
     "the server has ended with status 5; its log ./K0.log ends: the port is taken"},
    {NULL, "fault=die K={K}", "the server has ended with status 7; its log ./K0.log ends: "},
};

TEST(each_mistake_of_a_command_gets_its_line, SLOW)
{
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++) {
        OWNED(server) probe = start("right", "vllm");
        char start_it[1024], command[1200], url[64];
        spec_drive_result result;
        spec_error error = {.text = ""};
        command_of(start_it, url, launches[i].words != NULL ? launches[i].words : "");
        snprintf(command, sizeof command,
                 launches[i].words != NULL ? "setsid timeout 8 %s & %s" : "%.0s%s",
                 start_it + strlen("exec "),
                 launches[i].command != NULL ? launches[i].command : "");
        spec_drive_plan plan = plan_of(url);
        plan.opt_launch = launches[i].command != NULL ? command : start_it;
        plan.startup = launches[i].words == NULL ? 1.0 : 20.0;
        plan.requests = 8;
        assert_int_not_equal(spec_drive(&result, &plan, &error), GSL_SUCCESS);
        if (strstr(error.text, launches[i].line) == NULL)
            fail_msg("'%s' is not in '%s'", launches[i].line, error.text);
        spec_drive_result_free(&result);
    }
}

TEST(a_server_that_answers_before_the_launch_is_not_measured)
{
    OWNED(server) s = start_timed("vllm", "right", "K=2");
    spec_drive_plan plan = plan_of(s.url);
    spec_drive_result result;
    spec_error error = {.text = ""};
    assert_int_equal(spec_drive(&result, &plan, &error), GSL_EINVAL);
    assert_non_null(strstr(error.text, "vLLM takes a draft length only when it starts: give "
                                       "--launch"));
    spec_drive_result_free(&result);
    plan.opt_launch = "echo {K}";
    assert_int_equal(spec_drive(&result, &plan, &error), GSL_EINVAL);
    assert_non_null(strstr(error.text, "a server answers already; stop it"));
    spec_drive_result_free(&result);
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* With normal logarithms and a few passes; the normal quantile in place of Student's covers .85 of
 * three passes, which 4000 repetitions exclude. */
TEST(intervals_cover_the_true_speed_up_in_95_percent)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { REPEATS = 4000 };
    for (int n = 2; n <= 5; n++) {
        int covered = 0;
        for (int i = 0; i < REPEATS; i++) {
            double logs[5];
            for (int k = 0; k < n; k++) logs[k] = log(1.37) + gsl_ran_gaussian(rng, 0.03);
            const spec_block_interval x = spec_drive_interval(logs, n, 0.05);
            covered += x.low <= 1.37 && 1.37 <= x.high;
        }
        const double z = (covered - 0.95 * REPEATS) / sqrt(0.95 * 0.05 * REPEATS);
        assert_true(fabs(z) < 4.9);
    }
}

TEST(an_interval_needs_two_numbers_and_ignores_missing_ones)
{
    const double logs[] = {NAN, log(2.0), NAN, log(8.0)};
    assert_true(isnan(spec_drive_interval(logs, 1, 0.05).value));
    const spec_block_interval one = spec_drive_interval(logs, 2, 0.05),
                              two = spec_drive_interval(logs, 4, 0.05);
    assert_true(fabs(one.value - 2.0) < 1e-12 && isnan(one.low) && isnan(one.high));
    /* t_1(.975) = 12.7062047, and half the logarithm of 4 is the standard error */
    assert_true(fabs(two.value - 4.0) < 1e-12);
    assert_true(fabs(log(two.high / 4.0) / (12.706204736 * log(2.0)) - 1.0) < 1e-9);
}

/* ---- a simulated server, without HTTP -------------------------------------------------------- */

typedef struct {
    double plain, a, b, alpha;
    double noise; /* standard deviation of the logarithm of a block's times */
    double drift; /* change of that logarithm from block to block */
} truth;

static const char *const no_prompts = "[{\"prompt\": \"x\"}]";

/* Texts of 60 rounds, whose times are those of the truth but for the noise of the block. */
static spec_drive_block simulated_block(const truth *t, int K, int pass, int order, gsl_rng *rng)
{
    enum { TEXTS = 8, ROUNDS = 60 };
    spec_drive_block b = {.K = K, .concurrency = 1, .pass = pass, .n = TEXTS};
    const double pace = exp(gsl_ran_gaussian(rng, t->noise) + t->drift * order),
                 round = pace * (K > 0 ? t->a + t->b * K : t->plain);
    b.request = calloc(TEXTS, sizeof *b.request);
    for (int i = 0; i < TEXTS; i++) {
        int accepted = 0;
        for (int r = 0; r < ROUNDS; r++)
            for (int k = 0; k < K && gsl_rng_uniform(rng) < t->alpha; k++) accepted++;
        b.request[i] = (spec_drive_request){.tokens = 1 + ROUNDS + accepted,
                                            .first = 1,
                                            .ttft = 0.01,
                                            .decode = ROUNDS * round,
                                            .latency = 0.01 + ROUNDS * round,
                                            .rounds = NAN,
                                            .drafted = K * ROUNDS,
                                            .accepted = accepted};
        b.tokens += b.request[i].tokens;
        b.seconds += b.request[i].latency;
    }
    return b;
}

static void simulate(spec_drive_result *ret, const spec_drive_plan *plan, const truth *t,
                     gsl_rng *rng)
{
    spec_error error;
    json_error_t why;
    int order = 0;
    *ret = (spec_drive_result){.prompts = json_loads(no_prompts, 0, &why)};
    for (int pass = 0; pass < plan->passes; pass++)
        for (int i = 0; i < plan->n_K; i++) {
            const int K = plan->K[pass % 2 == 0 ? i : plan->n_K - 1 - i];
            spec_drive_block block = simulated_block(t, K, pass, order++, rng);
            assert_int_equal(spec_drive_blocks_add(&ret->blocks, &block, &error), GSL_SUCCESS);
        }
}

static spec_drive_plan simulated_plan(int passes)
{
    return (spec_drive_plan){.url = "http://x",
                             .K = {0, 1, 3, 6},
                             .n_K = 4,
                             .level = {1},
                             .n_levels = 1,
                             .passes = passes,
                             .seed = spec_test_seed(),
                             .sampling = {400, SPEC_TRANSFORM_NONE}};
}

static double true_speedup(const truth *t, int K)
{
    return spec_capped_geometric_mean(t->alpha, K) * t->plain / (t->a + t->b * K);
}

/* Blocks vary by 3 %, and acceptance by chance. With the normal quantile, three passes would cover
 * .81, 10 standard errors below. */
TEST(intervals_of_a_simulated_server_cover_its_speed_up, SLOW | STATISTICS)
{
    static const truth t = {.plain = 0.006, .a = 0.0071, .b = 0.0009, .alpha = 0.77, .noise = 0.03};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { REPEATS = 250 };
    for (int passes = 3; passes <= 4; passes++) {
        const spec_drive_plan plan = simulated_plan(passes);
        int covered = 0, near = 0;
        for (int i = 0; i < REPEATS; i++) {
            spec_drive_result result;
            spec_drive_numbers numbers;
            spec_error error;
            simulate(&result, &plan, &t, rng);
            assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error),
                             GSL_SUCCESS);
            for (int k = 1; k < 4; k++) {
                const spec_drive_row *row = &numbers.row[k];
                const double right = true_speedup(&t, row->K);
                covered += row->speedup.low <= right && right <= row->speedup.high;
                near += fabs(row->predicted / right - 1.0) < 0.06;
            }
            spec_drive_numbers_free(&numbers);
            spec_drive_result_free(&result);
        }
        /* Rows of a repetition share K = 0, so at most REPEATS of them are independent. */
        const double z = (covered / 3.0 - 0.95 * REPEATS) / sqrt(0.95 * 0.05 * REPEATS);
        assert_true(fabs(z) < 4.9);
        assert_true(near > 0.95 * 3 * REPEATS);
    }
}

TEST(a_steady_drift_cancels_in_passes_there_and_back)
{
    static const truth t = {.plain = 0.006, .a = 0.0071, .b = 0.0009, .alpha = 1.0, .drift = 0.02};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int passes = 1; passes <= 4; passes++) {
        const spec_drive_plan plan = simulated_plan(passes);
        spec_drive_result result;
        spec_drive_numbers numbers;
        spec_error error;
        simulate(&result, &plan, &t, rng);
        assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error), GSL_SUCCESS);
        for (int k = 1; k < 4; k++) {
            const double off = numbers.row[k].speedup.value / true_speedup(&t, numbers.row[k].K);
            if (passes % 2 == 0)
                assert_true(fabs(off - 1.0) < 1e-12);
            else
                assert_true(fabs(off - 1.0) > 0.005);
        }
        if (passes == 2) assert_true(fabs(numbers.row[0].drift - expm1(0.02 * 7)) < 1e-12);
        spec_drive_numbers_free(&numbers);
        spec_drive_result_free(&result);
    }
}

/* Categories divide the prompts that have one; an empty name is none. */
TEST(prompts_without_a_category_are_only_in_the_rows_of_all)
{
    static const truth t = {.plain = 0.006, .a = 0.0071, .b = 0.0009, .alpha = 0.8};
    static const char *const kinds[] = {
        "[{\"prompt\": \"x\", \"category\": \"tale\"}, {\"prompt\": \"y\", \"category\": \"\"}]",
        "[{\"prompt\": \"x\", \"category\": \"tale\"}, {\"prompt\": \"y\"}]",
        "[{\"prompt\": \"x\", \"category\": \"\"}, {\"prompt\": \"y\"}]"};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    const spec_drive_plan plan = simulated_plan(2);
    for (int kind = 0; kind < 3; kind++) {
        spec_drive_result result;
        spec_drive_numbers numbers;
        spec_error error;
        json_error_t why;
        simulate(&result, &plan, &t, rng);
        json_decref(result.prompts);
        result.prompts = json_loads(kinds[kind], 0, &why);
        for (int b = 0; b < result.blocks.n; b++)
            for (int i = 0; i < result.blocks.block[b].n; i++)
                result.blocks.block[b].request[i].prompt = i % 2;
        assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error), GSL_SUCCESS);
        assert_int_equal(numbers.n_rows, kind < 2 ? 8 : 4);
        for (int i = 4; i < numbers.n_rows; i++) {
            assert_string_equal(numbers.row[i].category, "tale");
            assert_int_equal(2 * numbers.row[i].requests, numbers.row[i - 4].requests);
        }
        spec_drive_numbers_free(&numbers);
        spec_drive_result_free(&result);
    }
}

/* ---- alpha ----------------------------------------------------------------------------------- */

/* The counts of a text as a dialect gives them: tests/live/timed_server.py in C. */
static spec_drive_request counted_text(const char *dialect, int K, int most, spec_live_counts *sums,
                                       gsl_rng *rng)
{
    const bool cuts = strcmp(dialect, "SGLang") == 0, counts = strcmp(dialect, "vLLM") != 0;
    spec_drive_request r = {.tokens = 1, .first = 1, .decode = 0.1, .latency = 0.2};
    while (r.tokens < most) {
        const int left = most - r.tokens, drafts = cuts || K < left ? K : left - 1;
        int accepted = 0;
        while (accepted < drafts && gsl_rng_uniform(rng) < truth_alpha) accepted++;
        r.rounds += drafts > 0;
        r.drafted += drafts;
        r.accepted += accepted;
        r.tokens += accepted + 1 < left ? accepted + 1 : left;
    }
    sums->rounds += r.rounds;
    sums->drafted += r.drafted;
    sums->accepted += r.accepted;
    if (cuts && K > 0) r.accepted = r.tokens - 1.0 - r.rounds;
    if (!cuts) r.rounds = NAN;
    if (!counts) r.drafted = r.accepted = NAN;
    return r;
}

/* Short texts, where passes without a draft and cut rounds count most: with K = 1 and 17 tokens
 * they were 6 % of alpha for llama-server. */
TEST(alpha_is_that_of_the_rounds_that_drafted_in_every_dialect, SLOW | STATISTICS)
{
    static const struct {
        int K, most;
        double within;
    } cases[] = {{1, 17, 0.01}, {4, 128, 0.02}};
    enum { SEEDS = 20, TEXTS = 400 };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int c = 0; c < 2; c++)
        for (int d = 0; d < 3; d++) {
            const char *dialect = spec_dialects[d].name;
            spec_drive_plan plan = simulated_plan(1);
            double mean = 0.0;
            plan.n_K = 2;
            plan.K[1] = cases[c].K;
            plan.sampling.tokens = cases[c].most;
            for (int seed = 0; seed < SEEDS; seed++) {
                spec_drive_result result;
                spec_drive_numbers numbers;
                spec_error error;
                json_error_t why;
                result = (spec_drive_result){.prompts = json_loads(no_prompts, 0, &why)};
                for (int i = 0; i < 2; i++) {
                    spec_drive_block b = {.K = plan.K[i], .concurrency = 1, .n = TEXTS};
                    b.request = calloc(TEXTS, sizeof *b.request);
                    for (int t = 0; t < TEXTS; t++)
                        b.request[t] = counted_text(dialect, b.K, cases[c].most, &b.counts, rng);
                    b.counted = strcmp(dialect, "vLLM") == 0;
                    assert_int_equal(spec_drive_blocks_add(&result.blocks, &b, &error),
                                     GSL_SUCCESS);
                }
                assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error),
                                 GSL_SUCCESS);
                const spec_drive_row *row = &numbers.row[1];
                assert_true(row->alpha.value == numbers.level[0].advice->alpha.value);
                if (row->K == 1 && strcmp(dialect, "SGLang") != 0)
                    assert_true(fabs(row->alpha.value - row->accepted / row->drafted) < 1e-9);
                mean += row->alpha.value / SEEDS;
                spec_drive_numbers_free(&numbers);
                spec_drive_result_free(&result);
            }
            if (!(fabs(mean / truth_alpha - 1.0) < cases[c].within))
                fail_msg("%s, K = %d: alpha %.4f", dialect, cases[c].K, mean);
        }
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* What is true of a server, and how the report begins. */
static const struct {
    truth t;
    int passes;
    const char *begins;
} reports[] = {
    {{0.006, 0.007, 0.001, 0.8, 0.0005, 0.0}, 4, "With 1 request at a time run K = 6: 1.8"},
    {{0.006, 0.017, 0.004, 0.4, 0.001, 0.0},
     4,
     "With 1 request at a time turn speculation off: K = 1 gives 0.4"},
    {{0.006, 0.007, 0.001, 0.8, 0.3, 0.0}, 2, "With 1 request at a time "},
    {{0.006, 0.007, 0.001, 0.8, 0.001, 0.0}, 1, "With 1 request at a time run K = "},
};

TEST(the_report_begins_with_the_answer_and_fits_80_columns)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        const spec_drive_plan plan = simulated_plan(reports[i].passes);
        spec_drive_result result;
        spec_drive_numbers numbers;
        spec_error error;
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        simulate(&result, &plan, &reports[i].t, rng);
        assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error), GSL_SUCCESS);
        assert_int_equal(spec_drive_report(out, &numbers, &result, &plan, &error), GSL_SUCCESS);
        fclose(out);
        if (strncmp(text, reports[i].begins, strlen(reports[i].begins)) != 0)
            fail_msg("'%s' does not begin '%s'", text, reports[i].begins);
        char measured[40];
        snprintf(measured, sizeof measured, "\n  measured    %d pass", reports[i].passes);
        assert_non_null(strstr(text, measured));
        assert_true((strstr(text, "one pass gives no interval") != NULL) ==
                    (reports[i].passes == 1));
        assert_true((strstr(text, "another length may be up to ") != NULL) == (i == 2));
        const char *sentence_end = strchr(text, '\n'), *unsure = strstr(text, "(not certain: ");
        assert_true((unsure != NULL && unsure < sentence_end) == (i >= 2));
        assert_true(numbers.level[0].certain == (i < 2));
        for (const char *line = strstr(text, "at once"); *line != '\0' && *line != '\n';) {
            const size_t length = strcspn(line, "\n");
            if (length > 80) fail_msg("over 80 columns: %.*s", (int)length, line);
            line += length + 1;
        }
        free(text);
        spec_drive_numbers_free(&numbers);
        spec_drive_result_free(&result);
    }
}

TEST(the_report_says_when_a_server_has_too_few_slots)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    spec_drive_plan plan = simulated_plan(2);
    plan.level[plan.n_levels++] = 4;
    for (int slots = 3; slots <= 4; slots++) {
        spec_drive_result result;
        spec_drive_numbers numbers;
        spec_error error;
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        simulate(&result, &plan, &reports[0].t, rng);
        result.server.slots = slots;
        assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error), GSL_SUCCESS);
        assert_int_equal(spec_drive_report(out, &numbers, &result, &plan, &error), GSL_SUCCESS);
        fclose(out);
        assert_true((strstr(text, "the server has 3 for 4 requests at a time") != NULL) ==
                    (slots == 3));
        free(text);
        spec_drive_numbers_free(&numbers);
        spec_drive_result_free(&result);
    }
}

/* ---- drafts of a block ----------------------------------------------------------------------- */

static spec_drive_block block_of(int K, double drafted, double accepted, double rounds,
                                 spec_drive_request *request)
{
    *request = (spec_drive_request){.tokens = 41,
                                    .first = 1,
                                    .decode = 0.2,
                                    .drafted = drafted,
                                    .accepted = accepted,
                                    .rounds = rounds};
    return (spec_drive_block){.K = K, .concurrency = 1, .request = request, .n = 1};
}

TEST(a_baseline_that_drafts_and_a_length_that_does_not_are_refused)
{
    static const struct {
        int K;
        double drafted, accepted, rounds;
        const char *line; /* NULL: it is right */
    } cases[] = {
        {0, 0.0, 0.0, NAN, NULL},
        {0, 1.0, 0.0, NAN, "the baseline speculates"},
        {0, NAN, NAN, 3.0, "the server verified 3 drafts"},
        {2, 0.0, 0.0, NAN, "the server does not speculate"},
        {2, 40.0, 20.0, NAN, NULL},
        {2, 30.0, 20.0, 15.0, NULL},
        {2, 12.0, 4.0, NAN, NULL}, /* an n-gram that rarely matches */
        {2, 100.0, 20.0, NAN, "K = 2 was asked for, but drafts have 5.0 tokens"},
        {2, 100.0, 20.0, 20.0, "K = 2 was asked for, but drafts have 5.0 tokens"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_drive_request request;
        spec_error error = {.text = ""};
        const spec_drive_block block =
            block_of(cases[i].K, cases[i].drafted, cases[i].accepted, cases[i].rounds, &request);
        for (int launched = 0; launched < 2; launched++) {
            const int status = spec_drive_check(&block, launched, &error);
            assert_int_equal(status, cases[i].line == NULL ? GSL_SUCCESS : GSL_ESANITY);
            if (cases[i].line != NULL) assert_non_null(strstr(error.text, cases[i].line));
        }
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

static spec_drive_block random_block(gsl_rng *rng)
{
    spec_drive_block b = {.K = (int)gsl_rng_uniform_int(rng, 9),
                          .concurrency = 1 + (int)gsl_rng_uniform_int(rng, 16),
                          .pass = (int)gsl_rng_uniform_int(rng, 5),
                          .seconds = gsl_rng_uniform(rng),
                          .tokens = (double)gsl_rng_uniform_int(rng, 999),
                          .refused = (int)gsl_rng_uniform_int(rng, 3),
                          .n = (int)gsl_rng_uniform_int(rng, 6)};
    b.counted = gsl_rng_uniform_int(rng, 2) == 1;
    b.counts = (spec_live_counts){30.0, 60.0, 20.0, 2, {15.0, 5.0}};
    if (!b.counted) b.counts = (spec_live_counts){.rounds = 0.0};
    b.request = calloc((size_t)b.n + 1, sizeof *b.request);
    for (int i = 0; i < b.n; i++)
        b.request[i] = (spec_drive_request){.prompt = i,
                                            .tokens = 9 + i,
                                            .first = 1 + i % 2,
                                            .ttft = gsl_rng_uniform(rng),
                                            .decode = 0.25,
                                            .latency = i == 0 ? NAN : 0.5,
                                            .rounds = NAN,
                                            .drafted = 8.0,
                                            .accepted = 3.0};
    return b;
}

static void assert_same(double a, double b)
{
    assert_true((isnan(a) && isnan(b)) || fabs(a - b) <= 1e-11 * fabs(a));
}

static void assert_equal_blocks(const spec_drive_block *a, const spec_drive_block *b)
{
    const spec_drive_sums x = spec_drive_block_sums(a, NULL), y = spec_drive_block_sums(b, NULL);
    assert_true(a->K == b->K && a->concurrency == b->concurrency && a->pass == b->pass &&
                a->refused == b->refused && a->n == b->n && a->counted == b->counted);
    assert_same(a->seconds, b->seconds);
    assert_same(a->tokens, b->tokens);
    assert_same(x.seconds, y.seconds);
    assert_same(x.accepted, y.accepted);
    assert_same(x.rounds, y.rounds);
    for (int i = 0; i < a->n; i++) {
        assert_same(a->request[i].ttft, b->request[i].ttft);
        assert_same(a->request[i].latency, b->request[i].latency);
        assert_int_equal(a->request[i].first, b->request[i].first);
    }
    for (int i = 0; i < a->counts.depths; i++)
        assert_same(a->counts.passed[i], b->counts.passed[i]);
}

TEST(blocks_are_read_as_they_were_written_and_a_cut_line_is_dropped)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { BLOCKS = 12 };
    spec_drive_block block[BLOCKS];
    const spec_live_server about = {.dialect = &spec_dialects[1], .model = "m\"1"};
    spec_live_server read_about = {.dialect = NULL};
    spec_drive_blocks read;
    spec_error error;
    FILE *file = tmpfile();
    assert_int_equal(spec_drive_file_begin(file, 77, &error), GSL_SUCCESS);
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = random_block(rng);
        assert_int_equal(spec_drive_file_add(file, &block[i], &about, &error), GSL_SUCCESS);
    }
    fputs("{\"K\": 2, \"concurr", file);
    for (int again = 0; again < 2; again++) { /* the second time without the cut line */
        assert_int_equal(spec_drive_file_read(&read, &read_about, file, "x", 77, &error),
                         GSL_SUCCESS);
        assert_int_equal(read.n, BLOCKS);
        assert_ptr_equal(read_about.dialect, about.dialect);
        assert_string_equal(read_about.model, about.model);
        for (int i = 0; i < BLOCKS; i++) assert_equal_blocks(&block[i], &read.block[i]);
        spec_drive_blocks_free(&read);
    }
    assert_int_equal(spec_drive_file_read(&read, &read_about, file, "x", 78, &error), GSL_EINVAL);
    assert_non_null(strstr(error.text, "x:1: it was measured with other prompts or settings"));
    for (int i = 0; i < BLOCKS; i++) spec_drive_block_free(&block[i]);
    fclose(file);
}

TEST(a_file_of_another_kind_is_refused)
{
    static const char *const head = "{\"speclab drive\":1,\"settings\":\"000000000000004d\"}\n";
    static const char *const texts[][2] = {
        {"", "hello\n"},
        {"", "{\"speclab drive\":2}\n"},
        {"", "[1]\n"},
        {"x", "{}\n"},
        {"x", "{\"K\":-1}\n"},
        {"x", "{\"K\":1,\"concurrency\":1,\"pass\":0,\"refused\":0,\"seconds\":-1,\"tokens\":0,"
              "\"counts\":[0,0,0],\"passed\":[],\"requests\":[]}\n"},
        {"x", "{\"K\":1,\"concurrency\":1,\"pass\":0,\"refused\":0,\"seconds\":1,\"tokens\":0,"
              "\"counts\":[0,0,0],\"passed\":[],\"requests\":[[0,5,9,1,1,1,1,1,1]]}\n"},
        {"x", "{\"K\":1,\"concurrency\":1,\"pass\":0,\"refused\":0,\"seconds\":1,\"tokens\":0,"
              "\"counts\":[0,0,0],\"passed\":[],\"requests\":7}\n"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        spec_live_server read_about;
        spec_drive_blocks read;
        spec_error error;
        FILE *file = tmpfile();
        fprintf(file, "%s%s", *texts[i][0] != '\0' ? head : "", texts[i][1]);
        assert_int_equal(spec_drive_file_read(&read, &read_about, file, "x", 77, &error),
                         GSL_EINVAL);
        assert_true(strncmp(error.text, *texts[i][0] != '\0' ? "x:2: " : "x:1: ", 5) == 0);
        fclose(file);
    }
}

/* ---- counters -------------------------------------------------------------------------------- */

TEST(counters_of_metrics_are_summed_over_engines)
{
    static const char text[] =
        "# HELP vllm:x y\n"
        "vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 100\n"
        "vllm:spec_decode_num_drafts_total{engine=\"0\",model_name=\"m\"} 30\n"
        "vllm:spec_decode_num_draft_tokens_total{engine=\"0\",model_name=\"m\"} 60\n"
        "vllm:spec_decode_num_accepted_tokens_total{engine=\"0\",model_name=\"m\"} 20\n"
        "vllm:generation_tokens_total{engine=\"1\",model_name=\"m\"} 10\n"
        "vllm:spec_decode_num_drafts_total{engine=\"1\",model_name=\"m\"} 3\n"
        "vllm:spec_decode_num_draft_tokens_total{engine=\"1\",model_name=\"m\"} 6\n"
        "vllm:spec_decode_num_accepted_tokens_total{engine=\"1\",model_name=\"m\"} 2\n";
    spec_live_counts counts, none, between;
    spec_error error;
    assert_int_equal(spec_live_counts_read(&counts, text, "vllm", &error), GSL_SUCCESS);
    assert_true(counts.rounds == 33.0 && counts.drafted == 66.0 && counts.accepted == 22.0);
    assert_int_equal(
        spec_live_counts_read(&none, "vllm:generation_tokens_total 5\n", "vllm", &error),
        GSL_SUCCESS);
    assert_true(none.rounds == 0.0 && none.drafted == 0.0);
    assert_true(spec_live_counts_between(&between, &none, &counts));
    assert_true(between.drafted == 66.0);
    assert_false(spec_live_counts_between(&between, &counts, &none));
    assert_int_equal(spec_live_counts_read(&none, "<html>\n", "vllm", &error), GSL_EINVAL);
    assert_non_null(strstr(error.text, "/metrics has no line"));
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
