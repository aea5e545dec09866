/* output_law: the exact law of the first m tokens that a decoder emits, by enumeration of every decision.
 * It runs the decoding loop itself, to a fixed number of tokens (never of rounds), and adds up without loss: the error
 * is about 1e-15 however many branches there are; these are counted and limited. The law owns its arrays. */
#ifndef SPECLAB_OUTPUT_LAW_H
#define SPECLAB_OUTPUT_LAW_H

#include "sim/decode.h"

#define SPEC_OUTPUT_LAW_LIMIT 50000000ull /* branches, unless the user raises it */

/* A law is an array of V^m probabilities, the first token being the most significant digit. A text that ends early is
 * filled up with its end-of-text token, which no other text can look like. */
typedef struct {
    double *law;          /* (V^m) what the decoder emits */
    double *target_law;   /* (V^m) what the rule promises: the target's, or for SPEC_LOSSLESS_ARGMAX its argmax text */
    size_t size;          /* V^m */
    uint64_t branches;    /* of the text; the first round alone is walked once more, for `accepted` */
    double total;         /* sum of the branch probabilities, 1 up to rounding */
    double accepted;      /* expected n_accepted of the first round */
    double tv;            /* total variation distance of the two laws */
    double max_error;     /* largest difference of the two laws */
} spec_output_law;

/* Enumerate the law of n_tokens = m tokens after `prompt`. GSL_EFAILED where there are more branches than `limit` (0:
 * no limit; the line says how to raise it), GSL_EINVAL where m is outside 0..4096 or V^m is absurd (> 2^24) or the
 * rule has a seed, and what the decoder and the models refuse; opt_stop ends the walk over the promised texts,
 * too. Time: branches x rounds of a text; memory: 24 V^m
 * bytes. */
int spec_output_law_init(spec_output_law *law, const spec_decoder_config *config, const int *prompt, size_t n_prompt,
                         int n_tokens, uint64_t limit, spec_error *error);
void spec_output_law_free(spec_output_law *law);

#endif
