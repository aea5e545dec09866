/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs Monte Carlo group by group, with sim/montecarlo.h and one of its sources. */
#include "api/lab_pair.h"

#include "experiments/group_text.h"
#include "sim/sources.h"
#include "speclab/no_memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rounds that each batch drops before it starts counting, as in the measure `decode`. */
enum { BURN_IN = 32 };

struct speclab_simulation {
    speclab *lab;
    const volatile int *opt_stop;
    spec_lab_pair pair; /* zeroed for acceptance alone */
    spec_acceptance_config acceptance;
    spec_decoding_config decoding;
    spec_round_source source;
    spec_montecarlo mc;
};

static int take_options(speclab_simulation_options *o, const speclab_simulation_options *given,
                        spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_lab_need(given, "options", error));
    SPEC_TRY(spec_lab_take(o, sizeof *o, given, "speclab_simulation_options", error));
    if (!(o->c >= 0.0 && o->c <= 1e6))
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "c must be 0 to 1e6, got %g", o->c));
done:
    return status;
}

static int take_pair(speclab_simulation *s, const speclab_pair *given,
                     const speclab_simulation_options *o, spec_error *error)
{
    const int status = spec_lab_pair_init(&s->pair, s->lab, given, error);
    s->decoding = (spec_decoding_config){.decoder = s->pair.config, .burn_in = BURN_IN};
    s->decoding.decoder.costs.draft = o->c;
    s->decoding.decoder.opt_stop = o->opt_stop;
    s->source = spec_sources_decoding(&s->decoding);
    return status;
}

static int take_acceptance(speclab_simulation *s, const speclab_acceptance *given,
                           const speclab_simulation_options *o, spec_error *error)
{
    speclab_acceptance a;
    int status = GSL_SUCCESS;
    s->acceptance = (spec_acceptance_config){.costs = SPEC_COSTS_DEFAULT};
    SPEC_TRY(spec_lab_need(given, "acceptance", error));
    SPEC_TRY(spec_lab_take(&a, sizeof a, given, "speclab_acceptance", error));
    if (!(a.alpha >= 0.0 && a.alpha <= 1.0))
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "alpha must be 0 to 1, got %g", a.alpha));
    SPEC_TRY(spec_acceptance_process_init(&s->acceptance.process,
                                          a.process != NULL ? a.process : "iid", a.alpha, error));
    s->acceptance.K = a.K;
    s->acceptance.costs.draft = o->c;
    s->source = spec_sources_acceptance(&s->acceptance);
done:
    return status;
}

/* Opens a simulation. If `decodes`, it runs a pair's rounds; otherwise it simulates only
 * acceptance. */
static int open_simulation(speclab_simulation **ret, speclab *lab, bool decodes,
                           const void *question, const speclab_simulation_options *given,
                           spec_error *error)
{
    speclab_simulation_options o;
    speclab_simulation *s = NULL;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_lab_need(ret, "ret_simulation", error));
    SPEC_TRY(take_options(&o, given, error));
    if ((s = calloc(1, sizeof *s)) == NULL) SPEC_TRY(spec_no_memory(error));
    s->lab = lab;
    s->opt_stop = o.opt_stop;
    SPEC_TRY(decodes ? take_pair(s, question, &o, error) : take_acceptance(s, question, &o, error));
    const spec_montecarlo_plan plan = {.rounds = o.rounds,
                                       .standard_error = o.standard_error,
                                       .seed = o.seed,
                                       .opt_pool = lab->context.pool};
    SPEC_TRY(spec_montecarlo_init(&s->mc, &s->source, &plan, error));
    *ret = s;
    s = NULL;
done:
    speclab_simulation_close(s);
    return status;
}

int32_t speclab_simulation_open(speclab_simulation **ret_simulation, speclab *lab,
                                const speclab_pair *pair, const speclab_simulation_options *options,
                                char *opt_error, uint64_t error_size)
{
    spec_lab_call call;
    int status = spec_lab_enter(&call, lab);
    if (ret_simulation != NULL) *ret_simulation = NULL;
    if (status == GSL_SUCCESS)
        status = open_simulation(ret_simulation, lab, true, pair, options, &call.error);
    return spec_lab_leave(&call, status, NULL, opt_error, error_size);
}

int32_t speclab_simulation_open_acceptance(speclab_simulation **ret_simulation, speclab *lab,
                                           const speclab_acceptance *acceptance,
                                           const speclab_simulation_options *options,
                                           char *opt_error, uint64_t error_size)
{
    spec_lab_call call;
    int status = spec_lab_enter(&call, lab);
    if (ret_simulation != NULL) *ret_simulation = NULL;
    if (status == GSL_SUCCESS)
        status = open_simulation(ret_simulation, lab, false, acceptance, options, &call.error);
    return spec_lab_leave(&call, status, NULL, opt_error, error_size);
}

int32_t speclab_simulation_next(int32_t *ret_done, speclab_simulation *s, char *opt_error,
                                uint64_t error_size)
{
    spec_lab_call call;
    int status = spec_lab_enter(&call, s != NULL ? s->lab : NULL);
    if (ret_done != NULL) *ret_done = 0;
    SPEC_TRY(status);
    SPEC_TRY(spec_lab_need(ret_done, "ret_done", &call.error));
    SPEC_TRY(spec_montecarlo_next(&s->mc, s->opt_stop, &call.error));
    *ret_done = s->mc.done;
done:
    return spec_lab_leave(&call, status, s != NULL ? s->opt_stop : NULL, opt_error, error_size);
}

/* ---- groups, computed anywhere --------------------------------------------------------------- */

uint64_t speclab_simulation_groups(const speclab_simulation *s)
{
    return s != NULL ? spec_montecarlo_groups(&s->mc) : 0;
}

int32_t speclab_simulation_group(char *ret_text, uint64_t text_size, speclab_simulation *s,
                                 uint64_t number, char *opt_error, uint64_t error_size)
{
    spec_montecarlo_sum sum;
    char *text = NULL;
    spec_lab_call call;
    int status = spec_lab_enter(&call, s != NULL ? s->lab : NULL);
    if (ret_text != NULL && text_size > 0) *ret_text = '\0';
    SPEC_TRY(status);
    SPEC_TRY(spec_lab_need(ret_text, "ret_text", &call.error));
    if (number >= spec_montecarlo_groups(&s->mc))
        SPEC_TRY(spec_fail(&call.error, GSL_EINVAL, "group must be 0 to %" PRIu64 ", got %" PRIu64,
                           spec_montecarlo_groups(&s->mc) - 1, number));
    SPEC_TRY(spec_montecarlo_group(&s->mc, &sum, number, s->opt_stop, &call.error));
    if ((text = spec_group_text_of(&sum)) == NULL) SPEC_TRY(spec_no_memory(&call.error));
    if (strlen(text) >= text_size)
        SPEC_TRY(spec_fail(&call.error, GSL_EINVAL, "the text has %zu bytes, more than %" PRIu64,
                           strlen(text) + 1, text_size));
    memcpy(ret_text, text, strlen(text) + 1);
done:
    free(text);
    return spec_lab_leave(&call, status, s != NULL ? s->opt_stop : NULL, opt_error, error_size);
}

int32_t speclab_simulation_add(int32_t *ret_done, speclab_simulation *s, const char *text,
                               char *opt_error, uint64_t error_size)
{
    spec_montecarlo_sum sum;
    spec_lab_call call;
    int status = spec_lab_enter(&call, s != NULL ? s->lab : NULL);
    if (ret_done != NULL) *ret_done = 0;
    SPEC_TRY(status);
    SPEC_TRY(spec_lab_need(ret_done, "ret_done", &call.error));
    SPEC_TRY(spec_lab_need(text, "text", &call.error));
    if (s->mc.groups >= spec_montecarlo_groups(&s->mc) || !spec_group_text_parse(&sum, text) ||
        sum.tally.rounds != spec_montecarlo_group_rounds(&s->mc, s->mc.groups))
        SPEC_TRY(spec_fail(&call.error, GSL_EINVAL, "the text does not belong to group %" PRIu64,
                           s->mc.groups));
    spec_montecarlo_add(&s->mc, &sum);
    *ret_done = s->mc.done;
done:
    return spec_lab_leave(&call, status, NULL, opt_error, error_size);
}

/* ---- estimates ------------------------------------------------------------------------------- */

int32_t speclab_simulation_read(speclab_estimates *ret, const speclab_simulation *s)
{
    if (!spec_lab_clear(ret, sizeof *ret) || s == NULL) return SPECLAB_INPUT;
    const spec_estimate emitted = spec_montecarlo_emitted(&s->mc),
                        first = spec_montecarlo_first(&s->mc), rate = spec_montecarlo_rate(&s->mc);
    *ret = (speclab_estimates){.size = sizeof *ret,
                               .done = s->mc.done,
                               .rounds = s->mc.sum.tally.rounds,
                               .emitted = emitted.mean,
                               .emitted_se = emitted.se,
                               .first = first.mean,
                               .first_se = first.se,
                               .speedup = rate.mean,
                               .speedup_se = rate.se};
    return SPECLAB_OK;
}

void speclab_simulation_accepted(uint64_t *ret_rounds, int32_t n, const speclab_simulation *s)
{
    for (int k = 0; k < n; k++)
        ret_rounds[k] = s != NULL && k <= SPEC_K_MAX ? s->mc.sum.tally.n_accepted[k] : 0;
}

void speclab_simulation_close(speclab_simulation *s)
{
    if (s == NULL) return;
    spec_montecarlo_free(&s->mc);
    spec_lab_pair_free(&s->pair);
    free(s);
}
