/* SPDX-License-Identifier: GPL-3.0-or-later */
/* asked_advice: a question with its files, and everything that its answer is written from.
 * The program, the library and the experiments all ask through this. The caller owns the paths;
 * this owns what it read, and the advice. */
#ifndef SPECLAB_ASKED_ADVICE_H
#define SPECLAB_ASKED_ADVICE_H

#include "experiments/advice/advice_files.h"

typedef struct {
    spec_advice_files files;
    spec_advice *advice;
    spec_diagnosis_facts facts; /* point into the two above */
} spec_asked_advice;

/* Reads the files and answers. Returns GSL_EINVAL if a file is given twice, because its evidence
 * would count twice, and if a speed of plain decoding must be that of all requests; also the errors
 * of advice_files.h and advice.h. Must be freed even on failure. */
int spec_asked_advice_init(spec_asked_advice *asked, const spec_advice_paths *paths,
                           const spec_advice_question *question, spec_error *error);
void spec_asked_advice_free(spec_asked_advice *asked);

#endif
