/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

const spec_measure *const spec_measures[] = {
    &spec_measure_acceptance,     &spec_measure_predict,
    &spec_measure_decode,         &spec_measure_lengths,
    &spec_measure_overlap,        &spec_measure_lossless,
    &spec_measure_uniformity,     &spec_measure_prove,
    &spec_measure_accept,         &spec_measure_folklore,
    &spec_measure_four_alphas,    &spec_measure_implied_cost,
    &spec_measure_implied_alpha,  &spec_measure_finite_length,
    &spec_measure_extrapolation,  &spec_measure_roofline,
    &spec_measure_distribution,   &spec_measure_prove_cases,
    &spec_measure_plan,           &spec_measure_dominance,
    &spec_measure_quoted_optimum, &spec_measure_betas,
    &spec_measure_block_draft,    &spec_measure_ahead,
    &spec_measure_decode_ahead,   &spec_measure_train,
    &spec_measure_online,         &spec_measure_serve,
    &spec_measure_serve_claims,   &spec_measure_serve_coverage,
    &spec_measure_serve_measured, &spec_measure_serve_published,
    &spec_measure_break_even,     &spec_measure_advice,
    &spec_measure_advice_choice,  &spec_measure_advice_halves,
    &spec_measure_advice_sweep,   NULL,
};
