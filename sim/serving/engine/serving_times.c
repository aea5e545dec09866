/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/engine/serving_times.h"

#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

/* ---- the measured part ----------------------------------------------------------------------- */

static void add_member(spec_engine *e, const spec_member *m, int sign)
{
    e->present += sign * (e->now - m->request.arrival);
    e->written += sign * (int64_t)(m->request.output - m->left);
    e->tokens += sign * m->tokens;
    e->kv += sign * m->kv;
    e->drafted += sign * m->drafted;
}

/* Adds the times and counts of the unfinished requests so far to the sums, or subtracts them. */
static void add_under_way(spec_engine *e, int sign)
{
    for (int32_t i = 0; i < e->members.waiting; i++)
        add_member(e, spec_members_waiting(&e->members, i), sign);
    for (int i = 0; i < e->n_prefill; i++) add_member(e, &e->members.at[e->prefill[i]], sign);
    for (int i = 0; i < e->decoding.n; i++) {
        const spec_member m = spec_decoding_settled(&e->decoding, e->members.at, i);
        add_member(e, &m, sign);
    }
}

static void begin(spec_engine *e)
{
    e->result->sums = (spec_serving_sums){0};
    if (e->plan->keep_every > 0) {
        *e->result->batches = (spec_log_histogram){{0}};
        *e->result->step_times = (spec_log_histogram){{0}};
    }
    e->begin = e->now;
    e->used_begin = e->blocks.used;
    e->in_system_begin = e->in_system;
    e->present = 0.0;
    e->written = e->tokens = e->kv = e->drafted = 0;
    add_under_way(e, -1);
}

/* If the load is exactly the capacity, the number of requests in the system changes by about
 * sqrt(n) while n requests are served. If it rises by three times that in each half, we call it
 * growth. */
static bool has_grown(const spec_engine *e)
{
    const double noise = 3.0 * sqrt((double)e->plan->measured);
    return !e->plan->closed && (double)(e->in_system_middle - e->in_system_begin) > noise &&
           (double)(e->in_system - e->in_system_middle) > noise;
}

/* Saves the sums in of_requests, so that later steps no longer change them. */
static void conclude(spec_engine *e)
{
    spec_serving_sums *sums = &e->result->sums;
    add_under_way(e, 1);
    sums->seconds = e->now - e->begin;
    sums->blocks_kept = e->blocks.used - e->used_begin;
    sums->present = e->present;
    sums->written = e->written;
    if (e->opt_affine != NULL && e->plan->place <= SPEC_DRAFT_SEPARATE)
        sums->extra = e->opt_affine->token * (double)e->tokens + e->opt_affine->kv * (double)e->kv +
                      e->opt_affine->draft_token * (double)e->drafted;
    spec_serving_sums_merge(&e->of_requests, sums);
}

bool spec_serving_times_look(spec_engine *e)
{
    const uint64_t warm = e->plan->warm, joined = e->joined;
    if (e->part == SPEC_PART_BEFORE && (warm == 0 || joined > warm)) {
        begin(e);
        e->part = SPEC_PART_FIRST;
    }
    if (e->part == SPEC_PART_FIRST && joined > warm && joined - warm > e->plan->measured / 2) {
        e->in_system_middle = e->in_system;
        e->part = SPEC_PART_SECOND;
    }
    if (e->part == SPEC_PART_SECOND && joined - warm > e->plan->measured) {
        e->result->grew = has_grown(e);
        conclude(e);
        e->part = SPEC_PART_AFTER;
    }
    return e->part == SPEC_PART_AFTER && (e->plan->unfollowed || e->result->n == e->plan->measured);
}

void spec_serving_times_step(spec_engine *e, const spec_step_work *work, double t)
{
    spec_serving_sums *sums = &e->result->sums;
    sums->steps++;
    sums->drafting += work->drafted + work->fed > 0;
    sums->fed += (uint64_t)work->fed;
    sums->passes += (uint64_t)work->passes;
    sums->batch += work->decoding;
    sums->batch2 += (double)work->decoding * work->decoding;
    sums->step += t;
    sums->blocks_in_use += (uint64_t)e->blocks.used;
    sums->in_system += (double)e->in_system * t;
    if (e->plan->keep_every == 0 || e->part == SPEC_PART_AFTER) return;
    spec_log_histogram_add(e->result->batches, (float)work->decoding);
    spec_log_histogram_add(e->result->step_times, (float)t);
}

static int reserve_times(spec_engine *e)
{
    spec_serving_result *r = e->result;
    if (r->kept < e->times_capacity) return GSL_SUCCESS;
    const uint64_t capacity = e->times_capacity == 0 ? 1024 : 2 * e->times_capacity;
    uint32_t *request = realloc(r->request, capacity * sizeof *request);
    if (request == NULL) return spec_no_memory(e->error);
    r->request = request;
    float **const array[] = {&r->first_token, &r->per_token, &r->latency};
    for (int a = 0; a < 3; a++) {
        float *grown = realloc(*array[a], capacity * sizeof *grown);
        if (grown == NULL) return spec_no_memory(e->error);
        *array[a] = grown;
    }
    e->times_capacity = capacity;
    return GSL_SUCCESS;
}

static int keep(spec_engine *e, const spec_member *m, double first, double per_token,
                double latency)
{
    spec_serving_result *r = e->result;
    const int status = reserve_times(e);
    if (status != GSL_SUCCESS) return status;
    r->request[r->kept] = m->index;
    r->first_token[r->kept] = (float)first;
    r->per_token[r->kept] = (float)per_token;
    r->latency[r->kept] = (float)latency;
    r->kept++;
    return GSL_SUCCESS;
}

int spec_serving_times_add(spec_engine *e, const spec_member *m)
{
    const spec_serving_plan *plan = e->plan;
    spec_serving_sums *sums = &e->of_requests;
    const double latency = e->now - m->request.arrival, first = m->first - m->request.arrival;
    double per_token = NAN;
    e->completed++;
    add_member(e, m, 1);
    if (m->request.begun || m->index < plan->warm || m->index - plan->warm >= plan->measured)
        return GSL_SUCCESS;
    sums->requests++;
    sums->output_tokens += (uint64_t)m->request.output;
    sums->latency += latency;
    sums->latency2 += latency * latency;
    sums->wait += m->wait;
    sums->first_token += first;
    if (m->request.output > 1) {
        per_token = (e->now - m->first) / (double)(m->request.output - 1);
        sums->longer++;
        sums->per_token += per_token;
    }
    if (m->index - plan->warm < plan->measured / 2) {
        e->n_early++;
        e->early += latency;
    }
    e->result->n++;
    if (plan->keep_every == 0 || (m->index - plan->warm) % plan->keep_every != 0)
        return GSL_SUCCESS;
    return keep(e, m, first, per_token, latency);
}

void spec_serving_times_end(spec_engine *e)
{
    spec_serving_result *r = e->result;
    if (e->part < SPEC_PART_AFTER) conclude(e);
    r->sums = e->of_requests;
    if (e->n_early == 0 || r->n == e->n_early) return;
    r->early = e->early / (double)e->n_early;
    r->late = (r->sums.latency - e->early) / (double)(r->n - e->n_early);
}
