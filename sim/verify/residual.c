/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verify/residual.h"

#include "base/cpu.h"
#include "sim/verify/residual_loops.h"

enum { BLOCK = SPEC_RESIDUAL_BLOCK };

const spec_residual_kernels spec_residual_kernels_ref = {
    spec_residual_loop_blocks, spec_residual_loop_split, spec_residual_loop_pair};

/* Short rows use the reference, because detecting the instruction set would take longer. On arm64
 * gcc compiles the reference to NEON. */
static const spec_residual_kernels *kernels_for(int vocab)
{
#if defined(__x86_64__)
    if (vocab > BLOCK && spec_cpu_isa() >= SPEC_ISA_AVX2) return &spec_residual_kernels_avx2;
#endif
    (void)vocab;
    return &spec_residual_kernels_ref;
}

static int block_size(const spec_residual *residual, int block)
{
    const int rest = residual->vocab - block * BLOCK;
    return rest < BLOCK ? rest : BLOCK;
}

/* Fills weight (BLOCK) with the residual of each token of a block. */
static void fill(double *restrict weight, const spec_residual *residual, int block)
{
    const int n = block_size(residual, block), first = block * BLOCK;
    const double *restrict target = residual->target + first, *restrict row = residual->row + first;
    for (int i = 0; i < n; i++)
        weight[i] = spec_residual_of(target[i], row[i], residual->taken, residual->kept);
    if (residual->but >= first && residual->but < first + n) weight[residual->but - first] = 0.0;
}

double spec_residual_sum(double *ret_block, const spec_residual *residual)
{
    const int n = (residual->vocab + BLOCK - 1) / BLOCK;
    double sum = 0.0;
    kernels_for(residual->vocab)->blocks(ret_block, residual);
    if (residual->but >= 0) {
        const int at = residual->but / BLOCK;
        double weight[BLOCK], others = 0.0;
        fill(weight, residual, at);
        for (int i = 0; i < block_size(residual, at); i++) others += weight[i];
        ret_block[at] = others;
    }
    for (int b = 0; b < n; b++) sum += ret_block[b];
    return sum;
}

int spec_residual_sample(const double *block, const spec_residual *residual, spec_chance *chance)
{
    const int at = residual->vocab > BLOCK
                       ? spec_chance_pick(chance, block, (residual->vocab + BLOCK - 1) / BLOCK)
                       : 0;
    double weight[BLOCK];
    fill(weight, residual, at);
    return at * BLOCK + spec_chance_pick(chance, weight, block_size(residual, at));
}

void spec_residual_split(double *ret_below, double *ret_above, const double *target,
                         const double *row, double rho, int vocab)
{
    double sum[2];
    kernels_for(vocab)->split(sum, target, row, rho, vocab);
    *ret_below = sum[0];
    *ret_above = sum[1];
}

void spec_residual_pair(double *ret_row_over, double *ret_rest_over, const double *target,
                        const double *row, double rise, double flat, int vocab)
{
    double sum[2];
    kernels_for(vocab)->pair(sum, target, row, rise, flat, vocab);
    *ret_row_over = sum[0];
    *ret_rest_over = sum[1];
}
