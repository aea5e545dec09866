/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/engine/scheduler.h"

#include "sim/serving/engine/population.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <stdlib.h>

static int64_t or_no_limit(int64_t limit)
{
    return limit > 0 ? limit : INT64_MAX;
}

/* ---- requests without a prompt --------------------------------------------------------------- */

static int enter_without_prompt(spec_engine *e)
{
    const int64_t budget = or_no_limit(e->plan->budget), tokens = e->K_max + 1;
    int64_t reserved = 0;
    int status = GSL_SUCCESS;
    for (const spec_member *m; status == GSL_SUCCESS && (m = spec_population_next(e)) != NULL;) {
        if (m->todo > 0 || (e->decoding.n + 1) * tokens > budget) break;
        reserved += spec_kv_blocks_of(&e->blocks, tokens);
        if (!spec_kv_blocks_has(&e->blocks, reserved)) break;
        status = spec_population_enter(e);
    }
    return status;
}

/* ---- lengths --------------------------------------------------------------------------------- */

static int64_t chunk_of(const spec_engine *e, const spec_member *m, int64_t left)
{
    return spec_engine_min(m->todo, spec_engine_min(or_no_limit(e->plan->chunk), left));
}

/* Returns the step's work without the tokens of decoding requests, as far as it is known. */
static spec_step_work fixed_work(const spec_engine *e)
{
    spec_step_work fixed = {.kv_tokens = e->decoding.context, .decoding = e->decoding.n};
    int64_t left = or_no_limit(e->plan->budget) - e->decoding.n;
    for (int i = 0; i < e->n_prefill && left > 0; i++) {
        const spec_member *m = &e->members.at[e->prefill[i]];
        const int64_t chunk = chunk_of(e, m, left);
        fixed.prompt_tokens += chunk;
        fixed.kv_tokens += m->cached;
        left -= chunk;
    }
    return fixed;
}

static int reserve_rows(spec_engine *e)
{
    const int capacity = e->decoding.capacity;
    if (capacity == e->row_capacity) return GSL_SUCCESS;
    int32_t **const row[] = {&e->K_r, &e->accepted, &e->slot, &e->context};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int32_t *grown = realloc(*row[i], (size_t)capacity * sizeof *grown);
        if (grown == NULL) return spec_no_memory(e->error);
        *row[i] = grown;
    }
    e->row_capacity = capacity;
    return GSL_SUCCESS;
}

static void fill_rows(spec_engine *e)
{
    const spec_decoding *d = &e->decoding;
    for (int i = 0; i < d->n; i++) e->slot[i] = e->members.at[d->member[i]].slot;
    e->batch.alpha = d->alpha;
    e->batch.slot = e->slot;
}

static void fill_contexts(spec_engine *e)
{
    const spec_decoding *d = &e->decoding;
    for (int i = 0; i < d->n; i++) e->context[i] = d->base[i] - (d->left[i] - d->plain);
    e->batch.context = e->context;
}

/* Fills in alpha for the rounds of this step, which depends on the context. */
static void fill_alpha(spec_engine *e, const spec_context_steps *steps)
{
    spec_decoding *d = &e->decoding;
    float value[SPEC_CONTEXT_STEPS_MAX];
    for (int j = 0; j < steps->n; j++) value[j] = (float)steps->value[j];
    for (int i = 0; i < d->n; i++) {
        const int32_t context = d->base[i] - (d->left[i] - d->plain);
        float alpha = value[0];
        for (int j = 1; j < steps->n; j++) alpha = context >= steps->from[j] ? value[j] : alpha;
        d->alpha[i] = alpha;
    }
}

/* Shortens K_r so that the step stays within its budget. Requests for which no token is left sit
 * out. */
static void trim_to_budget(spec_engine *e)
{
    int64_t left = or_no_limit(e->plan->budget);
    int i = 0;
    for (; i < e->decoding.n && left > 0; i++) {
        const int32_t K = e->K < 0 ? e->K_r[i] : e->K;
        assert(K >= 0 && K <= e->K_max);
        e->K_r[i] = (int32_t)spec_engine_min(K, left - 1);
        left -= e->K_r[i] + 1;
    }
    e->served = i;
    e->K = -1;
}

static int choose_lengths(spec_engine *e)
{
    const int n = e->decoding.n;
    e->K = 0;
    e->served = n;
    e->batch = (spec_step_batch){.n = n};
    if (n == 0) return GSL_SUCCESS;
    if (e->reads || e->reads_context || e->ragged || e->plan->budget > 0) {
        const int status = reserve_rows(e);
        if (status != GSL_SUCCESS) return status;
    }
    e->batch.fixed = fixed_work(e);
    if (e->plan->opt_alpha != NULL && e->K_max > 0) fill_alpha(e, e->plan->opt_alpha);
    if (e->reads) fill_rows(e);
    if (e->reads_context) fill_contexts(e);
    e->K = spec_length_choose(e->plan->lengths, e->choice_state, &e->batch, e->K_r);
    assert(e->K <= e->K_max);
    if (e->K < 0 || e->ragged || (e->K + 1) * (int64_t)n > or_no_limit(e->plan->budget))
        trim_to_budget(e);
    return GSL_SUCCESS;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Takes n blocks; if too few are free, preempts the youngest requests. Returns false if `member`
 * itself was preempted. */
static bool take_blocks(spec_engine *e, int64_t n, int32_t member)
{
    while (!spec_kv_blocks_has(&e->blocks, n))
        if (spec_population_preempt(e) == member) return false;
    e->blocks.used += n;
    e->result->sums.blocks_taken += (uint64_t)n;
    return true;
}

/* Takes blocks for `tokens` tokens, of which the member already holds `held`. Returns how many
 * tokens then fit, or -1 if the member itself was preempted. */
static int32_t hold(spec_engine *e, int32_t member, int64_t held, int64_t tokens)
{
    const int64_t n = spec_kv_blocks_of(&e->blocks, tokens) - held / e->blocks.size;
    if (!take_blocks(e, n, member)) return -1;
    return (int32_t)(held + n * e->blocks.size);
}

static void take_blocks_of_rounds(spec_engine *e)
{
    spec_decoding *d = &e->decoding;
    for (int i = 0; i < e->served; i++) {
        const int64_t context = d->base[i] - (d->left[i] - d->plain);
        const int64_t tokens = context + 1 + (e->K < 0 ? e->K_r[i] : e->K);
        if (tokens <= d->held[i]) continue;
        const int32_t held = hold(e, d->member[i], d->held[i], tokens);
        if (held < 0) return;
        d->held[i] = held;
    }
}

/* ---- prompts --------------------------------------------------------------------------------- */

static void schedule_prefills(spec_engine *e)
{
    const bool limited = e->blocks.most > 0;
    for (int i = 0; i < e->n_prefill; i++) e->members.at[e->prefill[i]].chunk = 0;
    for (int i = 0; i < e->n_prefill; i++) {
        spec_member *m = &e->members.at[e->prefill[i]];
        const int64_t chunk = chunk_of(e, m, e->left), tokens = m->cached + chunk;
        if (chunk == 0) return;
        if (limited && tokens > m->held) {
            const int32_t held = hold(e, e->prefill[i], m->held, tokens);
            if (held < 0) return;
            m->held = held;
        }
        m->chunk = (int32_t)chunk;
        e->left -= chunk;
    }
}

static int enter_with_prompt(spec_engine *e)
{
    int status = GSL_SUCCESS;
    for (spec_member *m; status == GSL_SUCCESS && (m = spec_population_next(e)) != NULL;) {
        const int64_t chunk = chunk_of(e, m, e->left);
        if (chunk == 0) break; /* no budget left, or no prompt: see enter_without_prompt */
        if (e->blocks.most > 0) {
            if (!spec_kv_blocks_has(&e->blocks, spec_kv_blocks_of(&e->blocks, m->todo))) break;
            m->held = hold(e, -1, 0, chunk);
        }
        m->chunk = (int32_t)chunk;
        e->left -= chunk;
        status = spec_population_enter(e);
    }
    return status;
}

/* ---- step ------------------------------------------------------------------------------------ */

static int64_t decode_tokens(const spec_engine *e)
{
    if (e->K >= 0) return (int64_t)e->served * (e->K + 1);
    int64_t tokens = 0;
    for (int i = 0; i < e->served; i++) tokens += e->K_r[i] + 1;
    return tokens;
}

int spec_scheduler_schedule(spec_engine *e)
{
    int status = GSL_SUCCESS;
    e->preempted = false;
    e->served = 0;
    if (e->members.waiting > 0) SPEC_TRY(enter_without_prompt(e));
    SPEC_TRY(choose_lengths(e));
    if (e->blocks.most > 0) take_blocks_of_rounds(e);
    e->left = or_no_limit(e->plan->budget) - decode_tokens(e);
    schedule_prefills(e);
    if (!e->preempted && e->members.waiting > 0) SPEC_TRY(enter_with_prompt(e));
done:
    return status;
}
