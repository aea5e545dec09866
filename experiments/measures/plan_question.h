/* plan_question: what a point of the measure `plan` asks for: chances by rank, costs, and a pair of models to simulate
 * with, or none. The chances are given, read from a file of accuracies, or those of the pair. Init it; free it, also
 * after a failure. Lists are texts, "8,16,32". */
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
    spec_decoder_config config; /* the pair, with its rule; target NULL: no pair */
    bool exact;                 /* the chances are those of every place, in closed form */
} spec_plan_question;

/* Read the parameters siblings, nodes, c, verify, and one of accept, accuracies and target. The errors begin with the
 * parameter that is at fault. With a pair that has no closed form, its chances are measured. */
int spec_plan_question_init(spec_plan_question *question, const spec_point *point, const spec_measure *measure,
                            spec_error *error);
void spec_plan_question_free(spec_plan_question *question);

/* Cut the next word of a list, the beginning of a longer one, into word (size), and go behind its comma; false at the
 * end. */
bool spec_plan_next_word(char *word, size_t size, const char **list);

#endif
