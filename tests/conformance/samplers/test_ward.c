#include "conformance/samplers/ward.h"
#include "tests/support/orphans.h"

#include <omp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* For those that will hang, and for the others: this machine may be busy. */
static const spec_subject_limits hasty = {.timeout = 0.15}, patient = {.timeout = 20.0, .memory = 128ull << 20};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What comes of a command that is asked for a line. */
static void ends_with(const spec_subject_limits *limits, const char *command, const char *line)
{
    spec_ward *ward;
    spec_error error = {{0}};
    char answer[64];
    const double begun = now();
    assert_int_equal(spec_ward_start(&ward, "exec", command, -1, limits, &error), GSL_SUCCESS);
    int status = spec_ward_write(ward, "hello\n", 6, &error);
    if (status == GSL_SUCCESS) status = spec_ward_read(ward, answer, sizeof answer, sizeof answer, NULL, &error);
    assert_int_equal(status, GSL_EFAILED);
    if (strcmp(error.text, line) != 0) fail_msg("%s: '%s', not '%s'", command, error.text, line);
    assert_int_equal(spec_ward_write(ward, "hello\n", 6, &error), GSL_EFAILED);
    assert_string_equal(error.text, "it has ended before");
    spec_ward_end(ward);
    if (now() - begun > 5.0) fail_msg("%s: it took %.3f s", command, now() - begun);
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

static void every_end_is_one_line(void **state)
{
    (void)state;
    ends("kill -SEGV $$", "it crashed (signal 11, Segmentation fault)");
    ends("kill -KILL $$", "it crashed (signal 9, Killed)");
    ends("exit 3", "it exited with code 3");
    ends("echo first >&2; echo; printf 'last\\n\\n' >&2; exit 0", "it exited with code 0; it said: 'last'");
    ends("printf '\\033[31mred' >&2; exit 1", "it exited with code 1; it said: '?[31mred'");
    ends("kill -STOP $$", "it stopped itself (signal 19, Stopped (signal))");
    ends("exec 1>&-; sleep 100", "it closed its output");
    hangs("sleep 100", "it did not answer within 0.15 s");
    hangs("trap : TERM INT HUP; while true; do sleep 0.01; done", "it did not answer within 0.15 s");
    ends("no-such-sampler", "it exited with code 127; it said: 'sh: 1: no-such-sampler: not found'");
    ends("yes | head -100000 >&2; exit 4", "it exited with code 4; it said: 'y'");
}

static void whoever_leaves_the_group_is_ended_as_well(void **state)
{
    (void)state;
    ends("setsid sleep 100 & (setsid sh -c 'setsid sleep 100 & sleep 100' &) ; exit 5", "it exited with code 5");
    hangs("setsid sleep 100 & sleep 100", "it did not answer within 0.15 s");
}

static void a_keeper_that_the_child_attacks_leaves_nobody(void **state)
{
    (void)state;
    hangs("kill -STOP $PPID; exec sleep 100", "it did not answer within 0.15 s");
    ends_with(&patient, "sleep 100 & kill -KILL $PPID; sleep 100", "it killed its keeper");
    orphans_end(2); /* the shell, and what it started */
}

/* This program ignores SIGPIPE, as speclab does; ctrl-C goes to whoever shares speclab's session. */
static void a_child_has_its_own_session_and_signals(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    ends("kill -PIPE $$; exit 0", "it crashed (signal 13, Broken pipe)");
    signal(SIGPIPE, SIG_DFL);
    ends("set -- $(cat /proc/$$/stat); [ $6 = $PPID ] && [ $5 = $$ ] && exit 7; exit 8", "it exited with code 7");
}

static void it_is_given_time_to_end_by_itself(void **state)
{
    (void)state;
    char path[] = "/tmp/speclab-ward-XXXXXX", command[128], byte;
    const int file = mkstemp(path);
    spec_ward *ward;
    assert_true(file >= 0);
    snprintf(command, sizeof command, "cat; sleep 0.05; echo bye >%s", path);
    assert_int_equal(spec_ward_start(&ward, "exec", command, -1, &patient, NULL), GSL_SUCCESS);
    spec_ward_end(ward);
    assert_int_equal(read(file, &byte, 1), 1);
    assert_int_equal(byte, 'b');
    close(file);
    unlink(path);
    orphans_none();
}

static void memory_is_watched_that_of_children_too(void **state)
{
    (void)state;
    const char *line = "it took more than 128 MB of memory";
    spec_ward *ward;
    spec_error error = {{0}};
    char answer;
    /* dash doubles a variable; nested, so that it is a child's child that grows. */
    const char *command = "sh -c 'x=0123456789abcdef; while :; do x=$x$x; done; :'; :";
    assert_int_equal(spec_ward_start(&ward, "exec", command, -1, &patient, &error), GSL_SUCCESS);
    assert_int_equal(spec_ward_read(ward, &answer, 1, 1, NULL, &error), GSL_EFAILED);
    assert_memory_equal(error.text, line, strlen(line));
    spec_ward_end(ward);
    orphans_none();
}

static void bytes_come_back_as_they_went(void **state)
{
    (void)state;
    enum { MANY = 1 << 20 };
    spec_ward *ward;
    spec_error error = {{0}};
    char *bytes = malloc(MANY), *back = malloc(MANY), odd[100];
    size_t n;
    for (int i = 0; i < MANY; i++) bytes[i] = (char)((unsigned)i * 2654435761u >> 24);
    /* It takes all in before it answers, so that neither side waits for the other's reader. */
    assert_int_equal(spec_ward_start(&ward, "exec", "head -c 1048576 | tac -s no-such-separator; cat", -1, &patient,
                                     &error), GSL_SUCCESS);
    assert_int_equal(spec_ward_write(ward, bytes, MANY, &error), GSL_SUCCESS);
    assert_int_equal(spec_ward_read(ward, back, MANY, MANY, &n, &error), GSL_SUCCESS);
    assert_int_equal(n, MANY);
    assert_memory_equal(bytes, back, MANY);
    assert_int_equal(spec_ward_write(ward, "abc", 3, &error), GSL_SUCCESS);
    assert_int_equal(spec_ward_read(ward, odd, 1, sizeof odd, &n, &error), GSL_SUCCESS);
    assert_in_range(n, 1, 3);
    spec_ward_end(ward);
    spec_ward_end(NULL);
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

static void an_interrupt_ends_what_is_under_way(void **state)
{
    (void)state;
    spec_ward *ward;
    spec_error error = {{0}};
    char answer;
    const spec_subject_limits stoppable = {.timeout = 20.0, .opt_stop = &stop};
    const double begun = now();
    signal(SIGALRM, set_stop);
    assert_int_equal(spec_ward_start(&ward, "exec", "sleep 100", -1, &stoppable, &error), GSL_SUCCESS);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 30000}}, NULL);
    assert_int_equal(spec_ward_read(ward, &answer, 1, 1, NULL, &error), GSL_EFAILED);
    assert_string_equal(error.text, "interrupted");
    assert_true(now() - begun < 5.0);
    spec_ward_end(ward);
    orphans_none();
}

static void nobody_outlives_a_parent_that_is_killed(void **state)
{
    (void)state;
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        spec_ward *ward;
        if (spec_ward_start(&ward, "exec", "setsid sleep 100 & sleep 100", -1, &patient, NULL) == GSL_SUCCESS)
            (void)!write(ready[1], "x", 1);
        for (;;) pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    kill(parent, SIGKILL);
    orphans_end(2); /* the parent, and the keeper that came to us */
}

static void threads_have_wards_of_their_own(void **state)
{
    (void)state;
    int good = 0;
#pragma omp parallel for num_threads(8) schedule(static, 1) reduction(+ : good)
    for (int i = 0; i < 24; i++) {
        spec_ward *ward;
        char sent[16], back[16] = "";
        const size_t n = (size_t)snprintf(sent, sizeof sent, "ward %d\n", i);
        if (spec_ward_start(&ward, "exec", i % 3 == 2 ? "kill -SEGV $$" : "cat", -1, &patient, NULL) != GSL_SUCCESS)
            continue;
        int status = spec_ward_write(ward, sent, n, NULL);
        if (status == GSL_SUCCESS) status = spec_ward_read(ward, back, n, sizeof back - 1, NULL, NULL);
        good += i % 3 == 2 ? status == GSL_EFAILED : status == GSL_SUCCESS && strcmp(sent, back) == 0;
        spec_ward_end(ward);
    }
    assert_int_equal(good, 24);
    orphans_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_is_one_line),
        cmocka_unit_test(whoever_leaves_the_group_is_ended_as_well),
        cmocka_unit_test(a_keeper_that_the_child_attacks_leaves_nobody),
        cmocka_unit_test(a_child_has_its_own_session_and_signals),
        cmocka_unit_test(it_is_given_time_to_end_by_itself),
        cmocka_unit_test(memory_is_watched_that_of_children_too),
        cmocka_unit_test(bytes_come_back_as_they_went),
        cmocka_unit_test(an_interrupt_ends_what_is_under_way),
        cmocka_unit_test(nobody_outlives_a_parent_that_is_killed),
        cmocka_unit_test(threads_have_wards_of_their_own),
    };
    return cmocka_run_group_tests(tests, orphans_adopt, NULL);
}
