/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/row.h"

#include "base/cpu.h"
#include "models/row_kernels.h"

/* We use plain sums within a block of lanes, because they vectorise, and a compensated sum over the
 * blocks [Neumaier74].
 */
enum { LANES = 8, BLOCK = 128 };

typedef struct {
    double sum, lost;
} running;

static void add(running *total, double value)
{
    const double sum = total->sum + value;
    const double larger =
        total->sum > value ? total->sum : value; /* comparing without fabs: every value is >= 0 */
    const double smaller = total->sum > value ? value : total->sum;
    total->lost += (larger - sum) + smaller;
    total->sum = sum;
}

static double add_lanes(const double *lane)
{
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

double spec_row_sum(const double *value, int n)
{
    running total = {0.0, 0.0};
    int i = 0;
    for (; n - i >= BLOCK; i += BLOCK) {
        double lane[LANES] = {0.0};
        for (int j = 0; j < BLOCK; j += LANES) {
            for (int l = 0; l < LANES; l++) lane[l] += value[i + j + l];
        }
        add(&total, add_lanes(lane));
    }
    for (; i < n; i++) add(&total, value[i]);
    return total.sum + total.lost;
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

double spec_row_overlap(const double *a, const double *b, int n)
{
    running total = {0.0, 0.0};
    int i = 0;
    for (; n - i >= BLOCK; i += BLOCK) {
        double lane[LANES] = {0.0};
        for (int j = 0; j < BLOCK; j += LANES) {
            for (int l = 0; l < LANES; l++) lane[l] += lesser(a[i + j + l], b[i + j + l]);
        }
        add(&total, add_lanes(lane));
    }
    for (; i < n; i++) add(&total, lesser(a[i], b[i]));
    return total.sum + total.lost;
}

void spec_row_normalise(double *weight, int n)
{
    const double sum = spec_row_sum(weight, n);
    for (int i = 0; i < n; i++) weight[i] /= sum;
}

/* Returns the largest value of a block. */
static double block_maximum(const double *value)
{
    double lane[LANES];
    for (int l = 0; l < LANES; l++) lane[l] = value[l];
    for (int j = LANES; j < BLOCK; j += LANES) {
        for (int l = 0; l < LANES; l++) lane[l] = value[j + l] > lane[l] ? value[j + l] : lane[l];
    }
    double largest = lane[0];
    for (int l = 1; l < LANES; l++) largest = lane[l] > largest ? lane[l] : largest;
    return largest;
}

int spec_row_argmax(const double *value, int n)
{
    int best = 0, i = 0;
    for (; n - i >= BLOCK; i += BLOCK) {
        const double largest = block_maximum(value + i);
        if (!(largest > value[best])) continue;
        for (best = i; value[best] != largest;) best++;
    }
    for (; i < n; i++) {
        if (value[i] > value[best]) best = i;
    }
    return best;
}

int spec_row_argmin(const double *value, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++) {
        if (value[i] < value[best]) best = i;
    }
    return best;
}

int spec_row_largest(int *ret_index, int k, const double *value, int n)
{
    int held = 0;
    for (int i = 0; i < n && k > 0; i++) {
        if (held == k && !(value[i] > value[ret_index[k - 1]])) continue;
        int at = held < k ? held++ : k - 1;
        for (; at > 0 && value[i] > value[ret_index[at - 1]]; at--)
            ret_index[at] = ret_index[at - 1];
        ret_index[at] = i;
    }
    return held;
}

/* ---- values above a bound -------------------------------------------------------------------- */

/* We write every index; if its value is below the bound, the next index overwrites it. */
int spec_row_above_ref(int *ret_index, const double *value, int n, double least)
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        ret_index[found] = i;
        found += value[i] >= least;
    }
    return found;
}

int spec_row_above(int *ret_index, const double *value, int n, double least)
{
#if defined(__x86_64__)
    const spec_isa isa = spec_cpu_isa();
    if (isa >= SPEC_ISA_AVX512) return spec_row_above_avx512(ret_index, value, n, least);
    if (isa >= SPEC_ISA_AVX2) return spec_row_above_avx2(ret_index, value, n, least);
#elif defined(__aarch64__)
    if (spec_cpu_isa() >= SPEC_ISA_NEON) return spec_row_above_neon(ret_index, value, n, least);
#endif
    return spec_row_above_ref(ret_index, value, n, least);
}
