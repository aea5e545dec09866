/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rule_law: the exact law of a rule's first tokens on a pair of table models.
 * Enumerated through the whole decoding loop, with the fixed policy and no prompt. A case that
 * cannot be enumerated fails the test. The caller frees the law. */
#ifndef SPECLAB_TESTS_RULE_LAW_H
#define SPECLAB_TESTS_RULE_LAW_H

#include "sim/output_law.h"
#include "tests/support/table_model.h"

spec_output_law rule_law(const table_model *target, const table_model *draft, const char *rule,
                         const char *drafting, int K, int n_tokens);

/* Returns the probability that the strategy ("chain" or "greedy") drafts token x after a context,
 * by another route than the rule's: the draft's row, or one-hot at its argmax. */
double rule_law_drafted(const table_model *draft, const char *drafting, const int *context,
                        size_t n, int x);

/* Computes by formula the law that a memoryless rule emits at one position: fills ret_law (V),
 * returns the probability that the draft token is accepted. */
typedef double rule_law_formula(double *ret_law, const double *target, const double *drafted,
                                int vocab, const double *setting);

/* Checks the formula on random pairs of every family, with sampled and chosen drafts of K = 1..3.
 * It checks the law of one token and the tokens kept at K = 1. The law of two tokens is a product
 * of two positions as long as both are drafted. Returns the largest total variation. */
double rule_law_check(const char *rule, rule_law_formula *formula, const double *setting,
                      int pairs_a_family, double tolerance, uint64_t *noise);

/* Makes a pair whose models give every context the same rows (V). */
void rule_law_pair(table_model *ret_target, table_model *ret_draft, const double *target,
                   const double *draft, int vocab);

#endif
