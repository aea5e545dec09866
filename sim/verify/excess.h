/* excess: what is left of a target's row when some of a draft's has been taken from it, max(target - taken row, kept target).
 * One pass leaves a sum for each block of tokens, and a draw computes again the block that it falls into: no row of
 * weights is written and read again. The same bytes on every machine; the caller owns the rows. */
#ifndef SPECLAB_EXCESS_H
#define SPECLAB_EXCESS_H

#include "sim/chance/chance.h"

enum { SPEC_EXCESS_BLOCK = 512 };

typedef struct {
    const double *target, *row; /* (V) */
    double taken, kept;         /* kept = 0: (target - taken row)+ */
    int but;                    /* a token of which nothing is left, or -1 */
    int vocab;
} spec_excess;

/* All that is left. Fills ret_block with a sum for each SPEC_EXCESS_BLOCK tokens: room for V is enough. */
double spec_excess_sum(double *ret_block, const spec_excess *excess);

/* A token with probability proportional to what is left of it, from the block sums, which must not be all 0: one
 * decision where there is one block, else one for the block and one for its token. */
int spec_excess_sample(const double *block, const spec_excess *excess, spec_chance *chance);

/* The target's mass on tokens with target < rho row, and the row's on the others. */
void spec_excess_split(double *ret_below, double *ret_above, const double *target, const double *row, double rho,
                       int vocab);

/* The sums of (row - target)+ and of (rise row + flat - (target - row)+)+. */
void spec_excess_pair(double *ret_row_over, double *ret_rest_over, const double *target, const double *row, double rise,
                      double flat, int vocab);

/* The loops of these, compiled for one instruction set; block sums without `but`. For excess.c and its test. */
typedef struct {
    void (*blocks)(double *restrict ret_block, const spec_excess *excess);
    void (*split)(double ret_sum[2], const double *target, const double *row, double rho, int vocab);
    void (*pair)(double ret_sum[2], const double *target, const double *row, double rise, double flat, int vocab);
} spec_excess_kernels;

extern const spec_excess_kernels spec_excess_kernels_ref, spec_excess_kernels_avx2;

#endif
