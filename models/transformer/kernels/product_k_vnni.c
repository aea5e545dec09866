/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product_kernels.h"

#if defined(__AVX512VNNI__)
#include "models/transformer/kernels/product_vnni.h"

enum {
    BLOCK = SPEC_TENSOR_BLOCK,
    RUNS = SPEC_PRODUCT_RUNS,
    PART = GROUPS * VECTOR /* 32 bytes of each row */
};

/* ---- Q4_K and Q5_K --------------------------------------------------------------------------- */

typedef struct {
    __m512 step[RUNS], below[RUNS]; /* of the rows of a block; `below` is subtracted */
} run_scales;

/* Converts bytes 0..3 of each word, which are integers of runs 4h..4h+3, to floats times `unit`. */
INLINE void spread(__m512 scale[RUNS / 2], __m512i words, __m512 unit)
{
    SPEC_UNROLL
    for (int i = 0; i < RUNS / 2; i++) {
        const __m512i byte =
            _mm512_and_si512(_mm512_srli_epi32(words, (unsigned)(8 * i)), _mm512_set1_epi32(255));
        scale[i] = _mm512_mul_ps(_mm512_cvtepi32_ps(byte), unit);
    }
}

/* The words are two F16 scales, then 12 bytes with 8 steps and 8 minima of 6 bits: those of runs
 * 0..3 are in the low bits of bytes 0..7, those of runs 4..7 in bytes 8..11 and in the high bits of
 * the other bytes. */
INLINE void read_scales(run_scales *ret, const unsigned char *block)
{
    const __m512i units = load(block), low_steps = load(block + VECTOR),
                  low_below = load(block + 2 * VECTOR), rest = load(block + 3 * VECTOR);
    const __m512i six = _mm512_set1_epi8(63), low = _mm512_set1_epi8(15),
                  top = _mm512_set1_epi8(48);
    const __m512 unit = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(units)),
                 unit_below = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(units, 16)));
    spread(ret->step, _mm512_and_si512(low_steps, six), unit);
    spread(ret->below, _mm512_and_si512(low_below, six), unit_below);
    spread(ret->step + RUNS / 2,
           _mm512_or_si512(_mm512_and_si512(rest, low),
                           _mm512_and_si512(_mm512_srli_epi32(low_steps, 2), top)),
           unit);
    spread(ret->below + RUNS / 2,
           _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(rest, 4), low),
                           _mm512_and_si512(_mm512_srli_epi32(low_below, 2), top)),
           unit_below);
}

/* Unpacks the weights of a run, whose low four bits are at `low`: in the low or, with `odd`, the
 * high halves of the bytes. In Q5_K, bit `run` of the bytes at opt_fifth is worth 16. */
INLINE void weights_of_run(__m512i w[GROUPS], const unsigned char *low,
                           const unsigned char *opt_fifth, int run, const bool odd)
{
    const __m512i nibble = _mm512_set1_epi8(15), sixteen = _mm512_set1_epi8(16),
                  to_fourth = _mm512_set1_epi64(64 + 4 - run);
    SPEC_UNROLL
    for (int j = 0; j < GROUPS; j++) {
        const __m512i pair = load(low + VECTOR * j);
        w[j] = _mm512_and_si512(odd ? _mm512_srli_epi16(pair, 4) : pair, nibble);
        if (opt_fifth != NULL) {
            const __m512i bit = _mm512_rolv_epi64(load(opt_fifth + VECTOR * j), to_fourth);
            w[j] = _mm512_or_si512(w[j], _mm512_and_si512(bit, sixteen));
        }
    }
}

/* Columns c..c+n-1 of N. */
INLINE void add_run(__m512 *sum, const __m512i w[GROUPS], __m512 step, __m512 below,
                    const unsigned char *x, const int N, const int c, const int n)
{
    const unsigned char *const x_scale = x + BLOCK * N + 4 * c, *const x_sum = x_scale + 4 * N;
    __m512i dot[FOUR];
    SPEC_UNROLL
    for (int u = 0; u < n; u++) dot[u] = _mm512_setzero_si512();
    add_dots(dot, w, x + BLOCK * c, 0, GROUPS, n);
    SPEC_UNROLL
    for (int u = 0; u < n; u++) {
        sum[c + u] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[u]),
                                     _mm512_mul_ps(step, one(x_scale + 4 * u)), sum[c + u]);
        sum[c + u] = _mm512_fnmadd_ps(below, one(x_sum + 4 * u), sum[c + u]);
    }
}

INLINE void with_minimum(const spec_product_task *task, const bool fifth, const int N)
{
    const int bytes = fifth ? SPEC_PRODUCT_Q5_K : SPEC_PRODUCT_Q4_K;
    const unsigned char *panel = task->panel;
    for (int r = 0; r < task->R; r += SPEC_PANEL_ROWS, panel += task->bytes) {
        const unsigned char *block = panel, *x = task->x;
        __m512 sum[SPEC_PRODUCT_COLUMNS];
        SPEC_UNROLL
        for (int u = 0; u < N; u++) sum[u] = _mm512_setzero_ps();
        for (int k = 0; k < task->cols; k += SPEC_PRODUCT_SUPER, block += bytes) {
            const unsigned char *const opt_fifth = fifth ? block + 4 * VECTOR : NULL;
            const unsigned char *low = block + (fifth ? 12 : 4) * VECTOR;
            run_scales scales;
            read_scales(&scales, block);
            for (int run = 0; run < RUNS; run += 2, low += PART) {
                __m512i w[GROUPS];
                spec_product_fetch_step(task, block, bytes, run / 2, RUNS / 2);
                weights_of_run(w, low, opt_fifth, run, false);
#define ADD_RUN(c, n) add_run(sum, w, scales.step[run], scales.below[run], x, N, c, n)
                SPEC_PRODUCT_BY_FOURS(ADD_RUN, N);
                x += SPEC_PRODUCT_X * N;
                weights_of_run(w, low, opt_fifth, run + 1, true);
#define ADD_NEXT(c, n) add_run(sum, w, scales.step[run + 1], scales.below[run + 1], x, N, c, n)
                SPEC_PRODUCT_BY_FOURS(ADD_NEXT, N);
                x += SPEC_PRODUCT_X * N;
            }
        }
        SPEC_UNROLL
        for (int u = 0; u < N; u++) spec_product_put_avx512(task, u, r, sum[u]);
    }
}

/* ---- Q6_K ------------------------------------------------------------------------------------ */

/* Unpacks the weights of a run of 32, the quarter `q` of a half of the block. */
INLINE void weights_of_quarter(__m512i w[GROUPS], const unsigned char *low,
                               const unsigned char *high, const int q)
{
    const __m512i nibble = _mm512_set1_epi8(15), pair = _mm512_set1_epi8(48);
    SPEC_UNROLL
    for (int j = 0; j < GROUPS; j++) {
        const __m512i bytes = load(low + VECTOR * j), upper = load(high + VECTOR * j);
        const __m512i bits = q == 0   ? _mm512_slli_epi16(upper, 4)
                             : q == 1 ? _mm512_slli_epi16(upper, 2)
                             : q == 2 ? upper
                                      : _mm512_srli_epi16(upper, 2);
        w[j] =
            _mm512_or_si512(_mm512_and_si512(q < 2 ? bytes : _mm512_srli_epi16(bytes, 4), nibble),
                            _mm512_and_si512(bits, pair));
    }
}

/* Returns signed byte i of each word, as a float. */
INLINE __m512 byte_of(__m512i words, const int i)
{
    return _mm512_cvtepi32_ps(
        _mm512_srai_epi32(_mm512_slli_epi32(words, (unsigned)(24 - 8 * i)), 24));
}

/* Columns c..c+n-1 of N. Sums of at most 2^24 are exact in float, and so are both operations before
 * the last two. */
INLINE void add_quarter(__m512 *sum, const __m512i w[GROUPS], const __m512 step[2], __m512 scale,
                        const unsigned char *x, const int N, const int c, const int n)
{
    const unsigned char *const x_scale = x + BLOCK * N + 4 * c, *const start = x_scale + 4 * N;
    __m512i dot[FOUR];
    __m512 total[FOUR];
    SPEC_UNROLL
    for (int u = 0; u < n; u++) dot[u] = four(start + 4 * u);
    add_dots(dot, w, x + BLOCK * c, 0, GROUPS / 2, n);
    SPEC_UNROLL
    for (int u = 0; u < n; u++) {
        total[u] = _mm512_mul_ps(_mm512_cvtepi32_ps(dot[u]), step[0]);
        dot[u] = four(start + 4 * N + 4 * u);
    }
    add_dots(dot, w, x + BLOCK * c, GROUPS / 2, GROUPS, n);
    SPEC_UNROLL
    for (int u = 0; u < n; u++) {
        total[u] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[u]), step[1], total[u]);
        sum[c + u] =
            _mm512_fmadd_ps(total[u], _mm512_mul_ps(scale, one(x_scale + 4 * u)), sum[c + u]);
    }
}

INLINE void q6_k(const spec_product_task *task, const int N)
{
    const unsigned char *panel = task->panel;
    for (int r = 0; r < task->R; r += SPEC_PANEL_ROWS, panel += task->bytes) {
        const unsigned char *block = panel, *x = task->x;
        __m512 sum[SPEC_PRODUCT_COLUMNS];
        SPEC_UNROLL
        for (int u = 0; u < N; u++) sum[u] = _mm512_setzero_ps();
        for (int k = 0; k < task->cols; k += SPEC_PRODUCT_SUPER, block += SPEC_PRODUCT_Q6_K) {
            const __m512 scale =
                _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)block));
            const unsigned char *low = block + SPEC_PRODUCT_SCALES, *high = low + 4 * PART,
                                *steps = high + 2 * PART;
            for (int half = 0; half < 2; half++) {
                SPEC_UNROLL
                for (int q = 0; q < 4; q++) {
                    __m512i w[GROUPS];
                    spec_product_fetch_step(task, block, SPEC_PRODUCT_Q6_K, 4 * half + q, RUNS);
                    weights_of_quarter(w, low + PART * (q % 2), high, q);
                    const __m512i words = load(steps + VECTOR * (q / 2));
                    const __m512 step[2] = {byte_of(words, 2 * (q % 2)),
                                            byte_of(words, 2 * (q % 2) + 1)};
#define ADD_QUARTER(c, n) add_quarter(sum, w, step, scale, x, N, c, n)
                    SPEC_PRODUCT_BY_FOURS(ADD_QUARTER, N);
                    x += SPEC_PRODUCT_X_HALVES * N;
                }
                low += 2 * PART, high += PART, steps += 2 * VECTOR;
            }
        }
        SPEC_UNROLL
        for (int u = 0; u < N; u++) spec_product_put_avx512(task, u, r, sum[u]);
    }
}

#define WITH_MINIMUM(fifth, N) with_minimum(task, fifth, N)
#define Q6_K(unused, N) q6_k(task, N)
void spec_product_q4_k_vnni(const spec_product_task *task)
{
    SPEC_PRODUCT_BY_COLUMNS(WITH_MINIMUM, false);
}
void spec_product_q5_k_vnni(const spec_product_task *task)
{
    SPEC_PRODUCT_BY_COLUMNS(WITH_MINIMUM, true);
}
void spec_product_q6_k_vnni(const spec_product_task *task)
{
    SPEC_PRODUCT_BY_COLUMNS(Q6_K, 0);
}
#else
typedef int spec_product_k_vnni_is_empty; /* ISO C requires a declaration */
#endif
