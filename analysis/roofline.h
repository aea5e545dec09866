/* SPDX-License-Identifier: GPL-3.0-or-later */
/* roofline: the shortest time in which hardware can do one pass of n tokens, and its intensity.
 * FLOP and bytes are counted per pass; the time is the larger of compute and memory time (A7). Pure
 * functions, NaN outside the domain: hardware, parameters, bytes per weight and n_tokens > 0, all
 * others >= 0, all finite. docs/formulas/costs.md#roofline. */
#ifndef SPECLAB_ROOFLINE_H
#define SPECLAB_ROOFLINE_H

#include "base/hardware.h"

/* A dense transformer. */
typedef struct {
    double parameters;       /* number of parameters of the model */
    double bytes_per_weight; /* 2 for FP16 and BF16 */
    double layers, width;    /* layers and width, for attention; 0 leaves attention out */
    double kv_bytes;         /* bytes of the KV cache per token of context */
} spec_transformer_shape;

/* Returns the FLOP of one pass over n_tokens new tokens after `context` cached ones: two per
 * parameter and token, plus attention.
 *
 *     2 parameters n + 4 layers width (n context + n (n+1)/2)      docs/formulas/costs.md#roofline
 *
 * New token i (from 1) attends to context + i positions, including itself, with two products of
 * `width` each per layer. */
double spec_roofline_pass_flops(const spec_transformer_shape *shape, double n_tokens,
                                double context);

/* Returns the bytes that the same pass moves: it reads every weight and the KV cache once, and
 * writes n entries.
 *
 *     parameters bytes_per_weight + kv_bytes (context + n)
 *
 * Activations are not counted, because they stay on the chip. */
double spec_roofline_pass_bytes(const spec_transformer_shape *shape, double n_tokens,
                                double context);

/* Returns the expected number of distinct experts that a pass of n_tokens reads. Each token uses
 * `active` experts, independently of the other tokens, and all sets of experts are equally likely.
 *
 *     experts (1 - (1 - active / experts)^n)                       docs/formulas/costs.md#experts
 *
 * 1 <= active <= experts, n_tokens >= 0. NaN outside. */
double spec_roofline_experts(double experts, double active, double n_tokens);

/* Returns c, the cost of a draft call in target calls, for a draft that is the target itself but
 * reads the keys and values of only some positions. Time is taken as proportional to bytes.
 *
 *     c = (weights + kv_bytes min(read, context)) / (weights + kv_bytes context)
 *                                                                  docs/formulas/costs.md#window
 *
 *   weights   bytes of the weights, divided by the number of requests in a pass; > 0
 *   kv_bytes  bytes of the KV cache per position, >= 0
 *   read      the most positions that the draft reads, >= 0
 *   context   positions of the text, >= 0 */
double spec_roofline_window_cost(double weights, double kv_bytes, double read, double context);

/* Returns the context above which such a draft gains at the best K, because there c < alpha
 * ([Leviathan23] Corollary 3.9).
 *
 *     (weights (1 - alpha) / kv_bytes + read) / alpha
 *
 *   alpha     in [0,1]; the others as above
 *   returns positions, >= read; inf if no context is long enough: alpha = 0 or kv_bytes = 0
 * Checked by: bisecting for the context above which the best K is positive. */
double spec_roofline_window_context(double alpha, double weights, double kv_bytes, double read);

/* Returns FLOP per byte of a pass. It is about n_tokens for 16-bit weights and a short context. */
double spec_roofline_intensity(const spec_transformer_shape *shape, double n_tokens,
                               double context);

/* Returns the seconds for the pass: max(flops / peak, bytes / bandwidth). This is a lower bound;
 * real kernels take longer. */
double spec_roofline_pass_time(const spec_hardware *hardware, const spec_transformer_shape *shape,
                               double n_tokens, double context);

/* Returns the share of the peak that an intensity (FLOP/byte, >= 0) can use: min(1, intensity *
 * bandwidth / flops). */
double spec_roofline_utilization(const spec_hardware *hardware, double intensity);

/* Returns how many tokens make a pass compute-bound, ignoring attention: (flops / bandwidth)
 * (bytes_per_weight / 2). Below it, verifying more draft tokens costs no time. */
double spec_roofline_ridge_tokens(const spec_hardware *hardware, double bytes_per_weight);

#endif
