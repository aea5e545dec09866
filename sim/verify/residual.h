/* SPDX-License-Identifier: GPL-3.0-or-later */
/* residual: sums over the residual max(target - taken row, kept target), and draws from it.
 * One pass gives a sum per block of tokens, and a draw recomputes the block that it falls into. So
 * we never write a row of weights and read it back. All machines give the same bytes. The caller
 * owns the rows. */
#ifndef SPECLAB_RESIDUAL_H
#define SPECLAB_RESIDUAL_H

#include "sim/chance/chance.h"

enum { SPEC_RESIDUAL_BLOCK = 512 };

typedef struct {
    const double *target, *row; /* (V) */
    double taken, kept;         /* with kept = 0 the residual is (target - taken row)+ */
    int but;                    /* a token whose residual is taken as 0; -1: none */
    int vocab;
} spec_residual;

/* Returns the sum of the residual. Fills ret_block with a sum per SPEC_RESIDUAL_BLOCK tokens; an
 * array of V is large enough. */
double spec_residual_sum(double *ret_block, const spec_residual *residual);

/* Draws a token with probability proportional to its residual, from the block sums, which must not
 * all be 0. Makes one decision for a single block, else one for the block and one for its token. */
int spec_residual_sample(const double *block, const spec_residual *residual, spec_chance *chance);

/* Computes the target's probability of the tokens with target < rho row, and the row's probability
 * of the others. */
void spec_residual_split(double *ret_below, double *ret_above, const double *target,
                         const double *row, double rho, int vocab);

/* Computes the sums of (row - target)+ and of (rise row + flat - (target - row)+)+. */
void spec_residual_pair(double *ret_row_over, double *ret_rest_over, const double *target,
                        const double *row, double rise, double flat, int vocab);

/* The loops of these functions, compiled for one instruction set; block sums ignore `but`. For
 * residual.c and its test. */
typedef struct {
    void (*blocks)(double *restrict ret_block, const spec_residual *residual);
    void (*split)(double ret_sum[2], const double *target, const double *row, double rho,
                  int vocab);
    void (*pair)(double ret_sum[2], const double *target, const double *row, double rise,
                 double flat, int vocab);
} spec_residual_kernels;

extern const spec_residual_kernels spec_residual_kernels_ref, spec_residual_kernels_avx2;

#endif
