/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rule_case: one draft, the target's rows, and a rule run on them with scripted decisions.
 * Fill draft (spec_draft_append) and target, run, and check round and asked. */
#ifndef SPECLAB_TESTS_RULE_CASE_H
#define SPECLAB_TESTS_RULE_CASE_H

#include "sim/verify/verify.h"

enum { RULE_CASE_NODES = 6, RULE_CASE_VOCAB = 4, RULE_CASE_ANSWERS = 12 };

typedef struct {
    spec_draft draft;
    const double *target[RULE_CASE_NODES + 1]; /* [0]: at the root; [i+1]: after node i */
    spec_round round;
    double asked[RULE_CASE_ANSWERS]; /* the probability of each forced answer */
    spec_script script;
    int token[RULE_CASE_NODES + 1], node[RULE_CASE_NODES];
    double weight[RULE_CASE_VOCAB];
} rule_case;

void rule_case_init(rule_case *run, int vocab);
void rule_case_free(rule_case *run);

/* Rows of target and draft at three positions of a text, and of the target after it, all different.
 * Overlaps .6, .65, .71. */
extern const double rule_case_target[4][4], rule_case_draft[3][4];

/* A chain of n <= 3 tokens along that text, sampled from the draft's rows. */
rule_case rule_case_text(const int *token, int n);

/* Runs the rule; fails the test unless every answer was possible and all n were used. */
void rule_case_verify(rule_case *run, const char *rule, const int *answer, int n);

/* Fills a chain of sampled nodes: tokens, each from its row. */
void rule_case_chain(rule_case *run, const int *token, const double *const *row, int n);

#endif
