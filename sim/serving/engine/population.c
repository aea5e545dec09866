/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/engine/population.h"

#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

/* ---- arrivals -------------------------------------------------------------------------------- */

static int check(const spec_engine *e, const spec_request *r, double earliest)
{
    enum { MOST = 1 << 29 };
    const unsigned number = e->joined + 1;
    if (r->prompt < 0 || r->output < 1 || r->prompt > MOST || r->output > MOST ||
        !(r->alpha >= 0.0f && r->alpha <= 1.0f))
        return spec_fail(e->error, GSL_EINVAL,
                         "request %u: prompt %d, output %d, alpha %g is outside the domain", number,
                         r->prompt, r->output, (double)r->alpha);
    if (!(r->arrival >= earliest && isfinite(r->arrival)))
        return spec_fail(e->error, GSL_EINVAL, "request %u: arrival at %g s after one at %g s",
                         number, r->arrival, earliest);
    const int64_t blocks = spec_kv_blocks_of(&e->blocks, (int64_t)r->prompt + r->output + e->K_max);
    if (e->blocks.most > 0 && blocks > e->blocks.most)
        return spec_fail(e->error, GSL_EINVAL,
                         "request %u: prompt %d, output %d and drafts of %d need %lld KV blocks of "
                         "%lld: use more blocks, or shorter requests",
                         number, r->prompt, r->output, e->K_max, (long long)blocks,
                         (long long)e->blocks.most);
    return GSL_SUCCESS;
}

int spec_population_pull(spec_engine *e)
{
    const double earliest = e->plan->closed ? 0.0 : e->pending.arrival;
    e->more = e->plan->requests.next(e->cursor, &e->pending);
    return e->more ? check(e, &e->pending, earliest) : GSL_SUCCESS;
}

/* Adds the pending request to the queue, and makes the source's next one pending. */
static int join(spec_engine *e)
{
    int32_t member;
    /* If blocks are not limited, a request that is already under way has its context in the cache.
     * If the engine had to compute all these contexts, it would be overloaded, and a busy engine
     * takes long to recover. */
    const int32_t cached = e->pending.begun && e->plan->blocks == 0 ? e->pending.prompt : 0;
    if (spec_members_add(&e->members, &member) != GSL_SUCCESS) return spec_no_memory(e->error);
    spec_member *m = &e->members.at[member];
    *m = (spec_member){.request = e->pending,
                       .wait = -1.0,
                       .first = -1.0,
                       .index = e->joined,
                       .left = e->pending.output,
                       .todo = e->pending.prompt - cached,
                       .cached = cached,
                       .seen = cached,
                       .last = -1.0f,
                       .cold = true};
    m->request.arrival = e->plan->closed ? e->now : spec_population_pending(e);
    spec_members_append(&e->members, member);
    e->joined += !m->request.begun;
    e->in_system++;
    return spec_population_pull(e);
}

int spec_population_arrive(spec_engine *e)
{
    const bool closed = e->plan->closed;
    int status = GSL_SUCCESS;
    while (status == GSL_SUCCESS && e->more && e->in_system < SPEC_ENGINE_MOST &&
           (closed ? e->in_system < e->plan->slots : spec_population_pending(e) <= e->now)) {
        if (!closed) e->result->sums.in_system += e->now - spec_population_pending(e);
        status = join(e);
    }
    return status;
}

/* ---- entry ----------------------------------------------------------------------------------- */

spec_member *spec_population_next(const spec_engine *e)
{
    spec_member *m = spec_members_head(&e->members);
    const int running = e->decoding.n + e->n_prefill + e->late_slots;
    return m != NULL && running < e->plan->slots && m->request.arrival <= e->known ? m : NULL;
}

/* Takes a free slot and returns its number. */
static int take_slot(spec_engine *e, int32_t *ret_slot)
{
    if (e->n_spare_slot > 0) {
        *ret_slot = e->spare_slot[--e->n_spare_slot];
        return GSL_SUCCESS;
    }
    if (e->next_slot == e->slot_capacity) {
        const int capacity = e->slot_capacity == 0 ? 64 : 2 * e->slot_capacity;
        int32_t *grown = realloc(e->spare_slot, (size_t)capacity * sizeof *grown);
        if (grown == NULL) return GSL_ENOMEM;
        e->spare_slot = grown;
        e->slot_capacity = capacity;
    }
    *ret_slot = e->next_slot++;
    return GSL_SUCCESS;
}

int spec_population_decode(spec_engine *e, int32_t member)
{
    if (spec_decoding_insert(&e->decoding, e->members.at, member) != GSL_SUCCESS)
        return spec_no_memory(e->error);
    if (e->learns) spec_length_enter(e->plan->lengths, e->choice_state, e->members.at[member].slot);
    return GSL_SUCCESS;
}

int spec_population_enter(spec_engine *e)
{
    const int32_t member = spec_members_pop(&e->members);
    spec_member *m = &e->members.at[member];
    if (m->wait < 0.0) m->wait = e->now - m->request.arrival;
    m->entry = e->entered++;
    if (take_slot(e, &m->slot) != GSL_SUCCESS) return spec_no_memory(e->error);
    if (m->todo == 0) return spec_population_decode(e, member);
    if (e->n_prefill == e->prefill_capacity) {
        const int capacity = e->prefill_capacity == 0 ? 64 : 2 * e->prefill_capacity;
        int32_t *grown = realloc(e->prefill, (size_t)capacity * sizeof *grown);
        if (grown == NULL) return spec_no_memory(e->error);
        e->prefill = grown;
        e->prefill_capacity = capacity;
    }
    e->prefill[e->n_prefill++] = member;
    return GSL_SUCCESS;
}

/* ---- exit ------------------------------------------------------------------------------------ */

/* Frees the blocks and the slot of a member that no longer runs. */
static void release(spec_engine *e, spec_member *m)
{
    if (e->blocks.most > 0) {
        const int64_t n = m->held / e->blocks.size;
        e->blocks.used -= n;
        e->result->sums.blocks_freed += (uint64_t)n;
        m->held = 0;
    }
    e->spare_slot[e->n_spare_slot++] = m->slot;
}

int32_t spec_population_preempt(spec_engine *e)
{
    spec_member *at = e->members.at;
    const spec_decoding *d = &e->decoding;
    const bool is_prefill =
        e->n_prefill > 0 &&
        (d->n == 0 || at[e->prefill[e->n_prefill - 1]].entry > at[d->member[d->n - 1]].entry);
    const int32_t member =
        is_prefill ? e->prefill[--e->n_prefill] : spec_decoding_take_youngest(&e->decoding, at);
    spec_member *m = &at[member];
    e->result->sums.preempted++;
    e->result->sums.recomputed_tokens += (uint64_t)m->cached;
    release(e, m);
    m->cached = 0;
    m->chunk = 0;
    m->cold = true;
    m->seen = 0;
    m->todo = m->request.prompt + (m->request.output - m->left);
    spec_members_prepend(&e->members, member);
    if (e->served > d->n) e->served = d->n;
    e->preempted = true;
    return member;
}

void spec_population_leave(spec_engine *e, int32_t member)
{
    spec_member *m = &e->members.at[member];
    if (e->plan->asynchronous) {
        e->late_slots++;
        e->blocks.late += e->blocks.most > 0 ? m->held / e->blocks.size : 0;
    }
    release(e, m);
    spec_members_remove(&e->members, member);
    e->in_system--;
}
