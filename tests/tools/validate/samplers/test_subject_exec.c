/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/clock.h"
#include "tests/support/built.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"
#include "tools/validate/samplers/supervisor.h"
#include "tools/validate/validate.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const spec_subject_limits supervised = {
    .timeout = 100.0, .memory = 4ull << 30, .supervisor = "/proc/self/exe"};

/* clients: the folder of the built clients. patience: a time-out that holds even on a busy machine.
 * short_patience: one that must expire. */
static char clients[PATH_MAX];
static const double patience = 100.0, short_patience = 0.3;
enum { BATCH = 32 };

static int find_clients(void **state)
{
    (void)state;
    spec_built_path(clients, "clients");
    return 0;
}

#define needs_program(program, command)                                                            \
    do {                                                                                           \
        if (system(command " >/dev/null 2>&1") != 0) {                                             \
            printf("skipped: %s: no %s on this machine\n", __func__, program);                     \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

/* Checks that no child and no process with this program's mark is running. */
static void nobody_is_left(void)
{
    char mark[32], path[300], line[4096];
    snprintf(mark, sizeof mark, "mark-%d", (int)getpid());
    errno = 0;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    DIR *folder = opendir("/proc");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (file == NULL) continue;
        const size_t n = fread(line, 1, sizeof line - 1, file);
        fclose(file);
        for (size_t i = 0; i < n; i++)
            if (line[i] == '\0') line[i] = ' ';
        line[n] = '\0';
        if (strstr(line, mark) != NULL) fail_msg("process %s is left: %s", entry->d_name, line);
    }
    closedir(folder);
}

/* ---- rude processes -------------------------------------------------------------------------- */

/* A short time-out begins only after a client's hello, which may take long on a busy machine; until
 * then the clock is stopped. */
static bool stopped;

static double unless_stopped(void *self)
{
    (void)self;
    return stopped ? 0.0 : spec_clock_monotonic();
}

/* Opens the command, asks it for a batch of rounds, and closes it. Returns the status and the
 * error. */
static int ask_about(const char *name, const char *spec, double timeout, spec_round_batch *opt_seen,
                     spec_error *error)
{
    const spec_fixture_kind *kind;
    spec_fixture fixture;
    spec_subject subject;
    spec_subject_limits limits = supervised;
    limits.timeout = timeout;
    limits.clock = (spec_clock){.seconds = unless_stopped};
    stopped = timeout == short_patience && strstr(spec, clients) != NULL;
    limits.memory = 200u << 20;
    assert_int_equal(spec_fixture_find(&kind, name, NULL), GSL_SUCCESS);
    assert_int_equal(spec_fixture_open(&fixture, kind, NULL), GSL_SUCCESS);
    int status = spec_subject_open(&subject, spec, &limits, error);
    stopped = false;
    if (status == GSL_SUCCESS) {
        status = spec_subject_begin(&subject, &fixture, SPEC_SCOPE_VERIFY, BATCH, error);
        for (int i = 0; i < BATCH && status == GSL_SUCCESS; i++) {
            subject.batch.n_nodes[i] = fixture.n_nodes;
            subject.batch.seed[i] = 77;
            subject.batch.offset[i] = (uint64_t)i;
        }
        if (status == GSL_SUCCESS) status = spec_subject_run(&subject, BATCH, error);
        if (status == GSL_SUCCESS && opt_seen != NULL) {
            opt_seen->n_emitted[0] = subject.batch.n_emitted[0];
            opt_seen->n_accepted[0] = subject.batch.n_accepted[0];
            opt_seen->emitted[0] = subject.batch.emitted[0];
        }
        spec_subject_close(&subject);
    }
    spec_fixture_close(&fixture);
    return status;
}

static int ask(const char *spec, double timeout, spec_round_batch *opt_seen, spec_error *error)
{
    return ask_about("plain-4", spec, timeout, opt_seen, error);
}

/* The command ends in time, with an error that contains these words, and leaves no process. */
static void ends(const char *spec, double timeout, const char *words)
{
    spec_error error = {{0}};
    const double begun = spec_clock_monotonic();
    const int status = ask(spec, timeout, NULL, &error);
    if (status != GSL_EFAILED || strstr(error.text, words) == NULL ||
        strchr(error.text, '\n') != NULL)
        fail_msg("%s: status %d, '%s'; expected '%s'", spec, status, error.text, words);
    assert_true(spec_clock_monotonic() - begun < patience);
    nobody_is_left();
}

static void deed_ends(const char *deed, double timeout, const char *words)
{
    char spec[PATH_MAX + 64];
    snprintf(spec, sizeof spec, "exec:exec %s/rude_client %s mark-%d", clients, deed,
             (int)getpid());
    ends(spec, timeout, words);
}

TEST(a_process_that_ends_or_hangs_is_one_line_of_error)
{
    deed_ends("crash", patience, "it crashed (signal 11, Segmentation fault)");
    deed_ends("abort", patience, "it crashed (signal 6, Aborted)");
    deed_ends("exit", patience, "it exited with code 0");
    deed_ends("complain", patience, "it exited with code 4; it said: 'no such layer: 7'");
    deed_ends("stop", patience, "it stopped itself (signal 19");
    deed_ends("close", patience, "it closed its output");
    deed_ends("eat", patience, "it took more than 200 MB of memory");
    deed_ends("grandchild", patience, "it exited with code 0");
    deed_ends("hang", short_patience,
              "fixture plain-4, scope V, rounds from seed 77, offset 0 on: it did not answer");
    deed_ends("spin", short_patience, "it did not answer within 0.3 s");
    deed_ends("deaf", short_patience, "it did not answer within 0.3 s");
    deed_ends("never-read", short_patience, "it did not answer within 0.3 s");
    deed_ends("flood-stderr", short_patience, "it did not answer within 0.3 s");
    deed_ends("half-header", short_patience, "it did not answer within 0.3 s");
}

/* 768 kB of rows exceed the buffer of a socket. */
TEST(writing_to_a_process_that_never_reads_times_out)
{
    char spec[PATH_MAX + 64];
    spec_error error = {{0}};
    snprintf(spec, sizeof spec, "exec:exec %s/rude_client never-read mark-%d", clients,
             (int)getpid());
    assert_int_equal(ask_about("vocab-32000", spec, short_patience, NULL, &error), GSL_EFAILED);
    assert_non_null(
        strstr(error.text, "given fixture vocab-32000: it did not answer within 0.3 s"));
    nobody_is_left();
}

TEST(invalid_frames_end_the_run)
{
    deed_ends("print", patience, "a frame must begin with 'SPEC', but 'step 1: accepted 3.");
    deed_ends("flood", patience, "a frame must begin with 'SPEC', but '....");
    deed_ends("half", patience, "it exited with code 0");
    deed_ends("short", patience, "an answer of 376 bytes is too short for 32 rounds");
    deed_ends("long", patience, "an answer of 392 bytes is too long by 8");
    deed_ends("odd", patience, "an answer of 385 bytes is too long by 1");
    deed_ends("huge", patience, "an answer has 4294967280 bytes, but at most");
    deed_ends("type", patience, "an answer of type 9 came to a question of type 2");
    deed_ends("serial", patience, "answer 1 came to question 0");
    deed_ends("negative", patience, "it says that round 0 emitted -1 tokens");
    deed_ends("many", patience, "is too short for 32 rounds");
    deed_ends("twice", patience, "it sent more answers than there were questions");
    deed_ends("unasked", patience, "it sent more answers than there were questions");
}

TEST(a_command_without_a_hello_is_an_error)
{
    ends("exec:no-such-program-here", patience,
         "at its hello: it exited with code 127; it said: '");
    ends("exec:true", patience, "at its hello: it exited with code 0");
    ends("exec:echo Loading model...", patience,
         "its first line on standard output is not a hello, but 'Loading model...'; only the "
         "protocol may use");
    ends("exec:echo '{\"speclab\":1,\"scopes\":[\"V\"],\"rows\":7}'", patience,
         "its hello is wrong: 'rows' must be \"probabilities\" or \"logits\"");
    ends("exec:cat /dev/zero", patience, "is not a hello, but '....");
    ends("exec:sleep 30", short_patience, "at its hello: it did not answer within 0.3 s");
    ends("exec:printf '{\"speclab\":1,\"scopes\":[\"V\"]}\\nhm\\n'", patience,
         "it sent more answers than there were questions");
    ends("exec:kill -SEGV $$", patience, "at its hello: it crashed (signal 11");
    ends("exec:sh -c 'kill -SEGV $$'; exit $?", patience,
         "it exited with code 139, which a shell returns for signal 11");
    ends("exec:(", patience, "at its hello: it exited with code 2; it said: '");
}

TEST(answers_are_passed_on_unchecked)
{
    char spec[PATH_MAX + 64];
    int32_t n_emitted, n_accepted, emitted;
    spec_round_batch seen = {
        .n_emitted = &n_emitted, .n_accepted = &n_accepted, .emitted = &emitted};
    spec_error error = {{0}};
    snprintf(spec, sizeof spec, "exec:%s/rude_client range", clients);
    assert_int_equal(ask(spec, patience, &seen, &error), GSL_SUCCESS);
    assert_int_equal(emitted, 1 << 30);
    snprintf(spec, sizeof spec, "exec:%s/rude_client none", clients);
    assert_int_equal(ask(spec, patience, &seen, &error), GSL_SUCCESS);
    assert_int_equal(n_emitted, 0);
    assert_int_equal(n_accepted, 0);
    nobody_is_left();
}

TEST(a_process_that_lingers_is_killed_on_close)
{
    char spec[PATH_MAX + 64];
    spec_error error = {{0}};
    snprintf(spec, sizeof spec, "exec:%s/rude_client linger mark-%d", clients, (int)getpid());
    assert_int_equal(ask(spec, patience, NULL, &error), GSL_SUCCESS);
    nobody_is_left();
}

/* The command is echo, which prints its options: a hello. */
TEST(options_follow_the_command)
{
    spec_subject subject;
    spec_error error = {{0}};
    spec_subject_limits limits = supervised;
    limits.opt_options = "'{\"speclab\": 1, \"name\": \"told\", \"scopes\": [\"S\"]}'";
    if (spec_subject_open(&subject, "exec:echo", &limits, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    assert_string_equal(subject.about.name, "told");
    assert_int_equal(subject.about.scopes, SPEC_SCOPE_STREAM);
    spec_subject_close(&subject);
    nobody_is_left();
}

TEST(only_declared_counters_are_read)
{
    char spec[PATH_MAX + 64];
    spec_subject subject;
    spec_error error = {{0}};
    uint64_t counter[3] = {0};
    bool known;
    snprintf(spec, sizeof spec, "exec:%s/rude_client", clients);
    assert_int_equal(spec_subject_open(&subject, spec, &supervised, &error),
                     GSL_SUCCESS);
    assert_int_equal(spec_subject_counters(&subject, counter, &known, &error), GSL_SUCCESS);
    assert_true(known);
    assert_true(counter[0] == 6 && counter[1] == 3 && counter[2] == 7);
    spec_subject_close(&subject);
    snprintf(spec, sizeof spec, "exec:%s/token_client", clients);
    assert_int_equal(spec_subject_open(&subject, spec, &supervised, &error),
                     GSL_SUCCESS);
    assert_int_equal(spec_subject_counters(&subject, counter, &known, &error), GSL_SUCCESS);
    assert_false(known);
    spec_subject_close(&subject);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Fixtures with drawn and with fixed chains, with coins for samplers that take them, with texts,
 * and with rows that are known before the draft; also batch-1 and wide-4, which find samplers that
 * do not use every bit of seeds and offsets. */
static void gets(const char *spec, uint32_t scopes, uint64_t draws, spec_validate_verdict verdict)
{
    static const char *const only[] = {"plain-4", "fixed-4", "blind-3", "coins-8",
                                       "text-5-3", "batch-1", "wide-4",  NULL};
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.opt_pool = spec_test_pool(0);
    spec_validation result;
    spec_error error = {{0}};
    plan.seed = spec_test_seed();
    plan.draws = spec_test_samples(draws);
    plan.scopes = scopes;
    plan.opt_pool = spec_test_pool(1);
    plan.hints = false;
    plan.opt_only = only;
    plan.limits.supervisor = supervised.supervisor;
    plan.limits.timeout = patience;
    if (spec_validate(&result, spec, &plan, &error) != GSL_SUCCESS)
        fail_msg("%s: %s", spec, error.text);
    if (result.verdict != verdict) fail_msg("%s: %s", spec, result.reason);
    spec_validation_free(&result);
    nobody_is_left();
}

/* The right client passes and the wrong one fails, in every scope. */
static void a_pair_gets_its_verdicts(const char *command, uint32_t scopes, uint64_t draws)
{
    char spec[PATH_MAX + 64];
    snprintf(spec, sizeof spec, "exec:%s", command);
    gets(spec, scopes, draws, SPEC_VERDICT_PASS);
    snprintf(spec, sizeof spec, "exec:%s wrong", command);
    for (uint32_t scope = SPEC_SCOPE_VERIFY; scope <= SPEC_SCOPE_STREAM; scope *= 2)
        if (scopes & scope) gets(spec, scope, draws, SPEC_VERDICT_FAIL);
}

enum { ALL = SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT | SPEC_SCOPE_STREAM };

TEST(the_client_in_c_gets_the_right_verdicts, STATISTICS)
{
    char command[PATH_MAX + 32];
    snprintf(command, sizeof command, "%s/token_client", clients);
    a_pair_gets_its_verdicts(command, ALL, 100000);
}

TEST(the_client_in_python_gets_the_right_verdicts, SLOW | STATISTICS)
{
    needs_program("python3", "python3 -c ''");
    a_pair_gets_its_verdicts("python3 tools/validate/adapters/token_sampler.py", ALL, 60000);
    a_pair_gets_its_verdicts("python3 tools/validate/adapters/token_sampler.py json", ALL, 60000);
}

TEST(the_client_in_perl_gets_the_right_verdicts, SLOW | STATISTICS)
{
    needs_program("perl with JSON::PP", "perl -MJSON::PP -e ''");
    a_pair_gets_its_verdicts("perl tools/validate/adapters/token_sampler.pl", SPEC_SCOPE_VERIFY,
                             20000);
}

SUITE(PLUGIN, .setup = find_clients);
