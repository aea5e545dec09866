/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sibling_case: one round of children of the root, every decision of its rule forced by a script.
 * The probability of each answer was computed by hand. After an accepted leaf a token is drawn from
 * the target. */
#ifndef SPECLAB_TESTS_SIBLING_CASE_H
#define SPECLAB_TESTS_SIBLING_CASE_H

#include "tests/support/rule_case.h"
#include "tests/support/support.h"

/* Children of the root, `chosen` of them without chance, the rest drawn; one answer per decision,
 * each with its probability. */
typedef struct {
    const char *rule;
    spec_siblings siblings;
    const double *target, *row;
    int vocab, n, chosen;
    int token[4];
    int n_answers, answer[6];
    double asked[6];
    int accepted, emitted; /* n_accepted, and the first token */
} sibling_case;

void sibling_cases_check(const sibling_case *cases, size_t n);
#define SIBLING_CASES_CHECK(cases) sibling_cases_check(cases, sizeof(cases) / sizeof *(cases))

#endif
