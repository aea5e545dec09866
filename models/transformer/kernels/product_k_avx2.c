/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product_kernels.h"

#if defined(__AVX2__)
#include "models/transformer/kernels/product_avx2.h"
#include "models/transformer/kernels/product_k_parts.h"

/* Columns processed at once. Their sums of 16 bits, and in Q6_K also dot products and weights, fill
 * 16 registers. */
enum { COLUMNS = 4, COLUMNS_Q6_K = 2 };

/* Returns the F16 values in the low halves of words, of the first or the last 8 rows. */
INLINE __m256 halves(__m256i words)
{
    const __m256i low = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
    return _mm256_cvtph_ps(
        _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}

/* ---- Q4_K and Q5_K --------------------------------------------------------------------------- */

/* Converts bytes 0..3 of each word, which are integers of four runs, to floats times `unit`. */
INLINE void spread(float (*scale)[SPEC_PANEL_ROWS], int at, __m256i words, __m256 unit)
{
    SPEC_UNROLL
    for (int i = 0; i < RUNS / 2; i++) {
        const __m256i byte =
            _mm256_and_si256(_mm256_srli_epi32(words, 8 * i), _mm256_set1_epi32(255));
        _mm256_storeu_ps(scale[i] + at, _mm256_mul_ps(_mm256_cvtepi32_ps(byte), unit));
    }
}

/* The words are two F16 scales, then 12 bytes with 8 steps and 8 minima of 6 bits: those of runs
 * 0..3 are in the low bits of bytes 0..7, those of runs 4..7 in bytes 8..11 and in the high bits of
 * the other bytes. */
INLINE void read_scales(run_scales *ret, const unsigned char *block)
{
    const __m256i six = _mm256_set1_epi8(63), low = _mm256_set1_epi8(15),
                  top = _mm256_set1_epi8(48);
    SPEC_UNROLL
    for (int at = 0; at < SPEC_PANEL_ROWS; at += HALF, block += 4 * HALF) {
        const __m256i units = load(block), low_steps = load(block + WORD),
                      low_below = load(block + 2 * WORD), rest = load(block + 3 * WORD);
        const __m256 unit = halves(units), unit_below = halves(_mm256_srli_epi32(units, 16));
        spread(ret->step, at, _mm256_and_si256(low_steps, six), unit);
        spread(ret->below, at, _mm256_and_si256(low_below, six), unit_below);
        spread(ret->step + RUNS / 2, at,
               _mm256_or_si256(_mm256_and_si256(rest, low),
                               _mm256_and_si256(_mm256_srli_epi32(low_steps, 2), top)),
               unit);
        spread(ret->below + RUNS / 2, at,
               _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(rest, 4), low),
                               _mm256_and_si256(_mm256_srli_epi32(low_below, 2), top)),
               unit_below);
    }
}

/* Returns the weights of a run in the 32 bytes at `low`, in the same order as for the other
 * instruction sets. */
INLINE __m256i weights_of_run(const unsigned char *low, const unsigned char *opt_fifth, int run,
                              const bool odd)
{
    const __m256i pair = load(low);
    const __m256i w =
        _mm256_and_si256(odd ? _mm256_srli_epi16(pair, 4) : pair, _mm256_set1_epi8(15));
    if (opt_fifth == NULL) return w;
    const __m128i left = _mm_cvtsi32_si128(run < 4 ? 4 - run : 0),
                  right = _mm_cvtsi32_si128(run < 4 ? 0 : run - 4);
    const __m256i bit = _mm256_srl_epi16(_mm256_sll_epi16(load(opt_fifth), left), right);
    return _mm256_or_si256(w, _mm256_and_si256(bit, _mm256_set1_epi8(16)));
}

/* Adds a run for n columns. Half of a run, at most 8 * 31 * 127, fits into sums of 16 bits. */
INLINE void add_run(__m256 sum[COLUMNS][2], const unsigned char *low,
                    const unsigned char *opt_fifth, int run, const bool odd,
                    const run_scales *scales, place at, const int n)
{
    const unsigned char *const x = at.x + BLOCK * at.c, *const x_scale =
                                                            at.x + BLOCK * at.N + 4 * at.c;
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i dot[COLUMNS][2];
    SPEC_UNROLL
    for (int u = 0; u < n; u++) dot[u][0] = dot[u][1] = _mm256_setzero_si256();
    SPEC_UNROLL
    for (int part = 0; part < 2; part++) {
        __m256i sixteen[COLUMNS][2];
        SPEC_UNROLL
        for (int i = 0; i < GROUPS / 2; i++) {
            const int j = GROUPS / 2 * part + i;
            SPEC_UNROLL
            for (int h = 0; h < 2; h++) {
                const int to = WORD * j + 4 * HALF * h;
                const __m256i w =
                    weights_of_run(low + to, opt_fifth != NULL ? opt_fifth + to : NULL, run, odd);
                SPEC_UNROLL
                for (int u = 0; u < n; u++) {
                    const __m256i product = _mm256_maddubs_epi16(w, four(x + BLOCK * u + 4 * j));
                    sixteen[u][h] = i == 0 ? product : _mm256_add_epi16(sixteen[u][h], product);
                    if (n > 1) KEEP_ORDER(sixteen[u][h]);
                }
            }
        }
        SPEC_UNROLL
        for (int u = 0; u < n; u++)
            for (int h = 0; h < 2; h++)
                dot[u][h] = _mm256_add_epi32(dot[u][h], _mm256_madd_epi16(sixteen[u][h], ones));
    }
    SPEC_UNROLL
    for (int h = 0; h < 2; h++) {
        const __m256 step = _mm256_loadu_ps(scales->step[run] + HALF * h),
                     below = _mm256_loadu_ps(scales->below[run] + HALF * h);
        SPEC_UNROLL
        for (int u = 0; u < n; u++) {
            sum[u][h] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot[u][h]),
                                        _mm256_mul_ps(step, one(x_scale + 4 * u)), sum[u][h]);
            sum[u][h] = _mm256_fnmadd_ps(below, one(x_scale + 4 * at.N + 4 * u), sum[u][h]);
        }
    }
}

INLINE void with_minimum(const spec_product_task *task, const unsigned char *block, int r, int c,
                         const bool fifth, const int n)
{
    const int N = task->N, bytes = fifth ? SPEC_PRODUCT_Q5_K : SPEC_PRODUCT_Q4_K;
    const unsigned char *x = task->x;
    __m256 sum[COLUMNS][2];
    SPEC_UNROLL
    for (int u = 0; u < n; u++) sum[u][0] = sum[u][1] = _mm256_setzero_ps();
    for (int k = 0; k < task->cols; k += SPEC_PRODUCT_SUPER, block += bytes) {
        const unsigned char *const opt_fifth = fifth ? block + 4 * WORD : NULL;
        const unsigned char *low = block + (fifth ? 12 : 4) * WORD;
        run_scales scales;
        read_scales(&scales, block);
        for (int run = 0; run < RUNS; run += 2, low += PART) {
            if (c == 0) spec_product_fetch_step(task, block, bytes, run / 2, RUNS / 2);
            add_run(sum, low, opt_fifth, run, false, &scales, (place){x, N, c}, n);
            x += SPEC_PRODUCT_X * N;
            add_run(sum, low, opt_fifth, run + 1, true, &scales, (place){x, N, c}, n);
            x += SPEC_PRODUCT_X * N;
        }
    }
    SPEC_UNROLL
    for (int u = 0; u < n; u++) put(task, c + u, r, sum[u][0], sum[u][1]);
}

/* ---- Q6_K ------------------------------------------------------------------------------------ */

/* Returns the weights of 32 bytes of a run, the quarter `q` of a half of the block. */
INLINE __m256i weights_of_quarter(const unsigned char *low, const unsigned char *high, const int q)
{
    const __m256i bytes = load(low), upper = load(high);
    const __m256i bits = q == 0   ? _mm256_slli_epi16(upper, 4)
                         : q == 1 ? _mm256_slli_epi16(upper, 2)
                         : q == 2 ? upper
                                  : _mm256_srli_epi16(upper, 2);
    return _mm256_or_si256(
        _mm256_and_si256(q < 2 ? bytes : _mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15)),
        _mm256_and_si256(bits, _mm256_set1_epi8(48)));
}

/* Returns signed byte i of each word, as a float. */
INLINE __m256 byte_of(__m256i words, const int i)
{
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(words, 24 - 8 * i), 24));
}

/* Adds quarter `q` of a half of the block. Sums of 16 bits hold two steps, 4 * 63 * 127. Sums of at
 * most 2^24 are exact in float, and so are both operations before the last two. */
INLINE void add_quarter(__m256 sum[COLUMNS_Q6_K][2], half_block w_at, const int q, place at,
                        const int n)
{
    const unsigned char *const low = w_at.low + PART * (q % 2), *const high = w_at.high,
                               *const steps = w_at.steps + WORD * (q / 2);
    const unsigned char *const x = at.x + BLOCK * at.c, *const x_scale =
                                                            at.x + BLOCK * at.N + 4 * at.c;
    const __m256i ones = _mm256_set1_epi16(1);
    SPEC_UNROLL
    for (int h = 0; h < 2; h++) {
        const __m256i words = load(steps + 4 * HALF * h);
        const __m256 scale = _mm256_cvtph_ps(
            _mm_loadu_si128((const __m128i *)(const void *)(w_at.scales + 2 * HALF * h)));
        __m256 total[COLUMNS_Q6_K];
        SPEC_UNROLL
        for (int side = 0; side < 2; side++) {
            const __m256 step = byte_of(words, 2 * (q % 2) + side);
            __m256i dot[COLUMNS_Q6_K];
            SPEC_UNROLL
            for (int u = 0; u < n; u++) dot[u] = four(x_scale + 4 * (1 + side) * at.N + 4 * u);
            SPEC_UNROLL
            for (int j = GROUPS / 2 * side; j < GROUPS / 2 * (side + 1); j += 2) {
                const int to = WORD * j + 4 * HALF * h;
                const __m256i w = weights_of_quarter(low + to, high + to, q),
                              next = weights_of_quarter(low + to + WORD, high + to + WORD, q);
                SPEC_UNROLL
                for (int u = 0; u < n; u++) {
                    const unsigned char *const bytes = x + BLOCK * u + 4 * j;
                    const __m256i sixteen =
                        _mm256_add_epi16(_mm256_maddubs_epi16(w, four(bytes)),
                                         _mm256_maddubs_epi16(next, four(bytes + 4)));
                    dot[u] = _mm256_add_epi32(dot[u], _mm256_madd_epi16(sixteen, ones));
                }
            }
            SPEC_UNROLL
            for (int u = 0; u < n; u++) {
                const __m256 part = _mm256_cvtepi32_ps(dot[u]);
                total[u] =
                    side == 0 ? _mm256_mul_ps(part, step) : _mm256_fmadd_ps(part, step, total[u]);
            }
        }
        SPEC_UNROLL
        for (int u = 0; u < n; u++)
            sum[u][h] =
                _mm256_fmadd_ps(total[u], _mm256_mul_ps(scale, one(x_scale + 4 * u)), sum[u][h]);
    }
}

INLINE void q6_k(const spec_product_task *task, const unsigned char *block, int r, int c,
                 const int n)
{
    const int N = task->N;
    const unsigned char *x = task->x;
    __m256 sum[COLUMNS_Q6_K][2];
    SPEC_UNROLL
    for (int u = 0; u < n; u++) sum[u][0] = sum[u][1] = _mm256_setzero_ps();
    for (int k = 0; k < task->cols; k += SPEC_PRODUCT_SUPER, block += SPEC_PRODUCT_Q6_K) {
        const unsigned char *low = block + SPEC_PRODUCT_SCALES, *high = low + 4 * PART,
                            *steps = high + 2 * PART;
        for (int half = 0; half < 2; half++) {
            SPEC_UNROLL
            for (int q = 0; q < 4; q++) {
                if (c == 0)
                    spec_product_fetch_step(task, block, SPEC_PRODUCT_Q6_K, 4 * half + q, RUNS);
                add_quarter(sum, (half_block){low, high, steps, block}, q, (place){x, N, c}, n);
                x += SPEC_PRODUCT_X_HALVES * N;
            }
            low += 2 * PART, high += PART, steps += 2 * WORD;
        }
    }
    SPEC_UNROLL
    for (int u = 0; u < n; u++) put(task, c + u, r, sum[u][0], sum[u][1]);
}

/* ---- all columns ----------------------------------------------------------------------------- */

/* Calls body(task, panel, r, c, ..., n) with a constant n in 1..most, where most is 2 or 4. */
#define ALL_PANELS(most, body, ...)                                                                \
    do {                                                                                           \
        const unsigned char *panel = task->panel;                                                  \
        for (int r = 0; r < task->R; r += SPEC_PANEL_ROWS, panel += task->bytes) {                 \
            for (int c = 0, n; c < task->N; c += n) {                                              \
                n = share(task->N - c, most);                                                      \
                if (n == 1)                                                                        \
                    body(task, panel, r, c, __VA_ARGS__ 1);                                        \
                else if (n == 2 || (most) == 2)                                                    \
                    body(task, panel, r, c, __VA_ARGS__ 2);                                        \
                else if (n == 3)                                                                   \
                    body(task, panel, r, c, __VA_ARGS__ 3);                                        \
                else                                                                               \
                    body(task, panel, r, c, __VA_ARGS__ 4);                                        \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#define FIFTH true,
#define NO_FIFTH false,
void spec_product_q4_k_avx2(const spec_product_task *task)
{
    ALL_PANELS(COLUMNS, with_minimum, NO_FIFTH);
}
void spec_product_q5_k_avx2(const spec_product_task *task)
{
    ALL_PANELS(COLUMNS, with_minimum, FIFTH);
}
void spec_product_q6_k_avx2(const spec_product_task *task)
{
    ALL_PANELS(COLUMNS_Q6_K, q6_k, );
}
#else
typedef int spec_product_k_avx2_is_empty; /* ISO C requires a declaration */
#endif
