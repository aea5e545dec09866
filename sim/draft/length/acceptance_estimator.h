/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acceptance_estimator: predicts acceptance from a feature of the draft, and learns online.
 * The chance at position k is sigmoid(weight feature + bias[k]), with the same weight at all
 * positions. vLLM 0.33 does this for drafts without a confidence head. */
#ifndef SPECLAB_ACCEPTANCE_ESTIMATOR_H
#define SPECLAB_ACCEPTANCE_ESTIMATOR_H

#include <stdbool.h>
#include <stdint.h>

enum { SPEC_ESTIMATOR_PLACES = 64, SPEC_ESTIMATOR_STEPS = 100 };

typedef struct {
    int places;
    double weight, bias[SPEC_ESTIMATOR_PLACES];
    /* Sums since the last fit, with p the chance and r = [accepted] - p at each observed position:
     * the arrowhead matrix of p (1 - p) (feature, e_k)^T (feature, e_k), and the score. */
    double weight_weight, weight_score;
    double weight_bias[SPEC_ESTIMATOR_PLACES], bias_bias[SPEC_ESTIMATOR_PLACES];
    double bias_score[SPEC_ESTIMATOR_PLACES], n[SPEC_ESTIMATOR_PLACES];
} spec_acceptance_estimator;

/* Begins with weight 0.5 and biases -0.2, as vLLM does. 1 <= places <= SPEC_ESTIMATOR_PLACES. */
void spec_acceptance_estimator_init(spec_acceptance_estimator *estimator, int places);

double spec_acceptance_estimator_chance(const spec_acceptance_estimator *estimator, double feature,
                                        int place);

/* Adds a tested position: its feature, and whether its token was accepted. */
void spec_acceptance_estimator_see(spec_acceptance_estimator *estimator, double feature, int place,
                                   bool accepted);

/* Adds a round that verified `verified` draft tokens of one feature and accepted n_accepted:
 * positions 0 .. n_accepted below `verified` are observed. */
void spec_acceptance_estimator_add(spec_acceptance_estimator *estimator, double feature,
                                   int verified, int n_accepted);

/* Makes one Newton step on the logistic likelihood, with 0.001 added to the diagonal of its matrix.
 * The step of the weight is damped by N / (N + 50), where N counts all positions. The step of bias
 * k allows for the damped weight, and is damped by n_k / (n_k + 50). If the weight would become
 * negative, it stays as it is. Resets the sums. */
void spec_acceptance_estimator_fit(spec_acceptance_estimator *estimator);

#endif
