/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/statistics/moments.h"
#include "experiments/group_text.h"
#include "models/vocabularies.h"
#include "sim/decode_fit.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <string.h>

#define LINE(name) &spec_measure_##name,
const spec_measure *const spec_measures[] = {SPEC_MEASURES(LINE) NULL};

int spec_point_blame(int status, const char *parameter, spec_error *error)
{
    if (status == GSL_SUCCESS || error == NULL) return status;
    const spec_error inner = *error;
    return spec_fail(error, status, "%s: %.400s", parameter, inner.text);
}

/* ---- simulation ------------------------------------------------------------------------------ */

/* Returns the share of the work that is done: by rounds, or by the variance of the mean, which is
 * proportional to one over the rounds. */
static double share_done(const spec_montecarlo *mc)
{
    if (mc->plan.rounds > 0) return (double)mc->sum.tally.rounds / (double)mc->limit;
    const double wanted = mc->plan.standard_error, se = spec_montecarlo_emitted(mc).se;
    /* a standard error of NaN means no rounds */
    return se > wanted ? wanted * wanted / (se * se) : 1.0;
}

int spec_point_run_groups(const spec_groups *groups, const spec_point *point, spec_error *error)
{
    return point->opt_groups != NULL
               ? point->opt_groups->run(point->opt_groups->self, groups, point, error)
               : spec_groups_add_all(groups, error);
}

typedef struct {
    spec_montecarlo mc;
    const spec_point *point;
} simulation;

static int compute_group(void *self, char **ret_text, uint64_t group, spec_error *error)
{
    simulation *s = self;
    spec_montecarlo_sum sum;
    const int status = spec_montecarlo_group(&s->mc, &sum, group, s->point->stop, error);
    if (status != GSL_SUCCESS) return status;
    *ret_text = spec_group_text_of(&sum);
    return *ret_text != NULL ? GSL_SUCCESS : spec_no_memory(error);
}

static int add_group(void *self, const char *text, spec_error *error)
{
    simulation *s = self;
    spec_montecarlo_sum sum;
    const uint64_t rounds = spec_montecarlo_group_rounds(&s->mc, s->mc.groups);
    if (!spec_group_text_parse(&sum, text) || sum.tally.rounds != rounds)
        return spec_fail(error, GSL_EINVAL, "not the sum of %llu rounds",
                         (unsigned long long)rounds);
    spec_montecarlo_add(&s->mc, &sum);
    return GSL_SUCCESS;
}

/* Runs the simulation. If a standard error is the limit, the number of groups is not known in
 * advance. */
static int run_simulation(simulation *s, const spec_point *point, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (point->opt_groups != NULL) {
        const spec_groups groups = {.n = spec_montecarlo_groups(&s->mc),
                                    .opt_listener = point->opt_listener,
                                    .self = s,
                                    .compute = compute_group,
                                    .add = add_group};
        return spec_point_run_groups(&groups, point, error);
    }
    while (!s->mc.done && status == GSL_SUCCESS) {
        status = spec_montecarlo_next(&s->mc, point->stop, error);
        spec_listener_tell(point->opt_listener, share_done(&s->mc));
    }
    return status;
}

int spec_point_simulate(spec_tally *ret_tally, spec_estimate *ret_emitted, spec_estimate *opt_rate,
                        spec_estimate *opt_hit, const spec_point *point,
                        const spec_round_source *source, spec_error *error)
{
    const spec_montecarlo_plan plan = {.rounds = point->rounds,
                                       .standard_error = point->standard_error,
                                       .seed = point->seed,
                                       .opt_pool = spec_context_pool(point->opt_context)};
    simulation s = {.point = point};
    int status = GSL_SUCCESS;
    *ret_tally = (spec_tally){0};
    *ret_emitted = (spec_estimate){0};
    SPEC_TRY(spec_montecarlo_init(&s.mc, source, &plan, error));
    SPEC_TRY(run_simulation(&s, point, error));
    *ret_tally = s.mc.sum.tally;
    *ret_emitted = spec_montecarlo_emitted(&s.mc);
    if (opt_rate != NULL) *opt_rate = spec_montecarlo_rate(&s.mc);
    if (opt_hit != NULL) *opt_hit = spec_montecarlo_hit(&s.mc);
done:
    spec_montecarlo_free(&s.mc);
    return status;
}

int spec_point_process(spec_process *ret, const spec_point *point, const spec_measure *measure,
                       int K, spec_error *error)
{
    const char *spec = spec_point_text(point, measure, "process"),
               *alpha = spec_point_text(point, measure, "alpha");
    double value = 0.5; /* a value to find out whether the process reads alpha */
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_point_blame(spec_acceptance_process_init(ret, spec, value, error), "process",
                              error));
    if (spec_acceptance_reads_alpha(ret) && alpha[0] == '\0')
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "alpha: no value is given"));
    if (!spec_acceptance_reads_alpha(ret) && alpha[0] != '\0')
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "alpha: process '%.80s' has no alpha",
                           spec));
    if (alpha[0] != '\0')
        SPEC_TRY(spec_point_double(&value, point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_blame(spec_acceptance_process_init(ret, spec, value, error), "process",
                              error));
    SPEC_TRY(spec_point_blame(spec_acceptance_process_check(ret, K, error), "process", error));
done:
    return status;
}

int spec_point_simulate_iid(spec_iid_run *ret, const spec_point *point, const spec_measure *measure,
                            spec_error *error)
{
    spec_acceptance_config config = {.costs = SPEC_COSTS_DEFAULT};
    bool has_c;
    int status = GSL_SUCCESS;
    *ret = (spec_iid_run){0};
    spec_measure_default(measure, "c", &has_c);
    SPEC_TRY(spec_point_double(&ret->alpha, point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_int(&ret->K, point, measure, "K", 0, SPEC_K_MAX, error));
    if (has_c) SPEC_TRY(spec_point_double(&ret->c, point, measure, "c", 0.0, 1e6, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_acceptance_process_init(&config.process, "iid", ret->alpha, error));
    config.K = ret->K;
    config.costs.draft = ret->c;
    const spec_round_source source = spec_sources_acceptance(&config);
    SPEC_TRY(spec_point_simulate(&ret->tally, &ret->emitted, NULL, NULL, point, &source, error));
done:
    return status;
}

double spec_measures_draft_time(int K, double c, double c_token, bool one_pass)
{
    return one_pass ? (K > 0 ? c : 0.0) + K * c_token : K * (c + c_token);
}

int spec_point_ops_ratio(double *ret, const spec_point *point, const spec_measure *measure,
                         double c, spec_error *error)
{
    *ret = c;
    if (spec_point_text(point, measure, "ops_ratio")[0] == '\0') return GSL_SUCCESS;
    return spec_point_double(ret, point, measure, "ops_ratio", 0.0, 1e6, error);
}

/* ---- models ---------------------------------------------------------------------------------- */

int spec_point_pair(const spec_model **ret_target, const spec_model **ret_draft,
                    const spec_point *point, const char *target, const char *draft,
                    spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret_target = *ret_draft = NULL;
    SPEC_TRY(spec_point_blame(spec_model_cache_open(ret_target, point->models, target, NULL, error),
                              "target", error));
    if (draft[0] == '\0') goto done;
    SPEC_TRY(
        spec_point_blame(spec_model_cache_open(ret_draft, point->models, draft, *ret_target, error),
                         "draft", error));
    SPEC_TRY(
        spec_point_blame(spec_vocabularies_check(*ret_target, *ret_draft, error), "draft", error));
done:
    return status;
}

int spec_point_check_names(const char *rule, const char *policy, int K, spec_error *error)
{
    spec_rule found;
    spec_policy opened;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_point_blame(spec_rule_init(&found, rule, error), "rule", error));
    SPEC_TRY(spec_point_blame(spec_policy_init(&opened, policy, K, error), "policy", error));
    spec_policy_free(&opened);
done:
    return status;
}

int spec_point_check_decoder(const spec_decoder_config *config, spec_error *error)
{
    spec_drafter drafter;
    spec_rule rule;
    spec_policy policy = {0};
    int status = spec_point_blame(
        spec_drafter_init(&drafter, config->drafting, config->opt_draft, error), "drafting", error);
    if (status != GSL_SUCCESS) return status;
    SPEC_TRY(spec_drafter_check_reach(config->opt_draft, config->K, error));
    SPEC_TRY(spec_rule_init(&rule, config->rule, error));
    SPEC_TRY(spec_policy_init(&policy, config->policy, config->K, error));
    SPEC_TRY(
        spec_decode_fit_check(&rule, config->rule, &drafter, config->drafting, &policy, error));
done:
    spec_policy_free(&policy);
    spec_drafter_free(&drafter);
    return status;
}

/* Opens the models of a decoder whose other settings are known, and checks that all of it fits
 * together. */
static int open_decoder(spec_decoder_config *config, const spec_point *point,
                        const spec_measure *measure, const char *draft, spec_error *error)
{
    const char *target = spec_point_text(point, measure, "target"),
               *inner = spec_point_text(point, measure, "inner_draft");
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_point_check_names(config->rule, config->policy, config->K, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_point_pair(&config->target, &config->opt_draft, point, target, draft, error));
    if (inner != NULL && inner[0] != '\0')
        SPEC_TRY(spec_point_blame(spec_model_cache_open(&config->opt_inner, point->models, inner,
                                                        config->opt_draft, error),
                                  "inner_draft", error));
    SPEC_TRY(spec_point_check_decoder(config, error));
    SPEC_TRY(spec_point_opened(point));
done:
    return status;
}

int spec_point_decoder(spec_decoder_config *ret, const spec_point *point,
                       const spec_measure *measure, spec_error *error)
{
    const char *draft = spec_point_text(point, measure, "draft");
    const char *drafting = spec_point_text(point, measure, "drafting"),
               *policy = spec_point_text(point, measure, "policy");
    bool has_c, has_token, has_inner, has_K, has_verify;
    int status = GSL_SUCCESS;
    *ret = SPEC_DECODER_DEFAULT;
    ret->opt_stop = point->stop;
    spec_measure_default(measure, "c", &has_c);
    spec_measure_default(measure, "c_token", &has_token);
    spec_measure_default(measure, "inner_c", &has_inner);
    spec_measure_default(measure, "verify", &has_verify);
    spec_measure_default(measure, "K", &has_K);
    if (drafting != NULL) ret->drafting = drafting;
    if (policy != NULL) ret->policy = policy;
    ret->rule = spec_point_text(point, measure, "rule");
    if (has_K) SPEC_TRY(spec_point_int(&ret->K, point, measure, "K", 0, SPEC_K_MAX, error));
    if (has_c) SPEC_TRY(spec_point_double(&ret->costs.draft, point, measure, "c", 0.0, 1e6, error));
    if (has_token)
        SPEC_TRY(spec_point_double(&ret->costs.token, point, measure, "c_token", 0.0, 1e6, error));
    if (has_inner)
        SPEC_TRY(spec_point_double(&ret->costs.inner, point, measure, "inner_c", 0.0, 1e6, error));
    if (has_verify) {
        SPEC_TRY(spec_point_double(&ret->costs.verify, point, measure, "verify", 1e-6, 1e6, error));
        SPEC_TRY(spec_point_double(&ret->costs.fixed, point, measure, "fixed", 0.0, 1e6, error));
    }
    SPEC_TRY(open_decoder(ret, point, measure, draft, error));
done:
    return status;
}

int spec_point_law(spec_output_law *ret_law, spec_decoder_config *config, const spec_point *point,
                   const spec_measure *measure, const char *draft, int n_tokens, spec_error *error)
{
    spec_rule rule;
    int status = GSL_SUCCESS;
    *ret_law = (spec_output_law){0};
    SPEC_TRY(spec_point_blame(spec_rule_init(&rule, config->rule, error), "rule", error));
    SPEC_TRY(spec_output_law_check(&rule, config->rule, error));
    SPEC_TRY(open_decoder(config, point, measure, draft, error));
    SPEC_TRY(spec_output_law_init(ret_law, config, NULL, 0, n_tokens,
                                  point->limit > 0 ? point->limit : SPEC_OUTPUT_LAW_LIMIT, error));
done:
    return status;
}

int spec_point_ahead(bool *ret_ahead, const spec_point *point, const spec_measure *measure, int K,
                     int tokens, spec_error *error)
{
    int ahead, status = GSL_SUCCESS;
    *ret_ahead = false;
    SPEC_TRY(spec_point_int(&ahead, point, measure, "ahead", 0, 1, error));
    if (ahead == 1 && K > 0 && tokens < K + 2)
        status = spec_fail(error, GSL_EINVAL,
                           "tokens: %d is too few: with K = %d the first chain drafted ahead is "
                           "used at token %d",
                           tokens, K, K + 2);
    else
        *ret_ahead = ahead == 1;
done:
    return status;
}

/* ---- columns --------------------------------------------------------------------------------- */

static void set_column(spec_table *table, const char *name, const char *ending, double value)
{
    char column[64];
    snprintf(column, sizeof column, "%s%s", name, ending);
    spec_table_number(table, column, value);
}

void spec_measures_beside_theory(spec_table *table, const char *name, const spec_estimate *estimate,
                                 double theory)
{
    set_column(table, name, "", estimate->mean);
    set_column(table, name, "_se", estimate->se);
    set_column(table, name, "_theory", theory);
    set_column(table, name, "_z",
               spec_moments_z(estimate->mean, theory, estimate->se, estimate->df));
}

int spec_point_step_cost(spec_step_cost **ret_cost, const spec_point *point,
                         const spec_measure *measure, spec_error *error)
{
    const char *target = spec_point_text(point, measure, "cost"),
               *draft = spec_point_text(point, measure, "draft_cost");
    int status = spec_step_cost_create(ret_cost, target, NULL, error);
    if (status != GSL_SUCCESS || draft[0] == '\0') return spec_point_blame(status, "cost", error);
    spec_step_cost_free(*ret_cost);
    status = spec_step_cost_create(ret_cost, target, draft, error);
    return spec_point_blame(status, "draft_cost", error);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

int spec_measures_anticipates(bool *ret, const char *policy, spec_error *error)
{
    spec_policy opened;
    const int status = spec_policy_init(&opened, policy, 1, NULL);
    *ret = status == GSL_SUCCESS && opened.anticipates;
    spec_policy_free(&opened);
    return status == GSL_ENOMEM ? spec_no_memory(error) : GSL_SUCCESS;
}

const char *spec_measures_marked_bias(const spec_rule *rule, bool anticipates)
{
    if (anticipates || rule->claim == SPEC_WRONG) return "biased, as marked";
    return rule->claim == SPEC_LOSSY ? "biased, lossy as marked" : NULL;
}

const char *spec_measures_verdict(const spec_rule *rule, bool anticipates, bool differs)
{
    const char *marked = spec_measures_marked_bias(rule, anticipates);
    if (differs) return marked != NULL ? marked : "NOT LOSSLESS";
    return rule->claim == SPEC_LOSSLESS_ARGMAX ? "lossless (argmax)" : "lossless";
}
