#include "sim/verify/float_rows.h"

#include "sim/verify/float_rows_kernels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BLOCK = SPEC_FLOAT_BLOCK, LANES = 8 };

/* ---- the reference kernels --------------------------------------------------------------------------------------- */

static double mass(const float *row, const float *opt_draft, size_t i)
{
    if (opt_draft == NULL) return row[i];
    const double difference = (double)row[i] - opt_draft[i];
    return difference > 0 ? difference : 0;
}

static double block_sum(const float *row, const float *opt_draft)
{
    double x[BLOCK], lane[LANES] = {0};
    for (size_t i = 0; i < BLOCK; i++) x[i] = row[i];
    if (opt_draft != NULL)
        for (size_t i = 0; i < BLOCK; i++) {
            x[i] -= opt_draft[i];
            x[i] = x[i] > 0 ? x[i] : 0;
        }
    for (size_t i = 0; i < BLOCK; i += LANES)
        for (size_t l = 0; l < LANES; l++) lane[l] += x[i + l];
    for (size_t apart = LANES / 2; apart > 0; apart /= 2)
        for (size_t l = 0; l < apart; l++) lane[l] += lane[l + apart];
    return lane[0];
}

static size_t scan(double *sum, const float *row, const float *opt_draft, size_t N, double limit)
{
    for (size_t b = 0; b < N; b++) {
        const double next = *sum + block_sum(row + b * BLOCK, opt_draft == NULL ? NULL : opt_draft + b * BLOCK);
        if (next > limit) return b;
        *sum = next;
    }
    return N;
}

static size_t row_ref(double *sum, const float *row, size_t N, double limit)
{
    return scan(sum, row, NULL, N, limit);
}

static size_t residual_ref(double *sum, const float *target, const float *draft, size_t N, double limit)
{
    return scan(sum, target, draft, N, limit);
}

const spec_float_rows_kernels spec_float_rows_kernels_ref = {row_ref, residual_ref};

const spec_float_rows_kernels *spec_float_rows_kernels_of(spec_isa isa)
{
    switch (isa) {
#if defined(__x86_64__)
    case SPEC_ISA_VNNI:
    case SPEC_ISA_AVX512: return &spec_float_rows_kernels_avx512;
    case SPEC_ISA_AVX2: return &spec_float_rows_kernels_avx2;
#endif
    default: return &spec_float_rows_kernels_ref;
    }
}

/* ---- a whole row: full blocks, then one padded with zeros -------------------------------------------------------- */

static size_t scan_blocks(const spec_float_rows_kernels *kernels, double *sum, const float *row, const float *opt_draft,
                          size_t N, double limit)
{
    if (opt_draft == NULL) return kernels->row(sum, row, N, limit);
    return kernels->residual(sum, row, opt_draft, N, limit);
}

/* The block in which the sum passes the limit, with the sum before it; the number of blocks where it never does. */
static size_t scan_row(const spec_float_rows_kernels *kernels, double *sum, const float *row, const float *opt_draft,
                       size_t n, double limit)
{
    const size_t full = n / BLOCK, rest = n % BLOCK;
    const size_t b = scan_blocks(kernels, sum, row, opt_draft, full, limit);
    if (b < full || rest == 0) return b;

    float padded[2][BLOCK] = {{0}};
    memcpy(padded[0], row + full * BLOCK, rest * sizeof *row);
    if (opt_draft != NULL) memcpy(padded[1], opt_draft + full * BLOCK, rest * sizeof *row);
    return full + scan_blocks(kernels, sum, padded[0], opt_draft == NULL ? NULL : padded[1], 1, limit);
}

double spec_float_rows_total(const spec_float_rows_kernels *kernels, const float *row, const float *opt_draft, int n)
{
    double sum = 0;
    scan_row(kernels, &sum, row, opt_draft, (size_t)n, INFINITY);
    return sum;
}

int spec_float_rows_find(const spec_float_rows_kernels *kernels, const float *row, const float *opt_draft, int n,
                         double limit)
{
    double sum = 0;
    const size_t begin = BLOCK * scan_row(kernels, &sum, row, opt_draft, (size_t)n, limit);

    /* Token by token the sum may round differently and stay short of the limit; then it is the block's last positive
     * token. */
    int token = -1;
    for (size_t i = begin; i < (size_t)n && i < begin + BLOCK; i++) {
        const double x = mass(row, opt_draft, i);
        if (!(x > 0)) continue;
        token = (int)i;
        sum += x;
        if (sum > limit) return token;
    }
    if (token >= 0) return token;
    for (size_t i = (size_t)n; i-- > 0;)
        if (mass(row, opt_draft, i) > 0) return (int)i;
    return -1;
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static int correct(const spec_float_rows_kernels *kernels, const float *target, const float *draft, int vocab, double u)
{
    const double total = spec_float_rows_total(kernels, target, draft, vocab);
    return total > 0 ? spec_float_rows_find(kernels, target, draft, vocab, u * total)
                     : spec_float_rows_find(kernels, target, NULL, vocab, u);
}

int spec_float_rows_step(const spec_float_rows_kernels *kernels, const float *target, const float *draft, int vocab,
                         spec_rng_state *rng, bool *ret_accepted)
{
    assert(vocab >= 1);
    int token = spec_float_rows_find(kernels, draft, NULL, vocab, spec_rng_next_double(rng));
    assert(token >= 0);
    const float t = target[token], d = draft[token];
    *ret_accepted = t >= d || spec_rng_next_double(rng) * d < t;
    if (!*ret_accepted) token = correct(kernels, target, draft, vocab, spec_rng_next_double(rng));
    assert(token >= 0);
    return token;
}
