/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/tensor_block_search.h"

#include "base/half_float.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { HALF_BYTES = 2, SUPER = 256, LANES = 4, SCALES_BYTES = 12, NEIGHBOURS = 4 };

/* Four groups are computed side by side, one in each lane. No sum crosses lanes, so every processor
 * adds in the same order. */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t flags __attribute__((vector_size(LANES * sizeof(int32_t))));

typedef struct {
    float scale; /* the power of two, and its inverse, that bring the largest weight to [1, 2) */
    float inverse;
    lanes weight[SUPER / LANES]; /* weight j of group 4i + lane at [i * group + j] */
} block;

static inline lanes all(float value)
{
    return (lanes){value, value, value, value};
}

static inline lanes choose(flags condition, lanes yes, lanes no)
{
    return (lanes)(((flags)yes & condition) | ((flags)no & ~condition));
}

static inline lanes smaller(lanes a, lanes b)
{
    return choose(a < b, a, b);
}

static inline lanes larger(lanes a, lanes b)
{
    return choose(a > b, a, b);
}

/* Returns the nearest integer in least..most, ties to even; |value| may be large, but not NaN. */
static inline lanes nearest(lanes value, lanes least, lanes most)
{
    const lanes magic = all(0x1.8p23f);
    return (smaller(larger(value, least), most) + magic) - magic;
}

/* Returns 1 / value, or 0 if that is not finite. */
static inline lanes inverse_of(lanes value)
{
    const lanes inverse = all(1.0f) / value;
    return choose((inverse < all(INFINITY)) & (inverse > all(-INFINITY)), inverse, all(0.0f));
}

/* Fills a block of groups. Returns false if all weights are so near zero that the scales are 0 in
 * F16, or if a scale exceeds F16; then *ret_scale is 0, infinite or NaN. */
static bool arrange(block *ret, float *ret_scale, const float *value, int group)
{
    float most = 0.0f;
    int exponent;
    *ret_scale = 0.0f;
    for (int i = 0; i < SUPER; i++) {
        if (!isfinite(value[i])) {
            *ret_scale = NAN;
            return false;
        }
        most = fmaxf(most, fabsf(value[i]));
    }
    if (most < 0x1p-60f) return false;
    if (most > 0x1p60f) {
        *ret_scale = INFINITY;
        return false;
    }
    frexpf(most, &exponent);
    ret->scale = ldexpf(1.0f, exponent - 1);
    ret->inverse = ldexpf(1.0f, 1 - exponent);
    for (int i = 0; i < SUPER / LANES; i++)
        for (int lane = 0; lane < LANES; lane++)
            ret->weight[i][lane] =
                value[(i / group * LANES + lane) * group + i % group] * ret->inverse;
    return true;
}

/* Writes `scale` times the block's scale as the nearest F16, or as the next larger one if the
 * nearest is too small by more than a 128th. Returns it in the block's units. */
static float write_scale(unsigned char *ret_half, const block *of, float scale)
{
    uint16_t half = spec_half_float_to_f16(scale * of->scale);
    const float magnitude = fabsf(scale * of->scale);
    if (fabsf(spec_half_float_from_f16(half)) < magnitude * (1.0f - 0x1p-7f)) half++;
    memcpy(ret_half, &half, sizeof half);
    return spec_half_float_from_f16(half) * of->inverse;
}

/* ---- groups with a minimum ------------------------------------------------------------------- */

enum { GROUP = 32, GROUPS = SUPER / GROUP, BATCHES = GROUPS / LANES, UNITS = 63 };

/* w = step * q - minimum, both >= 0. */
typedef struct {
    lanes step, minimum;
} ranges;

/* Sums over the weights y >= 0 of a group, and their rounded values q. */
typedef struct {
    lanes q, qq, yq;
} sums;

static inline sums round_group(const lanes *y, lanes inverse, lanes shift, float most)
{
    const lanes zero = all(0.0f), top = all(most);
    sums s = {zero, zero, zero};
    for (int j = 0; j < GROUP; j++) {
        const lanes q = nearest(y[j] * inverse + shift, zero, top);
        s.q += q;
        s.qq += q * q;
        s.yq += q * y[j];
    }
    return s;
}

/* The least squares fit y = step * q + offset with offset <= most. */
typedef struct {
    lanes step, offset, gain; /* gain: decrease of the sum of squared errors from sum(y^2) */
} fit;

static inline fit fitted(const sums *s, lanes sum_y, lanes most)
{
    const lanes n = all(GROUP), zero = all(0.0f);
    const lanes spread = n * s->qq - s->q * s->q;
    fit f;
    f.step = choose(spread > zero, (n * s->yq - sum_y * s->q) / spread, zero);
    f.offset = (sum_y - f.step * s->q) / n;
    const flags is_clipped = f.offset > most;
    f.step = choose(is_clipped, choose(s->qq > zero, (s->yq - most * s->q) / s->qq, zero), f.step);
    f.step = larger(f.step, zero);
    f.offset = choose(is_clipped, most, f.offset);
    f.gain = f.step * (s->yq + s->yq - f.step * s->qq) +
             f.offset * (sum_y + sum_y - n * f.offset - (f.step + f.step) * s->q);
    return f;
}

static inline void keep_better(fit *best, const fit *other)
{
    const flags better = other->gain > best->gain;
    best->step = choose(better, other->step, best->step);
    best->offset = choose(better, other->offset, best->offset);
    best->gain = choose(better, other->gain, best->gain);
}

/* We try the steps range / (largest q + d), with d from -2.8 to 2.4 by 0.4: some clip the weights
 * at the end, and some leave the last values of q unused. The best one is rounded and fitted twice
 * more. */
enum { STEPS_TRIED = 14, FITS_AGAIN = 2 };

/* Finds the step and minimum of each group, as real numbers. */
static ranges find_ranges(const lanes *x, int most)
{
    const lanes zero = all(0.0f);
    lanes least = zero, greatest = x[0], y[GROUP], sum_y = zero;
    for (int j = 0; j < GROUP; j++) {
        least = smaller(least, x[j]);
        greatest = larger(greatest, x[j]);
    }
    for (int j = 0; j < GROUP; j++) {
        y[j] = x[j] - least;
        sum_y += y[j];
    }
    const lanes inverse_range = inverse_of(greatest - least);
    fit best = {zero, zero, zero};
    for (int t = 0; t < STEPS_TRIED; t++) {
        const lanes inverse = all((float)most - 2.8f + 0.4f * (float)t) * inverse_range;
        const sums s = round_group(y, inverse, zero, (float)most);
        const fit f = fitted(&s, sum_y, -least);
        keep_better(&best, &f);
    }
    for (int k = 0; k < FITS_AGAIN; k++) {
        const lanes inverse = inverse_of(best.step);
        const sums s = round_group(y, inverse, -best.offset * inverse, (float)most);
        const fit f = fitted(&s, sum_y, -least);
        keep_better(&best, &f);
    }
    return (ranges){best.step, larger(-(least + best.offset), zero)};
}

/* Returns the sum of squared errors of the weights rounded with a step and a minimum; *ret_q is the
 * sum of their q. */
static inline lanes error_of(lanes *ret_q, const lanes *x, lanes step, lanes minimum, float most)
{
    const lanes zero = all(0.0f), inverse = inverse_of(step), shift = minimum * inverse,
                top = all(most);
    lanes error = zero;
    *ret_q = zero;
    for (int j = 0; j < GROUP; j++) {
        const lanes q = nearest(x[j] * inverse + shift, zero, top);
        const lanes off = step * q - minimum - x[j];
        error += off * off;
        *ret_q += q;
    }
    return error;
}

/* Finds step and minimum in units of the block, 0..63: tries nine steps around the wanted one, each
 * with the wanted minimum and with the best minimum for its rounded weights. */
static ranges find_units(const lanes *x, const ranges *wanted, float unit, float unit_2, int most)
{
    const lanes zero = all(0.0f), top = all(UNITS);
    const lanes inverse = inverse_of(all(unit)), inverse_2 = inverse_of(all(unit_2));
    const lanes s0 = nearest(wanted->step * inverse, zero, top),
                m0 = nearest(wanted->minimum * inverse_2, zero, top);
    ranges best = {s0, m0};
    lanes least = all(INFINITY), sum_x = zero;
    for (int j = 0; j < GROUP; j++) sum_x += x[j];
    for (int ds = -NEIGHBOURS; ds <= NEIGHBOURS; ds++) {
        const lanes s = smaller(larger(s0 + all((float)ds), zero), top);
        lanes m = m0;
        for (int k = 0; k < 2; k++) {
            lanes sum_q;
            const lanes step = s * all(unit);
            const lanes error = error_of(&sum_q, x, step, m * all(unit_2), (float)most);
            const flags better = error < least;
            best.step = choose(better, s, best.step);
            best.minimum = choose(better, m, best.minimum);
            least = choose(better, error, least);
            m = nearest((step * sum_q - sum_x) / all(GROUP) * inverse_2, zero, top);
        }
    }
    return best;
}

/* Returns the value of largest magnitude. */
static float largest_lane(const lanes *value, int n)
{
    float most = 0.0f;
    for (int i = 0; i < n; i++)
        for (int lane = 0; lane < LANES; lane++)
            if (fabsf(value[i][lane]) > fabsf(most)) most = value[i][lane];
    return most;
}

/* Packs twelve bytes: steps and minima of groups 0..3, then the low halves of those of groups 4..7,
 * whose upper bits are in the first eight bytes. */
static void pack_units(unsigned char *ret_bytes, const ranges *unit)
{
    for (int i = 0; i < 4; i++) {
        const int step = (int)unit[0].step[i], minimum = (int)unit[0].minimum[i],
                  step_2 = (int)unit[1].step[i], minimum_2 = (int)unit[1].minimum[i];
        ret_bytes[i] = (unsigned char)(step | step_2 >> 4 << 6);
        ret_bytes[i + 4] = (unsigned char)(minimum | minimum_2 >> 4 << 6);
        ret_bytes[i + 8] = (unsigned char)((step_2 & 15) | (minimum_2 & 15) << 4);
    }
}

/* q (SUPER): the rounded weights in the order of the block. */
static void write_with_minimum(unsigned char *ret_block, unsigned char *q, const float *value,
                               int most)
{
    block of;
    ranges range[BATCHES];
    float scale;
    memset(q, 0, SUPER);
    if (!arrange(&of, &scale, value, GROUP)) {
        const uint16_t half = spec_half_float_to_f16(scale);
        memset(ret_block, 0, 2 * HALF_BYTES + SCALES_BYTES);
        memcpy(ret_block, &half, sizeof half);
        return;
    }
    lanes steps[BATCHES], minima[BATCHES];
    for (int i = 0; i < BATCHES; i++) {
        range[i] = find_ranges(of.weight + i * GROUP, most);
        steps[i] = range[i].step;
        minima[i] = range[i].minimum;
    }
    const float unit = write_scale(ret_block, &of, largest_lane(steps, BATCHES) / UNITS),
                unit_2 =
                    write_scale(ret_block + HALF_BYTES, &of, largest_lane(minima, BATCHES) / UNITS);
    for (int i = 0; i < BATCHES; i++) {
        const lanes *const x = of.weight + i * GROUP;
        range[i] = find_units(x, &range[i], unit, unit_2, most);
        const lanes inverse = inverse_of(range[i].step * all(unit)),
                    shift = range[i].minimum * all(unit_2) * inverse;
        for (int j = 0; j < GROUP; j++) {
            const lanes rounded = nearest(x[j] * inverse + shift, all(0.0f), all((float)most));
            for (int lane = 0; lane < LANES; lane++)
                q[(i * LANES + lane) * GROUP + j] = (unsigned char)rounded[lane];
        }
    }
    pack_units(ret_block + 2 * HALF_BYTES, range);
}

/* Groups 2i and 2i + 1 are in the low and high halves of 32 bytes. */
static void pack_groups(unsigned char *ret_pairs, const unsigned char *q)
{
    for (int i = 0; i < SUPER / 2; i++) {
        const unsigned char *const low = q + i / GROUP * 2 * GROUP + i % GROUP;
        ret_pairs[i] = (unsigned char)((low[0] & 15) | (low[GROUP] & 15) << 4);
    }
}

void spec_tensor_block_search_q4_k(unsigned char *ret_block, const float *value)
{
    unsigned char q[SUPER];
    write_with_minimum(ret_block, q, value, 15);
    pack_groups(ret_block + 2 * HALF_BYTES + SCALES_BYTES, q);
}

void spec_tensor_block_search_q5_k(unsigned char *ret_block, const float *value)
{
    unsigned char q[SUPER], *const fifth = ret_block + 2 * HALF_BYTES + SCALES_BYTES;
    write_with_minimum(ret_block, q, value, 31);
    for (int j = 0; j < GROUP; j++) {
        int byte = 0;
        for (int group = 0; group < GROUPS; group++) byte |= (q[group * GROUP + j] >> 4) << group;
        fifth[j] = (unsigned char)byte;
    }
    pack_groups(fifth + GROUP, q);
}

/* ---- groups around zero ---------------------------------------------------------------------- */

enum { SMALL = 16, SMALL_GROUPS = SUPER / SMALL, SMALL_BATCHES = SMALL_GROUPS / LANES };
/* The steps tried are the extreme weight divided by 27 to 33, in steps of 0.4. */
enum { SMALL_STEPS_TRIED = 16 };

/* Finds the step of each group, of either sign. */
static lanes find_steps(const lanes *x)
{
    const lanes least = all(-32.0f), most = all(31.0f), zero = all(0.0f);
    lanes extreme = x[0], best = zero, best_gain = zero;
    for (int j = 1; j < SMALL; j++)
        extreme = choose(larger(x[j], -x[j]) > larger(extreme, -extreme), x[j], extreme);
    const lanes inverse_extreme = inverse_of(-extreme);
    for (int t = 0; t < SMALL_STEPS_TRIED + FITS_AGAIN; t++) {
        const lanes inverse = t < SMALL_STEPS_TRIED ? all(27.0f + 0.4f * (float)t) * inverse_extreme
                                                    : inverse_of(best);
        lanes qq = zero, xq = zero;
        for (int j = 0; j < SMALL; j++) {
            const lanes q = nearest(x[j] * inverse, least, most);
            qq += q * q;
            xq += q * x[j];
        }
        const lanes step = choose(qq > zero, xq / qq, zero), gain = step * xq;
        const flags better = gain > best_gain;
        best = choose(better, step, best);
        best_gain = choose(better, gain, best_gain);
    }
    return best;
}

/* Finds the step in units of the block, -128..127, by trying nine around the wanted one. */
static lanes find_small_units(const lanes *x, lanes wanted, float unit)
{
    const lanes least = all(-32.0f), most = all(31.0f), low = all(-128.0f), high = all(127.0f);
    const lanes s0 = nearest(wanted * inverse_of(all(unit)), low, high);
    lanes best = s0, best_error = all(INFINITY);
    for (int ds = -NEIGHBOURS; ds <= NEIGHBOURS; ds++) {
        const lanes s = smaller(larger(s0 + all((float)ds), low), high), step = s * all(unit),
                    inverse = inverse_of(step);
        lanes error = all(0.0f);
        for (int j = 0; j < SMALL; j++) {
            const lanes off = step * nearest(x[j] * inverse, least, most) - x[j];
            error += off * off;
        }
        const flags better = error < best_error;
        best = choose(better, s, best);
        best_error = choose(better, error, best_error);
    }
    return best;
}

/* Each half of the block has four runs of 32 weights, two in the low and two in the high halves of
 * the same 64 bytes. Upper pairs of bits, 16 steps and the scale follow. */
void spec_tensor_block_search_q6_k(unsigned char *ret_block, const float *value)
{
    enum { HIGH = SUPER / 2, STEPS = HIGH + SUPER / 4, SCALE = STEPS + SMALL_GROUPS };
    block of;
    lanes step[SMALL_BATCHES];
    float scale;
    memset(ret_block, 0, SCALE + HALF_BYTES);
    if (!arrange(&of, &scale, value, SMALL)) {
        const uint16_t half = spec_half_float_to_f16(scale);
        memcpy(ret_block + SCALE, &half, sizeof half);
        return;
    }
    for (int i = 0; i < SMALL_BATCHES; i++) step[i] = find_steps(of.weight + i * SMALL);
    const float unit =
        write_scale(ret_block + SCALE, &of, largest_lane(step, SMALL_BATCHES) / -128.0f);
    for (int i = 0; i < SMALL_BATCHES; i++) {
        const lanes *const x = of.weight + i * SMALL;
        const lanes s = find_small_units(x, step[i], unit), inverse = inverse_of(s * all(unit));
        for (int lane = 0; lane < LANES; lane++)
            ret_block[STEPS + i * LANES + lane] = (unsigned char)(int)s[lane];
        for (int j = 0; j < SMALL; j++) {
            const lanes rounded = nearest(x[j] * inverse, all(-32.0f), all(31.0f)) + all(32.0f);
            for (int lane = 0; lane < LANES; lane++) {
                const int q = (int)rounded[lane], at = (i * LANES + lane) * SMALL + j,
                          half = at / 128, run = at / 32 % 4, byte = at % 32;
                unsigned char *const low = ret_block + half * 64 + run % 2 * 32 + byte,
                                     *const high = ret_block + HIGH + half * 32 + byte;
                *low = (unsigned char)(*low | (q & 15) << (run < 2 ? 0 : 4));
                *high = (unsigned char)(*high | (q >> 4) << 2 * run);
            }
        }
    }
}
