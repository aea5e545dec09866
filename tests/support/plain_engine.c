/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/plain_engine.h"

#include "tests/support/support.h"

#include <assert.h>

/* ---- requests -------------------------------------------------------------------------------- */

static int64_t ceil_div(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

static void next_request(plain_engine *e)
{
    e->more = e->plan->requests.next(e->cursor, &e->pending);
}

/* Moves the pending request to the queue, and makes the next one pending. */
static void join(plain_engine *e)
{
    member *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->request = e->pending;
    m->request.arrival = e->plan->closed ? e->now : e->pending.arrival - e->origin;
    m->index = e->joined;
    e->joined += !m->request.begun;
    m->left = m->request.output;
    if (m->request.begun && e->plan->blocks == 0) m->cached = m->seen = m->request.prompt;
    m->todo = m->request.prompt - m->cached;
    m->wait = m->first = -1.0;
    m->last = -1.0f;
    m->cold = true;
    list_append(&e->queue, m);
    e->in_system++;
    next_request(e);
}

/* Moves the requests that have arrived to the queue. */
void plain_engine_arrive(plain_engine *e)
{
    const bool closed = e->plan->closed;
    while (e->more && (closed ? e->in_system < e->plan->slots
                              : e->pending.arrival - e->origin <= e->now)) {
        if (!closed) e->result->sums.in_system += e->now - (e->pending.arrival - e->origin);
        join(e);
    }
}

static void enter(plain_engine *e)
{
    member *m = e->queue.head;
    list_remove(&e->queue, m);
    list_append(&e->running, m);
    e->n_running++;
    if (m->wait < 0.0) m->wait = e->now - m->request.arrival;
    m->slot = 0;
    while (e->slot_taken[m->slot]) m->slot++;
    e->slot_taken[m->slot] = true;
    m->K = -1;
    m->chunk = 0;
    if (m->todo == 0) spec_length_enter(e->plan->lengths, e->state, m->slot);
}

/* ---- KV blocks ------------------------------------------------------------------------------- */

static void take_blocks(plain_engine *e, member *m, int64_t need)
{
    m->blocks += need;
    e->used += need;
    e->result->sums.blocks_taken += (uint64_t)need;
}

/* Counts the slots and blocks in use, as far as the scheduler knows. */
static int slots_in_use(const plain_engine *e)
{
    return e->n_running + e->held_slots;
}

static int64_t blocks_in_use(const plain_engine *e)
{
    return e->used + e->held_blocks;
}

static member *head_of_queue(const plain_engine *e)
{
    member *m = e->queue.head;
    return m != NULL && m->request.arrival <= e->known ? m : NULL;
}

void plain_engine_leave(plain_engine *e, member *m)
{
    list_remove(&e->running, m);
    e->n_running--;
    e->slot_taken[m->slot] = false;
    e->used -= m->blocks;
    e->result->sums.blocks_freed += (uint64_t)m->blocks;
    m->blocks = 0;
}

static void preempt(plain_engine *e, member *m)
{
    plain_engine_leave(e, m);
    e->result->sums.preempted++;
    e->result->sums.recomputed_tokens += (uint64_t)m->cached;
    m->cached = 0;
    m->seen = 0;
    m->K = -1;
    m->cold = true;
    m->todo = m->request.prompt + (m->request.output - m->left);
    list_prepend(&e->queue, m);
    e->preempted = true;
}

/* Takes blocks for `tokens` tokens of a running request; returns false if the request itself was
 * preempted. */
static bool fit(plain_engine *e, member *m, int64_t tokens)
{
    if (e->plan->blocks == 0) return true;
    const int64_t need = ceil_div(tokens, e->plan->block) - m->blocks;
    while (need > 0 && blocks_in_use(e) + need > e->plan->blocks) {
        member *youngest = list_last(&e->running);
        preempt(e, youngest);
        if (youngest == m) return false;
    }
    if (need > 0) take_blocks(e, m, need);
    return true;
}

/* ---- schedule -------------------------------------------------------------------------------- */

static void enter_without_prompt(plain_engine *e)
{
    const spec_serving_plan *plan = e->plan;
    int64_t decoding = 0, reserved = 0;
    for (member *m = e->running.head; m != NULL; m = m->next) decoding += m->todo == 0;
    while (head_of_queue(e) != NULL && head_of_queue(e)->todo == 0 &&
           slots_in_use(e) < plan->slots) {
        if (plan->budget > 0 && (decoding + 1) * (e->K_max + 1) > plan->budget) return;
        if (plan->blocks > 0) {
            reserved += ceil_div(e->K_max + 1, plan->block);
            if (blocks_in_use(e) + reserved > plan->blocks) return;
        }
        enter(e);
        decoding++;
    }
}

/* Sets K_r of the decoding requests, by the choice and the budget. */
static void choose(plain_engine *e, spec_step_batch *batch)
{
    const spec_serving_plan *plan = e->plan;
    int n = 0;
    spec_step_work fixed = {0};
    for (member *m = e->running.head; m != NULL; m = m->next) {
        m->K = -1;
        m->chunk = 0;
        if (m->todo > 0) continue;
        e->batch[n] = m;
        e->alpha[n] = alpha_of(e, m);
        e->context[n] = m->cached;
        e->slot[n] = m->slot;
        fixed.kv_tokens += m->cached;
        n++;
    }
    fixed.decoding = n;
    int64_t left = plan->budget > 0 ? plan->budget - n : INT64_MAX;
    for (member *m = e->running.head; m != NULL && left > 0; m = m->next) {
        if (m->todo == 0) continue;
        const int64_t most = plan->chunk > 0 ? plan->chunk : INT64_MAX;
        const int chunk = smaller(m->todo, most < left ? most : left);
        fixed.prompt_tokens += chunk;
        fixed.kv_tokens += m->cached;
        left -= chunk;
    }
    *batch = (spec_step_batch){n, e->alpha, e->slot, fixed, e->context};
    e->n_batch = n;
    e->budget_left = plan->budget > 0 ? plan->budget : INT64_MAX;
    if (n == 0) return;
    const int common = spec_length_choose(plan->lengths, e->state, batch, e->K);
    e->n_batch = 0;
    for (int i = 0; i < n && e->budget_left > 0; i++, e->n_batch++) {
        if (common >= 0) e->K[i] = common;
        assert(e->K[i] >= 0 && e->K[i] <= e->K_max);
        e->K[i] = smaller(e->K[i], e->budget_left - 1);
        e->budget_left -= e->K[i] + 1;
        e->batch[i]->K = e->K[i];
    }
}

/* Sets the chunk of a prefill from the rest of the budget. */
static int chunk_of(const plain_engine *e, const member *m)
{
    const int64_t most = e->plan->chunk > 0 ? e->plan->chunk : INT64_MAX;
    return smaller(m->todo, most < e->budget_left ? most : e->budget_left);
}

static void schedule(plain_engine *e)
{
    const spec_serving_plan *plan = e->plan;
    for (member *m = e->running.head; m != NULL; m = m->next) {
        if (m->K >= 0 && !fit(e, m, (int64_t)m->cached + m->K + 1)) break;
    }
    e->budget_left = plan->budget > 0 ? plan->budget : INT64_MAX;
    for (member *m = e->running.head; m != NULL; m = m->next) e->budget_left -= m->K + 1;
    for (member *m = e->running.head; m != NULL; m = m->next) {
        if (m->todo == 0) continue;
        const int chunk = chunk_of(e, m);
        if (chunk == 0 || !fit(e, m, (int64_t)m->cached + chunk)) break;
        m->chunk = chunk;
        e->budget_left -= chunk;
    }
    while (!e->preempted && head_of_queue(e) != NULL && head_of_queue(e)->todo > 0 &&
           slots_in_use(e) < plan->slots) {
        member *m = head_of_queue(e);
        const int chunk = chunk_of(e, m);
        if (chunk == 0) return;
        const int64_t need = plan->blocks > 0 ? ceil_div(chunk, plan->block) : 0;
        if (plan->blocks > 0 && blocks_in_use(e) + ceil_div(m->todo, plan->block) > plan->blocks)
            return;
        enter(e);
        take_blocks(e, m, need);
        m->chunk = chunk;
        e->budget_left -= chunk;
    }
}

void plain_engine_schedule(plain_engine *e, spec_step_batch *batch)
{
    e->preempted = false;
    enter_without_prompt(e);
    choose(e, batch);
    schedule(e);
}
