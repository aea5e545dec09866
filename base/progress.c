/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/progress.h"

#include "base/clock.h"
#include "base/escape.h"
#include "base/terminal.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST 1.0 /* seconds until the first line */
enum { INTERVAL_NS = 200000000 /* between two lines */, BAR = 30 };

/* ---- text ------------------------------------------------------------------------------------ */

const char *spec_progress_count(char text[SPEC_PROGRESS_COUNT], double count)
{
    static const char *const suffix[] = {"", "k", "M", "G", "T"};
    int i = 0;
    if (count < 9999.5) {
        snprintf(text, SPEC_PROGRESS_COUNT, "%.0f", floor(count));
        return text;
    }
    for (; count >= 999.5 && i < 4; i++) count /= 1000.0;
    if (count < 999.5)
        snprintf(text, SPEC_PROGRESS_COUNT, "%.*f%s",
                 count < 9.995   ? 2
                 : count < 99.95 ? 1
                                 : 0,
                 count, suffix[i]);
    else snprintf(text, SPEC_PROGRESS_COUNT, "%.3g", count * 1e12);
    return text;
}

static size_t add_bar(char *line, double share)
{
    const int full = (int)(BAR * fmin(fmax(share, 0.0), 1.0));
    size_t n = 0;
    line[n++] = '[';
    for (int i = 0; i < BAR; i++) line[n++] = i < full ? '#' : '.';
    line[n++] = ']';
    line[n] = '\0';
    return n;
}

/* Writes counts and rate if there is a unit, and a bar and the time left if there is a total. */
static void write_known(char line[SPEC_PROGRESS_SIZE], const spec_progress_state *state,
                        double elapsed)
{
    char done[SPEC_PROGRESS_COUNT], total[SPEC_PROGRESS_COUNT], time[SPEC_CLOCK_TEXT];
    const double rate = elapsed > 0.0 ? (state->done - state->begun) / elapsed : 0.0;
    const bool bounded = state->total > 0.0;
    size_t n = bounded ? add_bar(line, state->done / state->total) : 0;
    const char *between = n > 0 ? " " : "";
    if (state->opt_unit != NULL) {
        n += (size_t)snprintf(line + n, SPEC_PROGRESS_SIZE - n, "%s%s", between,
                              spec_progress_count(done, state->done));
        if (bounded)
            n += (size_t)snprintf(line + n, SPEC_PROGRESS_SIZE - n, " of %s",
                                  spec_progress_count(total, state->total));
        n += (size_t)snprintf(line + n, SPEC_PROGRESS_SIZE - n, " %s", state->opt_unit);
        if (rate >= 9999.5)
            n += (size_t)snprintf(line + n, SPEC_PROGRESS_SIZE - n, ", %s/s",
                                  spec_progress_count(done, rate));
        else if (rate > 0.0)
            n += (size_t)snprintf(line + n, SPEC_PROGRESS_SIZE - n, ", %.3g/s", rate);
        between = ", ";
    }
    if (bounded && rate > 0.0)
        n += (size_t)snprintf(line + n, SPEC_PROGRESS_SIZE - n, "%s%s left", between,
                              spec_clock_text(time, fmax(state->total - state->done, 0.0) / rate));
    if (!bounded)
        n += (size_t)snprintf(line + n, SPEC_PROGRESS_SIZE - n, "%s%s", between,
                              spec_clock_text(time, elapsed));
    if (state->note[0] != '\0') snprintf(line + n, SPEC_PROGRESS_SIZE - n, "; %s", state->note);
}

void spec_progress_text(char line[SPEC_PROGRESS_SIZE], const spec_progress_state *state,
                        double elapsed, int columns)
{
    char time[SPEC_CLOCK_TEXT];
    const bool known = state->done > 0.0 || (state->done == 0.0 && state->opt_unit != NULL);
    if (known) write_known(line, state, elapsed);
    else if (state->opt_phase != NULL)
        snprintf(line, SPEC_PROGRESS_SIZE, "%s: %s, %s", state->verb, state->opt_phase,
                 spec_clock_text(time, elapsed));
    else snprintf(line, SPEC_PROGRESS_SIZE, "%s: %s", state->verb, spec_clock_text(time, elapsed));
    if (columns > 0 && columns < SPEC_PROGRESS_SIZE) line[columns] = '\0';
}

/* ---- the line -------------------------------------------------------------------------------- */

/* The state of the only progress line of the terminal. */
static struct {
    pthread_mutex_t lock; /* guards the rest */
    spec_progress_state state;
    double began, since;  /* wall clock when the work began, and when reports in this unit began */
    bool on;              /* standard error is a terminal, and the thread runs */
    bool drawn, hidden;   /* a line is on the screen; none may appear until the next report */
    int columns;          /* the width, 0: ask the terminal */
    pid_t owner;          /* forked children do not draw */
} terminal = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double now(void)
{
    const spec_clock wall = spec_clock_wall();
    return spec_clock_read(&wall);
}

static void draw(void)
{
    char line[SPEC_PROGRESS_SIZE];
    const double at = now();
    if (terminal.hidden || at - terminal.began < FIRST) return;
    spec_progress_text(line, &terminal.state, at - terminal.since,
                       spec_terminal_columns(STDERR_FILENO, terminal.columns) - 1);
    spec_escape_in_place(line);
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    terminal.drawn = true;
}

static void *redraw(void *self)
{
    const struct timespec interval = {.tv_nsec = INTERVAL_NS};
    (void)self;
    for (;;) {
        nanosleep(&interval, NULL);
        pthread_mutex_lock(&terminal.lock);
        draw();
        pthread_mutex_unlock(&terminal.lock);
    }
    return NULL;
}

/* Returns whether this process draws the line. */
static bool shows(void)
{
    return terminal.on && getpid() == terminal.owner;
}

void spec_progress_begin(const char *verb, int columns)
{
    sigset_t all, before;
    pthread_t thread;
    if (terminal.on || !isatty(STDERR_FILENO)) return;
    terminal.state = (spec_progress_state){.verb = verb, .done = -1.0};
    terminal.began = terminal.since = now();
    terminal.columns = columns;
    terminal.owner = getpid();
    /* The main thread handles all signals, because they interrupt its waits. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    terminal.on = pthread_create(&thread, NULL, redraw, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!terminal.on) return;
    pthread_detach(thread);
    atexit(spec_progress_clear);
}

void spec_progress_phase(const char *opt_phase)
{
    if (!shows()) return;
    pthread_mutex_lock(&terminal.lock);
    terminal.state.opt_phase = opt_phase;
    terminal.state.done = -1.0;
    terminal.since = now();
    terminal.hidden = false;
    pthread_mutex_unlock(&terminal.lock);
}

void spec_progress_report(double done, double total, const char *opt_unit, const char *opt_note)
{
    if (!shows()) return;
    pthread_mutex_lock(&terminal.lock);
    spec_progress_state *state = &terminal.state;
    if (state->done < 0.0 || done < state->done || state->opt_unit != opt_unit) {
        state->begun = done;
        terminal.since = now();
    }
    state->done = done;
    state->total = total;
    state->opt_unit = opt_unit;
    snprintf(state->note, sizeof state->note, "%s", opt_note != NULL ? opt_note : "");
    terminal.hidden = false;
    pthread_mutex_unlock(&terminal.lock);
}

double spec_progress_elapsed(void)
{
    return shows() ? now() - terminal.began : 0.0;
}

void spec_progress_clear(void)
{
    if (!shows()) return;
    pthread_mutex_lock(&terminal.lock);
    if (terminal.drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    terminal.drawn = false;
    terminal.hidden = true;
    pthread_mutex_unlock(&terminal.lock);
}
