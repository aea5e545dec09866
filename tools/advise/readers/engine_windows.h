/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_windows: joins vLLM's lines of throughput with the lines of speculation that follow them.
 * Both describe the interval since the previous line. If no line of speculation follows, a line of
 * throughput is a window of plain decoding, unless it may consist of prefills. A zeroed struct has
 * seen no line. docs/advise.md. */
#ifndef SPECLAB_ENGINE_WINDOWS_H
#define SPECLAB_ENGINE_WINDOWS_H

#include "tools/advise/log_format.h"

/* The maximum number of engines told apart at a time, and of windows of each that wait for a line
 * of speculation. */
enum { SPEC_ENGINE_WINDOWS = 128, SPEC_ENGINE_WINDOWS_HELD = 16 };

/* The engine that a line is about, and the process that printed it. */
typedef struct {
    uint64_t engine;  /* hash of its number; 0: not printed */
    uint64_t process; /* hash of its id; 0: not printed, so it matches any */
} spec_engine_origin;

/* One line of throughput. */
typedef struct {
    uint64_t line;
    spec_engine_origin origin;
    double stamp;         /* seconds since any fixed time; NaN: not printed */
    double prompt;        /* tokens/s of prompts, in the interval */
    double generated;     /* tokens/s of outputs, in the interval */
    double running;       /* requests at the end of the interval */
    bool missing_allowed; /* lines of speculation may be missing after it (V0) */
} spec_engine_line;

typedef struct {
    spec_engine_line line;
    double seconds;
    double running; /* mean of both ends; NaN if the engine was idle for part of the window */
} spec_engine_window;

/* The last line of one engine, and its waiting windows. */
typedef struct {
    spec_engine_window last;
    bool waits;    /* `last` has no line of speculation so far */
    uint64_t turn; /* position of `last` among the lines of all engines */
    double gap;    /* seconds between the last two lines; 0: not known */
    int n;
    spec_engine_window held[SPEC_ENGINE_WINDOWS_HELD]; /* (n) windows without a line of speculation
                                                        * after them */
} spec_engine_lines;

typedef struct {
    spec_engine_lines engine[SPEC_ENGINE_WINDOWS]; /* (n) */
    int n;
    uint64_t turn;   /* position of the newest line */
    double interval; /* seconds between lines, once seen twice in a row; 0: not yet */
    bool speculates; /* a line of speculation was seen */
    bool mingled;    /* the lines of two processes with the same engine number alternate */
} spec_engine_windows;

/* Adds a line of throughput. Hands over plain windows once they are certain. */
int spec_engine_windows_add(spec_engine_windows *windows, const spec_engine_line *line,
                            const spec_observer *observer, spec_error *error);

/* Returns the source of a line: its engine, or, if two processes print alternately, a separate
 * source for the second one. If one process follows the other, the server was restarted. */
uint64_t spec_engine_windows_label(const spec_engine_windows *windows,
                                   const spec_engine_origin *origin);

/* Joins the counts of a line of speculation of this origin with the preceding line of throughput.
 * Sets label, seconds and running of the observation; if it is a window, also emitted tokens and
 * passes.
 *   elapsed  seconds that the line covers according to its own numbers; NaN: not known. The
 *            observation takes them if no line of throughput precedes
 * Numbers of the two lines that do not fit together stay NaN. */
int spec_engine_windows_join(spec_engine_windows *windows, spec_observation *observation,
                             double elapsed, const spec_engine_origin *origin,
                             const spec_observer *observer, spec_error *error);

/* Hands over the windows that wait. */
int spec_engine_windows_end(spec_engine_windows *windows, const spec_observer *observer,
                            spec_error *error);

#endif
