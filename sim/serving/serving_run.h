/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_run: runs a serving engine with speculation and continuous batching on a virtual clock.
 * Each step schedules, lets the time of its work pass, and emits, like the scheduler of vLLM V1. A
 * run depends only on its plan, the seed and the stream: any number of threads and any instruction
 * set give the same bytes. */
#ifndef SPECLAB_SERVING_RUN_H
#define SPECLAB_SERVING_RUN_H

#include "sim/serving/serving_plan.h"
#include "speclab/status.h"

/* What a step does, exactly:
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
 *  5. Running prefills, in order of entry, each take a chunk of the remaining budget, and blocks
 *     for it in the same way.
 *  6. Requests with a prompt enter from the head of the queue with a first chunk, while slots and
 *     budget last and blocks for the whole prompt are free. Only the chunk's blocks are taken. None
 *     enter in a step that preempted a request.
 *  7. The step takes the time of its work. Then each decoding request emits n_accepted + 1 tokens,
 *     cut at its length, and a prompt that is complete emits one token.
 *
 * The context of a decoding request is prompt + emitted - 1 tokens, because its newest token is not
 * yet in the KV cache; without a prompt it is `emitted`. A step reads the contexts of its decoding
 * requests, and for each chunk the part of the prompt that is already in the cache. */

/* Runs the plan. Returns GSL_EINVAL if the plan is outside its domain, if a request cannot fit in
 * the blocks or the budget, or if the source ends before the measured part; GSL_EFAILED if
 * *opt_stop was set; or GSL_ENOMEM. The caller frees the result, which is zeroed on failure. */
int spec_serving_run(spec_serving_result *ret_result, const spec_serving_plan *plan, uint64_t seed,
                     uint64_t stream, const volatile int *opt_stop, spec_error *error);
void spec_serving_result_free(spec_serving_result *result);

#endif
