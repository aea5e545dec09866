/* rows_make: a file of rows of a target and its drafts, along a given text or along texts of the target's own.
 * Rows of many places come from one pass of each model (spec_session_score), so a model works here as fast as it can.
 * What is written depends on the plan alone. */
#ifndef SPECLAB_ROWS_MAKE_H
#define SPECLAB_ROWS_MAKE_H

#include "models/rows/rows_writer.h"

typedef struct {
    const spec_model *model[SPEC_ROWS_SIDES_MAX]; /* the target first, of one vocabulary */
    int sides;
    const int *opt_text;    /* tokens of the vocabulary; NULL: the target writes its own */
    const size_t *text_end; /* (n_texts) where each of these texts ends, rising; the last: how many tokens there are */
    size_t n_texts;
    const int *opt_prompt;  /* (n_prompt) what the target's texts begin with; NULL: its own prompts, or nothing */
    size_t n_prompt;
    uint64_t places;      /* at most so many; 0: all of the text */
    uint64_t every;       /* a place at each `every`th token of a text, >= 1 */
    uint64_t length;      /* tokens after which a text ends, and a given one goes on as another; 0: as many as the
                             models' windows hold */
    double cutoff;        /* see spec_rows_writer_init */
    uint64_t seed;
    const volatile int *opt_stop;
    void (*progress)(void *self, uint64_t places, uint64_t of); /* or NULL */
    void *self;
} spec_rows_plan;

/* Write the file. A text of the target's own ends with its end of text, too; its prompt has no places. GSL_EINVAL where
 * there is nothing to write, or a text does not fit the window; else what models and writer say. No file is left of
 * what fails. */
int spec_rows_make(const char *path, const spec_rows_plan *plan, spec_error *error);

#endif
