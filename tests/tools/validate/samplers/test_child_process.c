/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/clock.h"
#include "tests/support/built.h"
#include "tests/support/orphans.h"
#include "tests/support/support.h"
#include "tools/validate/samplers/child_process.h"
#include "tools/validate/samplers/supervisor.h"

#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/time.h>
#include <unistd.h>

/* hasty: time-outs for commands that hang. patient: for all others, since the machine may be
 * busy. */
static const spec_subject_limits hasty = {.timeout = 0.15, .supervisor = "/proc/self/exe"},
                                 patient = {.timeout = 100.0,
                                            .memory = 128ull << 20,
                                            .supervisor = "/proc/self/exe"};

/* Asks a command for a line, and checks the error. */
static void ends_with(const spec_subject_limits *limits, const char *command, const char *line)
{
    spec_child_process *child;
    spec_error error = {{0}};
    char answer[64];
    const double begun = spec_clock_monotonic();
    assert_int_equal(spec_child_process_start(&child, "exec", command, -1, limits, &error),
                     GSL_SUCCESS);
    int status = spec_child_process_write(child, "hello\n", 6, &error);
    if (status == GSL_SUCCESS)
        status = spec_child_process_read(child, answer, sizeof answer, sizeof answer, NULL, &error);
    assert_int_equal(status, GSL_EFAILED);
    if (strcmp(error.text, line) != 0) fail_msg("%s: '%s', not '%s'", command, error.text, line);
    assert_int_equal(spec_child_process_write(child, "hello\n", 6, &error), GSL_EFAILED);
    assert_string_equal(error.text, "it has ended before");
    spec_child_process_end(child);
    const double took = spec_clock_monotonic() - begun;
    if (took > 60.0) fail_msg("%s: it took %.3f s", command, took);
}

static void ends(const char *command, const char *line)
{
    ends_with(&patient, command, line);
    orphans_none();
}

static void hangs(const char *command, const char *line)
{
    ends_with(&hasty, command, line);
    orphans_none();
}

TEST(every_end_is_one_line)
{
    ends("kill -SEGV $$", "it crashed (signal 11, Segmentation fault)");
    ends("kill -KILL $$", "it crashed (signal 9, Killed)");
    ends("exit 3", "it exited with code 3");
    ends("echo first >&2; echo; printf 'last\\n\\n' >&2; exit 0",
         "it exited with code 0; it said: 'last'");
    ends("printf '\\033[31mred' >&2; exit 1", "it exited with code 1; it said: '?[31mred'");
    ends("kill -STOP $$", "it stopped itself (signal 19, Stopped (signal))");
    ends("exec 1>&-; sleep 100", "it closed its output");
    hangs("sleep 100", "it did not answer within 0.15 s");
    hangs("trap : TERM INT HUP; while true; do sleep 0.01; done",
          "it did not answer within 0.15 s");
    ends("no-such-sampler",
         "it exited with code 127; it said: 'sh: 1: no-such-sampler: not found'");
    ends("yes | head -100000 >&2; exit 4", "it exited with code 4; it said: 'y'");
}

TEST(processes_outside_the_group_are_killed_as_well)
{
    ends("setsid sleep 100 & (setsid sh -c 'setsid sleep 100 & sleep 100' &) ; exit 5",
         "it exited with code 5");
    hangs("setsid sleep 100 & sleep 100", "it did not answer within 0.15 s");
}

/* Returns whether the system allows PID namespaces: the child's parent is then process 1. */
static bool has_namespace(void)
{
    spec_child_process *child;
    char answer = '0';
    assert_int_equal(spec_child_process_start(&child, "exec", "[ $PPID = 1 ] && echo 1 || echo 0",
                                              -1, &patient, NULL),
                     GSL_SUCCESS);
    assert_int_equal(spec_child_process_read(child, &answer, 1, 1, NULL, NULL), GSL_SUCCESS);
    spec_child_process_end(child);
    orphans_none();
    return answer == '1';
}

TEST(an_attacked_supervisor_leaves_no_process)
{
    hangs("kill -STOP $PPID; exec sleep 100", "it did not answer within 0.15 s");
    if (has_namespace()) { /* the supervisor is out of reach, even from a session of its own */
        hangs("sleep 100 & kill -KILL $PPID; sleep 100", "it did not answer within 0.15 s");
        hangs("k=$PPID; setsid sh -c \"kill -KILL $k; exec sleep 100\" & sleep 100",
              "it did not answer within 0.15 s");
    } else {
        ends_with(&patient, "sleep 100 & kill -KILL $PPID; sleep 100", "it killed its supervisor");
        orphans_end(2); /* the shell, and its child */
    }
}

/* The child sees only its own processes. */
TEST(a_namespace_shows_the_child_only_itself)
{
    if (!has_namespace()) {
        printf("skipped: %s: the system allows no PID namespace\n", __func__);
        skip();
    }
    ends("set -- /proc/[0-9]*; [ $# -le 2 ] && [ -r /proc/$$/stat ] && exit 7; exit 8",
         "it exited with code 7");
}

/* Runs a command that sees "$1" in its environment if it was passed. */
static void sees(const spec_subject_limits *limits, const char *words, const char *seen)
{
    char command[256], line[128];
    snprintf(command, sizeof command, "echo \"%s\" >&2; exit 7", words);
    snprintf(line, sizeof line, "it exited with code 7; it said: '%s'", seen);
    ends_with(limits, command, line);
    orphans_none();
}

/* The user's configuration is tested as it is. */
TEST(a_child_receives_all_variables_but_secrets)
{
    static const char *const more[] = {
        "HF_TOKEN", "CUDA_VISIBLE_DEVICES=0,1", "MY_OWN=1", "MY_OWN=second", "MY_KEY=x", NULL};
    const spec_subject_limits with_more = {
        .timeout = 100.0, .opt_env = more, .supervisor = "/proc/self/exe"};
    setenv("HF_TOKEN", "secret", 1);
    setenv("VLLM_USE_V1", "1", 1);
    setenv("CUDA_VISIBLE_DEVICES", "7", 1);
    setenv("MY_OWN", "own", 1);
    sees(&patient, "[$HF_TOKEN] $VLLM_USE_V1 $CUDA_VISIBLE_DEVICES $MY_OWN [$MY_KEY]",
         "[] 1 7 own []");
    sees(&with_more, "[$HF_TOKEN] $VLLM_USE_V1 $CUDA_VISIBLE_DEVICES $MY_OWN [$MY_KEY]",
         "[secret] 1 0,1 second [x]");
    sees(&patient, "${PATH:+path}", "path");
}

/* This program ignores SIGPIPE, as speclab does; ctrl-C reaches all processes of its session. */
TEST(a_child_has_its_own_session_and_signals)
{
    signal(SIGPIPE, SIG_IGN);
    ends("kill -PIPE $$; exit 0", "it crashed (signal 13, Broken pipe)");
    signal(SIGPIPE, SIG_DFL);
    ends("set -- $(cat /proc/$$/stat); [ $6 = $PPID ] && [ $5 = $$ ] && exit 7; exit 8",
         "it exited with code 7");
}

TEST(a_child_has_time_to_end_by_itself)
{
    char path[] = "/tmp/speclab-child-XXXXXX", command[128], byte;
    const int file = mkstemp(path);
    spec_child_process *child;
    assert_true(file >= 0);
    snprintf(command, sizeof command, "cat; sleep 0.05; echo bye >%s", path);
    assert_int_equal(spec_child_process_start(&child, "exec", command, -1, &patient, NULL),
                     GSL_SUCCESS);
    spec_child_process_end(child);
    assert_int_equal(read(file, &byte, 1), 1);
    assert_int_equal(byte, 'b');
    close(file);
    unlink(path);
    orphans_none();
}

TEST(memory_of_descendants_is_limited_too)
{
    const char *line = "it took more than 128 MB of memory";
    spec_child_process *child;
    spec_error error = {{0}};
    char answer;
    /* dash doubles a variable; a nested shell, so that a grandchild grows */
    const char *command = "sh -c 'x=0123456789abcdef; while :; do x=$x$x; done; :'; :";
    assert_int_equal(spec_child_process_start(&child, "exec", command, -1, &patient, &error),
                     GSL_SUCCESS);
    assert_int_equal(spec_child_process_read(child, &answer, 1, 1, NULL, &error), GSL_EFAILED);
    assert_memory_equal(error.text, line, strlen(line));
    spec_child_process_end(child);
    orphans_none();
}

/* The command of a client in the build folder of this program. */
static void greedy(char command[PATH_MAX], const char *way)
{
    char client[PATH_MAX];
    snprintf(command, PATH_MAX, "%.2000s %s", spec_built_path(client, "clients/greedy_client"),
             way);
}

/* Each client takes 200 MB. */
TEST(memory_counts_however_it_is_taken)
{
    static const char *const ways[] = {"private", "shared", "mapped", "file", "thread", "deep"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        char command[PATH_MAX];
        greedy(command, ways[i]);
        ends(command, "it took more than 128 MB of memory");
    }
}

/* Five processes have the same 100 MB, and a file both open and mapped. */
TEST(memory_that_processes_share_counts_once)
{
    spec_child_process *child;
    spec_error error = {{0}};
    char command[PATH_MAX], answer[11] = "";
    greedy(command, "share");
    assert_int_equal(spec_child_process_start(&child, "exec", command, -1, &patient, &error),
                     GSL_SUCCESS);
    if (spec_child_process_read(child, answer, 10, 10, NULL, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    assert_string_equal(answer, "still here");
    spec_child_process_end(child);
    orphans_none();
}

/* A sampler that is started by root does not have all of root's rights. */
TEST(a_child_cannot_leave_its_view_of_the_system)
{
    char command[PATH_MAX];
    if (!has_namespace()) {
        printf("skipped: %s: the system allows no PID namespace\n", __func__);
        skip();
    }
    greedy(command, "look");
    ends(command, "it exited with code 7");
    ends("set -- $(grep CapEff /proc/self/status); [ $((0x$2 & ~0xfb)) = 0 ] && "
         "grep -q 'NoNewPrivs:.1' /proc/self/status && exit 7; exit 8",
         "it exited with code 7");
}

TEST(a_child_leaves_no_shared_memory_behind)
{
    char way[32], command[PATH_MAX];
    if (!has_namespace()) {
        printf("skipped: %s: the system allows no namespace\n", __func__);
        skip();
    }
    snprintf(way, sizeof way, "leave %d", (int)getpid());
    greedy(command, way);
    ends(command, "it exited with code 7");
    assert_int_equal(shmget((key_t)getpid(), 0, 0), -1);
    assert_int_equal(errno, ENOENT);
}

TEST(bytes_come_back_as_they_went)
{
    enum { MANY = 1 << 20 };
    spec_child_process *child;
    spec_error error = {{0}};
    char *bytes = malloc(MANY), *back = malloc(MANY), odd[100];
    size_t n;
    for (int i = 0; i < MANY; i++) bytes[i] = (char)((unsigned)i * 2654435761u >> 24);
    /* The child reads everything before it answers, so that neither side blocks the other. */
    assert_int_equal(spec_child_process_start(&child, "exec",
                                              "head -c 1048576 | tac -s no-such-separator; cat", -1,
                                              &patient, &error),
                     GSL_SUCCESS);
    assert_int_equal(spec_child_process_write(child, bytes, MANY, &error), GSL_SUCCESS);
    assert_int_equal(spec_child_process_read(child, back, MANY, MANY, &n, &error), GSL_SUCCESS);
    assert_int_equal(n, MANY);
    assert_memory_equal(bytes, back, MANY);
    assert_int_equal(spec_child_process_write(child, "abc", 3, &error), GSL_SUCCESS);
    assert_int_equal(spec_child_process_read(child, odd, 1, sizeof odd, &n, &error), GSL_SUCCESS);
    assert_in_range(n, 1, 3);
    spec_child_process_end(child);
    spec_child_process_end(NULL);
    orphans_none();
    free(bytes);
    free(back);
}

static volatile sig_atomic_t stop;

static void set_stop(int number)
{
    (void)number;
    stop = 1;
}

TEST(an_interrupt_ends_what_is_under_way)
{
    spec_child_process *child;
    spec_error error = {{0}};
    char answer;
    const spec_subject_limits stoppable = {
        .timeout = 100.0, .opt_stop = &stop, .supervisor = "/proc/self/exe"};
    const double begun = spec_clock_monotonic();
    signal(SIGALRM, set_stop);
    assert_int_equal(spec_child_process_start(&child, "exec", "sleep 100", -1, &stoppable, &error),
                     GSL_SUCCESS);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 30000}}, NULL);
    assert_int_equal(spec_child_process_read(child, &answer, 1, 1, NULL, &error), GSL_EFAILED);
    assert_string_equal(error.text, "interrupted");
    assert_true(spec_clock_monotonic() - begun < 60.0);
    spec_child_process_end(child);
    orphans_none();
}

TEST(no_process_outlives_a_killed_parent)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        spec_child_process *child;
        if (spec_child_process_start(&child, "exec", "setsid sleep 100 & sleep 100", -1, &patient,
                                     NULL) == GSL_SUCCESS)
            (void)!write(ready[1], "x", 1);
        for (;;) pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    kill(parent, SIGKILL);
    orphans_end(2); /* the parent, and the supervisor that became our child */
}

TEST(each_thread_has_its_own_child)
{
    int good = 0;
#pragma omp parallel for num_threads(8) schedule(static, 1) reduction(+ : good)
    for (int i = 0; i < 24; i++) {
        spec_child_process *child;
        char sent[16], back[16] = "";
        const size_t n = (size_t)snprintf(sent, sizeof sent, "child %d\n", i);
        if (spec_child_process_start(&child, "exec", i % 3 == 2 ? "kill -SEGV $$" : "cat", -1,
                                     &patient, NULL) != GSL_SUCCESS)
            continue;
        int status = spec_child_process_write(child, sent, n, NULL);
        if (status == GSL_SUCCESS)
            status = spec_child_process_read(child, back, n, sizeof back - 1, NULL, NULL);
        good +=
            i % 3 == 2 ? status == GSL_EFAILED : status == GSL_SUCCESS && strcmp(sent, back) == 0;
        spec_child_process_end(child);
    }
    assert_int_equal(good, 24);
    orphans_none();
}

SUITE(PLUGIN, .setup = orphans_adopt);
