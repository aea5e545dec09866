/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plan_question: the inputs of the measure `plan`: probabilities by rank, costs, a pair of models.
 * The probabilities are given, read from a file of accuracies, or computed from the pair. Must be
 * freed after init, even after a failure. Lists are texts such as "8,16,32". */
#ifndef SPECLAB_PLAN_QUESTION_H
#define SPECLAB_PLAN_QUESTION_H

#include "experiments/measures/measures.h"
#include "experiments/measures/tree_choice.h"

typedef struct {
    spec_branch_chances chances;
    /* owned; accept: the probabilities; verify (nodes+1): time to verify m draft tokens */
    double *accept, *verify;
    double c;
    int nodes;                  /* the largest budget */
    spec_siblings siblings;
    spec_decoder_config config; /* the pair and its rule; target NULL: no pair */
    bool exact;                 /* the probabilities are exact, in closed form */
    /* owned: the target's row (V), if they are exact and the nodes are chosen; else NULL */
    double *row;
} spec_plan_question;

/* Reads the parameters siblings, methods, nodes, c, costs, and one of accept, accuracies and
 * target. If a pair has no closed form, its probabilities are measured. Errors begin with the name
 * of the parameter at fault. */
int spec_plan_question_init(spec_plan_question *question, const spec_point *point,
                            const spec_measure *measure, spec_error *error);
void spec_plan_question_free(spec_plan_question *question);

enum { SPEC_PLAN_METHOD_SIZE = 32 }; /* size of a method's name; longer ones are unknown */

/* Copies the next word of a list into word (size), truncated if longer, and moves past its comma;
 * returns false at the end. */
bool spec_plan_next_word(char *word, size_t size, const char **list);

#endif
