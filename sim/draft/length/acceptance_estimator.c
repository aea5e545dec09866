/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/length/acceptance_estimator.h"

#include <assert.h>
#include <math.h>

static const double ridge = 1e-3, damping = 50.0;

void spec_acceptance_estimator_init(spec_acceptance_estimator *estimator, int places)
{
    assert(places >= 1 && places <= SPEC_ESTIMATOR_PLACES);
    *estimator = (spec_acceptance_estimator){.places = places, .weight = 0.5};
    for (int k = 0; k < places; k++) estimator->bias[k] = -0.2;
}

double spec_acceptance_estimator_chance(const spec_acceptance_estimator *estimator, double feature,
                                        int place)
{
    return 1.0 / (1.0 + exp(-(estimator->weight * feature + estimator->bias[place])));
}

void spec_acceptance_estimator_see(spec_acceptance_estimator *estimator, double feature, int place,
                                   bool accepted)
{
    const double chance = spec_acceptance_estimator_chance(estimator, feature, place);
    const double spread = chance * (1.0 - chance), score = (double)accepted - chance;
    estimator->weight_weight += spread * feature * feature;
    estimator->weight_score += score * feature;
    estimator->weight_bias[place] += spread * feature;
    estimator->bias_bias[place] += spread;
    estimator->bias_score[place] += score;
    estimator->n[place] += 1.0;
}

void spec_acceptance_estimator_add(spec_acceptance_estimator *estimator, double feature,
                                   int verified, int n_accepted)
{
    for (int k = 0; k <= n_accepted && k < verified; k++)
        spec_acceptance_estimator_see(estimator, feature, k, k < n_accepted);
}

void spec_acceptance_estimator_fit(spec_acceptance_estimator *estimator)
{
    /* The biases are eliminated first, which is easy because their block is diagonal. */
    double matrix = estimator->weight_weight + ridge, score = estimator->weight_score, n = 0.0;
    for (int k = 0; k < estimator->places; k++) {
        const double share = estimator->weight_bias[k] / (estimator->bias_bias[k] + ridge);
        matrix -= share * estimator->weight_bias[k];
        score -= share * estimator->bias_score[k];
        n += estimator->n[k];
    }
    double step = score / matrix * (n / (n + damping));
    if (estimator->weight + step < 0.0) step = 0.0;
    estimator->weight += step;
    for (int k = 0; k < estimator->places; k++) {
        const double n_k = estimator->n[k];
        estimator->bias[k] += (estimator->bias_score[k] - estimator->weight_bias[k] * step) /
                              (estimator->bias_bias[k] + ridge) * (n_k / (n_k + damping));
        estimator->weight_bias[k] = estimator->bias_bias[k] = 0.0;
        estimator->bias_score[k] = estimator->n[k] = 0.0;
    }
    estimator->weight_weight = estimator->weight_score = 0.0;
}
