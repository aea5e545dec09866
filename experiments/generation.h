/* SPDX-License-Identifier: GPL-3.0-or-later */
/* generation: generates texts with speculation, or with only the target, and measures the time.
 * Times are in seconds of a monotonic clock, and exclude the `hear` callback. With a baseline,
 * plain decoding repeats the same text segment by segment, so that a slow machine slows both. A
 * generation owns its decoders and borrows the models. */
#ifndef SPECLAB_GENERATION_H
#define SPECLAB_GENERATION_H

#include "experiments/generation_segments.h"
#include "sim/decode.h"

/* Where a token comes from: an accepted draft token, the correction after a rejection, the bonus
 * after an accepted draft, or the target if nothing was drafted. */
typedef enum {
    SPEC_FROM_DRAFT,
    SPEC_FROM_CORRECTION,
    SPEC_FROM_BONUS,
    SPEC_FROM_TARGET,
    SPEC_ORIGINS
} spec_origin;
extern const char *const spec_origin_names[]; /* "draft", "correction", "bonus", "target", NULL */

/* Why a text ended: it has the requested length, its end of text, a full window, or opt_stop was
 * set. */
typedef enum {
    SPEC_ENDED_ASKED,
    SPEC_ENDED_TEXT,
    SPEC_ENDED_WINDOW,
    SPEC_ENDED_STOPPED
} spec_ending;

/* Minimum tokens of a segment of text; plain decoding repeats each segment right away. */
enum { SPEC_GENERATION_SEGMENT = 16 };

typedef struct {
    spec_decoder_config decoder;
    bool plain;    /* decode with only the target */
    bool baseline; /* also measure plain decoding */
    uint64_t seed;
    spec_clock clock;       /* off: the wall clock */
    spec_machine_load load; /* read around timed intervals with a baseline; zeroed: off */
    const volatile int *opt_stop; /* if not 0, the text ends after the current round */

    /* Receives the tokens of a round, cut to the length of the text; a token that ends the text is
     * included. Any failure status ends the text. */
    int (*hear)(void *self, const int *token, const spec_origin *origin, int n, spec_error *error);
    void *self;
} spec_generation_plan;

typedef struct {
    spec_generation_plan plan;
    /* beside is the plain decoder; it is zeroed without a baseline */
    spec_decoder decoder, beside;
    gsl_rng *rng, *beside_rng;

    /* The current text: the length of its prompt, its length so far, and its maximum length, in
     * tokens. */
    size_t n_prompt;
    uint64_t n, n_most;

    /* Totals of all texts so far. */
    spec_tally tally;          /* tally of speculative rounds, on the virtual clock */
    uint64_t draft_passes,
        inner_passes;          /* calls of the draft and of a cascade's inner draft, in rounds */
    uint64_t tokens;           /* tokens of the texts, without prompts */
    uint64_t prompt_tokens;
    double seconds, prompt_seconds;
    double beside_seconds;     /* plain decoding of the same tokens */
    double compared_seconds;   /* the part of `seconds` that lies in segments and so is compared */
    spec_generation_segments segments; /* times of both decoders; zeroed without a baseline */
} spec_generation;

/* Computes the speed-up over plain decoding, for all texts so far (see generation_segments.h).
 * Requires a baseline. */
int spec_generation_speedup(spec_block_interval *ret_speedup, spec_ratio_verdict *ret_verdict,
                            spec_timing_trust *ret_trust, const spec_generation *generation,
                            spec_error *error);

/* Sets up the decoders. Fails as spec_decoder_init does. */
int spec_generation_init(spec_generation *generation, const spec_generation_plan *plan,
                         spec_error *error);
void spec_generation_free(spec_generation *generation); /* a zeroed one is allowed */

/* Begins text number `text` after a prompt, with at most n_tokens and with random stream `text` of
 * the seed. Then each call of _round adds the tokens of one round, and passes them to plan.hear.
 * *ret_ended says when the text has ended, and *ret_ending why. */
int spec_generation_begin(spec_generation *generation, const int *prompt, size_t n_prompt,
                          uint64_t text, uint64_t n_tokens, spec_error *error);
int spec_generation_round(spec_generation *generation, bool *ret_ended, spec_ending *ret_ending,
                          spec_error *error);

/* Generates a whole text. The tokens do not depend on the number of threads. If a model or
 * plan.hear fails, what earlier calls of plan.hear received remains valid. */
int spec_generation_text(spec_generation *generation, spec_ending *ret_ending, const int *prompt,
                         size_t n_prompt, uint64_t text, uint64_t n_tokens, spec_error *error);

#endif
