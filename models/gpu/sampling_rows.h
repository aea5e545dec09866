/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sampling_rows: finds the logits and sums of a row in memory, and its law; for kernels.
 * kernels_sampling.cu and kernels_filters.cu include it, and kernels_columns.cu for the largest
 * logit. */
#ifndef SPECLAB_SAMPLING_ROWS_H
#define SPECLAB_SAMPLING_ROWS_H

#include "models/gpu/sampling_law.h"
#include "models/gpu/sampling_sums.h"

/* The masses of bins are counted in units of 2^-38 of the largest token's probability. */
#define SAMPLING_BIN_ONE 0x1p38
#define SAMPLING_NO_CUT (-3.4028235e38f) /* no logit is smaller */
enum { SAMPLING_ALL_IDS = 0x7fffffff };

/* -- addresses -- */

DEVICE const float *sampling_logits(const sampling_space *space, int row)
{
    return space->job->logits + (size_t)row * (size_t)space->vocab;
}

/* Returns where the law of the token being drawn is kept, with its logits; NULL for a chain. */
DEVICE sampling_law *sampling_keep(const sampling_space *space)
{
    const sampling_job *job = space->job;
    return job->draws > 0 ? job->law[job->n] : (sampling_law *)0;
}

DEVICE int sampling_pieces(const sampling_space *space)
{
    return (space->vocab + SAMPLING_PIECE - 1) / SAMPLING_PIECE;
}

DEVICE int sampling_kept_sums(const sampling_space *space)
{
    return space->vocab / SAMPLING_KEPT + space->vocab % SAMPLING_KEPT;
}

DEVICE double *sampling_row_exps(const sampling_space *space, int row)
{
    return space->exps + (size_t)row * (size_t)sampling_pieces(space);
}

DEVICE double *sampling_row_kept(const sampling_space *space, int row)
{
    return space->kept + (size_t)row * (size_t)sampling_kept_sums(space);
}

/* Returns the token index of this thread's i-th token in a tile. */
DEVICE int sampling_token(int tile, int i)
{
    return tile * SAMPLING_TILE + i * SAMPLING_THREADS + THREAD;
}

DEVICE void sampling_read(float *logit, const float *logits, int tile, int vocab)
{
    UNROLL
    for (int i = 0; i < SAMPLING_EACH; i++) {
        const int token = sampling_token(tile, i);
        logit[i] = token < vocab ? logits[token] : 0.0f;
    }
}

/* ---- the largest ----------------------------------------------------------------------------- */

/* Returns the larger of two; the first if they are equal; one that is not finite wins. */
DEVICE sampling_largest sampling_larger(sampling_largest one, sampling_largest other)
{
    if (one.index < 0 || other.index < 0) {
        one.index = -1;
        return one;
    }
    return other.value > one.value || (other.value == one.value && other.index < one.index) ? other
                                                                                            : one;
}

DEVICE sampling_largest sampling_largest_of_lanes(sampling_largest best)
{
    UNROLL
    for (int apart = 16; apart > 0; apart /= 2) {
        const sampling_largest other = {shuffle_xor(best.value, apart),
                                        shuffle_xor_int(best.index, apart)};
        best = sampling_larger(best, other);
    }
    return best;
}

DEVICE sampling_largest sampling_no_largest(void)
{
    const sampling_largest none = {SAMPLING_NO_CUT, SAMPLING_ALL_IDS};
    return none;
}

/* A warp computes the largest logit of a row from the largest of each block. */
DEVICE sampling_largest sampling_largest_of_row(const sampling_space *space, int row)
{
    const sampling_largest *of_block = space->largest + row * SAMPLING_SPREAD;
    sampling_largest best = sampling_no_largest();
    for (int i = LANE; i < space->spread; i += WARP_LANES)
        best = sampling_larger(best, of_block[i]);
    return sampling_largest_of_lanes(best);
}

/* ---- laws ------------------------------------------------------------------------------------ */

/* Returns the part of a row's law that follows from its largest logit. A warp computes it. */
DEVICE sampling_law sampling_begin_law(const sampling_space *space, int row)
{
    const sampling_largest largest = sampling_largest_of_row(space, row);
    sampling_law law;
    law.factor = space->job->factor;
    law.scale = law.rest[0] = law.rest[1] = law.rest[2] = 1.0;
    law.least = 0.0;
    law.largest = largest.value;
    law.cut = SAMPLING_NO_CUT;
    law.last = SAMPLING_ALL_IDS;
    law.bad = largest.index < 0;
    law.hot = space->job->hot && !law.bad ? largest.index : -1;
    return law;
}

/* Returns the law. The exponentials must have been summed. */
DEVICE sampling_law sampling_whole_law(const sampling_space *space, int row)
{
    sampling_law law = sampling_begin_law(space, row);
    if (law.hot >= 0 || law.bad) return law;
    law.scale = 1.0 / sampling_row_sum(sampling_row_exps(space, row), sampling_pieces(space));
    return law;
}

/* Returns the mass that the last filters kept; 1 if they removed nothing. */
DEVICE double sampling_rest(const sampling_space *space, int row, int stage)
{
    const bool removed = space->border[row].removed[stage] != 0;
    return removed ? sampling_sum_of(sampling_row_kept(space, row), sampling_kept_sums(space))
                   : 1.0;
}

DEVICE sampling_law sampling_end_law(const sampling_space *space, int row, int stages)
{
    if (stages == 0) return sampling_whole_law(space, row);
    sampling_law law = space->row[row];
    if (!law.bad) law.rest[SAMPLING_STAGES - 1] = sampling_rest(space, row, stages - 1);
    return law;
}

#endif
