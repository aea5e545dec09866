/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sampled_rows: logits of many shapes, filters of many kinds, and the CPU's rows of them.
 * The reference for tests of sampling on a GPU. Everything is a hash of a key. */
#ifndef SPECLAB_TESTS_SAMPLED_ROWS_H
#define SPECLAB_TESTS_SAMPLED_ROWS_H

#include "models/gpu/sampling_gpu.h"

typedef enum {
    SAMPLED_NORMAL,
    SAMPLED_PEAKED,
    SAMPLED_FLAT,  /* equal to within a thousandth */
    SAMPLED_TIES,  /* a few integers, including both zeros */
    SAMPLED_EQUAL, /* all equal */
    SAMPLED_FAR,   /* so far apart that probabilities underflow */
    SAMPLED_FAMILIES
} sampled_family;

void sampled_logits(float *ret_logits, int vocab, sampled_family family, uint64_t key);

/* Temperature is 0 in one of 8 cases; each filter is used in one of 2, at values where ties
 * decide. */
spec_transform sampled_transform(int vocab, uint64_t key);

/* Computes the result of backend->rows and the filters for these logits: row (V). */
void sampled_row(double *ret_row, const float *logits, int vocab, const spec_transform *transform);

/* Draws a token from logits in GPU memory; -1 if they are not finite. */
int sampled_token(spec_sampling_gpu *sampling, void *law, const float *logits,
                  const spec_transform *transform, double uniform);

#endif
