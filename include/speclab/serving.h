/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving: plain records of a serving engine, which simulation writes and analysis reads.
 * An engine runs in steps (continuous batching): each step serves all running requests. A decoding
 * request gets its K + 1 tokens, and any other request a chunk of its prompt. Times are in seconds.
 * Headers only. */
#ifndef SPECLAB_SERVING_H
#define SPECLAB_SERVING_H

#include <stdint.h>

/* The work of one step. */
typedef struct {
    int64_t prompt_tokens; /* prompt tokens, in chunks, and tokens of recomputed texts */
    int64_t decode_tokens; /* tokens of decoding requests: the sum of K_r + 1 */
    int64_t kv_tokens;     /* in the KV caches that the step reads */
    int64_t drafted;       /* draft tokens: the sum of K_r */
    int decoding;          /* requests that are decoding */
    int passes;            /* sequential passes of the draft: the largest K_r */
    /* tokens that the draft computes to fill its own KV cache. It does so in its first pass, so
     * `passes` is then at least 1 */
    int64_t fed;
} spec_step_work;

/* Time of a step in seconds, affine in its work:
 *
 *     step + token (prompt_tokens + decode_tokens) + kv kv_tokens
 *          + [drafted + fed > 0] (draft_round + draft_pass passes + draft_token (drafted + fed))
 *
 * All are finite and >= 0, and step + token > 0. */
typedef struct {
    double step, token, kv;
    double draft_round, draft_pass, draft_token;
} spec_affine_step;

static inline double spec_affine_step_target(const spec_affine_step *cost,
                                             const spec_step_work *work)
{
    return cost->step + cost->token * (double)(work->prompt_tokens + work->decode_tokens) +
           cost->kv * (double)work->kv_tokens;
}

static inline double spec_affine_step_draft(const spec_affine_step *cost,
                                            const spec_step_work *work)
{
    const int64_t tokens = work->drafted + work->fed;
    if (tokens == 0) return 0.0;
    return cost->draft_round + cost->draft_pass * work->passes + cost->draft_token * (double)tokens;
}

/* Sums over the measured part of a run, and over the measured requests. The measured part lasts
 * from when the first of these requests arrives until the first request after them arrives. Each
 * measured request is followed to its last token, even if that comes later, so that long requests
 * are not under-represented. */
typedef struct {
    uint64_t requests, output_tokens; /* measured requests, and their tokens */
    /* rounds of decoding requests; their draft tokens, and how many of these were accepted */
    uint64_t rounds, drafted, accepted;
    uint64_t emitted; /* tokens, including the first tokens, from prefills */
    uint64_t first;   /* tokens emitted by prefills */
    uint64_t cut;     /* accepted or bonus tokens past the end of their request */
    uint64_t preempted, recomputed_tokens;
    uint64_t blocks_taken, blocks_freed;
    int64_t blocks_kept;    /* taken - freed: growth of the blocks in use */
    uint64_t blocks_in_use; /* sum over steps */
    uint64_t steps;
    uint64_t drafting, passes; /* steps in which the draft runs; sum over steps of the passes */
    uint64_t fed;              /* tokens that filled the draft's cache */
    double seconds;            /* length of the measured part */
    double batch, batch2;      /* sums over steps of the decoding requests, and of their square */
    double step;               /* sum over steps of their time, s */
    double in_system;          /* integral over time of the requests in the system */
    /* in_system, the emitted tokens, and the seconds that requests added to steps (the terms token,
     * kv and draft_token of an affine step; 0 for other costs, and for drafts ahead or in halves),
     * but summed over requests: we add the requests that completed in the measured part and what
     * the requests under way have at its end, and subtract what those under way had at its
     * beginning. */
    double present, extra;
    int64_t written;
    /* Sums over measured requests. Latency runs from arrival to the last token (latency2 sums its
     * square), and wait from arrival to when the request is first scheduled. per_token is the time
     * per token after the first, summed over the `longer` requests, which have more than one
     * token. */
    double latency, latency2, wait, first_token, per_token;
    uint64_t longer;
} spec_serving_sums;

/* Adds the sums of another run. */
static inline void spec_serving_sums_merge(spec_serving_sums *into, const spec_serving_sums *from)
{
    into->requests += from->requests;
    into->output_tokens += from->output_tokens;
    into->rounds += from->rounds;
    into->drafted += from->drafted;
    into->accepted += from->accepted;
    into->emitted += from->emitted;
    into->first += from->first;
    into->cut += from->cut;
    into->preempted += from->preempted;
    into->recomputed_tokens += from->recomputed_tokens;
    into->blocks_taken += from->blocks_taken;
    into->blocks_freed += from->blocks_freed;
    into->blocks_kept += from->blocks_kept;
    into->blocks_in_use += from->blocks_in_use;
    into->steps += from->steps;
    into->drafting += from->drafting;
    into->passes += from->passes;
    into->fed += from->fed;
    into->seconds += from->seconds;
    into->batch += from->batch;
    into->batch2 += from->batch2;
    into->step += from->step;
    into->in_system += from->in_system;
    into->present += from->present;
    into->extra += from->extra;
    into->written += from->written;
    into->latency += from->latency;
    into->latency2 += from->latency2;
    into->wait += from->wait;
    into->first_token += from->first_token;
    into->per_token += from->per_token;
    into->longer += from->longer;
}

#endif
