/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_run: a serving engine with speculation on a virtual clock, by continuous batching.
 * Each step schedules, takes the time of its work, and emits, as the scheduler of vLLM V1 does. A
 * run is a function of its plan, the seed and the stream: threads and instruction sets give the
 * same bytes. */
#ifndef SPECLAB_SERVING_RUN_H
#define SPECLAB_SERVING_RUN_H

#include "sim/serving/serving_plan.h"
#include "speclab/status.h"

/* A step, exactly:
 *
 *  1. Requests that arrived join the queue, which is in order of arrival. In a closed loop the next
 *     request joins where one completed, so that `slots` are in the system at all times.
 *  2. Requests without a prompt enter from the head of the queue, while a slot is free, and K_max +
 *     1 tokens per decoding request are within the budget and fit in free blocks.
 *  3. The choice gives K_r to each decoding request. In order of entry they take K_r + 1 tokens of
 *     the budget, fewer (a shorter draft) where less is left; without a token they sit out.
 *  4. Each takes KV blocks for context + K_r + 1 tokens. Without a free block the youngest running
 *     request is preempted, possibly itself: it loses its blocks and goes to the head of the queue,
 *     and its emitted tokens become prompt.
 *  5. Running prefills, in order of entry, take a chunk each from the rest of the budget, and its
 *     blocks in the same way.
 *  6. Requests with a prompt enter from the head of the queue with a first chunk, while slots and
 *     budget last, and blocks for the whole prompt are free; none in a step that preempted. Only
 *     the chunk's blocks are taken.
 *  7. The step takes the time of its work. Then each decoding request emits n_accepted + 1 tokens,
 *     cut at its length, and a prompt that is complete emits one token.
 *
 * The context of a decoding request is prompt + emitted - 1 tokens, because its newest token is not
 * in the KV cache; without a prompt, emitted. A step reads the contexts of its decoding requests,
 * and those parts of prompts that are in the cache before their chunk. */

/* GSL_EINVAL for a plan outside its domain, a request that cannot fit in blocks or budget, or a
 * source that ends before the measured part; GSL_ENOMEM; GSL_EFAILED where *opt_stop was set. The
 * result must be freed; it is zero on failure. */
int spec_serving_run(spec_serving_result *ret_result, const spec_serving_plan *plan, uint64_t seed,
                     uint64_t stream, const volatile int *opt_stop, spec_error *error);
void spec_serving_result_free(spec_serving_result *result);

#endif
