/* SPDX-License-Identifier: GPL-3.0-or-later */
/* asked_advice: a question with its files, and all that an answer is written from.
 * The program, the library and the experiments ask this way. Paths remain the caller's. Owns what
 * it read and the advice. */
#ifndef SPECLAB_ASKED_ADVICE_H
#define SPECLAB_ASKED_ADVICE_H

#include "experiments/advice/advice_files.h"

typedef struct {
    spec_advice_files files;
    spec_advice *advice;
    spec_diagnosis_facts facts; /* point into the two above */
} spec_asked_advice;

/* Read the files and answer. GSL_EINVAL for a file that is given twice: the same evidence twice
 * would halve its intervals. Also for a speed of plain decoding that must be of all requests;
 * errors of advice_files.h and advice.h. To be freed on failure, too. */
int spec_asked_advice_init(spec_asked_advice *asked, const spec_advice_paths *paths,
                           const spec_advice_question *question, spec_error *error);
void spec_asked_advice_free(spec_asked_advice *asked);

#endif
