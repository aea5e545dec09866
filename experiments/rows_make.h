/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rows_make: writes the rows of a target and its drafts along texts into a file.
 * The texts are given, or written by the target. Each model computes the rows of many positions in
 * one pass (spec_session_score), so it runs at full speed. The file depends only on the plan. */
#ifndef SPECLAB_ROWS_MAKE_H
#define SPECLAB_ROWS_MAKE_H

#include "models/rows/rows_writer.h"

/* What to expect of a file, judged from its first positions. */
typedef struct {
    uint64_t places; /* positions, at most */
    double bytes, seconds;
} spec_rows_forecast;

typedef struct {
    const spec_model *model[SPEC_ROWS_SIDES_MAX]; /* the target first; all have one vocabulary */
    int sides;
    const int *opt_text;    /* tokens of given texts; NULL: the target writes the texts */
    /* (n_texts) end of each given text, ascending; the last is the number of tokens */
    const size_t *text_end;
    size_t n_texts;
    /* (n_prompt) the beginning of each text of the target; NULL: its own prompts, if it has any */
    const int *opt_prompt;
    size_t n_prompt;
    uint64_t places;      /* maximum positions; 0: the whole text */
    uint64_t every;       /* take every `every`-th token of a text, >= 1 */
    /* maximum tokens of a text; a longer given text is split; 0: as many as the windows hold */
    uint64_t length;
    double cutoff;        /* see spec_rows_writer_init */
    uint64_t seed;
    int *opt_kept; /* set to the number of the former file (base/new_file.h), or 0 */
    const volatile int *opt_stop;
    void (*progress)(void *self, uint64_t places, uint64_t of); /* or NULL */
    /* Called once, before the first row is written; a failure ends the run. May be NULL. */
    int (*opt_forecast)(void *self, const spec_rows_forecast *forecast, spec_error *error);
    void *self;
} spec_rows_plan;

/* Writes the file. A text of the target also ends at its end of text; its prompt has no positions.
 * Returns GSL_EINVAL if there is nothing to write or a text does not fit the window; also the
 * failures of models and writer. After a failure there is no file. */
int spec_rows_make(const char *path, const spec_rows_plan *plan, spec_error *error);

#endif
