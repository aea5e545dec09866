#include "sim/verify/excess.h"

#include "base/cpu.h"
#include "sim/verify/excess_loops.h"

enum { BLOCK = SPEC_EXCESS_BLOCK };

const spec_excess_kernels spec_excess_kernels_ref = {spec_excess_loop_blocks, spec_excess_loop_split,
                                                     spec_excess_loop_pair};

/* To ask for the instruction set costs more than a short row. */
static const spec_excess_kernels *kernels_for(int vocab)
{
#if defined(__x86_64__)
    if (vocab > BLOCK && spec_cpu_isa() >= SPEC_ISA_AVX2) return &spec_excess_kernels_avx2;
#endif
    (void)vocab;
    return &spec_excess_kernels_ref;
}

static int block_size(const spec_excess *excess, int block)
{
    const int left = excess->vocab - block * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

/* Fill left (BLOCK) with what is left of each token of a block. */
static void fill(double *restrict left, const spec_excess *excess, int block)
{
    const int n = block_size(excess, block), first = block * BLOCK;
    const double *restrict target = excess->target + first, *restrict row = excess->row + first;
    for (int i = 0; i < n; i++) left[i] = spec_excess_of(target[i], row[i], excess->taken, excess->kept);
    if (excess->but >= first && excess->but < first + n) left[excess->but - first] = 0.0;
}

double spec_excess_sum(double *ret_block, const spec_excess *excess)
{
    const int n = (excess->vocab + BLOCK - 1) / BLOCK;
    double sum = 0.0;
    kernels_for(excess->vocab)->blocks(ret_block, excess);
    if (excess->but >= 0) {
        const int at = excess->but / BLOCK;
        double left[BLOCK], others = 0.0;
        fill(left, excess, at);
        for (int i = 0; i < block_size(excess, at); i++) others += left[i];
        ret_block[at] = others;
    }
    for (int b = 0; b < n; b++) sum += ret_block[b];
    return sum;
}

int spec_excess_sample(const double *block, const spec_excess *excess, spec_chance *chance)
{
    const int at = excess->vocab > BLOCK ? spec_chance_pick(chance, block, (excess->vocab + BLOCK - 1) / BLOCK) : 0;
    double left[BLOCK];
    fill(left, excess, at);
    return at * BLOCK + spec_chance_pick(chance, left, block_size(excess, at));
}

void spec_excess_split(double *ret_below, double *ret_above, const double *target, const double *row, double rho,
                       int vocab)
{
    double sum[2];
    kernels_for(vocab)->split(sum, target, row, rho, vocab);
    *ret_below = sum[0];
    *ret_above = sum[1];
}

void spec_excess_pair(double *ret_row_over, double *ret_rest_over, const double *target, const double *row, double rise,
                      double flat, int vocab)
{
    double sum[2];
    kernels_for(vocab)->pair(sum, target, row, rise, flat, vocab);
    *ret_row_over = sum[0];
    *ret_rest_over = sum[1];
}
