/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_speed: the records of a prediction: every K, every pass and what holds for all.
 * timing_prediction.c fills them, with timing_ranking.c for the speed-ups. Times in seconds. */
#ifndef SPECLAB_TIMING_SPEED_H
#define SPECLAB_TIMING_SPEED_H

#include "analysis/statistics/bounded_ratio.h"
#include "timing/timing_decoding.h"

/* One K. NaN for numbers that do not exist. */
typedef struct {
    const spec_timing_way *way;
    double alpha_tested;                  /* accepted over tested tokens, of this K */
    spec_block_interval tokens_per_round; /* of all rounds */
    double tokens_theorem;                /* Eq. (1) at alpha */
    double tokens_by_depth; /* from the chance of each depth, over all K if the length is fixed */
    double beta_z; /* accepted tokens against their chances by the rows: checks the engine */
    /* the evidence of it (spec_evalue_events): by chance alone it occurs with probability 1/e at
     * most */
    double beta_log_e;
    /* For all ways at once (timing_ranking.h), cut to tokens per round
     * (analysis/statistics/bounded_ratio.h). */
    spec_block_interval speedup;
    spec_ratio_verdict verdict; /* if the speed-up is not reported, its value is NaN */
    double speedup_theorem;     /* Theorem 3.8 at alpha and c */
    double speedup_costed;      /* the full model */
    bool tied;                  /* may be the fastest of those with K > 0 */
    spec_phases round;          /* seconds of its phases; time between the phases is in the rest */
    double handed;              /* share of a verification without overlap */
    double draft_costed, verify_costed; /* the same by the times of single passes */
    double ahead_costed; /* drafting ahead; verify_costed is then the remaining time of the pass */
    /* share of rounds with a chain drafted ahead; NaN, with the next ones, for other ways */
    spec_block_interval hit;
    double hit_predicted;    /* by alpha and guess, for fixed lengths, in texts of this length */
    /* time of a round of this K that drafts beforehand, over one that drafts ahead; both emit as
     * many tokens in the long run */
    spec_block_interval gain;
    double gain_predicted, gain_costed; /* of the theorems; of the full models */
    double c_in_run;                    /* a draft call over a plain token, in the run */

    /* Factors between Theorem 3.8 and the measured speed-up, before this is cut to what is
     * possible. Their product is the latter over the former. Each stands for one assumption of the
     * theorem, with those before it as measured: tokens per round; draft calls of c; a pass of one
     * target call; rule and rest of no time. */
    double gap_tokens, gap_draft, gap_verify, gap_rule, gap_rest;
} spec_timing_speed;

typedef struct {
    int width;
    double target, draft;             /* seconds; NaN: not timed */
    double target_experts, draft_experts; /* of each mixture, that a pass read; NaN: no mixtures */
    double target_limit, draft_limit; /* least seconds that their devices allow; NaN: unknown */
    spec_block_interval target_ratio, draft_ratio; /* over one token, >= 1; NaN: not reported */
} spec_timing_pass;

typedef struct {
    double alpha;                /* accepted over tested tokens, all K together */
    /* right over tested guesses of a bonus token, all K together; NaN: none was tested */
    double guess;
    /* Draft over target, passes of one token; value NaN: not reported. 0 without a draft model. */
    spec_block_interval c;
    spec_block_interval plain;     /* seconds of a token of plain decoding */
    double pick;                   /* seconds to draw a token */
    int n_speeds, n_passes;
    spec_timing_speed speed[SPEC_TIMING_SPEEDS_MAX];
    spec_timing_pass pass[SPEC_TIMING_WIDTHS_MAX];
    int best;                      /* index in speed: K > 0 with the largest lower end; -1: none */
    int best_theorem, best_costed; /* the largest predicted ones */
} spec_timing_prediction;

#endif
