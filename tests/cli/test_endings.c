/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How each verb ends by a signal: ctrl-C, SIGTERM, SIGHUP. SPECLAB names the program. */
#include "tests/cli/endings.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#define WALL_MOST 20.0 /* seconds from a signal to the end, on a busy machine */

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static bool is_at_work(const spec_child *c, size_t i)
{
    switch (verbs[i].work) {
    case GROWS: return spec_file_size(file_of(i)) > 0;
    case COMPUTES: return spec_child_seconds(c->pid) > 0.25;
    case OPENS: return spec_child_is_in(c->pid, SYS_openat);
    case DRAWS: return spec_child_is_in(c->pid, SYS_wait4);
    }
    return false;
}

/* Starts a long run, and waits until it is at work. */
static void start_run(spec_child *c, size_t i, const char *more)
{
    char arguments[ARGUMENTS];
    snprintf(arguments, sizeof arguments, "%s %s%s%s", verbs[i].run,
             strstr(verbs[i].run, " -o ") != NULL ? "" : verbs[i].file,
             verbs[i].work == GROWS || verbs[i].work == COMPUTES ? " --threads 1" : "", more);
    if (verbs[i].keeps == STATE) strcat(arguments, " --save-every 1000");
    spec_child_start(c, "PATH=fake:/usr/bin:/bin", NULL, arguments);
    spec_await(spec_child_ended(c->pid) || is_at_work(c, i));
    if (!spec_child_ended(c->pid)) return;
    spec_child_listen(c, NULL);
    fail_msg("%s: it ended before the signal, %d: %s", arguments, c->code, c->line);
}

/* Sends the signal and returns when the child has ended, in time. timeout(1) sends SIGTERM twice,
 * to the child and to its group. */
static void signal_run(spec_child *c, size_t i, int number)
{
    const double begun = now(), used = spec_child_seconds(c->pid), before = spec_children_seconds();
    assert_int_equal(kill(c->pid, number), 0);
    if (number == SIGTERM) {
        usleep(20000);
        kill(c->pid, number);
    }
    spec_child_listen(c, NULL);
    const double wall = now() - begun, cpu = spec_children_seconds() - before - used;
    if (cpu > CPU_MOST || wall > WALL_MOST)
        complain("%s: %.1f s and %.1f s of processor time after the signal", verbs[i].run, wall,
                 cpu);
    printf("    %-9s signal %2d: %5.2f s, %5.2f s of processor time; %d: %.*s\n", name_of(i),
           number, wall, cpu, c->code, (int)strcspn(c->line, "\n"), c->line);
}

/* Returns the bytes of a file, without its last line if that begins with '#'. */
static size_t size_of_rows(const char *bytes)
{
    size_t n = strlen(bytes);
    if (n == 0) return 0;
    assert_true(bytes[n - 1] == '\n');
    size_t begin = n - 1;
    while (begin > 0 && bytes[begin - 1] != '\n') begin--;
    return bytes[begin] == '#' ? begin : n;
}

/* A second run continues the file, and keeps the bytes of the first. */
static void check_resumes(size_t i, const char *bytes)
{
    spec_child c;
    const size_t kept = size_of_rows(bytes);
    char arguments[ARGUMENTS];
    snprintf(arguments, sizeof arguments, "%s %s --threads 1 --resume", verbs[i].run,
             verbs[i].file);
    spec_child_start(&c, NULL, NULL, arguments);
    spec_await(spec_child_ended(c.pid) || spec_file_size(file_of(i)) > (off_t)strlen(bytes));
    kill(c.pid, SIGTERM);
    spec_child_listen(&c, NULL);
    char *more = spec_file_bytes(file_of(i));
    if ((c.code != 143 && c.code != 0) || strncmp(more, bytes, kept) != 0)
        complain("%s: %d: %s", arguments, c.code, c.line);
    free(more);
    spec_child_free(&c);
}

static void check_kept(size_t i, const spec_child *c)
{
    char *bytes = spec_file_bytes(file_of(i));
    switch (verbs[i].keeps) {
    case NOTHING:
    case VERDICT: break;
    case TEXT: assert_true(strlen(bytes) > 1000); break;
    case ROWS: assert_true(bytes[0] != '\0' && bytes[strlen(bytes) - 1] == '\n'); break;
    case RESUMES:
        if (strstr(bytes, "\n# interrupted after ") == NULL)
            complain("%s: the file does not say where it was interrupted: %s", verbs[i].run,
                     c->line);
        check_resumes(i, bytes);
        break;
    case STATE: {
        spec_child again;
        long first = 0, then = 0;
        assert_int_equal(
            sscanf(strstr(c->line, "interrupted after "), "interrupted after %ld", &first), 1);
        start_run(&again, i, " --resume");
        kill(again.pid, SIGTERM);
        spec_child_listen(&again, NULL);
        assert_int_equal(
            sscanf(strstr(again.line, "interrupted after "), "interrupted after %ld", &then), 1);
        assert_true(first > 0 && then > first);
        spec_child_free(&again);
    }
    }
    free(bytes);
}

/* ---- signals --------------------------------------------------------------------------------- */

TEST(the_table_has_every_verb)
{
    spec_needs_program();
    char *help = spec_program_text("--help");
    int n = 0;
    for (const char *line = help; (line = strstr(line, "\n  ")) != NULL; line += 3) {
        bool known = line[3] == '$' || line[3] == ' ' ||
                     strncmp(line + 3, "served ", 7) == 0 || /* in tests/tools/live */
                     strncmp(line + 3, "drive ", 6) == 0;    /* in tests/tools/live */
        for (size_t i = 0; i < N_VERBS && !known; i++) {
            const size_t length = strlen(name_of(i));
            known = strncmp(line + 3, name_of(i), length) == 0 && line[3 + length] == ' ';
            n += known;
        }
        if (!known) complain("%.12s is not in the table", line + 3);
    }
    assert_int_equal(n, 24);
    free(help);
    no_complaints();
}

static void check_signal(int number)
{
    spec_needs_program();
    write_large_models();
    for (size_t i = 0; i < N_VERBS; i++) {
        spec_child c;
        start_run(&c, i, "");
        signal_run(&c, i, number);
        const int code = verbs[i].keeps == VERDICT ? 0 : 128 + number;
        if (c.code != code) complain("%s: exit code %d: %s", verbs[i].run, c.code, c.line);
        if (code != 0 && (c.n_line == 0 || c.line[c.n_line - 1] != '\n'))
            complain("%s: no line: '%s'", verbs[i].run, c.line);
        check_kept(i, &c);
        spec_child_free(&c);
        const int files = remove_files(verbs[i].run, ".partial");
        if ((files == 0) != (verbs[i].keeps == NOTHING))
            complain("%s: %d files are left", verbs[i].run, files);
    }
    no_complaints();
}

TEST(ctrl_c_ends_every_verb_and_keeps_what_is_finished, SLOW)
{
    check_signal(SIGINT);
}

TEST(sigterm_ends_every_verb_and_keeps_what_is_finished, SLOW)
{
    check_signal(SIGTERM);
}

TEST(sighup_ends_every_verb_and_keeps_what_is_finished, SLOW)
{
    check_signal(SIGHUP);
}

/* The verdict over all fixtures may take longer than the two seconds that other verbs have. Here
 * the process sleeps through them. */
TEST(a_watch_of_all_fixtures_ends_with_its_verdict, SLOW)
{
    spec_child c;
    spec_needs_program();
    spec_child_start(&c, NULL, NULL, "validate rule:block --watch --threads 1 -o w.txt");
    spec_await(spec_child_ended(c.pid) || spec_child_seconds(c.pid) > 3.0);
    kill(c.pid, SIGINT);
    usleep(20000); /* it has seen the signal */
    kill(c.pid, SIGSTOP);
    usleep(2000000);
    kill(c.pid, SIGCONT);
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, 3); /* INCONCLUSIVE so far */
    assert_true(spec_file_size("w.txt") > 0);
    spec_child_free(&c);
    remove("w.txt");
}

/* nohup and a shell's background jobs need this. */
static void ignore_hangup(void)
{
    signal(SIGHUP, SIG_IGN);
}

TEST(a_signal_that_the_caller_ignores_is_ignored)
{
    spec_child c;
    spec_needs_program();
    spec_child_before = ignore_hangup;
    start_run(&c, 0, "");
    spec_child_before = NULL;
    assert_false(spec_child_catches(c.pid, SIGHUP));
    kill(c.pid, SIGHUP);
    kill(c.pid, SIGTERM);
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, 143);
    spec_child_free(&c);
    remove_files("predict", ".partial");
}

SUITE(.setup = set_up, .teardown = spec_program_tear_down);
