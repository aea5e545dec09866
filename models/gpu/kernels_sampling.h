/* kernels_sampling: a chain of tokens is drawn and verified where the logits are.
 * Rows are those of the processor, bit for bit: its exponential, its sums in its order (models/transformer/logits.c,
 * models/row.c), its filters (models/filters.c), its decisions (sim/chance.c, sim/excess.c, sim/verify_token.c).
 *
 * What may differ, and by how much. (1) Compensated sums are taken exactly, in pairs of doubles, and rounded once: the
 * processor's are off by one unit in the last place where their 2^-106 says otherwise, which no test has seen. Then all
 * of a row is off by that unit, and the total variation is at most 2^-53. (2) A row of more than SAMPLING_WHOLE tokens is
 * drawn from by pieces: the cumulated probability of a token is off by at most (V/512 + 512) 2^-53, 9e-14 for a million
 * tokens, so a uniform as near as that to a border may fall to its other side. (3) Logits that differ though their probabilities are equal as doubles, at temperatures beyond 1e6, are no ties.
 *
 * Launches. `largest` and `exps` for all; for each stage of filters `border`, then for top_k and top_p `candidates` and
 * `cut`, then `kept`; for a chain `accept` and `excess`; at last `pick`. A draw takes 3, and 7 with filters; a chain 5
 * and 9. Joint filters are one stage; chained ones are one each.
 *
 * Arithmetic, for the 9 rows of a chain of 8 and V tokens: every pass reads 36 V bytes, at V = 128,000 4.6 MB that lie in
 * the second-level cache, 0.9 us at 5.5 TB/s. `exps` has 16 operations in double precision a token: 18.4 million, 1.1 us
 * at 132 multiprocessors of 64 a cycle and 1.75 GHz, and what it reads besides. `excess` reads two rows, 1 MB. So what
 * counts is launches: 2 to 2.5 us each as the first block begins, loads once or twice, meets at a barrier and ends, and 1
 * to 1.5 us to the next one, inside a recording.
 *
 *                          V = 32,000    V = 128,000    with top_k, top_p
 *     draw                 8 us          9 us           + 10 us
 *     chain of 8           13 us         16 us          + 11 us
 *
 * to which the two copies and the host's wait add 5 to 8 us. No number here was measured. */
#ifndef SPECLAB_KERNELS_SAMPLING_H
#define SPECLAB_KERNELS_SAMPLING_H

#include "models/gpu/pass_batch.h"

enum {
    SAMPLING_ROWS = PASS_COLUMNS,
    SAMPLING_STAGES = 3,
    SAMPLING_THREADS = 128,
    SAMPLING_EACH = 8,                                    /* tokens of a thread in a tile */
    SAMPLING_TILE = SAMPLING_THREADS * SAMPLING_EACH,     /* tokens that a block takes at a time */
    SAMPLING_SPREAD_TOKENS = 4096,                        /* most tokens of a block, so that 32 bits hold its counts */
    SAMPLING_SPREAD = (1 << 20) / SAMPLING_SPREAD_TOKENS, /* most blocks of a row */
    SAMPLING_PIECE = 512,                                 /* tokens of a sum of exponentials, and of an excess */
    SAMPLING_KEPT = 128,                                  /* tokens of a sum of what filters keep */
    SAMPLING_WHOLE = 1024,                                /* rows up to this are drawn from as on the host */
    SAMPLING_BINS = 512,
    SAMPLING_CANDIDATES = 2048,
    SAMPLING_CUT_THREADS = 256,
    SAMPLING_ACCEPT_THREADS = 512,
    SAMPLING_BLOCKS = 256, /* of a pick */
    SAMPLING_LAW_BYTES = 128
};

/* Which filters a stage applies. */
enum { SAMPLING_TOP_K = 1, SAMPLING_TOP_P = 2, SAMPLING_MIN_P = 4 };

/* How a row is made of its logits. Probability of token i of logit x, 0 where a test fails:
 *     x > cut, or x = cut and i <= last
 *     p = exp((x - largest) factor) scale / rest[0] / rest[1], p >= least
 *     p / rest[2]
 * rest: what filters left, 1 where they removed nothing. hot >= 0: all on that token. A law in the card's memory has its
 * logits after SAMPLING_LAW_BYTES. */
typedef struct {
    double factor, scale, rest[SAMPLING_STAGES], least;
    float largest, cut;
    int32_t last, hot, bad; /* bad: a logit is not finite */
} sampling_law;

/* What is asked for, as it is uploaded. */
typedef struct {
    double factor, top_p, min_p; /* factor: 1 / temperature */
    int32_t top_k, hot;          /* hot: temperature 0 */
    int32_t n;                   /* tokens of the chain */
    const float *logits;         /* (n + 1, vocab) */
    sampling_law *opt_keep;      /* of a draw: where its law is kept */
    const sampling_law *law[SAMPLING_ROWS];
    int32_t token[SAMPLING_ROWS];
    double uniform[SAMPLING_ROWS + 1]; /* n + 2 */
} sampling_job;

/* What comes back. */
typedef struct {
    int32_t token, n_accepted, used, corrects, bad;
    double chance[SAMPLING_ROWS];
} sampling_result;

/* The largest of some logits and where it stands first; -1: one is not finite. */
typedef struct {
    float value;
    int32_t index;
} sampling_largest;

/* The sum of probabilities, in units of 2^-62 and of 2^-102. */
typedef struct {
    uint64_t whole, part;
} sampling_mass;

/* Where the cut of a stage lies, and counts of one call; zeroed by `largest`. */
typedef struct {
    int32_t bin;                         /* it lies among the tokens of this one */
    uint32_t above, inside;              /* tokens of the bins before it, and of it */
    uint32_t removed[SAMPLING_STAGES];   /* not 0: a token of positive probability went */
    uint32_t candidates[SAMPLING_STAGES];
    sampling_mass mass[SAMPLING_STAGES]; /* of the bins before it */
    float cut[SAMPLING_STAGES];          /* as they were before the stage */
    int32_t last[SAMPLING_STAGES];
} sampling_border;

/* The workspace, in the card's memory. */
typedef struct {
    const sampling_job *job;
    sampling_result *result;
    sampling_law *row;          /* (rows) */
    sampling_largest *largest;  /* (rows, SAMPLING_SPREAD) */
    double *exps;               /* (rows, ceil(vocab / SAMPLING_PIECE)) */
    double *kept;               /* (rows, vocab / SAMPLING_KEPT + vocab % SAMPLING_KEPT): the last ones singly */
    double *excess;             /* (ceil(vocab / SAMPLING_PIECE)) */
    sampling_border *border;    /* (rows) */
    uint32_t *count;            /* (rows, SAMPLING_BINS) */
    uint64_t *mass;             /* (rows, SAMPLING_BINS), in units of 2^-38 of the largest */
    uint64_t *candidate;        /* (rows, SAMPLING_CANDIDATES) */
    int32_t vocab, spread;      /* blocks of a row in `largest` */
} sampling_space;

/* Block (x, r): tiles x, x + grid, ... of row r. `filters`: all that will be applied, 0: none. */
struct sampling_largest_args {
    sampling_space space;
    int32_t filters;
};
struct sampling_exps_args {
    sampling_space space;
    int32_t filters;
};

/* One block: the laws of all rows, and which tokens are accepted. stages 0: there are no filters. */
struct sampling_accept_args {
    sampling_space space;
    int32_t stages;
};

/* Block x: what is left of piece x, where there is to be a correction. */
struct sampling_excess_args {
    sampling_space space;
};

/* One block: a token of row 0, whose law ends here, or the bonus or correction of a chain. */
struct sampling_pick_args {
    sampling_space space;
    int32_t stages, chain;
};

#define SPEC_KERNELS_SAMPLING(X)                                                                                       \
    X(sampling, sampling_largest, 128) X(sampling, sampling_exps, 128) X(sampling, sampling_accept, 512)               \
        X(sampling, sampling_excess, 128) X(sampling, sampling_pick, 128)

#endif
