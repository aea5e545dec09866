/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/serving_run.h"

#include "base/stop_flag.h"
#include "sim/serving/engine/emission.h"
#include "sim/serving/engine/engine.h"
#include "sim/serving/engine/population.h"
#include "sim/serving/engine/scheduler.h"
#include "sim/serving/engine/serving_times.h"
#include "sim/serving/engine/step_time.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* ---- the plan -------------------------------------------------------------------------------- */

static int check(const spec_serving_plan *plan, int K_max, spec_error *error)
{
    if (plan->slots < 1 || plan->block < 1 || plan->measured < 1 || plan->blocks < 0 ||
        plan->budget < 0 || plan->chunk < 0 || (plan->closed && plan->slots > SPEC_ENGINE_MOST))
        return spec_fail(error, GSL_EINVAL,
                         "slots %d, block %d and measured requests must be >= 1 (at most %d slots "
                         "in a closed loop); blocks %lld, budget %lld and chunk %lld must be >= 0",
                         plan->slots, plan->block, SPEC_ENGINE_MOST, (long long)plan->blocks,
                         (long long)plan->budget, (long long)plan->chunk);
    if (!(plan->stay >= 0.0 && plan->stay < 1.0))
        return spec_fail(error, GSL_EINVAL, "correlation of rounds %g is outside [0,1)",
                         plan->stay);
    if (!(plan->guess >= 0.0 && plan->guess <= 1.0))
        return spec_fail(error, GSL_EINVAL, "chance of a guess %g is outside [0,1]", plan->guess);
    if (plan->cache != SPEC_CACHE_FREE && plan->place > SPEC_DRAFT_SEPARATE)
        return spec_fail(error, GSL_EINVAL,
                         "a draft cache that is filled needs drafts in turn with the target");
    if (plan->budget > 0 && plan->budget <= K_max)
        return spec_fail(error, GSL_EINVAL,
                         "budget %lld is below the %d tokens of a round with K = %d",
                         (long long)plan->budget, K_max + 1, K_max);
    return GSL_SUCCESS;
}

static int init(spec_engine *e, uint64_t seed, uint64_t stream)
{
    const spec_serving_plan *plan = e->plan;
    int status = GSL_SUCCESS;
    e->K_max = spec_length_K_max(plan->lengths);
    SPEC_TRY(check(plan, e->K_max, e->error));
    e->opt_affine = spec_step_cost_affine(plan->cost);
    e->reads = spec_length_reads(plan->lengths);
    e->reads_context = spec_length_reads_context(plan->lengths);
    e->learns = spec_length_learns(plan->lengths);
    e->drafts_all = spec_length_drafts_all(plan->lengths);
    e->cache = e->K_max > 0 ? plan->cache : SPEC_CACHE_FREE;
    e->ragged = e->learns || e->drafts_all || plan->place > SPEC_DRAFT_SEPARATE ||
                e->cache != SPEC_CACHE_FREE || plan->opt_accepted != NULL || plan->n_rates > 0;
    e->kernel = spec_common_rounds_kernel_of(spec_cpu_isa());
    e->blocks = (spec_kv_blocks){.most = plan->blocks, .size = plan->block};
    spec_uniforms_init(&e->accept, seed, "serving accept", stream);
    spec_uniforms_init(&e->repeat, seed, "serving repeat", stream);
    spec_uniforms_init(&e->guess, seed, "serving guess", stream);
    if (plan->keep_every > 0) {
        e->result->batches = calloc(1, sizeof *e->result->batches);
        e->result->step_times = calloc(1, sizeof *e->result->step_times);
        if (e->result->batches == NULL || e->result->step_times == NULL)
            SPEC_TRY(spec_no_memory(e->error));
    }
    const bool kv_costs = e->opt_affine != NULL && e->opt_affine->kv > 0.0;
    e->cursor = plan->requests.begin(plan->requests.self, seed, stream);
    if (e->cursor == NULL ||
        spec_length_begin(&e->choice_state, plan->lengths, plan->slots) != GSL_SUCCESS ||
        spec_decoding_init(&e->decoding, plan->stay > 0.0, plan->blocks > 0, kv_costs) !=
            GSL_SUCCESS)
        SPEC_TRY(spec_no_memory(e->error));
    SPEC_TRY(spec_population_pull(e));
done:
    return status;
}

static void engine_free(spec_engine *e)
{
    if (e->cursor != NULL) e->plan->requests.end(e->cursor);
    spec_length_end(e->choice_state);
    spec_members_free(&e->members);
    spec_decoding_free(&e->decoding);
    free(e->prefill);
    free(e->spare_slot);
    free(e->K_r);
    free(e->accepted);
    free(e->slot);
    free(e->context);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Tells a choice that learns about the requests that took part in the step. */
static void observe(spec_engine *e, double seconds)
{
    if (!e->learns || e->served == 0) return;
    e->batch.n = e->served;
    e->batch.fixed.decoding = e->served;
    spec_length_observe(e->plan->lengths, e->choice_state, &e->batch, e->K_r, e->accepted, seconds);
}

static int step(spec_engine *e)
{
    const double begin = e->now;
    spec_step_work work;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_scheduler_schedule(e));
    e->late_slots = 0;
    e->blocks.late = 0;
    const double seconds = spec_step_time(e, &work);
    if (work.decoding == 0 && work.prompt_tokens == 0) {
        assert(e->plan->asynchronous && e->known < e->now);
        e->known = e->now;
        return GSL_SUCCESS;
    }
    if (!(seconds > 0.0 && isfinite(seconds)))
        SPEC_TRY(spec_fail(e->error, GSL_EINVAL, "a step of %lld tokens takes %g s",
                           (long long)(work.prompt_tokens + work.decode_tokens), seconds));
    spec_serving_times_step(e, &work, seconds);
    e->now += seconds;
    const bool completed = spec_emission_rounds(e);
    observe(e, seconds);
    SPEC_TRY(spec_emission_complete(e, completed));
    e->known = e->plan->asynchronous ? begin : e->now;
    SPEC_TRY(spec_population_arrive(e));
done:
    return status;
}

static int idle(spec_engine *e)
{
    e->begin -= spec_population_pending(e);
    e->origin = e->pending.arrival;
    e->now = e->known = 0.0;
    e->late_slots = 0;
    e->blocks.late = 0;
    return spec_population_arrive(e);
}

/* Returns whether so many requests have piled up, compared with those served, that the load must be
 * above capacity. */
static bool overflows(const spec_engine *e)
{
    enum { MORE = 1 << 16 };
    return !e->plan->closed && (e->in_system == SPEC_ENGINE_MOST ||
                                e->in_system - e->first_in_system > MORE + (int64_t)e->completed);
}

static int run(spec_engine *e, const volatile int *opt_stop)
{
    const spec_serving_plan *plan = e->plan;
    int status = GSL_SUCCESS;
    (void)spec_serving_times_look(e); /* without a warm-up, the measured part begins at time 0 */
    SPEC_TRY(!plan->closed && e->more ? idle(e) : spec_population_arrive(e));
    e->first_in_system = e->in_system;
    while (!spec_serving_times_look(e) && !overflows(e)) {
        SPEC_TRY(spec_stop_check(opt_stop, e->error));
        if (e->in_system > 0) {
            SPEC_TRY(step(e));
        } else if (e->more) {
            SPEC_TRY(idle(e));
        } else {
            break;
        }
    }
    e->result->grew = e->result->grew || overflows(e);
    if (e->part == SPEC_PART_BEFORE && !e->result->grew)
        status = spec_fail(e->error, GSL_EINVAL,
                           "%llu requests end within a warm-up of %llu: shorten it",
                           (unsigned long long)e->completed, (unsigned long long)plan->warm);
done:
    return status;
}

int spec_serving_run(spec_serving_result *ret_result, const spec_serving_plan *plan, uint64_t seed,
                     uint64_t stream, const volatile int *opt_stop, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret_result = (spec_serving_result){0};
    spec_engine *e = calloc(1, sizeof *e);
    if (e == NULL) return spec_no_memory(error);
    e->plan = plan;
    e->result = ret_result;
    e->error = error;
    SPEC_TRY(init(e, seed, stream));
    SPEC_TRY(run(e, opt_stop));
    spec_serving_times_end(e);
done:
    engine_free(e);
    free(e);
    if (status != GSL_SUCCESS) spec_serving_result_free(ret_result);
    return status;
}

void spec_serving_result_free(spec_serving_result *result)
{
    free(result->request);
    free(result->first_token);
    free(result->per_token);
    free(result->latency);
    free(result->batches);
    free(result->step_times);
    *result = (spec_serving_result){0};
}
