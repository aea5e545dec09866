/* measures: every measure by name, and what several of them share: a point's models, its simulation, and verdicts. A
 * measure_<name>.c defines one spec_measure; measure.c lists them. Nobody else needs this header. Models belong to the
 * point's cache. */
#ifndef SPECLAB_MEASURES_H
#define SPECLAB_MEASURES_H

#include "experiments/measures/measure.h"
#include "sim/sources.h"

extern const spec_measure spec_measure_accept, spec_measure_acceptance, spec_measure_ahead, spec_measure_betas,
    spec_measure_decode, spec_measure_decode_ahead, spec_measure_dominance,
    spec_measure_finite_length, spec_measure_folklore, spec_measure_four_alphas, spec_measure_implied_alpha,
    spec_measure_implied_cost, spec_measure_law, spec_measure_lossless, spec_measure_overlap, spec_measure_plan,
    spec_measure_predict, spec_measure_prove, spec_measure_prove_cases, spec_measure_quoted_optimum,
    spec_measure_roofline, spec_measure_uniformity;

/* A failure's line, with the parameter that is at fault before it: "target: ...". Returns the status; success is left
 * alone. */
int spec_point_blame(int status, const char *parameter, spec_error *error);

/* ---- simulation -------------------------------------------------------------------------------------------------- */

/* Run a source as the point's rounds and standard error say: the tally, tokens per round, tokens per unit of virtual
 * time; rounds that found their chain drafted ahead. */
int spec_point_simulate(spec_tally *ret_tally, spec_estimate *ret_emitted, spec_estimate *opt_rate,
                        spec_estimate *opt_hit, const spec_point *point, const spec_round_source *source,
                        spec_error *error);

/* alpha, K and c of a point, where iid acceptance is simulated with them. */
typedef struct {
    double alpha, c;
    int K;
    spec_tally tally;
    spec_estimate emitted;
} spec_iid_run;
int spec_point_simulate_iid(spec_iid_run *ret, const spec_point *point, const spec_measure *measure, spec_error *error);

/* ops_ratio of a point: its own, or c where it has none. */
int spec_point_ops_ratio(double *ret, const spec_point *point, const spec_measure *measure, double c,
                         spec_error *error);

/* ---- models ------------------------------------------------------------------------------------------------------ */

/* The decoder that a point's target, draft, drafting, policy, rule, K and c describe. drafting, policy, K and c are
 * left at their defaults where the measure has no such parameter. Both models have one vocabulary, or the failure says
 * how they differ. */
int spec_point_decoder(spec_decoder_config *ret, const spec_point *point, const spec_measure *measure,
                       spec_error *error);

/* Are there such a rule and such a policy, and, once the models are open, such a strategy with such a draft? Said
 * before any work is done. */
int spec_point_check_names(const char *rule, const char *policy, int K, spec_error *error);
int spec_point_check_drafting(const char *drafting, const spec_model *opt_draft, spec_error *error);

/* Open a target, and a draft from it ("": none), of one vocabulary. */
int spec_point_pair(const spec_model **ret_target, const spec_model **ret_draft, const spec_point *point,
                    const char *target, const char *draft, spec_error *error);

/* Whether chains are drafted ahead: the point's `ahead`, 0 or 1. GSL_EINVAL where the first `tokens` of a text, of which
 * the question is, are over before a chain that was drafted ahead can be met: fewer than K + 2, K > 0. */
int spec_point_ahead(bool *ret_ahead, const spec_point *point, const spec_measure *measure, int K, int tokens,
                     spec_error *error);

/* What a rule or a policy is called whose own description says that the law is not the target's: "biased, as marked"
 * for a mistake, "biased, lossy as marked" for a rule of claim SPEC_LOSSY; NULL for all others. */
const char *spec_marked_bias(const spec_rule *rule, const char *policy);

/* "lossless", "lossless (argmax)", "NOT LOSSLESS" or the marked bias. */
const char *spec_verdict(const spec_rule *rule, const char *policy, bool differs);

#endif
