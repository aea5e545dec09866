/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernels_sampling: draws tokens and verifies chains of drafts from logits in GPU memory.
 * Results equal the CPU's bit for bit, because the kernels use the same exponential and order of
 * sums (models/transformer/engine/logits.c, models/row.c), the same filters (models/filters.c), and
 * the same decisions (sim/chance/chance.c, sim/verify/residual.c, sim/verify/verify_token.c).
 *
 * Four differences are possible. (1) The GPU computes compensated sums exactly, in pairs of
 * doubles, and rounds once. The CPU may round the other way if the exact sum is within 2^-85 of
 * itself (V = 128,000) of the middle between two doubles. No test has met this; the row would be
 * off by a unit in the last place, a total variation of at most 2^-53. (2) A row of more than
 * SAMPLING_WHOLE tokens is sampled by pieces: cumulative probabilities are off by at most (V/512 +
 * 512) 2^-53. That is 9e-14 for V = 128,000, so a uniform number that close to a border may fall on
 * the other side of it. (3) Different logits whose probabilities are equal as doubles are not
 * treated as ties. This only happens at temperatures beyond 1e6. (4) After a greedy draft is
 * rejected, the host adds up the rejected token's piece of a row of more than SAMPLING_WHOLE tokens
 * one by one, and the GPU in 8 lanes: a uniform number as close to a border as in (2) may fall on
 * its other side.
 *
 * Launches: `largest` and `exps`; for each stage of filters `border`, for top_k and top_p
 * `candidates` and `cut`, then `kept`; for a chain `accept` and `excess`; last `pick`. A draw takes
 * 3, with filters 7; a chain takes 5, with filters 9. Joint filters are one stage; chained ones are
 * a stage each.
 *
 * Estimated costs on an H200: 132 multiprocessors at 1.75 GHz, 64 double operations per cycle each,
 * and 5.5 TB/s from the L2 cache, which holds all the data. R is the number of rows: 1 for a draw,
 * 9 for a chain of 8. In us, at V = 128,000:
 *
 *              reads, bytes      R = 9 double operations R = 9 latency
 *   largest    4 V R             0.9   -                       1.2    a draw also writes 4 V
 *   exps       4 V R             0.9   16 V R            1.3   2.0    32 dependent sums in a lane
 *   border     12 KB per row     -     V/512 + V/128           2.5    one warp per row
 *   candidates 4 V R             0.9   of few tokens           1.5
 *   cut        8 per candidate   -     of few tokens           2.5    sorts 16 tokens in 10 steps
 *   kept       4 V R             0.9   of what stays           1.7
 *   accept     2 to 9 KB per row -     V/512 or V/128          3.0    a warp per row, then 1 thread
 *   excess     8 V               0.2   40 V              0.4   1.8    rejected token's row only
 *   pick       2 to 9 KB         -     512                     4.0    first warp of one block
 *
 * A launch costs the largest of traffic, operations and latency, plus 0.5 us between launches of a
 * recording if launches begin early (card.h), else 1.2. A draw: 1.2 + 2.0 + 4.0 + 2 x 0.5 = 8 us,
 * with filters 18; a chain of 8: 12 + 2 = 14 us, with filters 24. Without early launches: 10, 23,
 * 17 and 30. At V = 32,000 it is about 1 us less, since latency dominates. The upload of
 * 1.3 KB, which is a kernel, and the recording's first launch add up to 5 us. These numbers are not
 * measured: they count dependent loads of 0.35 us, shuffles of 25 cycles, barriers of 30 and sums
 * of 10.
 *
 *     registers, sm_90   largest 32  exps 40  accept 64  excess 68  pick 77;
 *                        border 79  candidates 46  cut 64  kept 56
 *     shared memory      largest 32 bytes  exps 14.1 KB  accept 1.1  excess 4.1  pick 10.2;
 *                        cut 27.1  kept 8.6 */
#ifndef SPECLAB_KERNELS_SAMPLING_H
#define SPECLAB_KERNELS_SAMPLING_H

#include "models/gpu/pass_batch.h"

enum {
    SAMPLING_ROWS = PASS_COLUMNS,
    SAMPLING_STAGES = 3,
    SAMPLING_THREADS = 128,
    SAMPLING_EACH = 8,                                /* tokens per thread in a tile */
    SAMPLING_TILE = SAMPLING_THREADS * SAMPLING_EACH, /* tokens that a block processes at a time */
    SAMPLING_SPREAD_TOKENS = 4096, /* most tokens per block, so that 32 bits hold its counts */
    SAMPLING_SPREAD = (1 << 20) / SAMPLING_SPREAD_TOKENS, /* most blocks per row */
    SAMPLING_PIECE = 512,  /* tokens in a sum of exponentials, and of an excess */
    SAMPLING_KEPT = 128,   /* tokens whose probabilities are summed together after the filters */
    SAMPLING_WHOLE = 1024, /* rows up to this size are sampled exactly as on the host */
    SAMPLING_BINS = 512,
    SAMPLING_CANDIDATES = 2048,
    SAMPLING_CUT_THREADS = 256,
    SAMPLING_ACCEPT_THREADS = 512,
    SAMPLING_BLOCKS = 256, /* blocks of weights in a pick */
    SAMPLING_LAW_BYTES = 128
};

/* The filters that a stage applies. */
enum { SAMPLING_TOP_K = 1, SAMPLING_TOP_P = 2, SAMPLING_MIN_P = 4 };

/* How logits become a row. The probability of token i with logit x, 0 if a test fails:
 *     x > cut, or x = cut and i <= last
 *     p = exp((x - largest) factor) scale / rest[0] / rest[1], p >= least
 *     p / rest[2]
 * `rest` is the mass that the filters kept, or 1 if they removed nothing. If hot >= 0, that token
 * has probability 1. In GPU memory, a law's logits follow after SAMPLING_LAW_BYTES. */
typedef struct {
    double factor, scale, rest[SAMPLING_STAGES], least;
    float largest, cut;
    int32_t last, hot, bad; /* bad: a logit is not finite */
} sampling_law;

/* The request, as it is uploaded. */
typedef struct {
    double factor, top_p, min_p; /* factor: 1 / temperature */
    int32_t top_k, hot;          /* hot: one-hot, temperature 0 */
    int32_t n;                   /* tokens of a chain; of a draft, those drawn so far */
    int32_t draws;               /* tokens of a draft to draw; 0: a chain is verified */
    const float *logits;         /* (n + 1, vocab); of a draft, (vocab) */
    sampling_law *law[SAMPLING_ROWS];  /* of each token; a draw stores it */
    int32_t token[SAMPLING_ROWS];      /* of a chain */
    double uniform[SAMPLING_ROWS + 1]; /* n + 2; of a draft, draws */
} sampling_job;

/* What was decided about a chain. */
typedef struct {
    int32_t n_accepted, used, corrects, bad;
} sampling_verdict;

/* The answer, which kernels write into the host's memory. */
typedef struct {
    int32_t token[SAMPLING_ROWS]; /* of a draft, -1: its logits are not finite; or a chain's last */
    int32_t n_accepted, used, bad;
    double chance[SAMPLING_ROWS]; /* of the tested tokens */
} sampling_answer;

/* The largest logit and its first index; the index is -1 if a logit is not finite. */
typedef struct {
    float value;
    int32_t index;
} sampling_largest;

/* A sum of probabilities, in units of 2^-62 and of 2^-102. */
typedef struct {
    uint64_t whole, part;
} sampling_mass;

/* Where a stage cuts, and the counts of one call; the kernel `largest` zeroes this. */
typedef struct {
    int32_t bin;                         /* the bin that contains the cut */
    uint32_t above, inside;              /* tokens of the bins before it, and inside it */
    uint32_t removed[SAMPLING_STAGES];   /* not 0: a token of positive probability was removed */
    uint32_t candidates[SAMPLING_STAGES];
    sampling_mass mass[SAMPLING_STAGES]; /* of the bins before the cut's */
    float cut[SAMPLING_STAGES];          /* before the stage */
    int32_t last[SAMPLING_STAGES];
} sampling_border;

/* The workspace, in GPU memory. */
typedef struct {
    sampling_job *job;
    sampling_verdict *verdict;
    sampling_answer *answer;    /* in the host's memory */
    pass_batch *opt_next;       /* where the next pass finds a token that was drawn */
    sampling_law *row;          /* (rows) */
    sampling_largest *largest;  /* (rows, SAMPLING_SPREAD) */
    double *exps;               /* (rows, ceil(vocab / SAMPLING_PIECE)) */
    /* (rows, vocab / SAMPLING_KEPT + vocab % SAMPLING_KEPT): the remaining tokens one by one */
    double *kept;
    double *excess;             /* (ceil(vocab / SAMPLING_PIECE)) */
    sampling_border *border;    /* (rows) */
    uint32_t *count;            /* (rows, SAMPLING_BINS) */
    uint64_t *mass;             /* (rows, SAMPLING_BINS), in units of 2^-38 of the largest */
    uint64_t *candidate;        /* (rows, SAMPLING_CANDIDATES) */
    int32_t vocab, spread;      /* spread: blocks per row in `largest` */
} sampling_space;

/* Block (x, r): tiles x, x + grid, ... of row r. `filters`: all that later stages apply, or 0. */
struct sampling_largest_args {
    sampling_space space;
    int32_t filters;
};
struct sampling_exps_args {
    sampling_space space;
    int32_t filters;
};

/* One block: the laws of all rows, and the accepted tokens. stages 0: no filters. */
struct sampling_accept_args {
    sampling_space space;
    int32_t stages;
};

/* Block x: the residual in piece x, if a correction is needed. */
struct sampling_excess_args {
    sampling_space space;
};

/* One block: a token of row 0, whose law is complete here, or a chain's bonus or correction. If a
 * draft has more tokens to draw, the token is written into the batch, as the only one of the next
 * pass. */
struct sampling_pick_args {
    sampling_space space;
    int32_t stages, chain;
};

#define SPEC_KERNELS_SAMPLING(X)                                                                   \
    X(sampling, sampling_largest, 128)                                                             \
    X(sampling, sampling_exps, 128) X(sampling, sampling_accept, 512)                              \
        X(sampling, sampling_excess, 128) X(sampling, sampling_pick, 128)

#endif
