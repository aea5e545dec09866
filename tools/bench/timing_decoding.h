/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_decoding: measures speculation, plain decoding and single passes in turns.
 * One process decodes the same prompts in several ways, a few tokens per turn. A way of decoding is
 * plain decoding, or speculation with one K, with or without drafting ahead. The order of the ways
 * is drawn anew each time, so that a change in the machine affects all of them equally. The decoded
 * text depends only on the seed, and the times on the machine.
 * docs/formulas/statistics.md#bootstrap explains the sums. */
#ifndef SPECLAB_TIMING_DECODING_H
#define SPECLAB_TIMING_DECODING_H

#include "sim/decode.h"
#include "tools/bench/machine_load.h"
#include "tools/bench/timing_limit.h"
#include "tools/bench/timing_passes.h"
#include "tools/bench/timing_prompts.h"

enum {
    SPEC_TIMING_K_MAX = 64,
    SPEC_TIMING_SPEEDS_MAX = 2 * SPEC_TIMING_K_MAX,
    SPEC_TIMING_TEXTS_MAX = 100000
};

typedef struct {
    /* its K and clock are the plan's; ahead: each K > 0 is measured both with and without it */
    spec_decoder_config decoder;
    int n_K, K[SPEC_TIMING_K_MAX];
    /* widths of timed passes, ascending; _init adds 1, 2 and the widths of verified drafts if there
     * is room */
    int n_widths, width[SPEC_TIMING_WIDTHS_MAX];
    const spec_timing_prompts *prompts;
    int texts;  /* number of texts, 2..SPEC_TIMING_TEXTS_MAX */
    int tokens; /* minimum tokens of a text */
    int turn;   /* minimum tokens of a turn */
    /* 0: no limit; otherwise, after two texts, run only as many more as fit into this time per way,
     * counted from the call of _init */
    double seconds;
    uint64_t seed;
    /* all ways and passes share one session per model (sim/decode.h), to save memory; a turn then
     * begins by reading, untimed, the text since the last turn. The decoded text is the same */
    bool one_session;
    spec_clock clock;
    spec_machine_load load; /* read at both ends of every timed interval; zeroed: off */
    const spec_thread_pool *opt_pool; /* the models' pool, for the report */
    const volatile int *opt_stop;
    void (*opt_progress)(void *context, double share); /* after each text */
    void *context;
} spec_timing_plan;

/* The sums of each way over a text. The first token or round of a turn is not timed, because the
 * caches still hold another way's data. The sums leave it out, except for those in _ALL. */
typedef enum {
    SPEC_TIMING_SECONDS,
    SPEC_TIMING_TOKENS,
    SPEC_TIMING_ROUNDS,
    /* draft calls before verifications, including those that a device had queued behind the end of
     * a text; and how many of them the host waits for: all, or one if a device draws the draft */
    SPEC_TIMING_CALLS,
    SPEC_TIMING_WAITS,
    /* rounds after a draft that was accepted in full: the draft's first pass then has two tokens,
     * unless it reads the target's KV cache. For draft heads it is the rounds after one that was
     * accepted at least in part; their first pass has two tokens or more */
    SPEC_TIMING_CAUGHT_UP,
    /* the same during verifications, when drafting ahead; a device takes two waits, the first for
     * the guess */
    SPEC_TIMING_CALLS_AHEAD,
    SPEC_TIMING_WAITS_AHEAD,
    SPEC_TIMING_DRAFT, /* seconds of the phases */
    SPEC_TIMING_VERIFY,
    SPEC_TIMING_AHEAD,
    SPEC_TIMING_HANDED,
    SPEC_TIMING_RULE,
    SPEC_TIMING_WALL,      /* wall seconds of the timed intervals, read together with the load */
    SPEC_TIMING_PROCESSOR, /* processor seconds of all threads */
    SPEC_TIMING_SWITCHED,  /* involuntary context switches */
    SPEC_TIMING_ALL_TOKENS,
    SPEC_TIMING_ALL_ROUNDS,
    SPEC_TIMING_ALL_HITS, /* rounds whose chain was drafted ahead */
    SPEC_TIMING_FIELDS
} spec_timing_field;

/* One way of decoding, over all texts. Way 0 is plain decoding, way i speculates with plan.K[i-1];
 * the last ways draft ahead, with every K above 0 of the plan. */
typedef struct {
    bool ahead;                         /* drafts ahead */
    bool device;                        /* verifies its chains on the device */
    spec_tally tally;                   /* sums over all rounds */
    uint64_t width[SPEC_NODES_MAX + 1]; /* [i]: timed rounds whose pass had i + 1 tokens */
    int widest;                         /* tokens of its largest pass */
    int K;                              /* maximum tokens that its policy drafts */
    /* rounds that were not timed, and the draft tokens accepted in them */
    uint64_t checked, accepted;
    double chances, variance; /* mean and variance of the accepted tokens that the rows predict; or
                                 NaN */
} spec_timing_way;

typedef struct {
    spec_timing_plan plan;
    int n_ways;
    spec_timing_way *way; /* (n_ways) */
    int n_blocks, n_columns;
    double *block; /* (n_blocks, n_columns) one row per text */
    /* first columns of the passes, by width, of the time to draw a token, and of the time of a
     * draft call that is queued behind others; each is a spec_timing_sum */
    int first_target, first_draft, pick, queued;
    int passes_load; /* columns of the load during single passes: wall, processor, switched */
    int spin;        /* column of the load's fixed loop, run after the text */
    double elapsed;  /* seconds in total */
    double first_spin;       /* the load's fixed loop before the first text */
    spec_load_reading whole; /* what the process used from the first text to the last */
    double busy;             /* what all processes used in that time */
    /* the limits of the models' devices, measured before the first text */
    spec_timing_limit target_limit, draft_limit;
} spec_timing;

/* Runs the measurement. Returns GSL_EINVAL if the decoder's config is refused, if widths are not
 * ascending, or if prompt, tokens and draft exceed a model's window. Returns GSL_EFAILED,
 * "interrupted", if *opt_stop is set. */
int spec_timing_init(spec_timing *timed, const spec_timing_plan *plan, spec_error *error);
void spec_timing_free(spec_timing *timed);

/* Returns the index of one of a way's sums, in a row of `block` or in a sum of such rows. */
int spec_timing_column(int way, spec_timing_field field);

#endif
