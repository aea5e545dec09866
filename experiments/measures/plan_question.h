/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plan_question: the inputs of the measure `plan`: chances by rank, costs, and a pair of models.
 * The chances are given, read from a file of accuracies, or taken from the pair. Free it after
 * init, even after a failure. Lists are texts, "8,16,32". */
#ifndef SPECLAB_PLAN_QUESTION_H
#define SPECLAB_PLAN_QUESTION_H

#include "experiments/measures/measures.h"
#include "experiments/measures/tree_choice.h"

typedef struct {
    spec_branch_chances chances;
    double *accept, *verify;    /* owned: the chances; (nodes+1) time to verify m draft tokens */
    double c;
    int nodes;                  /* the largest budget */
    spec_siblings siblings;
    spec_decoder_config config; /* the pair and its rule; target NULL: no pair */
    bool exact;                 /* the chances are exact, in closed form */
} spec_plan_question;

/* Reads the parameters siblings, methods, nodes, c, costs, and one of accept, accuracies and
 * target. The chances of a pair without a closed form are measured. Errors begin with the wrong
 * parameter. */
int spec_plan_question_init(spec_plan_question *question, const spec_point *point,
                            const spec_measure *measure, spec_error *error);
void spec_plan_question_free(spec_plan_question *question);

enum { SPEC_PLAN_METHOD_SIZE = 32 }; /* size of a method's name; longer ones are unknown */

/* Copies the next word of a list into word (size), truncated if longer, and moves past its comma;
 * returns false at the end. */
bool spec_plan_next_word(char *word, size_t size, const char **list);

#endif
