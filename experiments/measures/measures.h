/* SPDX-License-Identifier: GPL-3.0-or-later */
/* measures: every measure by name, and what measures share: models, simulation and verdicts.
 * A measure_<name>.c defines one spec_measure. Only measures include this header. The point's cache
 * owns the models. */
#ifndef SPECLAB_MEASURES_H
#define SPECLAB_MEASURES_H

#include "experiments/measures/measure.h"
#include "sim/output_law.h"
#include "sim/serving/step_cost.h"
#include "sim/sources.h"

/* The table has this order. MEASURE(name) is spec_measure_<name>. */
#define SPEC_MEASURES(MEASURE)                                                                     \
    MEASURE(acceptance)                                                                            \
    MEASURE(predict)                                                                               \
    MEASURE(decode)                                                                                \
    MEASURE(lengths)                                                                               \
    MEASURE(overlap)                                                                               \
    MEASURE(lossless)                                                                              \
    MEASURE(prove)                                                                                 \
    MEASURE(accept)                                                                                \
    MEASURE(folklore)                                                                              \
    MEASURE(four_alphas)                                                                           \
    MEASURE(implied_cost)                                                                          \
    MEASURE(implied_alpha)                                                                         \
    MEASURE(finite_length)                                                                         \
    MEASURE(extrapolation)                                                                         \
    MEASURE(roofline)                                                                              \
    MEASURE(window_bytes)                                                                          \
    MEASURE(window_draft)                                                                          \
    MEASURE(distribution)                                                                          \
    MEASURE(prove_cases)                                                                           \
    MEASURE(plan)                                                                                  \
    MEASURE(dominance)                                                                             \
    MEASURE(quoted_optimum)                                                                        \
    MEASURE(lossy_front)                                                                           \
    MEASURE(papers)                                                                                \
    MEASURE(betas)                                                                                 \
    MEASURE(block_draft)                                                                           \
    MEASURE(ahead)                                                                                 \
    MEASURE(cascade)                                                                               \
    MEASURE(decode_ahead)                                                                          \
    MEASURE(train)                                                                                 \
    MEASURE(online)                                                                                \
    MEASURE(pair_coverage)                                                                         \
    MEASURE(serve)                                                                                 \
    MEASURE(serve_claims)                                                                          \
    MEASURE(serve_coverage)                                                                        \
    MEASURE(serve_measured)                                                                        \
    MEASURE(serve_published)                                                                       \
    MEASURE(break_even)                                                                            \
    MEASURE(advice)                                                                                \
    MEASURE(advice_choice)                                                                         \
    MEASURE(advice_sweep)
#define DECLARE(name) extern const spec_measure spec_measure_##name;
SPEC_MEASURES(DECLARE)
#undef DECLARE

/* Puts the name of the parameter at fault in front of the error line: "target: ...". Returns the
 * status; changes nothing on success. */
int spec_point_blame(int status, const char *parameter, spec_error *error);

/* ---- simulation ------------------------------------------------------------------------------ */

/* Runs the groups of a point. A measure that divides calls it once per point. Returns GSL_CONTINUE
 * if another process uses the results: the point then has no row here, and the measure must
 * return. */
int spec_point_run_groups(const spec_groups *groups, const spec_point *point, spec_error *error);

/* Simulates a source for the point's number of rounds, or until its standard error is reached.
 * Outputs: the tally, tokens per round, tokens per unit of virtual time, and the share of rounds
 * that found their chain drafted ahead. */
int spec_point_simulate(spec_tally *ret_tally, spec_estimate *ret_emitted, spec_estimate *opt_rate,
                        spec_estimate *opt_hit, const spec_point *point,
                        const spec_round_source *source, spec_error *error);

/* alpha, K and c of a point, and a simulation of iid acceptance with them. */
typedef struct {
    double alpha, c;
    int K;
    spec_tally tally;
    spec_estimate emitted;
} spec_iid_run;
int spec_point_simulate_iid(spec_iid_run *ret, const spec_point *point, const spec_measure *measure,
                            spec_error *error);

/* Reads the acceptance process of a point, for drafts of K tokens, from its parameters `process`
 * and `alpha`. `alpha` must be left out if the process does not read it. */
int spec_point_process(spec_process *ret, const spec_point *point, const spec_measure *measure,
                       int K, spec_error *error);

/* Returns the drafting time of a round of K tokens, in target calls: K calls of c, or one call with
 * one_pass, plus c_token per token. */
double spec_measures_draft_time(int K, double c, double c_token, bool one_pass);

/* Reads the parameter ops_ratio; the default is c. */
int spec_point_ops_ratio(double *ret, const spec_point *point, const spec_measure *measure,
                         double c, spec_error *error);

/* ---- models ---------------------------------------------------------------------------------- */

/* Reads the decoder of a point: target, draft, drafting, policy, rule, K and c. drafting, policy, K
 * and c keep their defaults if the measure has no such parameter. Fails if the models have
 * different vocabularies, and says how they differ. */
int spec_point_decoder(spec_decoder_config *ret, const spec_point *point,
                       const spec_measure *measure, spec_error *error);

/* The first function checks that rule and policy exist. The second, once the models are open,
 * checks that rule, policy, strategy and draft fit together. Call both before any work. */
int spec_point_check_names(const char *rule, const char *policy, int K, spec_error *error);
int spec_point_check_decoder(const spec_decoder_config *config, spec_error *error);

/* Opens the models of a decoder whose other settings are known: the parameter `target`, this draft
 * and, if it is given, the parameter `inner_draft`. Then enumerates the law of the first n_tokens.
 * The caller frees ret_law, also after an error. */
int spec_point_law(spec_output_law *ret_law, spec_decoder_config *config, const spec_point *point,
                   const spec_measure *measure, const char *draft, int n_tokens, spec_error *error);

/* Opens a target and its draft ("": no draft), which must have the same vocabulary. */
int spec_point_pair(const spec_model **ret_target, const spec_model **ret_draft,
                    const spec_point *point, const char *target, const char *draft,
                    spec_error *error);

/* Reads the point's parameter `ahead`, 0 or 1: whether chains are drafted ahead. Returns GSL_EINVAL
 * if a text of `tokens` tokens is too short for any round to find a chain drafted ahead, that is,
 * shorter than K + 2; K > 0. */
int spec_point_ahead(bool *ret_ahead, const spec_point *point, const spec_measure *measure, int K,
                     int tokens, spec_error *error);

/* Reads the cost from the parameters `cost` and `draft_cost`; the caller frees it. Errors begin
 * with the name of the parameter at fault. */
int spec_point_step_cost(spec_step_cost **ret_cost, const spec_point *point,
                         const spec_measure *measure, spec_error *error);

/* Fills the columns `name`, name_se, name_theory and name_z. */
void spec_measures_beside_theory(spec_table *table, const char *name, const spec_estimate *estimate,
                                 double theory);

/* Gets whether the policy anticipates (sim/draft/policy.h), which makes it biased; false if there
 * is no such policy. Fails only without memory. */
int spec_measures_anticipates(bool *ret, const char *policy, spec_error *error);

/* Returns the bias that a rule declares, or a policy that anticipates: "biased, as marked" for a
 * mistake, "biased, lossy as marked" for a rule with the claim SPEC_LOSSY, NULL for all others. */
const char *spec_measures_marked_bias(const spec_rule *rule, bool anticipates);

/* Returns "lossless", "lossless (argmax)", "NOT LOSSLESS" or the marked bias. */
const char *spec_measures_verdict(const spec_rule *rule, bool anticipates, bool differs);

#endif
