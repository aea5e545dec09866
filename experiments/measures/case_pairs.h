/* SPDX-License-Identifier: GPL-3.0-or-later */
/* case_pairs: the random pairs of models of a point, and the decoder that runs on each.
 * The models have kind `cases`, with seeds 1 to `cases` of one family, or of each family in turn.
 * Parameters: V, order, family, end, cases, drafting, policy, K, prompt. The point owns the
 * texts. */
#ifndef SPECLAB_CASE_PAIRS_H
#define SPECLAB_CASE_PAIRS_H

#include "experiments/measures/measure.h"
#include "sim/output_law.h"

enum { SPEC_CASE_PROMPT_MAX = 64 };

typedef struct {
    spec_decoder_config config; /* the decoder, without the models and the rule */
    int vocab, order, end, cases;
    const char *family; /* NULL: every family, in turn */
    int n;              /* number of pairs */
    /* tokens that each text begins with; none at first */
    int prompt[SPEC_CASE_PROMPT_MAX], n_prompt;
    uint64_t limit;
    const volatile int *opt_stop;
} spec_case_pairs;

int spec_case_pairs_init(spec_case_pairs *ret, const spec_point *point, const spec_measure *measure,
                         spec_error *error);

/* Reads the parameter `prompt`, whose tokens are written as 0/1/0. */
int spec_case_pairs_prompt(spec_case_pairs *pairs, const spec_point *point,
                           const spec_measure *measure, spec_error *error);

/* Returns the family and the seed of pair i = 0..n-1. */
const char *spec_case_pairs_family(const spec_case_pairs *pairs, int i);
int spec_case_pairs_seed(const spec_case_pairs *pairs, int i);

/* Computes the distribution of the n_tokens that a rule emits after the prompt on pair i. Returns
 * GSL_EFAILED if the run was interrupted. Thread-safe. */
int spec_case_pairs_law(spec_output_law *ret_law, const spec_case_pairs *pairs, const char *rule,
                        int i, int n_tokens, spec_error *error);

#endif
