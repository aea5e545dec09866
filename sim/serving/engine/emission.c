/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/engine/emission.h"

#include "sim/serving/engine/draft_cache.h"
#include "sim/serving/engine/population.h"
#include "sim/serving/engine/serving_times.h"
#include "speclab/no_memory.h"

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Runs a round in which all requests draft K > 0 tokens. The buffers of uniform numbers may end
 * within the batch. */
static bool common_rounds(spec_engine *e)
{
    spec_decoding *d = &e->decoding;
    spec_serving_sums *sums = &e->result->sums;
    const int K = e->K;
    int completed = 0;
    int64_t accepted = 0, emitted = 0;
    spec_decoding_flatten(d, e->members.at);
    for (int i = 0; i < d->n;) {
        int n = (int)spec_engine_min(d->n - i, spec_uniforms_refill(&e->accept));
        spec_common_rounds rounds = {.K = K,
                                     .word = e->accept.word + e->accept.next,
                                     .alpha = d->alpha + i,
                                     .left = d->left + i,
                                     .opt_past = d->past != NULL ? d->past + i : NULL};
        if (d->last != NULL) {
            n = (int)spec_engine_min(n, spec_uniforms_refill(&e->repeat));
            rounds.opt_last = d->last + i;
            rounds.again = e->repeat.word + e->repeat.next;
            rounds.stay = (float)e->plan->stay;
            e->repeat.next += n;
        }
        rounds.n = n;
        const spec_common_rounds_sums part = e->kernel(&rounds);
        e->accept.next += n;
        accepted += part.accepted;
        emitted += part.emitted;
        completed += part.completed;
        i += n;
    }
    d->context += emitted;
    d->tokens += K + 1;
    d->drafted += K;
    d->rounds++;
    sums->drafted += (uint64_t)K * (uint64_t)d->n;
    sums->accepted += (uint64_t)accepted;
    sums->emitted += (uint64_t)emitted;
    sums->cut += (uint64_t)(accepted + d->n - emitted);
    return completed > 0;
}

static int draw(spec_engine *e, int i)
{
    spec_decoding *d = &e->decoding;
    spec_member *m = &e->members.at[d->member[i]];
    const int K = e->K_r[i];
    if (m->request.replay >= 0)
        return spec_accepted_lengths_next(e->plan->opt_accepted, m->request.replay, &m->place, K);
    if (K == 0) return 0;
    float number = spec_uniforms_next(&e->accept);
    if (d->last != NULL) {
        const bool again = spec_uniforms_next(&e->repeat) < (float)e->plan->stay;
        if (again && d->last[i] >= 0.0f) number = d->last[i];
        d->last[i] = number;
    }
    if (e->plan->n_rates == 0) return spec_common_rounds_accepted(number, d->alpha[i], K);
    int n = 0;
    while (n < K && number < e->plan->rate[n]) n++;
    return n;
}

static bool ragged_rounds(spec_engine *e)
{
    spec_decoding *d = &e->decoding;
    spec_serving_sums *sums = &e->result->sums;
    bool completed = false, any = false;
    for (int i = 0; i < e->served; i++) {
        spec_member *m = &e->members.at[d->member[i]];
        const int K = e->K_r[i], n_accepted = draw(e, i);
        const int drafted = e->drafts_all ? e->K_max : K;
        const int emitted = (int)spec_engine_min(n_accepted + 1, d->left[i]);
        const int64_t context = d->base[i] - d->left[i];
        if (e->plan->place == SPEC_DRAFT_AHEAD)
            m->cold = n_accepted < K || spec_uniforms_next(&e->guess) >= (float)e->plan->guess;
        m->tokens += K + 1;
        m->kv += context;
        m->drafted += drafted + spec_draft_cache_tokens(e, m, context, drafted);
        spec_draft_cache_advance(e, m, context + emitted, drafted);
        any = any || drafted > 0;
        d->left[i] -= emitted;
        d->context += emitted;
        e->accepted[i] = n_accepted;
        completed = completed || d->left[i] == 0;
        sums->drafted += (uint64_t)drafted;
        sums->accepted += (uint64_t)n_accepted;
        sums->emitted += (uint64_t)emitted;
        sums->cut += (uint64_t)(n_accepted + 1 - emitted);
    }
    if (e->cache == SPEC_CACHE_DROPPED && !any) e->drop++;
    return completed;
}

/* Records the first tokens of requests without a prompt. */
static void start(spec_engine *e)
{
    spec_decoding *d = &e->decoding;
    int unseen = d->unstarted;
    for (int i = d->n - 1; unseen > 0; i--) {
        spec_member *m = &e->members.at[d->member[i]];
        if (m->first >= 0.0) continue;
        unseen--;
        if (i >= e->served) continue;
        m->first = e->now;
        d->unstarted--;
    }
}

bool spec_emission_rounds(spec_engine *e)
{
    spec_decoding *d = &e->decoding;
    if (e->served == 0) return false;
    if (d->unstarted > 0) start(e);
    e->result->sums.rounds += (uint64_t)e->served;
    if (e->K < 0) return ragged_rounds(e);
    if (e->K > 0) return common_rounds(e);
    e->result->sums.emitted += (uint64_t)d->n;
    return spec_decoding_advance(d, e->members.at);
}

/* ---- completions ----------------------------------------------------------------------------- */

static int complete(spec_engine *e, int32_t member)
{
    spec_population_leave(e, member);
    return spec_serving_times_add(e, &e->members.at[member]);
}

static int advance_prefill(spec_engine *e, int32_t member)
{
    spec_member *m = &e->members.at[member];
    m->tokens += m->chunk;
    m->kv += m->cached;
    if (e->cache == SPEC_CACHE_FED) m->drafted += m->chunk;
    m->todo -= m->chunk;
    m->cached += m->chunk;
    if (m->todo > 0) {
        e->prefill[e->n_prefill++] = member;
        return GSL_SUCCESS;
    }
    e->result->sums.emitted++;
    e->result->sums.first++;
    m->left--;
    if (m->first < 0.0) m->first = e->now;
    return m->left == 0 ? complete(e, member) : spec_population_decode(e, member);
}

int spec_emission_complete(spec_engine *e, bool rounds_completed)
{
    int status = GSL_SUCCESS;
    if (rounds_completed) {
        const int n = spec_decoding_take_completed(&e->decoding, e->members.at);
        for (int i = 0; i < n; i++) SPEC_TRY(complete(e, e->decoding.out[i]));
    }
    const int n = e->n_prefill;
    e->n_prefill = 0;
    for (int i = 0; i < n; i++) {
        const int32_t member = e->prefill[i];
        if (e->members.at[member].chunk == 0)
            e->prefill[e->n_prefill++] = member;
        else
            SPEC_TRY(advance_prefill(e, member));
    }
done:
    return status;
}
