/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/engine/step_time.h"

#include "sim/serving/engine/draft_cache.h"

static double target_time(const spec_engine *e, const spec_step_work *work)
{
    return e->opt_affine != NULL ? spec_affine_step_target(e->opt_affine, work)
                                 : spec_step_cost_target(e->plan->cost, work);
}

static double draft_time(const spec_engine *e, const spec_step_work *work)
{
    return e->opt_affine != NULL ? spec_affine_step_draft(e->opt_affine, work)
                                 : spec_step_cost_draft(e->plan->cost, work);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Adds a round that drafts `drafted` tokens and verifies K of them. */
static void add_round(spec_step_work *work, int64_t context, int K, int drafted)
{
    work->decode_tokens += K + 1;
    work->kv_tokens += context;
    work->drafted += drafted;
    work->decoding++;
    if (drafted > work->passes) work->passes = drafted;
}

static int drafted_by(const spec_engine *e, int i)
{
    return e->drafts_all ? e->K_max : e->K_r[i];
}

static int64_t context_of(const spec_decoding *d, int i)
{
    return d->base[i] - d->left[i];
}

static spec_step_work prompts(const spec_engine *e)
{
    spec_step_work work = {0};
    for (int i = 0; i < e->n_prefill; i++) {
        const spec_member *m = &e->members.at[e->prefill[i]];
        if (m->chunk == 0) continue;
        work.prompt_tokens += m->chunk;
        work.kv_tokens += m->cached;
    }
    return work;
}

/* Returns the time of a step that drafts ahead. Cold requests draft first, or ride with K_r = 0
 * while all others draft. Drafting ahead takes one token more, the guess of the bonus token. */
static double ahead_time(spec_engine *e, spec_step_work *work)
{
    const spec_decoding *d = &e->decoding;
    spec_step_work cold = {0}, ahead = {0};
    for (int i = 0; i < e->served; i++) {
        const int64_t context = context_of(d, i);
        const bool is_cold = e->members.at[d->member[i]].cold;
        const int drafted = drafted_by(e, i);
        if (drafted > 0) add_round(&ahead, context, drafted + 1, drafted + 1);
        if (is_cold && e->plan->miss_rides) e->K_r[i] = 0;
        if (is_cold && !e->plan->miss_rides && drafted > 0)
            add_round(&cold, context, drafted, drafted);
        add_round(work, context, e->K_r[i], drafted_by(e, i));
    }
    return larger(target_time(e, work), draft_time(e, &ahead)) + draft_time(e, &cold);
}

/* Returns the time of a step that serves two halves in turn: the older requests with the prompts,
 * and the younger ones. */
static double halves_time(const spec_engine *e, spec_step_work *work)
{
    const spec_decoding *d = &e->decoding;
    spec_step_work half[2] = {*work, {0}};
    for (int i = 0; i < e->served; i++) {
        add_round(&half[i >= (e->served + 1) / 2], context_of(d, i), e->K_r[i], drafted_by(e, i));
        add_round(work, context_of(d, i), e->K_r[i], drafted_by(e, i));
    }
    const double V1 = target_time(e, &half[0]), D1 = draft_time(e, &half[0]);
    if (e->served < 2) return D1 + V1;
    const double V2 = target_time(e, &half[1]), D2 = draft_time(e, &half[1]);
    return larger(larger(D1 + V1, D2 + V2), larger(V1 + V2, D1 + D2));
}

/* Adds the tokens that the draft computes to fill its cache. */
static void feed(const spec_engine *e, spec_step_work *work)
{
    const spec_decoding *d = &e->decoding;
    if (e->cache == SPEC_CACHE_FED) work->fed = work->prompt_tokens;
    for (int i = 0; i < e->served; i++)
        work->fed += spec_draft_cache_tokens(e, &e->members.at[d->member[i]], context_of(d, i),
                                             drafted_by(e, i));
    if (work->fed > 0 && work->passes == 0) work->passes = 1;
}

double spec_step_time(spec_engine *e, spec_step_work *work)
{
    const spec_decoding *d = &e->decoding;
    *work = prompts(e);
    if (e->K >= 0) {
        work->decode_tokens = (int64_t)e->served * (e->K + 1);
        work->kv_tokens += d->context;
        work->drafted = (int64_t)e->served * e->K;
        work->decoding = e->served;
        work->passes = e->served > 0 ? e->K : 0;
    } else {
        spec_decoding_flatten(&e->decoding, e->members.at);
        if (e->plan->place == SPEC_DRAFT_AHEAD) return ahead_time(e, work);
        if (e->plan->place == SPEC_DRAFT_HALVES) return halves_time(e, work);
        for (int i = 0; i < e->served; i++)
            add_round(work, context_of(d, i), e->K_r[i], drafted_by(e, i));
    }
    if (e->cache != SPEC_CACHE_FREE) feed(e, work);
    return target_time(e, work) + draft_time(e, work);
}
