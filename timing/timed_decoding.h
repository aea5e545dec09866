/* timed_decoding: speculation on this machine, in turns with plain decoding and with single passes.
 * One process decodes the same prompts in every way, some tokens a turn, in an order that is drawn anew for each: what
 * the machine does meanwhile meets all ways alike. What is decoded depends on the seed alone, the times on the day.
 * docs/formulas.md#bootstrap says what the sums are good for. */
#ifndef SPECLAB_TIMED_DECODING_H
#define SPECLAB_TIMED_DECODING_H

#include "timing/timed_limit.h"
#include "timing/timed_passes.h"
#include "timing/timed_prompts.h"
#include "sim/decode.h"

enum { SPEC_TIMED_K_MAX = 64, SPEC_TIMED_SPEEDS_MAX = 2 * SPEC_TIMED_K_MAX, SPEC_TIMED_TEXTS_MAX = 100000 };

typedef struct {
    spec_decoder_config decoder; /* its K and clock are set by the plan's; ahead: each K > 0 is measured both ways */
    int n_K, K[SPEC_TIMED_K_MAX];
    int n_widths, width[SPEC_TIMED_WIDTHS_MAX]; /* of the passes to be timed, ascending; _init adds 1, 2 and those of
                                                   the drafts that are verified, as far as there is room */
    const spec_timed_prompts *prompts;
    int texts;      /* how many, 2..SPEC_TIMED_TEXTS_MAX */
    int tokens;     /* of a text, at least */
    int turn;       /* tokens of a turn, at least */
    double seconds; /* 0: no limit; else, after two texts, no new one once so much time went by for each way */
    uint64_t seed;
    bool one_session; /* all ways and passes use one session of each model (sim/decode.h), where memory is short. Turns
                         begin, untimed, with what the text has beyond the last turn's. What is decoded is the same */
    spec_clock clock;
    const volatile int *opt_stop;
    void (*opt_progress)(void *context, double share); /* after each text */
    void *context;
} spec_timed_plan;

/* What is summed for each way over a text. The first token or round of a turn, which finds the caches of another way,
 * is done and not timed: the sums are of those after it, but for those in _ALL. */
typedef enum {
    SPEC_TIMED_SECONDS,
    SPEC_TIMED_TOKENS,
    SPEC_TIMED_ROUNDS,
    SPEC_TIMED_CALLS,     /* of the draft model, before verifications */
    SPEC_TIMED_CAUGHT_UP, /* rounds after one that was accepted whole, where the draft computes its own keys and
                             values: its first pass is of two tokens then */
    SPEC_TIMED_CALLS_AHEAD, /* and those that it made during verifications, drafting ahead */
    SPEC_TIMED_DRAFT,     /* seconds of the phases */
    SPEC_TIMED_VERIFY,
    SPEC_TIMED_AHEAD,
    SPEC_TIMED_HANDED,
    SPEC_TIMED_RULE,
    SPEC_TIMED_ALL_TOKENS,
    SPEC_TIMED_ALL_ROUNDS,
    SPEC_TIMED_ALL_HITS,  /* rounds that found their chain, drafted ahead */
    SPEC_TIMED_FIELDS
} spec_timed_field;

/* One way of decoding over all texts: way 0 is plain, way i speculates with plan.K[i-1]; and those behind draft ahead,
 * with every K above 0 of the plan's. */
typedef struct {
    bool ahead;                          /* it drafts ahead */
    bool device;                         /* its chains are verified on the device */
    spec_tally tally;                    /* of all rounds */
    uint64_t width[SPEC_NODES_MAX + 1];  /* [i]: timed rounds whose pass had i + 1 tokens */
    int widest;                          /* tokens of its largest pass */
    int K;                               /* the most tokens that its policy drafts */
    uint64_t checked, accepted;          /* rounds that were not timed, and draft tokens accepted in them */
    double chances, variance;            /* of these acceptances, by the rows they were judged by; NaN: not known */
} spec_timed_way;

typedef struct {
    spec_timed_plan plan;
    int n_ways;
    spec_timed_way *way; /* (n_ways) */
    int n_blocks, n_columns;
    double *block;       /* (n_blocks, n_columns) a text each */
    int first_target, first_draft, pick; /* columns of passes by width, and of drawing a token: n and seconds each */
    double elapsed;      /* seconds in all */
    spec_timed_limit target_limit, draft_limit; /* what their devices allow, measured before the first text */
} spec_timed;

/* Run it. GSL_EINVAL where the decoder's config is refused, where the widths are not ascending, and where prompt,
 * tokens and draft do not fit into a model's window; GSL_EFAILED, "interrupted", by opt_stop. */
int spec_timed_init(spec_timed *timed, const spec_timed_plan *plan, spec_error *error);
void spec_timed_free(spec_timed *timed);

/* Where a way's sum stands in a row of blocks, or of sums of them. */
int spec_timed_column(int way, spec_timed_field field);

#endif
