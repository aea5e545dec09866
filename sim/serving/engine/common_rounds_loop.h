/* SPDX-License-Identifier: GPL-3.0-or-later */
/* common_rounds_loop: the loop of common_rounds.h, vectorised for each instruction set.
 * Included by the common_rounds*.c files only. */
#ifndef SPECLAB_COMMON_ROUNDS_LOOP_H
#define SPECLAB_COMMON_ROUNDS_LOOP_H

#include "sim/serving/engine/common_rounds.h"
#include "sim/serving/engine/uniforms.h"

#include <stdbool.h>
#include <string.h>

#if defined(__AVX512F__)
enum { SPEC_COMMON_LANES = 16 };
#elif defined(__AVX2__)
enum { SPEC_COMMON_LANES = 8 };
#else
enum { SPEC_COMMON_LANES = 4 };
#endif

typedef float spec_common_floats __attribute__((vector_size(4 * SPEC_COMMON_LANES)));
typedef int32_t spec_common_ints __attribute__((vector_size(4 * SPEC_COMMON_LANES)));
typedef uint64_t spec_common_longs __attribute__((vector_size(8 * SPEC_COMMON_LANES)));
typedef uint32_t spec_common_words __attribute__((vector_size(4 * SPEC_COMMON_LANES)));

static inline spec_common_floats spec_common_uniform(const uint32_t *at)
{
    spec_common_words word;
    memcpy(&word, at, sizeof word);
    return __builtin_convertvector((spec_common_ints)(word >> 8), spec_common_floats) * 0x1p-24f;
}

/* Returns a where `chosen` is set, else b. */
static inline spec_common_ints spec_common_select(spec_common_ints chosen, spec_common_ints a,
                                                  spec_common_ints b)
{
    return (a & chosen) | (b & ~chosen);
}

static inline spec_common_floats spec_common_number(const spec_common_rounds *r, int i,
                                                    spec_common_ints within)
{
    const spec_common_floats fresh = spec_common_uniform(r->word + i);
    if (r->opt_last == NULL) return fresh;
    spec_common_floats last;
    memcpy(&last, r->opt_last + i, sizeof last);
    const spec_common_ints again = (spec_common_uniform(r->again + i) < r->stay) & (last >= 0.0f);
    const spec_common_floats number = (spec_common_floats)spec_common_select(
        again | ~within, (spec_common_ints)last, (spec_common_ints)fresh);
    memcpy(r->opt_last + i, &number, sizeof number);
    return number;
}

/* Does the same for a few requests, where vectors do not pay off. */
static inline spec_common_rounds_sums spec_common_rounds_few(const spec_common_rounds *r)
{
    spec_common_rounds_sums sums = {0, 0, 0};
    for (int i = 0; i < r->n; i++) {
        float number = spec_uniforms_of(r->word[i]);
        if (r->opt_last != NULL) {
            const bool again = spec_uniforms_of(r->again[i]) < r->stay && r->opt_last[i] >= 0.0f;
            if (again) number = r->opt_last[i];
            r->opt_last[i] = number;
        }
        const int left = r->left[i],
                  n_accepted = spec_common_rounds_accepted(number, r->alpha[i], r->K);
        const int tokens = n_accepted + 1 < left ? n_accepted + 1 : left;
        if (r->opt_past != NULL) r->opt_past[i] += (uint32_t)left;
        r->left[i] = left - tokens;
        sums.accepted += n_accepted;
        sums.emitted += tokens;
        sums.completed += left == tokens;
    }
    return sums;
}

static inline spec_common_rounds_sums spec_common_rounds_loop(const spec_common_rounds *r)
{
    enum { FEW = 4 };
    if (r->n <= FEW) return spec_common_rounds_few(r);
    spec_common_ints accepted = {0}, emitted = {0}, completed = {0}, lane;
    for (int l = 0; l < SPEC_COMMON_LANES; l++) lane[l] = l;
    for (int i = 0; i < r->n; i += SPEC_COMMON_LANES) {
        const spec_common_ints within = lane < r->n - i;
        const spec_common_floats number = spec_common_number(r, i, within);
        spec_common_floats alpha, tail;
        spec_common_ints left, n_accepted = {0};
        memcpy(&alpha, r->alpha + i, sizeof alpha);
        memcpy(&left, r->left + i, sizeof left);
        if (r->opt_past != NULL) {
            spec_common_longs past;
            memcpy(&past, r->opt_past + i, sizeof past);
            past += __builtin_convertvector((spec_common_words)(left & within), spec_common_longs);
            memcpy(r->opt_past + i, &past, sizeof past);
        }
        tail = alpha;
        for (int j = 0; j < r->K; j++, tail *= alpha) n_accepted -= number < tail;
        const spec_common_ints sum = n_accepted + 1;
        const spec_common_ints tokens = spec_common_select(sum < left, sum, left) & within;
        left -= tokens;
        memcpy(r->left + i, &left, sizeof left);
        accepted += n_accepted & within;
        emitted += tokens;
        completed -= (left == 0) & within;
    }
    int32_t sum_accepted = 0, sum_emitted = 0, sum_completed = 0;
    for (int l = 0; l < SPEC_COMMON_LANES; l++) sum_accepted += accepted[l];
    for (int l = 0; l < SPEC_COMMON_LANES; l++) sum_emitted += emitted[l];
    for (int l = 0; l < SPEC_COMMON_LANES; l++) sum_completed += completed[l];
    return (spec_common_rounds_sums){sum_accepted, sum_emitted, sum_completed};
}

#endif
