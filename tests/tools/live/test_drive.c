/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurements of timed_server.py, whose acceptance and times are known: numbers near the truth,
 * and a line for each mistake. */
#include "tools/live/drive_report.h"

#include "analysis/capped_geometric.h"
#include "tests/support/child.h"
#include "tests/tools/live/faulty_server.h"

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

/* What the server does wrong, in which dialect, and the error line that results. */
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
    {"llamacpp", "broken", "/completion: an event of the stream is not valid JSON: "},
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

/* Mistakes that do not affect the numbers. */
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

/* A server about which everything is known: a plain step takes 6 ms, rounds take 7 + K ms, and
 * alpha is .7. On a busy machine it is late, and says by how much; times may differ by as much
 * more. */
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

/* Returns whether an interval, slightly widened, contains the true number. */
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
    assert_int_equal(numbers.n_rows, 3 * 2 * 4); /* all prompts, tale and code */
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
    /* The rows of categories partition those of all prompts. */
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

/* Writes a command that starts the server at a free port, and its URL. */
static void command_of(char command[1024], char url[64], const char *words)
{
    const int port = free_port();
    snprintf(url, 64, "http://127.0.0.1:%d", port);
    snprintf(command, 1024,
             "exec python3 -I -S '%.800s/tests/tools/live/timed_server.py' port=%d %s",
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
        assert_int_not_equal(spec_live_open(&result.server, url, NULL, NULL, &plan.how, &error),
                             GSL_SUCCESS);
        spec_drive_numbers_free(&numbers);
        spec_drive_result_free(&result);
    }
}

/* What the command does wrong, and the error line that results; NULL: the command starts the
 * server. */
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
    /* a server of another run answers at the port, and our own one ends because it cannot get it */
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

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
