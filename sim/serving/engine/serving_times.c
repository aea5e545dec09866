/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/engine/serving_times.h"

#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

void spec_serving_times_begin(spec_engine *e)
{
    e->result->sums = (spec_serving_sums){0};
    e->result->n = e->result->kept = 0;
    if (e->plan->keep_every > 0) {
        *e->result->batches = (spec_log_histogram){{0}};
        *e->result->step_times = (spec_log_histogram){{0}};
    }
    e->begin = e->now;
    e->used_begin = e->blocks.used;
    e->in_system_begin = e->in_system;
    e->tokens = e->kv = e->drafted = 0;
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
    if (e->plan->keep_every == 0) return;
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

int spec_serving_times_add(spec_engine *e, const spec_member *m)
{
    spec_serving_result *r = e->result;
    spec_serving_sums *sums = &r->sums;
    const double latency = e->now - m->request.arrival, first = m->first - m->request.arrival;
    double per_token = NAN;
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
    e->tokens += m->tokens;
    e->kv += m->kv;
    e->drafted += m->drafted;
    e->completed++;
    if (e->plan->keep_every > 0 && r->n % e->plan->keep_every == 0) {
        const int status = reserve_times(e);
        if (status != GSL_SUCCESS) return status;
        r->request[r->kept] = m->index;
        r->first_token[r->kept] = (float)first;
        r->per_token[r->kept] = (float)per_token;
        r->latency[r->kept] = (float)latency;
        r->kept++;
    }
    r->n++;
    if (r->n == e->plan->measured / 2) {
        e->early = sums->latency;
        e->in_system_middle = e->in_system;
    }
    return GSL_SUCCESS;
}

/* At a load of exactly the capacity, the number in the system moves by about sqrt(n) during n
 * completions. Three times that, in both halves, is growth. */
static bool has_grown(const spec_engine *e)
{
    const double noise = 3.0 * sqrt((double)e->plan->measured);
    return !e->plan->closed && e->result->n >= e->plan->measured &&
           (double)(e->in_system_middle - e->in_system_begin) > noise &&
           (double)(e->in_system - e->in_system_middle) > noise;
}

void spec_serving_times_end(spec_engine *e)
{
    spec_serving_result *r = e->result;
    spec_serving_sums *sums = &r->sums;
    const uint64_t half = e->plan->measured / 2;
    sums->seconds = e->now - e->begin;
    sums->blocks_kept = e->blocks.used - e->used_begin;
    if (e->opt_affine != NULL && e->plan->place <= SPEC_DRAFT_SEPARATE)
        sums->extra = e->opt_affine->token * (double)e->tokens + e->opt_affine->kv * (double)e->kv +
                      e->opt_affine->draft_token * (double)e->drafted;
    if (half == 0 || r->n <= half) return;
    r->early = e->early / (double)half;
    r->late = (sums->latency - e->early) / (double)(r->n - half);
    r->grew = r->grew || has_grown(e);
}
