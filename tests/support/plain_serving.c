/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/plain_serving.h"

#include "tests/support/plain_engine.h"
#include "tests/support/support.h"

#include <assert.h>
#include <math.h>

/* ---- time ------------------------------------------------------------------------------------ */

static void add_draft(spec_step_work *work, const member *m, int K, int drafted)
{
    work->decode_tokens += K + 1;
    work->kv_tokens += m->cached;
    work->drafted += drafted;
    work->decoding++;
    if (drafted > work->passes) work->passes = drafted;
}

/* Returns the draft tokens of a round that verifies K of them. */
static int drafted_by(const plain_engine *e, int K)
{
    return spec_length_drafts_all(e->plan->lengths) ? e->K_max : K;
}

static double largest(double a, double b)
{
    return a > b ? a : b;
}

/* Returns how many tokens the draft computes for this request to have all of its context. */
static int missing(const plain_engine *e, const member *m)
{
    const bool drafts = m->K >= 0 && drafted_by(e, m->K) > 0;
    if (e->K_max == 0) return 0;
    switch (e->plan->cache) {
    case SPEC_CACHE_FED: return m->chunk + (m->K >= 0 && !drafts);
    case SPEC_CACHE_REFILLED:
    case SPEC_CACHE_DROPPED: return drafts ? m->cached - m->seen : 0;
    default: return 0;
    }
}

/* Returns the step's time; `work` is what the target computes. With miss_rides, cold requests get K
 * = 0. */
static double step_time(plain_engine *e, spec_step_work *work)
{
    const spec_serving_plan *plan = e->plan;
    int served = 0, i = 0;
    for (member *m = e->running.head; m != NULL; m = m->next) served += m->K >= 0;
    spec_step_work all = {0}, cold = {0}, ahead = {0}, half[2] = {{0}, {0}};
    for (member *m = e->running.head; m != NULL; m = m->next) {
        if (m->chunk > 0) {
            all.prompt_tokens += m->chunk;
            all.kv_tokens += m->cached;
            half[0].prompt_tokens += m->chunk;
            half[0].kv_tokens += m->cached;
        }
        if (m->K < 0) continue;
        const int drafted = drafted_by(e, m->K);
        if (drafted > 0) add_draft(&ahead, m, drafted + 1, drafted + 1);
        if (m->cold && drafted > 0 && !plan->miss_rides) add_draft(&cold, m, drafted, drafted);
        if (m->cold && plan->place == SPEC_DRAFT_AHEAD && plan->miss_rides) m->K = 0;
        add_draft(&half[i++ >= (served + 1) / 2], m, m->K, drafted_by(e, m->K));
        add_draft(&all, m, m->K, drafted_by(e, m->K));
    }
    for (member *m = e->running.head; m != NULL; m = m->next) all.fed += missing(e, m);
    if (all.fed > 0 && all.passes == 0) all.passes = 1;
    *work = all;
    const double V = spec_step_cost_target(plan->cost, &all);
    if (plan->place == SPEC_DRAFT_AHEAD)
        return largest(V, spec_step_cost_draft(plan->cost, &ahead)) +
               spec_step_cost_draft(plan->cost, &cold);
    if (plan->place == SPEC_DRAFT_HALVES) {
        double v[2], d[2];
        for (int h = 0; h < 2; h++) {
            v[h] = spec_step_cost_target(plan->cost, &half[h]);
            d[h] = spec_step_cost_draft(plan->cost, &half[h]);
        }
        if (served < 2) return d[0] + v[0];
        return largest(largest(d[0] + v[0], d[1] + v[1]), largest(v[0] + v[1], d[0] + d[1]));
    }
    return V + spec_step_cost_draft(plan->cost, &all);
}

/* ---- emission -------------------------------------------------------------------------------- */

static int draw(plain_engine *e, member *m)
{
    const spec_serving_plan *plan = e->plan;
    int n = 0;
    if (m->request.replay >= 0)
        return spec_accepted_lengths_next(plan->opt_accepted, m->request.replay, &m->place, m->K);
    if (m->K == 0) return 0;
    const float fresh = uniforms_next(&e->accept);
    const bool repeats = plan->stay > 0.0 && uniforms_next(&e->repeat) < (float)plan->stay;
    if (!repeats || m->last < 0.0f) m->last = fresh;
    const float alpha = alpha_of(e, m);
    for (float tail = alpha; n < m->K && m->last < tail; tail *= alpha) n++;
    return n;
}

/* Adds a request's own part of the sums over requests. */
static void count(plain_engine *e, const member *m, int sign)
{
    e->present += sign * (e->now - m->request.arrival);
    e->written += sign * (m->request.output - m->left);
    e->tokens += sign * m->tokens;
    e->kv += sign * m->kv;
    e->drafted += sign * m->drafted;
}

static bool is_measured(const plain_engine *e, const member *m)
{
    return !m->request.begun && m->index >= e->plan->warm &&
           m->index - e->plan->warm < e->plan->measured;
}

static void keep(spec_serving_result *r, const member *m, double first, double per_token,
                 double latency)
{
    float **const array[] = {&r->first_token, &r->per_token, &r->latency};
    for (int a = 0; a < 3; a++)
        assert_non_null(*array[a] = realloc(*array[a], (r->n + 1) * sizeof(float)));
    assert_non_null(r->request = realloc(r->request, (r->n + 1) * sizeof *r->request));
    r->request[r->n] = m->index;
    r->first_token[r->n] = (float)first;
    r->per_token[r->n] = (float)per_token;
    r->latency[r->n] = (float)latency;
}

static void complete(plain_engine *e, member *m)
{
    spec_serving_sums *sums = &e->of_requests;
    const double latency = e->now - m->request.arrival, first = m->first - m->request.arrival;
    const double per_token =
        m->request.output > 1 ? (e->now - m->first) / (double)(m->request.output - 1) : NAN;
    if (e->plan->asynchronous) {
        e->held_slots++;
        e->held_blocks += m->blocks;
    }
    plain_engine_leave(e, m);
    e->in_system--;
    e->completed++;
    count(e, m, 1);
    if (is_measured(e, m)) {
        sums->requests++;
        sums->output_tokens += (uint64_t)m->request.output;
        sums->latency += latency;
        sums->latency2 += latency * latency;
        sums->wait += m->wait;
        sums->first_token += first;
        if (m->request.output > 1) {
            sums->longer++;
            sums->per_token += per_token;
        }
        if (m->index - e->plan->warm < e->plan->measured / 2) {
            e->n_early++;
            e->early += latency;
        }
        if (e->plan->keep_every > 0) keep(e->result, m, first, per_token, latency);
        e->result->kept = ++e->result->n;
    }
    free(m);
}

static void emit(plain_engine *e)
{
    spec_serving_sums *sums = &e->result->sums;
    bool drafting = false, decoding = false;
    for (member *m = e->running.head; m != NULL; m = m->next) {
        if (m->K < 0) continue;
        const int n = draw(e, m), emitted = smaller(n + 1, m->left);
        m->n_accepted = n;
        if (e->plan->place == SPEC_DRAFT_AHEAD)
            m->cold = !(n == m->K && uniforms_next(&e->guess) < (float)e->plan->guess);
        sums->rounds++;
        sums->drafted += (uint64_t)drafted_by(e, m->K);
        sums->accepted += (uint64_t)n;
        sums->emitted += (uint64_t)emitted;
        sums->cut += (uint64_t)(n + 1 - emitted);
        m->tokens += m->K + 1;
        m->kv += m->cached;
        m->drafted += drafted_by(e, m->K) + missing(e, m);
        m->left -= emitted;
        m->cached += emitted;
        if (drafted_by(e, m->K) > 0) m->seen = m->cached;
        drafting = drafting || drafted_by(e, m->K) > 0;
        decoding = true;
        if (m->first < 0.0) m->first = e->now;
    }
    if (e->plan->cache == SPEC_CACHE_DROPPED && decoding && !drafting)
        for (member *m = e->running.head; m != NULL; m = m->next) m->seen = 0;
}

static void finish(plain_engine *e)
{
    spec_serving_sums *sums = &e->result->sums;
    for (member *m = e->running.head, *next; m != NULL; m = next) {
        next = m->next;
        if (m->K >= 0 && m->left == 0) complete(e, m);
    }
    for (member *m = e->running.head, *next; m != NULL; m = next) {
        next = m->next;
        if (m->chunk == 0) continue;
        m->tokens += m->chunk;
        m->kv += m->cached;
        m->drafted += missing(e, m);
        m->todo -= m->chunk;
        m->cached += m->chunk;
        if (m->todo > 0) continue;
        sums->emitted++;
        sums->first++;
        m->left--;
        if (m->first < 0.0) m->first = e->now;
        if (m->left == 0)
            complete(e, m);
        else
            spec_length_enter(e->plan->lengths, e->state, m->slot);
    }
}

/* ---- run ------------------------------------------------------------------------------------- */

static void count_all(plain_engine *e, int sign)
{
    for (const member *m = e->queue.head; m != NULL; m = m->next) count(e, m, sign);
    /* prompts first, so that numbers are added in the same order */
    for (const member *m = e->running.head; m != NULL; m = m->next)
        if (m->todo > 0) count(e, m, sign);
    for (const member *m = e->running.head; m != NULL; m = m->next)
        if (m->todo == 0) count(e, m, sign);
}

static void begin_measuring(plain_engine *e)
{
    e->result->sums = (spec_serving_sums){0};
    e->measuring = true;
    e->begin = e->now;
    e->used_begin = e->used;
    e->in_system_begin = e->in_system;
    e->present = 0.0;
    e->written = e->tokens = e->kv = e->drafted = 0;
    count_all(e, -1);
}

/* Ends the measured part; its sums are kept. */
static void end_measuring(plain_engine *e)
{
    spec_serving_sums *sums = &e->result->sums;
    const spec_affine_step *affine = spec_step_cost_affine(e->plan->cost);
    count_all(e, 1);
    e->measuring = false;
    sums->seconds = e->now - e->begin;
    sums->blocks_kept = e->used - e->used_begin;
    sums->present = e->present;
    sums->written = e->written;
    if (affine != NULL && e->plan->place <= SPEC_DRAFT_SEPARATE)
        sums->extra = affine->token * (double)e->tokens + affine->kv * (double)e->kv +
                      affine->draft_token * (double)e->drafted;
    spec_serving_sums_merge(&e->of_requests, sums);
}

static bool has_work(const plain_engine *e)
{
    for (const member *m = e->running.head; m != NULL; m = m->next)
        if (m->K >= 0 || m->chunk > 0) return true;
    return false;
}

static void step(plain_engine *e)
{
    const spec_serving_plan *plan = e->plan;
    spec_serving_sums *sums = &e->result->sums;
    spec_step_batch batch;
    spec_step_work work;
    const double begin = e->now;
    plain_engine_schedule(e, &batch);
    e->held_slots = 0;
    e->held_blocks = 0;
    if (!has_work(e)) {
        assert(plan->asynchronous && e->known < e->now);
        e->known = e->now;
        return;
    }
    const double t = step_time(e, &work);
    sums->steps++;
    sums->drafting += work.drafted + work.fed > 0;
    sums->fed += (uint64_t)work.fed;
    sums->passes += (uint64_t)work.passes;
    sums->batch += work.decoding;
    sums->batch2 += (double)work.decoding * work.decoding;
    sums->step += t;
    sums->blocks_in_use += (uint64_t)e->used;
    sums->in_system += (double)e->in_system * t;
    e->now += t;
    emit(e);
    if (spec_length_learns(plan->lengths)) {
        int n = 0;
        for (int i = 0; i < e->n_batch; i++) {
            const member *m = e->batch[i];
            if (m->K < 0) continue;
            e->alpha[n] = e->alpha[i];
            e->slot[n] = e->slot[i];
            e->context[n] = e->context[i];
            e->K[n] = m->K;
            e->accepted[n++] = m->n_accepted;
        }
        batch.n = n;
        batch.fixed.decoding = n;
        if (n > 0) spec_length_observe(plan->lengths, e->state, &batch, e->K, e->accepted, t);
    }
    finish(e);
    e->known = plan->asynchronous ? begin : e->now;
    plain_engine_arrive(e);
}

static void run(plain_engine *e)
{
    const spec_serving_plan *plan = e->plan;
    bool after = false, middle = false;
    if (plan->closed) plain_engine_arrive(e);
    for (;;) {
        const bool begins = !e->measuring && !after && (plan->warm == 0 || e->joined > plan->warm);
        if (begins) begin_measuring(e);
        if (e->measuring && !middle && e->joined > plan->warm &&
            e->joined - plan->warm > plan->measured / 2) {
            middle = true;
            e->in_system_middle = e->in_system;
        }
        if (e->measuring && middle && e->joined - plan->warm > plan->measured) {
            const double noise = 3.0 * sqrt((double)plan->measured);
            e->result->grew = !plan->closed &&
                              (double)(e->in_system_middle - e->in_system_begin) > noise &&
                              (double)(e->in_system - e->in_system_middle) > noise;
            end_measuring(e);
            after = true;
        }
        if (after && e->result->n == plan->measured) break;
        if (e->in_system == 0 && !e->more) break;
        if (e->in_system == 0) {
            e->begin -= e->pending.arrival - e->origin;
            e->origin = e->pending.arrival;
            e->now = e->known = 0.0;
            e->held_slots = 0;
            e->held_blocks = 0;
            plain_engine_arrive(e);
        } else {
            step(e);
        }
    }
    if (!after) end_measuring(e);
}

static void conclude(plain_engine *e)
{
    spec_serving_result *r = e->result;
    r->sums = e->of_requests;
    if (e->n_early == 0 || r->n == e->n_early) return;
    r->early = e->early / (double)e->n_early;
    r->late = (r->sums.latency - e->early) / (double)(r->n - e->n_early);
}

spec_serving_result plain_serving_run(const spec_serving_plan *plan, uint64_t seed, uint64_t stream)
{
    spec_serving_result result = {0};
    plain_engine e = {.plan = plan, .result = &result, .K_max = spec_length_K_max(plan->lengths)};
    const size_t slots = (size_t)plan->slots;
    list_init(&e.queue);
    list_init(&e.running);
    uniforms_init(&e.accept, seed, "serving accept", stream);
    uniforms_init(&e.repeat, seed, "serving repeat", stream);
    uniforms_init(&e.guess, seed, "serving guess", stream);
    assert_non_null(e.slot_taken = calloc(slots, sizeof *e.slot_taken));
    assert_non_null(e.rows = calloc(5 * slots, sizeof *e.rows));
    e.alpha = (float *)e.rows;
    e.slot = e.rows + slots;
    e.K = e.slot + slots;
    e.accepted = e.K + slots;
    e.context = e.accepted + slots;
    assert_non_null(e.batch = calloc(slots, sizeof *e.batch));
    assert_int_equal(spec_length_begin(&e.state, plan->lengths, plan->slots), GSL_SUCCESS);
    assert_non_null(e.cursor = plan->requests.begin(plan->requests.self, seed, stream));
    e.more = plan->requests.next(e.cursor, &e.pending);
    run(&e);
    conclude(&e);
    plan->requests.end(e.cursor);
    spec_length_end(e.state);
    while (e.queue.head != NULL) free_head(&e.queue);
    while (e.running.head != NULL) free_head(&e.running);
    free(e.slot_taken);
    free(e.rows);
    free(e.batch);
    return result;
}
