/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_speed: the structs of a prediction, for one K, for one pass and for the whole run.
 * Filled in by timing_prediction.c, and timing_ranking.c for speed-ups. Times are in seconds. */
#ifndef SPECLAB_TIMING_SPEED_H
#define SPECLAB_TIMING_SPEED_H

#include "analysis/statistics/bounded_ratio.h"
#include "tools/bench/timing_decoding.h"

/* One K. Numbers that do not exist are NaN. */
typedef struct {
    const spec_timing_way *way;
    double alpha_tested;                  /* accepted over tested tokens, for this K */
    spec_block_interval tokens_per_round; /* over all rounds */
    double tokens_theorem;                /* Eq. (1) at alpha */
    double tokens_by_depth; /* from the acceptance at each depth, which is pooled over K if lengths
                               are fixed */
    double beta_z; /* z of the accepted tokens against what the rows predict; checks the engine */
    /* log e-value of this deviation (spec_evalue_events): in a correct engine it reaches x with
     * probability at most e^-x */
    double beta_log_e;
    /* Simultaneous for all ways (timing_ranking.h), cut to tokens per round
     * (analysis/statistics/bounded_ratio.h). */
    spec_block_interval speedup;
    spec_ratio_verdict verdict; /* if the speed-up is not reported, its value is NaN */
    double speedup_theorem;     /* Theorem 3.8 at alpha and c */
    double speedup_costed;      /* from single passes and rounds of the nearest K */
    bool tied;                  /* among the K > 0, may be the fastest */
    spec_phases round;          /* seconds of its phases; the time between phases is part of
                                   `rest` */
    double handed;              /* share of a verification during which nothing is drafted */
    double draft_costed, verify_costed; /* the same, from the times of single passes */
    double ahead_costed; /* drafting ahead; verify_costed is then the remaining time of the pass */
    /* share of rounds whose chain was drafted ahead; like the next fields, NaN for ways without
     * it */
    spec_block_interval hit;
    double hit_predicted;    /* predicted from alpha and guess, for fixed lengths and texts of this
                                length */
    /* at this K, the time of a round without drafting ahead over the time of a round with it; both
     * emit equally many tokens in the long run */
    spec_block_interval gain;
    double gain_predicted, gain_costed; /* by the theorems; by the full models */
    double c_in_run;                    /* time of a draft call divided by that of a plain token, in
                                         * this run */

    /* Why the measured speed-up, before it is cut to tokens per round, differs from Theorem 3.8.
     * The product of these factors is the measured speed-up over the theorem's. Each factor
     * replaces one more assumption of the theorem by a measurement: the tokens per round; that a
     * draft call takes c; that a pass takes one target call; that the rule and the rest take no
     * time. */
    double gap_tokens, gap_draft, gap_verify, gap_rule, gap_rest;
} spec_timing_speed;

typedef struct {
    int width;
    double target, draft;             /* seconds; NaN: not timed */
    double target_experts, draft_experts; /* experts that a pass read in each mixture; NaN: none */
    double target_limit, draft_limit; /* least seconds that their devices allow; NaN: unknown */
    spec_block_interval target_ratio, draft_ratio; /* over one token, >= 1; NaN: not reported */
} spec_timing_pass;

typedef struct {
    double alpha;                /* accepted over tested tokens, all K together */
    /* share of guessed bonus tokens that were right, all K together; NaN: none was tested */
    double guess;
    /* Time of a draft pass over a target pass, for one token; NaN: not reported. 0 without a draft
     * model. */
    spec_block_interval c;
    spec_block_interval plain;     /* seconds of a token of plain decoding */
    double pick;                   /* seconds to draw a token */
    /* seconds of a draft call, with its draw, for which the host does not wait; 0: not timed */
    double queued;
    int n_speeds, n_passes;
    spec_timing_speed speed[SPEC_TIMING_SPEEDS_MAX];
    spec_timing_pass pass[SPEC_TIMING_WIDTHS_MAX];
    int best;                      /* index in speed of the K > 0 whose interval has the largest
                                      lower end; -1: none */
    int best_theorem, best_costed; /* index of the K with the largest prediction */
} spec_timing_prediction;

#endif
