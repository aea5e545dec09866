/* timed_prediction: what the parts promise of the whole: predicted beside measured speed-up, from the times of passes
 * and from what was accepted; and what lies between the two.
 * Theorem 3.8 of [Leviathan23] takes alpha and c; the full model takes the chances by depth, and what passes and the
 * rest of a round cost. Times in seconds. */
#ifndef SPECLAB_TIMED_PREDICTION_H
#define SPECLAB_TIMED_PREDICTION_H

#include "analysis/statistics/block_bootstrap.h"
#include "timing/timed_decoding.h"

/* One K. NaN where there is no such number. */
typedef struct {
    const spec_timed_way *way;
    double alpha_tested;                  /* accepted over tested tokens, of this K */
    spec_block_interval tokens_per_round; /* of all rounds */
    double tokens_theorem;                /* Eq. (1) at alpha */
    double tokens_by_depth;               /* from the chance of each depth, over all K where the length is fixed */
    double beta_z;                        /* accepted tokens, against their chances by the rows: the engine's check */
    spec_block_interval speedup;
    double speedup_theorem;               /* Theorem 3.8 at alpha and c */
    double speedup_costed;                /* the full model */
    bool alike;                           /* its speed-up is not told apart from the best one's */
    double tokens;                        /* of a timed round */
    spec_phases round;                    /* its seconds; what is between the phases is in the rest */
    double handed;                        /* the share of a verification in which nothing else could be done */
    double draft_costed, verify_costed;   /* the same by the times of single passes */
    double ahead_costed;                  /* drafting ahead; verify_costed then is what is left of the pass */
    spec_block_interval hit;              /* share of rounds whose chain was there; this and the next ones are NaN
                                             for ways that do not draft ahead */
    double hit_predicted;                 /* by alpha and guess, for fixed lengths, in texts so long */
    spec_block_interval gain;             /* a round of this K that drafts beforehand, in time, over one that drafts
                                             ahead: what it gains, as both emit as many tokens in the long run */
    double gain_predicted, gain_costed;   /* the one theorem over the other; the full models */
    double c_in_run;                      /* a draft call over a plain token, in the run */

    /* What lies between Theorem 3.8 and the measured speed-up: factors whose product is the latter over the former, for
     * each thing that is not as the theorem has it. In this order, each with those before it as they were measured:
     * tokens per round; draft calls of c; a pass of one target call; rule and rest of no time. */
    double gap_tokens, gap_draft, gap_verify, gap_rule, gap_rest;
} spec_timed_speed;

typedef struct {
    int width;
    double target, draft;                          /* seconds; NaN: not timed */
    double target_limit, draft_limit;              /* seconds that their devices allow; NaN: not known */
    spec_block_interval target_ratio, draft_ratio; /* over a pass of one token */
} spec_timed_pass;

typedef struct {
    double alpha;                /* accepted over tested tokens, all K together */
    double guess;                /* right over tested guesses of a bonus token, all K together; NaN: none was tested */
    spec_block_interval c;       /* draft over target, passes of one token; 0 without a draft model */
    spec_block_interval plain;   /* seconds of a token of plain decoding */
    double pick;                 /* seconds to draw a token */
    int n_speeds, n_passes;
    spec_timed_speed speed[SPEC_TIMED_SPEEDS_MAX];
    spec_timed_pass pass[SPEC_TIMED_WIDTHS_MAX];
    int best, best_theorem, best_costed; /* of speed; -1: none */
} spec_timed_prediction;

/* Intervals hold with chance 1 - error, by `resamples` resamples of the texts. GSL_ENOMEM. */
int spec_timed_predict(spec_timed_prediction *ret, const spec_timed *timed, double error, int resamples,
                       spec_error *message);

#endif
