/* SPDX-License-Identifier: GPL-3.0-or-later */
/* diagnosis: what looks wrong in an engine's numbers, each with its evidence and the next command.
 * Diagnoses are entries of a table; each tests the advice, the evidence and what was read, and
 * writes its sentences from the numbers that it tested. */
#ifndef SPECLAB_DIAGNOSIS_H
#define SPECLAB_DIAGNOSIS_H

#include "experiments/advice/advice.h"
#include "experiments/advice/counter_differences.h"
#include "experiments/advice/log_file.h"

#include <stdbool.h>

/* The facts that a diagnosis tests. */
typedef struct {
    const spec_advice *advice;
    const spec_observed_sums *evidence;
    const spec_log_summary *read; /* of the first file with a format */
    const spec_counter_differences *counters;
} spec_diagnosis_facts;

enum { SPEC_DIAGNOSIS_TEXT = 400 };
typedef struct {
    const char *name;    /* "accepted-over-drafted" */
    const char *summary; /* one line for the documents */
    bool wrong;          /* something is wrong (exit status 1), not only easy to misread */
    /* True if it applies; then the sentences: evidence with its numbers, then what to do next. */
    bool (*applies)(char ret_evidence[SPEC_DIAGNOSIS_TEXT], char ret_next[SPEC_DIAGNOSIS_TEXT],
                    const spec_diagnosis_facts *facts);
} spec_diagnosis;

extern const spec_diagnosis spec_diagnoses[]; /* ends with a NULL name */

#endif
