/* SPDX-License-Identifier: GPL-3.0-or-later */
/* diagnosis: what looks wrong in an engine's numbers, each with its evidence and the next command.
 * Diagnoses are entries of a table. Each one tests the advice, the evidence and what was read, and
 * writes its sentences from the numbers that it tested. */
#ifndef SPECLAB_DIAGNOSIS_H
#define SPECLAB_DIAGNOSIS_H

#include "experiments/report/say.h"
#include "tools/advise/advice.h"
#include "tools/advise/counter_differences.h"
#include "tools/advise/log_file.h"

#include <stdbool.h>

/* The role of a file: a run, a run without speculation, or a run before a change. The last two
 * serve for comparison. */
typedef enum { SPEC_SOURCE_FILE, SPEC_SOURCE_PLAIN, SPEC_SOURCE_BEFORE } spec_source_part;

/* A file, and the summary of reading it. */
typedef struct {
    const char *path;
    spec_source_part part;
    spec_log_summary summary;
} spec_diagnosis_source;

/* The facts that diagnoses test. */
typedef struct {
    const spec_advice *advice;
    const spec_observed_sums *evidence;
    const spec_log_summary *read; /* of the first file with a format; NULL: none */
    const spec_counter_differences *counters;
    const spec_diagnosis_source *source; /* (n_sources) all files, in order */
    int n_sources;
    const char *opt_format; /* the user's name of a format or an engine; NULL: by content */
    const int *K_given;     /* (n_K_given) the user's draft lengths: one per file, or one for all */
    int n_K_given;
    const spec_advice_question *opt_question; /* NULL: one without options */
} spec_diagnosis_facts;

/* The evidence with its numbers, and what to do next. */
typedef struct {
    spec_sentences evidence, next;
} spec_diagnosis_said;

typedef struct {
    const char *name;    /* "accepted-over-drafted" */
    const char *summary; /* one line for the documents */
    /* something is really wrong (exit status 1), rather than easy to misread */
    bool wrong;
    /* Returns whether the diagnosis applies; adds to the empty texts. */
    bool (*applies)(spec_diagnosis_said *said, const spec_diagnosis_facts *facts);
} spec_diagnosis;

/* Ends with a NULL name; first those that say something is wrong. */
extern const spec_diagnosis spec_diagnoses[];

/* Returns whether a diagnosis applies, and what it says. */
bool spec_diagnosis_applies(spec_diagnosis_said *ret, const spec_diagnosis *diagnosis,
                            const spec_diagnosis_facts *facts);

/* Sums of the evidence over runs with drafts. */
typedef struct {
    double rounds, drafted, accepted;
    int depths;                            /* entries of the following arrays */
    double tested[SPEC_OBSERVED_DEPTHS];   /* upper bound on the rounds that drafted depth i + 1 */
    double short_of[SPEC_OBSERVED_DEPTHS]; /* upper bound on those of these rounds whose draft was
                                              shorter than K */
    double passed[SPEC_OBSERVED_DEPTHS];   /* rounds that accepted depth i + 1 */
} spec_diagnosis_counts;

/* Returns the sums over the runs of K; over all runs for -1. */
spec_diagnosis_counts spec_diagnosis_counts_of(const spec_diagnosis_facts *facts, int K);

#endif
