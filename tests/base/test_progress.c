/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the progress line: its text, and how a terminal shows it. SPECLAB names the program. */
#include "base/clock.h"
#include "base/progress.h"
#include "tests/support/on_terminal.h"
#include "tests/support/support.h"

#include <signal.h>
#include <string.h>

static void expect(const spec_progress_state *state, double elapsed, int columns,
                   const char *expected)
{
    char line[SPEC_PROGRESS_SIZE];
    spec_progress_text(line, state, elapsed, columns);
    assert_string_equal(line, expected);
}

TEST(the_line_tells_counts_rate_and_time_left)
{
    expect(&(spec_progress_state){.verb = "speclab plan", .done = -1.0}, 3.2, 79,
           "speclab plan: 3 s");
    expect(&(spec_progress_state){.verb = "speclab bench",
                                  .opt_phase = "loading the models",
                                  .done = -1.0},
           61.0, 79, "speclab bench: loading the models, 1 min 1 s");
    expect(&(spec_progress_state){.opt_unit = "points", .done = 12.7, .total = 40.0}, 6.35, 79,
           "[#########.....................] 12 of 40 points, 2/s, 14 s left");
    expect(&(spec_progress_state){.opt_unit = "points", .done = 12.0, .total = 40.0, .begun = 10.0},
           10.0, 79, "[#########.....................] 12 of 40 points, 0.2/s, 2 min 20 s left");
    expect(&(spec_progress_state){.opt_unit = "points", .done = 0.0, .total = 40.0}, 10.0, 79,
           "[..............................] 0 of 40 points");
    expect(&(spec_progress_state){.opt_unit = "places", .done = 123456.0}, 2.0, 79,
           "123k places, 61.7k/s, 2 s");
    expect(&(spec_progress_state){.done = 0.25, .total = 1.0}, 900.0, 79,
           "[#######.......................] 45 min 0 s left");
    expect(&(spec_progress_state){.verb = "speclab plan", .done = 0.0, .total = 1.0}, 5.0, 79,
           "speclab plan: 5 s");
    expect(
        &(spec_progress_state){
            .opt_unit = "draws", .done = 2e6, .total = 2e7, .note = "e = 12, plain-4"},
        1.0, 79, "[###...........................] 2.00M of 20.0M draws, 2.00M/s, 9 s left; e = 1");
    expect(&(spec_progress_state){.opt_unit = "draws", .done = 2e6, .total = 2e7}, 1.0, 12,
           "[###........");
}

TEST(times_and_counts_are_short)
{
    char time[SPEC_CLOCK_TEXT], count[SPEC_PROGRESS_COUNT];
    assert_string_equal(spec_clock_text(time, 59.4), "59 s");
    assert_string_equal(spec_clock_text(time, 59.6), "1 min 0 s");
    assert_string_equal(spec_clock_text(time, 3599.6), "1 h 0 min");
    assert_string_equal(spec_clock_text(time, 1e6), "11 days");
    assert_string_equal(spec_clock_text(time, 1e300), "over 100 years");
    assert_string_equal(spec_progress_count(count, 0.0), "0");
    assert_string_equal(spec_progress_count(count, 9999.0), "9999");
    assert_string_equal(spec_progress_count(count, 10000.0), "10.0k");
    assert_string_equal(spec_progress_count(count, 999499.0), "999k");
    assert_string_equal(spec_progress_count(count, 999500.0), "1.00M");
    assert_string_equal(spec_progress_count(count, 3.2e9), "3.20G");
    assert_string_equal(spec_progress_count(count, 1e18), "1e+18");
}

/* A line appears only a second after the start, which the program sleeps through. */
static void sleep_through_the_first_second(const pid_t *pid, int n)
{
    for (int i = 0; i < n; i++) {
        spec_await(spec_child_catches(pid[i], SIGINT));
        kill(pid[i], SIGSTOP);
    }
    spec_pause(1200);
}

/* Each command would take minutes. ctrl-C ends it after its line appears; the line is erased
 * first. */
TEST(every_long_verb_shows_a_line_and_erases_it)
{
    static const struct {
        const char *arguments, *shows;
    } slow[] = {
        {"sweep --alpha 0.27,0.8 --K 2 --rounds 1000000000000", " of 2 points, "},
        {"prove --tokens 6 --K 3 --rule token --drafting chain --limit 1000000000000", " left"},
        {"prove --cases 100000 --K 2 --tokens 4 --rule token", " left"},
        {"accept --target dirichlet?V=200&order=1 --draft zipf?V=200 --n 3 --contexts 10000000",
         " left"},
        {"plan --target zipf?V=300 --draft dirichlet?V=300 --positions 100000000", " left"},
        {"rows --target dirichlet?V=200&order=3 --draft zipf?V=200 -n 300000 --length 100 -o "
         "big.rows",
         " positions, "},
        {"bench --target zipf?V=300 --draft zipf?V=300&s=2 --texts 10000 --tokens 10000", " left"},
        {"validate rule:token --calibrate 100000 --only plain-4 --budget 200k", " runs, "},
        {"generate --target zipf?V=300 --draft zipf?V=300&s=2 -n 100000000 -o text.txt",
         " tokens, "},
        {"run -d out long.cfg --rounds 100000000000", " of 40 points, "},
        {"validate rule:token --budget 1G", " draws, "},
        {"validate rule:token --budget 1h", " left; "},
        {"sweep --target zipf?V=300 --alpha 0.6 --K 4 --rounds 4000000000", " left"},
    };
    enum { N_SLOW = sizeof slow / sizeof slow[0] };
    spec_terminal at[N_SLOW];
    pid_t pid[N_SLOW];
    spec_needs_program();
    for (int i = 0; i < N_SLOW; i++) {
        spec_terminal_start(&at[i], 80, NULL, slow[i].arguments);
        pid[i] = at[i].pid;
    }
    sleep_through_the_first_second(pid, N_SLOW);
    for (int i = 0; i < N_SLOW; i++) {
        spec_terminal *t = &at[i];
        kill(t->pid, SIGCONT);
        spec_terminal_await(t, slow[i].shows);
        kill(t->pid, SIGINT);
        spec_terminal_finish(t);
        if (t->code != 130) fail_msg("%s: exit code %d: %s", t->arguments, t->code, t->sent);
        if (strstr(t->screen, slow[i].shows) != NULL)
            fail_msg("%s: left on the screen: %s", t->arguments, t->screen);
        spec_terminal_free(t);
    }
}

/* The target's text comes through a pipe, which stays empty until the line has appeared. */
TEST(the_line_says_that_models_load)
{
    static const char *const verbs[] = {
        "bench --target ngram:fifo?order=6 --draft ngram:text.txt?order=1 --texts 2 --tokens 20",
        "rows --target ngram:fifo?order=6 --draft ngram:text.txt?order=1 -n 20 -o letters.rows",
    };
    spec_needs_program();
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        spec_terminal t;
        spec_terminal_start(&t, 80, NULL, verbs[i]);
        spec_terminal_await(&t, ": loading the models, ");
        spec_file_write("fifo", "the cat sat on the mat. the dog sat on the log.\n");
        spec_terminal_finish(&t);
        if (t.code != 0) fail_msg("%s: exit code %d: %s", verbs[i], t.code, t.screen);
        if (strstr(t.screen, "loading") != NULL)
            fail_msg("%s: left on the screen: %s", verbs[i], t.screen);
        spec_terminal_free(&t);
    }
}

TEST(a_pipe_sees_no_progress)
{
    spec_needs_program();
    spec_child c;
    spec_child_start(&c, NULL, NULL,
                     "sweep --target zipf?V=300 --alpha 0.6 --K 4 --rounds 100000000000 "
                     "--threads 1");
    sleep_through_the_first_second(&c.pid, 1);
    kill(c.pid, SIGCONT);
    const double before = spec_child_seconds(c.pid);
    spec_await(spec_child_seconds(c.pid) > before + 0.3); /* a line comes each 0.2 s */
    kill(c.pid, SIGINT);
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "sweep", 130, "speclab sweep: interrupted");
    spec_child_free(&c);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
