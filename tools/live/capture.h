/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture: writes texts and their scores as a trace that `speclab validate --trace` reads.
 * docs/conformance.md#traces specifies the format. A text is written as a whole, so a file whose
 * writer was killed lacks at most the end of its last text. */
#ifndef SPECLAB_CAPTURE_H
#define SPECLAB_CAPTURE_H

#include "tools/live/collect.h"
#include "tools/live/drawn_law.h"

typedef struct {
    FILE *file;
    const char *name; /* for messages */
    spec_drawn_rule rule;
    double noise;    /* of the scorer; the rule's noise follows from it */
    char engine[64]; /* a word for the settings; a resumed run must have the same one */
    int vocab, top;
    double *chance; /* (SPEC_LIVE_TOP) */
} spec_capture;

/* Sets the noise, which decides how far a filter's edge must be from any token. */
void spec_capture_set_noise(spec_capture *capture, double noise);

/* Writes the head of a new file. */
int spec_capture_begin(spec_capture *capture, spec_error *error);

/* Reads a file of an earlier run: done (texts) marks the texts it has; the last one is cut off if
 * it is incomplete. Also reads the recorded noise. Returns GSL_EINVAL if the file was written with
 * other settings. */
int spec_capture_resume(spec_capture *capture, bool *done, int texts, spec_error *error);

/* Writes a text. */
int spec_capture_text(spec_capture *capture, const spec_served_text *text, spec_error *error);

#endif
