/* SPDX-License-Identifier: GPL-3.0-or-later */
/* delta: computes the recurrent layers of hybrids, for any path of a tree, by the gated delta rule.
 * The state is only known at anchors, every 32nd position; from there a token sums over the keys
 * and updates of its own path, which the cache keeps in slots like keys and values. So a branch is
 * dropped without a copy of the state. [Yang25] */
#ifndef SPECLAB_DELTA_H
#define SPECLAB_DELTA_H

#include "models/transformer/engine/backend.h"
#include "models/transformer/kernels/path.h"
#include "models/transformer/kernels/vector.h"

/* For each value head, with its state S (key_dim, value_dim), 0 before the text:
 *
 *     S_t = a_t S_{t-1} + k_t u_t',   u_t = b_t (v_t - a_t S_{t-1}' k_t),   o_t = S_t' q_t
 *
 * where q, k and v are silu of a causal convolution of their channels, q and k have length
 * 1/sqrt(key_dim) and 1, b = sigmoid(beta), and a = exp(rate log(1 + exp(alpha + bias))).
 * With the state at an anchor A <= t and w(j, t) = a_{j+1} .. a_t this equals
 *
 *     u_t = b_t (v_t - w(A-1, t) S_{A-1}' k_t - sum_{A <= j < t} w(j, t) (k_j . k_t) u_j)
 *     o_t = w(A-1, t) S_{A-1}' q_t + sum_{A <= j <= t} w(j, t) (k_j . q_t) u_j
 *
 * The anchor of position t is the largest multiple of SPEC_DELTA_PERIOD that is at most t -
 * SPEC_DELTA_DEPTH, or 0. It lies within the text for all nodes of a tree of at most
 * SPEC_DELTA_DEPTH levels, so its state never depends on a draft; and the sums of a token have the
 * order of its text, whichever passes computed it. */
enum { SPEC_DELTA_PERIOD = 32, SPEC_DELTA_DEPTH = 64 };

/* The cache of a text: states of the last anchors, and slots. NULL can be freed. */
typedef struct spec_delta_cache spec_delta_cache;
int spec_delta_cache_init(spec_delta_cache **ret_cache, const spec_shape *shape, spec_error *error);
void spec_delta_cache_free(spec_delta_cache *cache);
size_t spec_delta_cache_bytes(const spec_delta_shape *shape);

/* Moves nodes to the text, like the backend's `keep`. */
void spec_delta_cache_keep(spec_delta_cache *cache, const int *from, int to, int n);

/* See the backend's `resume`. */
int spec_delta_cache_resume(spec_delta_cache *cache, int length);

/* The operands of one call. */
typedef struct {
    const spec_shape *shape;
    const spec_vector_kernels *kernels;
    const spec_path_kernels *path;
    const spec_batch *batch;
    spec_thread_pool *opt_locked;
} spec_delta_work;

/* See the backend's `delta`; `layer` counts recurrent layers. */
void spec_delta_compute(const spec_delta_work *work, float *y, const float *x,
                        spec_delta_cache *cache, int layer, const spec_delta *delta);

#endif
