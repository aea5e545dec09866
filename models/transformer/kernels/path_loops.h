/* SPDX-License-Identifier: GPL-3.0-or-later */
/* path_loops: the loops of path.h, which the compiler vectorises for one instruction set.
 * Their inner loops have fixed lengths, and no sum is split between lanes. */
#ifndef SPECLAB_PATH_LOOPS_H
#define SPECLAB_PATH_LOOPS_H

#include "models/transformer/kernels/path.h"

#include <math.h>
#include <stddef.h>

enum { LANES = 16 };

static float added(float *lane)
{
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        for (int l = 0; l < apart; l++) lane[l] += lane[l + apart];
    return lane[0];
}

static void dot(float *score, const float *query, int width, const float *rows, const int *index,
                int n)
{
    for (int t = 0; t < n; t++) {
        const float *const row = rows + (size_t)index[t] * (size_t)width;
        float first[LANES] = {0.0f}, second[LANES] = {0.0f};
        for (int d = 0; d < width; d += LANES)
            for (int l = 0; l < LANES; l++) {
                first[l] = fmaf(query[d + l], row[d + l], first[l]);
                second[l] = fmaf(query[width + d + l], row[d + l], second[l]);
            }
        score[t] = added(first);
        score[SPEC_PATH_MAX + t] = added(second);
    }
}

/* Adds `size` columns, whose sums stay in registers. */
static inline void add_columns(float *restrict sum, const float *weight, int width,
                               const float *rows, const int *index, int n, int size)
{
    float first[4 * LANES], second[4 * LANES];
    for (int i = 0; i < size; i++) first[i] = sum[i];
    for (int i = 0; i < size; i++) second[i] = sum[width + i];
    for (int t = 0; t < n; t++) {
        const float *const row = rows + (size_t)index[t] * (size_t)width;
        const float a = weight[t], b = weight[SPEC_PATH_MAX + t];
        for (int i = 0; i < size; i++) first[i] = fmaf(a, row[i], first[i]);
        for (int i = 0; i < size; i++) second[i] = fmaf(b, row[i], second[i]);
    }
    for (int i = 0; i < size; i++) sum[i] = first[i];
    for (int i = 0; i < size; i++) sum[width + i] = second[i];
}

static void add(float *sum, const float *weight, int width, const float *rows, const int *index,
                int n)
{
    int at = 0;
    for (; at + 2 * LANES <= width; at += 2 * LANES)
        add_columns(sum + at, weight, width, rows + at, index, n, 2 * LANES);
    for (; at < width; at += LANES)
        add_columns(sum + at, weight, width, rows + at, index, n, LANES);
}

#endif
