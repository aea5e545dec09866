/* SPDX-License-Identifier: GPL-3.0-or-later */
/* served_run: the state of a running judgement, private to served*.c.
 * served.c opens the servers and judges scored texts; served_pairs.c compares texts of both servers
 * with each other. */
#ifndef SPECLAB_SERVED_RUN_H
#define SPECLAB_SERVED_RUN_H

#include "tools/live/capture.h"
#include "tools/live/local_scorer.h"
#include "tools/live/served.h"

/* A margin of up to TIES times the noise is a tie, or of up to OWN_TIES times if the scorer's own
 * texts have such margins. POWER: the chance with which a detectable difference shows. */
#define SPEC_SERVED_TIES 3.0
#define SPEC_SERVED_OWN_TIES 10.0
#define SPEC_SERVED_POWER 0.9

typedef struct {
    const spec_served_plan *plan;
    spec_served_result *result;
    spec_collect_plan collect;
    spec_local_scorer local;
    json_t *line; /* the prompts, as objects */
    spec_live_tokens *prompt;
    int n_prompts;
    spec_served_text *kept; /* (n_kept) texts to score again */
    int n_kept;
    spec_capture capture;
    spec_greedy_texts *greedy; /* counts the texts; NULL: they are captured */
    spec_live_tokens *drawn;   /* (texts) receives texts without scores */
    const char *what;
    int done, due; /* for the progress: texts so far; due: of how many, when comparing pairs */
} spec_served_run;

/* Compares texts that both servers draw with the same seeds. If some differ, the plain server draws
 * its own again, with another number of lanes: small differences that occur there are ties. */
int spec_served_judge_equal(spec_served_run *run, spec_error *error);

/* Tests whether the texts that both servers draw, with different seeds, have one distribution. */
int spec_served_judge_samples(spec_served_run *run, spec_error *error);

#endif
