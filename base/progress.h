/* SPDX-License-Identifier: GPL-3.0-or-later */
/* progress: shows on a terminal how much work is done, how fast it goes, and the time left.
 * Standard error has only one such line, so this module keeps one state per process; a thread
 * redraws the line. If standard error is not a terminal, every call returns at once. Any thread may
 * call. */
#ifndef SPECLAB_PROGRESS_H
#define SPECLAB_PROGRESS_H

/* Starts the clock for "speclab VERB". The line appears after a second, and shows only the elapsed
 * time until the first report. `columns` > 0 overrides the terminal's width. */
void spec_progress_begin(const char *verb, int columns);

/* Names the phase before the first report, such as "loading the models" (a literal); NULL ends the
 * phase. Its time counts from this call. */
void spec_progress_phase(const char *opt_phase);

/* Reports that `done` of `total` are finished; total <= 0: unknown. `opt_unit` (a plural such as
 * "points", a literal) adds counts and a rate; without it the line shows the share. `opt_note` is
 * copied to the end of the line. */
void spec_progress_report(double done, double total, const char *opt_unit, const char *opt_note);

/* Erases the line before other output to the terminal; the next report shows it again. */
void spec_progress_clear(void);

/* Returns the seconds since _begin; 0 if no line is shown. */
double spec_progress_elapsed(void);

/* Writes the line for `elapsed` seconds of work, without escape sequences, truncated to `columns`.
 * `begun` is what was done at the first report: rows kept from an earlier run do not count towards
 * the rate. */
enum { SPEC_PROGRESS_SIZE = 512, SPEC_PROGRESS_NOTE = 128 };
typedef struct {
    const char *verb, *opt_phase, *opt_unit; /* see _phase and _report */
    double done, total, begun;
    char note[SPEC_PROGRESS_NOTE];
} spec_progress_state;
void spec_progress_text(char line[SPEC_PROGRESS_SIZE], const spec_progress_state *state,
                        double elapsed, int columns);

/* Writes a count to three digits: "950", "12.3k", "4.56M". */
enum { SPEC_PROGRESS_COUNT = 24 };
const char *spec_progress_count(char text[SPEC_PROGRESS_COUNT], double count);

#endif
